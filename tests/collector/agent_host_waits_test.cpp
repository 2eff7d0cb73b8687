// Streams that wait for the host: nothing that waits for the device is called meanwhile, whatever is due at that
// moment, and it is done once they no longer wait.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agent_testing.h"
#include "cupti/host_waits.h"

namespace ridgeline::agent {
namespace {

using std::chrono::milliseconds;
using testing::FakeCupti;
using testing::FakeProgram;

constexpr std::int64_t kTick = 1'000'000;
constexpr CUpti_CallbackId kHostFunction = CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc;

CUcontext context() {
  return testing::context_on(0);
}
CUstream stream_number(std::uintptr_t number) {
  return reinterpret_cast<CUstream>(number << 4);
}

/// The watch alone, on a driver that says whatever is wanted.
struct Watched {
  Watched() { waits.start(api, driver); }
  void wait(std::uintptr_t stream = 1, bool came_to_something = true) {
    waits.will_wait(7);
    waits.waits(7, context(), stream_number(stream), came_to_something);
  }
  FakeCupti cupti;
  CuptiApi api = cupti.api();
  DriverApi driver = testing::fake_driver();
  HostWaits waits;
};

TEST(StreamsThatWait, AHoldIsGivenOnlyWhileNoneDoes) {
  Watched w;
  EXPECT_FALSE(w.waits.seen());
  ASSERT_TRUE(w.waits.hold());
  w.waits.release();
  w.wait();
  EXPECT_TRUE(w.waits.seen());
  w.cupti.stream_waits = true;
  EXPECT_TRUE(w.waits.pending());
  EXPECT_FALSE(w.waits.hold());
  EXPECT_FALSE(w.waits.hold(milliseconds(1)));
  w.cupti.stream_waits = false;
  EXPECT_FALSE(w.waits.pending());
  ASSERT_TRUE(w.waits.hold());
  w.waits.release();
}

TEST(StreamsThatWait, AHoldWaitsForAsLongAsItMay) {
  Watched w;
  w.wait();
  w.cupti.events_not_ready = 5;
  EXPECT_TRUE(w.waits.hold(std::chrono::seconds(10)));
}

TEST(StreamsThatWait, NoHoldIsGivenBetweenTheCallsBeginAndItsEnd) {
  Watched w;
  w.waits.will_wait(7);
  EXPECT_TRUE(w.waits.coming());
  EXPECT_FALSE(w.waits.hold());
  w.waits.waits(7, context(), stream_number(1), false);
  EXPECT_FALSE(w.waits.coming());
  EXPECT_EQ(w.cupti.events_recorded, 0) << "the call failed, or the stream is captured";
  EXPECT_TRUE(w.waits.hold());
}

TEST(StreamsThatWait, AnAnnouncementIsRenewedOrSaysThatItWasForgotten) {
  Watched w;
  w.waits.will_wait(7);
  w.cupti.clock_ns += HostWaits::kLongestAnnouncementNs / 2;
  EXPECT_TRUE(w.waits.renew(7));
  EXPECT_FALSE(w.waits.renew(8)) << "of another thread";
  w.cupti.clock_ns += HostWaits::kLongestAnnouncementNs * 3 / 4;
  EXPECT_TRUE(w.waits.coming());
  w.cupti.clock_ns += HostWaits::kLongestAnnouncementNs;
  EXPECT_FALSE(w.waits.renew(7));
  EXPECT_FALSE(w.waits.coming());
}

TEST(StreamsThatWait, TheProgramsCallIsKeptUntilTheHoldsAreOver) {
  Watched w;
  ASSERT_TRUE(w.waits.hold());
  std::atomic<bool> waited{false};
  std::thread program([&] {
    w.wait();
    waited = true;
  });
  // Until the program has come to its call.
  bool refused = false;
  for (int i = 0; i < 20'000 && !refused; ++i) {
    refused = !w.waits.hold();
    if (!refused) w.waits.release();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(refused) << "no further one: the program would never have its turn";
  EXPECT_FALSE(waited);
  w.waits.release();
  program.join();
  EXPECT_TRUE(waited);
}

// The driver waits for room in a stream that is full of work behind such a wait. What makes room is another thread's.
TEST(StreamsThatWait, AnotherThreadComesByWhileTheDriverWaitsForRoom) {
  Watched w;
  w.cupti.stream_waits = true;
  for (const int times : {1, 2}) {  // a stream's first wait, and a later one
    std::thread other;
    std::atomic<bool> came_by{false}, pending{false};
    w.cupti.on_event_record = [&] {
      other = std::thread([&] {
        pending = w.waits.pending();
        came_by = true;
      });
      for (int i = 0; i < 20'000 && !came_by; ++i) std::this_thread::sleep_for(milliseconds(1));
      EXPECT_TRUE(came_by);
      w.cupti.clock_ns += 2 * HostWaits::kLongestAnnouncementNs;
      EXPECT_FALSE(w.waits.hold()) << "however long it takes";
    };
    w.wait();
    other.join();
    EXPECT_TRUE(pending);
    EXPECT_EQ(w.cupti.events_recorded, times);
    EXPECT_EQ(w.cupti.events_created, 1);
  }
  w.cupti.on_event_record = nullptr;
  w.cupti.stream_waits = false;
  EXPECT_FALSE(w.waits.pending());
  ASSERT_TRUE(w.waits.hold());
  w.waits.release();
}

// Unwound inside the agent's callback, the thread would end the process.
TEST(StreamsThatWait, AThreadThatIsCancelledMeanwhileEndsAfterTheCallback) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  bool cancelled = false;
  cupti.on_event_record = [&] {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    cancelled = true;
  };
  std::thread([&] { program.call(kHostFunction, 0); }).join();
  EXPECT_TRUE(cancelled);
}

TEST(StreamsThatWait, ALaterWaitOfAStreamStandsForTheEarlier) {
  Watched w;
  w.cupti.stream_waits = true;
  for (int i = 0; i < 200; ++i) w.wait(1);
  EXPECT_EQ(w.cupti.events_recorded, 200);
  w.wait(2);
  w.cupti.stream_waits = false;
  EXPECT_FALSE(w.waits.pending());
}

TEST(StreamsThatWait, WhatCannotBeWatchedCountsAsWaitingForAWhile) {
  Watched w;
  w.cupti.stream_waits = true;
  for (std::uintptr_t stream = 1; stream <= 65; ++stream) w.wait(stream);
  EXPECT_EQ(w.cupti.events_recorded, 64);
  w.cupti.stream_waits = false;
  EXPECT_TRUE(w.waits.pending()) << "one stream too many";
  w.cupti.clock_ns += HostWaits::kUnwatchedNs;
  EXPECT_FALSE(w.waits.pending());
}

TEST(StreamsThatWait, AContextTakesItsStreamsWithIt) {
  Watched w;
  w.wait();
  w.cupti.stream_waits = true;
  w.waits.context_destroyed(testing::context_on(1));
  EXPECT_TRUE(w.waits.pending());
  w.waits.context_destroyed(context());
  EXPECT_FALSE(w.waits.pending());
}

TEST(StreamsThatWait, TheAgentsThreadsBorrowTheContextWhereTheDriverWantsOne) {
  static int pushed = 0, asked = 0;
  pushed = asked = 0;
  Watched w;
  w.driver.event_query = [](CUevent) {
    return ++asked, pushed > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  };
  w.wait();
  EXPECT_TRUE(w.waits.pending()) << "nobody can tell";
  w.driver.ctx_push_current = [](CUcontext) { return ++pushed, CUDA_SUCCESS; };
  w.driver.ctx_pop_current = [](CUcontext*) { return CUDA_SUCCESS; };
  EXPECT_FALSE(w.waits.pending());
  EXPECT_EQ(pushed, 1);
}

TEST(StreamsThatWait, AHoldOfBothSaysWhichOfTheTwoIsMissing) {
  Watched w;
  CaptureWatch captures;
  {
    const QuietHold hold(captures, w.waits);
    EXPECT_TRUE(hold);
  }
  w.wait();
  w.cupti.stream_waits = true;
  const QuietHold beside_a_wait(captures, w.waits, milliseconds(1));
  EXPECT_FALSE(beside_a_wait);
  EXPECT_TRUE(beside_a_wait.stream_waits());
  captures.begin_capture({stream_number(3), 0});  // not kept: no hold is left over
  const QuietHold beside_both(captures, w.waits);
  EXPECT_FALSE(beside_both);
  EXPECT_FALSE(beside_both.stream_waits());
  captures.end_capture({stream_number(3), 0});
  w.cupti.stream_waits = false;
  EXPECT_TRUE(QuietHold(captures, w.waits));
}

/// A program of steps of six launches, in which a stream waits for the host from before one launch to before another;
/// the agent's threads have a turn at every launch, as often as the program.
struct WaitingProgram {
  explicit WaitingProgram(FakeCupti& fake, std::map<std::string, std::string> environment) : cupti(fake) {
    environment.emplace("RIDGELINE_METRICS_R1", "a,b");
    environment.emplace("RIDGELINE_ALONE_STEPS", "0");
    program = std::make_unique<FakeProgram>(cupti, environment);
    cupti.on_flush = [this] { flush(); };
    EXPECT_TRUE(program->start());
  }
  ~WaitingProgram() { cupti.on_flush = nullptr; }

  void wait() {
    program->call(kHostFunction, 0);
    cupti.stream_waits = true;
  }
  void go_on() { cupti.stream_waits = false; }
  void tick() { program->session().tick(cupti.clock_ns += kTick); }
  void step(int wait_at, int go_at, bool marked = true) {
    if (marked) program->push("step");
    for (int i = 0; i < kLaunches; ++i) {
      if (i == wait_at) wait();
      if (i == go_at) go_on();
      pending.push_back(program->launch("k", static_cast<unsigned>(i) + 1));
      cupti.clock_ns += kTick;
      tick();
    }
    go_on();
    if (marked) program->pop();
    tick();
  }
  void flush() {
    if (cupti.stream_waits) return;
    std::vector<CUpti_ActivityKernel10> records;
    for (const std::uint32_t id : pending)
      records.push_back(FakeProgram::kernel(id, "k", static_cast<std::uint64_t>(cupti.clock_ns - 1000),
                                            static_cast<std::uint64_t>(cupti.clock_ns)));
    pending.clear();
    if (!records.empty()) program->deliver(records);
  }
  std::string beside_waits() const {
    std::string all;
    for (const std::string& call : cupti.beside_waits) all += (all.empty() ? "" : ", ") + call;
    return all;
  }

  static constexpr int kLaunches = 6;
  FakeCupti& cupti;
  std::unique_ptr<FakeProgram> program;
  std::vector<std::uint32_t> pending;
};

constexpr char kEverything[] = "timeline=2,sample=3,replay=3,cold=1,stalls=2,timeline=20";

TEST(WaitingSteps, NothingThatWaitsForTheDeviceIsCalledWhereverTheStreamWaits) {
  for (int wait_at = 0; wait_at < WaitingProgram::kLaunches; ++wait_at) {
    for (int go_at = wait_at + 1; go_at <= WaitingProgram::kLaunches; ++go_at) {
      FakeCupti cupti;
      WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", kEverything}});
      p.program->create_context();
      for (int i = 0; i < 40; ++i) p.step(wait_at, go_at);
      EXPECT_EQ(p.beside_waits(), "") << wait_at << " to " << go_at;
      p.program->session().at_exit(spool::EndReason::exit);
      const auto c = p.program->contents();
      EXPECT_GT(cupti.pm_stops, 0) << wait_at << " to " << go_at << ": samples between the waits";
      EXPECT_FALSE(c.counter_steps.empty());
    }
  }
}

// The stream waits from one step into the next.
TEST(WaitingSteps, NorAtTheBorderOfTwoSteps) {
  for (const bool every_step : {true, false}) {
    FakeCupti cupti;
    WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", kEverything}});
    p.program->create_context();
    for (int i = 0; i < 60; ++i) {
      p.step(WaitingProgram::kLaunches, WaitingProgram::kLaunches);
      if (every_step || i % 2 == 0) p.wait();
      p.tick();
      p.program->push("step");
      p.program->launch("k", 1);
      p.go_on();
      for (unsigned k = 2; k <= WaitingProgram::kLaunches; ++k)
        p.pending.push_back(p.program->launch("k", k));
      p.program->pop();
      p.tick();
    }
    EXPECT_EQ(p.beside_waits(), "") << every_step;
  }
}

TEST(WaitingSteps, NorWhereStepsAreFoundByTheirLaunches) {
  for (int wait_at = 0; wait_at < WaitingProgram::kLaunches; ++wait_at) {
    FakeCupti cupti;
    WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", kEverything}});
    p.program->create_context();
    for (int i = 0; i < 150; ++i) p.step(wait_at, wait_at + 3, false);
    EXPECT_EQ(p.beside_waits(), "") << wait_at;
    EXPECT_FALSE(p.program->contents().begins.empty()) << "steps were found";
  }
}

TEST(WaitingSteps, NorWhenAWindowOpensOrCloses) {
  for (int wait_at = 0; wait_at < WaitingProgram::kLaunches; wait_at += 2) {
    for (const char* after_ms : {"5", "14", "900"}) {
      FakeCupti cupti;
      WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", kEverything},
                               {"RIDGELINE_AFTER_MS", after_ms},
                               {"RIDGELINE_DURATION_MS", "700"}});
      p.program->create_context();
      for (int i = 0; i < 300; ++i) p.step(wait_at, wait_at + 4);
      EXPECT_EQ(p.beside_waits(), "") << wait_at << " after " << after_ms;
      const auto c = p.program->contents();
      ASSERT_EQ(c.windows.size(), 2u) << "it opened and closed";
    }
  }
}

TEST(WaitingSteps, NorAtTheEndOfTheProgram) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3,timeline=5"}});
  p.program->create_context();
  while (cupti.pm_starts == 0) p.step(WaitingProgram::kLaunches, WaitingProgram::kLaunches);
  p.wait();
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(p.beside_waits(), "");
  EXPECT_EQ(cupti.pm_stops, 0);
  const auto c = p.program->contents();
  ASSERT_FALSE(c.pm_windows.empty());
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
}

TEST(WaitingSteps, WhatIsPutOffIsDoneInALaterStep) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=1,timeline=3"}});
  p.program->create_context();
  for (int i = 0; i < 2; ++i) p.step(WaitingProgram::kLaunches, WaitingProgram::kLaunches);
  p.wait();
  p.program->push("step");
  p.program->launch("k");
  EXPECT_EQ(cupti.pm_windows, 0);
  p.go_on();
  p.program->pop();
  p.step(WaitingProgram::kLaunches, WaitingProgram::kLaunches);
  EXPECT_EQ(cupti.pm_windows, 1);
  const auto c = p.program->contents();
  ASSERT_EQ(c.begins.size(), 4u);
  EXPECT_EQ(c.begins[2].phase, Phase::timeline);
  EXPECT_NE(c.begins[2].header.flags & spool::kStepDeferred, 0);
  EXPECT_EQ(c.begins[3].phase, Phase::sample);
  EXPECT_NE(c.message(spool::Topic::steps).find("put off while a stream of the program waits"),
            std::string::npos);
}

TEST(WaitingSteps, AStreamThatAlwaysWaitsLeavesTheDeviceDescribedAndTheReasonSaid) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=2"}});
  p.program->create_context();
  p.wait();
  for (int i = 0; i < 30; ++i) {
    p.program->push("step");
    p.program->launch("k");
    p.program->pop();
    p.program->session().tick(cupti.clock_ns += 500'000'000);
  }
  EXPECT_EQ(p.beside_waits(), "");
  EXPECT_EQ(cupti.profiler_starts, 0);
  const auto c = p.program->contents();
  EXPECT_NE(
      c.message(spool::Topic::counters_refused).find("a stream of the program always waited for the host"),
      std::string::npos)
      << c.message(spool::Topic::counters_refused);
}

// The set-up on the agent's thread needs that the program's goes on.
TEST(WaitingSteps, ALaunchBehindAWaitIsNotKeptForCountersThatAreNotReady) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "replay=2,timeline=2"}});
  p.program->create_context();
  p.program->push("step");
  p.wait();
  const auto since = std::chrono::steady_clock::now();
  p.program->launch("k");
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(2));
  p.program->pop();
  const auto c = p.program->contents();
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("waited for the host"), std::string::npos)
      << c.text(c.counter_steps[0].reason);
}

TEST(WaitingSteps, LaunchesOfAGraphWithAHostNodeCountAsWaits) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,sample=2,timeline=2"}});
  p.program->create_context();
  p.program->launch("g", 1, CUDA_SUCCESS, false, true);
  EXPECT_EQ(cupti.events_recorded, 0) << "no such node so far";
  CUpti_GraphData node{};
  node.nodeType = CU_GRAPH_NODE_TYPE_HOST;
  p.program->create_node(node);
  p.program->launch("g", 1, CUDA_SUCCESS, false, true);
  EXPECT_EQ(cupti.events_recorded, 1);
  p.program->launch("k");
  EXPECT_EQ(cupti.events_recorded, 1) << "kernels wait for nobody";
}

TEST(WaitingSteps, StepsThatRunAloneAreNoMoreOnceAStreamWaits) {
  FakeCupti cupti;
  WaitingProgram p(cupti, {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=40"}, {"RIDGELINE_ALONE_STEPS", "3"}});
  p.program->create_context();
  for (int i = 0; i < 60; ++i) p.step(2, 4);
  EXPECT_EQ(p.beside_waits(), "");
  EXPECT_NE(
      p.program->contents().message(spool::Topic::price).find("streams of the program wait for the host"),
      std::string::npos);
}

}  // namespace
}  // namespace ridgeline::agent
