// Step replay against a fake CUPTI: kernels that wait for others, which must not run one at a time.
#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;
using testing::step;

constexpr char kCollective[] = "_Z23ncclDevKernel_AllReducePv";

// One timeline step and then replay steps of: k1, `waiting`, k2, k3.
struct WithWaiting {
  explicit WithWaiting(FakeCupti& cupti, const char* waiting = kCollective,
                       std::map<std::string, std::string> environment = {},
                       const char* schedule = "timeline=1,replay=2", const char* metrics = "a,b")
      : program(cupti, with_schedule(std::move(environment), schedule, metrics)), name(waiting) {
    EXPECT_TRUE(program.start());
    program.create_context();
    run();
    program.tick();
  }
  static std::map<std::string, std::string> with_schedule(std::map<std::string, std::string> e,
                                                          const char* schedule, const char* metrics) {
    e["RIDGELINE_SCHEDULE"] = schedule;
    e["RIDGELINE_METRICS_R1"] = metrics;
    e.emplace("RIDGELINE_BUDGET_MS", "3600000");  // how long is waited is the subject here
    return e;
  }
  void run() {
    program.push("step");
    for (const char* kernel : {"k1", name, "k2", "k3"}) program.launch(kernel);
    program.pop();
  }
  FakeProgram program;
  const char* name;
};

TEST(Replay, RunsCollectivesUnmeasuredAndMeasuresTheRest) {
  FakeCupti cupti;
  WithWaiting w(cupti);
  cupti.log.clear();
  w.run();
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"start ranges", "k1", kCollective, "k2", "k3", "stop"}))
      << "the timeline step showed it: no pause";
  EXPECT_EQ(cupti.in_ranges, (std::vector<std::string>{"k1", "k2", "k3"}));
  EXPECT_EQ(cupti.events_recorded, 1);
  const auto c = measured(w.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].launches_expected, 4u);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 3u);
  ASSERT_EQ(c.values.size(), 6u);
  EXPECT_EQ(c.values[0].step_ordinal, 0u);
  EXPECT_EQ(c.values[2].step_ordinal, 2u);
  EXPECT_EQ(c.values[4].step_ordinal, 3u);
  EXPECT_EQ(c.values[4].value, 200) << "the third range is the fourth launch's";
  ASSERT_EQ(c.launches.size(), 8u);
  for (std::size_t i = 4; i < 8; ++i)
    EXPECT_EQ((c.launches[i].header.flags & spool::kLaunchExcluded) != 0, i == 5) << i;
  ASSERT_EQ(c.exclusions.size(), 1u);
  EXPECT_EQ(c.exclusions[0].kernel_id, c.values[2].kernel_id - 1) << "ids go by first sight";
  EXPECT_EQ(c.exclusions[0].reason, ExclusionReason::name);
}

// The range is longer than its kernel, so what it says of the time is not the kernel's.
TEST(Replay, MarkedKernelsHaveNoDuration) {
  FakeCupti cupti;
  WithWaiting w(cupti, kCollective, {}, "timeline=1,replay=2", "a,gpu__time_duration.sum");
  w.run();
  const auto c = measured(w.program);
  std::map<std::uint32_t, std::string> names;
  for (const auto& metric : c.metrics) names[metric.metric_id] = c.text(metric.name);
  ASSERT_EQ(c.values.size(), 3u);
  for (const auto& value : c.values) EXPECT_EQ(names[value.metric_id], "a");
}

TEST(Replay, ALaunchInsideAnothersRangeIsNotMeasuredAndTakesTheOthersValues) {
  FakeCupti cupti;
  WithWaiting w(cupti);
  bool once = true;
  w.program.while_running = [&] {
    if (cupti.log.back() != "k2" || !std::exchange(once, false)) return;
    std::thread([&] { w.program.launch("k9"); }).join();
  };
  w.run();
  EXPECT_EQ(cupti.pushes, 3);
  EXPECT_EQ(cupti.pops, 3);
  const auto c = measured(w.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_NE(c.text(c.counter_steps[0].reason).find("1 launches ran beside"), std::string::npos);
  ASSERT_EQ(c.values.size(), 4u) << "two metrics of the first and the last kernel";
  EXPECT_EQ(c.values[0].step_ordinal, 0u);
  EXPECT_EQ(c.values[2].step_ordinal, 4u) << "the ordinals of the two launches at once are taken";
}

// No timeline step had it, so that the step's kernels are measured by themselves.
TEST(Replay, PausesAtACollectiveThatComesUnexpectedly) {
  FakeCupti cupti;
  WithWaiting w(cupti, "k0");
  cupti.log.clear();
  w.name = kCollective;
  w.run();
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"start kernels", "k1", "stop", kCollective, "start kernels",
                                                 "k2", "k3", "stop"}));
  EXPECT_EQ(cupti.configured, 1) << "counting goes on in the same image";
  EXPECT_EQ(measured(w.program).counter_steps[0].ranges_received, 3u);
}

TEST(Replay, MeasuresNothingWhileAnExcludedKernelRuns) {
  FakeCupti cupti;
  WithWaiting w(cupti, "spin", {{"RIDGELINE_REPLAY_EXCLUDE", "spin"}});
  cupti.log.clear();
  cupti.events_not_ready = 1000;
  w.run();
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"start ranges", "k1", "spin", "k2", "k3", "stop"}));
  EXPECT_EQ(cupti.in_ranges, (std::vector<std::string>{"k1"})) << "what it waits for must be let through";
  cupti.events_not_ready = 0;
  w.run();
  const auto c = measured(w.program);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 1u);
  EXPECT_EQ(c.counter_steps[1].ranges_received, 3u);
  EXPECT_EQ(c.exclusions.size(), 1u) << "the kernels behind it are not excluded for themselves";
}

TEST(Replay, WaitsForTheOtherProcessesOfACollective) {
  FakeCupti cupti;
  WithWaiting w(cupti, kCollective, {{"RIDGELINE_REPLAY_TIMEOUT_MS", "2000"}});
  cupti.log.clear();
  cupti.events_not_ready = 3000;  // 1 ms each: longer than a launch may hang
  w.program.while_running = [&] { w.program.tick(); };
  w.run();
  EXPECT_EQ(cupti.in_ranges, (std::vector<std::string>{"k1", "k2", "k3"}));
  EXPECT_TRUE(cupti.signals.empty()) << "waiting for others is no hang";
  EXPECT_EQ(measured(w.program).counter_steps[0].ranges_received, 3u);
}

TEST(Replay, GivesUpWaitingForOtherProcessesThatNeverCome) {
  FakeCupti cupti;
  WithWaiting w(cupti, kCollective, {}, "timeline=1,replay=5");
  std::vector<double> seconds;
  for (int i = 0; i < 4; ++i) {
    cupti.events_not_ready = 1'000'000;
    const std::int64_t before_ns = cupti.clock_ns;
    w.run();
    seconds.push_back(static_cast<double>(cupti.clock_ns - before_ns) / 1e9);
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(seconds[static_cast<std::size_t>(i)], 5.0, 0.5) << i;
  EXPECT_LT(seconds[3], 0.1);
  cupti.events_not_ready = 0;
  w.run();
  EXPECT_EQ(measured(w.program).counter_steps.back().ranges_received, 3u);
}

// Ranks that are free again after a while each time would otherwise wait for each other at every collective.
TEST(Replay, WaitsForOtherProcessesOnlySoLongInAll) {
  FakeCupti cupti;
  WithWaiting w(cupti, kCollective, {}, "timeline=1,replay=50");
  double total_s = 0;
  for (int i = 0; i < 40; ++i) {
    cupti.events_not_ready = 2000;  // 1 ms each
    const std::int64_t before_ns = cupti.clock_ns;
    w.run();
    const double took_s = static_cast<double>(cupti.clock_ns - before_ns) / 1e9;
    total_s += took_s;
    if (i < 7) {
      EXPECT_NEAR(took_s, 2.0, 0.1) << i;
    } else if (i > 7) {
      EXPECT_LT(took_s, 0.1) << i;
    }
  }
  EXPECT_NEAR(total_s, 15.0 + 32 * 0.02, 0.5);
  // Short waits are none of it.
  for (int i = 0; i < 9; ++i) {
    cupti.events_not_ready = 10;
    w.run();
  }
  cupti.events_not_ready = 0;
  const auto c = measured(w.program);
  ASSERT_EQ(c.counter_steps.size(), 49u);
  EXPECT_EQ(c.counter_steps[6].ranges_received, 3u);
  EXPECT_LT(c.counter_steps[20].ranges_received, 3u) << "what comes behind it goes on unmeasured";
  EXPECT_EQ(c.counter_steps.back().ranges_received, 3u);
}

TEST(Replay, ExcludesWhatTheUserNames) {
  FakeCupti cupti;
  WithWaiting w(cupti, "my_barrier", {{"RIDGELINE_REPLAY_EXCLUDE", "other, barrier"}});
  w.run();
  const auto c = measured(w.program);
  ASSERT_EQ(c.exclusions.size(), 1u);
  EXPECT_EQ(c.exclusions[0].reason, ExclusionReason::user);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 3u);
}

TEST(Replay, ExcludesWhatOverlappedALaterLaunchInTheTimeline) {
  FakeCupti cupti;
  WithWaiting w(cupti, "spin", {}, "timeline=2,replay=2");
  std::vector<CUpti_ActivityKernel10> records;
  w.run();  // the records below are of the two timeline steps: k1 is launch 1, spin 2, k2 3, k3 4; then 5…
  records.push_back(FakeProgram::kernel(999, "spin", 500'000, 500'100));  // outside steps: a warm-up
  for (std::uint32_t run = 0; run < 2; ++run) {
    const std::uint64_t t = 1'000'000 + run * 1000;
    auto spin = FakeProgram::kernel(2 + run * 4, "spin", t, t + 500);
    auto partner = FakeProgram::kernel(3 + run * 4, "k2", t + 100, t + 400);
    partner.streamId = 9;
    records.push_back(spin);
    records.push_back(partner);
  }
  ASSERT_TRUE(w.program.deliver(records));
  w.run();
  const auto c = measured(w.program);
  ASSERT_EQ(c.exclusions.size(), 1u);
  EXPECT_EQ(c.exclusions[0].reason, ExclusionReason::concurrent);
  EXPECT_EQ(c.counter_steps[0].ranges_received, 3u);
}

TEST(ConcurrencyWatch, SuspectsOnlyWhatAlwaysOverlapsALaterLaunch) {
  ConcurrencyWatch watch;
  const auto add = [&](std::uint32_t kernel, std::uint32_t correlation, std::uint32_t stream,
                       std::int64_t start, std::int64_t end) {
    spool::KernelRecord k{};
    k.kernel_id = kernel;
    k.correlation_id = correlation;
    k.stream_id = stream;
    k.start_ns = start;
    k.end_ns = end;
    watch.add(k);
  };
  for (std::int64_t run = 0; run < 3; ++run) {
    const std::int64_t t = 1000 + 1000 * run;
    const auto c = static_cast<std::uint32_t>(run * 10);
    add(1, c + 1, 1, t, t + 500);                           // waits for 2
    add(2, c + 2, 2, t + 100, t + 400);                     // was launched later: waits for nothing
    add(3, c + 3, 1, t + 600, t + (run == 1 ? 650 : 800));  // overlaps 4 but for one run
    add(4, c + 4, 2, t + 700, t + 900);
  }
  add(5, 90, 1, 9000, 9100);  // once: chance
  add(6, 91, 2, 9050, 9150);
  EXPECT_EQ(watch.finish(), std::vector<std::uint32_t>{1});
  EXPECT_FALSE(watch.watching());
}

// A program that makes a context anew, while no counters are open.
TEST(Replay, EventsOfADestroyedContextAreNotUsedAgain) {
  FakeCupti cupti;
  WithWaiting w(cupti, kCollective, {}, "timeline=1,replay=1,warmup=1,replay=1");
  w.run();
  EXPECT_EQ(cupti.events_created, 1);
  w.run();
  ASSERT_EQ(cupti.sessions_open, 0);
  w.program.destroy_context();
  w.program.create_context();
  w.run();
  EXPECT_EQ(cupti.events_recorded, 2);
  EXPECT_EQ(cupti.events_created, 2);
}

}  // namespace
}  // namespace ridgeline::agent
