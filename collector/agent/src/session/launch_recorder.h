// The launches of the program, from the driver's callbacks: a record each, and what a tier does at it.
#pragma once

#include <atomic>

#include "session/alone_steps.h"
#include "session/order_recorder.h"
#include "session/period_steps.h"
#include "session/session_state.h"
#include "session/stretches.h"
#include "thread_state.h"

namespace ridgeline::agent {

class alignas(64) LaunchRecorder {
 public:
  LaunchRecorder(SessionState& parts, PeriodSteps& period, Stretches& stretches, OrderRecorder& order,
                 AloneSteps& alone)
      : session_(parts), period_(period), stretches_(stretches), order_(order), alone_(alone) {}

  /// Launches are noted from now on, or no longer; one whose entry was noted is noted to its end.
  void record(bool on) noexcept { recording_.store(on, std::memory_order_release); }
  /// Entry and exit of a driver call that launches. What they come by at each launch is short and lies together, in one
  /// function each; the rest, marked cold, elsewhere: a program's own code drives the agent's out of the nearest caches
  /// between two launches, and what a launch takes is mostly to fetch it again.
  [[gnu::hot]] void enter(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  [[gnu::hot]] void exit(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

 private:
  /// Now, by CUPTI's clock.
  std::int64_t now_ns() const noexcept {
    const std::int64_t now = session_.launch_clock.now_ns();
    return now != 0 ? now : session_.api->now_ns();
  }
  [[gnu::always_inline]] inline void note_entry(ThreadState& thread) const noexcept;
  /// From its entry to now, which is its exit.
  [[gnu::always_inline]] inline LaunchClock::Span span_of(const ThreadState& thread) const noexcept;
  [[gnu::cold]] [[gnu::noinline]] LaunchClock::Span span_by_cupti(const ThreadState& thread,
                                                                  std::uint64_t count) const noexcept;
  /// What is to be done with a launch beside noting it.
  struct Attention {
    bool counted = false, looked_into = false, delayed = false;
  };

  [[gnu::cold]] static void note_own(ThreadState& thread, const CUpti_CallbackData& data) noexcept;
  [[gnu::cold]] void make_ready(ThreadState& thread) noexcept;
  [[gnu::noinline]] void count_alone(ThreadState& thread, CUpti_CallbackId id,
                                     const CUpti_CallbackData& data) noexcept;
  [[gnu::cold]] bool is_loaded(const ThreadState& thread, const void* function) const noexcept;
  /// When the launch was noted; 0: it was not looked at, or a step ended or began, which takes its time.
  [[gnu::hot]] std::int64_t note_for_period(ThreadState& thread, CUpti_CallbackId id,
                                            const CUpti_CallbackData& data) noexcept;
  /// Into a stream that is being captured: it becomes part of a graph and runs when that does. It counts towards no
  /// period, and no step begins or ends in it, since what a step's boundary asks of CUPTI would break the capture.
  bool is_captured(const LaunchArguments& launch) const noexcept {
    return session_.captures.any() && session_.driver.captures(launch.stream);
  }
  ThreadState::CachedKernel& cached_kernel(ThreadState& thread, const char* name) const noexcept;
  [[gnu::cold]] void learn_kernel(ThreadState::CachedKernel& cached, const void* function, const char* name,
                                  std::uint32_t modules) const noexcept;
  void look_up_kernel(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  [[gnu::always_inline]] inline std::uint32_t code_of(ThreadState& thread,
                                                      const CUpti_CallbackData& data) const noexcept;
  [[gnu::cold]] [[gnu::noinline]] std::uint32_t learn_code(ThreadState& thread,
                                                           const CUpti_CallbackData& data) const noexcept;
  /// True if it took time.
  [[gnu::always_inline]] inline bool attend(ThreadState& thread, CUpti_CallbackId id,
                                            const CUpti_CallbackData& data) noexcept;
  [[gnu::cold]] void begin_attending(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                                     const Attention& attention) noexcept;
  [[gnu::cold]] void end_counting(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                                  Verdict verdict) noexcept;
  [[gnu::cold]] LaunchCall call_of(const ThreadState& thread, CUpti_CallbackId id,
                                   const CUpti_CallbackData& data) const noexcept;
  [[gnu::cold]] static spool::LaunchRecord& unplaced(ThreadState& thread) noexcept;
  [[gnu::cold]] [[gnu::noinline]] void end_delayed(ThreadState& thread,
                                                   const spool::LaunchRecord& record) noexcept;
  [[gnu::cold]] [[gnu::noinline]] void put_unplaced(const ThreadState& thread) noexcept;
  [[gnu::always_inline]] inline void end_launch(ThreadState& thread, CUpti_CallbackId id,
                                                const CUpti_CallbackData& data) noexcept;
  [[gnu::always_inline]] inline void end_kernel(ThreadState& thread, const CUpti_CallbackData& data,
                                                Verdict verdict, spool::LaunchRecord& record) noexcept;
  [[gnu::noinline]] void end_other(ThreadState& thread, const CUpti_CallbackData& data, bool failed,
                                   bool graph, spool::LaunchRecord& record) noexcept;
  [[gnu::always_inline]] inline void note_on_device(ThreadState& thread,
                                                    const CUpti_CallbackData& data) noexcept;
  /// DeviceLaunches::kUnknown if CUPTI cannot tell.
  std::uint32_t device_of(const CUpti_CallbackData& data) noexcept;
  [[gnu::cold]] std::uint32_t ask_for_device(const CUpti_CallbackData& data) noexcept;
  [[gnu::cold]] void write_untraced(const SequenceEntry& entry, const CUpti_CallbackData& data) noexcept;

  SessionState& session_;
  PeriodSteps& period_;
  Stretches& stretches_;
  OrderRecorder& order_;
  AloneSteps& alone_;
  std::atomic<bool> recording_{false};
};

}  // namespace ridgeline::agent
