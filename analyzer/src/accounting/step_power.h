// step_power.h: what the clock costs a step and its kernels, and the joules that they take.
#pragma once

#include "ridgeline/analyzer/execution/exposure.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// What they are made from; of one scope.
struct PowerInput {
  const Model& model;
  const StepAnalysis& steps;
  const UtilisationAnalysis& utilisation;
  const Exposure& exposure;
  const PeakPolicy& peaks;
};

/// Fills in Ranking::power and of each row what the clock costs it and its joules. What is not known stays empty.
void add_power(const PowerInput& input, Ranking& ranking);

/// How far a time follows the clock: 1 as cycles do, 0 not at all; and how sure that is.
struct ClockShare {
  double beta = 0;
  double error = 0;  ///< standard deviation
};
/// One step: its clock and the time of the kernels in it.
struct ClockPoint {
  double clock_hz = 0;
  double time_ns = 0;
};
/// Least squares of time on 1/clock, weighed against the prior by their errors. Fewer than six points, or clocks that
/// differ by less than half a per cent, say nothing: the prior, and `told` is false.
struct ToldShare : ClockShare {
  bool told = false;
};
[[nodiscard]] ToldShare clock_share(const std::vector<ClockPoint>& points, const ClockShare& prior);

}  // namespace ridgeline::analyzer
