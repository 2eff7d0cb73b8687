// Which threads are inside CUPTI or the driver on the agent's behalf, so that the end of the process can wait for them.
//
// CUPTI's counter libraries, the driver's compiler and NVML tear themselves down in exit handlers. A thread
// that is inside one of them at that moment works on freed memory and takes the program with it. So whatever
// the agent calls that may take longer than a few microseconds passes this gate, and the agent's exit
// handler, which runs before theirs (exit_order.h), closes the gate and waits until nobody is behind it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "ridgeline/base/cancellation.h"
#include "thread_state.h"

namespace ridgeline::agent {

class CallGate {
 public:
  /// False once the gate is closed; leave() is then not owed.
  bool enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    leave();
    return false;
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }

  /// For ever: the process ends.
  void close() noexcept { closed_.store(true, std::memory_order_seq_cst); }
  /// What takes long asks this between two calls, and gives up.
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  /// Waits until no thread is inside but the calling one, which is in `own` times: a signal handler may end the program
  /// from anywhere. False if some still are after `limit`.
  bool wait_until_empty(std::uint32_t own, std::chrono::milliseconds limit) const noexcept {
    const auto give_up = std::chrono::steady_clock::now() + limit;
    while (inside_.load(std::memory_order_acquire) > own) {
      if (std::chrono::steady_clock::now() >= give_up) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }

 private:
  std::atomic<std::uint32_t> inside_{0};
  std::atomic<bool> closed_{false};
};

/// The calling thread is inside for as long as this lives, and what its calls cause is no launch of the program's.
class AgentCall {
 public:
  AgentCall(CallGate& gate, ThreadState& thread) noexcept
      : gate_(gate), thread_(thread), entered_(gate.enter()), was_inside_(thread.inside) {
    if (!entered_) return;
    thread_.inside = true;
    ++thread_.calls_of_agent;
  }
  ~AgentCall() {
    if (!entered_) return;
    --thread_.calls_of_agent;
    thread_.inside = was_inside_;
    gate_.leave();
  }
  AgentCall(const AgentCall&) = delete;
  AgentCall& operator=(const AgentCall&) = delete;

  /// False if the process is ending: make no call.
  explicit operator bool() const noexcept { return entered_; }

 private:
  const NoCancellation whole_;
  CallGate& gate_;
  ThreadState& thread_;
  const bool entered_;
  const bool was_inside_;
};

}  // namespace ridgeline::agent
