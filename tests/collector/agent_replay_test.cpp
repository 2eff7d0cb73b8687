// Step replay against a fake CUPTI: which configuration in which step, checks, refusals, tear-down.
#include <thread>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;

const std::map<std::string, std::string> kTwoSets = {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"},
                                                     {"RIDGELINE_METRICS_R1", "a,b"},
                                                     {"RIDGELINE_METRICS_R2", "a,c,d"}};

void step(FakeProgram& program, int launches = 3, const char* last = "k2") {
  program.push("step");
  for (int i = 0; i < launches; ++i)
    program.launch(i + 1 == launches ? last : "k1", static_cast<unsigned>(i) + 1);
  program.pop();
}

// A program whose counters are ready: two timeline steps are through.
struct Ready {
  explicit Ready(FakeCupti& cupti, const std::map<std::string, std::string>& environment = kTwoSets)
      : program(cupti, environment) {
    EXPECT_TRUE(program.start());
    program.create_context();
    step(program);
    program.tick();
    step(program);
  }
  FakeProgram program;
};

TEST(Replay, MeasuresOneConfigurationAStep) {
  FakeCupti cupti;
  Ready r(cupti);
  for (int i = 0; i < 4; ++i) step(r.program);
  EXPECT_EQ(cupti.sessions_made, 3);
  EXPECT_EQ(cupti.sessions_open, 0);
  EXPECT_EQ(cupti.starts, 3);
  EXPECT_EQ(cupti.stops, 3);
  const auto c = r.program.contents();
  ASSERT_EQ(c.configs.size(), 2u);
  EXPECT_EQ(c.configs[0].metric_count, 2u);
  EXPECT_EQ(c.configs[1].metric_count, 3u);
  ASSERT_EQ(c.counter_steps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(c.counter_steps[i].status, CounterStatus::kOk) << c.text(c.counter_steps[i].reason);
    EXPECT_EQ(c.counter_steps[i].config_id, i % 2 + 1) << "configurations repeat";
    EXPECT_EQ(c.counter_steps[i].step_index, 2 + i);
    EXPECT_EQ(c.counter_steps[i].ranges_received, 3u);
  }
  ASSERT_EQ(c.values.size(), 3u * (2 + 3 + 2));
  const auto& v = c.values[3];  // R1, launch 1, second metric
  EXPECT_EQ(v.step_ordinal, 1u);
  EXPECT_EQ(v.grid_x, 2u);
  EXPECT_EQ(v.value, 101);
  EXPECT_EQ(c.begins[2].phase, spool::Phase::kReplay);
  EXPECT_EQ(c.begins[2].config_id, 1u);
  EXPECT_EQ(c.begins[5].config_id, 0u);
}

TEST(Replay, DiscardsAStepThatDiffers) {
  FakeCupti cupti;
  Ready r(cupti);
  step(r.program, 3, "other");
  step(r.program, 4);
  step(r.program);
  const auto c = r.program.contents();
  ASSERT_EQ(c.counter_steps.size(), 3u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kMismatch);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("launch 2"), std::string::npos);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kMismatch);
  EXPECT_EQ(c.counter_steps[2].status, CounterStatus::kOk);
  for (const auto& v : c.values) EXPECT_EQ(v.step_index, 4u) << "only the matching step has values";
}

TEST(Replay, DiscardsAStepWithMissingRanges) {
  FakeCupti cupti;
  Ready r(cupti);
  cupti.missing_ranges = 1;
  step(r.program);
  cupti.missing_ranges = 0;
  cupti.ranges_dropped = 2;
  step(r.program);
  const auto c = r.program.contents();
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kMismatch);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kFailed);
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
  const auto c = r.program.contents();
  const std::string text = c.message(spool::Topic::kCountersRefused);
  EXPECT_NE(text.find("timeline only"), std::string::npos) << text;
  EXPECT_NE(text.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kNotAvailable);
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
  const auto c = r.program.contents();
  EXPECT_NE(c.message(spool::Topic::kCountersRefused).find("CAP_SYS_ADMIN"), std::string::npos);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kFailed);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kNotAvailable);
}

TEST(Replay, LeavesGraphAndCollectiveStepsAlone) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,replay=1,timeline=1,replay=1"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int pair = 0; pair < 2; ++pair)
    for (int i = 0; i < 2; ++i) {
      program.push("step");
      if (pair == 0) program.launch("k", 1, CUDA_SUCCESS, false, true);
      program.launch(pair == 1 ? "_Z23ncclDevKernel_AllReducePv" : "k");
      program.pop();
      program.tick();
    }
  EXPECT_EQ(cupti.sessions_made, 0) << "serialising a collective kernel would hang the program";
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kNotAvailable);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("graph"), std::string::npos);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kNotAvailable);
  EXPECT_NE(c.text(c.counter_steps[1].reason).find("collective"), std::string::npos);
}

TEST(Replay, NamesMetricsThatTheChipLacks) {
  FakeCupti cupti;
  cupti.unknown_metrics["b"] = 1;
  cupti.max_metrics_per_pass = 2;
  Ready r(cupti);
  step(r.program);
  step(r.program);
  const auto c = r.program.contents();
  ASSERT_EQ(c.configs.size(), 2u);
  EXPECT_EQ(c.configs[0].metric_count, 1u);
  EXPECT_EQ(c.configs[1].metric_count, 2u) << "d needs a second pass";
  int unavailable = 0;
  for (const auto& m : c.messages) unavailable += m.topic == spool::Topic::kMetricUnavailable;
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
  // Outside a session an unknown kernel is the program's.
  const auto later = static_cast<std::uint64_t>(cupti.clock_ns) + 1'000'000;
  r.program.deliver({FakeProgram::kernel(1'000'000, "unseen", later, later + 5)});
  r.program.tick();
  const auto c = r.program.contents();
  EXPECT_EQ(c.totals.own_kernel_records, 2u) << "one shares our correlation id, one has its own";
  ASSERT_EQ(c.kernels.size(), 2u);
  EXPECT_EQ(c.kernels[0].correlation_id, ours);
  EXPECT_EQ(c.kernels[1].correlation_id, 1'000'000u);
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
  const auto c = r.program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kOk) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kOk) << c.text(c.counter_steps[1].reason);
}

TEST(Replay, DoesNotTouchCountersAtExit) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.launch("k1");
  r.program.session().at_exit(spool::EndReason::kExit);
  EXPECT_EQ(cupti.stops, 0);
  const auto c = r.program.contents();
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
  const auto c = r.program.contents();
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kFailed);
}

TEST(Replay, StaysOffWhenTheTierIsNotAllowed) {
  FakeCupti cupti;
  auto environment = kTwoSets;
  environment["RIDGELINE_TIERS"] = "T0";
  Ready r(cupti, environment);
  step(r.program);
  EXPECT_EQ(cupti.sessions_made, 0);
  EXPECT_NE(r.program.contents().message(spool::Topic::kCountersRefused).find("RIDGELINE_TIERS"),
            std::string::npos);
}

TEST(Replay, ReportsAStepWithoutLaunches) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  r.program.pop();
  step(r.program);
  const auto c = r.program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::kFailed);
  EXPECT_EQ(c.counter_steps[1].status, CounterStatus::kOk);
}

}  // namespace
}  // namespace ridgeline::agent
