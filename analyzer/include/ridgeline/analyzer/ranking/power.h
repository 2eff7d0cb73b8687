// power.h: what clock and power cost a step.
#pragma once

#include <cstdint>
#include <optional>

#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// What the step would be shorter by if the SMs ran at the device's highest clock. Formula: docs/metrics.md, "Clock and
/// power".
struct ClockCost {
  store::Id device_id = 0;
  double reference_hz = 0;  ///< the highest SM clock
  double clock_hz = 0;      ///< of the kernels, weighted by their time
  double cost_ns = 0;
  double low_ns = 0, high_ns = 0;  ///< 95 %
  double covered_ns = 0;           ///< kernel time, as it shows, whose clock is known
  std::int64_t steps = 0;  ///< whose clocks differed enough to tell; 0: by what bounds each kernel alone
  std::int64_t throttle_reasons =
      0;                     ///< that the driver gave in that time, as in store::ClockSample; 0: none
  bool steps_alike = false;  ///< there were steps enough to compare, and their clocks hardly differ
};

/// Joules of the device in one step.
struct StepEnergy {
  /// By the energy model of the ceilings, whole step; empty unless nearly all of the kernel time is known.
  std::optional<double> modelled_j;
  double modelled_error_j = 0;  ///< by the errors of the model's terms
  double covered_ratio = 0;     ///< of the kernel time
  /// Mean of the power samples over at least 2 s of timeline steps × the step; empty without.
  std::optional<double> measured_j;
  double measured_s = 0;  ///< of samples
};

struct StepPower {
  std::optional<ClockCost> clock;
  std::optional<StepEnergy> energy;
};

}  // namespace ridgeline::analyzer
