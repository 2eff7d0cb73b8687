// sm_cycles.h: the cycles that a percentage "of peak over elapsed cycles" refers to: those of the average SM, in the
// replay step in which it was counted.
#pragma once

#include <optional>
#include <vector>

#include "tier_values.h"

namespace ridgeline::analyzer {

/// Cycles that passed while a launch ran in one replay step.
struct StepCycles {
  /// Of the average SM, by that step's own counters: sm__cycles_elapsed.avg, active cycles ÷ the share of cycles
  /// active, or the peak rate of a unit that each SM has once, whose peak a cycle is a power of two.
  std::optional<double> sm;
  std::optional<double> gpc;  ///< gpc__cycles_elapsed.max, the slowest cluster's: up to 2 % more
};

/// `device` may be null: then a peak rate says nothing, and no clock is too high.
[[nodiscard]] StepCycles cycles_of(const TierRow& row, const store::Device* device);

/// SM cycles ÷ GPC cycles of one launch, over the steps that count both: a property of the launch, because its
/// clusters do not all start and end with it.
struct Normalisation {
  double ratio = 1;
  double deviation = 0;  ///< standard deviation over those steps; 0 for one
  bool known = false;    ///< false: no step counts both, and the two are taken to be equal
};
[[nodiscard]] Normalisation normalisation_of(const std::vector<StepCycles>& steps);

}  // namespace ridgeline::analyzer
