// interventions_query.h: what delays in front of launches did to the step.
#pragma once

#include <optional>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/whatif/interventions.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/analyzer/whatif/power_blocks.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::queries {

/// Measured slopes and slack of the launches that were delayed (`record --intervene`), beside the simulated ones.
struct InterventionsQuery {
  analyzer::Scope scope = {};  ///< of the step that is simulated
};

struct InterventionsAnswer {
  analyzer::InterventionAnalysis measured;
  analyzer::ReplayCheck check;
  std::optional<analyzer::PowerBlocks> blocks;  ///< empty: none were recorded
  /// What what-if's power term leaves of a gain in pauses, which a delay is the opposite of, with the limit as it was
  /// in the blocks; empty: no samples there say whether it held.
  std::optional<analyzer::Interval> expected_left;
};

/// `capture` is the session's. Failures: no_data (no launch was delayed), those of Session::replay().
[[nodiscard]] analyzer::Answer<InterventionsAnswer> ask(analyzer::Session& session,
                                                        const store::Capture& capture,
                                                        const InterventionsQuery& query,
                                                        const analyzer::QueryOptions& how = {});

}  // namespace ridgeline::queries
