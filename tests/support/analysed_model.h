// analysed_model.h: everything about a model that was made by hand, without a capture to ask.
#pragma once

#include <memory>

#include "session/scope_analysis.h"

namespace ridgeline::analyzer::testing {

/// As Session::analysis() answers of a capture. The model must outlive the call only.
inline Result<Analysis> analyse(const Model& model, const AnalysisOptions& options = {}) {
  try {
    const std::shared_ptr<const Model> borrowed(std::shared_ptr<const Model>(), &model);
    return ScopeAnalysis(borrowed, options, {}, {}).together(Session::kEverything, {});
  } catch (const QueryFailed& refused) {
    return refused.failure;
  }
}

}  // namespace ridgeline::analyzer::testing
