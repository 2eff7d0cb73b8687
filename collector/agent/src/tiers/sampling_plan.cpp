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
// As measured, with the least margin that lets nothing be lost.
constexpr std::uint64_t kFullBytesPerSample = 15'000;
constexpr std::uint64_t kImageBytesPerSample = 68 * 1024;
// Decoding a sample takes 40 to 56 us, in one call that cannot be broken off: a program that ends meanwhile
// waits for it, which is not to take it a second. One step of 57 ms at 6.5 us.
constexpr std::uint64_t kMaxSamples = 14'000;
constexpr std::int64_t kFinestIntervalNs = 2000;
// Where the buffer has spare room, which a slow start may fill: 30,000 samples more take two seconds to read.
constexpr std::int64_t kFinestWithSpareNs = 4000;
// Coarser than this, a window of fewer steps is worth more than one of many.
constexpr std::int64_t kWantedIntervalNs = 6500;
constexpr std::int64_t kCoarsestIntervalNs = 1'000'000;
constexpr std::uint64_t kSmallestBuffer = 64ull << 20;
constexpr std::int64_t kMillisecond = 1'000'000;
// By time: 6.5 us a sample, as is wanted; while one lasts no step is noted.
constexpr std::int64_t kFirstWindowNs = 90 * kMillisecond, kLongestWindowNs = 1000 * kMillisecond;

}  // namespace

SamplingPlan plan_sampling(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                           const SamplingLimits& limits, const SamplingLead& lead) noexcept {
  SamplingPlan plan;
  plan.lead_steps = std::min(lead.steps, phase_steps - 1);
  phase_steps -= plan.lead_steps;
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
  const auto window_ns = [&](std::uint32_t steps) {
    return lead.start_ns + step_ns * (std::int64_t{steps} + plan.lead_steps) + step_ns / 4 + kStopSlackNs;
  };
  const std::int64_t finest_ns = lead.spare_ns > 0 ? kFinestWithSpareNs : kFinestIntervalNs;
  const auto interval_for = [&](std::uint32_t steps) {
    const std::int64_t finest = (window_ns(steps) + max_samples - 1) / max_samples;
    return std::clamp((finest + 499) / 500 * 500, finest_ns, kCoarsestIntervalNs);
  };
  const std::int64_t usual_ns = std::max(kWantedIntervalNs, limits.wanted_interval_ns);
  // What starting takes is there whatever the steps are: those beside it cost little more.
  const std::int64_t wanted_ns =
      lead.start_ns > 0 || plan.lead_steps > 0 ? std::max(usual_ns, interval_for(1) * 3 / 2) : usual_ns;
  if (limits.interval_ns > 0) {
    plan.interval_ns = limits.interval_ns;
    while (plan.sampled_steps > 1 && window_ns(plan.sampled_steps) / plan.interval_ns > max_samples)
      --plan.sampled_steps;
  } else {
    while (plan.sampled_steps > 1 && interval_for(plan.sampled_steps) > wanted_ns) --plan.sampled_steps;
    plan.interval_ns = interval_for(plan.sampled_steps);
  }
  const std::int64_t samples = std::min(window_ns(plan.sampled_steps) / plan.interval_ns + 1, max_samples);
  plan.buffer_bytes =
      limits.buffer_bytes > 0
          ? std::max(limits.buffer_bytes, kSmallestBuffer)
          : std::max(static_cast<std::uint64_t>(samples) * kBufferBytesPerSample * kBufferTimes,
                     kSmallestBuffer);
  if (limits.buffer_bytes == 0 && lead.spare_ns > 0)
    plan.buffer_bytes +=
        std::min(static_cast<std::uint64_t>(lead.spare_ns / plan.interval_ns) * kFullBytesPerSample * 4 / 3,
                 memory_bytes / 4);
  return plan;
}

std::uint64_t memory_of(const SamplingPlan& plan) noexcept {
  return plan.buffer_bytes +
         plan.buffer_bytes / (kBufferTimes * kBufferBytesPerSample) * kImageBytesPerSample;
}

std::int64_t window_by_time_ns(std::uint32_t number, std::int64_t duration_ns) noexcept {
  if (number == 0) return kFirstWindowNs;
  const std::int64_t min_ns = kFirstWindowNs * std::min<std::int64_t>(std::int64_t{number} + 1, 3);
  return std::clamp(coarse_interval_ns(duration_ns) * std::int64_t{kMaxSamples}, min_ns, kLongestWindowNs);
}

std::int64_t coarse_interval_ns(std::int64_t duration_ns) noexcept {
  return std::clamp<std::int64_t>(duration_ns / 4, 0, kLongestWindowNs / std::int64_t{kMaxSamples});
}

std::int64_t capacity_ns(const SamplingPlan& plan) noexcept {
  return static_cast<std::int64_t>(plan.buffer_bytes / kFullBytesPerSample * 3 / 4) * plan.interval_ns;
}

}  // namespace ridgeline::agent
