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

class LaunchRecorder {
 public:
  LaunchRecorder(SessionState& parts, PeriodSteps& period, Stretches& stretches, OrderRecorder& order,
                 AloneSteps& alone)
      : session_(parts), period_(period), stretches_(stretches), order_(order), alone_(alone) {}

  /// Launches are noted from now on, or no longer; one whose entry was noted is noted to its end.
  void record(bool on) noexcept { recording_.store(on, std::memory_order_release); }
  /// Entry and exit of a driver call that launches.
  void on_launch(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

 private:
  /// Now, by CUPTI's clock.
  std::int64_t now_ns() const noexcept {
    const std::int64_t now = session_.launch_clock.now_ns();
    return now != 0 ? now : session_.api->now_ns();
  }
  /// When the launch was noted; 0: it was not looked at, or a step ended or began, which takes its time.
  std::int64_t note_for_period(ThreadState& thread, CUpti_CallbackId id,
                               const CUpti_CallbackData& data) noexcept;
  void count_alone(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  bool is_loaded(const ThreadState& thread, const void* function) const noexcept;
  bool is_captured(CUpti_CallbackId id, const CUpti_CallbackData& data) const noexcept;
  ThreadState::CachedKernel& cached_kernel(ThreadState& thread, CUpti_CallbackId id,
                                           const CUpti_CallbackData& data) const noexcept;
  void look_up_kernel(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  std::uint32_t code_of(ThreadState& thread, CUpti_CallbackId id,
                        const CUpti_CallbackData& data) const noexcept;
  LaunchCall call_of(const ThreadState& thread, CUpti_CallbackId id,
                     const CUpti_CallbackData& data) const noexcept;
  void launch_exit(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// DeviceLaunches::kUnknown if CUPTI cannot tell.
  std::uint32_t device_of(const CUpti_CallbackData& data) noexcept;
  void write_untraced(const SequenceEntry& entry, const CUpti_CallbackData& data) noexcept;

  SessionState& session_;
  PeriodSteps& period_;
  Stretches& stretches_;
  OrderRecorder& order_;
  AloneSteps& alone_;
  std::atomic<bool> recording_{false};
};

}  // namespace ridgeline::agent
