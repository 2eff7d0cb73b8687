// Callbacks of the program's calls go off only while no thread is in such a call.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr CUpti_CallbackId kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr CUpti_CallbackId kStreamWait = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;
constexpr CUpti_CallbackId kEventRecord = CUPTI_DRIVER_TRACE_CBID_cuEventRecord;
constexpr CUpti_CallbackId kFree = CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2;

// Its window opens after a minute; until then the callbacks are off from half a second on.
struct LaterProgram {
  LaterProgram() {
    EXPECT_TRUE(program.start());
    program.create_context();
  }
  void pass(double seconds) {
    for (double t = 0; t < seconds; t += 0.05) program.session().tick(cupti.clock_ns += 50'000'000);
  }
  bool is_on(CUpti_CallbackId id) const { return cupti.enabled_calls.contains(id); }
  FakeCupti cupti;
  FakeProgram program{cupti, {{"RIDGELINE_AFTER_MS", "60000"}}};
};

TEST(CallSwitch, CallbacksGoOffWhereNoThreadIsInACall) {
  LaterProgram p;
  p.pass(0.4);
  EXPECT_TRUE(p.is_on(kLaunch));
  p.pass(0.3);
  for (const CUpti_CallbackId id : {kLaunch, kStreamWait, kEventRecord}) EXPECT_FALSE(p.is_on(id)) << id;
  EXPECT_TRUE(p.is_on(kFree)) << "what is freed has to be known";
  p.pass(60);
  for (const CUpti_CallbackId id : {kLaunch, kStreamWait, kEventRecord}) EXPECT_TRUE(p.is_on(id)) << id;
}

TEST(CallSwitch, AThreadInACallKeepsThemOn) {
  for (const CUpti_CallbackId id : {kStreamWait, kEventRecord}) {
    LaterProgram p;
    p.program.call(id, 0, [&] {
      p.pass(2);
      EXPECT_TRUE(p.is_on(id));
      EXPECT_TRUE(p.is_on(kLaunch));
    });
    EXPECT_FALSE(p.is_on(id)) << "at its exit, when no other thread is in one";
    EXPECT_FALSE(p.is_on(kLaunch));
  }
  LaterProgram p;
  p.program.while_running = [&] { p.pass(2); };
  p.program.launch("k");
  EXPECT_FALSE(p.is_on(kLaunch));
}

TEST(CallSwitch, AnotherThreadInACallKeepsThemOn) {
  LaterProgram p;
  testing::ThreadInACall other(p.program, kStreamWait);
  p.pass(2);
  p.program.launch("k");
  EXPECT_TRUE(p.is_on(kStreamWait));
  EXPECT_TRUE(p.is_on(kLaunch));
  other.leave();
  EXPECT_FALSE(p.is_on(kLaunch));
}

TEST(CallSwitch, AWindowThatOpensMeanwhileHasThemOn) {
  LaterProgram p;
  p.program.call(kStreamWait, 0, [&] { p.pass(62); });
  EXPECT_TRUE(p.is_on(kStreamWait));
  EXPECT_TRUE(p.is_on(kLaunch));
  p.program.launch("k");
  EXPECT_EQ(p.program.contents().launches.size(), 1u);
}

// Of CUPTI: a call whose callback came at its entry has one at its exit, whatever is switched meanwhile.
TEST(CallSwitch, ManyThreadsLeaveEachCallThatTheyEntered) {
  static std::array<std::atomic<bool>, CUPTI_DRIVER_TRACE_CBID_SIZE> enabled;
  for (auto& each : enabled) each = true;
  FakeCupti cupti;
  CuptiApi api = cupti.api();
  api.enable_callback = [](std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                           CUpti_CallbackId id) {
    enabled[id] = on != 0;
    return CUPTI_SUCCESS;
  };
  FakeProgram program(cupti);
  constexpr std::uint32_t kGeneration = 999'999;
  const Settings settings;
  SessionState parts(settings, program.session().writer(), kGeneration);
  parts.api = &api;
  CallSwitch calls(parts);
  std::atomic<bool> stop{false};
  std::atomic<int> left_in{0}, unseen{0};
  const auto call = [&](CUpti_CallbackId id, int spins) {
    const bool called = enabled[id];
    if (called) calls.enters(*this_thread(kGeneration), id);
    for (int i = 0; i < spins; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);  // takes its time
    if (called && !enabled[id]) ++left_in;
    if (called && enabled[id]) calls.leaves(*this_thread(kGeneration), id);
    if (!called) ++unseen;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      while (!stop) {
        call(kLaunch, 300);
        call(t == 0 ? kStreamWait : kEventRecord, t == 0 ? 20000 : 100);
        if (t == 2) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  int times_off = 0;
  for (int i = 0; i < 200; ++i) {
    if (i % 2 == 0) {
      times_off += calls.off(i % 4 == 0, 20);
    } else {
      calls.off_when_possible();
      for (int k = 0; k < 20; ++k) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        calls.look();
      }
      times_off += !enabled[kEventRecord];
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    calls.on();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(left_in, 0);
  EXPECT_GT(times_off, 0);
  EXPECT_GT(unseen, 0);
}

TEST(CallSwitch, CallbacksThatDoNotComeBackAreTriedAgainAndSaid) {
  for (const bool for_good : {false, true}) {
    LaterProgram p;
    p.pass(0.7);
    EXPECT_FALSE(p.is_on(kLaunch));
    if (for_good)
      p.cupti.refused_calls = {kLaunch, kStreamWait};
    else
      p.cupti.refused_once = kLaunch;
    p.pass(60);
    EXPECT_EQ(p.is_on(kLaunch), !for_good);
    const auto c = p.program.contents();
    EXPECT_EQ(std::count_if(c.messages.begin(), c.messages.end(),
                            [&](const auto& m) { return m.topic == spool::Topic::timeline_refused; }),
              for_good ? 1 : 0);
    EXPECT_EQ(c.message(spool::Topic::timeline_refused).find("the timeline ends here") == 0, for_good);
  }
}

// A driver may lack some of the calls.
TEST(CallSwitch, CallbacksThatNeverWereOnNeedNotComeBack) {
  FakeCupti cupti;
  cupti.refused_calls = {kEventRecord};
  FakeProgram program(cupti, {{"RIDGELINE_AFTER_MS", "2000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int i = 0; i < 60; ++i) program.session().tick(cupti.clock_ns += 50'000'000);
  EXPECT_TRUE(cupti.enabled_calls.contains(kLaunch));
  EXPECT_EQ(program.contents().message(spool::Topic::timeline_refused), "");
}

}  // namespace
}  // namespace ridgeline::agent
