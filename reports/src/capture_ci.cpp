// capture_ci.cpp: one capture as continuous integration reads it.
#include <fmt/format.h>

#include <algorithm>

#include "capture_parts.h"
#include "ci_formats.h"
#include "document_parts.h"
#include "ridgeline/analyzer/session/headline.h"
#include "ridgeline/reports/check_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/finding_text.h"

namespace ridgeline::reports {
namespace {

using analyzer::Analysis;
using analyzer::CheckFailOn;
using analyzer::KernelCheck;
using analyzer::KernelVerdict;

const analyzer::RankingRow& row_of(const Analysis& analysis, const KernelCheck& kernel) {
  return analysis.check_ranking.rows[kernel.row];
}

double step_ns(const Analysis& analysis) {
  return static_cast<double>(analysis.check_ranking.totals.step_ns);
}

// Kernels below the least share are too many to be cases; the analysis counts them. Longest first.
std::vector<const KernelCheck*> judged(const Analysis& analysis) {
  std::vector<const KernelCheck*> kernels;
  for (const KernelCheck& kernel : analysis.check.kernels) {
    if (kernel.verdict != KernelVerdict::below_min_share) kernels.push_back(&kernel);
  }
  std::stable_sort(kernels.begin(), kernels.end(), [&](const KernelCheck* a, const KernelCheck* b) {
    return row_of(analysis, *a).time_ns > row_of(analysis, *b).time_ns;
  });
  return kernels;
}

std::string unmatched_text(const analyzer::KernelBudget& budget) {
  return fmt::format("no kernel matches the budget of '{}': rename it or drop the budget", budget.kernel);
}

CiCase case_of(const Analysis& analysis, const KernelCheck& kernel, std::string name,
               const CheckFailOn& fail_on) {
  const analyzer::RankingRow& row = row_of(analysis, kernel);
  CiCase one{.group = "kernel", .name = std::move(name), .seconds = static_cast<double>(row.time_ns) * 1e-9};
  one.message = kernel_check_text(analysis.check, row, kernel);
  if (fails(kernel, fail_on)) {
    one.result = CaseResult::failed;
    one.type = kernel.budget ? "budget" : "target";
  } else if (kernel.budget && kernel.verdict == KernelVerdict::not_measured && fail_on.budget) {
    one.result = CaseResult::error;
    one.type = "budget";
  } else if (kernel.verdict != KernelVerdict::met && kernel.verdict != KernelVerdict::stretch) {
    one.result = CaseResult::skipped;
    if (kernel.verdict == KernelVerdict::missed) one.message = "misses its target: " + one.message;
  }
  return one;
}

}  // namespace

std::string capture_junit(const analyzer::Model& model, const Analysis& analysis,
                          const CheckFailOn& fail_on) {
  CiSuite suite{.program = "ridgeline report",
                .name = command_line(model).empty() ? model.path : command_line(model),
                .seconds = step_ns(analysis) * 1e-9,
                .properties = {{"verdict", std::string(to_string(analysis.check.overall))}},
                .output = verdict_sentence(analysis)};
  for (const Fact& fact : run_facts(model)) suite.properties.emplace_back(fact.key, fact.value);
  const bool no_verdict = analysis.check.overall == analyzer::OverallVerdict::not_enough_data;
  CiCase step{.group = "step", .name = "step", .seconds = suite.seconds};
  if (no_verdict) {
    step.result = fail_on.target || fail_on.unmeasured ? CaseResult::error : CaseResult::skipped;
    step.message = check_text(analysis.check_ranking, analysis.check);
    if (step.result == CaseResult::error) step.type = "no_data";
  }
  suite.cases.push_back(std::move(step));
  CaseNames codes;
  const auto add = [&](const analyzer::Findings& findings) {
    for (const analyzer::Finding& finding : findings) {
      suite.cases.push_back({.group = "finding",
                             .name = codes.of("", code_word(finding)),
                             .result = CaseResult::skipped,
                             .message = finding_text(finding)});
    }
  };
  add(analyzer::headline_findings(analysis.quality));
  CaseNames names;
  for (const KernelCheck* kernel : judged(analysis))
    suite.cases.push_back(case_of(analysis, *kernel,
                                  names.of("", kernel_display_name(row_of(analysis, *kernel).key)), fail_on));
  CaseNames budgets;
  for (const std::size_t i : analysis.check.unmatched_budgets) {
    const analyzer::KernelBudget& budget = analysis.check.options.budgets[i];
    suite.cases.push_back({.group = "budget",
                           .name = budgets.of("", budget.kernel),
                           .result = fail_on.budget ? CaseResult::error : CaseResult::skipped,
                           .type = "budget",
                           .message = unmatched_text(budget)});
  }
  add(other_notices(analysis.quality, Severity::warning));
  return junit_text(suite);
}

std::string capture_github(const Analysis& analysis, const CheckFailOn& fail_on) {
  std::vector<Annotation> annotations;
  const auto add = [&](const analyzer::Findings& findings) {
    for (const analyzer::Finding& finding : findings) {
      annotations.push_back(
          {AnnotationKind::warning, "Ridgeline: " + code_word(finding), finding_text(finding)});
    }
  };
  add(analyzer::headline_findings(analysis.quality));
  for (const std::size_t i : analysis.check.unmatched_budgets) {
    const analyzer::KernelBudget& budget = analysis.check.options.budgets[i];
    annotations.push_back({fail_on.budget ? AnnotationKind::error : AnnotationKind::warning,
                           "Budget: " + budget.kernel, unmatched_text(budget)});
  }
  for (const KernelCheck* kernel : judged(analysis)) {
    const bool unknown_budget = kernel->budget && kernel->verdict == KernelVerdict::not_measured;
    if (kernel->verdict != KernelVerdict::missed && !unknown_budget) continue;
    const analyzer::RankingRow& row = row_of(analysis, *kernel);
    const bool error = fails(*kernel, fail_on) || (unknown_budget && fail_on.budget);
    annotations.push_back(
        {error ? AnnotationKind::error : AnnotationKind::warning,
         (kernel->budget ? "Budget: " : "Below its target: ") + kernel_display_name(row.key),
         kernel_check_text(analysis.check, row, *kernel)});
  }
  add(other_notices(analysis.quality, Severity::warning));
  annotations.push_back({AnnotationKind::notice, "Ridgeline: step", verdict_sentence(analysis)});
  return workflow_commands(annotations);
}

std::string capture_comment(const Analysis& analysis, const CheckFailOn& fail_on, std::string_view link) {
  std::vector<std::string> lines;
  for (const analyzer::Finding& finding : analyzer::headline_findings(analysis.quality))
    lines.push_back(finding_text(finding));
  for (const std::size_t i : analysis.check.unmatched_budgets)
    lines.push_back(unmatched_text(analysis.check.options.budgets[i]));
  // What fails first, then what misses a target that nothing asks for.
  for (const bool failing : {true, false}) {
    for (const KernelCheck* kernel : judged(analysis)) {
      const analyzer::RankingRow& row = row_of(analysis, *kernel);
      if (kernel->verdict == KernelVerdict::missed && fails(*kernel, fail_on) == failing)
        lines.push_back(kernel_display_name(row.key) + ": " +
                        kernel_check_text(analysis.check, row, *kernel));
    }
  }
  return comment_text(verdict_sentence(analysis), lines, link);
}

std::string capture_gitlab_metrics(const Analysis& analysis) {
  const analyzer::TargetCheck& check = analysis.check;
  OpenMetrics out;
  out.family("ridgeline_step_milliseconds", "Time of the step, three figures.");
  out.sample(fmt::format("{:.3g}", step_ns(analysis) * 1e-6));
  out.family("ridgeline_time_at_target_percent",
             "Share of the kernel time at the target or above, whole per cent.");
  if (anything_measured(analysis.check_ranking))
    out.sample(fmt::format("{:.0f}", 100 * check.time_share_at_target));
  const analyzer::Accounting& a = analysis.accounting;
  out.family("ridgeline_step_idle_percent",
             "Share of the step in which the GPU had nothing to do, whole per cent.");
  if (a.step_ns > 0)
    out.sample(
        fmt::format("{:.0f}", 100.0 * static_cast<double>(a.gap_total_ns) / static_cast<double>(a.step_ns)));
  out.family("ridgeline_step_saving_milliseconds",
             "What the step would be shorter by with every kernel at the target, three figures.");
  if (const auto& reach = analysis.check_ranking.reach;
      reach && reach->known() && anything_measured(analysis.check_ranking))
    out.sample(fmt::format("{:.3g}", reach->target_ns * 1e-6));
  out.family("ridgeline_kernels", "Kernels by verdict.");
  const std::pair<KernelVerdict, std::int64_t> counts[] = {
      {KernelVerdict::stretch, check.stretch_count}, {KernelVerdict::met, check.met_count},
      {KernelVerdict::missed, check.missed_count},   {KernelVerdict::too_short, check.too_short_count},
      {KernelVerdict::no_roof, check.no_roof_count}, {KernelVerdict::not_measured, check.not_measured_count}};
  for (const auto& [verdict, count] : counts)
    out.sample(std::to_string(count), "verdict", to_string(verdict));
  out.family("ridgeline_budget_missed",
             "Budgets: 1 missed, 0 kept; those that could not be judged are left out.");
  CaseNames names;
  for (const KernelCheck* kernel : judged(analysis)) {
    if (kernel->budget && kernel->verdict != KernelVerdict::not_measured)
      out.sample(kernel->verdict == KernelVerdict::missed ? "1" : "0", "kernel",
                 names.of("", kernel_display_name(row_of(analysis, *kernel).key)));
  }
  return out.finish();
}

std::string capture_bencher(const Analysis& analysis) {
  std::vector<BencherValue> values = {{"step / step", step_ns(analysis), std::nullopt, std::nullopt}};
  CaseNames names;
  for (const KernelCheck* kernel : judged(analysis)) {
    const analyzer::RankingRow& row = row_of(analysis, *kernel);
    values.push_back({"kernel / " + names.of("", kernel_display_name(row.key)),
                      static_cast<double>(row.time_ns), std::nullopt, std::nullopt});
  }
  return bencher_text(values);
}

}  // namespace ridgeline::reports
