#include "ceilings/core/statistics.h"

#include <gtest/gtest.h>

namespace ridgeline::ceilings {
namespace {

TEST(CeilingStatistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(CeilingStatistics, DisagreementOfFewRoundsCountsAllAndOfFiveLeavesOutTheEnds) {
  EXPECT_EQ(disagreement({}), 0);
  EXPECT_EQ(disagreement({100}), 0);
  EXPECT_DOUBLE_EQ(disagreement({100, 103, 99}), 0.04);
  EXPECT_DOUBLE_EQ(disagreement({100, 100, 101, 100, 50}), 0.0)
      << "one slow round of five is no disagreement";
  EXPECT_DOUBLE_EQ(disagreement({100, 100, 110, 110, 50}), 0.1) << "two that differ are one";
  EXPECT_EQ(disagreement({0, 0}), 0);
}

TEST(CeilingStatistics, SlopeIsThatOfTheLine) {
  const Point line[] = {{0, 1}, {1, 3}, {2, 5}};
  EXPECT_DOUBLE_EQ(slope(line), 2);
  const Point upright[] = {{1, 0}, {1, 9}};
  EXPECT_EQ(slope(upright), 0);
  EXPECT_EQ(slope({}), 0);
}

// A cache of 30 MB at 10 and memory at 4, with a slow point inside the plateau.
std::vector<SweepPoint> made_sweep() {
  std::vector<SweepPoint> sweep;
  for (const std::int64_t mib : {1, 2, 4, 8, 16, 20, 24, 28, 32, 40, 64})
    sweep.push_back({mib << 20, mib == 8 ? 8.0 : mib <= 28 ? 10.0 : mib <= 32 ? 9.6 : 4.0});
  return sweep;
}

TEST(CeilingStatistics, ThePlateauIsAMedianAndTheKneeIsTheLastSetNearIt) {
  const auto sweep = made_sweep();
  const auto plateau = find_plateau(sweep, 4 << 20, 24 << 20);
  ASSERT_TRUE(plateau);
  EXPECT_EQ(plateau->bytes_per_s, 10);
  EXPECT_EQ(plateau->knee_bytes, std::int64_t{32} << 20);
}

TEST(CeilingStatistics, ASweepThatEndsOnThePlateauHasNoKnee) {
  const std::vector<SweepPoint> flat = {{4 << 20, 10}, {8 << 20, 10}, {16 << 20, 10.1}};
  const auto plateau = find_plateau(flat, 4 << 20, 24 << 20);
  ASSERT_TRUE(plateau);
  EXPECT_FALSE(plateau->knee_bytes);
  EXPECT_FALSE(find_plateau(flat, 1, 2));
}

TEST(CeilingStatistics, WorkingSetsAreWholeGranulesEachOnce) {
  const auto sets = working_sets(16, 256, 2, 16);
  EXPECT_EQ(sets, (std::vector<std::int64_t>{16, 32, 48, 64, 96, 128, 176, 256}));
  for (std::size_t i = 1; i < sets.size(); ++i) EXPECT_LT(sets[i - 1], sets[i]);
  EXPECT_EQ(working_sets(1, 8, 1, 16), std::vector<std::int64_t>{}) << "no granule fits";
}

}  // namespace
}  // namespace ridgeline::ceilings
