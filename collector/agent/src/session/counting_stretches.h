// Counters of programs whose launches make no steps: stretches of the program in which launches are counted by kind, a
// set of counters in each.
//
// A stretch is a step of the replay phase outside the schedule (spool/format.h, kStepByTime). The agent's thread
// decides when one is due: when no step was found for a while, what counts is ready, the budget has something left for
// it, and there are kinds of which more is worth knowing. The next launch of the program begins it, and a later one
// ends it: when what was to be counted has come, or when it has lasted long enough. A program that launches collectives
// has none: its processes would wait for each other at moments of their own. Counted are kernels that the timeline
// showed to wait for no other (ConcurrencyWatch).
#pragma once

#include <atomic>
#include <cstdint>

#include "session/parts.h"
#include "session/step_conductor.h"

namespace ridgeline::agent {

class CountingStretches {
 public:
  CountingStretches(Parts& parts, StepConductor& conductor) : parts_(parts), conductor_(conductor) {}

  /// True if note_launch() has something to do. One relaxed load.
  bool wants_launch() const noexcept { return state_.load(std::memory_order_relaxed) != State::idle; }
  /// At the entry of a launch that is not captured, before anything else is done with it.
  void note_launch(ThreadState& thread, bool graph) noexcept;
  /// The agent's thread.
  void tick(std::int64_t now_ns) noexcept;
  std::uint32_t begun() const noexcept { return number_.load(std::memory_order_relaxed); }

 private:
  enum class State { idle, due, open };
  bool find_next() noexcept;
  void begin(ThreadState& thread) noexcept;
  void end(ThreadState& thread) noexcept;

  Parts& parts_;
  StepConductor& conductor_;
  std::atomic<State> state_{State::idle};
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> number_{0};   // of the next stretch
  std::atomic<std::int64_t> ended_ns_{0};  // the latest
  std::int64_t begun_ns_ = 0;              // with lock_
  std::uint32_t launches_ = 0;             // with lock_, of the open one
  std::int64_t launching_since_ns_ = 0;    // the agent's thread
  bool over_ = false;                      // the agent's thread
};

}  // namespace ridgeline::agent
