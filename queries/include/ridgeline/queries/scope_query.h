// scope_query.h: all that is said of one part of a capture, together: what a client shows side by side.
#pragma once

#include <memory>

#include "ridgeline/analyzer/roofline/roofline_plot.h"
#include "ridgeline/analyzer/session/session.h"

namespace ridgeline::queries {

struct ScopeQuery {
  analyzer::Scope scope;
  analyzer::RankingKey key = analyzer::RankingKey::kernel;
};

/// What the analyzer says of one scope, with the launches that its indices point into. Immutable and shared.
struct ScopeAnswer {
  analyzer::Scope scope;
  analyzer::RankingKey key = analyzer::RankingKey::kernel;
  std::shared_ptr<const analyzer::Model> model;
  std::shared_ptr<const analyzer::StepAnalysis> steps;
  std::shared_ptr<const analyzer::UtilisationAnalysis> utilisation;
  std::shared_ptr<const analyzer::Ranking> ranking;
  std::shared_ptr<const analyzer::Accounting> accounting;
  std::shared_ptr<const analyzer::Roofline> roofline;  ///< of the ranking
  [[nodiscard]] analyzer::RooflineSource to_plot() const { return {*model, *ranking, *roofline}; }
};

/// A whole capture: how it was recorded, and what is said of its representative step.
struct Overview {
  std::shared_ptr<const analyzer::Model> recording;
  std::shared_ptr<const analyzer::Analysis> analysis;
  std::shared_ptr<const ScopeAnswer> step;  ///< by kernel; shares the analysis
};

/// Failures: those of the session's questions.
[[nodiscard]] analyzer::Answer<ScopeAnswer> ask(analyzer::Session& session, const ScopeQuery& query,
                                                const analyzer::QueryOptions& how = {});
[[nodiscard]] Result<Overview> ask_overview(analyzer::Session& session,
                                            const analyzer::QueryOptions& how = {});

}  // namespace ridgeline::queries
