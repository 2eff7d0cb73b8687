#include "ceilings/core/validity.h"

#include <gtest/gtest.h>

namespace ridgeline::ceilings {
namespace {

TEST(CeilingValidity, MoreThanCyclesAllowIsVoid) {
  const double most = 4096.0 * 132 * 1.5e9;
  EXPECT_FALSE(above_cycles(most * 1.004, 4096, 132, 1.5e9));
  const auto found = above_cycles(most * 1.006, 4096, 132, 1.5e9);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, VoidRule::above_possible);
  EXPECT_NE(found->detail.find("4096 a cycle x 132 SMs x 1500 MHz"), std::string::npos) << found->detail;
  EXPECT_FALSE(above_cycles(1e30, 0, 132, 1.5e9)) << "an architecture that is not known bounds nothing";
  EXPECT_FALSE(above_cycles(1e30, 4096, 132, {}));
}

TEST(CeilingValidity, MoreThanTheBusCarriesIsVoid) {
  EXPECT_FALSE(above_limit(4.9e12, 4.917e12));
  ASSERT_TRUE(above_limit(7.1e12, 4.917e12)) << "a buffer that L2 holds";
  EXPECT_EQ(above_limit(7.1e12, 4.917e12)->rule, VoidRule::above_possible);
  EXPECT_FALSE(above_limit(7.1e12, 0));
}

TEST(CeilingValidity, RoundsThatDisagreeAreVoid) {
  EXPECT_FALSE(rounds_disagree({100, 101, 100.5}));
  ASSERT_TRUE(rounds_disagree({100, 103, 100.5}));
  EXPECT_EQ(rounds_disagree({100, 103, 100.5})->rule, VoidRule::rounds_disagree);
  EXPECT_FALSE(rounds_disagree({100, 103, 100.5}, kMaxHostDisagreement));
}

TEST(CeilingValidity, ABurstIsAtTheHighestClock) {
  EXPECT_FALSE(clock_down(1.96e9, 1.98e9));
  ASSERT_TRUE(clock_down(1.9e9, 1.98e9));
  EXPECT_EQ(clock_down(1.9e9, 1.98e9)->rule, VoidRule::no_burst);
  EXPECT_FALSE(clock_down({}, 1.98e9));
  EXPECT_FALSE(clock_down(1e9, 0));
}

// A product of matrices takes more power than the board has: 1.59 GHz for some milliseconds, 1.33 for seconds.
TEST(CeilingValidity, ABurstThatPowerHoldsIsFasterThanTheSameSustained) {
  EXPECT_FALSE(no_burst(1.98e9, 1.98e9, 1.98e9));
  EXPECT_FALSE(no_burst(1.586e9, 1.326e9, 1.98e9));
  const auto none = no_burst(1.5e9, 1.48e9, 1.98e9);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->rule, VoidRule::no_burst);
  EXPECT_NE(none->detail.find("1480 MHz sustained"), std::string::npos) << none->detail;
  EXPECT_TRUE(no_burst(1.5e9, {}, 1.98e9)) << "nothing to compare with";
  EXPECT_FALSE(no_burst({}, 1.4e9, 1.98e9));
}

TEST(CeilingValidity, AnyOfTheSignsOfOthersIsEnough) {
  EXPECT_FALSE(foreign_process({}));
  EXPECT_FALSE(foreign_process({.processes_now = 1})) << "that is this one";
  EXPECT_FALSE(foreign_process({.not_running_share = 0.0005})) << "an interrupt";
  for (const Neighbours& seen : {Neighbours{.processes_before = 1}, Neighbours{.utilisation_percent = 3},
                                 Neighbours{.processes_now = 2}, Neighbours{.not_running_share = 0.4}}) {
    const auto found = foreign_process(seen);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rule, VoidRule::foreign_process);
    EXPECT_FALSE(found->detail.empty());
  }
}

}  // namespace
}  // namespace ridgeline::ceilings
