#include <gtest/gtest.h>

#include <memory>

#include "cupti/timeline.h"
#include "settings.h"
#include "spool_testing.h"
#include "steps/sequence.h"
#include "tiers/exclusions.h"

namespace ridgeline::agent {
namespace {

TEST(Sequence, RefusesMoreThanItHolds) {
  LaunchSequence a;
  for (std::uint32_t i = 0; i < LaunchSequence::kCapacity; ++i) a.append({1, 1, 1, 1}, 1);
  EXPECT_EQ(why_not_replayable(a), "");
  a.append({1, 1, 1, 1}, 1);
  EXPECT_NE(why_not_replayable(a).find("more than"), std::string::npos);
  a.clear();
  EXPECT_EQ(a.count(), 0u);
}

TEST(Sequence, RefusesSeveralContexts) {
  LaunchSequence a;
  a.append({1, 1, 1, 1}, 1);
  a.append({1, 1, 1, 1}, 2);
  EXPECT_NE(why_not_replayable(a).find("contexts"), std::string::npos);
}

TEST(Sequence, CountsOnlyWhereNobodyAsksWhatTheLaunchesAre) {
  LaunchSequence a;
  a.only_count();
  for (std::uint32_t i = 0; i < 3; ++i) {
    a.prefetch();
    EXPECT_EQ(a.append({7, 1, 1, 1}, 1), i);
  }
  EXPECT_EQ(a.count(), 3u);
  EXPECT_EQ(a[0].kernel_id, 0u);
  EXPECT_FALSE(a.several_contexts());
  a.append({7, 1, 1, 1}, 2);
  EXPECT_TRUE(a.several_contexts());
}

TEST(SeenLaunches, KnowsWhatWasSeen) {
  const auto all = std::make_unique<SeenLaunches>();
  SeenLaunches& seen = *all;
  seen.mark(5, 0);
  EXPECT_TRUE(seen.seen(5, 77));
  EXPECT_FALSE(seen.seen(6, 77));
  EXPECT_FALSE(seen.seen(0, 77));
  EXPECT_FALSE(seen.seen(5 + SeenLaunches::kSlots, 77)) << "a later id in the same slot was not seen";
  seen.mark(5 + SeenLaunches::kSlots, 0);
  EXPECT_TRUE(seen.seen(5, 77)) << "too old to tell: counts as seen";
}

TEST(SeenLaunches, TellsKernelsOfOneLaunchApart) {
  const auto all = std::make_unique<SeenLaunches>();
  SeenLaunches& seen = *all;
  seen.mark(5, 77);
  EXPECT_TRUE(seen.seen(5, 77));
  EXPECT_FALSE(seen.seen(5, 78)) << "another kernel under the same correlation id";
}

TEST(CounterIntervals, HoldTheTimesInBetween) {
  CounterIntervals intervals;
  EXPECT_FALSE(intervals.contains(5));
  intervals.open(10);
  EXPECT_TRUE(intervals.contains(1'000'000));
  intervals.close(20);
  EXPECT_TRUE(intervals.contains(10));
  EXPECT_TRUE(intervals.contains(20));
  EXPECT_FALSE(intervals.contains(21));
  EXPECT_FALSE(intervals.contains(9));
}

TEST(Exclusions, KnowCollectivesByName) {
  std::string error;
  spool::testing::TemporaryDirectory directory;
  spool::Writer::Options options;
  options.directory = directory.path();
  spool::Writer* writer = spool::Writer::create(options, &error);
  ASSERT_NE(writer, nullptr) << error;
  const Exclusions exclusions(*writer, {"my_barrier"});
  EXPECT_EQ(exclusions.by_name("_Z23ncclDevKernel_AllReducePv"), ExclusionReason::name);
  EXPECT_EQ(exclusions.by_name("_ZN7deep_ep9internode8dispatchEv"), ExclusionReason::name);
  EXPECT_EQ(exclusions.by_name("nvshmemi_signal"), ExclusionReason::name);
  EXPECT_EQ(exclusions.by_name("_Z10my_barrieri"), ExclusionReason::user);
  EXPECT_EQ(exclusions.by_name("sm90_xmma_gemm_bf16bf16_bf16f32"), std::nullopt);
  EXPECT_EQ(exclusions.by_name(""), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::agent
