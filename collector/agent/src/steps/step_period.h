// Steps of a program that marks none: found in the sequence of its launches (ridgeline/steps/step_watch.h). This is
// what the agent puts round that search: a ring that the program's threads write without a lock, and the anchor of the
// period in force, by which they know a step's first launch.
//
// Lifecycle: 1. launch() at each launch, on the program's threads. 2. analyse() now and then on one thread of the
// agent's; activate() puts what it found in force. From then on launch() tells when a step begins. 3. analyse() goes
// on: what it found gives way to what explains more of the program.
#pragma once

#include <atomic>
#include <cstdint>

#include "ridgeline/steps/step_watch.h"

namespace ridgeline::agent {

class StepPeriod {
 public:
  using Found = steps::StepPeriodFound;

  StepPeriod();
  ~StepPeriod();
  StepPeriod(const StepPeriod&) = delete;
  StepPeriod& operator=(const StepPeriod&) = delete;

  /// Notes a launch; true if a step begins with it. Any thread; takes no lock.
  [[gnu::hot]] bool launch(steps::Key key, std::int64_t now_ns) noexcept;
  /// The same of a launch among others that are not reported: it is not noted, since the sequence has holes.
  /// Looks for the step if enough has come since the last time; true if a new one was found, which activate() puts in
  /// force. One thread; may take some milliseconds.
  bool analyse(std::int64_t now_ns, Found* found) noexcept;
  void activate() noexcept { active_.store(true, std::memory_order_release); }
  /// Forgets everything: what comes next is another window.
  void restart() noexcept;

  bool active() const noexcept { return active_.load(std::memory_order_acquire); }
  /// Launches noted since the last boundary that launch() reported, against those of a step.
  std::uint64_t launches_since_border() const noexcept;
  std::uint32_t launches_of_step() const noexcept { return step_launches_.load(std::memory_order_relaxed); }
  std::uint64_t launches() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kHistory = 2 * steps::StepWatch::kMaxLaunches;

  std::atomic<std::uint64_t>* ring_;  // time in us << 32 | key
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> recent_exact_{0}, recent_kernels_{0};  // the last four keys

  std::atomic<bool> active_{false};
  std::atomic<std::uint64_t> anchor_{0}, mask_{0};
  std::atomic<bool> exact_{true};
  std::atomic<std::uint32_t> periods_{1}, hits_{0}, step_launches_{0};
  std::atomic<std::uint64_t> last_boundary_{0};

  /// analyse() only.
  steps::StepWatch watch_;
  steps::Launch* latest_;  // a copy of the ring's, in order
};

}  // namespace ridgeline::agent
