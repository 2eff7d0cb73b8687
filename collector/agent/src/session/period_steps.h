// Steps from the period of the launches, for programs that mark none (steps/step_period.h finds it). They end
// for good when a range marks a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "ridgeline/steps/range_watch.h"
#include "session/session_state.h"
#include "session/step_conductor.h"
#include "steps/step_period.h"

namespace ridgeline::agent {

class PeriodSteps {
 public:
  PeriodSteps(SessionState& parts, StepConductor& conductor) : session_(parts), conductor_(conductor) {}

  /// True until a range marks a step: launches are to be noted. One relaxed load.
  bool watches() const noexcept { return session_.looks_for_period.load(std::memory_order_relaxed); }
  /// At a launch's entry, before anything else is done with it. `kernel_name` null: a graph. True: a step ended or
  /// began.
  [[gnu::hot]] bool note_launch(ThreadState& thread, steps::Key key, const char* kernel_name,
                                std::int64_t now_ns) noexcept;
  /// True if launches of this context are looked at; counts it if not.
  bool looks_at(std::uint32_t context_id) noexcept;
  /// An outermost range of the program, of another name than the steps have, begins and ends: if such ranges repeat
  /// like steps they are taken for them, unless the user named another range.
  void on_range_begin(const ThreadState& thread, std::string_view name) noexcept;
  void on_range_end(const ThreadState& thread, std::int64_t now_ns) noexcept;
  /// Ranges of the program were taken for steps: those of other names are still watched, in case they stop coming.
  bool took_ranges() const noexcept { return ranges_taken_.load(std::memory_order_relaxed); }
  /// Such a range begins.
  void on_step_range() noexcept;
  /// A range marks steps: no more steps by period.
  void steps_are_marked(ThreadState& thread) noexcept;
  /// The agent's thread.
  void look_for_period(std::int64_t now_ns) noexcept;
  /// What comes next is another window.
  void restart() noexcept;
  /// At exit: the last step by period has no boundary after it, but may be whole.
  void end_last(std::int64_t now_ns) noexcept;

 private:
  std::uint64_t launches() const noexcept;
  void boundary(ThreadState& thread, const char* kernel_name) noexcept;
  void describe(const char* kernel_name) noexcept;
  void end_step(ThreadState& thread) noexcept;

  SessionState& session_;
  StepConductor& conductor_;
  StepPeriod period_;
  steps::RangeWatch ranges_;
  std::atomic_flag ranges_lock_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> ranges_taken_{false};
  std::atomic_flag boundary_lock_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> step_{spool::kNoStep};  // the open step by period
  std::atomic<std::uint32_t> context_{0};            // whose launches are looked at
  std::atomic<std::uint64_t> foreign_launches_{0};   // of other contexts since one of that
  std::atomic<bool> describe_boundary_{false};       // the next boundary's kernel is wanted for the message
  StepPeriod::Found found_{};
  StepPeriod::Found candidate_{};  // the agent's thread, until it gets the lock
  bool news_ = false;
};

}  // namespace ridgeline::agent
