#include "ridgeline/analyzer/values/measured.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

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

Measured tier_difference(const Measured& t1, const Measured& t2) {
  Measured difference;
  difference.value = t1.value - t2.value;
  if (t1.error && t2.error) difference.error = std::hypot(*t1.error, *t2.error);
  difference.sample_count = std::min(t1.sample_count, t2.sample_count);
  difference.tier = t1.tier | t2.tier;
  return difference;
}

}  // namespace ridgeline::analyzer
