// How long a sampling window is, how fine, and how much memory it takes: pure arithmetic.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

struct SamplingLimits {
  std::int64_t interval_ns = 0;    // 0: chosen
  std::uint64_t buffer_bytes = 0;  // 0: chosen
};

struct SamplingPlan {
  std::uint32_t settle_steps = 0;   // at the phase's start, unmeasured
  std::uint32_t sampled_steps = 0;  // after those; the rest of the phase is unmeasured again
  std::int64_t interval_ns = 0;
  std::uint64_t buffer_bytes = 0;
};

/// From the device's end of a step until sampling is stopped.
inline constexpr std::int64_t kStopSlackNs = 15'000'000;

/// `phase_steps` >= 1; `step_ns` as the steps before took, 0: unknown; `memory_bytes` that may be taken at
/// most.
SamplingPlan plan_sampling(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                           const SamplingLimits& limits) noexcept;

}  // namespace ridgeline::agent
