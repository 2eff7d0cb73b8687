#include "ridgeline/analyzer/steps/phases.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {
namespace {

// A group of fewer steps says nothing about its next one.
constexpr std::size_t kMinStepsForOutliers = 4;

void measure(const std::vector<StepSummary>& steps, const std::vector<std::size_t>& members,
             const StepOptions& options, PhaseSummary& phase) {
  std::vector<double> durations;
  for (const std::size_t i : members) {
    if (steps[i].gpu_duration_ns > 0) durations.push_back(static_cast<double>(steps[i].gpu_duration_ns));
  }
  StepSpread& spread = phase.spread;
  spread.count = static_cast<std::int64_t>(durations.size());
  if (durations.empty()) return;
  spread.median_ns = median(durations);
  spread.p10_ns = quantile(durations, 0.1);
  spread.p90_ns = quantile(durations, 0.9);
  spread.mad_ns = median_absolute_deviation(durations);
  spread.min_ns = *std::min_element(durations.begin(), durations.end());
  spread.max_ns = *std::max_element(durations.begin(), durations.end());
  if (durations.size() < kMinStepsForOutliers) return;
  const double limit = std::max(options.outlier_mads * kDeviationPerMad * spread.mad_ns,
                                options.outlier_ratio * spread.median_ns);
  for (const std::size_t i : members) {
    const auto ns = static_cast<double>(steps[i].gpu_duration_ns);
    if (ns > 0 && std::fabs(ns - spread.median_ns) > limit) phase.outliers.push_back(i);
  }
}

}  // namespace

bool is_superseded(const store::Step& step) {
  return step.reason && step.reason->code == ReasonCode::step_superseded;
}

std::vector<PhaseSummary> summarise_phases(const std::vector<StepSummary>& steps,
                                           const StepOptions& options) {
  std::vector<PhaseSummary> phases;
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepSummary& step = steps[i];
    if (step.reason.code == ReasonCode::step_superseded) continue;
    auto at = std::find_if(phases.begin(), phases.end(), [&](const PhaseSummary& p) {
      return p.process_id == step.process_id && p.phase == step.phase;
    });
    if (at == phases.end()) {
      at = phases.insert(phases.end(), PhaseSummary{step.process_id, step.phase, 0, 0, {}, {}});
      members.emplace_back();
    }
    ++at->steps;
    if (step.status != StepStatus::ok) ++at->not_ok;
    members[static_cast<std::size_t>(at - phases.begin())].push_back(i);
  }
  for (std::size_t p = 0; p < phases.size(); ++p) measure(steps, members[p], options, phases[p]);
  return phases;
}

std::vector<std::size_t> unusual_steps(const std::vector<StepSummary>& steps,
                                       const std::vector<PhaseSummary>& phases, store::Id always,
                                       std::size_t most) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].status != StepStatus::ok) rows.push_back(i);
  }
  for (const PhaseSummary& phase : phases)
    rows.insert(rows.end(), phase.outliers.begin(), phase.outliers.end());
  if (rows.size() > most) rows.resize(most);
  const auto step =
      std::find_if(steps.begin(), steps.end(), [&](const StepSummary& s) { return s.step_id == always; });
  if (step != steps.end()) rows.push_back(static_cast<std::size_t>(step - steps.begin()));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace ridgeline::analyzer
