// device_sweep.h: adds up for how long a device did what at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>

namespace ridgeline::analyzer {

/// [start_ns, end_ns).
struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// Lifecycle: 1. add() what ran, in order of its begin  2. finish()  3. time_ns().
class DeviceSweep {
 public:
  /// What ran, as bits; kForeign is beside one of the others.
  static constexpr unsigned kComputation = 1, kCommunication = 2, kCopy = 4, kMemset = 8, kForeign = 16;
  static constexpr unsigned kKernel = kComputation | kCommunication;

  /// Calls idle(stretch) for each stretch of the window in which nothing ran, in order of time.
  DeviceSweep(const Interval& window, std::function<void(const Interval&)> idle)
      : window_(window), idle_(std::move(idle)), now_ns_(window.start_ns) {}

  /// A part of the window that is not empty.
  void add(const Interval& part, unsigned kinds) {
    run_until(part.start_ns);
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      if ((kinds & (1U << kind)) != 0) end_ns_[kind] = std::max(end_ns_[kind], part.end_ns);
    }
  }
  void finish() { run_until(window_.end_ns); }

  /// Time in which what ran satisfies `wanted`.
  template <typename Wanted>
  [[nodiscard]] std::int64_t time_ns(const Wanted& wanted) const {
    std::int64_t sum = 0;
    for (unsigned kinds = 1; kinds < time_ns_.size(); ++kinds) {
      if (wanted(kinds)) sum += time_ns_[kinds];
    }
    return sum;
  }

 private:
  static constexpr unsigned kKinds = 5;

  void run_until(std::int64_t until_ns) {
    while (now_ns_ < until_ns) {
      unsigned kinds = 0;
      std::int64_t next_ns = until_ns;
      for (unsigned kind = 0; kind < kKinds; ++kind) {
        if (end_ns_[kind] <= now_ns_) continue;
        kinds |= 1U << kind;
        next_ns = std::min(next_ns, end_ns_[kind]);
      }
      if (kinds == 0) {
        idle_({now_ns_, until_ns});
      } else {
        time_ns_[kinds] += next_ns - now_ns_;
      }
      now_ns_ = next_ns;
    }
  }

  Interval window_;
  std::function<void(const Interval&)> idle_;
  std::int64_t now_ns_;
  std::array<std::int64_t, kKinds> end_ns_{};                     // until when each kind runs
  std::array<std::int64_t, std::size_t{1} << kKinds> time_ns_{};  // by what ran
};

}  // namespace ridgeline::analyzer
