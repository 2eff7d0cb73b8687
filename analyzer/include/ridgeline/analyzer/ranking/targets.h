// targets.h: does the step meet its targets? The verdict behind `ridgeline check`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::analyzer {

enum class KernelVerdict {
  stretch,          // u ≥ stretch
  met,              // u ≥ target
  missed,           // u < target, or over its budget
  below_min_share,  // too small a part of the step to matter
  too_short,        // most of its time in launches below the launch floor
  no_roof,          // most of its time without a meaningful roof
  not_measured,
};
[[nodiscard]] std::string_view to_string(KernelVerdict verdict);

enum class OverallVerdict { met, missed, not_enough_data };
[[nodiscard]] std::string_view to_string(OverallVerdict verdict);
/// 0, 1 and 3.
[[nodiscard]] int exit_code(OverallVerdict verdict);

/// What one kernel may cost; fields left empty are not checked. An entry replaces the general target for the
/// rows it matches, and applies whatever their share.
struct KernelBudget {
  std::string kernel;  // demangled or normalised name or row key; * stands for any text
  std::optional<double> min_utilisation_ratio;
  std::optional<double> max_time_ns;     // of the row, a step
  std::optional<double> max_dram_bytes;  // of the row, a step
  std::string reason;                    // why it is what it is; printed
};

struct TargetOptions {
  double target = 0.70;
  double stretch = 0.85;
  double min_share = 0.005;            // of the step time; kernels below are not judged
  double max_unmeasured_share = 0.10;  // of the kernel time; more → not_enough_data, unless missed
  std::vector<KernelBudget> budgets;
};

struct KernelCheck {
  std::size_t row = 0;  // into Ranking::rows
  KernelVerdict verdict = KernelVerdict::not_measured;
  std::optional<double> required;     // the utilisation asked for
  std::optional<std::size_t> budget;  // into TargetOptions::budgets
  /// What the utilisation alone says; none where it was not asked: too small a part, or a budget of something else.
  std::optional<KernelVerdict> utilisation;
};

/// Why the overall verdict is what it is.
enum class CheckReason {
  kernels_met,          // all that were judged
  kernels_missed,       // TargetCheck::missed_count of them
  nothing_judged,       // no kernel was measured, or none counts
  too_little_measured,  // TargetCheck::unmeasured_share
  budget_not_measured,  // a kernel that has a budget
  budget_unmatched,     // the first of TargetCheck::unmatched_budgets
  rows_lost,            // the capture is not whole; Finding `rows_lost` says what is gone
};

struct TargetCheck {
  TargetOptions options;
  ScopeKind scope = ScopeKind::step;  // what "step" means below
  OverallVerdict overall = OverallVerdict::not_enough_data;
  CheckReason reason = CheckReason::nothing_judged;
  std::vector<KernelCheck> kernels;  // one for each row, same order
  std::int64_t stretch_count = 0, met_count = 0, missed_count = 0, below_min_share_count = 0;
  std::int64_t too_short_count = 0, no_roof_count = 0, not_measured_count = 0;
  double unmeasured_share = 1;      // of the kernel time
  double time_share_at_target = 0;  // share of kernel time in launches with u ≥ target
  double time_share_at_stretch = 0;
  double missed_saving_ns = 0;  // RankingRow::saved_target_ns of the kernels that missed, summed
  /// What the step is shorter by if all kernels that miss their target reach it; empty: not simulated. A session
  /// fills it in.
  std::optional<double> missed_reached_ns;
  std::vector<std::size_t> unmatched_budgets;  // budgets that no row matches: a renamed kernel passes unseen
};

/// What of a check fails a report of one capture.
struct CheckFailOn {
  bool budget = true;       ///< a kernel above its budget, or a budget that cannot be judged
  bool target = false;      ///< any missed target: as `check` does
  bool unmeasured = false;  ///< not enough data for a verdict
};
/// 0 nothing of that; 1 missed; 3 what was asked for cannot be judged.
[[nodiscard]] int exit_code(const TargetCheck& check, const CheckFailOn& fail_on);
/// Whether that kernel misses what `fail_on` asks for.
[[nodiscard]] bool fails(const KernelCheck& kernel, const CheckFailOn& fail_on);

/// Judges a ranking (of any key; per kernel is usual). The ranking's own target does not matter.
/// Failure: usage (target or share outside 0..1, stretch below target, an empty budget).
[[nodiscard]] Result<TargetCheck> check_targets(const UtilisationAnalysis& utilisation,
                                                const Ranking& ranking, const TargetOptions& options = {});

}  // namespace ridgeline::analyzer
