#include "ceilings/core/plan.h"

#include <gtest/gtest.h>

namespace ridgeline::ceilings {
namespace {

// Roofs of a run without peers: five mixes, L2, L1, shared memory, two chains, the products.
double seconds_of(const Plan& plan) {
  const double roofs = 10.0 + static_cast<double>(plan.gemms.size());
  const double bursts = roofs * plan.rounds * (plan.idle_s + 2e-3 * plan.burst_ms);
  // The products meet the power limit and take as long to settle as they may; the others as long as they must.
  const double at_rest = 10 + 4;
  return bursts + at_rest * (plan.settling.min_s + plan.window_s) +
         static_cast<double>(plan.gemms.size()) * plan.sustained_shapes * (plan.max_settle_s + plan.window_s);
}

TEST(CeilingPlan, TheQuickOneIsUnderAMinuteWithWhatSearchesAndChecksTake) {
  EXPECT_LT(seconds_of(quick_plan()), 50);
}

TEST(CeilingPlan, TheThoroughOneNeverCountsTheFirstFourSeconds) {
  const Plan plan = thorough_plan();
  EXPECT_GE(plan.settling.min_s, 4);
  EXPECT_GE(plan.settling.min_s + plan.window_s, 10);
  EXPECT_GE(plan.idle_s, 1);
  EXPECT_LE(plan.burst_ms, 5);
  EXPECT_LT(seconds_of(plan), 15 * 60);
}

TEST(CeilingPlan, ProductsOfBothHaveDimensionsThatEveryPrecisionTakes) {
  for (const Plan& plan : {quick_plan(), thorough_plan()}) {
    for (const Shape& s : plan.shapes) {
      EXPECT_EQ(s.m % 128, 0) << s.text();
      EXPECT_EQ(s.n % 128, 0) << s.text();
      EXPECT_EQ(s.k % 128, 0) << s.text();
    }
  }
  EXPECT_EQ((Shape{2, 3, 5}.operations()), 60);
  EXPECT_EQ((Shape{2, 3, 5}.text()), "2x3x5");
}

TEST(CeilingPlan, RoofsAreAskedForByNameOrLevel) {
  EXPECT_TRUE(wanted({}, "dram", "dram.read"));
  EXPECT_TRUE(wanted({"dram"}, "dram", "dram.read"));
  EXPECT_TRUE(wanted({"l2", "dram.read"}, "dram", "dram.read"));
  EXPECT_FALSE(wanted({"dram.write"}, "dram", "dram.read"));
  EXPECT_FALSE(wanted({"dram.rea"}, "dram", "dram.read"));
}

}  // namespace
}  // namespace ridgeline::ceilings
