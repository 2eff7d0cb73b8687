// steps_document.h: the steps with what they got done in their time.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/work/step_pace.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

// `pace` is of the steps of the analysis, in their order, or empty: then nothing is said of it. All refer to their
// arguments.

/// steps_table() with tokens and samples a second and the memory that was held; shown where a step has them.
[[nodiscard]] Table steps_table(const analyzer::StepAnalysis& steps,
                                const std::vector<analyzer::StepPace>& pace);
/// steps_document() with them. Throws Error(usage) for an unknown column.
[[nodiscard]] Document steps_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                      const std::vector<analyzer::StepPace>& pace,
                                      const DocumentOptions& options);

/// How fast the process went and what memory it held, over its timeline steps; "" where the program declares no
/// size and no memory was recorded.
[[nodiscard]] std::string pace_line(const analyzer::StepAnalysis& steps,
                                    const std::vector<analyzer::StepPace>& pace);

}  // namespace ridgeline::reports
