/// count_plan.h: which launches are counted, so that the error of a ranking falls fastest for the time it costs.
///
/// A value holds for its kind of launch. What is not known of a kind costs the ranking, in share of the program's time,
///     error(n) = time share × spread / √n      after n counted launches, × 1 before the first,
/// so the next launch to count is that of the kind for which this falls most. It is bought until the time for it is
/// spent, or until the next one gains less than kMinGain.
///
/// Where what was taken for the program's steps gives way to other steps, a round ends: what was counted in
/// it is known, and is not counted again.
///
/// Order: 1. expect() what a step holds (or, of a program without steps, what its time is spent in)  2. choose() for
/// the step and its set of counters  3. wants() at each launch, counted() for each that was  4. value() of what came
/// out, whenever it does  5. spent(). One thread at a time; nothing here allocates but the constructor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/counting/kind.h"

namespace ridgeline::counting {

/// What counting costs on this machine, in ns of the program's time. Learned as the program goes on.
struct Costs {
  /// Of a launch where all of a step are counted, and of such a step besides: counters are started and stopped.
  double launch_of_all_ns = 1.35e6, step_of_all_ns = 60e6, first_of_all_ns = 400e6;
  /// Of a launch that was chosen, and of a step in which some are: a session of its own.
  double launch_ns = 1.35e6, step_ns = 400e6;
};

class CountPlan {
 public:
  static constexpr std::uint32_t kMaxSets = 16;
  static constexpr std::size_t kMaxKinds = 1u << 13;
  /// Share of the time that the ranking's error must fall by, or a launch is not worth counting.
  static constexpr double kMinGain = 1e-5;
  /// A kind whose utilisation differs by more from launch to launch is divided by what was launched before.
  static constexpr double kWideSpread = 0.05;

  CountPlan(std::int64_t budget_ns, std::uint32_t sets);
  ~CountPlan();
  CountPlan(const CountPlan&) = delete;
  CountPlan& operator=(const CountPlan&) = delete;

  /// Forgets what was expected, not what was counted.
  void expect_nothing() noexcept;
  /// A step holds such a launch, which takes so long. `before`: the kind of the launch before it; 0: not known.
  void expect(Kind kind, Kind before, double duration_ns) noexcept;
  /// A program without steps spends so much of its time on this kind.
  void expect_time(Kind kind, double time_ns) noexcept;
  /// Steps are others from now on. What was counted until now is known, of the sets whose bit is in `sets`: values of
  /// the others did not come.
  void begin_round(std::uint32_t sets) noexcept;
  /// In a round after the first: `like`, a kind that says the same, was counted before, so that `kind`, which is
  /// expected, is known too.
  void known_by(Kind kind, Kind before, Kind like) noexcept;
  [[nodiscard]] bool first_round() const noexcept { return first_round_; }
  /// choose() said `nothing` since earlier rounds have counted what there is.
  [[nodiscard]] bool all_known() const noexcept { return all_known_; }

  enum class Way : std::uint8_t { nothing, some, all };
  /// For the step to come, in which `set` is counted (from 0), the first of `steps_left`. `all_begun`: a session in
  /// which all are counted is there.
  Way choose(std::uint32_t set, std::uint64_t steps_left, bool all_begun) noexcept;
  /// Launches that choose() gave out for the step.
  [[nodiscard]] std::uint32_t chosen() const noexcept { return chosen_; }
  /// Of these none is left: what a stretch of a program without steps was for is done.
  [[nodiscard]] bool satisfied() const noexcept { return left_ == 0; }
  /// Count the next launch, which is of this kind? Only where the choice was `some`.
  [[nodiscard]] bool wants(Kind kind, Kind before) noexcept;
  /// It was.
  void counted(Kind kind, Kind before) noexcept;
  /// How near to a roof a counted launch came, 0 to 1; `roof` tells several apart.
  static constexpr std::size_t kRoofs = 2;
  void value(Kind kind, Kind before, std::size_t roof, double utilisation) noexcept;

  /// The recording takes so much of the budget for other things. Replaces what was said before.
  void set_aside(std::int64_t ns) noexcept { aside_ns_ = ns; }
  [[nodiscard]] std::int64_t aside_ns() const noexcept { return aside_ns_; }
  /// What may be spent, of which spent_ns() is gone.
  [[nodiscard]] std::int64_t spendable_ns() const noexcept { return budget_ns_ - aside_ns_; }
  /// The step is over and took so much longer than without counters.
  void spent(std::int64_t ns) noexcept { spent_ns_ += ns > 0 ? ns : 0; }
  /// Other processes share the budget: all of them, this one included, have spent so much, and so many have yet to
  /// count, this one included, which divide what is left.
  void shared(std::int64_t in_all_ns, std::uint32_t sharers) noexcept {
    in_all_ns_ = in_all_ns;
    sharers_ = sharers > 0 ? sharers : 1;
  }
  /// By all who share the budget, as far as it was said; by this plan alone.
  [[nodiscard]] std::int64_t spent_ns() const noexcept {
    return in_all_ns_ > spent_ns_ ? in_all_ns_ : spent_ns_;
  }
  [[nodiscard]] std::int64_t own_spent_ns() const noexcept { return spent_ns_; }
  [[nodiscard]] std::uint32_t sharers() const noexcept { return sharers_; }
  [[nodiscard]] std::int64_t budget_ns() const noexcept { return budget_ns_; }
  /// Enough is left for a launch more, with so much gone in this step.
  [[nodiscard]] bool affords(std::int64_t in_step_ns) const noexcept {
    return spent_ns() + in_step_ns + static_cast<std::int64_t>(costs_.launch_ns) <= spendable_ns();
  }
  /// What a step cost that counted `launches`: `fixed_ns` for opening and closing, the rest for the launches.
  void learn(Way way, std::uint32_t launches, double fixed_ns, double launches_ns) noexcept;
  [[nodiscard]] const Costs& costs() const noexcept { return costs_; }

  /// Of what was expected: how many kinds, the share of the time in kinds that were counted in `set`, and what is left
  /// of the ranking's error.
  struct Summary {
    std::uint32_t kinds = 0, counted_kinds = 0, wide_kinds = 0;
    double counted_share = 0, error = 0;
  };
  [[nodiscard]] Summary summary(std::uint32_t set) const noexcept;

 private:
  struct Slot;
  struct Candidate {
    double gain;
    std::uint32_t slot;
    bool operator<(const Candidate& other) const noexcept { return gain < other.gain; }
  };
  Slot* find(Kind kind, bool insert) noexcept;
  [[nodiscard]] const Slot* known(Kind kind) const noexcept;
  /// The kind itself, or the part of it behind `before` where it is divided.
  Slot* part(Kind kind, Kind before, bool insert) noexcept;
  [[nodiscard]] double spread(const Slot& slot) const noexcept;
  [[nodiscard]] double error(const Slot& slot, std::uint32_t counted) const noexcept;
  [[nodiscard]] double gain(const Slot& slot, std::uint32_t counted) const noexcept;
  void give_out(std::uint32_t launches) noexcept;
  /// Launches after which nearly all of the step's time is in kinds that were counted in the set.
  [[nodiscard]] double launches_to_cover() noexcept;
  /// Counted in an earlier round, in the set that choose() was asked for.
  [[nodiscard]] bool known_before(const Slot& slot) const noexcept;
  /// Share of the expected time in kinds that are not.
  [[nodiscard]] double fresh_share() const noexcept;

  const std::int64_t budget_ns_;
  const std::uint32_t sets_;
  std::int64_t spent_ns_ = 0, in_all_ns_ = 0, aside_ns_ = 0;
  std::uint32_t sharers_ = 1;
  Costs costs_;
  Slot* slots_;
  Candidate* heap_;
  std::size_t kinds_ = 0;
  double expected_ns_ = 0;
  double expected_launches_ = 0;
  std::uint32_t set_ = 0, chosen_ = 0, left_ = 0, newcomers_ = 0;
  bool in_steps_ = true, first_round_ = true, all_known_ = false;
};

}  // namespace ridgeline::counting
