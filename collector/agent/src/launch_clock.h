// CUPTI's clock by the processor's counter, for the two readings of each launch: cuptiGetTimestamp() is
// clock_gettime(), which takes 25 ns on a machine of its own and 50 to 100 in a virtual one; the counter 10 to 20.
//
// The agent's thread reads both side by side, some twenty times a second. Between two of these readings time goes on at
// the rate that was seen; what the clock had gone wrong by the next is made up for over the time to the one after, so
// that no time runs backwards. A clock that was set is followed at once, at the rate that was known before.
// Without a counter that goes at one rate on all processors, before the second reading, and a second and more
// after the latest (0.2 s where something is made up for), nothing is known: CUPTI is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace ridgeline::agent {

class alignas(64) LaunchClock {
 public:
  LaunchClock() noexcept = default;
  LaunchClock(const LaunchClock&) = delete;
  LaunchClock& operator=(const LaunchClock&) = delete;

  /// Reads both clocks. One thread. `now_ns`: CUPTI's; `counter`: the processor's, for tests.
  void calibrate(const std::function<std::int64_t()>& now_ns,
                 const std::function<std::uint64_t()>& counter = count) noexcept;

  /// 0: not known. Any thread.
  std::int64_t now_ns() const noexcept { return at(count()); }
  /// The same at a reading of the counter.
  std::int64_t at(std::uint64_t counter) const noexcept { return since(counter, counter).end_ns; }

  struct Span {
    std::int64_t begin_ns = 0, end_ns = 0;  // 0: not known
  };
  /// The times of two readings, the second of which is about now: asked once for both.
  Span since(std::uint64_t begin, std::uint64_t end) const noexcept {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    if (version == 0 || version % 2 != 0) return {};
    const std::uint64_t ticks = end - base_.load(std::memory_order_relaxed);
    const std::int64_t base_ns = base_ns_.load(std::memory_order_relaxed);
    const std::uint64_t rate = rate_.load(std::memory_order_relaxed);
    const std::uint64_t valid = valid_ticks_.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    // A counter behind the base, of a processor that is a little late, is far beyond it.
    if (version_.load(std::memory_order_relaxed) != version || ticks > valid) return {};
    const std::int64_t end_ns = base_ns + at_rate(ticks, rate);
    return {end_ns - at_rate(ticks_between(begin, end), rate), end_ns};
  }
  /// How long that was at the latest rate that was seen, however long ago; 0: none was.
  std::int64_t lasted_ns(std::uint64_t begin, std::uint64_t end) const noexcept {
    return at_rate(ticks_between(begin, end), rate_.load(std::memory_order_relaxed));
  }
  /// A rate was seen: never again no.
  bool has_rate() const noexcept { return version_.load(std::memory_order_relaxed) != 0; }

  /// The processor's counter; 0 where there is none.
  static std::uint64_t count() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
  /// It goes at one rate on all processors, as far as the kernel trusts it.
  static bool is_steady() noexcept;

 private:
  static constexpr int kRateBits = 32;  // of the rate, ns a tick, behind the point
  static std::int64_t at_rate(std::uint64_t ticks, std::uint64_t rate) noexcept {
    __extension__ using Product = unsigned __int128;
    return static_cast<std::int64_t>(static_cast<Product>(ticks) * rate >> kRateBits);
  }
  /// None if the processor of the second is a little late.
  static std::uint64_t ticks_between(std::uint64_t begin, std::uint64_t end) noexcept {
    return end > begin ? end - begin : 0;
  }
  struct Reading {
    std::uint64_t counter = 0;
    std::int64_t ns = 0;
    std::uint64_t uncertain = 0;  // ticks
  };
  static Reading read(const std::function<std::int64_t()>& now_ns,
                      const std::function<std::uint64_t()>& counter) noexcept;
  /// `rate`: ns a tick; it is used for `valid_ns` from there on.
  void publish(std::uint64_t counter, std::int64_t ns, double rate, double valid_ns) noexcept;

  /// Odd while the following are written; 0: they never were.
  alignas(64) std::atomic<std::uint32_t> version_{0};
  std::atomic<std::uint64_t> base_{0}, rate_{0}, valid_ticks_{0};
  std::atomic<std::int64_t> base_ns_{0};

  Reading latest_;            // calibrate() only, as what follows
  bool was_set_ = false;      // the clock, at the latest reading
  double measured_rate_ = 0;  // ns a tick, without what is made up for; not across a step of the clock
};

}  // namespace ridgeline::agent
