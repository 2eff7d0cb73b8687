// Step replay against a fake CUPTI: what is counted where counting all would take longer than it may.
#include <algorithm>
#include <set>

#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;

// Steps of 500 launches of two kernels; a launch that is counted takes that much longer.
struct LongSteps {
  LongSteps(FakeCupti& cupti, const char* budget_ms, std::int64_t counted_ns,
            const char* schedule = "timeline=2,replay=3")
      : program(cupti, {{"RIDGELINE_SCHEDULE", schedule},
                        {"RIDGELINE_METRICS_R1", "a,dram__bytes_read.sum"},
                        {"RIDGELINE_METRICS_R2", "a,c"},
                        {"RIDGELINE_BUDGET_MS", budget_ms}}) {
    program.while_running = [&cupti, counted_ns] {
      const bool counted = cupti.running && (cupti.segment.graphs == 0 || cupti.pushes > cupti.pops);
      cupti.clock_ns += counted ? counted_ns : 1000;
    };
    EXPECT_TRUE(program.start());
    program.create_context();
    program.launch("first");
    program.tick();
    step();
    step();
  }
  void step() {
    program.push("step");
    for (int i = 0; i < 500; ++i) program.launch(i % 10 == 9 ? "k2" : "k1");
    program.pop();
  }
  FakeProgram program;
};

std::map<std::uint32_t, std::uint32_t> kernels_of(const FakeProgram::Contents& c, std::uint32_t step) {
  std::map<std::uint32_t, std::set<std::uint32_t>> ordinals;
  for (const auto& value : c.values)
    if (value.step_index == step) ordinals[value.kernel_id].insert(value.step_ordinal);
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const auto& [kernel, at] : ordinals) counts[kernel] = static_cast<std::uint32_t>(at.size());
  return counts;
}

// Of 4 s a quarter is for start and end, and as much for the rows of 200,000 launches.
TEST(ReplayBudget, LeavesRoomForTheRowsOfALongTimeline) {
  const auto used = [](int launches_before) {
    FakeCupti cupti;
    LongSteps p(cupti, "4000", 10'000'000, "timeline=2,replay=6");
    for (int i = 0; i < launches_before; ++i) p.program.launch("outside");
    for (int i = 0; i < 6; ++i) p.step();
    p.program.session().at_exit(spool::EndReason::exit);
    const std::string said = measured(p.program).message(spool::Topic::replay);
    const std::string words = "counting used ";
    const std::size_t at = said.find(words);
    return at == std::string::npos ? -1.0 : std::stod(said.substr(at + words.size()));
  };
  EXPECT_NEAR(used(0), 2.8, 0.2);
  EXPECT_NEAR(used(200'000), 1.8, 0.2);
}

TEST(ReplayBudget, CountsAllWhereThatFits) {
  FakeCupti cupti;
  LongSteps p(cupti, "10000", 1'350'000);
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_EQ(cupti.pushes, 0);
  EXPECT_EQ(cupti.sessions_made, 1) << "in rotation";
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& step : c.counter_steps) EXPECT_EQ(step.ranges_received, 500u);
}

TEST(ReplayBudget, ElseCountsLaunchesOfEachKind) {
  FakeCupti cupti;
  LongSteps p(cupti, "1500", 1'350'000);
  const std::int64_t before_ns = cupti.clock_ns;
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_LE(cupti.clock_ns - before_ns, 1'500'000'000);
  EXPECT_EQ(cupti.log.back(), "stop");
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& step : c.counter_steps) {
    EXPECT_EQ(step.status, CounterStatus::ok) << c.text(step.reason);
    EXPECT_EQ(step.launches_expected, 500u) << "the program's own";
  }
  const auto counts = kernels_of(c, 2);
  ASSERT_EQ(counts.size(), 2u) << "both kinds";
  for (const auto& [kernel, count] : counts) {
    EXPECT_GE(count, 2u);
    EXPECT_LE(count, 60u);
  }
  // A launch that was not counted is like any other.
  EXPECT_TRUE(std::none_of(c.launches.begin(), c.launches.end(), [](const spool::LaunchRecord& launch) {
    return (launch.header.flags & spool::kLaunchExcluded) != 0;
  }));
  EXPECT_NE(c.message(spool::Topic::replay).find("2 kinds of launch"), std::string::npos)
      << c.message(spool::Topic::replay);
}

TEST(ReplayBudget, IsNeverPassed) {
  FakeCupti cupti;
  LongSteps p(cupti, "1500", 100'000'000);  // seventy times what was thought
  const std::int64_t before_ns = cupti.clock_ns;
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_LE(cupti.clock_ns - before_ns, 1'600'000'000);
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  std::map<std::uint32_t, spool::CounterStepRecord> steps;
  for (const auto& step : c.counter_steps) steps[step.step_index] = step;
  EXPECT_EQ(steps[2].status, CounterStatus::ok);
  EXPECT_EQ(steps[4].status, CounterStatus::not_available);
  EXPECT_NE(c.text(steps[4].reason).find("--budget"), std::string::npos) << c.text(steps[4].reason);
}

TEST(ReplayBudget, IsNotPassedWhereAllWasThoughtToFit) {
  FakeCupti cupti;
  LongSteps p(cupti, "4000", 20'000'000);  // 10 s a step
  const std::int64_t before_ns = cupti.clock_ns;
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_LE(cupti.clock_ns - before_ns, 4'100'000'000);
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  EXPECT_EQ(cupti.sessions_open, 0);
}

TEST(ReplayBudget, IsAlsoForTheStartAndTheEndOfTheRecording) {
  FakeCupti cupti;
  LongSteps p(cupti, "10000", 20'000'000);  // all was thought to fit
  const std::int64_t before_ns = cupti.clock_ns;
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_LE(cupti.clock_ns - before_ns, 8'600'000'000);
  EXPECT_GT(cupti.clock_ns - before_ns, 7'000'000'000);
}

TEST(ReplayBudget, OfNothingCountsNothing) {
  FakeCupti cupti;
  LongSteps p(cupti, "0", 1'350'000);
  for (int i = 0; i < 3; ++i) p.step();
  EXPECT_EQ(cupti.sessions_made, 0);
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& step : c.counter_steps) EXPECT_EQ(step.status, CounterStatus::not_available);
}

// Of the instructions and of cold caches the user asked for every launch.
TEST(ReplayBudget, IsOfReplayStepsAlone) {
  FakeCupti cupti;
  LongSteps p(cupti, "0", 1'350'000, "timeline=2,flops=1");
  p.step();
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 500u);
}

}  // namespace
}  // namespace ridgeline::agent
