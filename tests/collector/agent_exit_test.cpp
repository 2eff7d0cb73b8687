// The end of a recorded program: whoever is inside CUPTI is waited for, nobody enters any more, and what
// lasts is given up.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agent_testing.h"
#include "call_gate.h"
#include "session/exit_order.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using namespace std::chrono_literals;

TEST(CallGate, WaitsForThoseInsideAndLetsNobodyElseIn) {
  CallGate gate;
  ASSERT_TRUE(gate.enter());
  gate.close();
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.wait_until_empty(0, 5ms));
  EXPECT_TRUE(gate.wait_until_empty(1, 5ms)) << "the one inside is the one that ends the program";
  std::atomic<bool> left{false};
  std::thread inside([&] {
    std::this_thread::sleep_for(20ms);
    left = true;
    gate.leave();
  });
  EXPECT_TRUE(gate.wait_until_empty(0, 5000ms));
  EXPECT_TRUE(left);
  inside.join();
}

TEST(AgentCall, MarksItsThreadAndNests) {
  CallGate gate;
  ThreadState thread;
  {
    const AgentCall outer(gate, thread);
    ASSERT_TRUE(outer);
    EXPECT_TRUE(thread.inside);
    {
      const AgentCall inner(gate, thread);
      EXPECT_EQ(thread.calls_of_agent, 2u);
    }
    EXPECT_TRUE(thread.inside) << "still in the outer one";
    EXPECT_EQ(thread.calls_of_agent, 1u);
  }
  EXPECT_FALSE(thread.inside);
  EXPECT_TRUE(gate.wait_until_empty(0, 0ms));
  gate.close();
  const AgentCall late(gate, thread);
  EXPECT_FALSE(late);
  EXPECT_FALSE(thread.inside);
  EXPECT_EQ(thread.calls_of_agent, 0u);
}

// A replay step whose counters are never ready: its first launch waits for them, ten seconds long.
TEST(Exit, FreesALaunchThatWaitsForCounters) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "replay=2"}, {"RIDGELINE_METRICS_R1", "a"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  program.push("step");
  std::thread launching([&] { program.launch("kernel"); });
  std::this_thread::sleep_for(30ms);
  const auto begin = std::chrono::steady_clock::now();
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  launching.join();
  EXPECT_EQ(cupti.forced_flushes, 1);
}

TEST(Exit, MakesNoCallForALaunchThatComesLater) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "replay=2"}, {"RIDGELINE_METRICS_R1", "a"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  program.push("step");
  program.session().at_exit(spool::EndReason::exit);
  program.launch("late");
  program.pop();
  program.push("step");
  EXPECT_EQ(cupti.sessions_made, 0);
  EXPECT_EQ(program.contents().launches.size(), 0u);
}

TEST(Exit, EndsTheAgentsThreads) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=2"}});
  ASSERT_TRUE(program.start());
  program.session().start_thread();
  std::this_thread::sleep_for(10ms);
  program.session().at_exit(spool::EndReason::exit);
  const int flushes = cupti.flushes;
  std::this_thread::sleep_for(300ms);  // a flush comes every 200 ms
  EXPECT_EQ(cupti.flushes, flushes);
}

void end_with_library(bool ignore) {
  void* library = dlopen(RIDGELINE_FAKE_STATICS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(3);
  if (ignore && !ignore_later_exit_handlers(library)) std::exit(4);
  reinterpret_cast<const char* (*)()>(dlsym(library, "use_late_static"))();
  std::exit(0);
}

TEST(ExitOrder, ALibraryKeepsTheStaticsThatItMakesLater) {
  EXPECT_EXIT(end_with_library(false), ::testing::ExitedWithCode(0), "made late ended\nmade at load ended");
  EXPECT_EXIT(end_with_library(true), ::testing::ExitedWithCode(0), "^made at load ended");
}

TEST(ExitOrder, WhatIsNoLibraryIsRefused) {
  EXPECT_FALSE(ignore_later_exit_handlers(nullptr));
}

}  // namespace
}  // namespace ridgeline::agent
