// Switches CUPTI's callbacks of the program's launches, waits and events off and on, and never beside a thread in one.
//
// CUPTI notes at a call's entry that the thread is in it if somebody wants to know of the call: by a callback or by a
// record. At its exit it asks again, and only then takes the note away. A thread in whose midst the last of the two was
// switched off is in that call for ever after, and every kernel that it launches has the correlation id of that call
// (CUPTI 13.0, drivers 580.159.03 and .04, H100 and H200; docs/design/031-what-recording-costs.md). Only at the exit's
// own callback it is harmless, and so is switching on. So:
// - the callbacks go off while no thread is between the callbacks of a call's entry and exit, and threads that come to
//   an entry meanwhile wait there; if one came, the callbacks are on again before it goes on;
// - where records go off as well, they go first, beside callbacks that are on.
// A program that launches without a pause is between two calls only at the exit of one: there its own thread does it.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "asymmetric_fence.h"
#include "session/session_state.h"
#include "thread_state.h"

namespace ridgeline::agent {

class CallSwitch {
 public:
  explicit CallSwitch(SessionState& parts) noexcept;

  /// The callbacks are on. Before the program's first call.
  void start(CUpti_SubscriberHandle subscriber) noexcept { subscriber_ = subscriber; }

  /// The first thing that a callback at a call's entry does, and the last thing of the one at its exit. Calls of other
  /// kinds pass.
  void enters(ThreadState& thread, CUpti_CallbackId id) noexcept;
  void leaves(ThreadState& thread, CUpti_CallbackId id) noexcept;

  /// All on. Any thread.
  void on() noexcept;
  /// Off at once, those of launches only if `launches_too`, or not at all: false if for so many looks, 100 us apart,
  /// some thread was in such a call. The caller is in none. What is freed goes on to be told, and so do launches of
  /// graphs where a stream may wait for the host in one.
  bool off(bool launches_too, int looks) noexcept;
  /// All off as soon as no thread is in such a call; the agent's thread helps by look().
  void off_when_possible() noexcept;
  void look() noexcept;

 private:
  enum class Kind : std::uint8_t { none, launch, other };
  using Clock = std::chrono::steady_clock;

  Kind kind_of(CUpti_CallbackId id) const noexcept { return id < kinds_.size() ? kinds_[id] : Kind::none; }
  /// A thread other than `own` is in such a call.
  bool anyone_inside(bool launches_too, const ThreadState* own) const noexcept;
  bool try_off(bool launches_too, const ThreadState* own) noexcept;
  void came_late() noexcept;
  void off_if_wanted(const ThreadState* own) noexcept;
  void set(bool on, bool launches_too) noexcept;

  SessionState& session_;
  AsymmetricFence fence_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::array<Kind, CUPTI_DRIVER_TRACE_CBID_SIZE> kinds_{};
  std::mutex mutex_;  // of switching
  std::atomic<bool> switching_{false}, wanted_{false}, launches_off_{false}, others_off_{false};
  bool wanted_launches_ = false;
  Clock::time_point not_before_{};  // another try
  std::chrono::milliseconds pause_{};
};

}  // namespace ridgeline::agent
