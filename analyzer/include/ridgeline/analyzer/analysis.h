// analysis.h: everything at once, for a report.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/analyzer/accounting.h"
#include "ridgeline/analyzer/declared_work.h"
#include "ridgeline/analyzer/model.h"
#include "ridgeline/analyzer/quality.h"
#include "ridgeline/analyzer/ranking.h"
#include "ridgeline/analyzer/roofline.h"
#include "ridgeline/analyzer/sampled_step.h"
#include "ridgeline/analyzer/stalls.h"
#include "ridgeline/analyzer/steps.h"
#include "ridgeline/analyzer/targets.h"
#include "ridgeline/analyzer/throughput.h"
#include "ridgeline/analyzer/utilisation.h"

namespace ridgeline::analyzer {

struct AnalysisOptions {
  StepOptions steps;
  UtilisationOptions utilisation;
  RankOptions rank;
  TargetOptions targets;
  AccountingOptions accounting;
  QualityOptions quality;
  StallOptions stalls;
};

struct Analysis {
  StepAnalysis steps;
  UtilisationAnalysis utilisation;
  Ranking ranking;    // by AnalysisOptions::rank
  TargetCheck check;  // per kernel, whatever the ranking's key; its rows are those of check_ranking
  Ranking check_ranking;
  Accounting accounting;
  std::vector<DeclaredWork> declared_work;        // by NVTX path
  std::vector<DeclaredWork> declared_operations;  // by operation
  Throughput throughput;
  Quality quality;
  StallAnalysis stalls;                // of the worst rows of check_ranking
  Roofline roofline;                   // of `ranking`
  Ranking classes;                     // by kernel class
  std::optional<SampledStep> sampled;  // if samples were asked for and there are any
};

/// Failures: no_data (no launch with a timestamp), usage (options).
[[nodiscard]] Result<Analysis> analyze(const Model& model, const AnalysisOptions& options = {});

}  // namespace ridgeline::analyzer
