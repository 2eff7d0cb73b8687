// tracing_loop.h: launches of an empty kernel, timed without CUPTI, with its records and with these off again.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/launch/tracing_cost.h"

namespace ridgeline::launch {

/// Numbers of CUPTI's interface, which is not needed to build.
namespace cupti_numbers {
inline constexpr int kDriverApi = 1;            // CUPTI_CB_DOMAIN_DRIVER_API
inline constexpr unsigned kLaunchKernel = 307;  // CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
inline constexpr int kConcurrentKernel = 10;    // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
}  // namespace cupti_numbers

/// In a process that ends then: CUPTI is taken off it again and again. Empty: something of it failed.
[[nodiscard]] std::vector<TracingTurn> time_tracing(const std::string& cupti_library);

}  // namespace ridgeline::launch
