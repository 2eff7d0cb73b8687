// The expected values are SciPy's and limma's: tests/comparison/golden.py prints them.
#include "statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

const std::vector<double> kPairs = {0.031, 0.024, 0.036, 0.027, 0.030};
const std::vector<double> kVariances = {1.2e-5, 3.5e-6, 8.8e-5, 2.1e-5, 4.0e-7,
                                        6.1e-5, 1.9e-5, 2.2e-4, 9.0e-6, 1.4e-5};

TEST(PairedSample, MeanVarianceAndPValueAreThoseOfTheTTest) {
  const Sample sample = accepted(paired_sample(kPairs)).value();
  EXPECT_NEAR(sample.mean, 0.0296, 1e-12);
  EXPECT_NEAR(sample.variance, 2.03e-05, 1e-12);
  EXPECT_EQ(sample.degrees_of_freedom, 4);
  EXPECT_NEAR(p_value(sample), 0.00012495044782087622, 1e-12);
  EXPECT_NEAR(half_width(sample, 0.05), 0.005594381872382138, 1e-12);
}

TEST(PairedSample, OnePairHasNoVariance) {
  EXPECT_FALSE(accepted(paired_sample({0.03})).has_value());
  EXPECT_FALSE(accepted(two_samples({4.6}, {4.7, 4.8})).has_value());
}

TEST(TwoSamples, PValueIsThatOfTheTTestWithPooledVariance) {
  const Sample sample = accepted(two_samples({4.605, 4.601, 4.611, 4.607}, {4.632, 4.629, 4.641})).value();
  EXPECT_NEAR(p_value(sample), 0.000810378007377694, 1e-12);
  EXPECT_GT(sample.mean, 0);
}

TEST(PValue, WithoutVarianceOnlyNoDifferenceIsLikely) {
  EXPECT_EQ(p_value(accepted(paired_sample({0.0, 0.0, 0.0})).value()), 1);
  EXPECT_EQ(p_value(accepted(paired_sample({0.5, 0.5, 0.5})).value()), 0);
}

TEST(PValueWithin, IsTheLargerOfTwoOneSidedTests) {
  const Sample sample = accepted(paired_sample({0.001, -0.002, 0.003, 0.0, 0.001})).value();
  EXPECT_NEAR(p_value_within(sample, 0.01), 0.00015935846924479527, 1e-12);
  EXPECT_GT(p_value_within(accepted(paired_sample(kPairs)).value(), 0.01), 0.99);
}

TEST(PValueBeyond, IsTreatsAndNeverBelowThatOfNoDifference) {
  const Sample sample = accepted(paired_sample(kPairs)).value();
  EXPECT_NEAR(p_value_beyond(sample, 0.02), 0.004446317527520042, 1e-12);
  EXPECT_NEAR(p_value_beyond(sample, 0), p_value(sample), 1e-15);
}

TEST(VariancePrior, IsLimmas) {
  const VariancePrior prior = accepted(fit_variance_prior(kVariances, 4)).value();
  EXPECT_NEAR(prior.variance, 9.50578945055496e-06, 1e-12);
  EXPECT_NEAR(prior.degrees_of_freedom, 1.52849989905675, 1e-7);
  const Sample one = accepted(moderated({0.012, 8.8e-5, 4, 0.2}, prior));
  EXPECT_NEAR(one.variance, 6.629820112290564e-05, 1e-11);
  EXPECT_NEAR(p_value(one), 0.018605905065141048, 1e-7);
}

TEST(VariancePrior, VariancesThatDifferByChanceOnlyAreOne) {
  const VariancePrior prior = accepted(fit_variance_prior({1e-5, 1.1e-5, 0.9e-5, 1.05e-5}, 4)).value();
  EXPECT_TRUE(std::isinf(prior.degrees_of_freedom));
  EXPECT_NEAR(prior.variance, 1.0125e-5, 1e-12);
  const Sample sample = accepted(moderated({0.012, 8.8e-5, 4, 0.2}, prior));
  EXPECT_NEAR(sample.variance, prior.variance, 1e-18);
  EXPECT_NEAR(p_value(sample), std::erfc(0.012 / std::sqrt(prior.variance / 5) / std::sqrt(2.0)), 1e-12);
}

TEST(VariancePrior, NothingToLearnFromNothing) {
  EXPECT_FALSE(accepted(fit_variance_prior({1e-5, 2e-5}, 4)).has_value());
  EXPECT_FALSE(accepted(fit_variance_prior({0, 0, 0, 0}, 4)).has_value());
  EXPECT_TRUE(accepted(fit_variance_prior({0, 1e-5, 2e-5, 3e-5}, 4)).has_value());
}

TEST(AdjustedPValues, AreBenjaminiAndHochbergs) {
  const std::vector<double> adjusted = accepted(adjusted_p_values({0.01, 0.04, 0.03, 0.005, 0.8, 0.041}));
  const std::vector<double> expected = {0.03, 0.0492, 0.0492, 0.03, 0.8, 0.0492};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12) << i;
  EXPECT_TRUE(accepted(adjusted_p_values({})).empty());
}

TEST(Power, DetectableMeanAndPairsNeeded) {
  EXPECT_NEAR(accepted(detectable_mean(accepted(paired_sample(kPairs)).value(), 0.05)), 0.007490372959464176,
              1e-12);
  EXPECT_EQ(accepted(pairs_needed(1e-4, 0, 0.01, 0.05)), 10);
  EXPECT_EQ(accepted(pairs_needed(1.0, 0, 0.001, 0.05)), std::nullopt);
}

TEST(TwoModes, AreTwoHeapsFarApart) {
  EXPECT_TRUE(has_two_modes({22.50, 22.55, 25.50, 22.52, 25.52}, 0.2));
  EXPECT_FALSE(has_two_modes({22.50, 22.55, 22.52, 22.58}, 0.2));    // nearer than what matters
  EXPECT_FALSE(has_two_modes({22.50, 22.55, 22.52, 25.5}, 0.2));     // one run apart is no mode
  EXPECT_FALSE(has_two_modes({22.0, 23.0, 24.0, 25.0, 26.0}, 0.2));  // spread out
  EXPECT_FALSE(has_two_modes({22.5, 25.5}, 0.2));
}

TEST(WeightedMedian, IsWhereHalfOfTheWeightIsReached) {
  EXPECT_EQ(weighted_median({{1, 1}, {2, 1}, {3, 10}}), 3);
  EXPECT_EQ(weighted_median({{3, 1}, {1, 1}, {2, 1}}), 2);
  EXPECT_EQ(weighted_median({}), std::nullopt);
}

// By hand: 4 · 0.005, 3 · 0.01, 2 · 0.03, and never less than the one before.
TEST(HolmPValues, AreLargerThanTheirOwnAndInOrder) {
  const std::vector<double> adjusted = accepted(holm_p_values({0.01, 0.04, 0.03, 0.005}));
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12) << i;
  EXPECT_EQ(accepted(holm_p_values({0.9, 0.8})), (std::vector<double>{1, 1}));
  EXPECT_TRUE(accepted(holm_p_values({})).empty());
}

}  // namespace
}  // namespace ridgeline::comparison
