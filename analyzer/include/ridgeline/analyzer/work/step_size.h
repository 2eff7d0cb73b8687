// step_size.h: what the program says that a step works through.
#pragma once

#include <optional>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

/// What the program says that a step works through; empty: it does not say.
struct StepSize {
  std::optional<double> tokens, samples;
};

/// Of the representative step, or of all that the scope takes together: the sum of the outermost ranges that declare
/// it.
[[nodiscard]] StepSize declared_size(const Model& model, const StepAnalysis& steps);

}  // namespace ridgeline::analyzer
