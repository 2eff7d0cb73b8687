// Steps by period in the session: programs without ranges, with late ranges, with several contexts.
#include <gtest/gtest.h>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

// A step of 43 launches: 2 ms of the host, then launches 5 us apart.
struct Loop {
  Loop(FakeCupti& c, FakeProgram& p) : cupti(c), program(p) {}
  void step() {
    cupti.clock_ns += 2'000'000;
    program.launch("first", 9);
    for (int layer = 0; layer < 10; ++layer)
      for (const char* name : {"norm", "gemm", "gelu", "add"}) {
        cupti.clock_ns += 5'000;
        program.launch(name, 3);
      }
    program.launch("loss");
    program.launch("update", 100);
    program.session().tick(cupti.clock_ns);
  }
  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  FakeCupti& cupti;
  FakeProgram& program;
};

TEST(StepsByPeriod, GoThroughTheScheduleLikeAnyOther) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "warmup=2,timeline=3,replay=1"},
                              {"RIDGELINE_METRICS_R1", "dram__bytes_read.sum"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  loop.run(600);
  const auto c = program.contents();
  ASSERT_GT(c.begins.size(), 6u);
  EXPECT_EQ(c.begins[0].header.flags, spool::kStepByPeriod);
  EXPECT_EQ(c.begins[1].phase, Phase::warmup);
  EXPECT_EQ(c.begins[4].phase, Phase::timeline);
  EXPECT_EQ(c.begins[5].phase, Phase::replay);
  ASSERT_GE(c.ends.size(), 6u);
  for (const auto& end : c.ends) EXPECT_EQ(end.launches_seen, 43u);
  // One step ends where the next begins.
  EXPECT_LT(c.begins[3].start_ns - c.ends[2].end_ns, 10'000);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, spool::CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 43u);
  const std::string said = c.message(spool::Topic::steps);
  EXPECT_NE(said.find("43 launches"), std::string::npos) << said;
  EXPECT_NE(said.find("beginning with first"), std::string::npos) << said;
}

TEST(StepsByPeriod, GiveWayToARange) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "warmup=2,timeline=3"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  loop.run(500);
  for (int i = 0; i < 4; ++i) {
    program.push("step");
    loop.step();
    program.pop();
  }
  const auto c = program.contents();
  ASSERT_GT(c.begins.size(), 10u);
  const std::size_t first = c.begins.size() - 4;
  EXPECT_EQ(c.begins[first - 1].header.flags, spool::kStepByPeriod);
  EXPECT_EQ(c.begins[first].header.flags, spool::kScheduleStarts | spool::kStepSupersedes);
  EXPECT_EQ(c.begins[first].phase, Phase::warmup) << "the schedule begins anew";
  EXPECT_EQ(c.begins[first + 1].header.flags, 0);
  EXPECT_EQ(c.begins[first + 2].phase, Phase::timeline);
  EXPECT_EQ(c.ends.size(), c.begins.size()) << "the step that was open is ended";
}

// llm.c names its steps "Train step N": nobody said so.
TEST(StepsByPeriod, GiveWayToRangesThatRepeatLikeSteps) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  for (int i = 0; i < 8; ++i) {
    program.push(("Train step " + std::to_string(i)).c_str());
    loop.step();
    program.pop();
  }
  const auto c = program.contents();
  ASSERT_EQ(c.begins.size(), 5u) << "from the fourth on";
  EXPECT_EQ(c.ends.size(), 5u);
  for (const auto& end : c.ends) EXPECT_EQ(end.launches_seen, 43u);
  EXPECT_EQ(c.begins[0].header.flags & spool::kStepByPeriod, 0);
  const std::string said = c.message(spool::Topic::steps);
  EXPECT_NE(said.find("\"Train step #\": 3 seen, 100 % of the launches"), std::string::npos) << said;
}

// JAX's compiler tries kernels, each in a range, before the first step.
TEST(StepsByPeriod, RangesThatStopComingGiveWayToOthers) {
  FakeCupti cupti;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "warmup=2,timeline=30"}, {"RIDGELINE_ALONE_STEPS", "0"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  const auto ranges = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) {
      program.push((name + std::to_string(i)).c_str());
      loop.step();
      program.pop();
    }
  };
  ranges("try kernel ", 12);
  ASSERT_EQ(program.contents().begins.size(), 9u) << "from the fourth on";
  ranges("train ", 30);
  const auto c = program.contents();
  ASSERT_EQ(c.begins.size(), 9u + 18u) << "the first twelve make sure that no kernel is tried any more";
  EXPECT_EQ(c.ends.size(), c.begins.size());
  EXPECT_EQ(c.begins[8].phase, Phase::timeline);
  EXPECT_EQ(c.begins[9].header.flags, spool::kScheduleStarts | spool::kStepSupersedes);
  EXPECT_EQ(c.begins[9].phase, Phase::warmup) << "the schedule begins anew";
  EXPECT_EQ(c.begins[12].phase, Phase::timeline);
  for (const auto& end : c.ends) EXPECT_EQ(end.launches_seen, 43u);
}

TEST(StepsByPeriod, LeaveRangesAloneWhereTheUserNamedOne) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3"}, {"RIDGELINE_STEP_RANGE", "iteration"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  for (int i = 0; i < 8; ++i) {
    program.push("Train step");
    loop.step();
    program.pop();
  }
  EXPECT_TRUE(program.contents().begins.empty());
}

TEST(StepsByPeriod, AreNotLookedForOnceARangeMarksThem) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1"}});
  ASSERT_TRUE(program.start());
  program.push("step");
  program.pop();
  Loop loop(cupti, program);
  loop.run(600);
  EXPECT_EQ(program.contents().begins.size(), 1u);
}

TEST(StepsByPeriod, EndWhenTheProgramDoesSomethingElse) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Loop loop(cupti, program);
  loop.run(600);
  const std::size_t before = program.contents().ends.size();
  for (int i = 0; i < 400; ++i) program.launch("evaluate", 1 + static_cast<unsigned>(i));
  program.session().tick(cupti.clock_ns);
  for (int i = 0; i < 100; ++i) program.launch("evaluate", 1000 + static_cast<unsigned>(i));
  const auto c = program.contents();
  EXPECT_EQ(c.ends.size(), before + 1);
  EXPECT_EQ(c.launches.back().step_index, spool::kNoStep);
}

TEST(StepsByPeriod, TheLastIsWholeIfAllItsLaunchesCame) {
  for (const bool whole : {true, false}) {
    FakeCupti cupti;
    FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1"}});
    ASSERT_TRUE(program.start());
    program.create_context();
    Loop loop(cupti, program);
    loop.run(600);
    if (!whole) program.launch("first", 9);  // a boundary, and no more
    program.session().at_exit(spool::EndReason::exit);
    const auto c = program.contents();
    EXPECT_EQ(c.ends.size() == c.begins.size(), whole);
  }
}

TEST(StepsByPeriod, AreSaidToBeMissing) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.launch("k");
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_NE(program.contents().message(spool::Topic::nvtx_missing).find("no period"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::agent
