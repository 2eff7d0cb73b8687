// ceilings_document.h: the measured roofs of a GPU, for people and programs.
#pragma once

#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"
#include "ridgeline/store/machine_ceilings.h"

namespace ridgeline::reports {

/// One row per roof and state, in the order of the file. Refers to `machine`.
[[nodiscard]] Table ceilings_table(const store::MachineCeilings& machine);

/// Throws Error(usage) for an unknown column. Refers to `machine`.
[[nodiscard]] Document ceilings_document(const store::MachineCeilings& machine,
                                         const DocumentOptions& options);

}  // namespace ridgeline::reports
