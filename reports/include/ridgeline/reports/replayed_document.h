// replayed_document.h: what launches did when they were replayed for their counters, beside what they did in the run.
#pragma once

#include "ridgeline/analyzer/utilisation/replayed_in_situ.h"
#include "ridgeline/reports/documents.h"

namespace ridgeline::reports {

/// One row per kernel, grid and block. Refers to the argument.
[[nodiscard]] Table replayed_table(const analyzer::ReplayedInSitu& replayed);

/// Throws Error(usage) for an unknown column. Refers to the arguments.
[[nodiscard]] Document replayed_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                         const analyzer::ReplayedInSitu& replayed,
                                         const DocumentOptions& options);

}  // namespace ridgeline::reports
