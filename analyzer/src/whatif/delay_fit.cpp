#include "whatif/delay_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::size_t kMinLineSteps = 4;
constexpr double kHuber = 1.345;  // 95 % as good as plain least squares where errors are normal
constexpr int kRounds = 20;
constexpr std::size_t kTerms = 3;  // base, delay, drift

using Row3 = std::array<double, kTerms>;
using Matrix3 = std::array<Row3, kTerms>;

// By Gauss and Jordan, with the largest pivot; empty if the rows depend on each other.
std::optional<Matrix3> inverse(Matrix3 a) {
  Matrix3 b{Row3{1, 0, 0}, Row3{0, 1, 0}, Row3{0, 0, 1}};
  for (std::size_t i = 0; i < kTerms; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < kTerms; ++r) {
      if (std::fabs(a[r][i]) > std::fabs(a[pivot][i])) pivot = r;
    }
    if (std::fabs(a[pivot][i]) < 1e-12) return std::nullopt;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    const double scale = a[i][i];
    for (std::size_t c = 0; c < kTerms; ++c) {
      a[i][c] /= scale;
      b[i][c] /= scale;
    }
    for (std::size_t r = 0; r < kTerms; ++r) {
      const double factor = a[r][i];
      if (r == i || factor == 0) continue;
      for (std::size_t c = 0; c < kTerms; ++c) {
        a[r][c] -= factor * a[i][c];
        b[r][c] -= factor * b[i][c];
      }
    }
  }
  return b;
}

// Columns of about one size, so that the normal equations are well conditioned.
struct Design {
  std::vector<Row3> rows;
  std::vector<double> lengths;
  double delay_scale = 1;
};

Design design_of(const std::vector<DelayedStep>& steps, const std::vector<double>& delays) {
  Design design;
  double max_delay = 0;
  for (const double delay : delays) max_delay = std::max(max_delay, std::fabs(delay));
  if (max_delay > 0) design.delay_scale = max_delay;
  const auto [first, last] = std::minmax_element(
      steps.begin(), steps.end(),
      [](const DelayedStep& a, const DelayedStep& b) { return a.step_index < b.step_index; });
  const double from = static_cast<double>(first->step_index);
  const double span = std::max(static_cast<double>(last->step_index) - from, 1.0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double place = (static_cast<double>(steps[i].step_index) - from) / span - 0.5;
    design.rows.push_back({1, delays[i] / design.delay_scale, place});
    design.lengths.push_back(steps[i].length_ns);
  }
  return design;
}

struct Solution {
  Row3 terms{};
  Matrix3 inverse{};
  std::vector<double> residuals;
};

std::optional<Solution> solve(const Design& design, const std::vector<double>& weights) {
  Matrix3 normal{};
  Row3 right{};
  for (std::size_t i = 0; i < design.rows.size(); ++i) {
    for (std::size_t r = 0; r < kTerms; ++r) {
      for (std::size_t c = 0; c < kTerms; ++c)
        normal[r][c] += weights[i] * design.rows[i][r] * design.rows[i][c];
      right[r] += weights[i] * design.rows[i][r] * design.lengths[i];
    }
  }
  const auto inverted = inverse(normal);
  if (!inverted) return std::nullopt;
  Solution solution;
  solution.inverse = *inverted;
  for (std::size_t r = 0; r < kTerms; ++r) {
    for (std::size_t c = 0; c < kTerms; ++c) solution.terms[r] += (*inverted)[r][c] * right[c];
  }
  for (std::size_t i = 0; i < design.rows.size(); ++i) {
    double fitted = 0;
    for (std::size_t c = 0; c < kTerms; ++c) fitted += solution.terms[c] * design.rows[i][c];
    solution.residuals.push_back(design.lengths[i] - fitted);
  }
  return solution;
}

// Huber's: full weight up to kHuber standard deviations, less the farther beyond.
std::vector<double> weights_of(const std::vector<double>& residuals) {
  std::vector<double> sizes;
  for (const double residual : residuals) sizes.push_back(std::fabs(residual));
  const double limit = kHuber * kDeviationPerMad * median(sizes);
  std::vector<double> weights;
  for (const double size : sizes) weights.push_back(size <= limit || size <= 0 ? 1 : limit / size);
  return weights;
}

}  // namespace

std::optional<DelayLine> fit_line(const std::vector<DelayedStep>& steps, const std::vector<double>& delays,
                                  const std::vector<double>& weights) {
  if (steps.size() < kMinLineSteps) return std::nullopt;
  const Design design = design_of(steps, delays);
  DelayLine line;
  line.weights = weights.empty() ? std::vector<double>(steps.size(), 1.0) : weights;
  auto solution = solve(design, line.weights);
  for (int round = 0; solution && weights.empty() && round < kRounds; ++round) {
    line.weights = weights_of(solution->residuals);
    solution = solve(design, line.weights);
  }
  if (!solution) return std::nullopt;
  double weight = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    weight += line.weights[i];
    line.error_sum += line.weights[i] * solution->residuals[i] * solution->residuals[i];
  }
  line.free = std::max(weight - static_cast<double>(kTerms), 1.0);
  line.slope = solution->terms[1] / design.delay_scale;
  line.standard_error =
      std::sqrt(line.error_sum / line.free * std::max(solution->inverse[1][1], 0.0)) / design.delay_scale;
  return line;
}

}  // namespace ridgeline::analyzer
