// compare_text.cpp: a comparison in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::reports {
namespace {

using comparison::ChangeCause;
using comparison::Comparison;
using comparison::ComparisonVerdict;
using comparison::EnvironmentWeight;
using comparison::Outcome;
using comparison::OutcomeReason;

constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kBlamed = 5;

std::string names(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kNamesShown); ++i)
    text += (i > 0 ? ", " : "") + kernel_display_name(kernels[i]);
  if (kernels.size() > kNamesShown) text += fmt::format(", {} more", kernels.size() - kNamesShown);
  return text;
}

// As change_name(), in words that a sentence can hold.
std::string short_names(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kNamesShown); ++i)
    text += (i > 0 ? " and " : "") + elide_kernel_name(kernels[i], 44);
  if (kernels.size() > kNamesShown) text += fmt::format(" and {} more", kernels.size() - kNamesShown);
  return text;
}

std::string short_name(const comparison::KernelChange& change) {
  if (change.kernels_a.empty()) return short_names(change.kernels_b);
  if (change.kernels_b.empty() || change.kernels_a == change.kernels_b) return short_names(change.kernels_a);
  return short_names(change.kernels_a) + " → " + short_names(change.kernels_b);
}

std::string verdict_word(const Comparison& comparison) {
  switch (comparison.verdict) {
    case ComparisonVerdict::regressed:
      return "REGRESSED";
    case ComparisonVerdict::improved:
      return "IMPROVED";
    case ComparisonVerdict::same:
      return "SAME";
    case ComparisonVerdict::inconclusive:
      return "INCONCLUSIVE";
    case ComparisonVerdict::invalid_environment:
      return "NOT COMPARABLE";
  }
  return {};
}

std::string runs_text(const Comparison& comparison) {
  if (comparison.paired) return counted(comparison.pairs, "pair") + " of runs";
  return fmt::format("{} against {}", counted(static_cast<std::int64_t>(comparison.a.captures.size()), "run"),
                     comparison.b.captures.size());
}

std::string detection_text(const comparison::Change& change, double margin_ratio) {
  std::string text;
  if (change.detectable_ratio) {
    text = fmt::format(" These runs would have found a change of {} four times of five;",
                       percent_text(*change.detectable_ratio));
    text += change.pairs_needed
                ? fmt::format(" {} would settle whether it is below {}.",
                              counted(*change.pairs_needed, "pair"), percent_text(margin_ratio))
                : " no reasonable number of pairs would settle it.";
  }
  return text;
}

std::string environment_text(const comparison::EnvironmentDifference& difference) {
  return fmt::format("{}: {} in A, {} in B", difference.what, bounded(difference.a, 160),
                     bounded(difference.b, 160));
}

}  // namespace

std::string signed_percent(double ratio, int decimals) {
  const std::string digits = percent(std::abs(ratio), decimals);
  const bool zero = digits.find_first_not_of("0.") == std::string::npos;
  return fmt::format("{}{} %", zero ? "±" : ratio < 0 ? "−" : "+", digits);
}

std::string signed_time(double ns) {
  return fmt::format("{}{} µs", ns < 0 ? "−" : "+", microseconds(std::abs(ns)));
}

std::string change_name(const comparison::KernelChange& change) {
  if (change.kernels_a.empty()) return names(change.kernels_b);
  if (change.kernels_b.empty() || change.kernels_a == change.kernels_b) return names(change.kernels_a);
  return names(change.kernels_a) + " → " + names(change.kernels_b);
}

std::string cause_text(ChangeCause cause) {
  switch (cause) {
    case ChangeCause::none:
      return {};
    case ChangeCause::code:
      return "other machine code";
    case ChangeCause::launch:
      return "the same code, launched otherwise";
    case ChangeCause::shapes:
      return "the same code on another grid";
    case ChangeCause::calls:
      return "another number of calls";
    case ChangeCause::data:
      return "the same code and launch on other data: it executed another number of instructions";
    case ChangeCause::clock:
      return "the same cycles at another clock";
    case ChangeCause::neighbours:
      return "the same code and launch take other cycles: caches, memory or what runs beside it";
    case ChangeCause::unknown:
      return "unknown: the machine code was not recorded";
  }
  return {};
}

std::string outcome_reason_text(OutcomeReason reason) {
  switch (reason) {
    case OutcomeReason::none:
      return {};
    case OutcomeReason::single_run:
      return "one run a side does not say how much runs differ";
    case OutcomeReason::too_few_pairs:
      return "too few runs";
    case OutcomeReason::noise:
      return "the runs differ too much";
    case OutcomeReason::two_modes:
      return "the runs of one side are in two modes";
    case OutcomeReason::not_confirmed:
      return "a fresh pair did not show it again";
    case OutcomeReason::small:
      return "a difference, but below what matters";
  }
  return {};
}

std::string compare_verdict_sentence(const Comparison& comparison) {
  const comparison::Endpoint& step = comparison.step();
  const comparison::Change& time = step.time;
  std::string text = fmt::format("{}: the step takes {} instead of {}, {}", verdict_word(comparison),
                                 time_text(time.b), time_text(time.a), signed_percent(time.ratio, 2));
  if (time.interval) {
    text += fmt::format(" ({:.4g} % interval {} to {}, {})", 100 * time.interval_level,
                        signed_percent(time.interval->low, 2), signed_percent(time.interval->high, 2),
                        runs_text(comparison));
  } else {
    text += fmt::format(" ({})", runs_text(comparison));
  }
  text += ".";
  if (comparison.verdict == ComparisonVerdict::regressed && step.outcome != Outcome::regressed) {
    text += comparison.regressed > 0
                ? " " + counted(comparison.regressed, "kernel is slower", "kernels are slower")
                : " A part of it is slower";
    text += step.outcome == Outcome::same ? ", the step as a whole is the same."
                                          : fmt::format("; of the step as a whole nothing is certain: {}.",
                                                        outcome_reason_text(step.reason));
  }
  if (comparison.verdict == ComparisonVerdict::inconclusive) {
    text += fmt::format(" No verdict: {}.", outcome_reason_text(step.reason));
    if (step.reason == OutcomeReason::noise) text += detection_text(time, comparison.options.step_ratio);
  }
  const auto missed = std::count_if(comparison.budgets.begin(), comparison.budgets.end(),
                                    [](const comparison::BudgetCheck& check) { return check.missed; });
  if (missed > 0)
    text += fmt::format(" {}.", counted(missed, "kernel misses its budget", "kernels miss their budget"));
  return text;
}

std::vector<std::string> compare_blame(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (comparison.verdict == ComparisonVerdict::invalid_environment) return lines;
  std::int64_t more = 0;
  for (const comparison::KernelChange& change : comparison.kernels) {
    const std::string_view title = change.outcome == Outcome::regressed  ? "Slower"
                                   : change.outcome == Outcome::improved ? "Faster"
                                   : change.outcome == Outcome::added    ? "Only in B"
                                   : change.outcome == Outcome::removed  ? "Only in A"
                                                                         : "";
    if (title.empty()) continue;
    if (lines.size() == kBlamed) {
      ++more;
      continue;
    }
    const bool both = !change.kernels_a.empty() && !change.kernels_b.empty();
    std::string line =
        fmt::format("{}: {}, {} of the step", title, short_name(change), signed_time(change.time.delta));
    if (both) line += fmt::format(" ({})", signed_percent(change.adjusted.ratio));
    if (const std::string cause = cause_text(change.cause); both && !cause.empty()) line += ", " + cause;
    lines.push_back(line + ".");
  }
  if (more > 0) lines.push_back(counted(more, "more kernel", "more kernels") + " changed, by less.");
  return lines;
}

std::vector<std::string> environment_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const auto weight : {EnvironmentWeight::invalid, EnvironmentWeight::explains}) {
    for (const comparison::EnvironmentDifference& difference : comparison.environment) {
      if (difference.weight != weight) continue;
      notes.push_back((weight == EnvironmentWeight::invalid ? "Not the code alone differs, "
                                                            : "May explain more than the code, ") +
                      environment_text(difference) + ".");
    }
  }
  return notes;
}

std::string budget_text(const Comparison& comparison, const comparison::BudgetCheck& check) {
  const analyzer::KernelBudget& budget = comparison.options.budgets[check.budget];
  if (!check.kernel)
    return fmt::format("No kernel matches the budget of '{}': rename it or drop the budget.", budget.kernel);
  const comparison::KernelChange& change = comparison.kernels[*check.kernel];
  std::string limits;
  const auto add = [&](const std::string& text) { limits += (limits.empty() ? "" : ", ") + text; };
  if (budget.max_time_ns)
    add(fmt::format("{} of {} allowed", time_text(change.time.b), time_text(*budget.max_time_ns)));
  if (budget.max_dram_bytes && change.dram_bytes_b)
    add(fmt::format("{} of {} allowed", bytes_text(*change.dram_bytes_b),
                    bytes_text(*budget.max_dram_bytes)));
  if (budget.min_utilisation_ratio && change.dram_b && change.compute_b)
    add(fmt::format("{} of its nearest roof, {} asked",
                    percent_text(std::max(*change.dram_b, *change.compute_b)),
                    percent_text(*budget.min_utilisation_ratio)));
  return fmt::format("{} {}{}{}.", change_name(change),
                     check.missed      ? "misses its budget"
                     : !check.measured ? "is not measured as its budget needs"
                                       : "keeps its budget",
                     budget.reason.empty() ? "" : " (" + budget.reason + ")",
                     limits.empty() ? "" : ": " + limits);
}

std::vector<std::string> compare_notes(const Comparison& comparison) {
  std::vector<std::string> notes = environment_notes(comparison);
  if (comparison.pairs < comparison.options.least_pairs) {
    notes.push_back(
        fmt::format("{} a side: differences are shown, no verdict is given. Record {} pairs at least, each "
                    "run in a process of its own, A and B in turn.",
                    comparison.pairs == 1 ? "One run" : "Two runs", comparison.options.least_pairs));
  }
  for (const auto* side : {&comparison.a, &comparison.b}) {
    if (side->two_modes)
      notes.push_back(fmt::format("The runs of {} fall into two modes: their step times form two heaps.",
                                  side == &comparison.a ? "A" : "B"));
  }
  if (comparison.common_mode) {
    notes.push_back(fmt::format(
        "Common mode {}: what {} did together{}. The step includes it, kernels are judged less it.",
        signed_percent(comparison.common_mode->ratio, 2),
        counted(comparison.common_mode_kernels,
                comparison.common_mode_of_all ? "kernel" : "kernel of unchanged code",
                comparison.common_mode_of_all ? "" : "kernels of unchanged code"),
        comparison.common_mode_of_all ? " (too few are known to be unchanged)" : ""));
  } else {
    notes.emplace_back("No common mode: too few kernels to take one from. Kernels are judged as measured.");
  }
  if (comparison.clock) {
    notes.push_back(fmt::format("SM clock {} in A, {} in B ({}).", clock_text(comparison.clock->a),
                                clock_text(comparison.clock->b), signed_percent(comparison.clock->ratio, 2)));
  }
  std::string matched =
      fmt::format("{} of the kernel time is matched", percent_text(comparison.matched_share));
  if (comparison.families_only) matched += ", by ranges and families since the GPU models differ";
  if (comparison.matched_share < comparison.options.least_matched_share)
    matched += fmt::format(": below {}, kernels are not blamed, the ranges decide",
                           percent_text(comparison.options.least_matched_share, 0));
  notes.push_back(matched + ".");
  for (const comparison::BudgetCheck& check : comparison.budgets) {
    if (check.missed || !check.kernel || !check.measured) notes.push_back(budget_text(comparison, check));
  }
  const auto more =
      std::count_if(comparison.environment.begin(), comparison.environment.end(),
                    [](const auto& difference) { return difference.weight == EnvironmentWeight::note; });
  if (more > 0) notes.push_back(counted(more, "further environment difference") + " of little weight.");
  return notes;
}

}  // namespace ridgeline::reports
