// Calls on which the program's threads wait for the device, and the names of these threads.
#include <pthread.h>
#include <unistd.h>

#include <thread>

#include "agent_testing.h"
#include "cupti/launch_params.h"
#include "cupti/wait_calls.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr CUpti_CallbackId kStreamWait = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;

// A name that only the system knows.
class NamedThread {
 public:
  explicit NamedThread(const char* name) {
    pthread_getname_np(pthread_self(), before_, sizeof before_);
    pthread_setname_np(pthread_self(), name);
  }
  ~NamedThread() { pthread_setname_np(pthread_self(), before_); }

 private:
  char before_[16] = {};
};

std::string name_of(const FakeProgram::Contents& contents, std::uint32_t thread_id) {
  std::string names;
  for (const spool::ThreadRecord& thread : contents.threads)
    if (thread.thread_id == thread_id) names += (names.empty() ? "" : ",") + contents.text(thread.name);
  return names;
}

TEST(Waits, ARecordSaysWhoWaitedInWhichCallHowLongAndInWhichStep) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 5000);
  program.push("step");
  program.launch("k");
  const std::int64_t before = cupti.clock_ns;
  const std::uint32_t correlation = program.call(kStreamWait, 4'100'000);
  const std::int64_t after = cupti.clock_ns;
  program.pop();
  const auto c = program.contents();
  ASSERT_EQ(c.waits.size(), 2u);
  EXPECT_EQ(c.waits[0].call, SynchronisationCall::device);
  EXPECT_EQ(c.waits[0].step_index, spool::kNoStep);
  const spool::SynchronisationRecord& wait = c.waits[1];
  EXPECT_EQ(wait.call, SynchronisationCall::stream);
  EXPECT_EQ(wait.step_index, 0u);
  EXPECT_EQ(wait.correlation_id, correlation);
  EXPECT_EQ(wait.thread_id, static_cast<std::uint32_t>(gettid()));
  EXPECT_EQ(wait.context_id, 1u);
  EXPECT_GE(wait.enter_ns, before);
  EXPECT_LE(wait.exit_ns, after);
  EXPECT_GE(wait.exit_ns - wait.enter_ns, 4'100'000);
}

TEST(Waits, WhatDidNotWaitHasNoRecord) {
  FakeCupti cupti;  // its clock goes on by 100 ns each time it is asked
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.call(kStreamWait, spool::kShortestWaitNs - 101);
  EXPECT_TRUE(program.contents().waits.empty());
  program.call(kStreamWait, spool::kShortestWaitNs - 100);
  EXPECT_EQ(program.contents().waits.size(), 1u);
}

TEST(Waits, EachCallGoesByTheRuntimesName) {
  const std::pair<CUpti_CallbackId, const char*> calls[] = {
      {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cudaDeviceSynchronize"},
      {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, "cudaStreamSynchronize"},
      {CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, "cudaEventSynchronize"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpy, "cudaMemcpy"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds, "cudaMemcpy HtoD"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, "cudaMemcpy DtoH"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, "cudaMemcpyAsync HtoD"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz, "cudaMemcpyAsync DtoH"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, "cudaFree"},
      {CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost, "cudaFreeHost"}};
  for (const auto& [id, name] : calls) {
    ASSERT_TRUE(wait_call(id)) << name;
    EXPECT_EQ(to_string(*wait_call(id)), name);
  }
  for (const CUpti_CallbackId id : wait_callbacks()) EXPECT_TRUE(wait_call(id)) << id;
  for (const CUpti_CallbackId id : kLaunchCallbacks) EXPECT_FALSE(wait_call(id)) << id;
  EXPECT_FALSE(wait_call(0));
  EXPECT_FALSE(wait_call(CUPTI_DRIVER_TRACE_CBID_SIZE));
}

TEST(Waits, ACallThatTheAgentMakesIsNotTheProgramsWait) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.launch("k");  // this thread has a state now
  for (ThreadState* thread = all_threads(); thread != nullptr; thread = thread->next)
    if (thread->thread_id == static_cast<std::uint32_t>(gettid())) thread->inside = true;
  program.call(kStreamWait, 5'000'000);
  for (ThreadState* thread = all_threads(); thread != nullptr; thread = thread->next)
    if (thread->thread_id == static_cast<std::uint32_t>(gettid())) thread->inside = false;
  program.call(kStreamWait, 6'000'000);
  EXPECT_EQ(program.contents().waits.size(), 1u);
}

TEST(Waits, OutsideAWindowTheirCallbacksAreOffAndNothingIsWritten) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_AFTER_MS", "3000"}, {"RIDGELINE_DURATION_MS", "1000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  const auto pass = [&](double seconds) {
    for (double t = 0; t < seconds; t += 0.05) program.session().tick(cupti.clock_ns += 50'000'000);
  };
  program.call(kStreamWait, 10'000);
  pass(1);
  EXPECT_FALSE(cupti.enabled_calls.contains(kStreamWait)) << "dormant";
  // Begun before the window: its exit alone says nothing.
  program.call(kStreamWait, 10'000, [&] { pass(2.2); });
  EXPECT_TRUE(cupti.enabled_calls.contains(kStreamWait));
  EXPECT_TRUE(program.contents().waits.empty());
  program.call(kStreamWait, 10'000);
  // Begun in the window: noted to its end.
  program.call(CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, 10'000, [&] { pass(2); });
  EXPECT_FALSE(cupti.enabled_calls.contains(kStreamWait));
  program.call(kStreamWait, 10'000);
  const auto c = program.contents();
  ASSERT_EQ(c.waits.size(), 2u);
  EXPECT_EQ(c.waits[1].call, SynchronisationCall::event);
  ASSERT_EQ(c.windows.size(), 2u);
  EXPECT_EQ(c.windows[0].header.flags, spool::kWindowHasSynchronisation | spool::kWindowHasStreamCalls);
  EXPECT_EQ(c.windows[1].header.flags, 0);
}

TEST(Waits, NothingIsWrittenAfterTheEnd) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.call(kStreamWait, 10'000, [&] { program.session().at_exit(spool::EndReason::exit); });
  EXPECT_TRUE(program.contents().waits.empty());
}

TEST(Waits, ACuptiThatDoesNotKnowTheLatestCallIsNoMatter) {
  FakeCupti cupti;
  cupti.refused_calls = {wait_callbacks().back()};
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const auto c = program.contents();
  EXPECT_EQ(c.message(spool::Topic::timeline_refused), "");
  ASSERT_EQ(c.windows.size(), 1u);
  EXPECT_EQ(c.windows[0].header.flags, spool::kWindowHasSynchronisation | spool::kWindowHasStreamCalls);
}

TEST(Waits, ARefusalOfAllIsSaidAndTheWindowDoesNotPromiseThem) {
  FakeCupti cupti;
  cupti.refused_calls = {wait_callbacks().begin(), wait_callbacks().end()};
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const auto c = program.contents();
  EXPECT_NE(c.message(spool::Topic::timeline_refused).find("what the host waits for is not recorded"),
            std::string::npos);
  ASSERT_EQ(c.windows.size(), 1u);
  EXPECT_EQ(c.windows[0].header.flags & spool::kWindowHasSynchronisation, 0);
}

TEST(ThreadNames, AreWrittenOnceForThreadsThatLaunchOrWait) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  std::uint32_t launcher = 0, waiter = 0, nameless = 0;
  std::thread([&] {
    const NamedThread name("autograd");
    launcher = static_cast<std::uint32_t>(gettid());
    program.launch("k");
    program.launch("k");
    program.call(kStreamWait, 10'000);
  }).join();
  std::thread([&] {
    const NamedThread name("loader");
    waiter = static_cast<std::uint32_t>(gettid());
    program.call(kStreamWait, 10'000);
  }).join();
  std::thread([&] {  // has the program's name from the thread that started it
    nameless = static_cast<std::uint32_t>(gettid());
    program.launch("k");
  })
      .join();
  program.launch("k");
  const auto c = program.contents();
  EXPECT_EQ(name_of(c, launcher), "autograd");
  EXPECT_EQ(name_of(c, waiter), "loader");
  EXPECT_EQ(name_of(c, nameless), "");
  EXPECT_EQ(name_of(c, static_cast<std::uint32_t>(getpid())), "main");
  for (const spool::ThreadRecord& thread : c.threads)
    EXPECT_EQ(thread.header.flags, spool::kSystemThreadName);
}

TEST(ThreadNames, OneThatTheProgramGaveThroughNvtxIsTold) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const NamedThread name("worker");
  program.launch("k");
  program.session().nvtx_name_thread(static_cast<std::uint32_t>(gettid()), "trainer");
  const auto c = program.contents();
  ASSERT_EQ(c.threads.size(), 2u);
  EXPECT_EQ(c.text(c.threads[0].name), "worker") << "the first thread's own name, if it has one";
  EXPECT_EQ(c.threads[0].header.flags, spool::kSystemThreadName);
  EXPECT_EQ(c.text(c.threads[1].name), "trainer");
  EXPECT_EQ(c.threads[1].header.flags, 0);
}

}  // namespace
}  // namespace ridgeline::agent
