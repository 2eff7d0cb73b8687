/// step_watch.h: which period of the launches is the program's step, while the program runs. Looks again and again,
/// within a bound on the work, and gives up what it took for the step when something else explains the program.
///
/// Lifecycle: 1. look() now and then with the latest launches, until it finds a period. 2. look() goes on: what was
/// found may have been autotuning, a layer of a slow model, or the micro-steps of a step.
/// Takes memory in its constructor only; throws nothing; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/steps/launch_key.h"
#include "ridgeline/steps/period_search.h"

namespace ridgeline::steps {

/// A period in force. A step may be several periods: one shorter than a millisecond is too short to measure.
inline constexpr std::int64_t kShortestStepNs = 1'000'000;
struct StepPeriodFound {
  Period period;
  std::uint32_t periods = 1;  ///< of a step
  std::int64_t step_ns = 0;   ///< median
  bool replaces = false;      ///< another was in force before
  [[nodiscard]] std::uint32_t step_launches() const noexcept { return period.launches * periods; }
};

[[nodiscard]] StepPeriodFound step_of(const Period& period) noexcept;

class StepWatch {
 public:
  /// Launches looked at, at most: four times what the longest step may have.
  static constexpr std::uint32_t kMaxLaunches = 1u << 16;
  /// What the repeats of a period must have taken together.
  static constexpr std::int64_t kEvidenceNs = 120'000'000;

  StepWatch() noexcept : search_(kMaxLaunches) {}

  /// Launches that the next look() wants of the `count` noted so far; 0: it is not due.
  [[nodiscard]] std::size_t wanted(std::uint64_t count, std::int64_t now_ns) noexcept;
  /// `history`: the latest `size` of `count` launches, oldest first. True if the step is, from now on, what is in
  /// `found`. Some milliseconds of work.
  bool look(const Launch* history, std::size_t size, std::uint64_t count, std::int64_t now_ns,
            StepPeriodFound* found) noexcept;
  /// Forgets everything: what comes next is another window, after `count` launches.
  void restart(std::uint64_t count) noexcept;

 private:
  /// The period in force has stopped coming; `heard`: where its last boundary is that came in time.
  bool silent(const Launch* history, std::size_t size, std::size_t* heard) const noexcept;
  void note_pace(const Period& latest) noexcept;
  void enforce(const Period& period, std::int64_t start_ns, std::uint64_t begin, std::int64_t now_ns,
               StepPeriodFound* found) noexcept;

  PeriodSearch search_;
  bool active_ = false;
  Period current_;
  std::int64_t current_start_ns_ = 0;  // of its run, when it was found
  std::uint64_t current_start_ = 0;    // the same in launches
  std::int64_t found_ns_ = 0;
  Period challenger_;
  std::uint32_t challenger_looks_ = 0, confirmed_ = 0;

  /// Of the work: launches that may still be looked at.
  double allowance_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  std::uint64_t first_ = 0, last_count_ = 0;
  std::uint32_t looks_ = 0;
};

/// Cuts a sequence of launches into steps, by a period. One thread.
class StepCutter {
 public:
  explicit StepCutter(const Anchor& anchor, std::uint32_t periods = 1) noexcept
      : anchor_(anchor), periods_(periods) {}
  /// True if a step begins with this launch.
  bool launch(Key key) noexcept {
    exact_ = exact_ << 16 | exact_part(key);
    kernels_ = kernels_ << 16 | kernel_part(key);
    if (((anchor_.exact ? exact_ : kernels_) & anchor_.mask()) != anchor_.keys) return false;
    return hits_++ % periods_ == 0;
  }

 private:
  Anchor anchor_;
  std::uint32_t periods_;
  std::uint32_t hits_ = 0;
  std::uint64_t exact_ = 0, kernels_ = 0;
};

}  // namespace ridgeline::steps
