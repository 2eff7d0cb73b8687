#include "ridgeline/comparison/steady.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

// A clock that falls from 1980 to 1700 MHz with a time constant of so many samples.
std::vector<double> falling(std::size_t count, double samples) {
  std::vector<double> series;
  for (std::size_t i = 0; i < count; ++i)
    series.push_back(1700 + 280 * std::exp(-static_cast<double>(i) / samples));
  return series;
}

TEST(Steady, WhatDoesNotDriftIsTakenWhole) {
  EXPECT_EQ(accepted(steady_from(std::vector<double>(30, 5.0), 0.01, 8)).first, 0U);
  EXPECT_EQ(accepted(steady_from({}, 0.01, 8)).first, 0U);
  EXPECT_EQ(accepted(steady_from({3, 9}, 0.01, 8)).first, 0U);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(50, 0.15);
  int cut = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> noisy(30);
    for (double& value : noisy) value = normal(random);
    cut += accepted(steady_from(noisy, 0.01, 8)).first > 0 ? 1 : 0;
  }
  EXPECT_LE(cut, 4) << "noise is no drift";
}

TEST(Steady, TheBeginOfAFallIsLeftOut) {
  const Steady steady = accepted(steady_from(falling(60, 6), 0.01, 8));
  EXPECT_TRUE(steady.settled);
  EXPECT_GT(steady.first, 8U);
  EXPECT_LE(steady.first, 30U);
  const std::vector<double> series = falling(60, 6);
  EXPECT_LT(series[steady.first] / series.back(), 1.05);
}

TEST(Steady, WhatNeverSettlesIsSaidToAndHasItsSecondHalf) {
  const Steady steady = accepted(steady_from(falling(40, 60), 0.01, 8));
  EXPECT_FALSE(steady.settled);
  EXPECT_EQ(steady.first, 20U);
  // Too short a series to cut.
  EXPECT_EQ(accepted(steady_from(falling(10, 60), 0.01, 8)).first, 0U);
  EXPECT_FALSE(accepted(steady_from(falling(10, 60), 0.001, 8)).settled);
}

TEST(Steady, ALongSeriesIsCutNearTheRightPlace) {
  const Steady steady = accepted(steady_from(falling(5000, 300), 0.01, 8));
  EXPECT_TRUE(steady.settled);
  EXPECT_GT(steady.first, 100U);
  EXPECT_LE(steady.first, 2500U);
}

}  // namespace
}  // namespace ridgeline::comparison
