// Stall reasons by PC sampling (T3), on a fake CUPTI.
#include <gtest/gtest.h>

#include "agent_testing.h"

namespace ridgeline::agent::testing {
namespace {

struct Stalling {
  explicit Stalling(const std::map<std::string, std::string>& environment = {}) {
    std::map<std::string, std::string> variables = {{"RIDGELINE_SCHEDULE", "timeline=2,stalls=2,timeline=1"}};
    for (const auto& [name, value] : environment) variables[name] = value;
    program = std::make_unique<FakeProgram>(cupti, variables);
  }
  void begin() {
    EXPECT_TRUE(program->start());
    program->create_context();
    program->tick();  // describes the device
  }
  void step(int launches = 2) {
    program->push("step");
    for (int i = 0; i < launches; ++i) program->launch("_Z6kernelv");
    program->pop();
  }
  FakeCupti cupti;
  std::unique_ptr<FakeProgram> program;
};

const std::vector<FakeCupti::FakePc> kTwoInstructions = {
    {"_Z6kernelv", 0x10, 'M', {{14, 30}, {15, 20}, {28, 5}}},
    {"_Z6kernelv", 0x20, 'M', {{14, 1}}},
};

TEST(Stalls, EachStepOfThePhaseIsSampledAndOnlyThose) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.begin();
  run.step();
  run.step();
  EXPECT_EQ(run.cupti.pc_enables, 0);
  run.step();
  EXPECT_EQ(run.cupti.pc_starts, 1);
  EXPECT_EQ(run.cupti.pc_stops, 1);
  EXPECT_EQ(run.cupti.pc_enabled, 1) << "stays enabled between two steps";
  run.step();
  EXPECT_EQ(run.cupti.pc_starts, 2);
  EXPECT_EQ(run.cupti.pc_enabled, 0);
  run.step();
  EXPECT_EQ(run.cupti.pc_enables, 1);
  const auto c = run.program->contents();
  ASSERT_EQ(c.stalls.size(), 8u);
  EXPECT_EQ(c.text(c.stalls[0].stall_reason), "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
  EXPECT_EQ(c.stalls[0].samples, 30u);
  EXPECT_EQ(c.stalls[0].pc_offset, 0x10u);
  EXPECT_EQ(c.stalls[0].step_index, 2u);
  EXPECT_EQ(c.stalls[7].step_index, 3u);
  ASSERT_EQ(c.stall_windows.size(), 1u);
  const auto& window = c.stall_windows[0];
  EXPECT_EQ(window.status, WindowStatus::ok);
  EXPECT_EQ(window.first_step, 2u);
  EXPECT_EQ(window.last_step, 3u);
  EXPECT_EQ(window.samples, 72u) << "what was not issued is a part of its reason";
  EXPECT_EQ(window.foreign_samples, 2u * 3);
  EXPECT_EQ(c.message(spool::Topic::stalls), "");
}

TEST(Stalls, OnlyReasonsAreAskedForNotTheCountersAmongThem) {
  Stalling run;
  run.begin();
  for (int i = 0; i < 3; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_reasons_asked, 3u);
  EXPECT_TRUE(run.cupti.pc_continuous);
  EXPECT_TRUE(run.cupti.pc_start_stop);
}

TEST(Stalls, DataThatDoesNotFitComesInParts) {
  Stalling run;
  for (std::uint32_t i = 0; i < 20'000; ++i) run.cupti.pcs.push_back({"_Z6kernelv", i * 16, 'M', {{14, 1}}});
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  EXPECT_EQ(c.stalls.size(), 40'000u);
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].samples, 40'000u);
  EXPECT_EQ(c.stall_windows[0].foreign_samples, 6u) << "counted once a step";
}

TEST(Stalls, ALackOfPermissionIsSaidOnceWithTheRemedy) {
  Stalling run;
  run.cupti.pc_enable_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  run.begin();
  for (int i = 0; i < 5; ++i) run.step();
  const auto c = run.program->contents();
  int said = 0;
  for (const auto& m : c.messages) said += m.topic == spool::Topic::stalls;
  EXPECT_EQ(said, 1);
  EXPECT_NE(c.message(spool::Topic::stalls).find("CAP_SYS_ADMIN"), std::string::npos);
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::failed);
  EXPECT_EQ(run.cupti.pc_starts, 0);
  EXPECT_EQ(c.ends.size(), 5u) << "the program's steps go on";
}

// CUPTI would finalise itself in the next call for PC sampling, which kills the program now and then.
TEST(Stalls, AfterAStartThatFailsNothingMoreIsAskedOfIt) {
  Stalling run;
  run.cupti.pc_start_result = CUPTI_ERROR_HARDWARE_BUSY;
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_enabled, 1) << "not disabled";
  EXPECT_EQ(run.cupti.pc_enables, 1) << "nor enabled anew";
  EXPECT_EQ(run.cupti.pc_stops, 0);
  const auto c = run.program->contents();
  EXPECT_NE(c.message(spool::Topic::stalls)
                .find("starting PC sampling failed: CUPTI_ERROR_FAKE (26); another process"),
            std::string::npos)
      << c.message(spool::Topic::stalls);
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::failed);
}

// Before that nobody could say whether the counters are in use.
TEST(Stalls, TheDeviceIsDescribedFirst) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  EXPECT_TRUE(run.program->start());
  run.program->create_context();
  for (int i = 0; i < 4; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_enables, 0);
  run.program->tick();
  for (int i = 0; i < 2; ++i) run.step();
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].first_step, 4u);
  EXPECT_EQ(c.stall_windows[0].last_step, 5u);
}

TEST(Stalls, CountersInUseAreWaitedFor) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.begin();
  run.step();
  run.cupti.availability_result = CUPTI_ERROR_HARDWARE_BUSY;
  for (int i = 0; i < 6; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_enables, 0);
  EXPECT_TRUE(run.program->contents().stall_windows.empty());
  run.cupti.availability_result = CUPTI_SUCCESS;
  run.cupti.clock_ns += 3'000'000'000;
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::ok);
  EXPECT_EQ(c.stall_windows[0].last_step, c.stall_windows[0].first_step + 1) << "both of the phase's steps";
  EXPECT_EQ(c.message(spool::Topic::stalls), "");
}

TEST(Stalls, CountersThatStayInUseAreSaid) {
  Stalling run;
  run.begin();
  run.step();
  run.cupti.availability_result = CUPTI_ERROR_HARDWARE_BUSY;
  for (int i = 0; i < 12; ++i) {
    run.step();
    run.cupti.clock_ns += 10'000'000'000;
  }
  const auto c = run.program->contents();
  EXPECT_EQ(run.cupti.pc_enables, 0);
  EXPECT_NE(c.message(spool::Topic::stalls).find("another process or profiler has the counters"),
            std::string::npos);
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::failed);
}

TEST(Stalls, AfterAStopThatFailsNothingMoreIsAskedOfIt) {
  Stalling run;
  run.cupti.pc_stop_result = CUPTI_ERROR_UNKNOWN;
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_enabled, 1) << "not disabled";
  EXPECT_EQ(run.cupti.pc_starts, 1);
  EXPECT_EQ(run.cupti.pc_stops, 1);
  EXPECT_NE(run.program->contents().message(spool::Topic::stalls).find("stopping PC sampling failed"),
            std::string::npos);
}

TEST(Stalls, AFullBufferIsAnOverflow) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.cupti.pc_buffer_full = true;
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::overflow);
  EXPECT_NE(c.message(spool::Topic::stalls).find("buffer was full"), std::string::npos);
}

TEST(Stalls, DroppedSamplesAreCounted) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.cupti.pc_dropped = 11;
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].dropped_samples, 22u);
}

TEST(Stalls, AProgramThatEndsInThePhaseKeepsTheStepsBefore) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.begin();
  for (int i = 0; i < 3; ++i) run.step();
  run.program->session().at_exit(spool::EndReason::exit);
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::ok);
  EXPECT_EQ(c.stall_windows[0].samples, 36u);
  EXPECT_NE(c.text(c.stall_windows[0].reason).find("ended inside the phase"), std::string::npos);
  EXPECT_EQ(run.cupti.pc_enabled, 1) << "nothing of CUPTI at exit";
}

TEST(Stalls, AContextDestroyedInThePhaseFailsIt) {
  Stalling run;
  run.begin();
  for (int i = 0; i < 3; ++i) run.step();
  run.program->destroy_context();
  EXPECT_EQ(run.cupti.pc_enabled, 0);
  const auto c = run.program->contents();
  ASSERT_EQ(c.stall_windows.size(), 1u);
  EXPECT_EQ(c.stall_windows[0].status, WindowStatus::failed);
}

TEST(Stalls, TheTierMayBeSwitchedOff) {
  Stalling run(std::map<std::string, std::string>{{"RIDGELINE_TIERS", "T0,T2"}});
  run.begin();
  for (int i = 0; i < 4; ++i) run.step();
  EXPECT_EQ(run.cupti.pc_enables, 0);
  EXPECT_NE(run.program->contents().message(spool::Topic::stalls).find("RIDGELINE_TIERS"), std::string::npos);
}

TEST(Stalls, AStepWithoutALaunchIsNoWindow) {
  Stalling run;
  run.begin();
  for (int i = 0; i < 4; ++i) run.step(0);
  EXPECT_EQ(run.cupti.pc_enables, 0);
  EXPECT_TRUE(run.program->contents().stall_windows.empty());
}

TEST(Stalls, SourceLinesComeFromCubinsThatHaveThem) {
  Stalling run;
  run.cupti.pcs = kTwoInstructions;
  run.begin();
  // CRC of the fake: the first byte.
  std::string with_lines = "M...ELF .debug_line", without = "N...ELF";
  run.program->load_module(with_lines);
  run.program->load_module(without);
  run.cupti.source_file = "kernel.cu";
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  ASSERT_EQ(c.lines.size(), 2u);
  EXPECT_EQ(c.text(c.lines[0].file), "/src/kernel.cu");
  EXPECT_EQ(c.lines[0].pc_offset, 0x10u) << "most sampled first";
  EXPECT_EQ(c.lines[0].line, 1u + 0x10);
  EXPECT_EQ(c.lines[1].line, 1u + 0x20);
}

TEST(Stalls, WithoutTheCubinThereAreSamplesButNoLines) {
  Stalling run;
  run.cupti.pcs = {{"_Z6kernelv", 0x10, 'X', {{14, 30}}}};
  run.begin();
  std::string with_lines = "M...ELF .debug_line";
  run.program->load_module(with_lines);
  for (int i = 0; i < 4; ++i) run.step();
  const auto c = run.program->contents();
  EXPECT_EQ(c.stalls.size(), 2u);
  EXPECT_TRUE(c.lines.empty());
}

TEST(Stalls, ThePeriodFitsTheWindow) {
  // 132 SMs at 1.98 GHz for 216 ms: 4 million samples want about 14,100 cycles.
  EXPECT_EQ(pc_sampling_period_log2(132, 1'980'000'000, 216'000'000), 14u);
  EXPECT_EQ(pc_sampling_period_log2(132, 1'980'000'000, 4 * 216'000'000), 16u);
  EXPECT_EQ(pc_sampling_period_log2(132, 1'980'000'000, 1000), 11u) << "finer, and samples are dropped";
  EXPECT_EQ(pc_sampling_period_log2(132, 1'980'000'000, INT64_MAX / 2), 31u);
  EXPECT_EQ(pc_sampling_period_log2(0, 1'980'000'000, 1000), 0u);
  EXPECT_EQ(pc_sampling_period_log2(132, 0, 1000), 0u);
  EXPECT_EQ(pc_sampling_period_log2(132, 1'980'000'000, 0), 0u);
}

}  // namespace
}  // namespace ridgeline::agent::testing
