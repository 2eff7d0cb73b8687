#include "ridgeline/analyzer/steps/phases.h"

#include <gtest/gtest.h>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

std::vector<StepSummary> steps_of(std::vector<std::pair<Phase, std::int64_t>> of) {
  std::vector<StepSummary> steps;
  for (const auto& [phase, duration_ns] : of) {
    StepSummary step;
    step.step_id = static_cast<store::Id>(steps.size()) + 1;
    step.process_id = 1;
    step.phase = phase;
    step.status = StepStatus::ok;
    step.gpu_duration_ns = duration_ns;
    steps.push_back(step);
  }
  return steps;
}

TEST(Phases, CountAndSpreadOfEachPhaseInTheirOrder) {
  const auto steps = steps_of({{Phase::warmup, 900},
                               {Phase::timeline, 100},
                               {Phase::timeline, 104},
                               {Phase::timeline, 102},
                               {Phase::warmup, 700},
                               {Phase::timeline, 0}});
  const auto phases = accepted(summarise_phases(steps));
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].phase, Phase::warmup);
  EXPECT_EQ(phases[0].steps, 2);
  EXPECT_EQ(phases[1].steps, 4);
  EXPECT_EQ(phases[1].spread.count, 3) << "a step without a time has no place in the spread";
  EXPECT_DOUBLE_EQ(phases[1].spread.median_ns, 102);
  EXPECT_DOUBLE_EQ(phases[1].spread.min_ns, 100);
  EXPECT_DOUBLE_EQ(phases[1].spread.max_ns, 104);
  EXPECT_DOUBLE_EQ(phases[1].spread.p10_ns, 100.4);
  EXPECT_DOUBLE_EQ(phases[1].spread.p90_ns, 103.6);
  EXPECT_TRUE(phases[1].outliers.empty()) << "three steps say nothing about the fourth";
}

// A hundred rounds of something that was taken for the step at first.
TEST(Phases, WhatGaveWayToOtherStepsIsNone) {
  auto steps =
      steps_of({{Phase::warmup, 1}, {Phase::warmup, 2}, {Phase::warmup, 900}, {Phase::timeline, 100}});
  steps[0].reason = steps[1].reason = Reason(ReasonCode::step_superseded);
  const auto phases = summarise_phases(steps);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].steps, 1);
  EXPECT_DOUBLE_EQ(phases[0].spread.median_ns, 900);
}

TEST(Phases, ProcessesStandApart) {
  auto steps = steps_of({{Phase::timeline, 100}, {Phase::timeline, 200}});
  steps[1].process_id = 2;
  EXPECT_EQ(accepted(summarise_phases(steps)).size(), 2u);
}

TEST(Phases, OutliersAreFarInMadsAndInShare) {
  const auto outliers = [](std::int64_t last) {
    const auto steps = steps_of({{Phase::timeline, 1000},
                                 {Phase::timeline, 1001},
                                 {Phase::timeline, 999},
                                 {Phase::timeline, 1000},
                                 {Phase::timeline, 1001},
                                 {Phase::timeline, last}});
    return accepted(summarise_phases(steps))[0].outliers;
  };
  EXPECT_EQ(outliers(1060), std::vector<std::size_t>{5});
  EXPECT_EQ(outliers(940), std::vector<std::size_t>{5});
  EXPECT_TRUE(outliers(1040).empty()) << "many MADs, but 4 % of the median only";
}

TEST(Phases, UnusualStepsAreFailuresOutliersAndTheAnalysedOne) {
  auto steps = steps_of({{Phase::timeline, 1000},
                         {Phase::timeline, 1001},
                         {Phase::timeline, 2000},
                         {Phase::timeline, 1000},
                         {Phase::timeline, 1001},
                         {Phase::timeline, 1000}});
  steps[4].status = StepStatus::failed;
  const auto phases = accepted(summarise_phases(steps));
  EXPECT_EQ(phases[0].not_ok, 1);
  EXPECT_EQ(accepted(unusual_steps(steps, phases, steps[1].step_id, 20)),
            (std::vector<std::size_t>{1, 2, 4}));
  EXPECT_EQ(accepted(unusual_steps(steps, phases, -1, 1)), std::vector<std::size_t>{4}) << "failures first";
}

}  // namespace
}  // namespace ridgeline::analyzer
