/// spin_guard.h: a lock for sections of a few instructions, usable in callbacks.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <chrono>

#include "ridgeline/base/cancellation.h"

namespace ridgeline {
namespace detail {

/// Before another look at a lock that is taken. A thread that only yields keeps the holder off its core for ever where
/// it has a real-time priority and the holder has none: it sleeps after a while.
inline void pause_before_look(int look) noexcept {
  constexpr int kSpins = 64, kYields = 1000;
  if (look > kYields) {
    const NoCancellation whole;
    const timespec pause{0, 50'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  } else if (look > kSpins) {
    sched_yield();
  }
}

}  // namespace detail

class SpinGuard {
 public:
  explicit SpinGuard(std::atomic_flag& flag) noexcept : flag_(flag) {
    for (int look = 0; flag_.test_and_set(std::memory_order_acquire); ++look) detail::pause_before_look(look);
  }
  ~SpinGuard() { flag_.clear(std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic_flag& flag_;
};

/// For what a signal handler of the program may come to, such as the end of a recording in a handler that calls exit():
/// the thread it interrupted may have the lock, and goes on only after the handler.
class PatientSpinGuard {
 public:
  explicit PatientSpinGuard(std::atomic_flag& flag, std::chrono::milliseconds patience = kPatience) noexcept
      : flag_(flag) {
    if (!flag_.test_and_set(std::memory_order_acquire)) return;
    using std::chrono::steady_clock;
    const auto give_up = steady_clock::now() + patience;
    for (int look = 0; (locked_ = !flag_.test_and_set(std::memory_order_acquire)) == false; ++look) {
      if (steady_clock::now() >= give_up) return;
      detail::pause_before_look(look);
    }
  }
  ~PatientSpinGuard() {
    if (locked_) flag_.clear(std::memory_order_release);
  }
  PatientSpinGuard(const PatientSpinGuard&) = delete;
  PatientSpinGuard& operator=(const PatientSpinGuard&) = delete;
  /// False: another still has it, and nothing may be done.
  explicit operator bool() const noexcept { return locked_; }

  /// Whoever has it needs microseconds, or milliseconds where it waits for a disk.
  static constexpr std::chrono::milliseconds kPatience{1000};

 private:
  std::atomic_flag& flag_;
  bool locked_ = true;
};

}  // namespace ridgeline
