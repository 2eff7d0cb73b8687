#include "statistics.h"

#include <cmath>

namespace ridgeline::analyzer {

std::optional<Measured> measured_mean(const std::vector<double>& values, Tier tier) {
  if (values.empty()) return std::nullopt;
  Measured result;
  result.value = mean(values);
  result.sample_count = static_cast<std::int64_t>(values.size());
  result.tier = tier;
  if (const auto deviation = standard_deviation(values)) {
    result.error = *deviation / std::sqrt(static_cast<double>(values.size()));
  }
  return result;
}

}  // namespace ridgeline::analyzer
