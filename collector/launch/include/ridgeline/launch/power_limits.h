// power_limits.h: the power limits that this machine's GPUs work under.
#pragma once

#include <map>
#include <string>

namespace ridgeline::launch {

/// Watts that each GPU is held to now, by its UUID ("GPU-01234567-…"). Asked of NVML in a process of its own; empty
/// without it, and without those that it does not tell.
[[nodiscard]] std::map<std::string, double> power_limits_w();

}  // namespace ridgeline::launch
