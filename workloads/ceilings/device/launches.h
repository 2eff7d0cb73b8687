// launches.h: what a launch costs the GPU when launches follow one another, in a stream and in a graph, and the CPU.
#pragma once

#include <vector>

#include "ceilings/core/plan.h"
#include "ceilings/core/roof.h"
#include "ceilings/device/clock_probe.h"

namespace ridgeline::ceilings {

/// Roofs of level `launch`, in ns a launch (less is better): "stream" and "graph" of a kernel that does nothing,
/// "stream_64kb" and "graph_64kb" of one that reads and writes 64 KiB in all.
[[nodiscard]] std::vector<Roof> measure_launches(const Plan& plan, const std::vector<std::string>& only,
                                                 cudaStream_t stream);

}  // namespace ridgeline::ceilings
