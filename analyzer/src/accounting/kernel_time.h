// kernel_time.h: makes a KernelTime of a selection of launches.
#pragma once

#include "ridgeline/analyzer/accounting/kernel_time.h"
#include "steps/selection.h"

namespace ridgeline::analyzer {

[[nodiscard]] KernelTime kernel_time(const Model& model, const Selection& selection,
                                     const UtilisationAnalysis& utilisation, store::Id device_id,
                                     const BoundOptions& options);

}  // namespace ridgeline::analyzer
