// statistics.h: order statistics and moments of small samples.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/analyzer/utilisation.h"

namespace ridgeline::analyzer {

// q in 0..1, linear between order statistics; 0 for an empty sample. Takes a copy to sort.
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}
// Median of |x − median|, unscaled.
[[nodiscard]] double median_absolute_deviation(const std::vector<double>& values);
[[nodiscard]] double mean(const std::vector<double>& values);
// Of the sample (n − 1); empty below two values.
[[nodiscard]] std::optional<double> standard_deviation(const std::vector<double>& values);
// Mean and its standard error; empty for an empty sample.
[[nodiscard]] std::optional<Measured> measured_mean(const std::vector<double>& values, Tier tier);

}  // namespace ridgeline::analyzer
