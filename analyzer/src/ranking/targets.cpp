#include "ridgeline/analyzer/ranking/targets.h"

#include <algorithm>

#include "ridgeline/base/pattern.h"
#include "ridgeline/base/units.h"

namespace ridgeline::analyzer {

namespace {

bool matches(const KernelBudget& budget, const RankingRow& row) {
  return matches_pattern(budget.kernel, row.key) || matches_pattern(budget.kernel, row.kernel) ||
         matches_pattern(budget.kernel, row.normalised_name);
}

std::optional<Failure> check_options(const TargetOptions& options) {
  const auto outside = [](double ratio) { return !(ratio >= 0.0 && ratio <= 1.0); };
  if (!(options.target > 0.0 && options.target <= 1.0)) {
    return Failure{ErrorKind::usage, "target " + fixed(options.target, 3) + " is not above 0 and at most 1"};
  }
  if (outside(options.stretch) || options.stretch < options.target) {
    return Failure{ErrorKind::usage, "stretch " + fixed(options.stretch, 3) + " is not between the target " +
                                         fixed(options.target, 3) + " and 1"};
  }
  if (outside(options.min_share)) {
    return Failure{ErrorKind::usage, "min-share " + fixed(options.min_share, 4) + " is not between 0 and 1"};
  }
  if (outside(options.max_unmeasured_share)) {
    return Failure{ErrorKind::usage, "max-unmeasured-share " + fixed(options.max_unmeasured_share, 3) +
                                         " is not between 0 and 1"};
  }
  for (const KernelBudget& budget : options.budgets) {
    const auto bad = [](const std::optional<double>& value) { return value && !(*value >= 0.0); };
    if (budget.kernel.empty()) return Failure{ErrorKind::usage, "a budget names no kernel"};
    if (!budget.min_utilisation_ratio && !budget.max_time_ns && !budget.max_dram_bytes) {
      return Failure{ErrorKind::usage, "the budget of '" + budget.kernel + "' limits nothing"};
    }
    if (bad(budget.max_time_ns) || bad(budget.max_dram_bytes) ||
        (budget.min_utilisation_ratio && outside(*budget.min_utilisation_ratio))) {
      return Failure{ErrorKind::usage, "the budget of '" + budget.kernel + "' has a limit out of range"};
    }
  }
  return std::nullopt;
}

// The kind of launches that take most of a row's time; measured ones before the others.
LaunchStatus main_status(const RankingRow& row) {
  const std::pair<std::int64_t, LaunchStatus> parts[] = {
      {row.measured_time_ns, LaunchStatus::measured},
      {row.unmeasured_time_ns, LaunchStatus::unmeasured},
      {row.too_short_time_ns, LaunchStatus::too_short},
      {row.no_roof_time_ns, LaunchStatus::no_roof},
  };
  auto most = parts[0];
  for (const auto& part : parts) {
    if (part.first > most.first) most = part;
  }
  return row.time_ns == 0 ? LaunchStatus::unmeasured : most.second;
}

// The verdict of the utilisation alone.
KernelVerdict judge_utilisation(const RankingRow& row, double required, double stretch) {
  switch (main_status(row)) {
    case LaunchStatus::too_short:
      return KernelVerdict::too_short;
    case LaunchStatus::no_roof:
      return KernelVerdict::no_roof;
    case LaunchStatus::unmeasured:
      return KernelVerdict::not_measured;
    case LaunchStatus::measured:
      break;
  }
  const double limiter = row.nearest_roof_ratio.value_or(0);
  if (limiter >= std::max(stretch, required)) return KernelVerdict::stretch;
  return limiter >= required ? KernelVerdict::met : KernelVerdict::missed;
}

KernelVerdict judge_budget(const RankingRow& row, const KernelBudget& budget, double stretch,
                           KernelCheck& check) {
  KernelVerdict verdict = KernelVerdict::met;
  if (budget.min_utilisation_ratio) {
    check.required = budget.min_utilisation_ratio;
    verdict = judge_utilisation(row, *budget.min_utilisation_ratio, stretch);
    check.utilisation = verdict;
  }
  const bool bytes_known = row.dram_bytes && row.unmeasured_calls == 0;
  const bool over = (budget.max_time_ns && static_cast<double>(row.time_ns) > *budget.max_time_ns) ||
                    (budget.max_dram_bytes && bytes_known && *row.dram_bytes > *budget.max_dram_bytes);
  if (over || verdict == KernelVerdict::missed) return KernelVerdict::missed;
  return budget.max_dram_bytes && !bytes_known ? KernelVerdict::not_measured : verdict;
}

void tally(KernelVerdict verdict, TargetCheck& check) {
  switch (verdict) {
    case KernelVerdict::stretch:
      ++check.stretch_count;
      break;
    case KernelVerdict::met:
      ++check.met_count;
      break;
    case KernelVerdict::missed:
      ++check.missed_count;
      break;
    case KernelVerdict::below_min_share:
      ++check.below_min_share_count;
      break;
    case KernelVerdict::too_short:
      ++check.too_short_count;
      break;
    case KernelVerdict::no_roof:
      ++check.no_roof_count;
      break;
    case KernelVerdict::not_measured:
      ++check.not_measured_count;
      break;
  }
}

void decide(const Ranking& ranking, bool budget_unmeasured, TargetCheck& check) {
  const std::int64_t judged = check.stretch_count + check.met_count + check.missed_count;
  check.unmeasured_share = ranking.totals.time_ns == 0
                               ? 1.0
                               : static_cast<double>(ranking.totals.unmeasured_time_ns) /
                                     static_cast<double>(ranking.totals.time_ns);
  if (check.missed_count > 0) {
    check.overall = OverallVerdict::missed;
    check.reason = CheckReason::kernels_missed;
    return;
  }
  check.overall = OverallVerdict::not_enough_data;
  if (judged == 0) {
    check.reason = CheckReason::nothing_judged;
  } else if (check.unmeasured_share > check.options.max_unmeasured_share) {
    check.reason = CheckReason::too_little_measured;
  } else if (budget_unmeasured) {
    check.reason = CheckReason::budget_not_measured;
  } else if (!check.unmatched_budgets.empty()) {
    check.reason = CheckReason::budget_unmatched;
  } else {
    check.overall = OverallVerdict::met;
    check.reason = CheckReason::kernels_met;
  }
}

}  // namespace

std::string_view to_string(KernelVerdict verdict) {
  switch (verdict) {
    case KernelVerdict::stretch:
      return "stretch";
    case KernelVerdict::met:
      return "met";
    case KernelVerdict::missed:
      return "missed";
    case KernelVerdict::below_min_share:
      return "below_min_share";
    case KernelVerdict::too_short:
      return "launch_bound";
    case KernelVerdict::no_roof:
      return "no_roof";
    case KernelVerdict::not_measured:
      return "not_measured";
  }
  return "not_measured";
}

std::string_view to_string(OverallVerdict verdict) {
  switch (verdict) {
    case OverallVerdict::met:
      return "met";
    case OverallVerdict::missed:
      return "missed";
    case OverallVerdict::not_enough_data:
      return "not_enough_data";
  }
  return "not_enough_data";
}

int exit_code(OverallVerdict verdict) {
  switch (verdict) {
    case OverallVerdict::met:
      return 0;
    case OverallVerdict::missed:
      return 1;
    case OverallVerdict::not_enough_data:
      return 3;
  }
  return 3;
}

bool fails(const KernelCheck& kernel, const CheckFailOn& fail_on) {
  return kernel.verdict == KernelVerdict::missed && (fail_on.target || (kernel.budget && fail_on.budget));
}

int exit_code(const TargetCheck& check, const CheckFailOn& fail_on) {
  const bool of_all = fail_on.target || fail_on.unmeasured;
  if (!of_all && (!fail_on.budget || check.options.budgets.empty())) return 0;
  if (std::any_of(check.kernels.begin(), check.kernels.end(),
                  [&](const KernelCheck& kernel) { return fails(kernel, fail_on); }))
    return 1;
  if (of_all && check.overall == OverallVerdict::not_enough_data) return 3;
  if (!fail_on.budget) return 0;
  const bool unmeasured =
      std::any_of(check.kernels.begin(), check.kernels.end(), [](const KernelCheck& kernel) {
        return kernel.budget && kernel.verdict == KernelVerdict::not_measured;
      });
  return unmeasured || !check.unmatched_budgets.empty() || check.reason == CheckReason::rows_lost ? 3 : 0;
}

Result<TargetCheck> check_targets(const UtilisationAnalysis& utilisation, const Ranking& ranking,
                                  const TargetOptions& options) {
  if (auto failure = check_options(options)) return *failure;
  TargetCheck check;
  check.options = options;
  std::vector<bool> used(options.budgets.size(), false);
  bool budget_unmeasured = false;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    const RankingRow& row = ranking.rows[i];
    KernelCheck kernel;
    kernel.row = i;
    for (std::size_t b = 0; b < options.budgets.size(); ++b) {
      if (!matches(options.budgets[b], row)) continue;
      used[b] = true;
      if (!kernel.budget) kernel.budget = b;  // the first entry decides
    }
    if (kernel.budget) {
      kernel.verdict = judge_budget(row, options.budgets[*kernel.budget], options.stretch, kernel);
      budget_unmeasured = budget_unmeasured || kernel.verdict == KernelVerdict::not_measured;
    } else if (row.step_share < options.min_share) {
      kernel.verdict = KernelVerdict::below_min_share;
    } else {
      kernel.required = options.target;
      kernel.verdict = judge_utilisation(row, options.target, options.stretch);
      kernel.utilisation = kernel.verdict;
    }
    tally(kernel.verdict, check);
    if (kernel.verdict == KernelVerdict::missed)
      check.missed_saving_ns += ranking.rows[kernel.row].saved_target_ns;
    check.kernels.push_back(kernel);
  }
  for (std::size_t b = 0; b < used.size(); ++b) {
    if (!used[b]) check.unmatched_budgets.push_back(b);
  }
  std::int64_t total = 0;
  std::int64_t at_target = 0;
  std::int64_t at_stretch = 0;
  for (const LaunchUtilisations::Group& launch : utilisation.launches.groups()) {
    total += launch.time_ns;
    if (launch.status != LaunchStatus::measured) continue;
    if (*launch.nearest_roof_ratio >= options.target) at_target += launch.time_ns;
    if (*launch.nearest_roof_ratio >= options.stretch) at_stretch += launch.time_ns;
  }
  if (total > 0) {
    check.time_share_at_target = static_cast<double>(at_target) / static_cast<double>(total);
    check.time_share_at_stretch = static_cast<double>(at_stretch) / static_cast<double>(total);
  }
  decide(ranking, budget_unmeasured, check);
  return check;
}

}  // namespace ridgeline::analyzer
