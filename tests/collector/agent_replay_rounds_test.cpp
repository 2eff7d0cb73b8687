// Step replay where the program's steps are found anew after some of it was counted.
#include <set>

#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;

// What a compiler tries looks like steps until training begins; 200 launches each.
struct TwoKindsOfSteps {
  explicit TwoKindsOfSteps(FakeCupti& its_cupti, std::int64_t counted_ns = 1'000'000)
      : cupti(its_cupti),
        program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,replay=9"},
                        {"RIDGELINE_METRICS_R1", "a,dram__bytes_read.sum"},
                        {"RIDGELINE_METRICS_R2", "a,c"}}) {
    program.while_running = [this, counted_ns] {
      const bool counted = cupti.running && (cupti.segment.graphs == 0 || cupti.pushes > cupti.pops);
      cupti.clock_ns += counted ? counted_ns : 5'000;
    };
    EXPECT_TRUE(program.start());
    program.create_context();
    program.launch("first");
    program.tick();
  }
  void ranges(const std::string& name, int count, const char* kernel, unsigned grid = 1) {
    for (int i = 0; i < count; ++i) {
      program.push((name + std::to_string(i)).c_str());
      for (int launch = 0; launch < 200; ++launch) program.launch(kernel, grid);
      program.pop();
      program.session().tick(cupti.clock_ns);
    }
  }
  FakeCupti& cupti;
  FakeProgram program;
};

// Of the steps that begin after the schedule began anew.
std::uint32_t second_begin(const FakeProgram::Contents& c) {
  for (const auto& begin : c.begins)
    if ((begin.header.flags & spool::kStepSupersedes) != 0) return begin.step_index;
  return spool::kNoStep;
}

TEST(ReplayRounds, WhatIsKnownIsNotCountedAgain) {
  FakeCupti cupti;
  TwoKindsOfSteps p(cupti);
  p.ranges("try kernel ", 12, "k1");
  const int sessions = cupti.sessions_made;
  ASSERT_GE(sessions, 1);
  const auto before = measured(p.program);
  ASSERT_GE(before.counter_steps.size(), 2u);
  for (const auto& step : before.counter_steps) ASSERT_EQ(step.status, CounterStatus::ok);
  p.ranges("train ", 40, "k1");
  EXPECT_EQ(cupti.sessions_made, sessions);
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = measured(p.program);
  const std::uint32_t second = second_begin(c);
  ASSERT_NE(second, spool::kNoStep);
  EXPECT_EQ(c.counter_steps.size(), before.counter_steps.size()) << "none failed either";
  std::size_t spared = 0;
  for (const auto& begin : c.begins) {
    if (begin.step_index < second) continue;
    EXPECT_NE(begin.phase, Phase::replay) << begin.step_index;
    spared += (begin.header.flags & spool::kStepDeferred) != 0 ? 1 : 0;
  }
  EXPECT_EQ(spared, 9u) << "and the schedule is over";
}

TEST(ReplayRounds, WhatIsNewIsCounted) {
  FakeCupti cupti;
  TwoKindsOfSteps p(cupti);
  p.ranges("try kernel ", 12, "k1");
  ASSERT_GE(measured(p.program).counter_steps.size(), 2u);
  p.ranges("train ", 40, "k2");
  const auto c = measured(p.program);
  const std::uint32_t second = second_begin(c);
  ASSERT_NE(second, spool::kNoStep);
  std::set<std::uint32_t> counted;
  for (const auto& step : c.counter_steps)
    if (step.step_index >= second && step.status == CounterStatus::ok) counted.insert(step.config_id);
  EXPECT_EQ(counted, (std::set<std::uint32_t>{1, 2})) << "both sets";
}

TEST(ReplayRounds, TheBudgetIsOneForAllRounds) {
  FakeCupti cupti;
  TwoKindsOfSteps p(cupti, 12'000'000);
  const std::int64_t before_ns = cupti.clock_ns;
  p.ranges("try kernel ", 12, "k1");
  p.ranges("train ", 40, "k2");
  EXPECT_LE(cupti.clock_ns - before_ns, 10'500'000'000);
}

}  // namespace
}  // namespace ridgeline::agent
