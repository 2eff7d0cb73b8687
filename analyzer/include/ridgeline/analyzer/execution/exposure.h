// exposure.h: what each launch adds to the time in which a device computes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

/// The time that launches ran inside windows of time, each instant shared equally by all launches of the process that
/// ran on the device then, whichever step they are of. The sum over a device's launches is the time in which a kernel
/// ran on it. 0 for launches outside the windows, of other processes or without timestamps.
struct Exposure {
  /// By LaunchIndex. What does not divide evenly goes to the launch that began first, so that sums are exact.
  std::vector<std::int64_t> whole_ns;
  /// The same undivided, of launches that shared their time.
  std::unordered_map<LaunchIndex, double> shared_ns;

  [[nodiscard]] double ns(LaunchIndex launch) const {
    const auto shared = shared_ns.find(launch);
    return shared == shared_ns.end() ? static_cast<double>(whole_ns[launch]) : shared->second;
  }
};

[[nodiscard]] Exposure exposed_times(const Model& model, store::Id process_id,
                                     std::span<const TimeWindow> windows);

}  // namespace ridgeline::analyzer
