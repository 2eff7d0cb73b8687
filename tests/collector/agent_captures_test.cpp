// Counters beside the program's stream captures and its streams that wait for the host, against a fake CUPTI.
#include <chrono>
#include <thread>

#include "cupti/capture_watch.h"
#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::kTwoSets;
using testing::measured;
using testing::Ready;
using testing::step;

const CaptureWatch::Key kStream{reinterpret_cast<CUstream>(0x10), 0};

/// The program begins a capture; its launches then go into the graph.
void begin_capture(FakeCupti& cupti, FakeProgram& program, CUresult result = CUDA_SUCCESS) {
  program.call(
      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, 0, [&] { cupti.log.push_back("capture"); }, result);
  cupti.stream_captures = result == CUDA_SUCCESS;
}

void end_capture(FakeCupti& cupti, FakeProgram& program) {
  program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, 0, [&] { cupti.log.push_back("captured"); });
  cupti.stream_captures = false;
}

TEST(CaptureWatch, GivesNoHoldWhileACaptureIsUnderWay) {
  CaptureWatch watch;
  EXPECT_FALSE(watch.any());
  watch.begin_capture(kStream);
  EXPECT_TRUE(watch.any());
  EXPECT_FALSE(watch.hold());
  EXPECT_FALSE(watch.hold_launch());
  watch.begin_capture({CU_STREAM_PER_THREAD, 7});
  watch.end_capture({CU_STREAM_PER_THREAD, 8});  // another thread's
  watch.end_capture(kStream);
  EXPECT_FALSE(watch.hold(std::chrono::milliseconds(1)));
  watch.end_capture({CU_STREAM_PER_THREAD, 7});
  watch.end_capture(kStream);  // once more changes nothing
  ASSERT_TRUE(watch.hold());
  watch.release();
}

TEST(CaptureWatch, ACaptureBeginsOnceTheHoldsAreGivenBack) {
  CaptureWatch watch;
  ASSERT_TRUE(watch.hold());
  std::atomic<bool> begun{false};
  std::thread program([&] {
    watch.begin_capture(kStream);
    begun = true;
  });
  while (!watch.any()) std::this_thread::yield();
  EXPECT_FALSE(watch.hold()) << "those that come later do not keep it waiting";
  EXPECT_FALSE(begun);
  watch.release();
  program.join();
  EXPECT_TRUE(begun);
}

TEST(CaptureWatch, AHoldWithPatienceOutlastsAShortCapture) {
  CaptureWatch watch;
  watch.begin_capture(kStream);
  std::thread program([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    watch.end_capture(kStream);
  });
  const CaptureHold hold(watch, std::chrono::seconds(60));
  EXPECT_TRUE(hold);
  program.join();
}

TEST(CaptureCalls, AreKnownByTheirStreams) {
  cuStreamBeginCaptureToGraph_params params{};
  params.hStream = kStream.stream;
  EXPECT_EQ(capture_call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph), CaptureCall::begins);
  EXPECT_EQ(captured_stream(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, &params, 5), kStream);
  params.hStream = nullptr;
  EXPECT_EQ(captured_stream(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, &params, 5),
            (CaptureWatch::Key{CU_STREAM_PER_THREAD, 5}));
  EXPECT_EQ(capture_call(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2), CaptureCall::destroys_stream);
  EXPECT_FALSE(capture_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc));
  EXPECT_TRUE(is_stream_wait(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc));
  EXPECT_FALSE(is_stream_wait(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  cuWaitExternalSemaphoresAsync_params semaphores{};
  semaphores.stream = kStream.stream;
  EXPECT_EQ(waiting_stream(CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync, &semaphores),
            kStream.stream);
}

TEST(Captures, CountersPauseBeforeACaptureBegins) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=2"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  cupti.log.clear();
  ready.program.push("step");
  ready.program.launch("k1", 1);
  begin_capture(cupti, ready.program);
  ready.program.launch("k1", 2, CUDA_SUCCESS, true);
  end_capture(cupti, ready.program);
  ready.program.launch("k1", 2);
  ready.program.launch("k2", 3);
  ready.program.pop();
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"start kernels", "k1", "stop", "capture", "k1", "captured",
                                                 "start kernels", "k1", "k2", "stop"}));
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 3u);
}

TEST(Captures, ARotationIsGivenUpAndTheStepsAfterItPause) {
  FakeCupti cupti;
  Ready ready(cupti, kTwoSets);
  const auto with_capture = [&] {
    ready.program.push("step");
    ready.program.launch("k1", 1);
    begin_capture(cupti, ready.program);
    EXPECT_FALSE(cupti.running) << "counters are stopped before the capture begins";
    end_capture(cupti, ready.program);
    ready.program.launch("k1", 2);
    ready.program.launch("k2", 3);
    ready.program.pop();
  };
  for (int i = 0; i < 3; ++i) with_capture();
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("captures a stream"), std::string::npos);
  for (int i = 1; i < 3; ++i)
    EXPECT_EQ(c.counter_steps[i].status, CounterStatus::ok) << c.text(c.counter_steps[i].reason);
}

TEST(Captures, AStepThatEndsInsideACaptureIsReadAfterIt) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  cupti.log.clear();
  ready.program.push("step");
  for (unsigned i = 1; i < 4; ++i) ready.program.launch(i == 3 ? "k2" : "k1", i);
  begin_capture(cupti, ready.program);
  ready.program.pop();
  ready.program.launch("k1", 1, CUDA_SUCCESS, true);
  EXPECT_EQ(measured(ready.program).counter_steps.size(), 0u);
  end_capture(cupti, ready.program);
  ready.program.launch("k1", 1);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(std::count(cupti.log.begin(), cupti.log.end(), "stop"), 1) << "before the capture, and not in it";
}

TEST(Captures, ACaptureThatDoesNotBeginLeavesNothingBehind) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  begin_capture(cupti, ready.program, CUDA_ERROR_ILLEGAL_STATE);
  step(ready.program);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
}

TEST(Captures, WhatIsAvailableIsNotAskedBesideOne) {
  FakeCupti cupti;
  FakeProgram program(cupti, kTwoSets);
  ASSERT_TRUE(program.start());
  program.create_context();
  program.launch("k1");
  begin_capture(cupti, program);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(cupti.availability_calls, 0);
    end_capture(cupti, program);
  });
  program.tick();  // asks, once it may
  other.join();
  program.tick();
  EXPECT_GT(cupti.availability_calls, 0);
}

TEST(Captures, LaunchesIntoAGraphAreNoneOfThePeriod) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=2"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  begin_capture(cupti, program);
  const int captures_asked = cupti.capture_queries;
  program.launch("k1", 1, CUDA_SUCCESS, true);
  EXPECT_GT(cupti.capture_queries, captures_asked);
  end_capture(cupti, program);
  const int asked = cupti.capture_queries;
  program.launch("k1");
  EXPECT_EQ(cupti.capture_queries, asked) << "without a capture a launch asks the driver nothing";
}

TEST(HostWaits, WhatStandsBehindOneIsNotMeasured) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  cupti.log.clear();
  ready.program.push("step");
  ready.program.launch("k1", 1);
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0);
  cupti.events_not_ready = 1000;  // the host function waits for this thread
  ready.program.launch("k1", 2);
  cupti.events_not_ready = 0;
  ready.program.launch("k2", 3);
  ready.program.pop();
  EXPECT_EQ(cupti.log,
            (std::vector<std::string>{"start kernels", "k1", "stop", "k1", "start kernels", "k2", "stop"}));
  EXPECT_EQ(cupti.events_recorded, 1);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 2u);
}

TEST(HostWaits, CountersAreNotStartedWhileOneFromBeforeTheStepIsPending) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2, 0);
  cupti.log.clear();
  cupti.events_not_ready = 1000;
  ready.program.push("step");
  ready.program.launch("k1", 1);
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"k1"}));
  cupti.events_not_ready = 0;
  ready.program.launch("k1", 2);
  ready.program.launch("k2", 3);
  ready.program.pop();
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"k1", "start kernels", "k1", "k2", "stop"}));
}

TEST(HostWaits, LaterStepsMarkTheirKernels) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  for (int i = 0; i < 3; ++i) {
    ready.program.push("step");
    ready.program.launch("k1", 1);
    ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0);
    ready.program.launch("k1", 2);
    ready.program.launch("k2", 3);
    ready.program.pop();
  }
  EXPECT_EQ(cupti.pushes, 6);
  EXPECT_EQ(cupti.pops, 6);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& s : c.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << c.text(s.reason);
}

}  // namespace
}  // namespace ridgeline::agent
