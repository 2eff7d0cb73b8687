#include "tiers/sampling_plan.h"

#include <algorithm>

namespace ridgeline::agent {
namespace {

// Measured on GH100 with the built-in metrics: a sample takes 13 KB of the hardware buffer, which is pinned
// host memory, and 68 KB of the image that CUPTI decodes into. A buffer that runs full is worthless, CUPTI
// then gives none of its samples: it is sized with a margin and never let run full.
constexpr std::uint64_t kBufferBytesPerSample = 16 * 1024;
// The buffer is twice what the window needs, and the window ends when it is three quarters full: a machine with much to
// do tells late that the device is through, and stops late.
constexpr std::uint64_t kBufferTimes = 2;
constexpr std::uint64_t kImageBytesPerSample = 68 * 1024;
// Decoding a sample takes 40 to 56 us, in one call that cannot be broken off: a program that ends meanwhile
// waits for it, which is not to take it a second. One step of 57 ms at 6.5 us.
constexpr std::uint64_t kMaxSamples = 14'000;
constexpr std::int64_t kFinestIntervalNs = 2000;
// Coarser than this, a window of fewer steps is worth more than one of many.
constexpr std::int64_t kWantedIntervalNs = 6500;
constexpr std::int64_t kCoarsestIntervalNs = 1'000'000;
constexpr std::uint64_t kSmallestBuffer = 64ull << 20;
constexpr std::int64_t kMillisecond = 1'000'000;

}  // namespace

SamplingPlan plan_sampling(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                           const SamplingLimits& limits) noexcept {
  SamplingPlan plan;
  plan.settle_steps = phase_steps >= 4 ? 2 : phase_steps >= 2 ? 1 : 0;
  plan.sampled_steps = phase_steps - plan.settle_steps;
  if (step_ns <= 0) step_ns = 100 * kMillisecond;
  step_ns = std::min(step_ns, 3600 * 1000 * kMillisecond);
  const std::uint64_t fit =
      limits.buffer_bytes > 0 ? limits.buffer_bytes / kBufferBytesPerSample
                              : memory_bytes / (kBufferTimes * kBufferBytesPerSample + kImageBytesPerSample);
  const auto max_samples =
      static_cast<std::int64_t>(std::clamp(fit, kSmallestBuffer / kBufferBytesPerSample, kMaxSamples));
  // A quarter of a step more, since steps may take longer than usual.
  const auto window_ns = [&](std::uint32_t steps) { return step_ns * steps + step_ns / 4 + kStopSlackNs; };
  const auto interval_for = [&](std::uint32_t steps) {
    const std::int64_t finest = (window_ns(steps) + max_samples - 1) / max_samples;
    return std::clamp((finest + 499) / 500 * 500, kFinestIntervalNs, kCoarsestIntervalNs);
  };
  if (limits.interval_ns > 0) {
    plan.interval_ns = limits.interval_ns;
    while (plan.sampled_steps > 1 && window_ns(plan.sampled_steps) / plan.interval_ns > max_samples)
      --plan.sampled_steps;
  } else {
    while (plan.sampled_steps > 1 && interval_for(plan.sampled_steps) > kWantedIntervalNs)
      --plan.sampled_steps;
    plan.interval_ns = interval_for(plan.sampled_steps);
  }
  const std::int64_t samples = std::min(window_ns(plan.sampled_steps) / plan.interval_ns + 1, max_samples);
  plan.buffer_bytes =
      limits.buffer_bytes > 0
          ? std::max(limits.buffer_bytes, kSmallestBuffer)
          : std::max(static_cast<std::uint64_t>(samples) * kBufferBytesPerSample * kBufferTimes,
                     kSmallestBuffer);
  return plan;
}

}  // namespace ridgeline::agent
