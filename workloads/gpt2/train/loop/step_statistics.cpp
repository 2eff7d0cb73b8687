#include "gpt2/train/loop/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridgeline::gpt2 {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - std::floor(at)) * (values[high] - values[low]);
}

}  // namespace ridgeline::gpt2
