#include <algorithm>
#include <limits>
#include <optional>

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

using spool::CounterStatus;

struct CounterCase {
  const char* name;
  void (*fill)(FakeSpool&);
  const char* status;  // of the replay step
  const char* reason;  // part of it; "" if ok
  int values;          // that reach the capture
  const char* tier;    // status of T2
};

void replay_step(FakeSpool& spool) {
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  spool.begin_step(0, Phase::replay, 1);
  for (int i = 0; i < 3; ++i) spool.launch();
  spool.end_step();
}

const CounterCase kCounterCases[] = {
    {"ok",
     [](FakeSpool& s) {
       replay_step(s);
       for (std::uint32_t i = 0; i < 3; ++i) s.counter_value(0, i, 1, 5);
       s.counter_step(0, CounterStatus::ok);
     },
     "ok", "", 3, "ok"},
    {"agent_saw_a_mismatch",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_step(0, CounterStatus::mismatch, "launch 2 differs");
     },
     "mismatch", "launch 2 differs", 0, "failed"},
    {"other_kernel_at_a_position",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_value(0, 0, 1, 5);
       s.counter_value(0, 1, 1, 5, 3);
       s.counter_step(0, CounterStatus::ok);
     },
     "mismatch", "launch 1", 0, "failed"},
    {"other_grid_at_a_position",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_value(0, 2, 1, 5, 0, 999);
       s.counter_step(0, CounterStatus::ok);
     },
     "mismatch", "grid 999x1x1", 0, "failed"},
    {"cupti_refused",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_step(0, CounterStatus::failed, "ranges were lost");
     },
     "failed", "ranges were lost", 0, "failed"},
    {"no_permission",
     [](FakeSpool& s) {
       replay_step(s);
       s.message(Severity::warning, spool::Topic::counters_refused, "counters refused: run as root");
     },
     "failed", "counters refused: run as root", 0, "refused"},
    {"program_ended_before_the_counters_were_read", [](FakeSpool& s) { replay_step(s); }, "failed",
     "before they were read", 0, "failed"},
    {"values_that_are_no_number_or_name_no_metric_are_left_out",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_value(0, 0, 1, std::numeric_limits<double>::quiet_NaN());
       s.counter_value(0, 1, 77, 5);
       s.counter_value(0, 2, 1, 5);
       s.counter_step(0, CounterStatus::ok);
     },
     "ok", "", 1, "ok"},
    {"values_without_a_launch_make_the_tier_partial",
     [](FakeSpool& s) {
       replay_step(s);
       s.counter_value(0, 2, 1, 5);
       s.counter_value(0, 9, 1, 5);
       s.counter_step(0, CounterStatus::ok);
     },
     "ok", "", 1, "partial"},
};

class Counters : public Importer, public ::testing::WithParamInterface<CounterCase> {};

TEST_P(Counters, AreJudged) {
  FakeSpool spool(directory_.path());
  GetParam().fill(spool);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT status FROM step"), GetParam().status);
  EXPECT_NE(step_reason(capture, 0).find(GetParam().reason), std::string::npos) << step_reason(capture, 0);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric"), std::to_string(GetParam().values));
  EXPECT_EQ(summary_.counter_values, GetParam().values);
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T2'"), GetParam().tier);
}
INSTANTIATE_TEST_SUITE_P(Importer, Counters, ::testing::ValuesIn(kCounterCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(Importer, ValuesWithoutALaunchAreCountedOverAllReplaySteps) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "replay=2");
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  for (std::uint32_t step = 0; step < 2; ++step) {
    spool.begin_step(step, Phase::replay, 1);
    spool.launch();
    spool.end_step();
    for (const std::uint32_t position : {0U, 8U, 9U}) spool.counter_value(step, position, 1, 5);
    spool.counter_step(step, CounterStatus::ok);
  }
  spool.completeness();
  spool.end();
  EXPECT_EQ(tier_text(import(), Tier::t2),
            "partial: 4 counter values belong to launches without a kernel record and were left out");
}

TEST_F(Importer, WhatCountersLackIsOneLineForAllSteps) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "replay=3");
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  for (std::uint32_t step = 0; step < 3; ++step) {
    spool.begin_step(step, Phase::replay, 1);
    spool.launch();
    spool.end_step();
    spool.counter_value(step, 0, 1, 5);
    spool.counter_step(step, CounterStatus::ok,
                       step == 0 ? "" : std::to_string(step) + " launches were lost");
  }
  spool.completeness();
  spool.end();
  import();
  ASSERT_EQ(summary_.warnings.size(), 1u);
  EXPECT_EQ(reports::reason_text(summary_.warnings[0]),
            "counters of 2 steps lack some; the first of them, step 1: 1 launches were lost");
}

TEST_F(Importer, ProcessesThatShareAGpuSayItOnce) {
  for (const std::uint32_t pid : {100u, 200u}) {
    FakeSpool spool(directory_.path(), pid);
    spool.process(pid, "timeline=1");
    spool.launch();
    spool.message(
        Severity::warning, spool::Topic::company,
        "another process (" + std::to_string(300 - pid) + ") is on this GPU: counters and samples ...");
    spool.completeness();
    spool.end();
  }
  const store::Capture capture = import();
  const auto of_company = [](const Reason& warning) { return warning.code == ReasonCode::turns; };
  EXPECT_EQ(std::count_if(summary_.warnings.begin(), summary_.warnings.end(), of_company), 1);
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM message m JOIN reason r ON r.id = m.reason_id "
                   "WHERE r.code = 'turns'"),
            "2");
}

// The agent took something else for steps at first, and what it counted then is all that it could afford.
TEST_F(Importer, WhatWasCountedInStepsThatGaveWayIsKept) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "timeline=1,replay=2");
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  const auto step = [&](std::uint32_t index, Phase phase, std::uint16_t flags,
                        std::optional<CounterStatus> counters) {
    spool.begin_step(index, phase, counters ? 1 : 0, flags);
    spool.launch();
    spool.end_step();
    if (counters == CounterStatus::ok) spool.counter_value(index, 0, 1, 5);
    if (counters) spool.counter_step(index, *counters);
  };
  step(0, Phase::timeline, spool::kStepByPeriod, {});
  step(1, Phase::replay, spool::kStepByPeriod, CounterStatus::ok);
  step(2, Phase::replay, spool::kStepByPeriod, CounterStatus::failed);
  step(3, Phase::timeline, spool::kStepByPeriod | spool::kScheduleStarts | spool::kStepSupersedes, {});
  step(4, Phase::replay, spool::kStepByPeriod, CounterStatus::not_available);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(phase || ' ' || status, ', ') FROM step"),
            "warmup ok, replay ok, warmup failed, timeline ok, replay failed");
  EXPECT_EQ(scalar(capture,
                   "SELECT value FROM reason_value v JOIN tier_status t ON t.reason_id = v.reason_id "
                   "WHERE t.tier = 'T2' AND v.name = 'steps'"),
            "2")
      << "the one that failed and gave way is none of those that should have had counters";
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric"), "1");
}

constexpr char kCountersBusy[] = "timeline only: the counters are in use; wait for the other";
constexpr std::uint16_t kBusy = 26, kNotSupported = 27;  // CUPTI's
void refused_step(FakeSpool& spool, RefusalCause counters, RefusalCause samples,
                  std::uint16_t why_no_samples) {
  spool.process(4242, "sample=1,replay=1");
  spool.message(Severity::warning, spool::Topic::counters_refused, kCountersBusy, counters, kBusy);
  spool.message(Severity::warning, spool::Topic::sampling_refused, "no in-situ samples", samples,
                why_no_samples);
  replay_step(spool);
  spool.counter_step(0, CounterStatus::not_available, kCountersBusy);
  spool.completeness();
  spool.end();
}

TEST_F(Importer, SaysOnceThatCountersAndSamplesAreHeldByAnother) {
  FakeSpool spool(directory_.path());
  refused_step(spool, RefusalCause::cupti, RefusalCause::cupti, kBusy);
  const store::Capture capture = import();
  ASSERT_EQ(summary_.warnings.size(), 1u) << warnings().back();
  EXPECT_EQ(warnings().front(), kCountersBusy);
  const store::TierStatus counters = capture.tier_statuses().at(2);
  EXPECT_EQ(counters.reason->code, ReasonCode::counters_refused);
  EXPECT_EQ(counters.reason->word("cause"), "cupti");
  EXPECT_EQ(counters.reason->number("cupti_result"), kBusy);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM message"), "2") << "both stay in the capture";
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T1'"), "refused");
}

TEST_F(Importer, SaysBothWhereSamplesAreRefusedForACauseOfTheirOwn) {
  FakeSpool spool(directory_.path());
  refused_step(spool, RefusalCause::cupti, RefusalCause::cupti, kNotSupported);
  import();
  EXPECT_EQ(summary_.warnings.size(), 2u);
}

TEST_F(Importer, PermissionIsOneCauseWhicheverCallWasRefused) {
  FakeSpool spool(directory_.path());
  refused_step(spool, RefusalCause::permission, RefusalCause::permission, kNotSupported);
  import();
  EXPECT_EQ(warnings(), (std::vector<std::string>{kCountersBusy}));
}

// Older agents gave no causes: two refusals are two then.
TEST_F(Importer, WithoutACauseNothingIsTakenForTheSame) {
  FakeSpool spool(directory_.path());
  refused_step(spool, RefusalCause::none_given, RefusalCause::none_given, kBusy);
  import();
  EXPECT_EQ(summary_.warnings.size(), 2u);
}

TEST_F(Importer, KeepsWholeGraphsAndExclusions) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "replay=2");
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  for (std::uint32_t step = 0; step < 2; ++step) {
    spool.begin_step(step, Phase::replay, 1);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step();
    for (std::uint32_t i = 0; i < 3; i += 2) spool.counter_value(step, i, 1, 100.0 + i);  // not the second
    for (const double value : {7e6, std::numeric_limits<double>::quiet_NaN()}) {
      spool::GraphCounterValueRecord graph{};
      graph.config_id = 1;
      graph.step_index = step;
      graph.kernel = spool::kWholeGraph;
      graph.correlation_id = value > 0 ? 77 : 78;
      graph.metric_id = 1;
      graph.value = value;
      spool.put(graph);
    }
    spool.counter_step(step, step == 0 ? CounterStatus::ok : CounterStatus::mismatch, "differs");
  }
  for (const auto reason : {ExclusionReason::name, ExclusionReason::time_out}) {
    spool::ReplayExclusionRecord exclusion{};
    exclusion.kernel_id = reason == ExclusionReason::name ? 2 : 1;
    exclusion.reason = reason;
    spool.put(exclusion);
  }
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  const auto graphs = capture.graph_metrics();
  ASSERT_EQ(graphs.size(), 1u) << "neither what CUPTI could not evaluate nor a discarded step";
  EXPECT_EQ(graphs[0].correlation_id, 77);
  EXPECT_EQ(graphs[0].tier, Tier::t2);
  EXPECT_EQ(graphs[0].value, 7e6);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric"), "2");
  std::vector<std::string> reasons;
  for (const auto& e : capture.replay_exclusions()) reasons.emplace_back(to_string(e.reason));
  std::sort(reasons.begin(), reasons.end());
  EXPECT_EQ(reasons, (std::vector<std::string>{"name", "time-out"}));
}

TEST_F(Importer, ValuesOfColdAndInstrumentedStepsAreTheThirdTiers) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "replay=1,cold=1,flops=1");
  spool.config(1, "R1");
  spool.metric(1, "dram__bytes_read.sum");
  const Phase phases[] = {Phase::replay, Phase::cold, Phase::flops};
  for (std::uint32_t step = 0; step < 3; ++step) {
    spool.begin_step(step, phases[step], 1);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step();
    for (std::uint32_t i = 0; i < 3; ++i) spool.counter_value(step, i, 1, 100.0 * (step + 1));
    spool.counter_step(step, step == 2 ? CounterStatus::failed : CounterStatus::ok, "lost");
  }
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(DISTINCT phase || ' ' || tier || ' ' || CAST(value AS INTEGER))"
                   " FROM v_launch_metric"),
            "replay T2 100,cold T3 200");
  EXPECT_EQ(tier_text(capture, Tier::t3),
            "partial: 1 of 2 cold and instrumented steps gave counters; the first that did not: lost");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T2'"), "ok");
  EXPECT_EQ(summary_.replay_steps, 1);
  EXPECT_EQ(scalar(capture, "SELECT CAST(dram_read_bytes_per_launch AS INTEGER) FROM v_rank"), "0 rows");
}

TEST_F(Importer, TheCountersPeakIsThatOfTheLongKernels) {
  FakeSpool spool(directory_.path());
  spool.config(1, "R1");
  spool.metric(2, "dram__bytes.sum.peak_sustained_elapsed.per_second");
  spool.begin_step(0, Phase::replay, 1);
  for (int i = 0; i < 4; ++i) spool.launch();
  const auto call = spool.call();
  spool.put(call);
  auto kernel = spool.kernel_of(call);
  kernel.end_ns = kernel.start_ns + 500'000;
  spool.put(kernel);
  spool.end_step();
  for (std::uint32_t i = 0; i < 4; ++i) spool.counter_value(0, i, 2, 4.7e12);
  spool.counter_value(0, 4, 2, 4.81e12);
  spool.counter_step(0, CounterStatus::ok);
  spool.completeness();
  spool.end();
  EXPECT_EQ(scalar(import(), "SELECT CAST(value AS INTEGER) FROM device_peak WHERE source = 'counter'"),
            "4810000000000");
}

}  // namespace
}  // namespace ridgeline::import::testing
