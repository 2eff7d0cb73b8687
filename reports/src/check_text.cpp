#include "ridgeline/reports/check_text.h"

#include <fmt/format.h>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"

namespace ridgeline::reports {
namespace {

using analyzer::CheckReason;
using analyzer::KernelVerdict;

std::string nothing_judged_text(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check) {
  const std::string text = "no kernel could be judged";
  for (const analyzer::RankingRow& row : ranking.rows) {
    if (!row.why.empty()) return text + ": " + absence_text(row.why);
  }
  std::int64_t too_short = 0, no_roof = 0;
  for (const analyzer::KernelCheck& kernel : check.kernels) {
    too_short += kernel.verdict == KernelVerdict::too_short ? 1 : 0;
    no_roof += kernel.verdict == KernelVerdict::no_roof ? 1 : 0;
  }
  std::string why;
  const auto add = [&](std::int64_t count, const std::string& one, const std::string& several) {
    if (count > 0)
      why += fmt::format("{}{} {}", why.empty() ? ": " : ", ", integer(count), count == 1 ? one : several);
  };
  add(too_short, "is too short for any roof", "are too short for any roof");
  add(no_roof, "has no meaningful roof", "have no meaningful roof");
  const std::string less =
      fmt::format("less than {} of the {}", percent_text(check.options.min_share), scope_noun(check.scope));
  add(check.below_min_share_count, "takes " + less, "take " + less);
  return text + why;
}

std::string_view roof_word(const analyzer::RankingRow& row) {
  return row.nearest ? to_string(*row.nearest) : "none";
}

std::string utilisation_text(const analyzer::RankingRow& row, KernelVerdict verdict, double required) {
  switch (verdict) {
    case KernelVerdict::too_short:
      return counted(row.too_short_calls, "call") + " shorter than the launch floor";
    case KernelVerdict::no_roof:
      return "no meaningful roof";
    case KernelVerdict::not_measured:
      return row.why.empty() ? "not measured" : absence_text(row.why);
    default:
      return fmt::format("{} of its nearest roof ({}), {} asked",
                         percent_text(row.nearest_roof_ratio.value_or(0)), roof_word(row),
                         percent_text(required));
  }
}

}  // namespace

std::string check_text(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check) {
  const std::int64_t judged = check.stretch_count + check.met_count + check.missed_count;
  switch (check.reason) {
    case CheckReason::kernels_met:
      return counted(judged, "judged kernel meets its target", "judged kernels meet their target");
    case CheckReason::kernels_missed:
      return fmt::format("{} of {} {} target", integer(check.missed_count), counted(judged, "judged kernel"),
                         check.missed_count == 1 ? "misses its" : "miss their");
    case CheckReason::nothing_judged:
      return nothing_judged_text(ranking, check);
    case CheckReason::too_little_measured:
      return fmt::format("{} of the kernel time is not measured, at most {} may be",
                         percent_text(check.unmeasured_share),
                         percent_text(check.options.max_unmeasured_share));
    case CheckReason::budget_not_measured:
      return "a kernel with a budget is not measured";
    case CheckReason::rows_lost:
      return "the capture has lost rows (`ridgeline info --verify` lists them)";
    case CheckReason::budget_unmatched:
      return fmt::format("no kernel matches the budget of '{}': rename it or drop the budget",
                         check.options.budgets[check.unmatched_budgets.front()].kernel);
  }
  return {};
}

std::string kernel_check_text(const analyzer::TargetCheck& check, const analyzer::RankingRow& row,
                              const analyzer::KernelCheck& kernel) {
  std::string text;
  const auto append = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (kernel.verdict == KernelVerdict::below_min_share) {
    append(fmt::format("{} of the {}, below {}", percent_text(row.step_share, 2), scope_noun(check.scope),
                       percent_text(check.options.min_share, 2)));
  }
  if (kernel.utilisation) append(utilisation_text(row, *kernel.utilisation, kernel.required.value_or(0)));
  if (!kernel.budget) return text;
  const analyzer::KernelBudget& budget = check.options.budgets[*kernel.budget];
  if (budget.max_time_ns) {
    append(fmt::format("{} of {} allowed", time_text(static_cast<double>(row.time_ns)),
                       time_text(*budget.max_time_ns)));
  }
  if (budget.max_dram_bytes) {
    append(
        row.dram_bytes && row.unmeasured_calls == 0
            ? fmt::format("{} of {} allowed", bytes_text(*row.dram_bytes), bytes_text(*budget.max_dram_bytes))
            : "DRAM bytes not measured");
  }
  if (!budget.reason.empty()) append(budget.reason);
  return text;
}

}  // namespace ridgeline::reports
