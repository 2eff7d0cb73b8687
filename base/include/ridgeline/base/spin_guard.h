/// spin_guard.h: a lock for sections of a few instructions, usable in callbacks.
#pragma once

#include <sched.h>

#include <atomic>

namespace ridgeline {

class SpinGuard {
 public:
  explicit SpinGuard(std::atomic_flag& flag) noexcept : flag_(flag) {
    for (int spins = 0; flag_.test_and_set(std::memory_order_acquire); ++spins)
      if (spins > 64) sched_yield();
  }
  ~SpinGuard() { flag_.clear(std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace ridgeline
