// Bytes over the links while something ran, from samples: by hand.
#include "ridgeline/analyzer/work/link_traffic.h"

#include <gtest/gtest.h>

#include <limits>

#include "ridgeline/analyzer/work/step_pace.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

constexpr std::size_t kSent = 0, kReceived = 1;

// A sample every 10 ns that ends at 1010 to 1100, each of 100 bytes, and one more stretch from 5000 on.
std::vector<store::PmSample> two_stretches() {
  std::vector<store::PmSample> samples;
  for (std::int64_t at = 1010; at <= 1100; at += 10) samples.push_back({1, at, 1, 100});
  for (std::int64_t at = 5010; at <= 5050; at += 10) samples.push_back({1, at, 1, 7});
  return samples;
}

TEST(LinkTraffic, SamplesAreSharedOutByTime) {
  LinkSamples samples;
  EXPECT_TRUE(samples.empty());
  samples.add(kSent, two_stretches());
  EXPECT_FALSE(samples.empty());
  EXPECT_EQ(samples.interval_ns(), 10);
  EXPECT_DOUBLE_EQ(*samples.during(1000, 1100).nvlink_sent_bytes, 1000);
  EXPECT_DOUBLE_EQ(*samples.during(1020, 1050).nvlink_sent_bytes, 300);
  EXPECT_DOUBLE_EQ(*samples.during(1025, 1029).nvlink_sent_bytes, 40) << "part of one sample";
  EXPECT_DOUBLE_EQ(*samples.during(5000, 5050).nvlink_sent_bytes, 35);
  EXPECT_FALSE(samples.during(1020, 1050).nvlink_received_bytes) << "it was not sampled";
}

TEST(LinkTraffic, WhatSamplesDoNotCoverIsNotKnown) {
  LinkSamples samples;
  samples.add(kSent, two_stretches());
  EXPECT_FALSE(samples.during(990, 1050).nvlink_sent_bytes) << "it began before they did";
  EXPECT_FALSE(samples.during(1050, 5020).nvlink_sent_bytes) << "nothing was sampled between the stretches";
  EXPECT_FALSE(samples.during(2000, 2100).nvlink_sent_bytes);
  EXPECT_FALSE(samples.during(1050, 1050).nvlink_sent_bytes);
  EXPECT_TRUE(samples.during(1001, 1101).nvlink_sent_bytes) << "a hundredth of it is missing";
  EXPECT_TRUE(samples.during(1002, 1102).nvlink_sent_bytes) << "a fiftieth of it is missing";
  EXPECT_FALSE(samples.during(1003, 1103).nvlink_sent_bytes);
}

// Samples follow each other up to four intervals and three quarters apart; of what is asked for a fiftieth may be
// uncovered.
TEST(LinkTraffic, AreOneStretchUpToAGapOfFourIntervals) {
  for (const std::int64_t gap_ns : {11, 40, 43, 44, 60}) {
    std::vector<store::PmSample> of_gap;
    for (std::int64_t at = 1010; at <= 1100; at += 10) of_gap.push_back({1, at, 1, 100});
    for (std::int64_t i = 0; i <= 9; ++i) of_gap.push_back({1, 1100 + gap_ns + 10 * i, 1, 100});
    LinkSamples samples;
    samples.add(kSent, of_gap);
    const auto across = samples.during(1050, 1100 + gap_ns + 50).nvlink_sent_bytes;
    ASSERT_EQ(across.has_value(), gap_ns <= 43) << gap_ns;
    if (across) {
      EXPECT_DOUBLE_EQ(*across, 1100);
    }
  }
  LinkSamples samples;
  samples.add(kSent, two_stretches());
  EXPECT_TRUE(samples.during(1000, 1102).nvlink_sent_bytes) << "2 of 102";
  EXPECT_FALSE(samples.during(1000, 1103).nvlink_sent_bytes) << "3 of 103";
  EXPECT_TRUE(samples.during(999, 1101).nvlink_sent_bytes);
  EXPECT_FALSE(samples.during(998, 1101).nvlink_sent_bytes);
}

TEST(LinkTraffic, AValueThatIsNoneCountsAsNothing) {
  LinkSamples samples;
  samples.add(
      kReceived,
      {{1, 10, 1, 5}, {1, 20, 1, std::numeric_limits<double>::quiet_NaN()}, {1, 30, 1, -4}, {1, 40, 1, 5}});
  EXPECT_DOUBLE_EQ(*samples.during(0, 40).nvlink_received_bytes, 10);
  LinkSamples one;
  one.add(kReceived, {{1, 10, 1, 5}});
  EXPECT_TRUE(one.empty()) << "nothing says how long one sample is";
}

TEST(LinkTraffic, TimesThatAreNoneAreLeftOut) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  LinkSamples samples;
  samples.add(kSent, {{1, kMin, 1, 5}, {1, 10, 1, 5}, {1, 20, 1, 5}, {1, 30, 1, 5}, {1, kMax, 1, 5}});
  EXPECT_DOUBLE_EQ(*samples.during(0, 30).nvlink_sent_bytes, 15);
}

TEST(LinkTraffic, SumsAndMeansKeepWhatIsMissingMissing) {
  LinkBytes sum;
  add_link_bytes(sum, {.nvlink_sent_bytes = 10,
                       .nvlink_received_bytes = {},
                       .pcie_received_bytes = {},
                       .pcie_sent_bytes = {}});
  add_link_bytes(sum, {.nvlink_sent_bytes = 20,
                       .nvlink_received_bytes = {},
                       .pcie_received_bytes = 3,
                       .pcie_sent_bytes = {}});
  EXPECT_EQ(sum.nvlink_sent_bytes, 30);
  EXPECT_EQ(sum.pcie_received_bytes, 3);
  EXPECT_FALSE(sum.nvlink_received_bytes);
  const LinkBytes mean = accepted(mean_link_bytes(sum, 4));
  EXPECT_EQ(mean.nvlink_sent_bytes, 7.5);
  EXPECT_FALSE(mean.nvlink_received_bytes);
  EXPECT_EQ(accepted(mean_link_bytes(sum, 0)), LinkBytes{});
}

TEST(LinkTraffic, OfAStepIsThatOfItsTimeOnTheGpuOverItsDevices) {
  LinkSamples samples;
  samples.add(kSent, two_stretches());
  StepSummary in, other, unsampled;
  in.process_id = other.process_id = unsampled.process_id = 1;
  in.gpu_start_ns = 1020;
  in.gpu_duration_ns = 50;
  other = in;
  other.process_id = 2;
  unsampled.gpu_start_ns = 3000;
  unsampled.gpu_duration_ns = 50;
  std::vector<StepPace> pace(3);
  add_links({in, other, unsampled}, 1, {samples, samples}, pace);
  EXPECT_EQ(pace[0].links.nvlink_sent_bytes, 1000) << "both devices";
  EXPECT_FALSE(pace[1].links.nvlink_sent_bytes) << "another process's";
  EXPECT_FALSE(pace[2].links.nvlink_sent_bytes);
}

}  // namespace
}  // namespace ridgeline::analyzer
