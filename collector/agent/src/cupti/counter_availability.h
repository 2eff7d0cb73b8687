// Which counters CUPTI can have now: an image that its configurations are made from. Takes 0.2 s; HARDWARE_BUSY while
// another process or profiler has the counters, after 10 to 40 ms. Nothing is kept open.
#pragma once

#include <cstdint>
#include <vector>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

/// Of the range profiler, which has to be initialised, and be there (has_range_profiler). `context` is synchronised, so
/// that nothing may be captured on it and no stream of it may wait for the host.
CUptiResult ask_counter_availability(const CuptiApi& api, CUcontext context,
                                     std::vector<std::uint8_t>* image);
/// Of PM sampling (has_pm_sampling).
CUptiResult ask_sample_availability(const CuptiApi& api, std::uint32_t device_id,
                                    std::vector<std::uint8_t>* image);
/// True: one of the two says that they are in use. Starting PC sampling would fail now, which CUPTI does not survive.
/// False: it would not, or this CUPTI cannot be asked.
bool counters_in_use(const CuptiApi& api, CUcontext context, std::uint32_t device_id);

}  // namespace ridgeline::agent
