#include "ranks/job_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "ranks/own_time.h"
#include "ranks/spans.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

// Between two collectives that a rank waits for it does nothing of its own: so long a pause at most belongs to them.
constexpr std::int64_t kLongestBetweenWaits = 20'000;
constexpr double kUsualDelayNs =
    2'500;  // from readiness to the start, where no call of the communicator shows it
// Ends and begins on one stream are recorded so exactly.
constexpr double kSameTimeNs = 1'000;

class ChainBuilder {
 public:
  ChainBuilder(const JobView& view, const Matching& matching, const CollectiveCosts& costs,
               const std::vector<double>& lost)
      : view_(view), costs_(costs), lost_(lost) {
    for (const store::JobSite& site : view.job().sites) sites_[site.id] = site;
    for (const MatchedCollective& collective : matching.collectives) {
      if (collective.ranks > 0) of_step_[collective.step_index].push_back(&collective);
    }
    for (auto& [step, collectives] : of_step_)
      std::stable_sort(collectives.begin(), collectives.end(),
                       [&](const auto* a, const auto* b) { return mean_begin(*a) < mean_begin(*b); });
  }

  [[nodiscard]] std::vector<StepChain> run() {
    std::vector<StepChain> chains;
    const std::vector<std::int64_t>& steps = view_.steps();
    for (std::size_t first = 0; first < steps.size();) {
      std::size_t end = first + 1;
      while (end < steps.size() && steps[end] == steps[end - 1] + 1) ++end;
      chains.push_back(chain(first, end));
      first = end;
    }
    return chains;
  }

 private:
  [[nodiscard]] const store::JobCall& call(std::int64_t at) const {
    return view_.job().calls[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] double mean_begin(const MatchedCollective& collective) const {
    double sum = 0;
    for (const std::int64_t at : collective.calls) {
      if (at != kNoCall) sum += static_cast<double>(call(at).start_offset_ns);
    }
    return sum / static_cast<double>(collective.ranks);
  }
  // From the end of the last kernel beside it to its own end.
  [[nodiscard]] Span tail(std::int64_t at) const {
    std::int64_t covered = 0;
    for (const std::int64_t length : call(at).hidden_ns) covered += length;
    return {view_.start_ns(static_cast<std::size_t>(at)) + covered,
            view_.end_ns(static_cast<std::size_t>(at))};
  }
  // Of its time, that in which the rank is not stopped for it.
  [[nodiscard]] Span unstopped(std::int64_t at) const {
    const auto place = static_cast<std::size_t>(at);
    return {view_.start_ns(place), costs_.waited_for[place] ? tail(at).start_ns : view_.end_ns(place)};
  }
  [[nodiscard]] double kernels_beside_ns(std::int64_t at) const {
    double sum = 0;
    bool beside = false;
    for (const std::int64_t length : call(at).hidden_ns) {
      if (beside) sum += static_cast<double>(length);
      beside = !beside;
    }
    return sum;
  }
  // Kernels ran beside it for this share of its unstopped time.
  [[nodiscard]] std::optional<double> beside_ratio(std::int64_t at) const {
    const Span time = unstopped(at);
    if (time.end_ns <= time.start_ns) return std::nullopt;
    return std::min(1.0, kernels_beside_ns(at) / static_cast<double>(time.end_ns - time.start_ns));
  }

  StepChain chain(std::size_t first, std::size_t end) {
    StepChain chain;
    groups_.clear();
    chain.steps.resize(end - first);
    for (std::size_t i = first; i < end; ++i) {
      ReplayedStep& step = chain.steps[i - first];
      step.place = i;
      step.begin.resize(view_.ranks());
      step.end.resize(view_.ranks());
      for (const MatchedCollective* collective : of_step_[view_.steps()[i]])
        step.calls.push_back(replayed(*collective));
    }
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) fill_rank(chain, first, rank);
    chain.groups = groups_.size();
    chain.lost = lost_;
    fill_usual_delays(chain);
    fill_usual_ratios(chain);
    return chain;
  }

  [[nodiscard]] ReplayedCall replayed(const MatchedCollective& collective) {
    const store::JobSite& site = sites_.at(collective.site_id);
    ReplayedCall out;
    out.group = groups_.try_emplace(site.communicator_id, groups_.size()).first->second;
    out.communicator_id = site.communicator_id;
    out.function = site.function;
    out.bytes = site.bytes;
    out.all_wait = synchronises(site.function) && collective.ranks > 1;
    out.ranks.resize(view_.ranks());
    double shortest = -1;
    for (const std::int64_t at : collective.calls) {
      if (at == kNoCall) continue;
      const auto duration = static_cast<double>(call(at).duration_ns);
      if (shortest < 0 || duration < shortest) shortest = duration;
    }
    out.transfer_ns = shortest;
    return out;
  }

  // What a rank waits for in the chain, and between two waits with no kernel between them.
  [[nodiscard]] Spans pauses(const StepChain& chain, std::size_t rank) const {
    Spans all;
    std::int64_t kernels = -1;
    std::int64_t end_ns = 0;
    for (const ReplayedStep& step : chain.steps) {
      kernels = -1;
      for (const MatchedCollective* collective : of_step_.at(view_.steps()[step.place])) {
        const std::int64_t at = collective->calls[rank];
        if (at == kNoCall || !costs_.waited_for[static_cast<std::size_t>(at)]) continue;
        const Span wait = tail(at);
        if (wait.end_ns <= wait.start_ns) continue;
        if (kernels == call(at).kernels_before_end && wait.start_ns > end_ns &&
            wait.start_ns - end_ns <= kLongestBetweenWaits)
          all.push_back({end_ns, wait.start_ns});
        all.push_back(wait);
        kernels = call(at).kernels_before_end;
        end_ns = std::max(end_ns, wait.end_ns);
      }
    }
    return united(std::move(all));
  }

  // When kernels of the rank ran beside collectives.
  [[nodiscard]] std::vector<SlowedSpan> slowed(const StepChain& chain, std::size_t rank) const {
    std::vector<SlowedSpan> all;
    if (lost_[rank] <= 0) return all;
    for (const ReplayedStep& step : chain.steps) {
      for (const MatchedCollective* collective : of_step_.at(view_.steps()[step.place])) {
        const std::int64_t at = collective->calls[rank];
        if (at == kNoCall) continue;
        if (const auto ratio = beside_ratio(at)) all.push_back({unstopped(at), lost_[rank] * *ratio});
      }
    }
    return all;
  }

  void fill_rank(StepChain& chain, std::size_t first, std::size_t rank) {
    const OwnTime own(view_.step(rank, first).start_ns, pauses(chain, rank), slowed(chain, rank));
    std::vector<std::optional<std::int64_t>> ended(groups_.size());
    for (ReplayedStep& step : chain.steps) {
      const store::JobStep& row = view_.step(rank, step.place);
      step.begin[rank] = own.at(row.start_ns);
      step.end[rank] = own.at(row.start_ns + row.duration_ns);
      const auto& collectives = of_step_[view_.steps()[step.place]];
      for (std::size_t i = 0; i < collectives.size(); ++i) {
        const std::int64_t at = collectives[i]->calls[rank];
        if (at != kNoCall) fill_call(step.calls[i], at, rank, own, row.start_ns, ended);
      }
    }
  }

  void fill_call(ReplayedCall& out, std::int64_t at, std::size_t rank, const OwnTime& own,
                 std::int64_t step_start_ns, std::vector<std::optional<std::int64_t>>& ended) {
    const auto place = static_cast<std::size_t>(at);
    const std::int64_t start = view_.start_ns(place);
    ReplayedCall::OfRank& of = out.ranks[rank];
    of.there = true;
    of.ready_known = call(at).ready_offset_ns.has_value();
    const std::int64_t ready =
        of.ready_known ? std::min(start, step_start_ns + *call(at).ready_offset_ns) : start;
    of.ready = own.at(ready);
    of.alone_ns = static_cast<double>(call(at).duration_ns);
    if (const auto ratio = beside_ratio(at)) of.beside_ratio = static_cast<float>(*ratio);
    if (of.alone_ns == out.transfer_ns) {
      out.beside_ns = kernels_beside_ns(at);
      out.beside_ratio = std::abs(of.beside_ratio);
    }
    // One that kernels run beside to its end is not told from one that nothing waits for: few steps show the
    // difference.
    const Span wait = tail(at);
    if (costs_.waited_for[place] && wait.end_ns > wait.start_ns)
      of.stops = own.at(wait.start_ns);
    else if (costs_.waited_for[place])
      of.may_stop = own.at(wait.end_ns);
    std::optional<std::int64_t>& before = ended[out.group];
    const bool queued = before && *before > ready && static_cast<double>(start - *before) > -kSameTimeNs;
    // The other of the two is filled from calls that show it.
    of.after_ready_ns = queued ? -1 : static_cast<double>(start - ready);
    of.after_queue_ns = queued ? std::max(0.0, static_cast<double>(start - *before)) : -1;
    before = std::max(before.value_or(0), view_.end_ns(place));
  }

  // A collective that ranks wait for from its beginning has none: where it is beside kernels, they will be as dense as
  // beside the rank's others.
  static void fill_usual_ratios(StepChain& chain) {
    std::vector<double> sum(chain.lost.size()), count(chain.lost.size());
    const auto each = [&](const auto& action) {
      for (ReplayedStep& step : chain.steps) {
        for (ReplayedCall& call : step.calls) {
          for (std::size_t r = 0; r < call.ranks.size(); ++r) {
            if (call.ranks[r].there) action(r, call.ranks[r].beside_ratio);
          }
        }
      }
    };
    each([&](std::size_t r, float ratio) {
      if (ratio < 0) return;
      sum[r] += static_cast<double>(ratio);
      ++count[r];
    });
    each([&](std::size_t r, float& ratio) {
      if (ratio < 0) ratio = count[r] > 0 ? static_cast<float>(sum[r] / count[r]) : 1;
    });
  }

  static void fill_usual_delays(StepChain& chain) {
    std::vector<std::vector<double>> ready(chain.groups), queue(chain.groups);
    const auto each = [&](const auto& action) {
      for (ReplayedStep& step : chain.steps) {
        for (ReplayedCall& call : step.calls) {
          for (ReplayedCall::OfRank& of : call.ranks) {
            if (of.there) action(call.group, of);
          }
        }
      }
    };
    each([&](std::size_t group, const ReplayedCall::OfRank& of) {
      if (of.after_ready_ns >= 0 && of.ready_known) ready[group].push_back(of.after_ready_ns);
      if (of.after_queue_ns >= 0) queue[group].push_back(of.after_queue_ns);
    });
    std::vector<double> usual_ready, usual_queue;
    for (std::size_t group = 0; group < chain.groups; ++group) {
      usual_ready.push_back(ready[group].empty() ? kUsualDelayNs : median(std::move(ready[group])));
      usual_queue.push_back(queue[group].empty() ? std::min(kUsualDelayNs, usual_ready.back())
                                                 : median(std::move(queue[group])));
    }
    each([&](std::size_t group, ReplayedCall::OfRank& of) {
      if (of.after_ready_ns < 0) of.after_ready_ns = usual_ready[group];
      if (of.after_queue_ns < 0) of.after_queue_ns = usual_queue[group];
    });
  }

  const JobView& view_;
  const CollectiveCosts& costs_;
  const std::vector<double>& lost_;
  std::unordered_map<store::Id, store::JobSite> sites_;
  std::map<std::int64_t, std::vector<const MatchedCollective*>> of_step_;
  std::map<store::Id, std::size_t> groups_;
};

}  // namespace

std::vector<StepChain> recorded_chains(const JobView& view, const Matching& matching,
                                       const CollectiveCosts& costs, const std::vector<double>& lost) {
  return ChainBuilder(view, matching, costs, lost).run();
}

EvenTimes::EvenTimes(const StepChain& chain) : chain_(chain), begins_{0} {
  for (const ReplayedStep& step : chain.steps) {
    std::vector<double> own(step.begin.size());
    for (std::size_t r = 0; r < own.size(); ++r) own[r] = step.end[r] - step.begin[r];
    lengths_.push_back(median(std::move(own)));
    begins_.push_back(begins_.back() + lengths_.back());
  }
}

// A place may lie in a later step than that of its call: gathers run beside the next forward pass.
double EvenTimes::moved(std::size_t rank, double own) const {
  const auto& steps = chain_.steps;
  const auto after = std::partition_point(steps.begin(), steps.end() - 1,
                                          [&](const ReplayedStep& step) { return step.end[rank] <= own; });
  const auto i = static_cast<std::size_t>(after - steps.begin());
  const double length = after->end[rank] - after->begin[rank];
  const double since = own - after->begin[rank];
  return begins_[i] + (length > 0 ? since * lengths_[i] / length : since);
}

void EvenTimes::apply(std::size_t i, ReplayedStep& step) const {
  for (ReplayedCall& call : step.calls) {
    for (std::size_t r = 0; r < call.ranks.size(); ++r) {
      ReplayedCall::OfRank& of = call.ranks[r];
      of.ready = moved(r, of.ready);
      if (of.stops) of.stops = moved(r, *of.stops);
      if (of.may_stop) of.may_stop = moved(r, *of.may_stop);
    }
  }
  for (std::size_t r = 0; r < step.begin.size(); ++r) {
    step.begin[r] = begins_[i];
    step.end[r] = begins_[i + 1];
  }
}

}  // namespace ridgeline::analyzer::ranks
