#include "ridgeline/analyzer/analysis.h"

#include <numeric>

namespace ridgeline::analyzer {

namespace {

void compare_with_declarations(const Model& model, const PeakPolicy& peaks, Analysis& analysis) {
  const DeclaredRanges declared(model, analysis.steps, analysis.utilisation, peaks);
  if (declared.empty()) return;
  analysis.declared_work = declared.by_path();
  analysis.declared_operations = declared.by_operation();
  for (RankRow& row : analysis.ranking.rows) row.work = declared.of(row.launches);
  std::vector<std::size_t> all(analysis.utilisation.launches.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  analysis.ranking.totals.work = declared.of(all);
  if (all.empty()) return;
  const LaunchUtilisation& first = analysis.utilisation.launches.front();
  const auto peak =
      choose_peak(model, model.launches[first.launch].device_id, "dram_bytes_per_s", peaks.dram);
  if (!peak) return;
  const RepresentativeStep& step = analysis.steps.representative;
  const Findings found = excess_findings(analysis.declared_operations, peak.value().value,
                                         step.window_end_ns - step.window_start_ns);
  analysis.quality.findings.insert(analysis.quality.findings.end(), found.begin(), found.end());
}

}  // namespace

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
  analysis.stalls = analyze_stalls(model, analysis.utilisation, analysis.check_ranking, options.stalls);
  analysis.quality = assess_quality(model, analysis.steps, analysis.utilisation, options.quality);
  compare_with_declarations(model, options.utilisation.peaks, analysis);
  return analysis;
}

}  // namespace ridgeline::analyzer
