// Samples and counters of programs whose launches make no steps, or steps that launch other things each time:
// stretches of the program in which the device is sampled, or launches are counted by kind, a set of counters in
// each.
//
// A stretch is a step of the sample or the replay phase outside the schedule (spool/format.h, kStepByTime). The
// agent's thread decides when one is due: when no step was found for a while, or when the schedule is over and its
// steps vary; when what measures is ready; and when there are kinds of launch that no window saw, or of which
// counters would tell more, within the budget. The next launch of the program outside of a step begins it, and a
// later one ends it: when what was to be counted has come, or when it has lasted long enough. A program that launches
// collectives has none: its processes would wait for each other at moments of their own. Counted are kernels that the
// timeline showed to wait for no other (ConcurrencyWatch).
#pragma once

#include <atomic>
#include <cstdint>

#include "session/session_state.h"
#include "session/step_conductor.h"

namespace ridgeline::agent {

class Stretches {
 public:
  Stretches(SessionState& parts, StepConductor& conductor) : session_(parts), conductor_(conductor) {}

  /// True if note_launch() has something to do. One relaxed load.
  /// At the entry of a launch that is not captured, before anything else is done with it.
  void note_launch(ThreadState& thread, bool graph) noexcept;
  /// The agent's thread.
  void tick(std::int64_t now_ns) noexcept;
  /// Of those that count.
  std::uint32_t begun() const noexcept { return number_.load(std::memory_order_relaxed); }

 private:
  using State = StretchState;
  bool may_begin(std::int64_t now_ns) const noexcept;
  bool wants_samples(std::int64_t now_ns) noexcept;
  void settle_window() noexcept;
  bool wants_counters() noexcept;
  void begin(ThreadState& thread) noexcept;
  void begin_counting(const StepTracker::Step& step, ThreadState& thread) noexcept;
  void begin_sampling(const StepTracker::Step& step, ThreadState& thread) noexcept;
  bool is_over() noexcept;
  void end(ThreadState& thread) noexcept;

  SessionState& session_;
  StepConductor& conductor_;
  std::atomic<State>& state_ = session_.stretch;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> samples_{false};       // the one that is due or open; else it counts
  std::atomic<std::uint32_t> number_{0};   // of the next one that counts
  std::atomic<std::uint32_t> windows_{0};  // that samples were taken in
  std::atomic<bool> no_samples_{false};    // a window could not be opened
  std::atomic<bool> to_settle_{true};      // the latest window: whether it was sampled whole is not known yet
  std::atomic<std::uint32_t> missed_windows_{0};
  std::int64_t late_ns_ = 0;               // with lock_: from the open one's begin until samples come
  std::uint32_t unsampled_ = 0;            // likewise: launches until then
  std::atomic<std::int64_t> ended_ns_{0};  // the latest
  std::atomic<std::int64_t> due_ns_{0};    // since when the next one is
  std::int64_t begun_ns_ = 0;              // with lock_
  std::uint32_t launches_ = 0;             // with lock_, of the open one
  std::int64_t window_ns_ = 0;             // likewise, if it is sampled
  std::int64_t launching_since_ns_ = 0;    // the agent's thread, as what follows
  std::int64_t sampled_ns_ = 0;            // when it was last asked whether a window is due
  bool sampling_over_ = false, counting_over_ = false;
};

}  // namespace ridgeline::agent
