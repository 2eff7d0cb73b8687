// compare_ci.cpp: a comparison as continuous integration reads it.
#include <fmt/format.h>

#include <algorithm>

#include "ci_formats.h"
#include "compare_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"

namespace ridgeline::reports {
namespace {

using comparison::BudgetCheck;
using comparison::Comparison;
using comparison::ComparisonVerdict;
using comparison::KernelChange;
using comparison::Outcome;
using comparison::StepMetric;

std::string change_line(const KernelChange& change) {
  std::string text = fmt::format("{} → {} a step ({})", time_text(change.time.a), time_text(change.time.b),
                                 signed_percent(change.adjusted.ratio));
  if (change.adjusted.interval)
    text += fmt::format(", interval {} to {}", signed_percent(change.adjusted.interval->low),
                        signed_percent(change.adjusted.interval->high));
  const std::string cause = cause_text(change.cause);
  if (!cause.empty()) text += "; " + cause;
  return text;
}

// Failures are what ends a comparison with a non-zero code: a kernel that got slower in a step that got faster is
// reported and fails nothing.
void judge(CiCase& one, Outcome outcome, ComparisonVerdict verdict) {
  if (verdict == ComparisonVerdict::invalid_environment) {
    one.result = CaseResult::skipped;
    one.message = "not comparable: " + one.message;
  } else if (outcome == Outcome::regressed && verdict == ComparisonVerdict::regressed) {
    one.result = CaseResult::failed;
    one.type = "regressed";
  } else if (outcome == Outcome::regressed) {
    one.result = CaseResult::skipped;
    one.message = "slower, outweighed by the rest of the step: " + one.message;
  } else if (outcome != Outcome::same && outcome != Outcome::improved) {
    one.result = CaseResult::skipped;
  }
}

CiCase case_of(const StepMetric& part, ComparisonVerdict verdict) {
  CiCase one{.group = "step", .name = part.name, .seconds = std::max(0.0, part.time.b) * 1e-9};
  one.message = fmt::format("{} → {}", time_text(part.time.a), time_text(part.time.b));
  if (part.time.a > 0) one.message += fmt::format(" ({})", signed_percent(part.time.ratio, 2));
  if (part.outcome == Outcome::inconclusive) one.message += ": " + outcome_reason_text(part.reason);
  judge(one, part.outcome, verdict);
  return one;
}

CiCase case_of(const KernelChange& change, std::string name, ComparisonVerdict verdict) {
  CiCase one{.group = "kernel", .name = std::move(name), .seconds = change.time.b * 1e-9};
  one.message = change.outcome == Outcome::added     ? "only in B"
                : change.outcome == Outcome::removed ? "only in A"
                                                     : change_line(change);
  if (change.outcome == Outcome::inconclusive) one.message += ": " + outcome_reason_text(change.reason);
  judge(one, change.outcome, verdict);
  return one;
}

CiCase case_of(const BudgetCheck& check, std::string name, const Comparison& comparison) {
  CiCase one{.group = "budget", .name = std::move(name), .message = budget_text(comparison, check)};
  if (check.kernel) one.seconds = comparison.kernels[*check.kernel].time.b * 1e-9;
  // A budget of nothing is no success: a renamed kernel would pass unseen.
  one.result = check.missed                       ? CaseResult::failed
               : !check.kernel || !check.measured ? CaseResult::error
                                                  : CaseResult::passed;
  if (one.result != CaseResult::passed) one.type = "budget";
  return one;
}

// A budget may be of several kernels.
class BudgetNames {
 public:
  std::string of(const Comparison& comparison, const BudgetCheck& check) {
    const std::string& pattern = comparison.options.budgets[check.budget].kernel;
    return check.kernel ? names_.of(pattern, change_name(comparison.kernels[*check.kernel]))
                        : names_.of("", pattern);
  }

 private:
  CaseNames names_;
};

int gauge(ComparisonVerdict verdict) {
  return verdict == ComparisonVerdict::regressed ? 1 : verdict == ComparisonVerdict::improved ? -1 : 0;
}

int gauge(Outcome outcome) {
  return outcome == Outcome::regressed ? 1 : outcome == Outcome::improved ? -1 : 0;
}

}  // namespace

std::string compare_junit(const Comparison& comparison) {
  CiSuite suite{.program = "ridgeline compare",
                .name = comparison.b.command_line.empty() ? "comparison" : comparison.b.command_line,
                .seconds = comparison.step().time.b * 1e-9,
                .properties = {{"verdict", std::string(to_string(comparison.verdict))},
                               {"commit_a", comparison.a.git_commit},
                               {"commit_b", comparison.b.git_commit},
                               {"device", comparison.b.device},
                               {"pairs", std::to_string(comparison.pairs)}},
                .output = compare_verdict_sentence(comparison)};
  for (const StepMetric& part : comparison.step_metrics)
    suite.cases.push_back(case_of(part, comparison.verdict));
  CaseNames names;
  for (const KernelChange& change : comparison.kernels)
    suite.cases.push_back(case_of(change, names.of(change.path, change_name(change)), comparison.verdict));
  BudgetNames budgets;
  for (const BudgetCheck& check : comparison.budgets) {
    suite.cases.push_back(case_of(check, budgets.of(comparison, check), comparison));
  }
  return junit_text(suite);
}

std::string compare_github(const Comparison& comparison) {
  const bool worse = comparison.verdict == ComparisonVerdict::regressed;
  const bool comparable = comparison.verdict != ComparisonVerdict::invalid_environment;
  std::vector<Annotation> annotations;
  annotations.push_back({worse         ? AnnotationKind::error
                         : !comparable ? AnnotationKind::warning
                                       : AnnotationKind::notice,
                         "Ridgeline: step", compare_verdict_sentence(comparison)});
  for (const BudgetCheck& check : comparison.budgets) {
    if (check.missed || !check.kernel || !check.measured)
      annotations.push_back({AnnotationKind::error,
                             "Budget: " + comparison.options.budgets[check.budget].kernel,
                             budget_text(comparison, check)});
  }
  for (const KernelChange& change : comparison.kernels) {
    if (change.outcome == Outcome::regressed && comparable)
      annotations.push_back({worse ? AnnotationKind::error : AnnotationKind::warning,
                             "Slower: " + change_name(change), change_line(change)});
  }
  if (comparable) {
    for (const std::string& line : slower_transfers(comparison))
      annotations.push_back(
          {worse ? AnnotationKind::error : AnnotationKind::warning, "Ridgeline: copies", line});
  }
  for (const std::string& note : environment_notes(comparison))
    annotations.push_back({AnnotationKind::warning, "Ridgeline: environment", note});
  return workflow_commands(annotations);
}

std::string compare_gitlab_metrics(const Comparison& comparison) {
  OpenMetrics out;
  out.family("ridgeline_step_milliseconds", "Time of the step, three figures.");
  out.sample(fmt::format("{:.3g}", comparison.step().time.b * 1e-6));
  out.family("ridgeline_step_verdict", "The comparison: 1 regressed, -1 improved, 0 the same or not known.");
  out.sample(std::to_string(gauge(comparison.verdict)));
  out.family("ridgeline_step_decided", "1: a verdict was given, 0: too little data, noise or environment.");
  const bool decided = comparison.verdict != ComparisonVerdict::inconclusive &&
                       comparison.verdict != ComparisonVerdict::invalid_environment;
  out.sample(decided ? "1" : "0");
  out.family("ridgeline_step_time_verdict",
             "The step's time alone: 1 regressed, -1 improved, 0 the same or not known.");
  out.sample(std::to_string(gauge(comparison.step().outcome)));
  out.family("ridgeline_kernels", "Kernels by outcome.");
  const std::pair<std::string_view, std::int64_t> counts[] = {{"regressed", comparison.regressed},
                                                              {"improved", comparison.improved},
                                                              {"added", comparison.added},
                                                              {"removed", comparison.removed}};
  for (const auto& [word, count] : counts) out.sample(std::to_string(count), "outcome", word);
  out.family("ridgeline_kernel_verdict", "Kernels that changed: 1 regressed, -1 improved.");
  CaseNames names;
  for (const KernelChange& change : comparison.kernels) {
    const std::string name = names.of(change.path, change_name(change));
    if (gauge(change.outcome) != 0) out.sample(std::to_string(gauge(change.outcome)), "kernel", name);
  }
  out.family("ridgeline_budget_missed",
             "Budgets: 1 missed, 0 kept; those that could not be judged are left out.");
  BudgetNames budgets;
  for (const BudgetCheck& check : comparison.budgets) {
    const std::string name = budgets.of(comparison, check);
    if (check.kernel && check.measured) out.sample(check.missed ? "1" : "0", "kernel", name);
  }
  return out.finish();
}

std::string compare_bencher(const Comparison& comparison) {
  std::vector<BencherValue> values;
  const auto add = [&](const std::string& name, const comparison::Change& time) {
    if (time.b <= 0) return;
    BencherValue one{name, time.b, std::nullopt, std::nullopt};
    if (time.interval) {
      one.low_ns = time.a * (1 + time.interval->low);
      one.high_ns = time.a * (1 + time.interval->high);
    }
    values.push_back(std::move(one));
  };
  for (const StepMetric& part : comparison.step_metrics) add("step / " + part.name, part.time);
  CaseNames names;
  for (const KernelChange& change : comparison.kernels)
    add("kernel / " + names.of(change.path, change_name(change)), change.time);
  return bencher_text(values);
}

}  // namespace ridgeline::reports
