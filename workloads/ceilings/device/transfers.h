// transfers.h: copies between host and device, and between devices.
#pragma once

#include <string>
#include <vector>

#include "ceilings/core/plan.h"
#include "ceilings/core/roof.h"

namespace ridgeline::ceilings {

/// Roofs of level `pcie`: "to_device", "to_host", "both" (the two at once, added up), with pinned memory; and
/// where a second GPU is seen that this one can reach directly, of level `nvlink`: "to_peer", "from_peer" (both by this
/// device's copy engines) and "both" (each device sends its own, the two at once, added up). Which way the bytes take
/// between devices is the driver's choice; `configuration` names the peer.
[[nodiscard]] std::vector<Roof> measure_transfers(const Plan& plan, const std::vector<std::string>& only,
                                                  int device);

}  // namespace ridgeline::ceilings
