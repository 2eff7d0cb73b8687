#include "launch_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <string_view>
#include <utility>

namespace ridgeline::agent {
namespace {

// Of several readings the one between whose two counts the least time passed.
constexpr int kTries = 5;
// Readings nearer to each other say too little of the rate.
constexpr std::int64_t kMinApartNs = 20'000'000;
// What is known is used for so long.
constexpr double kValidNs = 1e9;
// What the clock went wrong by is made up for in so long: about the time to the next reading.
constexpr double kMakeUpNs = 100e6;
// And used no longer than twice that if it was more than this: beyond, as much would go wrong the other way.
constexpr double kLittleWrongNs = 100;
// Of more than that the clock was set.
constexpr double kSetNs = 50'000;
// A reading during which the thread was away.
constexpr double kMaxUncertainNs = 2'000;

}  // namespace

bool LaunchClock::is_steady() noexcept {
  if (count() == 0) return false;
  // The kernel has looked at it: it is what its own clock goes by, in a virtual machine too.
  char text[32] = {};
  const int file =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text, sizeof text - 1);
  close(file);
  const std::string_view source(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  return source == "tsc\n" || source == "kvm-clock\n";
}

LaunchClock::Reading LaunchClock::read(const std::function<std::int64_t()>& now_ns,
                                       const std::function<std::uint64_t()>& counter) noexcept {
  Reading best{0, 0, UINT64_MAX};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = counter();
    const std::int64_t ns = now_ns();
    const std::uint64_t after = counter();
    if (after - before < best.uncertain) best = {before + (after - before) / 2, ns, after - before};
  }
  return best;
}

void LaunchClock::publish(std::uint64_t counter, std::int64_t ns, double rate, double valid_ns) noexcept {
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  base_.store(counter, std::memory_order_relaxed);
  base_ns_.store(ns, std::memory_order_relaxed);
  rate_.store(static_cast<std::uint64_t>(std::ldexp(rate, kRateBits)), std::memory_order_relaxed);
  valid_ticks_.store(static_cast<std::uint64_t>(valid_ns / rate), std::memory_order_relaxed);
  version_.store(version + 2, std::memory_order_release);
}

void LaunchClock::calibrate(const std::function<std::int64_t()>& now_ns,
                            const std::function<std::uint64_t()>& counter) noexcept try {
  const Reading reading = read(now_ns, counter);
  const Reading before = latest_;
  if (before.counter == 0 || reading.ns < before.ns || reading.counter <= before.counter) {
    latest_ = reading;
    return;
  }
  if (reading.ns - before.ns < kMinApartNs) return;
  double rate =
      static_cast<double>(reading.ns - before.ns) / static_cast<double>(reading.counter - before.counter);
  if (static_cast<double>(reading.uncertain) * rate > kMaxUncertainNs) return;  // the next one, then
  latest_ = reading;
  if (!has_rate()) {
    measured_rate_ = rate;
    return publish(reading.counter, reading.ns, rate, kValidNs);
  }
  const std::uint64_t known = rate_.load(std::memory_order_relaxed);
  const std::int64_t shown_ns = base_ns_.load(std::memory_order_relaxed) +
                                at_rate(reading.counter - base_.load(std::memory_order_relaxed), known);
  const double wrong_ns = static_cast<double>(reading.ns - shown_ns);
  if (std::abs(wrong_ns) > kSetNs) {
    // What was measured across the step is no rate. Of a second one in a row it is the known rate that is wrong.
    const bool again = std::exchange(was_set_, true);
    if (again) measured_rate_ = rate;
    return publish(reading.counter, reading.ns, measured_rate_, kValidNs);
  }
  was_set_ = false;
  measured_rate_ = rate;
  if (at(reading.counter) == 0) return publish(reading.counter, reading.ns, rate, kValidNs);
  rate *= 1 + wrong_ns / kMakeUpNs;
  publish(reading.counter, shown_ns, rate, std::abs(wrong_ns) > kLittleWrongNs ? 2 * kMakeUpNs : kValidNs);
} catch (...) {  // the functions throw nothing
}

}  // namespace ridgeline::agent
