// Counters of ranges that are wider than their kernel. Where CUPTI does not make a range of each kernel the agent does,
// which begins before the kernel and ends after it: amounts are the kernel's, but a percentage "of peak over elapsed
// cycles" is over all of the range. No duration was written of such a range, and its cycles are more than the kernel
// can have had.
#include <optional>
#include <string_view>
#include <unordered_map>

#include "metric_names.h"
#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::string_view kOverElapsed = ".pct_of_peak_sustained_elapsed";

}  // namespace

void Model::narrow_wide_ranges() {
  const auto duration = metric_ids_.find(metric_name::kDuration);
  const auto cycles = metric_ids_.find(metric_name::kCycles);
  if (cycles == metric_ids_.end()) return;
  // Launches whose range has cycles and no duration, and the row of the cycles.
  std::unordered_map<store::Id, std::size_t> cycles_of;
  for (const auto& [launch_id, rows] : metric_rows_) {
    std::optional<std::size_t> found;
    bool has_duration = false;
    for (std::size_t i = rows.first; i < rows.second; ++i) {
      if (launch_metrics[i].tier != Tier::t2) continue;
      if (launch_metrics[i].metric_id == cycles->second) found = i;
      if (duration != metric_ids_.end() && launch_metrics[i].metric_id == duration->second)
        has_duration = true;
    }
    if (found && !has_duration) cycles_of.emplace(launch_id, *found);
  }
  for (LaunchIndex index = 0; index < launches.size() && !cycles_of.empty(); ++index) {
    const Launches::Row& launch = launches.row(index);
    const auto of_range = cycles_of.find(launch.id);
    if (of_range == cycles_of.end() || duration_ns(launch) <= 0) continue;
    const store::Device* on = device(launches.site(index).device_id);
    if (on == nullptr || on->max_sm_clock_hz.value_or(0) <= 0) continue;
    // At the highest clock there is: at what clock it ran is not known, and the amount is what counts.
    const double most =
        static_cast<double>(*on->max_sm_clock_hz) * static_cast<double>(duration_ns(launch)) * 1e-9;
    double& elapsed = launch_metrics[of_range->second].value;
    if (!(elapsed > most)) continue;
    const double wider = elapsed / most;
    elapsed = most;
    const auto& [first, last] = metric_rows_.at(launch.id);
    for (std::size_t i = first; i < last; ++i) {
      const auto named = metrics.find(launch_metrics[i].metric_id);
      if (launch_metrics[i].tier == Tier::t2 && named != metrics.end() &&
          named->second.name.ends_with(kOverElapsed))
        launch_metrics[i].value *= wider;
    }
  }
}

}  // namespace ridgeline::analyzer
