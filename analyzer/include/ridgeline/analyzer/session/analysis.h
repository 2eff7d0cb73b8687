// analysis.h: everything at once, for a report.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/advice/advice.h"
#include "ridgeline/analyzer/findings/quality.h"
#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/ranking/stalls.h"
#include "ridgeline/analyzer/ranking/targets.h"
#include "ridgeline/analyzer/ranking/throughput.h"
#include "ridgeline/analyzer/roofline/roofline.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/trace/sampled_step.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/whatif/replay.h"
#include "ridgeline/analyzer/work/declared_work.h"
#include "ridgeline/store/machine_ceilings.h"

namespace ridgeline::analyzer {

struct AnalysisOptions {
  /// Roofs of a machine file, in the place of those that the capture has of such devices. Questions fail (usage) if the
  /// capture has no device that it measures.
  std::optional<store::MachineCeilings> ceilings;
  StepOptions steps;
  UtilisationOptions utilisation;
  RankingOptions ranking;
  /// What a row of Analysis::ranking is where a stretch of time is ranked, not a step or a range; empty: as in `rank`.
  std::optional<RankingKeys> window_key;
  TargetOptions targets;
  AccountingOptions accounting;
  QualityOptions quality;
  StallOptions stalls;
  ReachOptions reach;
  ReplayOptions replay;
  AdviceOptions advice;
};

struct Analysis {
  StepAnalysis steps;
  UtilisationAnalysis utilisation;
  Ranking ranking;    // by AnalysisOptions::rank or window_key
  TargetCheck check;  // per kernel, whatever the ranking's key; its rows are those of check_ranking
  Ranking check_ranking;
  Accounting accounting;
  std::vector<DeclaredWork> declared_work;        // by NVTX path
  std::vector<DeclaredWork> declared_operations;  // by operation
  Throughput throughput;
  Quality quality;
  StallAnalysis stalls;  // of the worst rows of check_ranking
  AdviceReport advice;
  Roofline roofline;                   // of `ranking`
  Ranking classes;                     // by kernel class
  std::optional<SampledStep> sampled;  // if samples were asked for and there are any
};

}  // namespace ridgeline::analyzer
