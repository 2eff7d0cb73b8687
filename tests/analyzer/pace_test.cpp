// pace_test.cpp: what sets the pace of a step, of parts of its time as they may be.
#include "findings/pace.h"

#include <gtest/gtest.h>

namespace ridgeline::analyzer {
namespace {

// A step of 100 µs whose GPU idles for `idle_us`, for as much of it as `recording_us` because it was recorded.
Findings idle_for(std::int64_t idle_us, std::optional<std::int64_t> recording_us) {
  Accounting accounting;
  accounting.step_ns = 100'000;
  accounting.gap_total_ns = idle_us * 1000;
  accounting.gap_host_bound_ns = accounting.gap_total_ns;
  if (recording_us) accounting.gap_recording_ns = *recording_us * 1000;
  RepresentativeStep step;
  step.summary.phase = Phase::timeline;
  return pace_findings(step, accounting, {});
}

TEST(Pace, AnIdleGpuIsFoundAndWhatRecordingAddsIsPartOfIt) {
  ASSERT_EQ(idle_for(30, {}).size(), 1U);
  EXPECT_EQ(idle_for(30, {}).front().find("recording_ns"), nullptr);
  const Findings found = idle_for(30, 20);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().code, FindingCode::gpu_idle);
  EXPECT_DOUBLE_EQ(found.front().step_share.value_or(0), 0.3);
  EXPECT_DOUBLE_EQ(found.front().value("recording_ns"), 20'000);
  EXPECT_DOUBLE_EQ(found.front().value("idle_alone_ratio"), 10.0 / 80);
  EXPECT_EQ(idle_for(30, -5).front().find("recording_ns"), nullptr);
  EXPECT_EQ(idle_for(30, -5).front().find("idle_alone_ratio"), nullptr);
}

TEST(Pace, AGpuThatIdlesOnlyBecauseItIsRecordedIsNotIdle) {
  EXPECT_EQ(idle_for(10, {}).size(), 1U);
  EXPECT_TRUE(idle_for(9, {}).empty());
  EXPECT_EQ(idle_for(28, 20).size(), 1U) << "8 of 80 µs";
  EXPECT_TRUE(idle_for(27, 20).empty()) << "7 of 80 µs";
  EXPECT_TRUE(idle_for(30, 30).empty());
}

}  // namespace
}  // namespace ridgeline::analyzer
