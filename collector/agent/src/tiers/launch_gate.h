// Keeps the program's other threads out of the driver while CUPTI's PC sampling is switched.
//
// cuptiPCSamplingStop holds a lock of CUPTI's and then wants the driver's; a thread inside a launch holds the
// driver's and, in CUPTI's own hook there, wants the one of CUPTI's: both wait for ever, and the program with them
// (CUPTI 2025.3.1, four launching threads). Starting, enabling, disabling and reading take the same locks. So none of
// them is called while another thread is inside such a call, and calls that come meanwhile wait at their entry.
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "thread_state.h"

namespace ridgeline::agent {

/// Calls other than launches in which CUPTI has a hook: streams, modules and libraries that come and go.
std::span<const CUpti_CallbackId> guarded_callbacks() noexcept;
bool is_guarded(CUpti_CallbackId id) noexcept;

class LaunchGate {
 public:
  /// For threads whose call does not come back: whoever closes gives up, and whoever waits goes on.
  static constexpr std::chrono::milliseconds kPatience{20};
  static constexpr std::chrono::seconds kLongestWait{2};

  explicit LaunchGate(std::uint32_t generation) : generation_(generation) {}
  LaunchGate(const LaunchGate&) = delete;
  LaunchGate& operator=(const LaunchGate&) = delete;

  /// The thread goes into the driver: the last thing that the callback at the call's entry does.
  void enter(ThreadState& thread) noexcept;
  /// It is back.
  static void leave(ThreadState& thread) noexcept {
    thread.in_driver.store(false, std::memory_order_release);
  }

  /// While it lives no other thread is inside a call, if it is true. One at a time, by the caller's lock.
  class Closed {
   public:
    explicit Closed(LaunchGate& gate) noexcept;
    ~Closed();
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    explicit operator bool() const noexcept { return quiet_; }

   private:
    LaunchGate& gate_;
    bool quiet_ = false;
  };

 private:
  bool anyone_else_inside() const noexcept;

  const std::uint32_t generation_;
  std::atomic<bool> closed_{false};
};

}  // namespace ridgeline::agent
