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

class alignas(64) CallSwitch {
 public:
  explicit CallSwitch(SessionState& parts) noexcept;

  /// The callbacks are on. Before the program's first call.
  void start(CUpti_SubscriberHandle subscriber) noexcept { subscriber_ = subscriber; }

  /// The first thing that a callback at a call's entry does, and the last thing of the one at its exit. Calls of other
  /// kinds pass.
  void enters(ThreadState& thread, CUpti_CallbackId id) noexcept {
    const Kind kind = kind_of(id);
    if (kind == Kind::none) return;
    // The agent's own calls count as well: CUPTI has the thread in them like in any other.
    auto& inside = inside_of(thread, kind);
    inside.store(inside.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // Of this thread and one that switches, one sees the other: here and in try_off() what was written comes before
    // what is read, which without the fences no processor promises.
    fence_.often();
    const std::atomic<bool>& off = kind == Kind::launch ? launches_off_ : others_off_;
    if (switching_.load(std::memory_order_acquire) || off.load(std::memory_order_acquire)) [[unlikely]]
      enters_beside_switch(off, id);
  }
  void leaves(ThreadState& thread, CUpti_CallbackId id) noexcept {
    const Kind kind = kind_of(id);
    if (kind == Kind::none) return;
    auto& inside = inside_of(thread, kind);
    const std::uint32_t depth = inside.load(std::memory_order_relaxed);
    if (depth == 0) return;  // its entry came before the callbacks were on
    if (wanted_.load(std::memory_order_relaxed)) [[unlikely]]
      off_as_last(thread);
    inside.store(depth - 1, std::memory_order_release);
  }

  /// The call launches kernels (cupti/launch_params.h).
  bool is_launch(CUpti_CallbackId id) const noexcept { return kind_of(id) == Kind::launch; }

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

  Kind kind_of(CUpti_CallbackId id) const noexcept {
    // By which most launches go: known without a look.
    if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) [[likely]]
      return Kind::launch;
    return id < kinds_.size() ? kinds_[id] : Kind::none;
  }
  static std::atomic<std::uint32_t>& inside_of(ThreadState& thread, Kind kind) noexcept {
    return kind == Kind::launch ? thread.launches_inside : thread.others_inside;
  }
  /// A thread other than `own` is in such a call.
  bool anyone_inside(bool launches_too, const ThreadState* own) const noexcept;
  bool try_off(bool launches_too, const ThreadState* own) noexcept;
  /// Callbacks are being switched, or those of this kind are off.
  [[gnu::cold]] void enters_beside_switch(const std::atomic<bool>& off, CUpti_CallbackId id) noexcept;
  void came_late() noexcept;
  [[gnu::cold]] void off_as_last(ThreadState& thread) noexcept;
  void off_if_wanted(const ThreadState* own) noexcept;
  void set(bool on, bool launches_too) noexcept;

  SessionState& session_;
  AsymmetricFence fence_;  // with what follows on one line of the cache
  std::atomic<bool> switching_{false}, wanted_{false}, launches_off_{false}, others_off_{false};
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::array<Kind, CUPTI_DRIVER_TRACE_CBID_SIZE> kinds_{};
  std::mutex mutex_;                                           // of switching
  std::array<bool, CUPTI_DRIVER_TRACE_CBID_SIZE> went_off_{};  // and has to come back
  bool failure_said_ = false;
  bool wanted_launches_ = false;
  Clock::time_point not_before_{};  // another try
  std::chrono::milliseconds pause_{};
};

}  // namespace ridgeline::agent
