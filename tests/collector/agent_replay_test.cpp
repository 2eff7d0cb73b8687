// Step replay against a fake CUPTI: which configuration in which step, checks, refusals, tear-down.
#include <signal.h>

#include <set>
#include <thread>
#include <tuple>

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

// A program that begins on one device and works on another: cuda:1 after a few kernels on cuda:0. Its counters are
// ready, and two timeline steps are through.
struct OnAnotherDevice {
  explicit OnAnotherDevice(FakeCupti& cupti) : program(cupti, kTwoSets) {
    EXPECT_TRUE(program.start());
    program.create_context();
    program.launch("first");
    program.use_device(1);
    program.create_context();
    step(program);
    program.tick();
    step(program);
  }
  FakeProgram program;
};

TEST(Replay, MeasuresStepsOnAnotherDeviceOfTheSameChip) {
  FakeCupti cupti;
  OnAnotherDevice p(cupti);
  for (int i = 0; i < 3; ++i) step(p.program);
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& counted : c.counter_steps)
    EXPECT_EQ(counted.status, CounterStatus::ok) << c.text(counted.reason);
  EXPECT_GT(c.values.size(), 0u);
}

TEST(Replay, RefusesStepsOnADeviceOfAnotherChip) {
  FakeCupti cupti;
  cupti.chip_of_device[1] = "GB100";
  OnAnotherDevice p(cupti);
  step(p.program);
  const auto c = measured(p.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::not_available);
  EXPECT_EQ(c.text(c.counter_steps[0].reason),
            "the step launches on device 1, and counters were prepared for GH100 alone");
  EXPECT_EQ(cupti.sessions_made, 0);
}

// While kernels are traced, CUPTI counts nothing with patched code.
TEST(Replay, CountsInstructionsWithoutTracingKernels) {
  FakeCupti cupti;
  Ready r(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1,flops=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  step(r.program);
  EXPECT_EQ(cupti.kernels_disabled, 0);
  r.program.push("step");
  r.program.launch("k1");
  r.program.launch("k1", 2);
  EXPECT_EQ(cupti.kernels_disabled, 1);
  EXPECT_EQ(cupti.sessions_open, 1);
  const std::uint32_t last = r.program.launch("k2", 3);
  r.program.pop();
  EXPECT_EQ(cupti.kernels_disabled, 0) << "the timeline goes on";
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.configs.size(), 2u);
  EXPECT_EQ(c.text(c.configs[1].name), "F1");
  EXPECT_EQ(c.configs[1].metric_count, 9u);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[1].config_id, 2u);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::ok) << c.text(c.counter_steps[1].reason);
  EXPECT_EQ(c.values.size(), 3u * 2 + 3 * 9);
  // The counts join the launches by records of the agent's own.
  ASSERT_EQ(c.kernels.size(), 3u);
  EXPECT_EQ(c.kernels[2].correlation_id, last);
  EXPECT_EQ(c.kernels[2].header.flags, spool::kUntraced);
  EXPECT_EQ(c.kernels[2].grid_x, 3u);
  EXPECT_EQ(c.totals.zero_timestamp_records, 0u);
}

// The libraries that it loads end badly under a thread that is inside them when the program ends.
TEST(Replay, TheProfilerIsStartedOnlyWhereCountersAreWanted) {
  for (const auto& [name, value, starts] : std::vector<std::tuple<const char*, const char*, int>>{
           {"RIDGELINE_SCHEDULE", "timeline=2", 0},
           {"RIDGELINE_TIERS", "T0", 0},
           {"RIDGELINE_SCHEDULE", "timeline=2,replay=1", 1},
           {"RIDGELINE_SCHEDULE", "timeline=2,sample=1", 1}}) {
    FakeCupti cupti;
    FakeProgram program(cupti, {{name, value}});
    ASSERT_TRUE(program.start());
    program.create_context();
    step(program);
    program.tick();
    EXPECT_EQ(cupti.profiler_starts, starts) << name << "=" << value;
  }
}

TEST(Replay, WithoutAPhaseOfThemInstructionsAreNotCounted) {
  FakeCupti cupti;
  Ready r(cupti);
  EXPECT_EQ(measured(r.program).configs.size(), 2u);
}

TEST(Replay, MeasuresOneConfigurationAStep) {
  FakeCupti cupti;
  Ready r(cupti);
  for (int i = 0; i < 4; ++i) step(r.program);
  EXPECT_EQ(cupti.sessions_made, 1) << "opening a session is what costs most";
  EXPECT_EQ(cupti.sessions_open, 0);
  EXPECT_EQ(cupti.starts, 3);
  EXPECT_EQ(cupti.stops, 3);
  const auto c = measured(r.program);
  ASSERT_EQ(c.configs.size(), 2u);
  EXPECT_EQ(c.configs[0].metric_count, 2u);
  EXPECT_EQ(c.configs[1].metric_count, 3u);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(c.counter_steps[i].status, CounterStatus::ok) << c.text(c.counter_steps[i].reason);
    EXPECT_EQ(c.counter_steps[i].config_id, i % 2 + 1) << "configurations repeat";
    EXPECT_EQ(c.counter_steps[i].step_index, 2 + i);
    EXPECT_EQ(c.counter_steps[i].ranges_received, 3u);
  }
  ASSERT_EQ(c.values.size(), 3u * (2 + 3 + 2));
  const auto& v = c.values[3];  // R1, launch 1, second metric
  EXPECT_EQ(v.step_ordinal, 1u);
  EXPECT_EQ(v.grid_x, 2u);
  EXPECT_EQ(v.value, 101);
  EXPECT_EQ(c.begins[2].phase, Phase::replay);
  EXPECT_EQ(c.begins[2].config_id, 1u);
  EXPECT_EQ(c.begins[5].config_id, 0u);
}

// What value every metric of a step must have in the fake, by its pass: 10000 * (configuration - 1).
void expect_values_of_their_own_pass(const FakeProgram::Contents& c) {
  for (const auto& v : c.values) EXPECT_EQ(static_cast<unsigned>(v.value / 10000) + 1, v.config_id);
}

TEST(Replay, GoesOnWithTheNextSetInOneSession) {
  FakeCupti cupti;
  Ready r(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=7"},
                  {"RIDGELINE_METRICS_R1", "a,b"},
                  {"RIDGELINE_METRICS_R2", "a,c,d"},
                  {"RIDGELINE_METRICS_R3", "e"}});
  for (int i = 0; i < 7; ++i) step(r.program, 3, i == 4 ? "other" : "k2");
  EXPECT_EQ(cupti.sessions_made, 1);
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(c.counter_steps[i].config_id, i % 3 + 1);
    EXPECT_EQ(c.counter_steps[i].status, CounterStatus::ok) << "another kernel in step 4 ends nothing";
  }
  ASSERT_EQ(c.values.size(), 3u * (2 + 3 + 1 + 2 + 3 + 1 + 2));
  expect_values_of_their_own_pass(c);
}

TEST(Replay, LeavesTheRotationWhenAStepBreaksIt) {
  FakeCupti cupti;
  Ready r(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=5"},
                  {"RIDGELINE_METRICS_R1", "a,b"},
                  {"RIDGELINE_METRICS_R2", "a,c,d"}});
  step(r.program);
  r.program.push("step");  // a collective that no timeline step had
  r.program.launch("k1", 1);
  r.program.launch("ncclDevKernel", 2);
  r.program.launch("k2", 3);
  r.program.pop();
  for (int i = 0; i < 3; ++i) step(r.program);
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = measured(r.program);
  std::map<std::uint32_t, spool::CounterStepRecord> steps;
  for (const auto& s : c.counter_steps) steps[s.step_index] = s;
  ASSERT_EQ(steps.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(steps[2 + i].status, i == 1 ? CounterStatus::failed : CounterStatus::ok)
        << c.text(steps[2 + i].reason);
    EXPECT_EQ(steps[2 + i].config_id, i % 2 + 1);
  }
  expect_values_of_their_own_pass(c);  // it begins anew with the first set
}

TEST(Replay, KeepsTheValuesOfStepsThatDiffer) {
  FakeCupti cupti;
  Ready r(cupti);
  step(r.program, 3, "other");
  step(r.program, 4);
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> kernels;  // by step and ordinal
  for (const auto& v : c.values) kernels[v.step_index][v.step_ordinal] = v.kernel_id;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(c.counter_steps[i].status, CounterStatus::ok) << c.text(c.counter_steps[i].reason);
    EXPECT_EQ(kernels[2 + i].size(), i == 1 ? 4u : 3u);
  }
  EXPECT_EQ(kernels[2][0], kernels[4][0]);
  EXPECT_NE(kernels[2][2], kernels[4][2]) << "each value names the kernel that was measured";
}

TEST(Replay, MakesRoomForTheLongestStepSoFar) {
  FakeCupti cupti;
  Ready r(cupti, {{"RIDGELINE_SCHEDULE", "timeline=4,replay=2"},
                  {"RIDGELINE_METRICS_R1", "a,b"},
                  {"RIDGELINE_METRICS_R2", "a,c,d"}});
  step(r.program, 60);
  step(r.program);  // the reference: far shorter than what comes
  step(r.program, 60);
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  for (const auto& s : c.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << c.text(s.reason);
}

TEST(Replay, LeavesOutLaunchesOfSeveralThreadsAtOnce) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.launch("k1", 1);
  r.program.while_running = [&] {  // a launch of another thread while this one's is in the driver
    r.program.while_running = nullptr;
    std::thread([&] { r.program.launch("k3", 3); }).join();
  };
  r.program.launch("k2", 2);
  r.program.launch("k4", 4);
  r.program.pop();
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("2 launches ran beside"), std::string::npos);
  std::set<std::uint32_t> grids;
  for (const auto& v : c.values) grids.insert(v.grid_x);
  EXPECT_EQ(grids, (std::set<std::uint32_t>{1, 4}));
}

TEST(Replay, DiscardsAStepWithMissingRanges) {
  FakeCupti cupti;
  Ready r(cupti);
  cupti.missing_ranges = 1;
  step(r.program);
  cupti.missing_ranges = 0;
  cupti.ranges_dropped = 2;
  step(r.program);
  const auto c = measured(r.program);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::mismatch);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::failed);
  EXPECT_NE(c.text(c.counter_steps[1].reason).find("2 ranges were dropped"), std::string::npos);
  EXPECT_TRUE(c.values.empty());
}

TEST(Replay, SaysTimelineOnlyWithoutPermission) {
  FakeCupti cupti;
  cupti.availability_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  Ready r(cupti);
  step(r.program);
  step(r.program);
  EXPECT_EQ(cupti.sessions_made, 0);
  const auto c = measured(r.program);
  const std::string text = c.message(spool::Topic::counters_refused);
  EXPECT_NE(text.find("timeline only"), std::string::npos) << text;
  EXPECT_NE(text.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::not_available);
  EXPECT_EQ(c.launches.size(), 12u) << "the timeline goes on";
}

TEST(Replay, StopsTryingWhenStartIsRefused) {
  FakeCupti cupti;
  Ready r(cupti);
  cupti.start_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  step(r.program);
  step(r.program);
  EXPECT_EQ(cupti.sessions_made, 1);
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = measured(r.program);
  EXPECT_NE(c.message(spool::Topic::counters_refused).find("CAP_SYS_ADMIN"), std::string::npos);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::not_available);
}

TEST(Replay, KeepsTheSessionOverStepsOfOneConfiguration) {
  FakeCupti cupti;
  Ready r(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  for (int i = 0; i < 3; ++i) step(r.program);
  EXPECT_EQ(cupti.sessions_made, 1);
  EXPECT_EQ(cupti.sessions_open, 0) << "closed after the last";
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& s : c.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << c.text(s.reason);
  ASSERT_EQ(c.values.size(), 18u);
  EXPECT_EQ(c.values[17].step_ordinal, 2u) << "CUPTI numbers ranges over the whole session";
}

TEST(Replay, GivesUpAStepWhenCuptiFailsInsideIt) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,replay=2"}, {"RIDGELINE_METRICS_R1", "a"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int i = 0; i < 3; ++i) {
    cupti.push_result = i == 1 ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
    program.push("step");
    program.launch("k1");
    program.launch("", 1, CUDA_SUCCESS, false, true);
    program.pop();
    program.tick();
  }
  EXPECT_EQ(cupti.sessions_made, 2);
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("beginning a range"), std::string::npos);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::ok) << c.text(c.counter_steps[1].reason);
}

TEST(Replay, CutsALongStepIntoSegments) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,replay=1"}, {"RIDGELINE_METRICS_R1", "a"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  constexpr unsigned kLaunches = CounterSession::kMaxRanges + 100;
  for (int i = 0; i < 2; ++i) {
    program.push("step");
    for (unsigned k = 0; k < kLaunches; ++k) program.launch("k", k + 1);
    program.pop();
    program.tick();
  }
  EXPECT_EQ(cupti.configured, 2);
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  ASSERT_EQ(c.values.size(), kLaunches);
  for (unsigned k = 0; k < kLaunches; ++k) {
    ASSERT_EQ(c.values[k].step_ordinal, k);
    ASSERT_EQ(c.values[k].grid_x, k + 1);
  }
}

const std::map<std::string, std::string> kColdSteps = {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1,cold=2"},
                                                       {"RIDGELINE_METRICS_R1", "a,b"},
                                                       {"RIDGELINE_METRICS_R2", "a,c,d"},
                                                       {"RIDGELINE_METRICS_R3", "e"}};

TEST(Replay, EvictsTheCachesBeforeEachLaunchOfAColdStep) {
  FakeCupti cupti;
  Ready r(cupti, kColdSteps);
  step(r.program);
  EXPECT_EQ(cupti.evictions, 0);
  EXPECT_EQ(cupti.allocated, 0u);
  step(r.program);
  const int chunks = static_cast<int>((Eviction::kCacheSizes * (8u << 20) + Eviction::kChunkBytes - 1) /
                                      Eviction::kChunkBytes);
  EXPECT_EQ(cupti.evictions, 3 * chunks);
  EXPECT_GT(cupti.allocated, Eviction::kCacheSizes * (8u << 20));
  step(r.program);
  EXPECT_EQ(cupti.allocated, 0u) << "given back after the last cold step";
  EXPECT_EQ(cupti.sessions_made, 3) << "cold steps may pause, they do not rotate";
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (const auto& s : c.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << c.text(s.reason);
  EXPECT_EQ(c.counter_steps[0].config_id, 1u);
  EXPECT_EQ(c.counter_steps[1].config_id, 1u) << "cold steps begin with the first set again";
  EXPECT_EQ(c.counter_steps[2].config_id, 2u);
}

TEST(Replay, RefusesColdStepsWithoutMemory) {
  FakeCupti cupti;
  Ready r(cupti, kColdSteps);
  cupti.allocation_result = CUDA_ERROR_OUT_OF_MEMORY;
  step(r.program);
  step(r.program);
  cupti.allocation_result = CUDA_SUCCESS;
  step(r.program);
  const auto c = measured(r.program);
  std::map<std::uint32_t, spool::CounterStepRecord> steps;
  for (const auto& s : c.counter_steps) steps[s.step_index] = s;
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[2].status, CounterStatus::ok);
  EXPECT_EQ(steps[3].status, CounterStatus::not_available);
  EXPECT_NE(c.text(steps[3].reason).find("memory"), std::string::npos);
  EXPECT_EQ(steps[4].status, CounterStatus::ok);
  EXPECT_EQ(cupti.sessions_open, 0);
}

TEST(Replay, DropsTheRecordsOfItsOwnCopies) {
  FakeCupti cupti;
  Ready r(cupti, kColdSteps);
  step(r.program);
  r.program.push("step");
  r.program.launch("k1");
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  copy.start = static_cast<std::uint64_t>(cupti.clock_ns);
  copy.end = copy.start + 5;
  for (const std::uint64_t bytes : {std::uint64_t{Eviction::kChunkBytes}, std::uint64_t{2} << 20}) {
    copy.bytes = bytes;
    CUpti_ActivityKernel10 room{};  // records of this fake are of this size
    static_assert(sizeof copy <= sizeof room);
    std::memcpy(&room, &copy, sizeof copy);
    ASSERT_TRUE(r.program.deliver({room}));
  }
  r.program.launch("k1", 2);
  r.program.launch("k2", 3);
  r.program.pop();
  const auto c = measured(r.program);
  ASSERT_EQ(c.copies.size(), 1u);
  EXPECT_EQ(c.copies[0].bytes, 2 << 20);
}

TEST(Replay, EndsAProgramThatHangs) {
  FakeCupti cupti;
  auto environment = kTwoSets;
  environment["RIDGELINE_REPLAY_TIMEOUT_MS"] = "2000";
  Ready r(cupti, environment);
  r.program.push("step");
  r.program.launch("k1", 1);
  r.program.tick();
  EXPECT_TRUE(cupti.signals.empty());
  r.program.while_running = [&] {
    for (int i = 0; i < 18; ++i) r.program.tick();  // a second each
  };
  r.program.launch("spin_wait", 2);
  EXPECT_EQ(cupti.signals, (std::vector<int>{SIGTERM, SIGKILL}));
  const auto c = r.program.contents();
  const std::string text = c.message(spool::Topic::replay_time_out);
  EXPECT_NE(text.find("spin_wait"), std::string::npos) << text;
  EXPECT_NE(text.find("--replay-exclude"), std::string::npos);
  int messages = 0;
  for (const auto& m : c.messages) messages += m.topic == spool::Topic::replay_time_out;
  EXPECT_EQ(messages, 1);
  ASSERT_EQ(c.exclusions.size(), 1u);
  EXPECT_EQ(c.exclusions[0].reason, ExclusionReason::time_out);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
}

TEST(Replay, LetsALongKernelOutsideReplayStepsBe) {
  FakeCupti cupti;
  auto environment = kTwoSets;
  environment["RIDGELINE_REPLAY_TIMEOUT_MS"] = "2000";
  Ready r(cupti, environment);
  r.program.while_running = [&] {
    for (int i = 0; i < 8; ++i) r.program.tick();
  };
  r.program.launch("long");
  EXPECT_TRUE(cupti.signals.empty());
}

TEST(Replay, WaitsForTheEvaluationAtExit) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.session().start_thread();
  step(r.program);
  r.program.session().at_exit(spool::EndReason::exit);
  const auto c = r.program.contents();
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok);
}

TEST(Replay, NamesMetricsThatTheChipLacks) {
  FakeCupti cupti;
  cupti.unknown_metrics["b"] = 1;
  cupti.max_metrics_per_pass = 2;
  Ready r(cupti);
  step(r.program);
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.configs.size(), 2u);
  EXPECT_EQ(c.configs[0].metric_count, 1u);
  EXPECT_EQ(c.configs[1].metric_count, 2u) << "d needs a second pass";
  int unavailable = 0;
  for (const auto& m : c.messages) unavailable += m.topic == spool::Topic::metric_unavailable;
  EXPECT_EQ(unavailable, 2);
}

TEST(Replay, FiltersCuptisOwnKernels) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  const std::uint32_t ours = r.program.launch("k1");
  const auto now = static_cast<std::uint64_t>(cupti.clock_ns);
  r.program.deliver({FakeProgram::kernel(ours, "k1", now, now + 5),
                     FakeProgram::kernel(ours, "helper", now, now + 80),
                     FakeProgram::kernel(999'999, "helper", now, now + 80)});
  r.program.pop();
  // Outside a session an unknown kernel is the program's, but for the one that runs before counting is on.
  const auto later = static_cast<std::uint64_t>(cupti.clock_ns) + 1'000'000;
  const std::uint32_t between = r.program.launch("k1");  // of which no name is known
  r.program.deliver({FakeProgram::kernel(1'000'000, "unseen", later, later + 5),
                     FakeProgram::kernel(ours, "WaitNs", later, later + 80),
                     FakeProgram::kernel(between, "WaitNs", later + 90, later + 99),
                     FakeProgram::kernel(between, "k1", later + 7'000'000, later + 7'000'001)});
  r.program.tick();
  const auto c = measured(r.program);
  EXPECT_EQ(c.totals.own_kernel_records, 4u) << "three share a launch's correlation id, one has its own";
  ASSERT_EQ(c.kernels.size(), 3u);
  EXPECT_EQ(c.kernels[0].correlation_id, ours);
  EXPECT_EQ(c.kernels[1].correlation_id, 1'000'000u);
  EXPECT_EQ(c.kernels[2].correlation_id, between);
}

TEST(Replay, KeepsAProgramsKernelThatIsCalledAsCuptisOwn) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  const auto now = static_cast<std::uint64_t>(cupti.clock_ns);
  const std::uint32_t in_step = r.program.launch("WaitNs");
  r.program.pop();
  const std::uint32_t behind = r.program.launch("WaitNs");
  r.program.deliver({FakeProgram::kernel(in_step, "WaitNs", now, now + 5),
                     FakeProgram::kernel(behind, "WaitNs", now + 1'000'000, now + 1'000'005)});
  r.program.tick();
  EXPECT_EQ(measured(r.program).kernels.size(), 2u);
}

// JAX's compiler loads and drops a module for each kernel that it tries.
TEST(Replay, KeepsAKernelThatLiesWhereAnotherDid) {
  FakeCupti cupti;
  Ready r(cupti);
  std::string name = "k1", cubin(64, '\0');
  r.program.function = reinterpret_cast<CUfunction>(0x500);
  r.program.push("step");
  r.program.launch(name.c_str());
  name[1] = '7';  // the module is gone, and another one is loaded by the launch itself
  r.program.while_running = [&] { r.program.load_module(cubin); };
  const std::uint32_t id = r.program.launch(name.c_str());
  const auto now = static_cast<std::uint64_t>(cupti.clock_ns);
  r.program.deliver({FakeProgram::kernel(id, "k7", now, now + 5)});
  r.program.while_running = nullptr;
  r.program.pop();
  const auto c = measured(r.program);
  EXPECT_EQ(c.totals.own_kernel_records, 0u);
  ASSERT_EQ(c.kernels.size(), 1u);
  EXPECT_EQ(c.kernels[0].correlation_id, id);
}

TEST(Replay, FinishesOnTheNextLaunchIfTheStepEndsElsewhere) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  std::thread([&] {
    r.program.launch("k1", 1);
    r.program.launch("k1", 2);
    r.program.launch("k2", 3);
  }).join();
  r.program.pop();
  EXPECT_EQ(cupti.stops, 0);
  r.program.launch("between");
  EXPECT_EQ(cupti.stops, 1);
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::ok) << c.text(c.counter_steps[1].reason);
}

TEST(Replay, DoesNotTouchCountersAtExit) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.launch("k1");
  r.program.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.stops, 0);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("ended inside"), std::string::npos);
}

TEST(Replay, ClosesWhenTheContextGoes) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.launch("k1");
  r.program.destroy_context();
  EXPECT_EQ(cupti.sessions_open, 0);
  r.program.pop();
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
}

TEST(Replay, StaysOffWhenTheTierIsNotAllowed) {
  FakeCupti cupti;
  auto environment = kTwoSets;
  environment["RIDGELINE_TIERS"] = "T0";
  Ready r(cupti, environment);
  step(r.program);
  EXPECT_EQ(cupti.sessions_made, 0);
  EXPECT_NE(measured(r.program).message(spool::Topic::counters_refused).find("RIDGELINE_TIERS"),
            std::string::npos);
}

TEST(Replay, ReportsAStepWithoutLaunches) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.pop();
  step(r.program);
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::failed);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::ok);
}

}  // namespace
}  // namespace ridgeline::agent
