// step_pace_query.h: what the steps got done in their time and the memory that was held meanwhile, step by step.
#pragma once

#include <stop_token>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/work/step_pace.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::queries {

/// One for each of `steps.steps`, in their order: steps a second of all that ran; tokens and samples a second
/// where the program declares them, memory where its calls were recorded, bytes over NVLink and PCIe where those were
/// sampled. `steps` is of that capture. Reads the ranges that declare a size, the calls that took or returned
/// memory, and those samples. Failures: cancelled, those of the file.
[[nodiscard]] Result<std::vector<analyzer::StepPace>> ask_step_pace(const store::Capture& capture,
                                                                    const analyzer::StepAnalysis& steps,
                                                                    const std::stop_token& stop = {});

}  // namespace ridgeline::queries
