// What recording costs the program: blocks of steps that run without it, among those that are recorded.
//
// In a block that runs alone, CUPTI makes no records, the program's launches and waits come to no callback of the
// agent's, ranges are not written, and the agent's thread neither flushes nor samples clocks. What remains: the range
// that marks a step, or, where steps are found by their launches, the callback of each launch, which counts them; what
// that takes is measured and written beside the block. It is not switched off between two boundaries, for a thread is
// in a launch there (session/call_switch.h). A block that is recorded, as long and
// begun in the same way, stands near each: what the two differ by is the price.
//
// Both kinds begin with a device that is through with everything before: so no record is cut when they are switched
// off, and both start alike. A block that something comes between (a capture, a module, a window that closes, a step
// that does not come) is dropped.
//
// Kernels that are loaded while tracing is off fail in graphs that are made when it is on again (design 008). If a
// module is loaded in a block, or between two recording windows, and the program then makes a graph after all, tracing
// is switched off for good, and that is said. A program that has made graphs is measured only if it is asked
// for (Settings::alone_in_graphs), and then carefully: only where it neither loaded nor changed anything in
// the steps before, and recording comes back before any call that may load code or change a graph, the first
// launch of a kernel among them (cupti/load_calls.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "cupti/load_calls.h"
#include "session/call_switch.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class AloneSteps {
 public:
  explicit AloneSteps(SessionState& parts) : session_(parts) {}

  /// `calls`: of CUPTI; `note`: whether those that come are noted (WindowControl). Before the first step.
  void switch_by(CallSwitch& calls, std::function<void(bool on)> note) {
    calls_ = &calls;
    note_ = std::move(note);
  }

  /// A step begins, as its schedule has it; one that is to run alone is made so. `boundary_ns`: when it began.
  void on_step_begin(StepTracker::Step* step, std::int64_t boundary_ns, std::int64_t usual_ns,
                     bool by_period) noexcept;
  /// A block that runs alone is under way. One relaxed load.
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  /// Recording came back in this step: its launches are not all there.
  bool came_back_in(std::uint32_t step_index) const noexcept {
    return back_in_.load(std::memory_order_relaxed) == step_index;
  }
  /// A launch came to the callback in such a block; what that took.
  void count_launch(std::int64_t took_ns) noexcept {
    launches_.fetch_add(1, std::memory_order_relaxed);
    own_ns_.fetch_add(took_ns, std::memory_order_relaxed);
  }
  /// Ends a block without a word: the recording goes on. Any thread.
  void drop() noexcept;
  /// The agent's thread: measures what a callback takes, once; drops a block whose next step does not come.
  void tick(std::int64_t now_ns) noexcept;
  /// The program loads a module, makes a node of a graph, begins a capture. In callbacks.
  void module_loaded() noexcept;
  /// Recording is on when this returns, unless whoever switches it takes longer than `patience`.
  void on_graph_begin(std::chrono::milliseconds patience) noexcept;
  /// Of calls at their entry: longer than a block takes to begin. Of what the driver tells of from its midst, where it
  /// may have locks that the thread wants which switches: not for long.
  static constexpr std::chrono::milliseconds kAtEntry{2000}, kInDriver{100};
  /// In such a block of a program with graphs launches come to the callback, as loads do throughout.
  bool careful() const noexcept { return careful_.load(std::memory_order_relaxed); }
  /// In one: code may be loaded or a graph changed by the call that begins. Recording is on when this returns.
  void code_comes() noexcept;
  /// A call that may load code or change a graph begins (cupti/load_calls.h): the same, if it asks for what is new.
  void load_begins(CUpti_CallbackId id, const void* params) noexcept {
    const std::uint64_t key = load_key(id, params);
    if (key == 0 || loads_.is_new(key, session_.module_generation.load(std::memory_order_acquire)))
      code_comes();
  }
  /// The program is about to make a stream wait for the host; none does yet.
  void stream_will_wait() noexcept {
    if (may_run_alone()) come_back(kAtEntry);
  }
  /// The program ends and had no steps.
  void without_steps() noexcept {
    if (session_.settings.alone_steps > 0 && session_.launches_seen() > 0)
      refuse("the program has no steps to compare");
  }
  /// The driver call by which callbacks are timed: none of the program's own is meant by it.
  static constexpr CUpti_CallbackId kTimedCall = CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion;
  void time_callbacks_with(CUpti_SubscriberHandle subscriber) noexcept { subscriber_ = subscriber; }

 private:
  enum class Kind : std::uint8_t { none, alone, recorded };

  /// A block runs alone, or is about to.
  bool may_run_alone() const noexcept { return active() || alone_begins_.load(); }
  /// The block that runs alone, or is about to, is dropped.
  void come_back(std::chrono::milliseconds patience) noexcept;
  bool come_back_if_asked() noexcept;
  void take_step(StepTracker::Step* step, std::int64_t boundary_ns, std::int64_t usual_ns,
                 bool by_period) noexcept;
  Kind kind_of_block_at(const StepTracker::Step& step, std::int64_t usual_ns) const noexcept;
  static std::uint32_t steps_by_time(std::int64_t usual_ns) noexcept;
  std::uint32_t steps_of_block(std::uint32_t phase_steps) const noexcept;
  std::uint32_t steps_of_block(std::uint32_t phase_steps, std::int64_t usual_ns) const noexcept;
  bool device_is_through(std::int64_t usual_ns) noexcept;
  void begin(Kind kind, StepTracker::Step* step, std::int64_t usual_ns, bool by_period) noexcept;
  /// Of a program with graphs: nothing was loaded or changed of late, and how long a graph takes can be told.
  bool is_settled(const StepTracker::Step& step) const noexcept;
  std::uint32_t newest_record() const noexcept;
  GraphLaunches::State graphs_state() const noexcept;
  /// From the program's first graph to its end: they are never switched off (session/call_switch.h).
  void watch_loads() noexcept;
  void end(StepTracker::Step* step, std::int64_t boundary_ns) noexcept;
  void refuse(const char* why) noexcept;
  void come_back_in(StepTracker::Step* step) noexcept;
  enum class Off : std::uint8_t { yes, not_now, never };
  Off switch_off() noexcept;
  void switch_on() noexcept;
  void measure_callback() noexcept;

  SessionState& session_;
  CallSwitch* calls_ = nullptr;
  std::function<void(bool)> note_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;  // of switching: what follows
  std::atomic<bool> active_{false};
  std::atomic<bool> back_asked_{false};    // of whoever has that lock
  std::atomic<bool> alone_begins_{false};  // with it: recording is about to be switched off
  Kind kind_ = Kind::none;                 // of the open block
  bool by_period_ = false;
  spool::StepBlockRecord block_{};
  std::uint32_t steps_begun_ = 0;  // of it
  int put_off_ = 0;             // blocks, for other threads were in calls, since the last one that ran alone
  std::uint32_t alone_at_ = 0;  // position in the phase of the latest that ran alone
  std::int64_t usual_ns_ = 0;
  std::atomic<std::int64_t> latest_boundary_ns_{0};
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<std::uint32_t> back_in_{spool::kNoStep};
  std::atomic<std::int64_t> own_ns_{0};
  std::int64_t callback_ps_ = 0;  // of one launch: entry and exit
  bool measured_ = false;         // that; the agent's thread
  std::atomic<bool> loaded_untraced_{false}, loaded_between_windows_{false}, refused_{false};
  std::atomic<bool> careful_{false}, watches_loads_{false};
  SeenLoads loads_;
  std::atomic<std::uint32_t> changed_at_{0};  // how many steps had begun when code or a graph changed last
};

}  // namespace ridgeline::agent
