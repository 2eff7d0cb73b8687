// What steps got done in their time, and what memory was held meanwhile.
#include "ridgeline/analyzer/work/step_pace.h"

#include <gtest/gtest.h>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

StepSummary paced_step(store::Id id, std::int64_t gpu_duration_ns, Phase phase = Phase::timeline) {
  StepSummary step;
  step.step_id = id;
  step.process_id = 1;
  step.step_index = id;
  step.phase = phase;
  step.gpu_duration_ns = gpu_duration_ns;
  return step;
}

SizedRange sized(store::Id step_id, std::int64_t start_ns, std::int64_t end_ns, int depth, double tokens,
                 std::int64_t thread_id = 1) {
  return {step_id, thread_id, start_ns, end_ns, depth, {tokens, std::nullopt}};
}

TEST(StepPace, RatesAreOfWhatAStepDeclaresAndWhatItDoesNotIsAbsent) {
  const std::vector<StepSummary> steps = {paced_step(1, 50'000'000), paced_step(2, 100'000'000),
                                          paced_step(3, 0)};
  const auto pace =
      accepted(step_pace(steps, {sized(1, 0, 100, 0, 1000), sized(3, 200, 300, 0, 1000)}, {}, {}));
  ASSERT_EQ(pace.size(), 3U);
  EXPECT_DOUBLE_EQ(*pace[0].tokens_per_s, 20'000);
  EXPECT_DOUBLE_EQ(*pace[0].steps_per_s, 20);
  EXPECT_FALSE(pace[0].samples_per_s);
  EXPECT_FALSE(pace[0].allocated_bytes);
  EXPECT_FALSE(pace[1].tokens_per_s) << "nothing was declared for it";
  EXPECT_DOUBLE_EQ(*pace[1].steps_per_s, 10);
  EXPECT_FALSE(pace[2].steps_per_s) << "it has no time on the GPU";
  EXPECT_FALSE(pace[2].tokens_per_s);
  EXPECT_EQ(pace[2].size.tokens, 1000);
}

TEST(StepPace, ARecordedWindowIsNoStepThatWouldHaveAPace) {
  std::vector<StepSummary> steps = {paced_step(1, 50'000'000)};
  steps[0].source = StepSource::window;
  const auto pace = accepted(step_pace(steps, {sized(1, 0, 100, 0, 1000)}, {}, {}));
  EXPECT_FALSE(pace[0].steps_per_s);
  EXPECT_DOUBLE_EQ(*pace[0].tokens_per_s, 20'000) << "what was declared got done all the same";
}

TEST(StepPace, AStepThatWasCutShortHasNone) {
  std::vector<StepSummary> steps = {paced_step(1, 50'000'000), paced_step(2, 2'000'000)};
  steps[1].status = StepStatus::interrupted;
  const auto pace = accepted(step_pace(steps, {sized(2, 0, 100, 0, 1000)}, {}, {}));
  EXPECT_TRUE(pace[0].steps_per_s);
  EXPECT_FALSE(pace[1].steps_per_s);
  EXPECT_FALSE(pace[1].tokens_per_s);
}

// A step and its micro-batches may both say how many tokens they have; threads work on different ones.
TEST(StepPace, OnlyTheOutermostRangesOfEachThreadCount) {
  EXPECT_EQ(accepted(size_of({sized(1, 10, 40, 1, 500), sized(1, 0, 100, 0, 1000), sized(1, 50, 90, 1, 500)}))
                .tokens,
            1000);
  EXPECT_EQ(accepted(size_of({sized(1, 10, 40, 1, 500), sized(1, 50, 90, 1, 500)})).tokens, 1000);
  EXPECT_EQ(accepted(size_of({sized(1, 0, 100, 0, 1000), sized(1, 0, 100, 0, 1000, 2)})).tokens, 2000);
  EXPECT_EQ(accepted(size_of({sized(1, 0, 100, 1, 400), sized(1, 0, 100, 0, 1000)})).tokens, 1000)
      << "by depth";
  EXPECT_FALSE(accepted(size_of({})).tokens);
}

TEST(StepPace, AStepHoldsWhatWasTakenBeforeItAndAtMostInIt) {
  const std::vector<StepSummary> steps = {paced_step(1, 1), paced_step(2, 1), paced_step(3, 1)};
  const std::vector<HostStep> hosts = {{1, 1, 100, 200}, {2, 1, 200, 300}, {3, 1, 300, 400}};
  const std::vector<HeldMemory> memory = {{1, 1, 210, 900},
                                          {1, 1, 220, 300},  // device 1, out of order
                                          {1, 2, 150, 50},
                                          {1, 1, 110, 400},
                                          {2, 1, 120, 7777}};  // another process
  const auto pace = accepted(step_pace(steps, {}, memory, hosts));
  EXPECT_EQ(pace[0].allocated_bytes, 450) << "both devices";
  EXPECT_EQ(pace[1].allocated_bytes, 950) << "the most of it, not what was left";
  EXPECT_EQ(pace[2].allocated_bytes, 350) << "nothing was called in it: what was held before";
  const auto late = accepted(step_pace(steps, {}, {{1, 1, 250, 64}}, hosts));
  EXPECT_FALSE(late[0].allocated_bytes) << "nothing had been seen yet";
  EXPECT_EQ(late[1].allocated_bytes, 64);
  const auto freed = accepted(step_pace(steps, {}, {{1, 1, 50, 64}, {1, 1, 60, 0}}, hosts));
  EXPECT_EQ(freed[0].allocated_bytes, 0) << "none is held, which is known";
}

TEST(StepPace, ASummaryIsOfTheTimelineStepsOfTheProcess) {
  StepAnalysis analysis;
  analysis.process_id = 1;
  analysis.steps = {paced_step(1, 10'000'000, Phase::warmup), paced_step(2, 20'000'000),
                    paced_step(3, 40'000'000), paced_step(4, 50'000'000)};
  analysis.steps[3].process_id = 2;
  std::vector<StepPace> pace = accepted(step_pace(analysis.steps, {}, {}, {}));
  pace[1].allocated_bytes = 5;
  pace[2].allocated_bytes = 3;
  const PaceSummary summary = accepted(summarise_pace(analysis, pace));
  ASSERT_TRUE(summary.steps_per_s);
  EXPECT_EQ(summary.steps_per_s->steps, 2);
  EXPECT_DOUBLE_EQ(summary.steps_per_s->median, 37.5);
  EXPECT_FALSE(summary.tokens_per_s);
  EXPECT_EQ(summary.min_allocated_bytes, 3);
  EXPECT_EQ(summary.max_allocated_bytes, 5);
  EXPECT_FALSE(accepted(summarise_pace(analysis, {})).steps_per_s);
}

}  // namespace
}  // namespace ridgeline::analyzer
