// What recording costs, from blocks of steps; and steps beside the schedule in the capture.
#include "recording/price.h"

#include <atomic>
#include <cmath>

#include "import/import_testing.h"
#include "spool/price_ahead.h"
#include "support/accepted_cases.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::accepted;

constexpr std::int64_t kPriceMillisecond = 1'000'000;

StepBlock step_block(bool alone, std::uint32_t first_step, std::int64_t start_ms, std::int64_t took_ns) {
  StepBlock block;
  block.alone = alone;
  block.first_step = first_step;
  block.steps = 3;
  block.start_ns = start_ms * kPriceMillisecond;
  block.end_ns = block.start_ns + took_ns;
  return block;
}

// Alone 30 ms a step, recorded 33, with some spread.
std::vector<StepBlock> host_bound_blocks() {
  return {step_block(false, 2, 0, 99'300'000),    step_block(true, 6, 200, 90'300'000),
          step_block(false, 12, 400, 98'700'000), step_block(true, 16, 600, 89'700'000),
          step_block(false, 22, 800, 99'000'000), step_block(true, 26, 1000, 90'000'000)};
}

TEST(RecordingPrice, IsTheDifferenceOfThePacesWithItsInterval) {
  const auto price = accepted(price_of(host_bound_blocks(), RecordedSteps{}));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->code, ReasonCode::recording_price);
  EXPECT_EQ(price->number("alone_ns"), 30'000'000);
  EXPECT_EQ(price->number("recorded_ns"), 33'000'000);
  EXPECT_EQ(price->number("steps_alone"), 9);
  EXPECT_EQ(price->number("steps_recorded"), 9);
  // Both deviate by 100 us a step; t of four degrees of freedom.
  EXPECT_NEAR(static_cast<double>(price->number("error_ns")), 2.776 * 100'000 * std::sqrt(2.0 / 3), 500);
}

// Two processes took turns on one GPU: 285.9 ms alone, 161.4 recorded, +- 198.5.
TEST(RecordingPrice, IsNoneWhereItsErrorIsAsLargeAsTheStep) {
  auto blocks = host_bound_blocks();
  blocks[0].end_ns += 90 * kPriceMillisecond;
  EXPECT_FALSE(accepted(price_of(blocks, RecordedSteps{})));
  blocks[0].end_ns -= 80 * kPriceMillisecond;
  EXPECT_TRUE(accepted(price_of(blocks, RecordedSteps{}))) << "a wide one is said";
}

// The host slows down from block to block, by 1.5 ms a step each time, and recording adds 1 ms, give or take 20 us.
TEST(RecordingPrice, ADriftIsOutOfWhatABlockDiffersByFromThoseBesideIt) {
  std::vector<StepBlock> blocks;
  for (std::uint32_t i = 0; i < 15; ++i) {
    const bool alone = i % 2 == 1;
    const std::int64_t noise_ns = i % 4 == 0 ? 20'000 : -20'000;
    const std::int64_t pace_ns =
        (20 * 1000 + 1500 * i) * 1000 + (alone ? 0 : kPriceMillisecond + noise_ns * (i % 3 == 0 ? 1 : -1));
    blocks.push_back(step_block(alone, 5 * i, 1000 * i, 3 * pace_ns));
  }
  const auto price = accepted(price_of(blocks, RecordedSteps{}));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 30'500'000);
  EXPECT_NEAR(static_cast<double>(price->number("recorded_ns")), 31'500'000, 8000);
  EXPECT_LE(price->number("error_ns"), 25'000);
  EXPECT_GE(price->number("error_ns"), 10'000);
  auto others = blocks;
  others.pop_back();  // the last one alone has none behind it
  EXPECT_EQ(accepted(price_of(others, RecordedSteps{}))->number("alone_ns"), 29'000'000);
  others.erase(others.begin() + 6);  // two in a row are between the same ones
  EXPECT_EQ(accepted(price_of(others, RecordedSteps{}))->number("alone_ns"), 29'000'000);
  EXPECT_NEAR(static_cast<double>(accepted(price_of(others, RecordedSteps{}))->number("recorded_ns")),
              30'000'000, 12'000);
  blocks.resize(9);  // four: all with all
  EXPECT_GE(accepted(price_of(blocks, RecordedSteps{}))->number("error_ns"), 1'000'000);
}

TEST(RecordingPrice, WhatRemainedIsTakenOff) {
  auto blocks = host_bound_blocks();
  for (StepBlock& block : blocks) {
    block.by_period = true;
    if (block.alone) block.remained_ns = 3 * kPriceMillisecond;
  }
  const auto price = accepted(price_of(blocks, RecordedSteps{}));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 29'000'000);
  EXPECT_EQ(price->number("remained_ns"), 1'000'000);
  EXPECT_EQ(price->number("by_period"), 1);
}

// Recording adds 3 ms, of which all of it and 10 % stays alone as well: the step takes 26.7 ms without a recorder.
TEST(RecordingPrice, WhatTracingKeepsTakingIsTakenOffInProportion) {
  int asked = 0;
  KeptTracing kept{1.1, 0.2};
  const auto ask = [&]() -> std::optional<KeptTracing> {
    ++asked;
    return kept.share >= 0 ? std::optional(kept) : std::nullopt;
  };
  const auto price = accepted(price_of(host_bound_blocks(), RecordedSteps{}, ask));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 26'700'000);
  EXPECT_EQ(price->number("recorded_ns"), 33'000'000);
  EXPECT_EQ(price->number("kept_ns"), 3'300'000);
  const double without = 2.776 * 100'000 * std::sqrt(2.0 / 3);
  EXPECT_NEAR(static_cast<double>(price->number("error_ns")),
              std::hypot(2.1 * without, std::hypot(0.2, 0.2 * 1.1) * 3e6), 1000)
      << "the share is of another program";
  EXPECT_EQ(asked, 1);
  for (const double share : {-1.0, 0.0, 10.0}) {  // not known; none; more than the step
    kept.share = share;
    const auto other = accepted(price_of(host_bound_blocks(), RecordedSteps{}, ask));
    EXPECT_EQ(other->number("alone_ns"), 30'000'000) << share;
    EXPECT_EQ(other->number("kept_ns"), 0) << share;
  }
  kept = {1, 0};
  auto blocks = host_bound_blocks();
  for (StepBlock& block : blocks)
    if (!block.alone) block.end_ns -= 8'900'000;  // longer by 33 us: less than their error
  EXPECT_EQ(accepted(price_of(blocks, RecordedSteps{}, ask))->number("kept_ns"), 33'333);
  for (StepBlock& block : blocks)
    if (!block.alone) block.end_ns -= 300'000;
  const auto shorter = accepted(price_of(blocks, RecordedSteps{}, ask));
  EXPECT_EQ(shorter->number("kept_ns"), 0) << "shorter by chance";
  EXPECT_NEAR(static_cast<double>(shorter->number("recorded_ns") - shorter->number("alone_ns")), -133'333, 2)
      << "as much off as on, or it would be too much in the mean";
}

// The measurement is made beside the rest of the import, and only where the price depends on it.
TEST(RecordingPrice, MeasuredAheadIsTheSame) {
  const TemporaryDirectory directory;
  FakeSpool written(directory.path());
  written.end();
  std::string error;
  const auto reader = spool::Reader::open(written.file(), &error);
  ASSERT_TRUE(reader) << error;
  ScannedSpool spool;
  std::atomic<int> asked{0};
  const std::function<std::optional<KeptTracing>()> ask = [&] {
    ++asked;
    return KeptTracing{1.1, 0.2};
  };
  EXPECT_FALSE(PriceAhead(*reader, spool, ask).get()) << "no blocks";
  EXPECT_EQ(asked, 0);
  spool.blocks = host_bound_blocks();
  const auto ahead = PriceAhead(*reader, spool, ask).get();
  ASSERT_TRUE(ahead);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(*ahead, *price_of(spool.blocks, spool, ask));
  EXPECT_EQ(ahead->number("kept_known"), 1);
  const auto unknown = PriceAhead(*reader, spool, {}).get();
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->number("kept_known"), 0);
  EXPECT_EQ(unknown->number("alone_ns"), 30'000'000);
}

// The host is through with its three steps in 3 ms, the device in 90 and 99.
TEST(RecordingPrice, OfAProgramThatRunsAheadIsTheDevices) {
  RecordedSteps steps;
  std::vector<StepBlock> blocks = host_bound_blocks();
  for (StepBlock& block : blocks) {
    RecordedStep& next = steps.steps[block.first_step + block.steps];
    next.first_joined_id = 1;
    // Its work began 100 us after the block as well, when the host had launched it; behind a block that ran alone the
    // switch comes before the launch.
    next.first_start_ns = block.end_ns + 100'000;
    block.end_ns = block.start_ns + 3 * kPriceMillisecond;
    next.first_enter_ns = block.end_ns + (block.alone ? 500'000 : 100'000);
  }
  const auto nobody_asks = []() -> std::optional<KeptTracing> {
    ADD_FAILURE() << "what launching takes does not reach the step";
    return std::nullopt;
  };
  const auto price = accepted(price_of(blocks, steps, nobody_asks));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 30'000'000);
  EXPECT_EQ(price->number("recorded_ns"), 33'000'000);
  // The host is through with the last step just as the device is, or somewhat later or earlier: nothing jumps.
  for (const std::int64_t late_ns : {-300'000, 40'000, 60'000, 300'000}) {
    for (const StepBlock& block : blocks) {
      RecordedStep& next = steps.steps[block.first_step + block.steps];
      next.first_enter_ns = block.end_ns + 800'000;
      next.first_start_ns = next.first_enter_ns + std::max<std::int64_t>(late_ns, 5000);
    }
    const auto near = accepted(price_of(blocks, steps));
    EXPECT_NEAR(static_cast<double>(near->number("recorded_ns")),
                1'000'000.0 + static_cast<double>(std::max<std::int64_t>(late_ns, 0)) / 3, 17'000)
        << late_ns;
  }
  // A kernel that starts as soon as it is launched says nothing of the device.
  for (auto& [index, step] : steps.steps) step.first_start_ns = step.first_enter_ns + 5000;
  EXPECT_EQ(accepted(price_of(blocks, steps))->number("alone_ns"), 1'000'000);
}

// As above by the period of the launches: the launch in which recording comes back has no record, and its kernel, of
// 1.5 ms, would be in the time of the steps alone.
TEST(RecordingPrice, OfAProgramThatRunsAheadIsWithoutTheLaunchInWhichRecordingComesBack) {
  auto blocks = host_bound_blocks();
  RecordedSteps steps;
  for (StepBlock& block : blocks) {
    block.by_period = true;
    block.launches = block.alone ? 30 : 0;
    for (std::uint32_t i = 0; i < 3 && !block.alone; ++i)
      steps.steps[block.first_step + i].launches_seen = 10;
    RecordedStep& next = steps.steps[block.first_step + 3];
    const std::int64_t through_ns = block.start_ns + 120 * kPriceMillisecond;
    constexpr std::int64_t kFirstKernelNs = 1'500'000;
    next.launches_seen = block.alone ? 9 : 10;
    next.first_joined_id = 1;
    next.first_enter_ns = block.end_ns;
    next.first_start_ns = through_ns + (block.alone ? kFirstKernelNs : 0);
    next.second_joined_id = 2;
    next.second_start_ns = next.first_start_ns + kFirstKernelNs;
  }
  const auto price = price_of(blocks, steps);
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 40'000'000);
  EXPECT_EQ(price->number("recorded_ns"), 40'000'000);
  for (auto& [index, step] : steps.steps) step.first_enter_ns = step.first_start_ns - 1'540'000;
  EXPECT_EQ(price_of(blocks, steps)->number("recorded_ns"), 40'000'000);
  EXPECT_EQ(price_of(blocks, steps)->number("alone_ns"), 30'000'000)
      << "only behind the step's own first kernel: the device was waiting for the host";
  for (auto& [index, step] : steps.steps) step.first_enter_ns = 0;
  for (StepBlock& block : blocks) block.by_period = false;  // a range's begin: its first launch is recorded
  EXPECT_EQ(price_of(blocks, steps)->number("alone_ns"), 40'500'000);
}

// Four micro-steps were taken for steps at first.
TEST(RecordingPrice, IsOfTheStepsThatTheRecordingEndsWith) {
  RecordedSteps steps;
  std::vector<StepBlock> blocks;
  for (const StepBlock& block : host_bound_blocks()) {
    StepBlock early = block;
    early.first_step += 100;
    early.end_ns = early.start_ns + (block.end_ns - block.start_ns) / 4;
    blocks.push_back(early);
  }
  for (const StepBlock& block : host_bound_blocks()) {
    blocks.push_back(block);
    blocks.back().first_step += 200;
  }
  for (StepBlock& block : blocks) {
    block.by_period = true;
    const std::int64_t launches = block.first_step >= 200 ? 2300 : 575;
    if (block.alone) block.launches = 3 * launches;
    for (std::uint32_t i = 0; i < 3 && !block.alone; ++i)
      steps.steps[block.first_step + i].launches_seen = launches;
  }
  const auto price = accepted(price_of(blocks, steps));
  ASSERT_TRUE(price);
  EXPECT_EQ(price->number("alone_ns"), 30'000'000);
  EXPECT_EQ(price->number("recorded_ns"), 33'000'000);
  EXPECT_EQ(price->number("steps_alone"), 9);
  EXPECT_EQ(price->number("launches"), 2300);
  blocks.resize(8);
  EXPECT_FALSE(accepted(price_of(blocks, steps))) << "one of either kind";
}

TEST(RecordingPrice, OneBlockOfEitherKindIsNotEnough) {
  auto blocks = host_bound_blocks();
  blocks.resize(3);
  EXPECT_FALSE(accepted(price_of(blocks, RecordedSteps{})));
  EXPECT_FALSE(accepted(price_of({}, RecordedSteps{})));
  for (StepBlock& block : blocks = host_bound_blocks()) block.end_ns = block.start_ns;  // damaged
  EXPECT_FALSE(accepted(price_of(blocks, RecordedSteps{})));
}

class StepsBesideTheSchedule : public Importer {};

TEST_F(StepsBesideTheSchedule, AreNoneOfItsAndThoseThatRanAloneAreNotThere) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "warmup=1,timeline=2,replay=1");
  const auto one = [&](std::uint32_t index, Phase phase, std::uint16_t flags, int launches) {
    spool.begin_step(index, phase, phase == Phase::replay ? 1 : 0, flags);
    for (int i = 0; i < launches; ++i) spool.launch();
    spool.end_step();
  };
  one(0, Phase::warmup, 0, 4);
  one(1, Phase::timeline, 0, 4);
  one(2, Phase::timeline, spool::kStepAlone | spool::kStepDeferred, 0);
  one(3, Phase::timeline, spool::kStepDeferred, 4);
  one(4, Phase::timeline, 0, 4);
  one(5, Phase::replay, spool::kStepDeferred, 4);  // the counters were in use
  one(6, Phase::replay, 0, 4);
  one(7, Phase::timeline, 0, 4);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(step_index || ' ' || phase, ', ') FROM (SELECT * FROM step "
                   "ORDER BY step_index)"),
            "0 warmup, 1 timeline, 3 after, 4 timeline, 5 after, 6 replay, 7 after");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE status = 'failed'"), "1") << "the replay step";
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "ok");
}

TEST_F(StepsBesideTheSchedule, BlocksBecomeAMessageWithValues) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  for (const StepBlock& block : host_bound_blocks()) {
    spool::StepBlockRecord record{};
    record.header.flags = block.alone ? spool::kBlockAlone : 0;
    record.first_step = 100 + block.first_step;
    record.steps = block.steps;
    record.start_ns = FakeSpool::kOrigin + block.start_ns;
    record.end_ns = FakeSpool::kOrigin + block.end_ns;
    spool.put(record);
  }
  const store::Capture capture = import();
  for (const store::Message& message : capture.messages()) {
    if (message.what.code != ReasonCode::recording_price) continue;
    EXPECT_EQ(message.severity, Severity::info);
    EXPECT_EQ(message.what.number("alone_ns"), 30'000'000);
    EXPECT_EQ(reports::reason_text(message.what),
              "a step takes 30.000 ms alone and 33.000 ms recorded, ± 226.7 µs");
    return;
  }
  FAIL() << "no message";
}

}  // namespace
}  // namespace ridgeline::import::testing
