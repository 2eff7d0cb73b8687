#include "statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// P(T > t).
double upper_tail(double t, double degrees_of_freedom) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  if (!std::isfinite(degrees_of_freedom))
    return boost::math::cdf(boost::math::complement(boost::math::normal(), t));
  return boost::math::cdf(boost::math::complement(boost::math::students_t(degrees_of_freedom), t));
}

// t with P(T > t) = tail.
double upper_quantile(double tail, double degrees_of_freedom) {
  if (!std::isfinite(degrees_of_freedom))
    return boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees_of_freedom), tail));
}

double statistic(double difference, double error) {
  if (error > 0) return difference / error;
  if (difference == 0) return 0;
  return difference > 0 ? kInfinity : -kInfinity;
}

// The x with trigamma(x) = y, by limma's Newton steps, which never overshoot (Smyth 2004, appendix).
double inverse_trigamma(double y) {
  if (y > 1e7) return 1 / std::sqrt(y);
  if (y < 1e-6) return 1 / y;
  double x = 0.5 + 1 / y;
  for (int i = 0; i < 50; ++i) {
    const double value = boost::math::trigamma(x);
    const double step = value * (1 - value / y) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-8) break;
  }
  return x;
}

double sum_of_squares(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

}  // namespace

double Sample::standard_error() const {
  return std::sqrt(variance * scale);
}

std::optional<Sample> paired_sample(const std::vector<double>& differences) {
  if (differences.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(differences.size());
  return Sample{mean(differences), sum_of_squares(differences) / (n - 1), n - 1, 1 / n};
}

std::optional<Sample> two_samples(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || second.size() < 2) return std::nullopt;
  const auto n1 = static_cast<double>(first.size());
  const auto n2 = static_cast<double>(second.size());
  const double freedom = n1 + n2 - 2;
  return Sample{mean(second) - mean(first), (sum_of_squares(first) + sum_of_squares(second)) / freedom,
                freedom, 1 / n1 + 1 / n2};
}

std::optional<VariancePrior> fit_variance_prior(const std::vector<double>& variances,
                                                double degrees_of_freedom) {
  if (variances.size() < 3 || degrees_of_freedom <= 0) return std::nullopt;
  const double middle = median(variances);
  if (middle <= 0) return std::nullopt;
  const double half = degrees_of_freedom / 2;
  std::vector<double> logs;
  for (const double variance : variances)
    logs.push_back(std::log(std::max(variance, 1e-5 * middle)) - boost::math::digamma(half) + std::log(half));
  const double centre = mean(logs);
  const double spread =
      sum_of_squares(logs) / static_cast<double>(logs.size() - 1) - boost::math::trigamma(half);
  // The pooled variance, as limma takes it since 3.17.
  if (spread <= 0) return VariancePrior{mean(variances), kInfinity};
  const double prior = 2 * inverse_trigamma(spread);
  return VariancePrior{std::exp(centre + boost::math::digamma(prior / 2) - std::log(prior / 2)), prior};
}

Sample moderated(const Sample& sample, const VariancePrior& prior) {
  Sample result = sample;
  result.degrees_of_freedom += prior.degrees_of_freedom;
  result.variance =
      std::isfinite(prior.degrees_of_freedom)
          ? (prior.degrees_of_freedom * prior.variance + sample.degrees_of_freedom * sample.variance) /
                result.degrees_of_freedom
          : prior.variance;
  return result;
}

double p_value(const Sample& sample) {
  return 2 * upper_tail(std::abs(statistic(sample.mean, sample.standard_error())), sample.degrees_of_freedom);
}

double p_value_beyond(const Sample& sample, double threshold) {
  const double error = sample.standard_error();
  const double size = std::abs(sample.mean);
  return std::min(1.0, upper_tail(statistic(size - threshold, error), sample.degrees_of_freedom) +
                           upper_tail(statistic(size + threshold, error), sample.degrees_of_freedom));
}

double p_value_within(const Sample& sample, double margin) {
  const double error = sample.standard_error();
  return upper_tail(statistic(margin - std::abs(sample.mean), error), sample.degrees_of_freedom);
}

double half_width(const Sample& sample, double alpha) {
  return upper_quantile(alpha / 2, sample.degrees_of_freedom) * sample.standard_error();
}

std::vector<double> adjusted_p_values(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return p_values[x] > p_values[y]; });
  std::vector<double> adjusted(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double least = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::min(least, p_values[order[i]] * count / (count - static_cast<double>(i)));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

std::vector<double> holm_p_values(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return p_values[x] < p_values[y]; });
  std::vector<double> adjusted(p_values.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, p_values[order[i]] * static_cast<double>(order.size() - i));
    adjusted[order[i]] = std::min(1.0, most);
  }
  return adjusted;
}

double detectable_mean(const Sample& sample, double alpha, double power) {
  return (upper_quantile(alpha / 2, sample.degrees_of_freedom) +
          upper_quantile(1 - power, sample.degrees_of_freedom)) *
         sample.standard_error();
}

std::optional<std::int64_t> pairs_needed(double variance, double prior_degrees_of_freedom, double margin,
                                         double alpha, double power) {
  for (std::int64_t n = 2; n <= 1000; ++n) {
    const auto count = static_cast<double>(n);
    if (detectable_mean({0, variance, count - 1 + prior_degrees_of_freedom, 1 / count}, alpha, power) <=
        margin)
      return n;
  }
  return std::nullopt;
}

bool has_two_modes(std::vector<double> values, double least) {
  if (values.size() < 4) return false;
  std::sort(values.begin(), values.end());
  std::size_t split = 0;
  double gap = 0;
  for (std::size_t i = 2; i + 2 <= values.size(); ++i) {
    if (values[i] - values[i - 1] > gap) {
      gap = values[i] - values[i - 1];
      split = i;
    }
  }
  if (split == 0) return false;
  const double width = std::max(values[split - 1] - values.front(), values.back() - values[split]);
  return gap > least && gap > 6 * width;
}

std::optional<double> weighted_median(std::vector<std::pair<double, double>> values_and_weights) {
  std::sort(values_and_weights.begin(), values_and_weights.end());
  double all = 0;
  for (const auto& [value, weight] : values_and_weights) all += weight;
  if (all <= 0) return std::nullopt;
  double sum = 0;
  for (const auto& [value, weight] : values_and_weights) {
    sum += weight;
    if (sum >= all / 2) return value;
  }
  return values_and_weights.back().first;
}

}  // namespace ridgeline::comparison
