// comparison.h: what changed between two sides of one or more runs each, by how much, and how sure that is.
//
// The run is the unit: launches inside one run are not replicates. The step's verdict is in time as measured; blame on
// kernels is less the common mode, which stands on a line of its own. Method and formulas: docs/compare.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranking/targets.h"
#include "ridgeline/comparison/match.h"
#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

/// What became of the step, a part of it or a kernel.
enum class Outcome : std::uint8_t {
  regressed,
  improved,
  same,          ///< shown to differ by less than the margin
  inconclusive,  ///< an OutcomeReason says why
  added,         ///< only in B
  removed,       ///< only in A
  not_measured,  ///< no launch with a time on one of the sides
};

/// Why an outcome is no better.
enum class OutcomeReason : std::uint8_t {
  none,
  single_run,     ///< one run per side: nothing says how much runs differ
  too_few_pairs,  ///< fewer than ComparisonOptions::min_pairs
  noise,          ///< the runs differ too much for an answer: detectable_ratio, pairs_needed
  two_modes,      ///< runs fall into two clusters, and which of them a run is in is chance
  not_confirmed,  ///< the fresh pair did not show it again
  small,          ///< a difference without doubt, but below the thresholds, or not all of it
  blocks,         ///< the runs of one side came before those of the other: what drifts looks like a change
  clock,          ///< as measured it did not change so: the clock did, or what all kernels did together
};

/// What makes a kernel take another time.
enum class ChangeCause : std::uint8_t {
  none,        ///< nothing changed, or nothing that could be told from noise
  code,        ///< other machine code, or another kernel does the work
  launch,      ///< the same code launched otherwise: block, cluster, shared memory
  shapes,      ///< the same code with a different grid
  calls,       ///< called a different number of times
  data,        ///< the same code and launch did other work: it executed a different number of instructions
  clock,       ///< the same cycles at another clock
  neighbours,  ///< same code and launch, other cycles: what runs before or beside it, caches, memory
  unknown,     ///< the machine code was not recorded
};

/// What a line of the step's time is of. kernels − overlap + copies + memsets + gaps + unexplained = step.
enum class PartKind : std::uint8_t {
  step,
  kernels,        ///< sum over all of them
  overlap,        ///< of that, what ran beside other kernels
  copies,         ///< while no kernel ran
  memsets,        ///< while neither kernel nor copy ran
  hidden_copies,  ///< beside kernels: part of no sum
  collectives,    ///< communication kernels while no other kernel ran; part of the kernels
  hidden_collectives,
  gaps,         ///< the device did nothing
  gap,          ///< of those, by cause
  cpu,          ///< of the launching thread, without its waits
  waits,        ///< of the launching thread, for the device
  range,        ///< kernels of a range below the step's
  unexplained,  ///< what the parts do not add up to
};

/// Whole verdict. Exit codes: exit_code().
enum class ComparisonVerdict : std::uint8_t { regressed, improved, same, inconclusive, invalid_environment };

/// How much an environment difference matters.
enum class EnvironmentWeight : std::uint8_t {
  note,      ///< worth knowing
  explains,  ///< may explain more than the code does
  invalid,   ///< the sides cannot be compared as to their code
};

}  // namespace ridgeline::comparison

namespace ridgeline {

template <>
struct Vocabulary<comparison::Outcome> {
  using Outcome = comparison::Outcome;
  static constexpr std::string_view kName = "outcome";
  static constexpr Word<Outcome> kWords[] = {
      {Outcome::regressed, "regressed"},       {Outcome::improved, "improved"}, {Outcome::same, "same"},
      {Outcome::inconclusive, "inconclusive"}, {Outcome::added, "added"},       {Outcome::removed, "removed"},
      {Outcome::not_measured, "not_measured"}};
};
template <>
struct Vocabulary<comparison::OutcomeReason> {
  using Reason = comparison::OutcomeReason;
  static constexpr std::string_view kName = "reason of an outcome";
  static constexpr Word<Reason> kWords[] = {
      {Reason::none, "none"},   {Reason::single_run, "single_run"}, {Reason::too_few_pairs, "too_few_pairs"},
      {Reason::noise, "noise"}, {Reason::two_modes, "two_modes"},   {Reason::not_confirmed, "not_confirmed"},
      {Reason::small, "small"}, {Reason::blocks, "blocks"},         {Reason::clock, "clock"}};
};
template <>
struct Vocabulary<comparison::ChangeCause> {
  using Cause = comparison::ChangeCause;
  static constexpr std::string_view kName = "cause of a change";
  static constexpr Word<Cause> kWords[] = {{Cause::none, "none"},      {Cause::code, "code"},
                                           {Cause::launch, "launch"},  {Cause::shapes, "shapes"},
                                           {Cause::calls, "calls"},    {Cause::data, "data"},
                                           {Cause::clock, "clock"},    {Cause::neighbours, "neighbours"},
                                           {Cause::unknown, "unknown"}};
};
template <>
struct Vocabulary<comparison::PartKind> {
  using Kind = comparison::PartKind;
  static constexpr std::string_view kName = "kind of part";
  static constexpr Word<Kind> kWords[] = {{Kind::step, "step"},
                                          {Kind::kernels, "kernels"},
                                          {Kind::overlap, "overlap"},
                                          {Kind::copies, "copies"},
                                          {Kind::memsets, "memsets"},
                                          {Kind::hidden_copies, "hidden_copies"},
                                          {Kind::collectives, "collectives"},
                                          {Kind::hidden_collectives, "hidden_collectives"},
                                          {Kind::gaps, "gaps"},
                                          {Kind::gap, "gap"},
                                          {Kind::cpu, "cpu"},
                                          {Kind::waits, "waits"},
                                          {Kind::range, "range"},
                                          {Kind::unexplained, "unexplained"}};
};
template <>
struct Vocabulary<comparison::ComparisonVerdict> {
  using Verdict = comparison::ComparisonVerdict;
  static constexpr std::string_view kName = "verdict of a comparison";
  static constexpr Word<Verdict> kWords[] = {{Verdict::regressed, "regressed"},
                                             {Verdict::improved, "improved"},
                                             {Verdict::same, "same"},
                                             {Verdict::inconclusive, "inconclusive"},
                                             {Verdict::invalid_environment, "invalid_environment"}};
};
template <>
struct Vocabulary<comparison::EnvironmentWeight> {
  using Weight = comparison::EnvironmentWeight;
  static constexpr std::string_view kName = "weight of an environment difference";
  static constexpr Word<Weight> kWords[] = {
      {Weight::note, "note"}, {Weight::explains, "explains"}, {Weight::invalid, "invalid"}};
};

}  // namespace ridgeline

namespace ridgeline::comparison {

/// Noise of identical code on one machine, from A/A pairs: `ridgeline calibrate`.
struct NoiseFloor {
  std::int64_t pairs = 0;
  double step_ratio = 0;                      ///< standard deviation of ln(B/A) of the step
  std::map<KernelClass, double> class_ratio;  ///< median over the kernels of a class, less the common mode
};

struct ComparisonOptions {
  MatchOptions match;
  /// Run i of A and run i of B were recorded one after the other. Needs as many runs on both sides.
  bool paired = true;
  /// Of the last pairs: kept out of the tests; what is blamed must show in them again.
  std::int64_t confirmation_pairs = 0;
  std::int64_t min_pairs = 3;  ///< fewer give no verdict

  double alpha = 0.05;  ///< of the step and its parts, two-sided; of this look, if there are several
  double equivalence_alpha = 0.05;     ///< of `same`
  double false_discovery_rate = 0.05;  ///< over all kernels
  double step_ratio = 0.01;            ///< of the step: smaller differences do not matter, and are `same`
  double part_step_share = 0.005;      ///< of a part likewise, of the step's time
  double kernel_ratio = 0.02;        ///< of a kernel likewise, or three times the noise floor if that is more
  double kernel_ns = 1000;           ///< of a kernel, a step: …
  double kernel_step_share = 0.001;  ///< … and of the step
  bool strict = false;               ///< kernels are tested against kernel_ratio, not against no difference
  std::optional<NoiseFloor> floor;
  double min_matched_share = 0.90;  ///< of the kernel time; below, kernels are not blamed
  /// What kernels of B may cost; a kernel above its budget fails the comparison whatever A was.
  std::vector<analyzer::KernelBudget> budgets;
  /// Sides on other GPU models, or drivers, get a verdict too.
  bool any_environment = false;
  /// Runs that were recorded in blocks, one side after the other, get a verdict too.
  bool any_order = false;
};

/// Confidence interval of a ratio of change: 0.02 is +2 %.
struct ChangeInterval {
  double low = 0, high = 0;
};

/// How one quantity changed: `ratio`, `delta` and the interval are of one estimator, so that `b` is a · (1 + ratio) and
/// a + delta.
struct Change {
  /// Means over the runs that were tested: geometric, or arithmetic of what may be nothing (parts of the step).
  double a = 0, b = 0;
  double ratio = 0;  ///< B ÷ A − 1; without bounds if A is nothing
  double delta = 0;  ///< b − a
  /// What the outcome rests on: 1 − alpha, of what is shown to be the same 1 − 2·equivalence_alpha, which lies within
  /// the margin. Empty: too few runs.
  std::optional<ChangeInterval> interval;
  double interval_level = 0;               ///< its coverage
  std::optional<double> p;                 ///< two-sided, of no difference
  std::optional<double> adjusted_p;        ///< Benjamini–Hochberg, kernels only
  std::optional<double> same_p;            ///< of a difference of the margin or more
  std::optional<double> detectable_ratio;  ///< smallest change found 4 times of 5 with these runs
  std::optional<std::int64_t>
      pairs_needed;  ///< for a change of the margin to be found so; empty: over 1000, unknown
  std::optional<double> within_run_ratio;  ///< spread inside the runs: a hint, no test
  std::vector<double> pair_ratios;         ///< of each pair, in order; unpaired: empty
};

/// The step or a part of it. Tested on its own, without regard to how many others are; a part in the step's
/// time, since it may be nothing on either side.
struct StepMetric {
  std::string name;  ///< "step", "kernels", "gaps: CPU", or a range below the step's: "forward"
  PartKind kind = PartKind::step;
  Change time;            ///< ns
  double step_share = 0;  ///< its difference, of the step's time in A
  Outcome outcome = Outcome::inconclusive;
  OutcomeReason reason = OutcomeReason::none;
};

/// Registers or shared memory that differ; or instructions, operations or DRAM bytes that differ by more than 0.5 %.
struct CountChange {
  std::string
      name;  ///< verbatim metric name, or registers_per_thread, static_smem_bytes, dynamic_smem_bytes, dram_bytes
  double a = 0, b = 0;
};

/// A kernel of one side with its counterpart, or a group of them.
struct KernelChange {
  std::vector<std::string> kernels_a,
      kernels_b;       ///< demangled names, most time first; empty: added or removed
  std::string path;    ///< folded, of the longest site
  std::string family;  ///< likewise
  KernelClass kernel_class = KernelClass::other;
  MatchLevel level = MatchLevel::exact;
  double confidence = 0;  ///< of the match, 0..1
  double calls_a = 0, calls_b = 0;
  Change time;                   ///< ns of the step, as measured
  Change adjusted;               ///< the same less the common mode: what the outcome rests on
  std::optional<Change> cycles;  ///< where the clock is known in all runs
  std::optional<double> dram_a, dram_b, compute_a, compute_b;  ///< utilisation, 0..1
  std::optional<double> dram_bytes_a, dram_bytes_b;
  analyzer::KernelBound bound_a = analyzer::KernelBound::unmeasured,
                        bound_b = analyzer::KernelBound::unmeasured;
  std::optional<LaunchConfiguration> shape_a, shape_b;  ///< of the longest site
  std::optional<bool> code_changed;                     ///< empty: not known
  bool launch_changed = false;
  std::vector<CountChange> counts;
  Outcome outcome = Outcome::inconclusive;
  OutcomeReason reason = OutcomeReason::none;
  ChangeCause cause = ChangeCause::none;
  bool confirmed = false;  ///< the confirmation pairs showed it again
  bool hint = false;       ///< one run per side: the change is beyond the spread inside the runs
};

/// Copies of one direction, or memsets, at one place, and their counterpart.
struct TransferChange {
  std::string path;  ///< in B, or in A if it is only there
  TransferKind kind = TransferKind::copy;
  CopyKind direction = CopyKind::unknown;
  double calls_a = 0, calls_b = 0;  ///< a step, medians over the runs
  double bytes_a = 0, bytes_b = 0;
  Change time;            ///< ns of a step
  Change exposed;         ///< of that, while no kernel ran: what the outcome rests on
  double step_share = 0;  ///< of that, the difference, of the step's time in A
  Outcome outcome = Outcome::inconclusive;
  OutcomeReason reason = OutcomeReason::none;
  [[nodiscard]] bool other_work() const { return calls_a != calls_b || bytes_a != bytes_b; }
};

/// A budget held against the kernels of B that it matches.
struct BudgetCheck {
  std::size_t budget = 0;             ///< into ComparisonOptions::budgets
  std::optional<std::size_t> kernel;  ///< into Comparison::kernels; empty: none matches
  bool missed = false;
  bool measured = true;  ///< false: what it asks for is not known of that kernel
};

struct EnvironmentDifference {
  EnvironmentWeight weight = EnvironmentWeight::note;
  std::string
      what;  ///< gpu, gpu_uuid, driver, version NAME, variable NAME, command_line, host, sm_clock, throttled, …
  std::string a, b;
};

/// One side, for people.
struct ComparisonSide {
  std::vector<std::string> captures;
  std::string git_commit;  ///< "" unknown or not the same for all
  bool git_dirty = false;
  std::string command_line;
  std::string device;
  std::optional<double> sm_clock_hz, power_w;  ///< medians over the runs
  std::optional<int> temperature_c;            ///< highest
  bool two_modes = false;                      ///< its step times fall into two clusters
  double launches = 0;                         ///< a step, median over the runs
};

struct Comparison {
  ComparisonOptions options;
  ComparisonSide a, b;
  std::int64_t pairs = 0;  ///< that were tested; unpaired: runs of the smaller side
  bool paired = false;
  ComparisonVerdict verdict = ComparisonVerdict::inconclusive;
  std::vector<StepMetric> step_metrics;   ///< the step first
  std::vector<KernelChange> kernels;      ///< by |Δ| of the step, largest first
  std::vector<TransferChange> transfers;  ///< likewise
  std::int64_t two_mode_kernels =
      0;                        ///< whose runs are seen to fall into two clusters, whichever side they are of
  bool in_blocks = false;       ///< by the runs' begins, one side was recorded before the other
  bool same_recording = false;  ///< a run of A and one of B are one recording
  /// Of unchanged code and on a different grid, if they are so many that the sides do other work (another batch);
  /// else 0.
  std::int64_t other_shape_kernels = 0;
  std::optional<Change>
      common_mode;  ///< what kernels of unchanged code did together, as a ratio; a and b are 1 and 1 + ratio
  std::int64_t common_mode_kernels = 0;
  bool common_mode_of_all = false;                 ///< too few kernels have unchanged code: it is of all
  std::optional<Change> clock;                     ///< SM clock, Hz
  std::vector<EnvironmentDifference> environment;  ///< weightiest first
  std::vector<BudgetCheck> budgets;
  double matched_share = 0;    ///< of the kernel time
  bool families_only = false;  ///< other GPU models: ranges and families were compared, not kernels
  double step_delta_ns = 0;    ///< medians of B less A
  std::int64_t regressed = 0, improved = 0, same = 0, inconclusive = 0, added = 0, removed = 0;
  bool without_steps = false;  ///< no run has steps: "the step" is all that was recorded of each

  [[nodiscard]] const StepMetric& step() const { return step_metrics.front(); }
  /// The sides launch a different number of kernels a step, by more than one in twenty: perhaps they do other work.
  [[nodiscard]] bool other_work() const;
  /// And neither has steps: the longer recording has more of everything, which says nothing of how fast it is.
  [[nodiscard]] bool other_length() const { return without_steps && other_work(); }
};

/// What fails a comparison, for exit_code().
struct FailOn {
  bool regression = true;
  bool inconclusive = false;
  bool unmatched = false;  ///< kernels added or removed
};

/// Failures: usage (no run on a side, one recording twice on a side, other programs on a side, a bad rule, confirmation
/// pairs that leave none), no_data (no kernel time; some runs have steps and others none).
[[nodiscard]] Result<Comparison> compare(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b,
                                         const ComparisonOptions& options = {});

/// 0 no confirmed regression; 1 regression, or a kernel above its budget; 3 too few runs, too little matched, a
/// budget of nothing, or what FailOn says; 4 environment.
[[nodiscard]] int exit_code(const Comparison& comparison, const FailOn& fail_on = {});

/// The noise of A/A pairs: `comparison` is of identical code, paired. Failure: no_data (fewer than three pairs).
[[nodiscard]] Result<NoiseFloor> noise_floor(const Comparison& comparison);

}  // namespace ridgeline::comparison
