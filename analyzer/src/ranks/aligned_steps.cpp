#include "ranks/aligned_steps.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

// Fewer steps, or calls, that both ranks made tell nothing.
constexpr std::size_t kMinInCommon = 3;
// What ranks leave at the same time they leave within this share of a step.
constexpr double kTogetherRatio = 0.25;

struct StepEnd {
  std::int64_t step_index = 0;
  std::int64_t end_ns = 0;  // of its last collective, on the host's clock
};
using Ends = std::vector<StepEnd>;  // by time

std::map<std::int64_t, Ends> ends_by_rank(const store::Job& job) {
  const JobView view(job);
  std::map<std::int64_t, Ends> ends;
  for (std::size_t i = 0; i < job.calls.size(); ++i) {  // by rank and step
    const store::JobCall& call = job.calls[i];
    Ends& all = ends[call.rank];
    if (all.empty() || all.back().step_index != call.step_index)
      all.push_back({call.step_index, view.end_ns(i)});
    all.back().end_ns = std::max(all.back().end_ns, view.end_ns(i));
  }
  for (auto& [rank, all] : ends)
    std::sort(all.begin(), all.end(), [](const StepEnd& a, const StepEnd& b) { return a.end_ns < b.end_ns; });
  return ends;
}

double usual_step_length_ns(const Ends& ends) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < ends.size(); ++i)
    lengths.push_back(static_cast<double>(ends[i].end_ns - ends[i - 1].end_ns));
  return lengths.empty() ? 0 : median(lengths);
}

const StepEnd& nearest(const Ends& ends, std::int64_t at_ns) {
  const auto after = std::lower_bound(ends.begin(), ends.end(), at_ns,
                                      [](const StepEnd& end, std::int64_t at) { return end.end_ns < at; });
  if (after == ends.begin()) return *after;
  const auto before = std::prev(after);
  return after == ends.end() || at_ns - before->end_ns <= after->end_ns - at_ns ? *before : *after;
}

using Shifts =
    std::map<std::int64_t, std::size_t>;  // how much higher the other rank's numbers are, and how often

std::optional<std::int64_t> usual_shift(const Shifts& shifts) {
  std::size_t all = 0;
  for (const auto& [shift, times] : shifts) all += times;
  const auto most = std::max_element(shifts.begin(), shifts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool sure = most != shifts.end() && most->second >= kMinInCommon && 2 * most->second > all;
  return sure ? std::optional(most->first) : std::nullopt;
}

std::optional<std::int64_t> shift_by_time(const Ends& reference, const Ends& other) {
  if (reference.size() < kMinInCommon || other.size() < kMinInCommon) return std::nullopt;
  const double together_ns = kTogetherRatio * usual_step_length_ns(reference);
  Shifts shifts;
  for (const StepEnd& end : other) {
    const StepEnd& there = nearest(reference, end.end_ns);
    if (static_cast<double>(std::abs(end.end_ns - there.end_ns)) <= together_ns)
      ++shifts[end.step_index - there.step_index];
  }
  return usual_shift(shifts);
}

struct NumberedCall {
  store::Id communicator = 0;
  std::int64_t ordinal = 0;
  std::int64_t step_index = 0;
  auto operator<=>(const NumberedCall&) const = default;
};

class NumberedCalls {
 public:
  explicit NumberedCalls(const store::Job& job) : job_(job) {
    for (const store::JobSite& site : job.sites) communicators_[site.id] = site.communicator_id;
    for (const store::JobCall& call : job.calls) {  // by rank
      if (!call.ordinal) continue;
      if (!reference_rank_) reference_rank_ = call.rank;
      if (call.rank == reference_rank_) reference_.push_back(numbered(call));
    }
    std::sort(reference_.begin(), reference_.end());
  }
  /// The lowest rank of which a call is known; none: of none.
  [[nodiscard]] std::optional<std::int64_t> reference_rank() const { return reference_rank_; }
  /// How much higher the numbers of each other rank are in the calls that the reference has too.
  [[nodiscard]] std::map<std::int64_t, Shifts> shifts() const {
    std::map<std::int64_t, Shifts> shifts;
    for (const store::JobCall& call : job_.calls) {
      if (!call.ordinal || call.rank == reference_rank_) continue;
      const NumberedCall one = numbered(call);
      const auto there = std::lower_bound(reference_.begin(), reference_.end(),
                                          NumberedCall{one.communicator, one.ordinal, INT64_MIN});
      if (there != reference_.end() && there->communicator == one.communicator &&
          there->ordinal == one.ordinal)
        ++shifts[call.rank][one.step_index - there->step_index];
    }
    return shifts;
  }

 private:
  [[nodiscard]] NumberedCall numbered(const store::JobCall& call) const {
    return {communicators_.at(call.site_id), *call.ordinal, call.step_index};
  }

  const store::Job& job_;
  std::unordered_map<store::Id, store::Id> communicators_;  // by site
  std::optional<std::int64_t> reference_rank_;
  std::vector<NumberedCall> reference_;
};

// Of each rank the lowest number of its steps and how much too high they all are.
class Renumbering {
 public:
  explicit Renumbering(const store::Job& job) {
    for (const store::JobStep& step : job.steps) {
      const auto lowest = lowest_.try_emplace(step.rank, step.step_index).first;
      lowest->second = std::min(lowest->second, step.step_index);
    }
  }
  // Steps are numbered from 0: what would be before it is no step that was found twice.
  void shift(std::int64_t rank, std::int64_t by) {
    if (const auto lowest = lowest_.find(rank); lowest != lowest_.end() && by <= lowest->second)
      shifts_[rank] = by;
  }
  [[nodiscard]] bool has(std::int64_t rank) const { return shifts_.contains(rank); }
  [[nodiscard]] std::int64_t of(std::int64_t rank) const {
    const auto shift = shifts_.find(rank);
    return shift == shifts_.end() ? 0 : shift->second;
  }
  void renumber(store::Job& job) const {
    const auto each = [this](auto& rows) {
      for (auto& row : rows) row.step_index -= of(row.rank);
    };
    each(job.steps);
    each(job.calls);
    each(job.kernel_steps);
  }

 private:
  std::map<std::int64_t, std::int64_t> lowest_, shifts_;
};

void align_by_ordinals(const store::Job& job, Renumbering& renumbering) {
  const NumberedCalls numbered(job);
  if (!numbered.reference_rank()) return;
  renumbering.shift(*numbered.reference_rank(), 0);
  for (const auto& [rank, shifts] : numbered.shifts()) {
    if (const auto shift = usual_shift(shifts)) renumbering.shift(rank, *shift);
  }
}

// Within each host, what has no shift as yet.
void align_by_time(const store::Job& job, Renumbering& renumbering) {
  std::map<std::string, std::vector<std::int64_t>> hosts;
  for (const store::JobRank& rank : job.ranks) hosts[clock_of(rank)].push_back(rank.rank);
  const std::map<std::int64_t, Ends> ends = ends_by_rank(job);
  for (auto& [host, ranks] : hosts) {
    std::sort(ranks.begin(), ranks.end());
    const auto is_reference = [&](std::int64_t rank) { return ends.contains(rank) && renumbering.has(rank); };
    auto reference = std::find_if(ranks.begin(), ranks.end(), is_reference);
    if (reference == ranks.end())
      reference =
          std::find_if(ranks.begin(), ranks.end(), [&](std::int64_t rank) { return ends.contains(rank); });
    if (reference == ranks.end()) continue;
    for (const std::int64_t rank : ranks) {
      if (rank == *reference || renumbering.has(rank) || !ends.contains(rank)) continue;
      if (const auto shift = shift_by_time(ends.at(*reference), ends.at(rank)))
        renumbering.shift(rank, *shift + renumbering.of(*reference));
    }
  }
}

}  // namespace

void align_steps(store::Job& job) {
  Renumbering renumbering(job);
  align_by_ordinals(job, renumbering);
  align_by_time(job, renumbering);
  renumbering.renumber(job);
}

std::vector<std::string> joined_by_numbers(const store::Job& job) {
  if (job.ranks.empty()) return {};
  const NumberedCalls numbered(job);
  const std::int64_t reference = numbered.reference_rank().value_or(job.ranks.front().rank);
  std::set<std::string> counted, shown;
  std::string of_reference;
  for (const store::JobRank& rank : job.ranks) {
    if (rank.rank == reference) of_reference = clock_of(rank);
    if (rank.step_source == StepSource::period) counted.insert(clock_of(rank));
  }
  const std::map<std::int64_t, Shifts> shifts = numbered.shifts();
  for (const store::JobRank& rank : job.ranks) {
    const auto shift = shifts.find(rank.rank);
    if (shift != shifts.end() && usual_shift(shift->second) == 0) shown.insert(clock_of(rank));
  }
  std::set<std::string> hosts;
  for (const store::JobRank& rank : job.ranks) {
    const std::string host = clock_of(rank);
    const bool either = counted.contains(host) || counted.contains(of_reference);
    if (host != of_reference && either && !shown.contains(host)) hosts.insert(host);
  }
  return {hosts.begin(), hosts.end()};
}

}  // namespace ridgeline::analyzer::ranks
