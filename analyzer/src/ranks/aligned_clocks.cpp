#include "ranks/aligned_clocks.h"

#include <algorithm>
#include <map>
#include <string>

#include "ridgeline/analyzer/ranks/job_capture.h"

namespace ridgeline::analyzer::ranks {

AlignedClocks::AlignedClocks(const JobView& view)
    : origin_ns_(view.job().steps.empty() ? 0 : view.job().steps.front().start_ns) {
  std::map<std::string, const store::JobClock*> clocks;
  for (const store::JobClock& clock : view.job().clocks) clocks[clock.host] = &clock;
  for (const store::JobRank& rank : view.job().ranks) {
    const auto clock = clocks.find(clock_of(rank));
    clock_of_.push_back(clock == clocks.end() ? nullptr : clock->second);
    const store::JobClock* of = clock_of_.back();
    if (of == nullptr || !of->low_ns || !of->high_ns)
      error_ns_.emplace_back();
    else
      error_ns_.emplace_back(static_cast<double>(std::max(-*of->low_ns, *of->high_ns)));
  }
}

double AlignedClocks::aligned_ns(std::size_t rank, std::int64_t own_ns) const {
  const store::JobClock& clock = *clock_of_[rank];
  const auto since = static_cast<double>(own_ns - clock.base_ns.value_or(0));
  return static_cast<double>(own_ns - clock.offset_ns.value_or(0) - origin_ns_) -
         clock.drift_ppb.value_or(0) * 1e-9 * since;
}

}  // namespace ridgeline::analyzer::ranks
