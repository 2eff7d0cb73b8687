#include "ridgeline/analyzer/analysis.h"

namespace ridgeline::analyzer {

Result<Analysis> analyze(const Model& model, const AnalysisOptions& options) {
  auto steps = analyze_steps(model, options.steps);
  if (!steps) return steps.failure();
  Analysis analysis;
  analysis.steps = std::move(steps).value();
  analysis.utilisation = analyze_utilisation(model, analysis.steps, options.utilisation);
  analysis.ranking = rank_kernels(model, analysis.steps, analysis.utilisation, options.rank);
  RankOptions by_kernel = options.rank;
  by_kernel.key = RankKey::kernel;
  analysis.check_ranking = rank_kernels(model, analysis.steps, analysis.utilisation, by_kernel);
  auto check = check_targets(analysis.utilisation, analysis.check_ranking, options.targets);
  if (!check) return check.failure();
  analysis.check = std::move(check).value();
  analysis.accounting = account_step(model, analysis.steps, options.accounting);
  analysis.declared_work = compare_declared_work(model, analysis.steps, analysis.utilisation);
  analysis.stalls = analyze_stalls(model, analysis.utilisation, analysis.check_ranking, options.stalls);
  analysis.quality = assess_quality(model, analysis.steps, analysis.utilisation, options.quality);
  return analysis;
}

}  // namespace ridgeline::analyzer
