#include "modes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "made_runs.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

// Ten kernels of 100 µs with a little noise; some take 4 % more in the runs that are named.
std::vector<Series> made_kernels(std::size_t runs, const std::vector<std::vector<int>>& slow_runs) {
  std::vector<Series> kernels;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (std::size_t k = 0; k < 10; ++k) {
    Series series;
    for (std::size_t run = 0; run < 2 * runs; ++run) {
      double value = 1e5 * std::exp(0.003 * normal(random));
      if (k < slow_runs.size())
        for (const int slow : slow_runs[k]) value *= static_cast<std::size_t>(slow) == run ? 1.04 : 1;
      (run < runs ? series.a : series.b).push_back(value);
    }
    kernels.push_back(series);
  }
  return kernels;
}

KernelModes modes_of(const std::vector<Series>& kernels) {
  std::vector<const Series*> all;
  for (const Series& series : kernels) all.push_back(&series);
  return accepted(find_modes(all, 0.01));
}

TEST(KernelModes, AreSeenWhereRunsOfOneSideAreInBothHeaps) {
  const KernelModes modes = modes_of(made_kernels(3, {{0, 4}, {1, 2, 3}, {3, 4, 5}, {2}}));
  EXPECT_TRUE(modes.mixed[0]);
  EXPECT_TRUE(modes.mixed[1]);
  EXPECT_FALSE(modes.mixed[2]) << "all of B: a change, as far as this kernel shows";
  EXPECT_FALSE(modes.mixed[3]) << "one run alone is no heap";
  EXPECT_EQ(modes.seen, 2);
  EXPECT_NEAR(modes.widest, 0.04, 0.015);
}

TEST(KernelModes, OfSeveralMakeADifferenceOfTheirSizeDoubtfulUntilThereAreMoreRuns) {
  const std::vector<std::vector<int>> two = {{0, 4}, {1, 2, 3}};
  const KernelModes few = modes_of(made_kernels(3, two));
  EXPECT_NEAR(few.expected, 2.0 / 32, 1e-12);
  EXPECT_TRUE(may_be_modes(few, -0.03));
  EXPECT_FALSE(may_be_modes(few, 0.10)) << "no mode that was seen is as wide";
  EXPECT_FALSE(may_be_modes(modes_of(made_kernels(5, two)), 0.03));
  EXPECT_FALSE(may_be_modes(modes_of(made_kernels(3, {{0, 4}})), 0.03)) << "one in 32 is less than one in 20";
}

TEST(KernelModes, ARunThatIsSlowAsAWholeIsNoMode) {
  auto kernels = made_kernels(3, {});
  for (Series& series : kernels) {
    series.a[1] *= 1.05;
    series.b[0] *= 1.05;
  }
  EXPECT_EQ(modes_of(kernels).seen, 0);
}

// Three kernels are seen in two modes; a fourth is in one in all of A and in the other in all of B.
TEST(CompareModes, DoNotBlameWhatChanceMayHaveSorted) {
  const auto kernels = testing::training_step();
  const auto side = [&](bool b, const std::string& code) {
    auto runs = testing::made_side({.kernels = kernels, .noise = 0.003}, 3, b ? 50 : 1);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto slow = [&](std::size_t site) {
        runs[i].sites[site].time_ns *= 1.04;
        *runs[i].sites[site].cycles *= 1.04;
      };
      if (i != 1) slow(2);
      if (i == 2) slow(3);
      if (b ? i == 0 : i != 0) slow(4);
      if (b) slow(9);
      if (b) runs[i].sites[9].code = code;
    }
    return runs;
  };
  const std::size_t backward = 9;
  const auto change = [&](const std::string& code) {
    const Comparison comparison = compare(side(false, "c10"), side(true, code)).value();
    EXPECT_GE(comparison.two_mode_kernels, 2);
    for (const KernelChange& each : comparison.kernels)
      if (each.kernels_a.front() == kernels[backward].kernel) return each;
    throw std::runtime_error("not there");
  };
  EXPECT_EQ(change("c10").outcome, Outcome::inconclusive);
  EXPECT_EQ(change("c10").reason, OutcomeReason::two_modes);
  EXPECT_NE(change("new code").reason, OutcomeReason::two_modes) << "another code is a cause";
}

}  // namespace
}  // namespace ridgeline::comparison
