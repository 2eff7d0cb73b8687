// Counters of ranges that are wider than their kernel. Where CUPTI does not make a range of each kernel the agent does,
// which begins before the kernel and ends after it: amounts are the kernel's, but a percentage "of peak over elapsed
// cycles" is over all of the range. No duration was written of such a range, and its cycles are more than the kernel
// can have had.
#include <string_view>

#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::string_view kRangeDuration = "gpu__time_duration.sum",
                           kRangeCycles = "gpc__cycles_elapsed.max";
constexpr std::string_view kOverElapsed = ".pct_of_peak_sustained_elapsed";

}  // namespace

void Model::narrow_wide_ranges() {
  const auto duration = metric_ids_.find(kRangeDuration);
  const auto cycles = metric_ids_.find(kRangeCycles);
  if (cycles == metric_ids_.end()) return;
  for (LaunchIndex index = 0; index < launches.size() && !metric_rows_.empty(); ++index) {
    const Launches::Row& launch = launches.row(index);
    const auto rows = metric_rows_.find(launch.id);
    if (rows == metric_rows_.end() || duration_ns(launch) <= 0) continue;
    const store::Device* on = device(launches.site(index).device_id);
    if (on == nullptr || on->max_sm_clock_hz.value_or(0) <= 0) continue;
    store::LaunchMetric* of_range = nullptr;
    bool has_duration = false;
    for (std::size_t i = rows->second.first; i < rows->second.second; ++i) {
      if (launch_metrics[i].tier != Tier::t2) continue;
      if (launch_metrics[i].metric_id == cycles->second) of_range = &launch_metrics[i];
      has_duration =
          has_duration || (duration != metric_ids_.end() && launch_metrics[i].metric_id == duration->second);
    }
    // At the highest clock there is: at what clock it ran is not known, and the amount is what counts.
    const double most =
        static_cast<double>(*on->max_sm_clock_hz) * static_cast<double>(duration_ns(launch)) * 1e-9;
    if (has_duration || of_range == nullptr || !(of_range->value > most)) continue;
    const double wider = of_range->value / most;
    of_range->value = most;
    for (std::size_t i = rows->second.first; i < rows->second.second; ++i) {
      store::LaunchMetric& row = launch_metrics[i];
      const auto named = metrics.find(row.metric_id);
      if (row.tier == Tier::t2 && named != metrics.end() && named->second.name.ends_with(kOverElapsed))
        row.value *= wider;
    }
  }
}

}  // namespace ridgeline::analyzer
