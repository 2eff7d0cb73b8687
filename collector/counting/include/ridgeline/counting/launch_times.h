/// launch_times.h: how long launches of a kind take and how many there are, added up from the records of the timeline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ridgeline/counting/kind.h"

namespace ridgeline::counting {

/// Any thread, without a lock. Bounded: kinds that find no room are not known.
class LaunchTimes {
 public:
  static constexpr std::size_t kMaxKinds = 1u << 13;

  struct Times {
    std::uint64_t launches = 0;
    std::int64_t time_ns = 0;
    [[nodiscard]] double mean_ns() const noexcept {
      return launches == 0 ? 0.0 : static_cast<double>(time_ns) / static_cast<double>(launches);
    }
  };

  LaunchTimes() : slots_(new Slot[kSlots]()) {}
  ~LaunchTimes() { delete[] slots_; }
  LaunchTimes(const LaunchTimes&) = delete;
  LaunchTimes& operator=(const LaunchTimes&) = delete;

  void add(Kind kind, std::int64_t duration_ns) noexcept;
  [[nodiscard]] Times of(Kind kind) const noexcept;
  /// At most as long as the launches, by the means of their kinds, below which this share (0 to 1) of the time lies,
  /// and more than half of that; 0: no time is known.
  [[nodiscard]] std::int64_t duration_at_ns(double share) const noexcept;
  /// visit(kind, times) of each kind known so far.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < kSlots; ++i) {
      const Kind kind = slots_[i].kind.load(std::memory_order_acquire);
      if (kind != 0) visit(kind, read(slots_[i]));
    }
  }

 private:
  static constexpr std::size_t kSlots = 2 * kMaxKinds;
  struct Slot {
    std::atomic<Kind> kind{0};
    std::atomic<std::uint64_t> launches{0};
    std::atomic<std::int64_t> time_ns{0};
  };
  static Times read(const Slot& slot) noexcept {
    return {slot.launches.load(std::memory_order_relaxed), slot.time_ns.load(std::memory_order_relaxed)};
  }

  Slot* slots_;
  std::atomic<std::size_t> kinds_{0};
};

}  // namespace ridgeline::counting
