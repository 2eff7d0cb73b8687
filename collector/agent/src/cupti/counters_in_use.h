// Whether another process or profiler has a device's counters.
#pragma once

#include <cstdint>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

/// Asks CUPTI (10 to 40 ms if they are in use, 0.2 s if not) without keeping anything open. True: starting PC sampling
/// would fail now, which CUPTI does not survive. False: it would not, or this CUPTI cannot be asked. Its profiler is
/// initialised, `context` is current; it is synchronised, so that nothing may be captured on it and no stream of it may
/// wait for the host.
bool counters_in_use(const CuptiApi& api, CUcontext context, std::uint32_t device_id);

}  // namespace ridgeline::agent
