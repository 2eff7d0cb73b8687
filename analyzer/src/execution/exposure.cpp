#include "ridgeline/analyzer/execution/exposure.h"

#include <algorithm>
#include <map>

#include "execution/sweep.h"

namespace ridgeline::analyzer {

Exposure exposed_times(const Model& model, store::Id process_id, std::span<const TimeWindow> windows) {
  Exposure exposed;
  exposed.whole_ns.resize(model.launches.size());
  for (const TimeWindow& window : windows) {
    std::map<store::Id, ExecutionSweep> devices;
    const Launches::Range range = model.launches.near(process_id, window.start_ns, window.end_ns);
    for (LaunchIndex i = range.first; i < range.last; ++i) {
      const Launches::Row& launch = model.launches.row(i);
      if (launch.start_ns <= 0) continue;
      const TimeWindow part{std::max(launch.start_ns, window.start_ns),
                            std::min(launch.end_ns, window.end_ns)};
      if (part.end_ns <= part.start_ns) continue;
      const auto device = devices.try_emplace(model.launches.site(i).device_id, window, nullptr, &exposed);
      device.first->second.add(part, ExecutionSweep::kComputation, i);
    }
    for (auto& [id, sweep] : devices) sweep.finish();
  }
  return exposed;
}

}  // namespace ridgeline::analyzer
