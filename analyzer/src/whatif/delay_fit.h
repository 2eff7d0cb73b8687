// delay_fit.h: lines through the lengths of steps with delays, by robust least squares.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/whatif/interventions.h"

namespace ridgeline::analyzer {

/// length = base + slope · delay + drift · number of the step.
struct DelayLine {
  double slope = 0;
  double standard_error = 0;
  double error_sum = 0;         // of weighted squares of what is left
  double free = 0;              // weights that are left over: degrees of freedom
  std::vector<double> weights;  // of the steps
};

/// `delays`: what stands for the delay of each step. `weights`: kept as they are; empty: found, by Huber's rule. Empty
/// if the delays do not differ, or for fewer than four steps.
[[nodiscard]] std::optional<DelayLine> fit_line(const std::vector<DelayedStep>& steps,
                                                const std::vector<double>& delays,
                                                const std::vector<double>& weights = {});

}  // namespace ridgeline::analyzer
