#include "ridgeline/comparison/sequential.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace ridgeline::comparison {
namespace {

// P(Z >= z) of the normal distribution. Boost's cdf() computes it in long double, which takes twenty times as long, and
// each look after the first asks for fifty thousand of them.
double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

// The z that a share `tail` of the normal distribution lies above.
double normal_bound(double tail) {
  return boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
}

double two_sided(double z) {
  return 2 * normal_tail(z);
}

// The density of the score S(t) = √t · Z(t) for paths that no look has stopped, on a grid of Simpson's rule.
struct Surviving {
  std::vector<double> at, density, weight;
};

constexpr int kPoints = 401;

Surviving grid(double bound) {
  Surviving result;
  const double step = 2 * bound / (kPoints - 1);
  for (int i = 0; i < kPoints; ++i) {
    result.at.push_back(-bound + step * i);
    result.weight.push_back(step / 3 * (i == 0 || i == kPoints - 1 ? 1 : i % 2 == 1 ? 4 : 2));
  }
  result.density.resize(kPoints);
  return result;
}

double normal_density(double x, double variance) {
  return std::exp(-x * x / (2 * variance)) / std::sqrt(2 * std::numbers::pi * variance);
}

// How likely each point of the grid is: its density over its stretch of Simpson's rule.
std::vector<double> masses(const Surviving& paths) {
  std::vector<double> result(paths.at.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = paths.weight[i] * paths.density[i];
  return result;
}

// Steps of more deviations have no probability that a sum of all others would show.
constexpr double kReach = 12;

// P(|S| >= bound at this look, and no look before stopped). Both sides are alike: one is asked for, and counts twice.
double crossing(const Surviving& before, const std::vector<double>& mass, double step_variance,
                double bound) {
  double sum = 0;
  const double deviation = std::sqrt(step_variance);
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double z = (bound - before.at[i]) / deviation;
    if (z < kReach) sum += mass[i] * normal_tail(z);
  }
  return 2 * sum;
}

// The density of S at x after a step from what survived before.
double arriving(const Surviving& before, const std::vector<double>& mass, double step_variance, double x) {
  double sum = 0;
  const double reach = kReach * std::sqrt(step_variance);
  const double exponent = -1 / (2 * step_variance);
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double step = x - before.at[i];
    if (std::abs(step) < reach) sum += mass[i] * std::exp(exponent * step * step);
  }
  return sum / std::sqrt(2 * std::numbers::pi * step_variance);
}

}  // namespace

double spent_error(Spending spending, double alpha, double fraction) {
  if (fraction >= 1) return alpha;
  if (spending == Spending::pocock) return alpha * std::log(1 + (std::numbers::e - 1) * fraction);
  // Half of the error on either side, as published tables have it.
  const double z = normal_bound(alpha / 4);
  return 2 * two_sided(z / std::sqrt(fraction));
}

std::vector<double> nominal_levels(Spending spending, double alpha, const std::vector<double>& fractions) {
  std::vector<double> levels;
  Surviving surviving;
  double spent = 0;
  double before = 0;
  for (const double fraction : fractions) {
    const double spend = spent_error(spending, alpha, fraction) - spent;
    spent += spend;
    const double step_variance = fraction - before;
    const std::vector<double> mass = masses(surviving);
    double z = 0;
    if (levels.empty()) {
      z = normal_bound(spend / 2);
    } else {
      double low = 0, high = 20;  // of Z; beyond 20 lies no probability that a double holds
      for (int i = 0; i < 60; ++i) {
        z = (low + high) / 2;
        (crossing(surviving, mass, step_variance, z * std::sqrt(fraction)) > spend ? low : high) = z;
      }
    }
    levels.push_back(two_sided(z));
    Surviving next = grid(z * std::sqrt(fraction));
    for (int j = 0; j <= kPoints / 2; ++j) {  // the other half is this one's mirror image
      const double x = next.at[j];
      next.density[j] =
          levels.size() == 1 ? normal_density(x, fraction) : arriving(surviving, mass, step_variance, x);
      next.density[kPoints - 1 - j] = next.density[j];
    }
    surviving = std::move(next);
    before = fraction;
  }
  return levels;
}

std::vector<double> nominal_levels(Spending spending, double alpha, int first, int last) {
  std::vector<double> fractions;
  for (int n = first; n <= last; ++n) fractions.push_back(static_cast<double>(n) / last);
  return nominal_levels(spending, alpha, fractions);
}

bool is_settled(const Comparison& comparison, const ComparisonOptions& all) {
  if (comparison.verdict == ComparisonVerdict::invalid_environment) return true;
  if (comparison.step().outcome == Outcome::inconclusive) return false;
  const double min_ns = std::max(all.kernel_ns, all.kernel_step_share * comparison.step().time.a);
  return std::none_of(comparison.kernels.begin(), comparison.kernels.end(), [&](const KernelChange& change) {
    const Change& time = change.adjusted;
    return change.outcome == Outcome::inconclusive &&
           time.adjusted_p.value_or(1) <= all.false_discovery_rate &&
           std::abs(time.ratio) >= all.kernel_ratio && std::abs(time.delta) >= min_ns;
  });
}

}  // namespace ridgeline::comparison
