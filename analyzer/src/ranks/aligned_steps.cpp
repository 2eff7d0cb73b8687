#include "ranks/aligned_steps.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

// Fewer steps that both ranks made tell nothing.
constexpr std::size_t kMinStepsInCommon = 3;
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

// How much higher the other rank's numbers are.
std::int64_t shift_of(const Ends& reference, const Ends& other) {
  if (reference.size() < kMinStepsInCommon || other.size() < kMinStepsInCommon) return 0;
  const double together_ns = kTogetherRatio * usual_step_length_ns(reference);
  std::map<std::int64_t, std::size_t> shifts;
  std::size_t both = 0;
  for (const StepEnd& end : other) {
    const StepEnd& there = nearest(reference, end.end_ns);
    if (static_cast<double>(std::abs(end.end_ns - there.end_ns)) > together_ns) continue;
    ++shifts[end.step_index - there.step_index];
    ++both;
  }
  const auto most = std::max_element(shifts.begin(), shifts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool sure = most != shifts.end() && most->second >= kMinStepsInCommon && 2 * most->second > both;
  return sure && most->first <= other.front().step_index ? most->first : 0;
}

}  // namespace

void align_steps(store::Job& job) {
  std::map<std::string, std::vector<std::int64_t>> hosts;
  for (const store::JobRank& rank : job.ranks) hosts[clock_of(rank)].push_back(rank.rank);
  const std::map<std::int64_t, Ends> ends = ends_by_rank(job);
  std::unordered_map<std::int64_t, std::int64_t> shifts;
  for (auto& [host, ranks] : hosts) {
    std::sort(ranks.begin(), ranks.end());
    const Ends* reference = nullptr;
    for (const std::int64_t rank : ranks) {
      const auto found = ends.find(rank);
      if (found == ends.end()) continue;
      if (reference == nullptr)
        reference = &found->second;
      else if (const std::int64_t shift = shift_of(*reference, found->second); shift != 0)
        shifts[rank] = shift;
    }
  }
  if (shifts.empty()) return;
  const auto renumber = [&](auto& rows) {
    for (auto& row : rows) {
      if (const auto shift = shifts.find(row.rank); shift != shifts.end()) row.step_index -= shift->second;
    }
  };
  renumber(job.steps);
  renumber(job.calls);
  renumber(job.kernel_steps);
}

}  // namespace ridgeline::analyzer::ranks
