// pace.h: what sets the pace of a step, where it is not its kernels.
#pragma once

#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::analyzer {

/// The GPU idles for this part of the step or more, without what recording adds to both: that is said before anything
/// about kernels.
inline constexpr double kIdleThatMatters = 0.10;
/// Savings of at least this part of the step of which less than half reach it.
inline constexpr double kSavingThatMatters = 0.01;
inline constexpr double kReachThatMatters = 0.50;

/// Of collectives, what no other kernel hides.
inline constexpr double kCommunicationThatMatters = 0.10;

/// FindingCode::gpu_idle, ::saving_held_back and ::communication, in this order; those that do not hold are left out.
[[nodiscard]] Findings pace_findings(const RepresentativeStep& step, const Accounting& accounting,
                                     const Ranking& ranking);

}  // namespace ridgeline::analyzer
