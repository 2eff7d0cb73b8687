// Threads of the program and the switching of PC sampling (tiers/launch_gate.h), on a fake CUPTI.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "agent_testing.h"
#include "tiers/launch_gate.h"

namespace ridgeline::agent::testing {
namespace {

constexpr std::uint32_t kGeneration = 77'001;

TEST(LaunchGate, ClosesOnlyWhileNoOtherThreadIsInside) {
  LaunchGate gate(kGeneration);
  std::promise<void> inside, go;
  std::thread other([&] {
    ThreadState* thread = this_thread(kGeneration);
    ASSERT_NE(thread, nullptr);
    gate.enter(*thread);
    inside.set_value();
    go.get_future().wait();
    LaunchGate::leave(*thread);
  });
  inside.get_future().wait();
  EXPECT_FALSE(LaunchGate::Closed(gate)) << "it gives up in the end";
  go.set_value();
  other.join();
  EXPECT_TRUE(LaunchGate::Closed(gate));
}

TEST(LaunchGate, TheThreadThatClosesMayBeInsideItself) {
  LaunchGate gate(kGeneration);
  ThreadState* own = this_thread(kGeneration);
  ASSERT_NE(own, nullptr);
  own->in_driver = true;
  EXPECT_TRUE(LaunchGate::Closed(gate));
  LaunchGate::leave(*own);
}

TEST(LaunchGate, WhoComesWhileItIsClosedWaitsAndThenGoesIn) {
  LaunchGate gate(kGeneration);
  std::atomic<bool> entered{false};
  std::thread other;
  {
    const LaunchGate::Closed quiet(gate);
    ASSERT_TRUE(quiet);
    std::promise<void> begun;
    other = std::thread([&] {
      ThreadState* thread = this_thread(kGeneration);
      begun.set_value();
      gate.enter(*thread);
      entered = true;
      LaunchGate::leave(*thread);
    });
    begun.get_future().wait();
    for (int i = 0; i < 100 && !entered; ++i) std::this_thread::yield();
    EXPECT_FALSE(entered);
  }
  other.join();
  EXPECT_TRUE(entered);
}

TEST(LaunchGate, StallsAreNotSwitchedBesideALaunchOfAnotherThread) {
  FakeCupti cupti;
  cupti.pcs = {{"_Z6kernelv", 0x10, 'M', {{14, 30}}}};
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,stalls=2,timeline=1"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  program.tick();  // describes the device
  const auto step = [&] {
    program.push("step");
    program.launch("_Z6kernelv");
    program.pop();
  };
  step();
  std::promise<void> inside, go;
  const std::thread::id own = std::this_thread::get_id();
  std::atomic<bool> held{false};
  program.while_running = [&] {
    if (std::this_thread::get_id() == own || held.exchange(true)) return;
    inside.set_value();
    go.get_future().wait();
  };
  std::thread other([&] { program.launch("_Z5otherv"); });
  inside.get_future().wait();
  step();
  EXPECT_EQ(cupti.pc_enables, 0);
  EXPECT_EQ(cupti.pc_starts, 0);
  go.set_value();
  other.join();
  step();
  EXPECT_EQ(cupti.pc_starts, 1) << "the next step of the phase";
  EXPECT_EQ(cupti.pc_stops, 1);
  EXPECT_EQ(cupti.pc_enabled, 0);
}

}  // namespace
}  // namespace ridgeline::agent::testing
