#include "sides.h"

#include <gtest/gtest.h>

#include "made_runs.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using Runs = std::vector<RunProfile>;
using testing::made_side;
using testing::training_step;

Runs begun(std::uint64_t seed, const std::vector<std::int64_t>& starts, double factor = 1) {
  Runs runs = made_side({.kernels = training_step(), .factor = factor, .noise = 0.002}, starts.size(), seed);
  for (std::size_t i = 0; i < starts.size(); ++i) runs[i].start_ns = starts[i] * 1'000'000'000;
  return runs;
}

TEST(Sides, InBlocksAreToldFromThoseInTurnByTheirBegins) {
  const auto blocks = [](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    return recorded_in_blocks(begun(1, a), begun(50, b));
  };
  EXPECT_TRUE(blocks({1, 2, 3}, {4, 5, 6}));
  EXPECT_TRUE(blocks({4, 5, 6}, {1, 2, 3}));
  EXPECT_TRUE(blocks({1, 2, 4}, {3, 5, 6}));
  EXPECT_FALSE(blocks({1, 4, 5}, {2, 3, 6})) << "A B, B A, A B";
  EXPECT_FALSE(blocks({1, 3, 5}, {2, 4, 6})) << "A B, A B, A B";
  EXPECT_FALSE(blocks({1, 3}, {2, 4}));
  EXPECT_FALSE(blocks({1}, {2})) << "one run a side is no block";
  EXPECT_FALSE(blocks({1, 1, 1}, {1, 1, 1})) << "begins that say nothing";
}

TEST(Sides, InBlocksGetNoVerdictOnADifferenceUnlessItIsAskedFor) {
  const Runs a = begun(1, {1, 2, 3});
  const Runs b = begun(50, {4, 5, 6}, 1.05);
  const Comparison comparison = accepted(compare(a, b)).value();
  EXPECT_TRUE(comparison.in_blocks);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::inconclusive);
  EXPECT_EQ(comparison.step().reason, OutcomeReason::blocks);
  ComparisonOptions any;
  any.any_order = true;
  EXPECT_EQ(accepted(compare(a, b, any)).value().verdict, ComparisonVerdict::regressed);
  EXPECT_EQ(accepted(compare(begun(1, {1, 4, 5}), begun(50, {2, 3, 6}, 1.05))).value().verdict,
            ComparisonVerdict::regressed);
}

TEST(Sides, OneRecordingCountsOnce) {
  Runs a = begun(1, {1, 4, 5});
  Runs b = begun(50, {2, 3, 6});
  EXPECT_FALSE(accepted(compare(a, b)).value().same_recording);
  Runs doubled = a;
  doubled[2] = doubled[0];
  doubled[2].path = "copy.ridge";
  const auto refused = accepted(compare(doubled, b));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().kind, ErrorKind::usage);
  EXPECT_NE(refused.failure().message.find("one recording"), std::string::npos) << refused.failure().message;
  EXPECT_TRUE(accepted(compare(a, a)).value().same_recording) << "a side against itself is told";
}

TEST(Sides, OfSeveralProgramsAreRefused) {
  const Runs b = begun(50, {2, 3, 6});
  Runs other_name = begun(1, {1, 4, 5});
  other_name[1].command_line = "/opt/other --x";
  EXPECT_EQ(accepted(compare(other_name, b)).failure().kind, ErrorKind::usage);
  Runs same_name = begun(1, {1, 4, 5});
  same_name[1].command_line = "build/train --lr 2";
  EXPECT_TRUE(accepted(compare(same_name, b)).ok());
  Runs other_work = begun(1, {1, 4, 5});
  for (KernelSite& site : other_work[1].sites) site.calls *= 2;
  EXPECT_EQ(accepted(compare(other_work, b)).failure().kind, ErrorKind::usage);
}

// Another batch: the kernels that go with it all take less time, which no clock did.
TEST(Sides, OfAnotherBatchHaveNoCommonMode) {
  const Runs a = begun(1, {1, 4, 5});
  Runs b = begun(50, {2, 3, 6}, 0.75);
  for (RunProfile& run : b) {
    for (KernelSite& site : run.sites) site.shape->grid.x = 99;
  }
  const Comparison comparison = accepted(compare(a, b)).value();
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::improved);
  EXPECT_EQ(comparison.other_shape_kernels, static_cast<std::int64_t>(comparison.kernels.size()));
  EXPECT_FALSE(comparison.common_mode.has_value());
  EXPECT_EQ(comparison.kernels.front().outcome, Outcome::improved);
  EXPECT_EQ(comparison.kernels.front().cause, ChangeCause::shapes);
  // One kernel launched otherwise is no other work.
  Runs tuned = begun(50, {2, 3, 6});
  for (RunProfile& run : tuned) run.sites.front().shape->grid.x = 99;
  const Comparison one = accepted(compare(a, tuned)).value();
  EXPECT_EQ(one.other_shape_kernels, 0);
  EXPECT_TRUE(one.common_mode.has_value());
}

TEST(Sides, ThatLaunchAnotherNumberOfKernelsAreToldApart) {
  Runs a = begun(1, {1, 4, 5});
  Runs b = begun(50, {2, 3, 6});
  EXPECT_FALSE(accepted(compare(a, b)).value().other_work());
  for (RunProfile& run : b) {
    for (KernelSite& site : run.sites) site.calls *= 2;
  }
  const Comparison comparison = accepted(compare(a, b)).value();
  EXPECT_TRUE(comparison.other_work());
  EXPECT_DOUBLE_EQ(comparison.b.launches, 2 * comparison.a.launches);
}

}  // namespace
}  // namespace ridgeline::comparison
