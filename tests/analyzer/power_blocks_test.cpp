// power_blocks_test.cpp: what is left of a delay over seconds, of recordings in which the power limit answers as the
// test has it.
#include "ridgeline/analyzer/whatif/power_blocks.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "ridgeline/analyzer/whatif/power.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using store::Intervention;

constexpr std::int64_t kBlockStepNs = 20'000'000;
constexpr std::int64_t kBlockShamNs = 2000;
constexpr std::int64_t kBlockDelayNs = 400'000;

// Blocks in turn, the first one delayed. The clock follows a block's change within two seconds, and the step with it.
struct BlockRecording {
  double left = 0.75;         // of the delay, once the clock has followed
  double single_slope = 1.0;  // of single steps
  double noise_ns = 20'000;
  double drift_ns = 0;  // by which each step is longer than the one before it
  int blocks = 10;
  double block_s = 6;
  bool delayed_at_all = true;

  std::vector<Intervention> delays;
  std::vector<store::Step> steps;
  std::vector<store::ClockSample> clocks;
  InterventionAnalysis singles;

  void make() {
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, noise_ns);
    std::int64_t now = 1'000'000'000;
    std::int64_t index = 0;
    for (int i = 0; i < blocks; ++i) {
      const bool delayed = delayed_at_all && i % 2 == 0;
      const std::int64_t from = now;
      while (static_cast<double>(now - from) < block_s * 1e9) {
        const double followed = std::min(static_cast<double>(now - from) / 2e9, 1.0);
        const double of_delay = delayed ? 1 - (1 - left) * followed : (1 - left) * (1 - followed);
        add(now, index, delayed);
        const double length =
            kBlockStepNs + kBlockDelayNs * of_delay + noise(random) + drift_ns * static_cast<double>(index);
        now += static_cast<std::int64_t>(length);
        ++index;
      }
    }
    singles.launches.push_back(
        {.process_id = 1,
         .target = 0,
         .kernel_id = 7,
         .ordinal = 3,
         .slope = InterventionEstimate{single_slope, single_slope - 0.05, single_slope + 0.05}});
  }

  void add(std::int64_t now, std::int64_t index, bool delayed) {
    store::Step step;
    step.id = index + 1;
    step.process_id = 1;
    step.step_index = index;
    step.phase = Phase::after;
    step.gpu_start_ns = now;
    step.gpu_end_ns = now + kBlockStepNs;
    steps.push_back(step);
    for (const std::int64_t target : {0, 1}) {
      Intervention delay;
      delay.process_id = 1;
      delay.step_id = step.id;
      delay.target = target;
      delay.kernel_id = 7 + target;
      delay.ordinal = 3 + target;
      delay.level_ns = delayed && target == 0 ? kBlockDelayNs : 0;
      delay.start_ns = now + 1'000'000;
      delay.end_ns = *delay.start_ns + kBlockShamNs + delay.level_ns;
      delays.push_back(delay);
    }
    if (index % 5 != 0) return;
    store::ClockSample sample;
    sample.device_id = 1;
    sample.time_ns = now + 1;
    sample.sm_clock_hz = delayed ? 1'500'000'000 : 1'400'000'000;
    sample.power_mw = 700'000;
    sample.throttle_reasons = 0x4;
    clocks.push_back(sample);
  }

  std::optional<PowerBlocks> analysed() {
    make();
    return accepted(analyse_power_blocks(delays, steps, clocks, singles));
  }
};

TEST(PowerBlocks, WhatTheClockGivesBackIsNotThere) {
  BlockRecording recording;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->verdict, BlockVerdict::known);
  EXPECT_EQ(blocks->delayed.blocks, 5);
  EXPECT_EQ(blocks->alone.blocks, 5);
  EXPECT_EQ(blocks->target, 0);
  EXPECT_EQ(blocks->kernel_id, 7);
  EXPECT_EQ(blocks->level_ns, kBlockDelayNs);
  EXPECT_NEAR(blocks->delay_ns, kBlockDelayNs, 1) << "less a sham";
  EXPECT_NEAR(blocks->settling_ns, 3e9, 3e7);
  ASSERT_TRUE(blocks->slope && blocks->left);
  EXPECT_NEAR(blocks->slope->value, 0.75, 0.03) << "the seconds in which the clock swings are left out";
  EXPECT_LE(blocks->left->low, 0.75);
  EXPECT_GE(blocks->left->high, 0.75);
  ASSERT_TRUE(blocks->delayed.clock_hz && blocks->alone.clock_hz && blocks->alone.power_w);
  EXPECT_NEAR(*blocks->delayed.clock_hz, 1.5e9, 1e6);
  EXPECT_NEAR(*blocks->alone.clock_hz, 1.4e9, 1e6);
  EXPECT_NEAR(*blocks->alone.power_w, 700, 1e-6);
  EXPECT_NEAR(blocks->alone.limited_ratio.value_or(0), 1, 1e-9);
}

TEST(PowerBlocks, WithoutALimitAllOfItIsLeft) {
  BlockRecording recording;
  recording.left = 1;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks && blocks->left);
  EXPECT_NEAR(blocks->left->value, 1, 0.03);
}

TEST(PowerBlocks, ALaunchThatReachesTheStepInPartIsDividedByThat) {
  BlockRecording recording;
  recording.left = 0.375;
  recording.single_slope = 0.5;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks && blocks->left);
  EXPECT_NEAR(blocks->left->value, 0.75, 0.06);
  EXPECT_LE(blocks->left->low, 0.75);
  EXPECT_GE(blocks->left->high, 0.75);
}

TEST(PowerBlocks, DriftIsNoneOfTheDelays) {
  BlockRecording recording;
  recording.drift_ns = 200;  // 0.6 ms from the first step to the last
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks && blocks->slope);
  EXPECT_NEAR(blocks->slope->value, 0.75, 0.05);
}

TEST(PowerBlocks, FewBlocksSayNothing) {
  BlockRecording recording;
  recording.blocks = 4;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->verdict, BlockVerdict::too_few_blocks);
  EXPECT_FALSE(blocks->slope);
}

TEST(PowerBlocks, ALaunchWithSlackHasNothingToDivideBy) {
  BlockRecording recording;
  recording.single_slope = 0.1;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->verdict, BlockVerdict::no_slope);
  EXPECT_FALSE(blocks->left);
}

TEST(PowerBlocks, WhatVariesTooMuchIsCalledSo) {
  BlockRecording recording;
  recording.noise_ns = 12'000'000;
  const auto blocks = recording.analysed();
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->verdict, BlockVerdict::too_uncertain);
}

TEST(PowerBlocks, ShamsAloneAreNoBlocks) {
  BlockRecording recording;
  recording.delayed_at_all = false;
  EXPECT_FALSE(recording.analysed());
}

TEST(PowerBlocks, SingleStepsKnowNothingOfThem) {
  BlockRecording recording;
  recording.make();
  const InterventionAnalysis single = accepted(analyse_interventions(recording.delays, recording.steps));
  EXPECT_EQ(single.drawn_steps, 0);
  EXPECT_FALSE(single.sham_cost);
  EXPECT_EQ(single.sham_step_ns, 0);
}

// 1 - beta / alpha e, which what-if takes of a gain in pauses.
TEST(PowerBlocks, TheExpectationIsThatOfAGainInPauses) {
  PowerTerm term;
  EXPECT_EQ(accepted(power_leaves(term, {.idle_ns = 1})).value, 1) << "where the limit does not hold";
  term.state = PowerTerm::State::holds;
  term.alpha = {1.4, 2.0, 2.4};
  term.beta = {0.5, 0.7, 0.9};
  const Interval left = accepted(power_leaves(term, {.idle_ns = 1}));
  EXPECT_NEAR(left.value, 1 - 0.7 / 2 * 0.7, 1e-9);
  EXPECT_NEAR(left.low, 1 - 0.9 / 1.4 * 0.8, 1e-9);
  EXPECT_NEAR(left.high, 1 - 0.5 / 2.4 * 0.6, 1e-9);
}

}  // namespace
}  // namespace ridgeline::analyzer
