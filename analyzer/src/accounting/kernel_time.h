// kernel_time.h: makes a KernelTime of what is known of launches.
#pragma once

#include "ridgeline/analyzer/accounting/kernel_time.h"
#include "ridgeline/analyzer/execution/exposure.h"

namespace ridgeline::analyzer {

/// `exposure` is of the time that the utilisation's launches are looked at in.
[[nodiscard]] KernelTime kernel_time(const Model& model, const UtilisationAnalysis& utilisation,
                                     const Exposure& exposure, store::Id device_id,
                                     const BoundOptions& options);

}  // namespace ridgeline::analyzer
