// Recording windows: when the plan of steps/window.h opens or closes one, everything that collects is
// switched on or off.
//
// Outside a window CUPTI's callbacks for launches, waits and events are switched off, as soon as no thread is in such a
// call (session/call_switch.h), so that the program runs almost as if it were alone; those for streams, graphs and
// memory, which outlive it, stay on. Its activity kinds stay on from the start, and their records are dropped: a kernel
// that was loaded while they were off and becomes part of a graph once they are on again ends in
// CUDA_ERROR_LAUNCH_FAILED, and the program with it (H200, CUPTI 13.0, a JAX program, whether or not counters were
// asked for). After a window they are switched off where the program has made no graph.
//
// A window closes in three turns of the agent's thread: 1. no new step begins, the open one runs to its end;
// 2. launches are no longer noted, and what was launched runs to its end on the device; 3. all is switched
// off.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "session/call_switch.h"
#include "session/launch_recorder.h"
#include "session/order_recorder.h"
#include "session/period_steps.h"
#include "session/session_state.h"
#include "session/wait_recorder.h"
#include "steps/window.h"

namespace ridgeline::agent {

class WindowControl {
 public:
  WindowControl(SessionState& parts, CallSwitch& calls, PeriodSteps& period, LaunchRecorder& launches,
                WaitRecorder& waits, OrderRecorder& order);

  /// In start_cupti(), before the timeline is enabled.
  void start() noexcept;
  void context_created(std::int64_t now_ns) noexcept { plan_.context_created(now_ns); }
  /// One turn of the agent's thread.
  void tend(std::int64_t now_ns) noexcept;
  /// CUPTI's callbacks and records are on. The agent's thread.
  bool collecting() const noexcept { return collecting_; }
  /// `before_close`: the window is about to close. Before start().
  void set_before_close(std::function<void()> before_close) { before_close_ = std::move(before_close); }
  /// Of an open window: its launches, waits and events are noted no longer, or again. Any thread, one at a time.
  void note_calls(bool on) noexcept;
  /// At exit: a window that is open ends with the program.
  void end_with_program(std::int64_t now_ns) noexcept;

 private:
  enum class State { dormant, open, last_step, draining };

  void open(WindowCause cause, std::int64_t now) noexcept;
  /// It could not be opened in this turn.
  void put_off(bool stream_waits) noexcept;
  void close(WindowCause cause) noexcept;
  void write(spool::WindowEdge edge, WindowCause cause, std::int64_t now) noexcept;
  void record_calls(bool on) noexcept;

  SessionState& session_;
  CallSwitch& calls_;
  PeriodSteps& period_;
  LaunchRecorder& launches_;
  WaitRecorder& waits_;
  OrderRecorder& order_;
  WindowPlan plan_;
  std::atomic<State> state_{State::dormant};
  bool collecting_ = true;
  bool tracing_off_ = false;
  bool put_off_said_ = false, end_said_ = false;
  WindowCause cause_{};  // of the close that is under way
  std::int64_t opened_ns_ = 0, closed_ns_ = 0, deadline_ns_ = 0, quiet_since_ns_ = 0;
  std::uint64_t records_ = 0;
  std::function<void()> before_close_;
};

}  // namespace ridgeline::agent
