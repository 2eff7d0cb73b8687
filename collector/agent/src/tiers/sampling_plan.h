// How long a sampling window is, how fine, and how much memory it takes: pure arithmetic.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

/// Of the kernels' time, in shorter ones than windows of what varies are made for.
inline constexpr double kShareOfShortKernels = 0.5;

struct SamplingLimits {
  std::int64_t interval_ns = 0;    // 0: chosen
  std::uint64_t buffer_bytes = 0;  // 0: chosen
  /// Up to which further steps are worth more than a finer interval; 0: as where steps are alike. Where each launches
  /// other things, what one step tells is of few kinds of launch.
  std::int64_t wanted_interval_ns = 0;
};

/// How sampling started on this host so far: what the next window makes room for.
struct SamplingLead {
  std::int64_t start_ns = 0;  // that the start takes, in which the buffer may fill already
  std::uint32_t steps = 0;    // that run after it before the first sample comes
  std::int64_t spare_ns = 0;  // room of the buffer, for a start that takes longer than is known
};

struct SamplingPlan {
  std::uint32_t settle_steps = 0;   // at the phase's start, unmeasured
  std::uint32_t lead_steps = 0;     // after those, while sampling starts: unmeasured
  std::uint32_t sampled_steps = 0;  // after those; the rest of the phase is unmeasured again
  std::int64_t interval_ns = 0;
  std::uint64_t buffer_bytes = 0;
};

/// Four samples a kernel: `duration_ns` of all but the short ones. 0 if unknown.
std::int64_t coarse_interval_ns(std::int64_t duration_ns) noexcept;

/// From the device's end of a step until sampling is stopped.
inline constexpr std::int64_t kStopSlackNs = 15'000'000;

/// `phase_steps` > lead.steps; `step_ns` as the steps before took, 0: unknown; `memory_bytes` that may be taken at
/// most.
SamplingPlan plan_sampling(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                           const SamplingLimits& limits, const SamplingLead& lead = {}) noexcept;

/// Bytes that the plan takes in all: its buffer, and the image that as many samples are decoded into as it is
/// meant for.
std::uint64_t memory_of(const SamplingPlan& plan) noexcept;

/// Of the bytes that are available the program is left at least half.
constexpr bool fits_memory(std::uint64_t bytes, std::uint64_t available_bytes) noexcept {
  return bytes <= available_bytes / 2;
}

/// How long a window by time is to be, the one of this `number`, from 0. A window takes as long to set up and as many
/// samples to read as any other, beside the program: the first ones are fine, and later ones the coarser, and see the
/// more of the program for the same price, the longer its kernels take. `duration_ns`: of all but its short kernels,
/// 0 if unknown.
std::int64_t window_by_time_ns(std::uint32_t number, std::int64_t duration_ns) noexcept;

/// For how long the plan's hardware buffer takes samples without being more than three quarters full.
std::int64_t capacity_ns(const SamplingPlan& plan) noexcept;

}  // namespace ridgeline::agent
