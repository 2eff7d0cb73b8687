// compare_text.cpp: a comparison in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

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
constexpr std::size_t kTransfersNamed = 3;

std::string more_names(std::size_t kernels) {
  return kernels > kNamesShown ? fmt::format(" and {} more", kernels - kNamesShown) : "";
}

std::string names(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kNamesShown); ++i)
    text += (i > 0 ? ", " : "") + kernel_display_name(kernels[i]);
  // In a table's cell, where the words of a sentence would be taken for a name.
  return kernels.size() > kNamesShown ? fmt::format("{}, +{}", text, kernels.size() - kNamesShown) : text;
}

// As change_name(), in words that a sentence can hold.
std::string short_names(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kNamesShown); ++i)
    text += (i > 0 ? " and " : "") + elide_kernel_name(kernels[i], 44);
  return text + more_names(kernels.size());
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
      return "takes as many cycles; only the clock was another";
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
      return "a difference, but below what counts";
    case OutcomeReason::blocks:
      return "the runs of one side were recorded before those of the other, so that a drift looks like a "
             "change";
    case OutcomeReason::clock:
      return "only the clock, or what all kernels did together, was another";
  }
  return {};
}

namespace {

std::string of_two(double a, double b, const std::function<std::string(double)>& text) {
  return a == b ? text(a) : text(a) + " → " + text(b);
}

std::string copies_text(const comparison::TransferChange& change, double calls) {
  const auto count = static_cast<std::int64_t>(std::llround(calls));
  if (change.kind == comparison::TransferKind::memset) return counted(count, "memset");
  return counted(count, "copy " + std::string(to_string(change.direction)),
                 "copies " + std::string(to_string(change.direction)));
}

// "8 copies DtoD (268.44 MB) in step / forward".
std::string transfer_text(const comparison::TransferChange& change) {
  const bool only_b = change.outcome == Outcome::added;
  const bool only_a = change.outcome == Outcome::removed;
  std::string text;
  if (only_a || only_b) {
    text = fmt::format("{} ({})", copies_text(change, only_b ? change.calls_b : change.calls_a),
                       bytes_text(only_b ? change.bytes_b : change.bytes_a));
  } else {
    text = fmt::format(
        "{} ({})",
        of_two(change.calls_a, change.calls_b, [&](double calls) { return copies_text(change, calls); }),
        of_two(change.bytes_a, change.bytes_b, bytes_text));
  }
  return change.path.empty() ? text : text + " in " + elide_start(change.path, 60);
}

std::string transfer_line(const comparison::TransferChange& change) {
  const std::string_view title = change.outcome == Outcome::added       ? "Only in B"
                                 : change.outcome == Outcome::removed   ? "Only in A"
                                 : change.outcome == Outcome::regressed ? "Slower"
                                 : change.outcome == Outcome::improved  ? "Faster"
                                                                        : "Other work";
  return fmt::format("{}: {}, {} of which {} with no kernel beside.", title, transfer_text(change),
                     signed_time(change.time.delta), signed_time(change.exposed.delta));
}

// What every reader is told about copies: those that came, went, take longer or do other work.
std::vector<std::string> transfer_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  std::int64_t more = 0;
  for (const comparison::TransferChange& change : comparison.transfers) {
    const bool moved = change.outcome == Outcome::regressed || change.outcome == Outcome::improved;
    if (!moved && (!change.other_work() || std::abs(change.time.delta) < comparison.options.kernel_ns))
      continue;
    if (lines.size() == kTransfersNamed) {
      ++more;
      continue;
    }
    lines.push_back(transfer_line(change));
  }
  if (more > 0)
    lines.push_back(counted(more, "more kind of copies", "more kinds of copies") + " changed, by less.");
  return lines;
}

std::string how_it_changed(const comparison::KernelChange& change) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (change.code_changed == true) add("other machine code");
  if (change.calls_a != change.calls_b) add(fmt::format("{:g} → {:g} calls", change.calls_a, change.calls_b));
  if (change.launch_changed) add("launched otherwise");
  for (const comparison::CountChange& count : change.counts) {
    if (count.name != "dram_bytes") add(fmt::format("{} {:.6g} → {:.6g}", count.name, count.a, count.b));
  }
  return text;
}

// What cannot differ by chance and yet made no difference that counts.
std::string without_effect(const Comparison& comparison) {
  std::string text;
  std::size_t found = 0;
  for (const comparison::KernelChange& change : comparison.kernels) {
    const bool quiet = change.outcome == Outcome::same || change.outcome == Outcome::inconclusive;
    const std::string how = quiet ? how_it_changed(change) : "";
    if (how.empty() || change.hint) continue;
    if (++found <= kNamesShown)
      text += (found > 1 ? "; " : "") + short_name(change) + " (" + bounded(how, 160) + ")";
  }
  if (found == 0) return {};
  return fmt::format("Changed without an effect that counts: {}{}.", text, more_names(found));
}

// A floor hides them: of each how much of the step it would have to be.
std::string below_floor(const Comparison& comparison) {
  const comparison::ComparisonOptions& options = comparison.options;
  const double step_ns = comparison.step().time.a;
  const double min_ns = std::max(options.kernel_ns, options.kernel_step_share * step_ns);
  std::string text;
  std::size_t found = 0;
  for (const comparison::KernelChange& change : comparison.kernels) {
    const comparison::Change& time = change.adjusted;
    if (change.reason != OutcomeReason::small || time.adjusted_p.value_or(1) > options.false_discovery_rate ||
        std::abs(time.ratio) < options.kernel_ratio || std::abs(time.delta) >= min_ns)
      continue;
    if (++found <= kNamesShown)
      text += fmt::format("{}{} ({}, {})", found > 1 ? "; " : "", short_name(change),
                          signed_percent(time.ratio), signed_time(time.delta));
  }
  if (found == 0) return {};
  return fmt::format(
      "Too small a part of the step to be called slower or faster: {}{}. A kernel must change by {} "
      "({} of the step).",
      text, more_names(found), time_text(min_ns), percent_text(min_ns / step_ns, 2));
}

std::string modes_note(const Comparison& comparison) {
  const bool withheld =
      std::any_of(comparison.kernels.begin(), comparison.kernels.end(),
                  [](const auto& change) { return change.reason == OutcomeReason::two_modes; });
  return fmt::format("{} in two modes: {} runs fall into two heaps, and runs of one side are in both.{}",
                     counted(comparison.two_mode_kernels, "kernel is", "kernels are"),
                     comparison.two_mode_kernels == 1 ? "its" : "their",
                     withheld
                         ? " With so few runs chance puts all of a side into one mode: differences that may "
                           "be that are not blamed. Record more pairs."
                         : "");
}

// What a reader must know before any figure.
std::vector<std::string> order_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  if (comparison.same_recording)
    notes.emplace_back("A and B share a recording: its times are compared with themselves.");
  if (comparison.other_length())
    notes.push_back(
        fmt::format("{} in A, {} in B, and no run has steps: how long a recording is says nothing then, nor "
                    "how much there is of a "
                    "kernel in it. Mark the steps with NVTX ranges and record with --step-range NAME.",
                    counted(std::llround(comparison.a.launches), "launch", "launches"),
                    integer(std::llround(comparison.b.launches))));
  else if (comparison.without_steps)
    notes.emplace_back("No run has steps: what is called a step is all that was recorded.");
  else if (comparison.other_work())
    notes.push_back(
        fmt::format("{} a step in A, {} in B: they do other work, or their steps were found otherwise, or "
                    "kernels were fused or split.",
                    counted(std::llround(comparison.a.launches), "launch", "launches"),
                    integer(std::llround(comparison.b.launches))));
  if (comparison.other_shape_kernels > 0)
    notes.push_back(
        fmt::format("{} of unchanged code run on another grid: another batch or other shapes, so that A and "
                    "B do other work.",
                    counted(comparison.other_shape_kernels, "kernel")));
  if (comparison.in_blocks)
    notes.push_back(fmt::format(
        "The runs of one side were recorded before those of the other: what drifts "
        "(clock, heat) looks like a change.{} Record A and B in turn.",
        comparison.options.any_order ? "" : " No difference is called a change; --any-order calls it one."));
  return notes;
}

}  // namespace

std::string compare_verdict_sentence(const Comparison& comparison) {
  const comparison::StepMetric& step = comparison.step();
  const comparison::Change& time = step.time;
  std::string text = fmt::format("{}: the {} takes {} instead of {}, {}", verdict_word(comparison),
                                 comparison.without_steps ? "recording" : "step", time_text(time.b),
                                 time_text(time.a), signed_percent(time.ratio, 2));
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
    if (step.outcome == Outcome::same)
      text += ", the step as a whole is the same.";
    else if (step.reason == OutcomeReason::small)
      text += fmt::format("; the step as a whole is {} {}, below the {} that counts.",
                          percent_text(std::abs(time.ratio), 2), time.ratio > 0 ? "slower" : "faster",
                          percent_text(comparison.options.step_ratio));
    else
      text += fmt::format("; the step as a whole is undecided: {}.", outcome_reason_text(step.reason));
  }
  if (comparison.verdict == ComparisonVerdict::inconclusive) {
    text +=
        fmt::format(" No verdict: {}.", comparison.other_length() ? "the recordings do not hold the same work"
                                                                  : outcome_reason_text(step.reason));
    if (!comparison.other_length() && step.reason == OutcomeReason::noise)
      text += detection_text(time, comparison.options.step_ratio);
  }
  const auto missed = std::count_if(comparison.budgets.begin(), comparison.budgets.end(),
                                    [](const comparison::BudgetCheck& check) { return check.missed; });
  if (missed > 0)
    text += fmt::format(" {}.", counted(missed, "kernel misses its budget", "kernels miss their budget"));
  return text;
}

std::vector<std::string> slower_transfers(const Comparison& comparison) {
  const comparison::ComparisonOptions& options = comparison.options;
  const double min_ns = std::max(options.kernel_ns, options.kernel_step_share * comparison.step().time.a);
  std::vector<std::string> lines;
  for (const comparison::TransferChange& change : comparison.transfers) {
    const bool added = change.outcome == Outcome::added && change.exposed.delta >= min_ns;
    if (added || change.outcome == Outcome::regressed) lines.push_back(transfer_line(change));
  }
  return lines;
}

std::vector<std::string> compare_blame(const Comparison& comparison) {
  std::vector<std::string> lines = order_notes(comparison);
  const std::size_t notes = lines.size();
  if (comparison.verdict == ComparisonVerdict::invalid_environment) return lines;
  if (comparison.other_length()) return lines;
  std::int64_t more = 0;
  for (const comparison::KernelChange& change : comparison.kernels) {
    const std::string_view title = change.outcome == Outcome::regressed  ? "Slower"
                                   : change.outcome == Outcome::improved ? "Faster"
                                   : change.outcome == Outcome::added    ? "Only in B"
                                   : change.outcome == Outcome::removed  ? "Only in A"
                                                                         : "";
    if (title.empty()) continue;
    if (lines.size() == notes + kBlamed) {
      ++more;
      continue;
    }
    const bool both = !change.kernels_a.empty() && !change.kernels_b.empty();
    std::string line =
        fmt::format("{}: {}, {} of the step", title, short_name(change), signed_time(change.time.delta));
    if (both) {
      const std::string measured = signed_percent(change.time.ratio);
      const std::string less_mode = signed_percent(change.adjusted.ratio);
      line += measured == less_mode ? " (" + measured + ")"
                                    : fmt::format(" ({}; {} less the common mode)", measured, less_mode);
    }
    if (const std::string cause = cause_text(change.cause); both && !cause.empty()) line += ", " + cause;
    lines.push_back(line + ".");
  }
  if (more > 0) lines.push_back(counted(more, "more kernel", "more kernels") + " changed, by less.");
  for (std::string& line : transfer_lines(comparison)) lines.push_back(std::move(line));
  if (std::string line = without_effect(comparison); !line.empty()) lines.push_back(std::move(line));
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
  if (comparison.pairs < comparison.options.min_pairs) {
    notes.push_back(
        fmt::format("{} per side: differences are shown, no verdict is given. Record {} pairs at least, each "
                    "run in a process of its own, A and B in turn.",
                    comparison.pairs == 1 ? "One run" : "Two runs", comparison.options.min_pairs));
  }
  for (const auto* side : {&comparison.a, &comparison.b}) {
    if (side->two_modes)
      notes.push_back(fmt::format("The runs of {} fall into two modes: their step times form two clusters.",
                                  side == &comparison.a ? "A" : "B"));
  }
  if (comparison.common_mode) {
    const double ratio = comparison.common_mode->ratio;
    notes.push_back(fmt::format(
        "{} took {} {} together (clock, temperature){}: the common mode. Kernels are compared after "
        "subtracting it; the step is not.",
        comparison.common_mode_of_all
            ? counted(comparison.common_mode_kernels, "kernel")
            : counted(comparison.common_mode_kernels, "unchanged kernel", "unchanged kernels"),
        percent_text(std::abs(ratio), 2), ratio < 0 ? "less time" : "more time",
        comparison.common_mode_of_all ? ", of which too few are known to be unchanged" : ""));
  } else {
    notes.push_back(fmt::format(
        "No common mode: {}. Kernels are judged as measured.",
        comparison.other_shape_kernels > 0 ? "the sides do other work" : "too few kernels to take one from"));
  }
  if (comparison.clock) {
    notes.push_back(fmt::format("SM clock {} in A, {} in B ({}).", clock_text(comparison.clock->a),
                                clock_text(comparison.clock->b), signed_percent(comparison.clock->ratio, 2)));
  }
  std::string matched =
      fmt::format("{} of the kernel time is matched", percent_text(comparison.matched_share));
  if (comparison.families_only) matched += ", by ranges and families since the GPU models differ";
  if (comparison.matched_share < comparison.options.min_matched_share)
    matched += fmt::format(": below {}, kernels are not blamed, the ranges decide",
                           percent_text(comparison.options.min_matched_share, 0));
  notes.push_back(matched + ".");
  for (const comparison::BudgetCheck& check : comparison.budgets) {
    if (check.missed || !check.kernel || !check.measured) notes.push_back(budget_text(comparison, check));
  }
  if (comparison.two_mode_kernels > 0) notes.push_back(modes_note(comparison));
  if (std::string note = below_floor(comparison); !note.empty()) notes.push_back(std::move(note));
  const auto more =
      std::count_if(comparison.environment.begin(), comparison.environment.end(),
                    [](const auto& difference) { return difference.weight == EnvironmentWeight::note; });
  if (more > 0) notes.push_back(counted(more, "further environment difference") + " of little weight.");
  return notes;
}

}  // namespace ridgeline::reports
