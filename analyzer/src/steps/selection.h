// selection.h: the launches that a scope means.
#pragma once

#include <vector>

#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

/// A scope made concrete. `steps.representative` holds its launches, whichever steps they are of, and the time
/// that they are measured against; `steps.spread` and the peers stay those of the representative step.
struct Selection {
  StepAnalysis steps;
  /// Stretches of time that the scope covers, in order: a step each, or one window.
  struct Part {
    RepresentativeStep step;
  };
  std::vector<Part> parts;
};

/// Failures: those of analyze_steps(); usage (a step that is not there, an empty window).
[[nodiscard]] Result<Selection> select(const Model& model, const StepOptions& options, const Scope& scope);

}  // namespace ridgeline::analyzer
