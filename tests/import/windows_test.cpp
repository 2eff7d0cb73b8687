// What import makes of recording windows and of steps that no range marks.
#include <random>

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

using spool::WindowEdge;

void window(FakeSpool& spool, WindowEdge edge, WindowCause cause) {
  spool::RecordingWindowRecord record{};
  record.time_ns = FakeSpool::kOrigin + spool.now();
  record.edge = edge;
  record.cause = cause;
  spool.put(record);
}

class WindowImport : public Importer {};

TEST_F(WindowImport, WindowsAreRows) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::delay);
  spool.whole_run();
  window(spool, WindowEdge::close, WindowCause::duration);
  spool.advance(1000);
  window(spool, WindowEdge::open, WindowCause::signal);
  const store::Capture capture = import();
  const auto windows = capture.recording_windows();
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].cause, WindowCause::delay);
  EXPECT_TRUE(windows[0].end_ns.has_value());
  EXPECT_EQ(windows[1].cause, WindowCause::signal);
  EXPECT_EQ(windows[1].end_ns, std::nullopt);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE source = 'nvtx'"), "5") << "steps stay steps";
}

TEST_F(WindowImport, AProcessThatWasLeftAloneIsNoFault) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::start);
  spool.begin_step(0, Phase::timeline);
  for (int i = 0; i < 4; ++i) spool.launch();
  spool.end_step();
  spool.completeness();
  window(spool, WindowEdge::close, WindowCause::duration);
  const store::Capture capture = import();
  EXPECT_FALSE(warned("did not end in order"));
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "ok");
}

TEST_F(WindowImport, AProgramWithoutStepsIsOneStepAWindow) {
  FakeSpool spool(directory_.path());
  for (int round = 0; round < 2; ++round) {
    window(spool, WindowEdge::open, WindowCause::signal);
    spool.advance(100);
    for (int i = 0; i < 5 + round; ++i) spool.launch();
    spool.memcpy(spool::MemcpyKind::host_to_device, spool.now());
    spool.advance(5000);
    window(spool, WindowEdge::close, WindowCause::signal);
    spool.advance(1000);
  }
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(summary_.steps, 2);
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(step_index || ' ' || source || ' ' || phase || ' ' || status) FROM step"),
      "0 window timeline ok,1 window timeline ok");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(n) FROM (SELECT count(*) n FROM launch GROUP BY step_id)"),
            "5,6");
  EXPECT_EQ(scalar(capture, "SELECT count(DISTINCT step_id) FROM memcpy"), "2");
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM launch l JOIN step s ON s.id = l.step_id WHERE l.start_ns < "
                   "s.gpu_start_ns OR l.end_ns > s.gpu_end_ns"),
            "0");
  EXPECT_TRUE(warned("counts as one step")) << "no counters: said";
}

// The agent counted launches in two stretches of a program that has no steps.
TEST_F(WindowImport, WindowsLieBetweenTheStretchesInWhichWasCounted) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::start);
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  for (std::uint32_t stretch = 0; stretch < 2; ++stretch) {
    spool.advance(100);
    for (std::uint32_t i = 0; i < 5 + stretch; ++i) spool.launch();
    spool.advance(5000);
    const std::uint32_t index = spool::kFirstStretch + stretch;
    spool.begin_step(index, Phase::replay, 1, spool::kStepByTime);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step(false);
    spool.counter_value(index, 1, 1, 4096);
    spool.counter_step(index, spool::CounterStatus::ok);
    spool.advance(5000);
  }
  for (int i = 0; i < 9; ++i) spool.launch();
  spool.advance(5000);
  window(spool, WindowEdge::close, WindowCause::exit);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(step_index || ' ' || source || ' ' || phase || ' ' || status || ' ' "
                   "|| n) FROM "
                   "(SELECT s.*, count(*) n FROM step s JOIN launch l ON l.step_id = s.id GROUP BY s.id "
                   "ORDER BY step_index)"),
            "0 window timeline ok 5,1 window replay ok 3,2 window timeline ok 6,3 window replay ok 3,4 "
            "window timeline ok 9");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM recording_window"), "1");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric"), "2");
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM launch l JOIN step s ON s.id = l.step_id WHERE l.start_ns < "
                   "s.gpu_start_ns OR l.end_ns > s.gpu_end_ns"),
            "0");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T2'"), "ok");
  EXPECT_TRUE(warned("counts as one step"));
}

void launch(FakeSpool& spool, std::uint32_t kernel_id, std::uint32_t grid) {
  const spool::LaunchRecord call = spool.call();
  spool.put(call);
  spool.advance(2000);
  spool::KernelRecord kernel = spool.kernel_of(call);
  kernel.kernel_id = kernel_id;
  kernel.grid_x = grid;
  spool.put(kernel);
}

// Seventy steps in a fifth of a second: the agent has hardly looked.
TEST_F(WindowImport, StepsThatTheAgentDidNotFindInTimeAreFound) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::start);
  for (std::uint32_t i = 0; i < 30; ++i) launch(spool, 1 + i % 2, 7 + i);
  for (int step = 0; step < 70; ++step) {
    spool.advance(1'500'000);
    for (std::uint32_t i = 0; i < 49; ++i) launch(spool, 1 + i % 3, 1000 + i);
  }
  spool.completeness();
  window(spool, WindowEdge::close, WindowCause::exit);
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE source = 'period' AND status = 'ok'"), "70");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE phase = 'timeline'"), "60");
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(DISTINCT n) FROM (SELECT count(*) n FROM launch WHERE step_id IS NOT NULL "
             "GROUP BY step_id)"),
      "49");
  EXPECT_EQ(scalar(capture, "SELECT max(ordinal_in_step) FROM launch"), "48");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE step_id IS NULL"), "30");
  EXPECT_EQ(messages_with(capture, "the import found 70 of 49 launches"), 1u);
}

// Each step launches something else, so there is no period; the program marks its steps with numbered ranges.
void marked_steps(FakeSpool& spool, const std::string& step_range) {
  spool.process(4242, "", step_range);
  window(spool, WindowEdge::open, WindowCause::start);
  for (std::uint32_t step = 0; step < 20; ++step) {
    spool.path(10 + step, 0, "Train step " + std::to_string(step));
    const std::int64_t begin = spool.now();
    for (std::uint32_t i = 0; i < 8 + 5 * step % 7; ++i) {
      const spool::LaunchRecord call = spool.call();
      spool.put(call);
      spool.advance(40'000);
      spool::KernelRecord kernel = spool.kernel_of(call);
      kernel.grid_x = 1 + (i * (step + 3)) % 50;
      spool.put(kernel);
    }
    spool::NvtxRangeRecord range{};
    range.range_id = 1 + step;
    range.path_id = 10 + step;
    range.thread_id = 77;
    range.step_index = spool::kNoStep;
    range.kind = spool::NvtxKind::push_pop;
    range.start_ns = FakeSpool::kOrigin + begin;
    range.end_ns = FakeSpool::kOrigin + spool.now();
    spool.put(range);
    spool.advance(100'000);
  }
  spool.completeness();
  spool.end();
}

TEST_F(WindowImport, RangesThatRepeatLikeStepsAreFoundAtImport) {
  FakeSpool spool(directory_.path());
  marked_steps(spool, "step");
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE source = 'nvtx' AND status = 'ok'"), "20");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE step_id IS NULL"), "0");
  EXPECT_EQ(messages_with(capture, "took its NVTX ranges \"Train step #\": 20 steps, 100 % of the launches"),
            1u);
}

TEST_F(WindowImport, NotWhereTheRecordingWasToldAnotherRange) {
  FakeSpool spool(directory_.path());
  marked_steps(spool, "iteration");
  EXPECT_EQ(scalar(import(), "SELECT count(*) FROM step WHERE source = 'nvtx'"), "0");
}

TEST_F(WindowImport, AKilledProgramWithoutStepsIsAnInterruptedOne) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::start);
  spool.launch();
  spool.completeness();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT status FROM step WHERE source = 'window'"), "interrupted");
}

void period_step(FakeSpool& spool, std::uint32_t index, Phase phase, std::uint16_t flags) {
  spool::StepStartRecord begin{};
  begin.header.flags = flags;
  begin.step_index = index;
  begin.phase = phase;
  begin.start_ns = FakeSpool::kOrigin + spool.now();
  spool.put(begin);
  spool.advance(3000);
  spool::StepEndRecord end{};
  end.step_index = index;
  end.end_ns = FakeSpool::kOrigin + spool.now();
  spool.put(end);
}

TEST_F(WindowImport, StepsByPeriodSaySoAndGiveWay) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "warmup=1,timeline=2");
  for (std::uint32_t i = 0; i < 3; ++i)
    period_step(spool, i, i == 0 ? Phase::warmup : Phase::timeline, spool::kStepByPeriod);
  period_step(spool, 3, Phase::warmup, spool::kScheduleStarts | spool::kStepSupersedes);
  for (std::uint32_t i = 4; i < 7; ++i) period_step(spool, i, Phase::timeline, 0);
  spool.launch();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(source || ' ' || phase) FROM step"),
            "period warmup,period warmup,period warmup,nvtx warmup,nvtx timeline,nvtx timeline,nvtx after");
}

// Forty steps, of which the agent found the last ones: five as warm-up, the others on the timeline.
std::string steps_of(FakeSpool& spool, int first, std::uint16_t flags, Phase last) {
  spool.process(4242, "warmup=5,timeline=34,sample=2");
  window(spool, WindowEdge::open, WindowCause::start);
  for (int step = 0; step < 40; ++step) {
    spool.advance(1'500'000);
    const auto index = static_cast<std::uint32_t>(step - first);
    const Phase phase = step < first + 5 ? Phase::warmup : step == 39 ? last : Phase::timeline;
    if (step >= first) spool.begin_step(index, phase, 0, flags);
    for (std::uint32_t i = 0; i < 12; ++i) launch(spool, 1 + i % 3, 1000 + i);
    if (step >= first) spool.end_step(false);
  }
  spool.completeness();
  window(spool, WindowEdge::close, WindowCause::exit);
  spool.end();
  return "SELECT group_concat(n || ' ' || source || ' ' || phase, ', ') FROM (SELECT count(*) n, source, "
         "phase "
         "FROM step WHERE source <> 'window' GROUP BY source, phase ORDER BY source, phase DESC)";
}

TEST_F(WindowImport, StepsBeforeThoseThatTheAgentFoundLateAreFound) {
  FakeSpool spool(directory_.path());
  const std::string counts = steps_of(spool, 25, spool::kStepByPeriod, Phase::timeline);
  EXPECT_EQ(scalar(import(), counts), "8 period warmup, 32 period timeline");
}

// Few of the launches are the steps', most of the kernels are: they are in graphs.
TEST_F(WindowImport, StepsOfGraphsBehindALongStartAreFound) {
  FakeSpool spool(directory_.path());
  window(spool, WindowEdge::open, WindowCause::start);
  const auto kernel_of = [&](const spool::LaunchRecord& call, std::uint32_t grid) {
    spool::KernelRecord kernel = spool.kernel_of(call);
    kernel.grid_x = grid;
    return kernel;
  };
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    const spool::LaunchRecord call = spool.call();
    spool.put(call);
    spool::KernelRecord kernel = kernel_of(call, static_cast<std::uint32_t>(1 + random() % 977));
    kernel.kernel_id = static_cast<std::uint32_t>(1 + random() % 3);
    spool.put(kernel);
    spool.advance(1000);
  }
  for (int step = 0; step < 70; ++step) {
    const spool::LaunchRecord call = spool.call();
    spool.put(call);
    spool.put(kernel_of(call, 5000));
    const spool::LaunchRecord graph = spool.call(spool::kLaunchIsGraph);
    spool.put(graph);
    for (std::uint32_t node = 0; node < 60; ++node) {
      spool::KernelRecord kernel = kernel_of(graph, 6000 + node);
      kernel.header.flags = spool::kGraphNode;
      kernel.graph_id = 1;
      kernel.graph_node_id = node + 1;
      spool.put(kernel);
    }
    spool.advance(4'800'000);
  }
  spool.completeness();
  window(spool, WindowEdge::close, WindowCause::exit);
  spool.end();
  EXPECT_EQ(scalar(import(), "SELECT count(*) FROM step WHERE source = 'period' AND status = 'ok'"), "70");
}

TEST_F(WindowImport, StepsOfTheAgentStayWhereTheyAreMany) {
  FakeSpool spool(directory_.path());
  const std::string counts = steps_of(spool, 15, spool::kStepByPeriod, Phase::timeline);
  EXPECT_EQ(scalar(import(), counts), "5 period warmup, 20 period timeline");
}

TEST_F(WindowImport, StepsOfTheAgentStayWhereTheyAreMarked) {
  FakeSpool spool(directory_.path());
  const std::string counts = steps_of(spool, 25, 0, Phase::timeline);
  EXPECT_EQ(scalar(import(), counts), "5 nvtx warmup, 10 nvtx timeline");
}

TEST_F(WindowImport, StepsOfTheAgentStayWhereSomeAreSampled) {
  FakeSpool spool(directory_.path());
  const std::string counts = steps_of(spool, 25, spool::kStepByPeriod, Phase::sample);
  EXPECT_EQ(scalar(import(), counts), "5 period warmup, 9 period timeline, 1 period sample");
}

TEST_F(WindowImport, TheNewestCodeOfAKernelCounts) {
  FakeSpool spool(directory_.path());
  // Chunks of several threads stand in no order: the newer record comes first here.
  spool.newer_code(2, 0x2222, 2);
  spool.newer_code(2, 0x1111, 1);
  spool.whole_run();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT code_hash FROM kernel WHERE mangled_name = '_Z7kernel1v'"),
            "0000000000abcdef");
  EXPECT_EQ(scalar(capture, "SELECT code_hash FROM kernel WHERE mangled_name = '_Z7kernel2v'"),
            "0000000000002222");
  EXPECT_EQ(scalar(capture, "SELECT code_hash FROM kernel WHERE mangled_name = '_Z7kernel3v'"), "NULL");
}

constexpr std::uint64_t kOther = 0x7777'0000'1234;  // another code of kernel 1, whose first is 0xabcdef
constexpr char kCodesOfKernel1[] =
    "SELECT group_concat(text, ', ') FROM (SELECT k.code_hash || ' ' || count(l.launch_id) AS text FROM "
    "kernel k "
    "LEFT JOIN v_launch l ON l.kernel_id = k.id WHERE k.mangled_name = '_Z7kernel1v' GROUP BY k.id "
    "ORDER BY k.code_hash)";

// A step of six launches: two of each kernel. The last three say that they ran the other code.
void step_of_two_codes(FakeSpool& spool, std::uint32_t index, Phase phase) {
  spool.begin_step(index, phase);
  for (int i = 0; i < 6; ++i) {
    spool.code = i < 3 ? 0xabcdef : static_cast<std::uint32_t>(kOther);
    spool.launch();
  }
  spool.code = 0;
  spool.end_step();
}

TEST_F(WindowImport, TwoCodesOfOneNameAreTwoKernels) {
  FakeSpool spool(directory_.path());
  spool.newer_code(1, kOther, 1);
  for (std::uint32_t i = 0; i < 3; ++i) step_of_two_codes(spool, i, i == 0 ? Phase::warmup : Phase::timeline);
  spool.launch();  // does not say: the newest
  spool.put(spool::ReplayExclusionRecord{.header = {}, .kernel_id = 1, .reason = ExclusionReason::user});
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, kCodesOfKernel1), "0000000000abcdef 3, 0000777700001234 4");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM kernel"), "4") << "the codes of the others are not theirs";
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM v_rank WHERE kernel = 'kernel1()'"), "2");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM replay_exclusion"), "2");
}

TEST_F(WindowImport, GraphNodesRanTheCodeThatWasCapturedLast) {
  FakeSpool spool(directory_.path());
  spool.newer_code(1, kOther, 1);
  spool.newer_code(1, 0x9999, 2);
  spool.begin_step(0, Phase::timeline);
  spool.code = 0xabcdef;
  spool.put(spool.call(spool::kLaunchCaptured));
  spool.code = static_cast<std::uint32_t>(kOther);
  spool.put(spool.call(spool::kLaunchCaptured));
  spool.code = 0;
  const spool::LaunchRecord graph = spool.call(spool::kLaunchIsGraph);
  spool.put(graph);
  spool::KernelRecord node = spool.kernel_of(graph);
  node.header.flags = spool::kGraphNode;
  node.graph_id = 1;
  node.graph_node_id = 7;
  spool.put(node);
  spool.end_step();
  spool.completeness();
  spool.end();
  EXPECT_EQ(scalar(import(), kCodesOfKernel1), "0000777700001234 1");
}

}  // namespace
}  // namespace ridgeline::import::testing
