// Recording windows: delay, duration, commands of the launcher; nothing of what lies outside.
#include <gtest/gtest.h>

#include <algorithm>

#include "agent_testing.h"
#include "steps/window.h"

namespace ridgeline::agent {
namespace {

using spool::WindowEdge;
using testing::FakeCupti;
using testing::FakeProgram;
using Action = WindowPlan::Action;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(WindowPlan, OpensAtTheStartUnlessToldOtherwise) {
  EXPECT_TRUE(WindowPlan({}, nullptr).opens_at_start());
  EXPECT_TRUE(WindowPlan({.duration_ns = 5}, nullptr).opens_at_start());
  EXPECT_FALSE(WindowPlan({.after_ns = 5}, nullptr).opens_at_start());
  EXPECT_FALSE(WindowPlan({.wait = true}, nullptr).opens_at_start());
}

TEST(WindowPlan, CountsTheDelayFromTheFirstContext) {
  WindowPlan plan({.after_ns = 3 * kSecond, .duration_ns = 2 * kSecond}, nullptr);
  WindowCause cause{};
  EXPECT_EQ(plan.due(false, 0, 100 * kSecond, &cause), Action::none) << "no context yet";
  plan.context_created(100 * kSecond);
  plan.context_created(102 * kSecond);
  EXPECT_EQ(plan.due(false, 0, 103 * kSecond - 1, &cause), Action::none);
  EXPECT_EQ(plan.due(false, 0, 103 * kSecond, &cause), Action::open);
  EXPECT_EQ(cause, WindowCause::delay);
  EXPECT_EQ(plan.due(true, 103 * kSecond, 104 * kSecond, &cause), Action::none);
  EXPECT_EQ(plan.due(true, 103 * kSecond, 105 * kSecond, &cause), Action::close);
  EXPECT_EQ(cause, WindowCause::duration);
  EXPECT_EQ(plan.due(false, 103 * kSecond, 900 * kSecond, &cause), Action::none) << "once";
}

TEST(WindowPlan, FollowsCommands) {
  spool::Control control{};
  WindowPlan plan({.wait = true}, &control);
  plan.context_created(1);
  WindowCause cause{};
  const auto command = [&](spool::WindowCommand c) {
    control.command = static_cast<std::uint32_t>(c);
    ++control.sequence;
  };
  EXPECT_EQ(plan.due(false, 0, kSecond, &cause), Action::none);
  command(spool::WindowCommand::open);
  EXPECT_EQ(plan.due(false, 0, kSecond, &cause), Action::open);
  EXPECT_EQ(cause, WindowCause::signal);
  EXPECT_EQ(plan.due(true, kSecond, kSecond, &cause), Action::none) << "a command acts once";
  command(spool::WindowCommand::open);
  EXPECT_EQ(plan.due(true, kSecond, kSecond, &cause), Action::none) << "open already";
  command(spool::WindowCommand::close);
  EXPECT_EQ(plan.due(true, kSecond, 2 * kSecond, &cause), Action::close);
  // Processes that start later follow the last command.
  EXPECT_FALSE(WindowPlan({}, &control).opens_at_start());
  command(spool::WindowCommand::open);
  EXPECT_TRUE(WindowPlan({.wait = true}, &control).opens_at_start());
}

TEST(WindowPlan, ACommandEndsTheDelay) {
  spool::Control control{};
  WindowPlan plan({.after_ns = 60 * kSecond}, &control);
  plan.context_created(1);
  control.command = static_cast<std::uint32_t>(spool::WindowCommand::open);
  control.sequence = 1;
  WindowCause cause{};
  EXPECT_EQ(plan.due(false, 0, kSecond, &cause), Action::open);
  EXPECT_EQ(plan.due(false, 0, 100 * kSecond, &cause), Action::none);
}

std::vector<spool::RecordingWindowRecord> windows_in(FakeProgram& program) {
  std::vector<spool::RecordingWindowRecord> found;
  std::string error;
  auto reader = spool::Reader::open(program.session().writer().path(), &error);
  EXPECT_TRUE(reader) << error;
  if (reader)
    reader->for_each([&](const spool::RecordView& r) {
      if (const auto* w = r.as<spool::RecordingWindowRecord>()) found.push_back(*w);
    });
  return found;
}

struct Recorded {
  std::uint32_t launch(const char* name = "k") {
    const std::uint32_t id = program.launch(name);
    program.deliver({FakeProgram::kernel(id, name, static_cast<std::uint64_t>(cupti.clock_ns),
                                         static_cast<std::uint64_t>(cupti.clock_ns) + 10)});
    return id;
  }
  void pass(double seconds) {
    for (double t = 0; t < seconds; t += 0.05) program.session().tick(cupti.clock_ns += 50'000'000);
  }
  FakeCupti& cupti;
  FakeProgram& program;
};

TEST(Window, OpensAfterTheDelayAndClosesAfterItsDuration) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_AFTER_MS", "3000"},
                              {"RIDGELINE_DURATION_MS", "2000"},
                              {"RIDGELINE_SCHEDULE", "warmup=1,timeline=1"}});
  ASSERT_TRUE(program.start());
  EXPECT_TRUE(cupti.launch_callbacks) << "on once at the start: the first time is dear";
  program.create_context();
  Recorded run{cupti, program};
  program.push("step");
  run.launch("before");
  program.pop();
  run.pass(2);
  EXPECT_FALSE(cupti.launch_callbacks);
  EXPECT_EQ(cupti.disables, 0) << "a kernel loaded while tracing is off breaks the graphs it gets into later";
  const int flushes = cupti.flushes;
  run.pass(0.8);
  EXPECT_EQ(cupti.flushes, flushes) << "nothing is done outside a window";
  run.pass(0.4);
  EXPECT_TRUE(cupti.launch_callbacks);
  for (int i = 0; i < 3; ++i) {
    program.push("step");
    run.launch("inside");
    program.pop();
  }
  run.pass(2.1);
  run.launch("after");  // between the two, the window drains
  run.pass(1);
  EXPECT_FALSE(cupti.launch_callbacks);
  program.push("step");
  run.launch("after");
  program.pop();
  const auto windows = windows_in(program);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].edge, WindowEdge::open);
  EXPECT_EQ(windows[0].cause, WindowCause::delay);
  EXPECT_EQ(windows[1].edge, WindowEdge::close);
  EXPECT_EQ(windows[1].cause, WindowCause::duration);
  EXPECT_NEAR(static_cast<double>(windows[1].time_ns - windows[0].time_ns), 2e9, 0.11e9);
  const auto c = program.contents();
  EXPECT_EQ(c.launches.size(), 3u);
  EXPECT_EQ(c.kernels.size(), 3u);
  EXPECT_EQ(c.totals.launches_seen, 3u);
  EXPECT_EQ(c.totals.kernel_records, 3u);
  EXPECT_EQ(c.ranges.size(), 3u);
  ASSERT_EQ(c.begins.size(), 3u);
  EXPECT_EQ(c.begins[0].phase, Phase::warmup) << "the schedule counts from the window";
  EXPECT_EQ(c.begins[1].phase, Phase::timeline);
}

TEST(Window, LetsTheOpenStepEnd) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_DURATION_MS", "1000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  program.push("step");
  run.launch();
  run.pass(1.5);
  run.launch();
  program.pop();
  program.push("step");
  run.launch();
  run.pass(1);
  program.pop();
  const auto c = program.contents();
  ASSERT_EQ(c.begins.size(), 1u);
  ASSERT_EQ(c.ends.size(), 1u);
  EXPECT_EQ(c.ends[0].launches_seen, 2u);
  EXPECT_EQ(windows_in(program).size(), 2u);
}

TEST(Window, DoesNotWaitForAStepForEver) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_DURATION_MS", "1000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  program.push("step");
  run.launch();
  run.pass(13);
  EXPECT_EQ(windows_in(program).size(), 2u);
  program.pop();
  const auto c = program.contents();
  EXPECT_EQ(c.begins.size(), 1u);
  EXPECT_TRUE(c.ends.empty()) << "the step was cut";
}

TEST(Window, ClosesTheCountersWithTheStep) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_DURATION_MS", "1000"},
                              {"RIDGELINE_SCHEDULE", "timeline=1,replay=8"},
                              {"RIDGELINE_METRICS_R1", "dram__bytes_read.sum"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  program.push("step");
  run.launch();
  program.pop();
  run.pass(0.2);
  program.push("step");
  run.launch();
  EXPECT_EQ(cupti.sessions_open, 1);
  run.pass(1.2);
  run.launch();
  EXPECT_EQ(cupti.sessions_open, 1) << "the step runs to its end";
  program.pop();
  EXPECT_EQ(cupti.sessions_open, 0) << "though seven replay steps were to follow";
  run.pass(2);
  const auto c = program.contents();
  EXPECT_EQ(windows_in(program).size(), 2u);
  ASSERT_EQ(c.counter_steps.size(), 1u);
}

TEST(Window, WaitsForRecordsOfWhatWasLaunched) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_DURATION_MS", "1000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  const std::uint32_t slow = program.launch("slow");
  run.pass(3);
  EXPECT_TRUE(cupti.launch_callbacks) << "a kernel still runs";
  program.deliver({FakeProgram::kernel(slow, "slow", 5, 6)});
  run.pass(0.6);
  EXPECT_FALSE(cupti.launch_callbacks);
  EXPECT_EQ(program.contents().kernels.size(), 1u);
}

// A peer is in the recording, launches as many collectives, and is not ready: steps go by as warm-up until it is.
TEST(Window, TheScheduleBeginsWithThatOfThePeers) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_WAIT", "1"}, {"RIDGELINE_SCHEDULE", "timeline=2,replay=2"}}, true);
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  spool::Control* control = program.control();
  ASSERT_NE(control, nullptr);
  spool::Peer& peer = control->peers[0];
  peer.pid = static_cast<std::uint32_t>(getppid());
  peer.collectives = 1000;
  run.pass(1);
  control->command = static_cast<std::uint32_t>(spool::WindowCommand::open);
  ++control->sequence;
  const auto step = [&] {
    program.push("step");
    program.launch("_Z23ncclDevKernel_AllReducePv", 1);
    program.pop();
    run.pass(0.01);
  };
  run.pass(1);
  for (int i = 0; i < 4; ++i) step();
  EXPECT_EQ(control->agreed_start, 0u);
  peer.state = static_cast<std::uint32_t>(spool::PeerState::ready);
  for (int i = 0; i < 4; ++i) step();
  EXPECT_NE(control->agreed_start, 0u);
  const auto contents = program.contents();
  ASSERT_EQ(contents.begins.size(), 8u);
  std::vector<Phase> phases;
  for (const auto& begin : contents.begins) phases.push_back(begin.phase);
  // The first step launches the first collective: until then it knows of no peer.
  EXPECT_EQ(phases, (std::vector<Phase>{Phase::timeline, Phase::warmup, Phase::warmup, Phase::warmup,
                                        Phase::warmup, Phase::timeline, Phase::timeline, Phase::replay}));
}

TEST(Window, OpensAndClosesAgain) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_WAIT", "1"}}, true);
  ASSERT_TRUE(program.start());
  program.create_context();
  Recorded run{cupti, program};
  spool::Control* control = program.control();
  ASSERT_NE(control, nullptr);
  const auto command = [&](spool::WindowCommand c) {
    control->command = static_cast<std::uint32_t>(c);
    ++control->sequence;
    run.pass(1);
  };
  run.pass(1);
  run.launch("outside");
  for (int round = 0; round < 2; ++round) {
    command(spool::WindowCommand::open);
    EXPECT_EQ(control->windows_opened, static_cast<std::uint32_t>(round + 1));
    run.launch("inside");
    command(spool::WindowCommand::close);
    EXPECT_EQ(control->windows_closed, static_cast<std::uint32_t>(round + 1));
    run.launch("outside");
  }
  command(spool::WindowCommand::open);
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(control->windows_closed, 2u);
  EXPECT_EQ(control->windows_ended, 1u);
  const auto windows = windows_in(program);
  ASSERT_EQ(windows.size(), 6u);
  EXPECT_EQ(windows[3].cause, WindowCause::signal);
  EXPECT_EQ(windows[5].cause, WindowCause::exit);
  EXPECT_EQ(program.contents().kernels.size(), 2u);
}

TEST(Window, IsTheWholeRunByDefault) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.session().at_exit(spool::EndReason::exit);
  const auto windows = windows_in(program);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].cause, WindowCause::start);
  EXPECT_EQ(windows[1].cause, WindowCause::exit);
}

struct TwoWindows {
  TwoWindows() {
    EXPECT_TRUE(program.start());
    program.create_context();
    run.pass(1);
    command(spool::WindowCommand::open);
    run.launch("inside");
    command(spool::WindowCommand::close);
    EXPECT_GT(cupti.kernels_disabled, 0) << "no graph so far";
  }
  void command(spool::WindowCommand c) {
    program.control()->command = static_cast<std::uint32_t>(c);
    ++program.control()->sequence;
    run.pass(12);
  }
  void capture(bool traced) {
    program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, 1000,
                 [&] { EXPECT_EQ(cupti.kernels_disabled == 0, traced); });
    program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, 1000);
  }
  int said(const char* text) {
    const auto c = program.contents();
    return static_cast<int>(std::count_if(c.messages.begin(), c.messages.end(), [&](const auto& message) {
      return c.text(message.text).find(text) != std::string::npos;
    }));
  }
  FakeCupti cupti;
  FakeProgram program{cupti, {{"RIDGELINE_WAIT", "1"}}, true};
  Recorded run{cupti, program};
  std::string cubin = std::string(64, '\0');
};

// Kernels that were loaded untraced fail in graphs that are made when tracing is on again.
TEST(Window, AGraphAfterAModuleThatWasLoadedBetweenTwoEndsTheTimeline) {
  TwoWindows w;
  w.program.load_module(w.cubin);
  w.command(spool::WindowCommand::open);
  EXPECT_EQ(w.cupti.kernels_disabled, 0) << "the timeline goes on";
  w.capture(false);
  EXPECT_EQ(w.said("the timeline ends here"), 1);
  EXPECT_EQ(w.said("between two recording windows"), 1);
  w.command(spool::WindowCommand::close);
  w.command(spool::WindowCommand::open);
  EXPECT_GT(w.cupti.kernels_disabled, 0) << "for good";
  EXPECT_EQ(w.said("has no kernels"), 1);
}

TEST(Window, AGraphOfModulesLoadedBetweenTwoKeepsTracingOff) {
  TwoWindows w;
  w.program.load_module(w.cubin);
  w.capture(false);
  for (int i = 0; i < 2; ++i) {
    w.command(spool::WindowCommand::open);
    EXPECT_GT(w.cupti.kernels_disabled, 0);
    w.command(spool::WindowCommand::close);
  }
  EXPECT_EQ(w.said("has no kernels"), 1);
}

TEST(Window, AGraphOfModulesThatWereTracedIsRecorded) {
  TwoWindows w;
  w.command(spool::WindowCommand::open);
  w.program.load_module(w.cubin);
  w.capture(true);
  EXPECT_EQ(w.said("the timeline ends here"), 0);
}

TEST(Window, SaysThatTracingDidNotComeBack) {
  TwoWindows w;
  w.cupti.kernel_enable_result = CUPTI_ERROR_UNKNOWN;
  w.command(spool::WindowCommand::open);
  EXPECT_EQ(w.said("the timeline ends here: CUPTI does not record kernels again"), 1);
}

}  // namespace
}  // namespace ridgeline::agent
