#include "ceilings/core/settling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ridgeline::ceilings {
namespace {

constexpr SettlingRule kRule{.min_s = 1, .look_s = 0.5, .max_change = 0.01};

std::vector<Point> clocks(double until_s, double (*hz)(double)) {
  std::vector<Point> out;
  for (int i = 1; i * 0.02 <= until_s + 1e-9; ++i) out.push_back({i * 0.02, hz(i * 0.02)});
  return out;
}

TEST(CeilingSettling, AClockThatStandsStillHasSettledOnceItMay) {
  const auto still = [](double) { return 1.98e9; };
  EXPECT_FALSE(settled(clocks(0.9, still), kRule)) << "too early";
  EXPECT_TRUE(settled(clocks(1.02, still), kRule));
}

TEST(CeilingSettling, BatchesThatWaitedForTheCpuAreNamedWhileTheyAreFew) {
  std::vector<double> seconds(50, 0.02);
  const std::vector<bool> none = waited(seconds);
  EXPECT_EQ(std::count(none.begin(), none.end(), true), 0);
  seconds[7] = 0.12;
  seconds[30] = 0.0249;  // slower, but not for that
  const std::vector<bool> found = waited(seconds);
  EXPECT_TRUE(found[7]);
  EXPECT_EQ(std::count(found.begin(), found.end(), true), 1);
  for (std::size_t i = 0; i < 15; ++i) seconds[i] = 0.04;
  const std::vector<bool> many = waited(seconds);
  EXPECT_EQ(std::count(many.begin(), many.end(), true), 0)
      << "the load itself varies: its parts disagree then";
  EXPECT_TRUE(waited({}).empty());
}

TEST(CeilingSettling, AClockThatFallsHasNotSettledAndOneThatHasFallenHas) {
  const auto falling = [](double s) { return 1.98e9 - 1e8 * s; };
  EXPECT_FALSE(settled(clocks(2, falling), kRule));
  const auto fallen = [](double s) { return s < 1 ? 1.98e9 - 5e8 * s : 1.48e9; };
  EXPECT_FALSE(settled(clocks(1.2, fallen), kRule));
  EXPECT_TRUE(settled(clocks(1.6, fallen), kRule));
}

TEST(CeilingSettling, NoiseRoundALevelIsNoSlope) {
  const auto noisy = [](double s) { return 1.5e9 + 1e7 * std::sin(60 * s); };
  EXPECT_TRUE(settled(clocks(2, noisy), kRule));
}

TEST(CeilingSettling, FewReadingsSayNothing) {
  const std::vector<Point> few = {{1, 1e9}, {1.3, 1e9}, {1.6, 1e9}};
  EXPECT_FALSE(settled(few, kRule));
  EXPECT_FALSE(settled({}, kRule));
}

TEST(CeilingEnergyTrace, CountsFromTheFirstChangeToTheLast) {
  EnergyTrace trace;
  // Brought up to date every 100 ms by 50 J, read every 20 ms.
  for (int i = 0; i <= 60; ++i) trace.add(i * 0.02, 1000 + 50 * (i / 5));
  const auto use = trace.use(0.5);
  ASSERT_TRUE(use);
  EXPECT_NEAR(use->seconds, 1.1, 1e-9);
  EXPECT_NEAR(use->joules, 550, 1e-9);
  EXPECT_NEAR(use->watts(), 500, 1e-6);
}

TEST(CeilingEnergyTrace, AShortOrSilentTraceHasNoUse) {
  EnergyTrace silent;
  for (int i = 0; i < 100; ++i) silent.add(i * 0.02, 7);
  EXPECT_FALSE(silent.use(0.1));
  EnergyTrace brief;
  brief.add(0, 1);
  brief.add(0.1, 2);
  brief.add(0.2, 3);
  EXPECT_FALSE(brief.use(0.5));
  EXPECT_TRUE(brief.use(0.05));
}

}  // namespace
}  // namespace ridgeline::ceilings
