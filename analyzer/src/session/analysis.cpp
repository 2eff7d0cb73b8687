#include "ridgeline/analyzer/analysis.h"

#include "session/scope_analysis.h"

namespace ridgeline::analyzer {

Result<Analysis> analyze(const Model& model, const AnalysisOptions& options) {
  try {
    // The caller's model outlives the analysis: no copy, nothing to free.
    const std::shared_ptr<const Model> borrowed(std::shared_ptr<const Model>(), &model);
    return ScopeAnalysis(borrowed, options, {}, {}).together(Session::kEverything, {});
  } catch (const Refused& refused) {
    return refused.failure;
  }
}

}  // namespace ridgeline::analyzer
