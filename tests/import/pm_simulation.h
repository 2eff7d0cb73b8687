// A device that runs steps of kernels with known work, sampled at an interval: what attribution must find
// again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "attribution/pm_attribution.h"

namespace ridgeline::import::testing {

/// Work of a kernel over its time: nothing for idle_ns, up to the plateau over ramp_ns, a linear tail of
/// tail_ns at its end. Amounts are bytes.
struct SimulatedKernel {
  std::uint32_t family = 0;
  double duration_ns = 0;
  double bytes_per_ns = 0;  // of the plateau
  double idle_ns = 700;
  double ramp_ns = 1000;
  double tail_ns = 1000;
  double wave = 0;  // the plateau's relative swing, of 11 us period

  [[nodiscard]] double rate(double at_ns) const {
    if (at_ns < idle_ns || at_ns > duration_ns) return 0;
    double height = 1 + wave * std::sin(at_ns / 11'000 * 2 * M_PI);
    if (at_ns < idle_ns + ramp_ns) height *= (at_ns - idle_ns) / ramp_ns;
    if (at_ns > duration_ns - tail_ns) height *= (duration_ns - at_ns) / tail_ns;
    return height * bytes_per_ns;
  }
  [[nodiscard]] double bytes() const {
    double sum = 0;
    for (double t = 5; t < duration_ns; t += 10) sum += 10 * rate(t);
    return sum;
  }
};

struct SimulatedWindow {
  std::vector<PmActivity> activities;
  std::vector<double> truth;  // bytes of each activity
  PmSamples samples;
  std::vector<double> amounts;  // bytes in each sample
  std::vector<double> active;   // share of the time in which kernels worked
};

struct SimulationOptions {
  int steps = 4;
  double interval_ns = 5000;
  double gap_ns = 1000;  // between kernels
  double jitter = 0.01;  // of durations, relative standard deviation
  double noise = 0.01;   // of a sample, relative standard deviation
  double shift_ns = 0;   // the samples' clock is that much behind
  unsigned seed = 1;
};

inline SimulatedWindow simulate(const std::vector<SimulatedKernel>& step, const SimulationOptions& options) {
  std::mt19937 random(options.seed);
  std::normal_distribution<double> normal;
  SimulatedWindow window;
  constexpr double kTick = 25;
  std::vector<double> bytes, busy;  // by tick
  const double origin = 1'000'000;
  double now = 30'000;
  const auto grow = [&](double until) {
    const auto ticks = static_cast<std::size_t>(until / kTick) + 1;
    if (bytes.size() < ticks) bytes.resize(ticks, 0), busy.resize(ticks, 0);
  };
  for (int s = 0; s < options.steps; ++s) {
    for (std::uint32_t k = 0; k < step.size(); ++k) {
      SimulatedKernel kernel = step[k];
      const double stretch = std::max(0.5, 1 + options.jitter * normal(random));
      kernel.duration_ns *= stretch;
      kernel.bytes_per_ns /= stretch;  // the same work
      now = std::round(now);
      grow(now + kernel.duration_ns);
      double total = 0;
      for (double t = kTick / 2; t < kernel.duration_ns; t += kTick) {
        const double amount = kTick * kernel.rate(t);
        total += amount;
        const auto tick = static_cast<std::size_t>((now + t) / kTick);
        bytes[tick] += amount;
        busy[tick] = t >= kernel.idle_ns ? 1 : 0;
      }
      window.activities.push_back({static_cast<std::int64_t>(origin + now),
                                   static_cast<std::int64_t>(origin + now + kernel.duration_ns), k,
                                   kernel.family});
      window.truth.push_back(total);
      now += kernel.duration_ns + options.gap_ns * (1 + 0.3 * std::abs(normal(random)));
    }
    now += 3000 * std::abs(normal(random));
  }
  grow(now + 40'000);
  std::uniform_real_distribution<double> phase(0, options.interval_ns);
  for (double t = phase(random); t + options.interval_ns < now + 30'000; t += options.interval_ns) {
    double sum = 0, on = 0;
    for (double at = t; at < t + options.interval_ns; at += kTick) {
      sum += bytes[static_cast<std::size_t>(at / kTick)];
      on += busy[static_cast<std::size_t>(at / kTick)] * kTick;
    }
    window.samples.start_ns.push_back(static_cast<std::int64_t>(origin + t - options.shift_ns));
    window.samples.end_ns.push_back(
        static_cast<std::int64_t>(origin + t + options.interval_ns - options.shift_ns));
    window.amounts.push_back(std::max(0.0, sum * (1 + options.noise * normal(random))));
    window.active.push_back(on / options.interval_ns);
  }
  return window;
}

}  // namespace ridgeline::import::testing
