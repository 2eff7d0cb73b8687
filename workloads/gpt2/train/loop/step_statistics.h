// step_statistics.h: order statistics of step times.
#pragma once

#include <vector>

namespace ridgeline::gpt2 {

/// The q-quantile (0..1) with linear interpolation; NaN for no values.
double quantile(std::vector<double> values, double q);

}  // namespace ridgeline::gpt2
