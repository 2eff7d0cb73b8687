// The session against a fake CUPTI: complete and incomplete timelines, refusals, steps, the end.
#include <algorithm>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

TEST(Session, JoinsKernelsLaunchesAndRanges) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.create_context();
  program.push("step");
  program.push("forward");
  const std::uint32_t a = program.launch("_Z1av", 7);
  program.pop();
  const std::uint32_t b = program.launch("_Z1bv");
  program.pop();
  const std::uint32_t outside = program.launch("_Z1av");
  ASSERT_TRUE(program.deliver({FakeProgram::kernel(a, "_Z1av", 5000, 6000),
                               FakeProgram::kernel(b, "_Z1bv", 6000, 6500),
                               FakeProgram::kernel(outside, "_Z1av", 7000, 7500)}));
  program.tick();
  const auto c = program.contents();
  ASSERT_EQ(c.launches.size(), 3u);
  EXPECT_EQ(c.launches[0].step_index, 0u);
  EXPECT_EQ(c.launches[0].step_ordinal, 0u);
  EXPECT_EQ(c.launches[1].step_ordinal, 1u);
  EXPECT_EQ(c.launches[2].step_index, spool::kNoStep);
  EXPECT_EQ(c.launches[2].nvtx_path_id, 0u);
  EXPECT_LT(c.launches[0].enter_ns, c.launches[0].exit_ns);
  // The launch's path is step/forward, and the range of that path holds it.
  ASSERT_EQ(c.paths.size(), 2u);
  EXPECT_EQ(c.text(c.paths[1].name), "forward");
  EXPECT_EQ(c.paths[1].parent_id, c.paths[0].path_id);
  EXPECT_EQ(c.launches[0].nvtx_path_id, c.paths[1].path_id);
  EXPECT_EQ(c.launches[1].nvtx_path_id, c.paths[0].path_id);
  ASSERT_EQ(c.ranges.size(), 2u);
  EXPECT_EQ(c.ranges[0].range_id, c.launches[0].nvtx_range_id);
  EXPECT_EQ(c.ranges[0].parent_range_id, c.ranges[1].range_id);
  ASSERT_EQ(c.kernels.size(), 3u);
  EXPECT_EQ(c.kernels[0].kernel_id, c.kernels[2].kernel_id);
  EXPECT_NE(c.kernels[0].kernel_id, c.kernels[1].kernel_id);
  EXPECT_EQ(c.totals.launches_seen, 3u);
  EXPECT_EQ(c.totals.kernel_records, 3u);
  ASSERT_EQ(c.ends.size(), 1u);
  EXPECT_EQ(c.ends[0].launches_seen, 2u);
}

TEST(Session, CountsDroppedAndZeroRecords) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const std::uint32_t a = program.launch("k");
  const std::uint32_t b = program.launch("k");
  program.launch("k");
  cupti.dropped = 1;
  program.deliver({FakeProgram::kernel(a, "k", 10, 20), FakeProgram::kernel(b, "k", 0, 0)});
  program.tick();
  const auto c = program.contents();
  EXPECT_EQ(c.totals.launches_seen, 3u);
  EXPECT_EQ(c.totals.kernel_records, 2u);
  EXPECT_EQ(c.totals.dropped_records, 1u);
  EXPECT_EQ(c.totals.zero_timestamp_records, 1u);
  EXPECT_EQ(c.kernels[1].header.flags & spool::kZeroTimestamp, spool::kZeroTimestamp);
  EXPECT_EQ(c.kernels[0].header.flags & spool::kZeroTimestamp, 0);
}

TEST(Session, RefusesABufferWhenThePoolIsEmpty) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_BUFFER_COUNT", "2"}, {"RIDGELINE_BUFFER_BYTES", "4096"}});
  ASSERT_TRUE(program.start());
  std::uint8_t* buffers[3] = {};
  std::size_t size = 0, most = 0;
  for (auto& b : buffers) cupti.requested(&b, &size, &most);
  EXPECT_NE(buffers[0], nullptr);
  EXPECT_NE(buffers[1], nullptr);
  EXPECT_EQ(buffers[2], nullptr);
  cupti.completed(nullptr, 0, buffers[0], 4096, 0);
  std::uint8_t* again = nullptr;
  cupti.requested(&again, &size, &most);
  EXPECT_EQ(again, buffers[0]);
  EXPECT_EQ(size, 4096u);
  program.tick();
  EXPECT_EQ(program.contents().totals.buffers_refused, 1u);
}

// On the thread that hands them over a launch of the program may be waiting.
TEST(Session, RecordsAreTakenOnTheAgentsThread) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.create_context();
  std::vector<CUpti_ActivityKernel10> records;
  for (std::uint64_t i = 0; i < 200; ++i)
    records.push_back(FakeProgram::kernel(program.launch("k"), "k", 10 + i, 20 + i));
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  cupti.requested(&buffer, &size, &most);
  ASSERT_NE(buffer, nullptr);
  const std::size_t bytes = records.size() * sizeof records[0];
  ASSERT_LE(bytes, size);
  std::memcpy(buffer, records.data(), bytes);
  cupti.completed(nullptr, 0, buffer, size, bytes);
  EXPECT_TRUE(program.contents().kernels.empty());
  program.tick();
  auto c = program.contents();
  EXPECT_EQ(c.kernels.size(), 200u);
  EXPECT_EQ(c.totals.kernel_records, 200u);
  EXPECT_EQ(c.totals.buffers_completed, 1u);
  EXPECT_TRUE(std::all_of(buffer, buffer + size, [](std::uint8_t byte) { return byte == 0; }));
  // What came back is taken at the program's end, too.
  cupti.requested(&buffer, &size, &most);
  const CUpti_ActivityKernel10 last = FakeProgram::kernel(program.launch("k"), "k", 1000, 1010);
  std::memcpy(buffer, &last, sizeof last);
  cupti.completed(nullptr, 0, buffer, size, sizeof last);
  program.session().at_exit(spool::EndReason::exit);
  c = program.contents();
  EXPECT_EQ(c.kernels.size(), 201u);
  EXPECT_EQ(c.totals.kernel_records, 201u);
}

// The name of a module that is gone may have stood where that of another stands now.
TEST(Session, AKernelGoesByItsNameAndNotByTheNamesAddress) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  char name[] = "first";
  program.deliver({FakeProgram::kernel(program.launch(name), name, 10, 20)});
  std::memcpy(name, "other", sizeof name);
  program.deliver({FakeProgram::kernel(1, name, 30, 40)});
  std::memcpy(name, "first", sizeof name);
  program.deliver({FakeProgram::kernel(1, name, 50, 60)});
  const auto c = program.contents();
  ASSERT_EQ(c.kernels.size(), 3u);
  EXPECT_NE(c.kernels[0].kernel_id, c.kernels[1].kernel_id);
  EXPECT_EQ(c.kernels[0].kernel_id, c.kernels[2].kernel_id);
}

TEST(Session, TellsFailedCapturedAndGraphLaunchesApart) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.push("step");
  program.launch("k", 1, CUDA_ERROR_INVALID_VALUE);
  program.launch("k", 1, CUDA_SUCCESS, true);
  program.launch("k", 1, CUDA_SUCCESS, false, true);
  program.launch("k");
  program.pop();
  program.tick();
  const auto c = program.contents();
  EXPECT_EQ(c.totals.launches_seen, 1u);
  EXPECT_EQ(c.totals.launches_failed, 1u);
  EXPECT_EQ(c.totals.launches_captured, 1u);
  EXPECT_EQ(c.totals.graph_launches_seen, 1u);
  ASSERT_EQ(c.launches.size(), 4u);
  EXPECT_EQ(c.launches[0].header.flags, spool::kLaunchFailed);
  EXPECT_EQ(c.launches[1].header.flags, spool::kLaunchCaptured);
  EXPECT_EQ(c.launches[2].header.flags, spool::kLaunchIsGraph);
  EXPECT_EQ(c.launches[3].step_ordinal, 0u) << "only kernels that run take a place in the step";
}

TEST(Session, SaysThatAnotherToolHoldsCupti) {
  FakeCupti cupti;
  cupti.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  FakeProgram program(cupti);
  EXPECT_FALSE(program.start());
  program.push("step");  // the program goes on
  program.pop();
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  EXPECT_NE(c.message(spool::Topic::subscriber_taken).find("nsys"), std::string::npos);
  EXPECT_EQ(c.ranges.size(), 1u) << "ranges are recorded all the same";
}

TEST(Session, SaysWhenKernelRecordsAreRefused) {
  FakeCupti cupti;
  cupti.kernel_enable_result = CUPTI_ERROR_NOT_COMPATIBLE;
  FakeProgram program(cupti);
  program.start();
  EXPECT_NE(program.contents().message(spool::Topic::timeline_refused).find("no kernel is recorded"),
            std::string::npos);
}

TEST(Session, SaysWhenOnlyFillsAreRefused) {
  FakeCupti cupti;
  cupti.memset_enable_result = CUPTI_ERROR_INVALID_KIND;
  FakeProgram program(cupti);
  program.start();
  EXPECT_NE(program.contents().message(spool::Topic::timeline_refused).find("memory set"), std::string::npos);
}

TEST(Session, SaysWhyCuptiIsMissing) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  program.session().without_cupti("CUPTI was not found");
  EXPECT_NE(program.contents().message(spool::Topic::cupti_missing).find("nothing is recorded"),
            std::string::npos);
}

TEST(Session, RecordsAFatalReportOfCupti) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  CUpti_StateData state{};
  state.notification.result = CUPTI_ERROR_UNKNOWN;
  state.notification.message = "something broke";
  cupti.callback(cupti.user, CUPTI_CB_DOMAIN_STATE, 1, &state);
  cupti.callback(cupti.user, CUPTI_CB_DOMAIN_STATE, 1, &state);  // again and again: said once
  const auto c = program.contents();
  EXPECT_NE(c.message(spool::Topic::timeline_refused).find("something broke"), std::string::npos);
  EXPECT_EQ(std::count_if(c.messages.begin(), c.messages.end(),
                          [](const auto& m) { return m.topic == spool::Topic::timeline_refused; }),
            1);
}

TEST(Session, FlushesAtTheEndAndStaysSilentAfterwards) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.push("step");
  program.launch("k");
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.forced_flushes, 1);
  program.launch("k");
  program.pop();
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.forced_flushes, 1);
  const auto c = program.contents();
  EXPECT_EQ(c.launches.size(), 1u);
  ASSERT_EQ(c.ends_of_process.size(), 1u);
  ASSERT_EQ(c.ranges.size(), 1u) << "the open range is written";
  EXPECT_EQ(c.ranges[0].header.flags & spool::kRangeUnclosed, spool::kRangeUnclosed);
}

TEST(Session, SaysThatNoStepWasSeen) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_STEP_RANGE", "iteration"}});
  ASSERT_TRUE(program.start());
  program.push("step");
  program.launch("k");
  program.pop();
  program.session().at_exit(spool::EndReason::exit);
  EXPECT_NE(program.contents().message(spool::Topic::nvtx_missing).find("'iteration'"), std::string::npos);
}

TEST(Session, PutsStepsIntoThePhasesOfTheSchedule) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=2"}});
  ASSERT_TRUE(program.start());
  for (const char* name : {"step", "step 1", "step:2", "steps", "step_3", "step"}) {
    program.push(name);
    program.pop();
  }
  const auto c = program.contents();
  ASSERT_EQ(c.begins.size(), 4u) << "'steps' and 'step_3' are other names";
  EXPECT_EQ(c.begins[0].phase, Phase::warmup);
  EXPECT_EQ(c.begins[1].phase, Phase::timeline);
  EXPECT_EQ(c.begins[3].phase, Phase::timeline) << "the timeline goes on after the schedule";
}

TEST(Session, TakesANestedStepForAnOrdinaryRange) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.push("step");
  program.push("step");
  program.launch("k");
  program.pop();
  program.launch("k");
  program.pop();
  const auto c = program.contents();
  EXPECT_EQ(c.begins.size(), 1u);
  ASSERT_EQ(c.launches.size(), 2u);
  EXPECT_EQ(c.launches[1].step_index, 0u);
  EXPECT_EQ(c.ends[0].launches_seen, 2u);
}

TEST(Session, CountsLaunchesOfOtherThreadsToTheStep) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.push("step");
  program.launch("k");
  std::thread([&] { program.launch("k"); }).join();
  program.pop();
  auto c = program.contents();
  ASSERT_EQ(c.launches.size(), 2u);
  if (c.launches[0].step_ordinal != 0)
    std::swap(c.launches[0], c.launches[1]);  // threads write to separate chunks
  EXPECT_EQ(c.launches[1].step_ordinal, 1u);
  EXPECT_EQ(c.launches[1].nvtx_path_id, 0u) << "ranges belong to the thread that opened them";
  EXPECT_NE(c.launches[0].thread_id, c.launches[1].thread_id);
}

// More threads than have a lane of their own, all there at once, and more that come one after the other.
TEST(Session, RecordsTheLaunchesOfManyThreads) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  constexpr int kTogether = spool::Writer::kOwnLanes + 8, kInTurn = 100, kEach = 5;
  std::mutex one_at_a_time;  // the pretended CUPTI numbers the launches
  const auto launch = [&] {
    for (int i = 0; i < kEach; ++i) {
      const std::lock_guard<std::mutex> guard(one_at_a_time);
      program.launch("k");
    }
  };
  std::latch all_launched(kTogether);
  std::vector<std::thread> threads;
  for (int t = 0; t < kTogether; ++t)
    threads.emplace_back([&] {
      launch();
      all_launched.arrive_and_wait();
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kInTurn; ++t) std::thread(launch).join();
  EXPECT_EQ(program.contents().launches.size(), (kTogether + kInTurn) * kEach) << "however the program ends";
  program.tick();
  const auto c = program.contents();
  EXPECT_EQ(c.totals.launches_seen, static_cast<std::uint64_t>((kTogether + kInTurn) * kEach));
  std::set<std::uint32_t> threads_of_launches;
  for (const auto& each : c.launches) threads_of_launches.insert(each.thread_id);
  EXPECT_GE(threads_of_launches.size(), static_cast<std::size_t>(kTogether));
}

TEST(Session, SaysThatTheSpoolIsFull) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SPOOL_LIMIT_BYTES", "8388608"}});
  ASSERT_TRUE(program.start());
  for (int i = 0; i < 70'000; ++i) program.launch("k");
  program.tick();
  program.tick();
  const auto c = program.contents();
  EXPECT_EQ(c.totals.launches_seen, 70'000u);
  EXPECT_LT(c.launches.size(), 70'000u);
  EXPECT_GE(c.launches.size() + c.totals.spool_records_lost, 70'000u);
  EXPECT_EQ(c.messages.size(), 1u) << "said once";
  EXPECT_NE(c.message(spool::Topic::spool_full).find("RIDGELINE_SPOOL_LIMIT_BYTES"), std::string::npos);
}

TEST(Session, ReportsVariablesThatMakeNoSense) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "nap=4"}, {"RIDGELINE_BUFFER_COUNT", "many"}});
  const auto c = program.contents();
  EXPECT_EQ(c.messages.size(), 2u);
  EXPECT_NE(c.message(spool::Topic::configuration).find("nap=4"), std::string::npos);
}

/// A timeline that no session drives.
struct TimelineAlone {
  FakeCupti cupti;
  const CuptiApi api = cupti.api();
  FakeProgram program{cupti};
  spool::Writer& writer = program.session().writer();
  Totals totals{writer};
  KernelTable kernels{writer};
  Timeline timeline{api, writer, totals, kernels, 64 * 1024, 4};
};

TEST(Timeline, KernelsDoNotComeBackAloneWhereAllAreOff) {
  TimelineAlone alone;
  FakeCupti& cupti = alone.cupti;
  Timeline& timeline = alone.timeline;
  ASSERT_TRUE(timeline.enable());
  const auto are_on = [&] { return cupti.kernels_disabled == 0; };
  EXPECT_EQ(timeline.trace_kernels(false), CUPTI_SUCCESS);
  EXPECT_FALSE(are_on());
  EXPECT_EQ(timeline.trace_kernels(true), CUPTI_SUCCESS);
  EXPECT_TRUE(are_on());
  timeline.trace_kernels(false);
  timeline.switch_off();
  timeline.trace_kernels(true);
  EXPECT_FALSE(are_on()) << "between two recording windows";
  timeline.switch_on();
  EXPECT_TRUE(are_on());
  timeline.trace_kernels(false);
  timeline.end();
  timeline.trace_kernels(true);
  EXPECT_FALSE(are_on()) << "it has ended for good";
}

TEST(Timeline, TheNewestRecordIsKnownAcrossTheWrapOfIds) {
  TimelineAlone alone;
  FakeCupti& cupti = alone.cupti;
  Timeline& timeline = alone.timeline;
  ASSERT_TRUE(timeline.enable());
  const auto deliver = [&](std::uint32_t id) {
    const CUpti_ActivityKernel10 record = FakeProgram::kernel(id, "k", 1000, 2000);
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    cupti.requested(&buffer, &size, &most);
    ASSERT_NE(buffer, nullptr);
    std::memcpy(buffer, &record, sizeof record);
    cupti.completed(nullptr, 0, buffer, size, sizeof record);
    timeline.drain();
  };
  deliver(UINT32_MAX - 1);
  EXPECT_EQ(timeline.newest_correlation_id(0), UINT32_MAX - 1);
  deliver(UINT32_MAX - 5);
  EXPECT_EQ(timeline.newest_correlation_id(0), UINT32_MAX - 1);
  deliver(7);
  EXPECT_EQ(timeline.newest_correlation_id(0), 7u);
  deliver(UINT32_MAX);
  EXPECT_EQ(timeline.newest_correlation_id(0), 7u);
}

}  // namespace
}  // namespace ridgeline::agent
