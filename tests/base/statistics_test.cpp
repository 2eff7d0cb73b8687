#include "ridgeline/base/statistics.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

TEST(Statistics, QuantilesInterpolateLinearly) {
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.1), 14);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 1), 3);
}

TEST(Statistics, MedianOfAnEvenNumberLiesBetweenAndTheUpperOneIsAValue) {
  EXPECT_DOUBLE_EQ(median({1, 9, 4, 2}), 3);
  EXPECT_DOUBLE_EQ(median({5, 1, 9}), 5);
  EXPECT_DOUBLE_EQ(upper_median(std::vector<double>{1, 9, 4, 2}), 4);
  EXPECT_EQ(upper_median(std::vector<long>{5, 1, 9}), 5);
  EXPECT_EQ(upper_median(std::vector<long>{}), 0);
}

TEST(Statistics, DeviationsAreOfTheSample) {
  EXPECT_DOUBLE_EQ(median_absolute_deviation({1, 2, 3, 4, 100}), 1);
  EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(mean({}), 0);
  EXPECT_EQ(standard_deviation({4}), std::nullopt);
  EXPECT_DOUBLE_EQ(standard_deviation({1, 3, 1, 3, 2}).value(), 1) << "4 ÷ (5 − 1)";
}

}  // namespace
}  // namespace ridgeline
