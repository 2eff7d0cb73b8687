/// statistics.h: order statistics and moments of small samples. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline {

/// q in 0..1, linear between order statistics; 0 for an empty sample. Takes a copy to sort.
[[nodiscard]] double quantile(std::vector<double> values, double q);
/// The same of values in rising order.
[[nodiscard]] double quantile_of_sorted(const std::vector<double>& values, double q);
[[nodiscard]] inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}
/// The middle one of an odd number of values, the larger of the two in the middle of an even number: always one of
/// the values. Value-initialised for an empty sample.
template <typename T>
[[nodiscard]] T upper_median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
/// Median of |x − median|, unscaled.
[[nodiscard]] double median_absolute_deviation(const std::vector<double>& values);
/// Of a normal sample: the standard deviation over the median absolute deviation.
inline constexpr double kDeviationPerMad = 1.4826;
/// Standard error of the median, by the median absolute deviation: single values may be far off. 0 for an empty sample.
[[nodiscard]] double error_of_median(double mad, std::size_t count);
[[nodiscard]] double error_of_median(const std::vector<double>& values);
[[nodiscard]] double mean(const std::vector<double>& values);
/// Of the sample (n − 1); empty below two values.
[[nodiscard]] std::optional<double> standard_deviation(const std::vector<double>& values);
/// Two-sided quantile of Student's distribution at 95 %; degrees of freedom below one count as one. Within 0.5 % from
/// four on, 0.9 % below.
[[nodiscard]] double student_95(double degrees_of_freedom);

}  // namespace ridgeline
