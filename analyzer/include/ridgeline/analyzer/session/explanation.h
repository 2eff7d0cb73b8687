// explanation.h: one kernel of a scope, with all that is known of it: what holds it, on what evidence, what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/ranking/occupancy.h"
#include "ridgeline/analyzer/session/analysis.h"

namespace ridgeline::analyzer {

/// How near the kernel is to one roof.
struct KernelLimit {
  Roof roof;
  Measured use;  ///< 0..1, over the launches that have it; without an error where only the ratio is known
  bool nearest = false;  ///< of the roofs that targets are about
  bool as_near = false;  ///< within BoundOptions::tie_ratio of the nearest, or above it
  bool bounds = false;   ///< it bounds most of the kernel's time
};

/// Launches of one grid, block, registers and shared memory.
struct LaunchConfiguration {
  store::Dim3 grid, block;
  std::optional<store::Dim3> cluster;
  std::int64_t registers_per_thread = 0;
  std::int64_t static_smem_bytes = 0;
  std::int64_t dynamic_smem_bytes = 0;
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;
  std::optional<double> waves;  ///< blocks ÷ what fits on the device at once
  std::optional<double>
      idle_ratio;  ///< of the last wave, places without a block; below one wave: SMs without one
  std::optional<double> occupancy_ratio;  ///< theoretical
  std::optional<OccupancyLimiter> occupancy_limiter;
};

/// How the launches' durations differ, ns; of launches with a time.
struct DurationSpread {
  std::int64_t calls = 0;
  double min_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, max_ns = 0;
  /// Of one launch from step to step: the mean over the launches of the standard deviation over the peers.
  std::optional<double> between_steps_ns;
};

/// Indices are into the Analysis that it was made of.
struct KernelExplanation {
  std::size_t row = 0;                              ///< of Analysis::ranking
  std::vector<KernelLimit> limits;                  ///< roofs that were measured, nearest first
  std::vector<LaunchConfiguration> configurations;  ///< most time first
  DurationSpread spread;
  std::vector<Advice> advice;           ///< cases about it or some of its launches, most first
  std::vector<Advice> small;            ///< likewise, of those that give less than is shown
  std::vector<AdviceUnknown> unknown;   ///< rules that cannot judge it
  std::optional<std::size_t> stalls;    ///< of Analysis::stalls.kernels; empty: no sample fell on it
  std::optional<std::size_t> roofline;  ///< of Analysis::roofline.points
};

/// `analysis` is by kernel, of that model, with its check, advice, stalls and roofline; `row` of its ranking.
[[nodiscard]] KernelExplanation explain_kernel(const Model& model, const Analysis& analysis, std::size_t row);

}  // namespace ridgeline::analyzer
