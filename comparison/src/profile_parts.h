// profile_parts.h: what of a run's step is not its kernels: copies, memsets, gaps by cause, the CPU's time.
#pragma once

#include <vector>

#include "ridgeline/comparison/profile.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::comparison {

/// `own_kernels_ns`: sum over the representative step's launches, of all devices.
[[nodiscard]] StepParts parts_of(const analyzer::Model& model, const analyzer::StepAnalysis& steps,
                                 const analyzer::Accounting& accounting, double own_kernels_ns);

/// `step_ids`: those that medians are taken over; none: the whole recording is one step.
[[nodiscard]] std::vector<TransferSite> transfers_of(const store::Activity& activity,
                                                     const analyzer::Model& model,
                                                     const analyzer::StepAnalysis& steps,
                                                     const std::vector<store::Id>& step_ids,
                                                     const analyzer::QueryOptions& ask);

}  // namespace ridgeline::comparison
