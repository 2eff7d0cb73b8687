// ladder.h: what each of several changes to a program (rungs) is worth: added one after the other, each alone, and each
// left out of all, from runs of the combinations that this takes, each once a round.
//
// Lifecycle: 1. ladder_design() says which combinations (arms) are wanted and what is computed of them  2. arms that
// come to the same program share its runs  3. runs are collected in a LadderRecord  4. analyse_ladder() tests. Values
// are logarithms of the step's time and the round is the unit: steps of one run are no replicates. docs/ladder.md has
// the method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/comparison/comparison.h"

namespace ridgeline::comparison {

/// What of a rung is asked for.
enum class Contribution : std::uint8_t {
  cumulative,  ///< on top of all rungs below it
  alone,       ///< on top of the bottom and of what it needs
  left_out,    ///< what is lost if it alone is left out of the top, with what needs it left out on both sides
  interaction,  ///< cumulative less alone
  shapley,      ///< the mean over all orders in which the rungs can be climbed
};

/// Where step times come from.
enum class LadderSource : std::uint8_t {
  recording,  ///< each run is recorded
  output,     ///< each run is read: a pattern finds them in what the program prints
};

/// Why a ladder has no further rounds.
enum class LadderEnd : std::uint8_t {
  decided,  ///< every rung is
  rounds,   ///< as many as were asked for
  budget,   ///< no further round fits
  stopped,  ///< by a signal
};

/// Whether the loss is the one below the rung, on equal seeds.
enum class LossVerdict : std::uint8_t {
  not_measured,
  same_bits,  ///< every loss is equal, as printed
  same,       ///< shown to differ by less than the margin
  differs,
  open,  ///< too few seeds, or they differ too much
};

}  // namespace ridgeline::comparison

namespace ridgeline {

template <>
struct Vocabulary<comparison::Contribution> {
  using Kind = comparison::Contribution;
  static constexpr std::string_view kName = "contribution";
  static constexpr Word<Kind> kWords[] = {{Kind::cumulative, "cumulative"},
                                          {Kind::alone, "alone"},
                                          {Kind::left_out, "left_out"},
                                          {Kind::interaction, "interaction"},
                                          {Kind::shapley, "shapley"}};
};

template <>
struct Vocabulary<comparison::LadderSource> {
  using Source = comparison::LadderSource;
  static constexpr std::string_view kName = "source of step times";
  static constexpr Word<Source> kWords[] = {{Source::recording, "recording"}, {Source::output, "output"}};
};

template <>
struct Vocabulary<comparison::LadderEnd> {
  using End = comparison::LadderEnd;
  static constexpr std::string_view kName = "end of a ladder";
  static constexpr Word<End> kWords[] = {
      {End::decided, "decided"}, {End::rounds, "rounds"}, {End::budget, "budget"}, {End::stopped, "stopped"}};
};

template <>
struct Vocabulary<comparison::LossVerdict> {
  using Loss = comparison::LossVerdict;
  static constexpr std::string_view kName = "verdict on a loss";
  static constexpr Word<Loss> kWords[] = {{Loss::not_measured, "not_measured"},
                                          {Loss::same_bits, "same_bits"},
                                          {Loss::same, "same"},
                                          {Loss::differs, "differs"},
                                          {Loss::open, "open"}};
};

}  // namespace ridgeline

namespace ridgeline::comparison {

/// Which rungs are on: bit i for rung i, the lowest first.
using RungSet = std::uint64_t;
inline constexpr std::size_t kMaxRungs = 40;
inline constexpr std::size_t kMaxShapleyRungs = 6;

struct LadderQuestions {
  bool alone = true;
  bool left_out = true;
  bool shapley = false;
};

/// An arm's logarithm of the step's time, and how often it counts.
struct LadderTerm {
  std::size_t arm = 0;
  double weight = 0;
};

/// A sum over arms: ln of the time before less ln of the time after, so that what is faster is positive.
struct LadderQuantity {
  Contribution kind = Contribution::cumulative;
  std::size_t rung = 0;
  std::vector<LadderTerm> terms;
};

struct LadderDesign {
  std::vector<RungSet> arms;  ///< each once, the bottom first, then the climb, then what else is asked for
  std::vector<LadderQuantity> quantities;  ///< by kind, then by rung
};

/// `needs`: of each rung those rungs that must be on for it, all of them lower ones. Failure: usage (no rung, more than
/// kMaxRungs, or than kMaxShapleyRungs with `shapley`; a need that is not lower).
[[nodiscard]] Result<LadderDesign> ladder_design(const std::vector<RungSet>& needs,
                                                 const LadderQuestions& questions);
/// All that these rungs need, and those that they need.
[[nodiscard]] RungSet with_needs(RungSet rungs, const std::vector<RungSet>& needs);

/// One of several settings of a rung, of which the best is taken.
struct LadderChoiceTimes {
  std::string name;
  std::vector<double> step_ns;  ///< of each round in which the choice was made
};

struct LadderRungFacts {
  std::string name;
  std::string change;                      ///< what it does to the program, in one line
  std::vector<std::size_t> needs;          ///< as the file says them, without theirs
  std::vector<LadderChoiceTimes> choices;  ///< of a sweep
  std::optional<std::size_t> chosen;       ///< the choice that all rounds have
};

/// A program that arms run, and what does not change from run to run.
struct LadderProgram {
  std::string command;                    ///< for people
  std::string failure;                    ///< why it has no further runs; "": it has
  std::map<std::string, double> kernels;  ///< calls a step by family name; empty: not recorded
};

/// One run of a program.
struct LadderRun {
  std::size_t program = 0;
  std::int64_t round = 1;
  std::int64_t seed = 1;
  double step_ns = 0;          ///< median of the steps that count
  std::int64_t steps = 0;      ///< that count
  std::int64_t discarded = 0;  ///< before them, until the clock had settled
  bool settled = true;         ///< false: it had not, and the second half counts
  std::optional<double> sm_clock_hz, power_w, joules_per_step, peak_memory_bytes, loss, launches;
  std::string device;
};

/// What one recording says of a run; `program`, `round` and `seed` are the caller's.
struct LadderObservation {
  LadderRun run;
  std::map<std::string, double> kernels;  ///< calls a step by family name
};
/// Step times of a recording from where on the SM clock and they themselves have settled (steady_from()), and what the
/// device was like meanwhile. Joules are the mean power by its samples times the step's time. Failures: those of
/// profile_run().
[[nodiscard]] Result<LadderObservation> observe_capture(const std::string& path);
/// The same of step times that a program printed, in ns. At least one.
[[nodiscard]] LadderRun observe_times(const std::vector<double>& step_ns);

struct LadderOptions {
  double alpha = 0.05;               ///< of wrong differences among the rungs of a kind
  double equivalence_alpha = 0.05;   ///< of wrong "no effect", each
  double margin_ratio = 0.003;       ///< a smaller contribution is no effect
  double loss_margin_ratio = 0.005;  ///< of the loss
  std::int64_t min_rounds = 3;       ///< for a verdict
};

/// All that a ladder's runs said: what is kept in a file, and what everything printed comes from.
struct LadderRecord {
  std::string name;
  std::string begun;  ///< UTC
  LadderSource source = LadderSource::recording;
  LadderEnd end = LadderEnd::rounds;
  LadderOptions options;
  LadderQuestions questions;
  /// Of the last look: what of the errors it may spend.
  double look_alpha = 0.05, look_equivalence_alpha = 0.05;
  std::int64_t order_seed = 1;
  std::int64_t rounds = 0;  ///< that all programs had, as far as they run
  double seconds = 0;
  std::vector<LadderRungFacts> rungs;
  std::vector<RungSet> arms;                ///< of the design
  std::vector<std::size_t> program_of_arm;  ///< into `programs`
  std::vector<LadderProgram> programs;
  std::vector<LadderRun> runs;
};

struct LadderEstimate {
  Contribution kind = Contribution::cumulative;
  std::int64_t rounds = 0;           ///< that it rests on
  double log_ratio = 0;              ///< ln before − ln after: above 0 what is faster
  std::optional<double> half_width;  ///< of its interval that holds in 95 of 100; empty below two rounds
  std::optional<double> p;           ///< two-sided
  std::optional<double> adjusted_p;  ///< by Holm, over the rungs of that kind
  std::optional<double> same_p;      ///< of a contribution beyond the margin
  bool same_program = false;         ///< before and after are one program: nothing was measured, and it is 0
  std::optional<double>
      before_ns;  ///< geometric mean over its rounds; not of interactions and Shapley values
  Outcome outcome = Outcome::not_measured;  ///< of interactions improved is more than alone
};

/// What a program was like: medians over its rounds.
struct LadderArmFacts {
  RungSet rungs = 0;
  std::size_t program = 0;
  std::int64_t rounds = 0;
  std::optional<double> step_ns;  ///< geometric mean
  std::optional<double> sm_clock_hz, power_w, joules_per_step, peak_memory_bytes, loss, launches;
  std::int64_t unsettled = 0;  ///< runs whose clock had not settled
};

struct LadderLoss {
  LossVerdict verdict = LossVerdict::not_measured;
  std::optional<double> ratio;  ///< mean of loss ÷ loss below − 1, over the seeds
  std::optional<double> half_width;
  std::int64_t seeds = 0;
};

struct LadderStep {
  std::size_t rung = 0;
  std::size_t below = 0, arm = 0;                       ///< into LadderResult::arms
  std::vector<LadderEstimate> estimates;                ///< those asked for, by kind
  std::vector<std::string> kernels_came, kernels_went;  ///< family names
  LadderLoss loss;
  [[nodiscard]] const LadderEstimate* estimate(Contribution kind) const;
};

struct LadderResult {
  std::vector<LadderArmFacts> arms;  ///< as of the record
  std::vector<LadderStep> steps;     ///< one a rung, the lowest first
  /// ln of the bottom's time less ln of the top's.
  LadderEstimate whole;
};

/// Failure: no_data (no round of the bottom), corrupt (a record that does not fit together).
[[nodiscard]] Result<LadderResult> analyse_ladder(const LadderRecord& record);
/// Whether further rounds have nothing more to say: no rung that can be measured is open.
[[nodiscard]] bool is_settled(const LadderResult& result);

/// A record as JSON, and back. Failure: corrupt (says what is wrong).
[[nodiscard]] std::string ladder_text(const LadderRecord& record);
[[nodiscard]] Result<LadderRecord> parse_ladder(std::string_view text);
/// Failures: io, corrupt; named by the file.
[[nodiscard]] Result<LadderRecord> read_ladder(const std::string& path);

}  // namespace ridgeline::comparison
