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

/// Whether some of a launch's or copy's time lies in the window. What has no length counts where it began.
template <typename Row>
[[nodiscard]] bool runs_in(const Row& row, const TimeWindow& window) {
  return row.start_ns < window.end_ns && (row.end_ns > window.start_ns || row.start_ns >= window.start_ns);
}

/// Failures: those of analyze_steps(); no_data (Scope::calls launched nothing); usage (a step that is not there, an
/// empty window).
[[nodiscard]] Result<Selection> select(const Model& model, const StepOptions& options, const Scope& scope);

}  // namespace ridgeline::analyzer
