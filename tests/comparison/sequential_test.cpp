#include "ridgeline/comparison/sequential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ridgeline::comparison {
namespace {

double two_sided(double z) {
  return std::erfc(z / std::sqrt(2.0));
}

const std::vector<double> kFifths = {0.2, 0.4, 0.6, 0.8, 1.0};

// Five equal looks at 0.05: tests/comparison/golden.py shows with SciPy that these boundaries spend what they should.
TEST(NominalLevels, AreThoseOfLanAndDeMets) {
  const std::vector<double> obrien_fleming = {4.8769, 3.3569, 2.6803, 2.2898, 2.0310};
  const std::vector<double> pocock = {2.4380, 2.4268, 2.4101, 2.3966, 2.3859};
  const auto first = nominal_levels(Spending::obrien_fleming, 0.05, kFifths);
  const auto second = nominal_levels(Spending::pocock, 0.05, kFifths);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(first[i] / two_sided(obrien_fleming[i]), 1, 2e-3) << i;
    EXPECT_NEAR(second[i] / two_sided(pocock[i]), 1, 2e-3) << i;
  }
}

TEST(NominalLevels, OneLookSpendsAll) {
  EXPECT_NEAR(nominal_levels(Spending::obrien_fleming, 0.05, {1.0}).at(0), 0.05, 1e-9);
  EXPECT_NEAR(nominal_levels(Spending::obrien_fleming, 0.01, 5, 5).at(0), 0.01, 1e-9);
}

TEST(SpentError, GrowsToAlpha) {
  for (const Spending spending : {Spending::obrien_fleming, Spending::pocock}) {
    double before = 0;
    for (double t = 0.1; t < 1.05; t += 0.1) {
      const double spent = spent_error(spending, 0.05, t);
      EXPECT_GT(spent, before);
      before = spent;
    }
    EXPECT_NEAR(before, 0.05, 1e-12);
  }
  EXPECT_LT(spent_error(Spending::obrien_fleming, 0.05, 0.3), 0.001);
}

// Looking after each of 3 to 10 pairs at normal data without a difference stops wrongly as often as one look would.
TEST(NominalLevels, KeepTheErrorOverAllLooks) {
  const auto levels = nominal_levels(Spending::obrien_fleming, 0.05, 3, 10);
  ASSERT_EQ(levels.size(), 8U);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int stopped = 0;
  int naive = 0;
  constexpr int kTrials = 20000;
  for (int trial = 0; trial < kTrials; ++trial) {
    double sum = 0;
    bool stop = false;
    bool stop_naive = false;
    for (int n = 1; n <= 10; ++n) {
      sum += normal(random);
      if (n < 3) continue;
      const double p = two_sided(std::abs(sum) / std::sqrt(n));
      stop = stop || p <= levels[static_cast<std::size_t>(n - 3)];
      stop_naive = stop_naive || p <= 0.05;
    }
    stopped += stop;
    naive += stop_naive;
  }
  EXPECT_NEAR(stopped / double{kTrials}, 0.05, 0.005);
  EXPECT_GT(naive / double{kTrials}, 0.10);
}

TEST(IsSettled, WhenTheStepIsDecidedAndNoKernelThatMattersIsNearIt) {
  Comparison comparison;
  comparison.step_metrics.resize(1);
  StepMetric& step = comparison.step_metrics.front();
  step.time.a = 50e6;
  KernelChange change;
  change.outcome = Outcome::inconclusive;
  change.adjusted.ratio = -0.04;
  change.adjusted.delta = -69e3;
  change.adjusted.adjusted_p = 0.009;
  const auto settled = [&](Outcome outcome) {
    step.outcome = outcome;
    return is_settled(comparison, {});
  };
  EXPECT_FALSE(settled(Outcome::inconclusive));
  for (const Outcome outcome : {Outcome::same, Outcome::improved, Outcome::regressed})
    EXPECT_TRUE(settled(outcome));
  comparison.kernels = {change};
  EXPECT_FALSE(settled(Outcome::same)) << "a kernel that this look may not blame yet, and the last one would";
  comparison.kernels[0].adjusted.adjusted_p = 0.06;
  EXPECT_TRUE(settled(Outcome::same));
  comparison.kernels[0] = change;
  comparison.kernels[0].adjusted.delta = -49e3;  // below 0.1 % of the step
  EXPECT_TRUE(settled(Outcome::same));
  comparison.kernels[0] = change;
  comparison.kernels[0].adjusted.ratio = -0.019;
  EXPECT_TRUE(settled(Outcome::same));
  comparison.kernels[0] = change;
  comparison.kernels[0].outcome = Outcome::improved;
  EXPECT_TRUE(settled(Outcome::same));
  comparison.kernels[0] = change;
  comparison.verdict = ComparisonVerdict::invalid_environment;
  EXPECT_TRUE(settled(Outcome::inconclusive)) << "no number of pairs makes another GPU the same";
}

}  // namespace
}  // namespace ridgeline::comparison
