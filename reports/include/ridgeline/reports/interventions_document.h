// interventions_document.h: what delays in front of launches did to the step, for people and programs.
#pragma once

#include <optional>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/analyzer/whatif/interventions.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/analyzer/whatif/power_blocks.h"
#include "ridgeline/analyzer/whatif/replay.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// One row per launch that was delayed. Both refer to the arguments.
[[nodiscard]] Table interventions_table(const analyzer::Model& model,
                                        const analyzer::InterventionAnalysis& answer);
/// One row per launch and level of delay.
[[nodiscard]] Table delay_levels_table(const analyzer::Model& model,
                                       const analyzer::InterventionAnalysis& answer);

/// What there is to be said.
struct InterventionsToTell {
  const analyzer::InterventionAnalysis& measured;
  const analyzer::ReplayCheck&
      check;  ///< how the step's simulation comes out, that the simulated slopes are of
  const std::optional<analyzer::PowerBlocks>& blocks;
  const std::optional<analyzer::Interval>& expected_left;  ///< of the blocks, by what-if's power term
};

/// Throws Error(usage) for an unknown column. Refers to the arguments, and to what `told` refers to.
[[nodiscard]] Document interventions_document(const analyzer::Model& model,
                                              const analyzer::Analysis& analysis,
                                              const InterventionsToTell& told,
                                              const DocumentOptions& options);

}  // namespace ridgeline::reports
