#include "ridgeline/base/statistics.h"

#include <cmath>

namespace ridgeline {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, q);
}

double quantile_of_sorted(const std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return values[below] + (values[above] - values[below]) * fraction;
}

double median_absolute_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - middle));
  return median(std::move(distances));
}

double error_of_median(double mad, std::size_t count) {
  // Of a normal sample the median's standard error is the mean's times this.
  constexpr double kMedianErrorPerMeanError = 1.2533;
  if (count == 0) return 0;
  return kMedianErrorPerMeanError * kDeviationPerMad * mad / std::sqrt(static_cast<double>(count));
}

double error_of_median(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return error_of_median(median_absolute_deviation(values), values.size());
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double student_95(double degrees_of_freedom) {
  // Cornish and Fisher's expansion about the normal quantile (Abramowitz and Stegun, 26.7.5).
  constexpr double kZ = 1.959964;
  const double n = std::max(degrees_of_freedom, 1.0);
  const double z3 = kZ * kZ * kZ, z5 = z3 * kZ * kZ, z7 = z5 * kZ * kZ;
  const double expansion = kZ + (z3 + kZ) / (4 * n) + (5 * z5 + 16 * z3 + 3 * kZ) / (96 * n * n) +
                           (3 * z7 + 19 * z5 + 17 * z3 - 15 * kZ) / (384 * n * n * n);
  // It is too low by a quarter at one degree of freedom and by 3 % at two. What it lacks falls as this power of them.
  constexpr double kEnough = 3, kPower = -3.3, kLacksAtOne = 0.3085;
  if (n >= kEnough) return expansion;
  const double at_enough = std::pow(kEnough, kPower);
  return expansion * (1 + kLacksAtOne * (std::pow(n, kPower) - at_enough) / (1 - at_enough));
}

}  // namespace ridgeline
