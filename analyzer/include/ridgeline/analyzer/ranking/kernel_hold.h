// kernel_hold.h: what holds the kernel of a row of a ranking: the roofs that it is near, how its launches fill the SMs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/ranking/occupancy.h"
#include "ridgeline/analyzer/ranking/ranking.h"

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
  /// Of the last wave, places without a block; below one wave: SMs without one. 0..1.
  std::optional<double> idle_ratio;
  std::optional<Occupancy> occupancy;  ///< theoretical, with all that limits it
};

struct KernelHold {
  std::vector<KernelLimit> limits;                  ///< roofs that were measured, nearest first
  std::vector<LaunchConfiguration> configurations;  ///< most time first
};

/// `row` is of a ranking of that utilisation, which is of that model.
[[nodiscard]] KernelHold kernel_hold(const Model& model, const UtilisationAnalysis& utilisation,
                                     const RankingRow& row);

}  // namespace ridgeline::analyzer
