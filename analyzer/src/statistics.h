// statistics.h: values with their errors, from samples of one tier.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/analyzer/utilisation.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

/// Mean and its standard error; empty for an empty sample.
[[nodiscard]] std::optional<Measured> measured_mean(const std::vector<double>& values, Tier tier);

}  // namespace ridgeline::analyzer
