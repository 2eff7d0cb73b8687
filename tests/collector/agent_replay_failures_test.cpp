// Step replay against a fake CUPTI whose calls fail, and beside threads that end steps or wait for the host at the
// wrong moment: what can be closed is closed, counting ends, the program goes on.
#include <atomic>
#include <chrono>
#include <thread>

#include "replay_testing.h"
#include "tiers/launch_watch.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::kTwoSets;
using testing::measured;
using testing::Ready;
using testing::step;

constexpr char kCollectiveName[] = "_Z23ncclDevKernel_AllReducePv";
const std::map<std::string, std::string> kManySteps = {{"RIDGELINE_SCHEDULE", "timeline=2,replay=8"},
                                                       {"RIDGELINE_METRICS_R1", "a,b"}};

void step_with(FakeProgram& program, const char* second) {
  program.push("step");
  program.launch("k1", 1);
  program.launch(second, 2);
  program.launch("k2", 3);
  program.pop();
}

/// Two timeline steps and then six that are to be counted, in which `fail` makes a call fail.
void expect_all_closed(const char* call, const char* second) {
  SCOPED_TRACE(std::string(call) + (second == kCollectiveName ? ", in ranges of the agent's own" : ""));
  FakeCupti cupti;
  FakeProgram program(cupti, kManySteps);
  ASSERT_TRUE(program.start());
  program.create_context();
  step_with(program, second);
  program.tick();
  step_with(program, second);
  if (std::string(call) == "start") {
    cupti.start_result = CUPTI_ERROR_UNKNOWN;
  } else if (std::string(call) == "push") {
    cupti.push_result = CUPTI_ERROR_UNKNOWN;
  } else {
    cupti.range_results[call] = CUPTI_ERROR_UNKNOWN;
  }
  for (int i = 0; i < 6; ++i) {
    step_with(program, second);
    program.tick();  // writes what became of the step
    EXPECT_FALSE(cupti.running) << i;
    EXPECT_EQ(cupti.sessions_open, 0) << i;
  }
  const int made = cupti.sessions_made, starts = cupti.starts;
  step_with(program, second);
  EXPECT_EQ(cupti.sessions_made, made) << "counting is over";
  EXPECT_EQ(cupti.starts, starts);
  const auto c = measured(program);
  ASSERT_GE(c.counter_steps.size(), 6u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
  EXPECT_EQ(c.counter_steps.back().status, CounterStatus::not_available);
  EXPECT_NE(c.text(c.counter_steps.back().reason).find("no more are taken"), std::string::npos)
      << c.text(c.counter_steps.back().reason);
  EXPECT_TRUE(cupti.signals.empty());
  EXPECT_EQ(c.launches.size(), 27u) << "the timeline has all of them";
}

TEST(ReplayFailures, WhicheverCallFailsTheSessionIsClosedAndThreeInARowEndCounting) {
  for (const char* call : {"enable", "size", "initialise", "configure", "start", "stop", "decode"})
    for (const char* second : {"k1", kCollectiveName}) expect_all_closed(call, second);
  for (const char* call : {"push", "pop"}) expect_all_closed(call, kCollectiveName);
}

TEST(ReplayFailures, CountersThatCannotBeSwitchedOffEndCountingAtOnce) {
  FakeCupti cupti;
  Ready ready(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1,timeline=1,replay=1"},
                      {"RIDGELINE_METRICS_R1", "a,b"}});
  cupti.range_results["disable"] = CUPTI_ERROR_UNKNOWN;
  step(ready.program);
  EXPECT_EQ(cupti.range_disables, 2) << "once more";
  EXPECT_FALSE(cupti.running);
  cupti.range_results.clear();
  for (int i = 0; i < 4; ++i) step(ready.program);
  EXPECT_EQ(cupti.sessions_made, 1);
  EXPECT_NE(measured(ready.program).message(spool::Topic::replay).find("disabling counters failed"),
            std::string::npos);
}

TEST(ReplayFailures, AStepThatCountsBetweenThemForgivesThem) {
  FakeCupti cupti;
  Ready ready(cupti, kManySteps);
  for (int i = 0; i < 8; ++i) {
    cupti.start_result = i % 3 == 2 ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
    step(ready.program);
  }
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 8u);
  EXPECT_EQ(std::count_if(c.counter_steps.begin(), c.counter_steps.end(),
                          [](const auto& s) { return s.status == CounterStatus::ok; }),
            2);
  for (const auto& s : c.counter_steps) EXPECT_NE(s.status, CounterStatus::not_available) << c.text(s.reason);
}

TEST(ReplayFailures, CountersInUseElsewhereAreNoFailure) {
  FakeCupti cupti;
  Ready ready(cupti, kManySteps);
  cupti.range_results["enable"] = CUPTI_ERROR_HARDWARE_BUSY;
  for (int i = 0; i < 5; ++i) step(ready.program);
  cupti.range_results.clear();
  cupti.clock_ns += 10'000'000'000;  // it asks again after a pause
  step(ready.program);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u) << "the others were steps of the timeline";
  EXPECT_EQ(c.counter_steps.back().status, CounterStatus::ok);
}

/// A step whose launches come from another thread than the one that ends it: its counters still run.
void step_launched_elsewhere(FakeCupti& cupti, FakeProgram& program) {
  program.push("step");
  std::thread([&] {
    for (unsigned i = 1; i < 4; ++i) program.launch(i == 3 ? "k2" : "k1", i);
  }).join();
  program.pop();
  EXPECT_TRUE(cupti.running);
}

const std::map<std::string, std::string> kOneStep = {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"},
                                                     {"RIDGELINE_METRICS_R1", "a,b"}};

TEST(ReplayEnds, AStepThatIsOverIsReadBeforeACaptureBegins) {
  FakeCupti cupti;
  Ready ready(cupti, kOneStep);
  step_launched_elsewhere(cupti, ready.program);
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, 0, [&] {
    EXPECT_FALSE(cupti.running);
    EXPECT_EQ(cupti.sessions_open, 0);
  });
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, 0);
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 3u);
}

// Kernels after it would be run alone, and the launch not return before the host goes on, which launches.
TEST(ReplayEnds, AStepThatIsOverIsReadBeforeAStreamWaitsForTheHost) {
  FakeCupti cupti;
  Ready ready(cupti, kOneStep);
  step_launched_elsewhere(cupti, ready.program);
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0, [&] { EXPECT_FALSE(cupti.running); });
  cupti.events_not_ready = 1000;
  ready.program.launch("k1", 1);
  cupti.events_not_ready = 0;
  const auto c = measured(ready.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
}

// It would be stopped once the stream waits, and stopping waits for the stream.
TEST(ReplayEnds, NothingIsStartedWhileAnotherThreadIsAboutToMakeAStreamWait) {
  FakeCupti cupti;
  Ready ready(cupti, kOneStep);
  cupti.log.clear();
  ready.program.push("step");
  ready.program.launch("k1", 1);
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0, [&] {
    std::thread([&] { ready.program.launch("k1", 2); }).join();
    EXPECT_FALSE(cupti.running);
  });
  ready.program.launch("k2", 3);
  ready.program.pop();
  EXPECT_EQ(cupti.log,
            (std::vector<std::string>{"start kernels", "k1", "stop", "k1", "start kernels", "k2", "stop"}));
}

TEST(ReplayEnds, ACallWhoseEndWasNotSeenIsForgotten) {
  FakeCupti cupti;
  Ready ready(cupti, kOneStep);
  ready.program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0, [&] {
    cupti.clock_ns += 5'000'000'000;
    step(ready.program);
  });
  EXPECT_EQ(measured(ready.program).counter_steps[0].status, CounterStatus::ok);
}

TEST(ReplayEnds, AStreamWaitsForTheHostOnlyOnceNoRangeIsOpen) {
  FakeCupti cupti;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int i = 0; i < 2; ++i) {
    step_with(program, kCollectiveName);
    program.tick();
  }
  std::atomic<bool> called{false};
  std::thread other;
  bool once = true;
  program.while_running = [&] {
    if (cupti.pushes == cupti.pops || !std::exchange(once, false)) return;
    other = std::thread([&] {
      program.call(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, 0, [&] {
        EXPECT_EQ(cupti.pushes, cupti.pops);
        called = true;
      });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(called) << "the launch that is measured comes back first";
  };
  program.push("step");
  program.launch("k1", 1);
  other.join();
  program.while_running = {};
  program.launch(kCollectiveName, 2);
  program.launch("k2", 3);
  program.pop();
  EXPECT_TRUE(called);
  EXPECT_EQ(measured(program).counter_steps[0].status, CounterStatus::ok);
}

TEST(ReplayEnds, ARangeThatIsOpenWhenTheStepEndsIsClosedAndItsLaunchHasNoValues) {
  FakeCupti cupti;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int i = 0; i < 2; ++i) {
    step_with(program, kCollectiveName);
    program.tick();
  }
  program.push("step");
  program.launch("k1", 1);
  program.launch(kCollectiveName, 2);
  std::atomic<bool> inside{false}, ended{false};
  program.while_running = [&] {
    inside = true;
    while (!ended) std::this_thread::yield();
  };
  std::thread other([&] { program.launch("k2", 3); });
  while (!inside) std::this_thread::yield();
  EXPECT_EQ(cupti.pushes, cupti.pops + 1);
  program.pop();
  EXPECT_EQ(cupti.pushes, cupti.pops);
  EXPECT_FALSE(cupti.running);
  ended = true;
  other.join();
  program.while_running = {};
  const int pops = cupti.pops;
  step_with(program, kCollectiveName);
  EXPECT_EQ(cupti.pops, pops + 2) << "of the ranges of the step that came next";
  const auto c = measured(program);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::ok) << c.text(c.counter_steps[1].reason);
}

TEST(ReplayEnds, ASessionKeptForAStepThatDoesNotComeIsClosedAtTheNextLaunch) {
  FakeCupti cupti;
  Ready ready(cupti, kManySteps);
  step(ready.program);
  EXPECT_EQ(cupti.sessions_open, 1) << "kept for the next";
  ready.program.tick();  // a second each
  ready.program.launch("k1");
  EXPECT_EQ(cupti.sessions_open, 1);
  for (int i = 0; i < 3; ++i) ready.program.tick();
  EXPECT_EQ(cupti.sessions_open, 1) << "not on the agent's thread, which has no context";
  ready.program.launch("k1");
  EXPECT_EQ(cupti.sessions_open, 0);
  step(ready.program);
  EXPECT_EQ(measured(ready.program).counter_steps.back().status, CounterStatus::ok);
}

constexpr std::int64_t kLimit = 10'000'000'000;

TEST(LaunchWatch, WhatIsSetUpMayWaitForAllThatTheProgramHasEnqueued) {
  LaunchWatch watch;
  LaunchWatch::Launch late;
  EXPECT_FALSE(watch.overdue(1'000 * kLimit, kLimit, &late)) << "none";
  watch.begin({"k", 3, 5}, 7, 1000);
  EXPECT_FALSE(watch.overdue(1000 + LaunchWatch::kPatience * kLimit - 1, kLimit, &late));
  watch.restart(7, 1000 + kLimit);
  EXPECT_FALSE(watch.overdue(1000 + LaunchWatch::kPatience * kLimit, kLimit, &late));
  ASSERT_TRUE(watch.overdue(1000 + (1 + LaunchWatch::kPatience) * kLimit, kLimit, &late));
  EXPECT_STREQ(late.name, "k");
  EXPECT_EQ(late.kernel_id, 3u);
  EXPECT_EQ(late.step, 5u);
  EXPECT_FALSE(watch.overdue(1000 + 20 * kLimit, kLimit, &late)) << "once";
}

TEST(LaunchWatch, AKernelHasItsUsualTimeTenTimesBesides) {
  LaunchWatch watch;
  LaunchWatch::Launch late;
  watch.begin({}, 7, 1000);
  watch.runs(7, 2000, kLimit);
  EXPECT_FALSE(watch.overdue(2000 + 11 * kLimit - 1, kLimit, &late));
  EXPECT_TRUE(watch.overdue(2000 + 11 * kLimit, kLimit, &late));
  watch.end(7);
  watch.begin({}, 7, 500 * kLimit);
  watch.runs(7, 500 * kLimit, 1000);
  EXPECT_TRUE(watch.overdue(501 * kLimit + 10'000, kLimit, &late));
}

// It may be one that takes long: programs have kernels of half a minute.
TEST(LaunchWatch, AKernelOfWhichNothingIsKnownHasLonger) {
  LaunchWatch watch;
  LaunchWatch::Launch late;
  watch.begin({}, 7, 1000);
  watch.runs(7, 2000, 0);
  EXPECT_FALSE(watch.overdue(2000 + LaunchWatch::kPatience * kLimit - 1, kLimit, &late));
  EXPECT_TRUE(watch.overdue(2000 + LaunchWatch::kPatience * kLimit, kLimit, &late));
}

TEST(LaunchWatch, OneIsWatchedAtATimeAndOthersEndNothing) {
  LaunchWatch watch;
  LaunchWatch::Launch late;
  watch.begin({"first", 1, 1}, 7, 1000);
  watch.begin({"second", 2, 1}, 8, 1000);
  watch.runs(8, 2000, 0);
  watch.end(8);
  ASSERT_TRUE(watch.overdue(1000 + LaunchWatch::kPatience * kLimit, kLimit, &late));
  EXPECT_STREQ(late.name, "first");
  watch.end(7);
  EXPECT_FALSE(watch.overdue(100 * kLimit, kLimit, &late));
}

}  // namespace
}  // namespace ridgeline::agent
