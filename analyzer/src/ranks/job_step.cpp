#include "ridgeline/analyzer/ranks/job_step.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "ranks/aligned_clocks.h"
#include "ranks/job_view.h"
#include "ranks/matching.h"
#include "ridgeline/analyzer/ranks/job_capture.h"

namespace ridgeline::analyzer {

namespace {

using ranks::AlignedClocks;
using ranks::JobView;
using ranks::kNoCall;
using ranks::MatchedCollective;

// Places of the ranks that are drawn, in order.
std::vector<std::size_t> chosen_ranks(const std::vector<double>& lateness_ns, std::size_t max_rows) {
  std::vector<std::size_t> all(lateness_ns.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= max_rows) return all;
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return lateness_ns[a] > lateness_ns[b]; });
  const std::size_t latest = max_rows / 2;
  std::vector<std::size_t> others(all.begin() + static_cast<std::ptrdiff_t>(latest), all.end());
  all.resize(latest);
  std::sort(others.begin(), others.end());
  const std::size_t more = max_rows - latest;
  for (std::size_t i = 0; i < more; ++i) all.push_back(others[i * others.size() / more]);
  std::sort(all.begin(), all.end());
  return all;
}

// The call's time cut where the last rank enters, and where kernels begin or end beside it.
std::vector<CallSegment> segments_of(const store::JobCall& call, double start_ns, double end_ns,
                                     std::optional<double> arrival_ns) {
  std::vector<CallSegment> segments;
  double at = start_ns;
  bool beside = false;
  const auto add = [&](double to) {
    to = std::min(to, end_ns);
    if (arrival_ns && *arrival_ns > at && *arrival_ns < to) {
      segments.push_back({at, *arrival_ns, true, beside});
      at = *arrival_ns;
    }
    if (to > at) segments.push_back({at, to, arrival_ns && to <= *arrival_ns, beside});
    at = std::max(at, to);
  };
  double edge = start_ns;
  for (const std::int64_t length : call.hidden_ns) {
    edge += static_cast<double>(length);
    add(edge);
    beside = !beside;
  }
  beside = false;
  add(end_ns);
  return segments;
}

class StepRows {
 public:
  StepRows(const JobView& view, std::size_t step, std::size_t max_rows, std::vector<double> lateness_ns)
      : view_(view),
        clocks_(view),
        step_(step),
        lateness_ns_(std::move(lateness_ns)),
        chosen_(chosen_ranks(lateness_ns_, max_rows)) {
    for (const store::JobSite& site : view.job().sites) sites_[site.id] = site;
    by_clocks_ = true;
    for (std::size_t rank = 0; rank < view.ranks(); ++rank) by_clocks_ = by_clocks_ && clocks_.error_ns(rank);
  }

  [[nodiscard]] JobStepRows run() {
    JobStepRows out;
    out.step_index = view_.steps()[step_];
    out.ranks = static_cast<std::int64_t>(view_.ranks());
    if (by_clocks_) out.error_ns = error_ns();
    origin_ns_ = 0;
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
      const double start = time_ns(rank, view_.step(rank, step_).start_ns);
      origin_ns_ = rank == 0 ? start : std::min(origin_ns_, start);
    }
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank)
      out.duration_ns = std::max(out.duration_ns, from_origin(rank, end_of(view_.step(rank, step_))));
    for (const std::size_t rank : chosen_) out.rows.push_back(row(rank));
    for (const MatchedCollective& collective : ranks::match_calls(view_).collectives) {
      if (collective.step_index == out.step_index && collective.ranks > 0) join(collective, out);
    }
    for (RankRow& row : out.rows)
      std::stable_sort(row.calls.begin(), row.calls.end(),
                       [](const RankCall& a, const RankCall& b) { return a.start_ns < b.start_ns; });
    return out;
  }

 private:
  static std::int64_t end_of(const store::JobStep& step) { return step.start_ns + step.duration_ns; }
  // With clocks on the reference's, else from the rank's own start of the step.
  [[nodiscard]] double time_ns(std::size_t rank, std::int64_t own_ns) const {
    if (by_clocks_) return clocks_.aligned_ns(rank, own_ns);
    return static_cast<double>(own_ns - view_.step(rank, step_).start_ns);
  }
  [[nodiscard]] double from_origin(std::size_t rank, std::int64_t own_ns) const {
    return time_ns(rank, own_ns) - origin_ns_;
  }
  // Two ranks of one clock are not off against each other.
  [[nodiscard]] double error_ns() const {
    double worst = 0;
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
      if (clocks_.clock(rank) != clocks_.clock(0)) worst = std::max(worst, *clocks_.error_ns(rank));
    }
    return 2 * worst;
  }

  [[nodiscard]] RankRow row(std::size_t rank) const {
    const store::JobStep& step = view_.step(rank, step_);
    return {view_.job().ranks[rank].rank,
            clock_of(view_.job().ranks[rank]),
            from_origin(rank, step.start_ns),
            from_origin(rank, end_of(step)),
            lateness_ns_[rank],
            {}};
  }

  void join(const MatchedCollective& collective, JobStepRows& out) const {
    const store::JobSite& site = sites_.at(collective.site_id);
    JoinedCollective joined;
    joined.function = site.function;
    joined.bytes = site.bytes;
    joined.ranks = collective.ranks;
    double last_ns = 0;
    bool first = true;
    for (std::size_t rank = 0; rank < collective.calls.size(); ++rank) {
      if (collective.calls[rank] == kNoCall) continue;
      const double start =
          from_origin(rank, view_.start_ns(static_cast<std::size_t>(collective.calls[rank])));
      joined.first_ns = first ? start : std::min(joined.first_ns, start);
      if (first || start > last_ns) {
        last_ns = start;
        joined.last_rank = view_.job().ranks[rank].rank;
      }
      first = false;
    }
    if (by_clocks_ && synchronises(site.function) && collective.ranks > 1) joined.arrival_ns = last_ns;
    if (!by_clocks_ || last_ns - joined.first_ns <= *out.error_ns) joined.last_rank = -1;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const std::int64_t at = collective.calls[chosen_[i]];
      if (at == kNoCall) continue;
      const auto call = static_cast<std::size_t>(at);
      const double start = from_origin(chosen_[i], view_.start_ns(call));
      const double end = from_origin(chosen_[i], view_.end_ns(call));
      out.rows[i].calls.push_back({out.collectives.size(), start, end,
                                   segments_of(view_.job().calls[call], start, end, joined.arrival_ns)});
    }
    out.collectives.push_back(joined);
  }

  const JobView& view_;
  AlignedClocks clocks_;
  std::size_t step_;
  std::vector<double> lateness_ns_;
  std::vector<std::size_t> chosen_;
  std::unordered_map<store::Id, store::JobSite> sites_;
  bool by_clocks_ = false;
  double origin_ns_ = 0;
};

}  // namespace

Result<JobStepRows> job_step_rows(const store::Job& job, const JobAnalysis& analysis, std::int64_t step_index,
                                  std::size_t max_rows) {
  try {
    const JobView view(job);
    const auto step = std::find(view.steps().begin(), view.steps().end(), step_index);
    const auto cost = std::find_if(analysis.step_costs.begin(), analysis.step_costs.end(),
                                   [&](const JobStepCost& one) { return one.step_index == step_index; });
    if (step == view.steps().end() || cost == analysis.step_costs.end() ||
        cost->rank_lateness_ns.size() != view.ranks())
      return Failure{ErrorKind::no_data,
                     "step " + std::to_string(step_index) + " is none that all ranks have"};
    return StepRows(view, static_cast<std::size_t>(step - view.steps().begin()), max_rows,
                    cost->rank_lateness_ns)
        .run();
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  } catch (const std::out_of_range&) {
    return Failure{ErrorKind::corrupt, "the job refers to a rank or a site that is not there"};
  }
}

std::int64_t telling_step(const JobAnalysis& analysis) {
  const JobStepCost* latest = nullptr;
  std::vector<const JobStepCost*> by_duration;
  for (const JobStepCost& step : analysis.step_costs) {
    by_duration.push_back(&step);
    if (step.late && (latest == nullptr || step.lateness_ns > latest->lateness_ns)) latest = &step;
  }
  if (latest != nullptr) return latest->step_index;
  if (by_duration.empty()) return 0;
  std::stable_sort(by_duration.begin(), by_duration.end(), [](const JobStepCost* a, const JobStepCost* b) {
    return a->duration_ns < b->duration_ns;
  });
  return by_duration[by_duration.size() / 2]->step_index;
}

}  // namespace ridgeline::analyzer
