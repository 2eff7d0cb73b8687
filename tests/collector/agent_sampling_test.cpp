// In-situ sampling against a fake CUPTI: the plan of a window, when it starts and stops, refusals, ways to
// end.
#include "sampling_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using testing::kMillisecond;
using testing::SampledProgram;
using testing::TwoDevices;

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(SamplingPlan, IsFineEnoughForStepsOfSixtyMilliseconds) {
  const SamplingPlan plan = plan_sampling(6, 60 * kMillisecond, 30 * kGiB, {});
  EXPECT_EQ(plan.settle_steps, 2u);
  EXPECT_EQ(plan.sampled_steps, 1u);
  EXPECT_LE(plan.interval_ns, 6500);
  EXPECT_GE(plan.buffer_bytes, 60 * kMillisecond / plan.interval_ns * 14'000) << "13 to 14 KB a sample";
  EXPECT_LE(plan.buffer_bytes, 2 * kGiB);
}

TEST(SamplingPlan, OfStepsThatVaryMoreAreSampledAndCoarser) {
  EXPECT_EQ(plan_sampling(6, 90 * kMillisecond, 30 * kGiB, {}).sampled_steps, 1u);
  const SamplingPlan plan =
      plan_sampling(6, 90 * kMillisecond, 30 * kGiB, {.wanted_interval_ns = coarse_interval_ns(131'072)});
  EXPECT_EQ(plan.sampled_steps, 4u);
  EXPECT_LE(plan.interval_ns, 32'768);
  EXPECT_EQ(plan_sampling(6, 90 * kMillisecond, 30 * kGiB, {.wanted_interval_ns = coarse_interval_ns(0)})
                .sampled_steps,
            1u);
}

TEST(SamplingPlan, WindowsByTimeAreTheLongerTheLongerKernelsTake) {
  EXPECT_EQ(window_by_time_ns(0, 0), 90 * kMillisecond);
  EXPECT_EQ(window_by_time_ns(0, kMillisecond), 90 * kMillisecond) << "the first one is fine";
  EXPECT_EQ(window_by_time_ns(1, 0), 180 * kMillisecond);
  EXPECT_EQ(window_by_time_ns(7, 1000), 270 * kMillisecond);
  EXPECT_EQ(window_by_time_ns(2, 120'000), 420 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(window_by_time_ns(3, kMillisecond)), 1e9, 1e5);
  EXPECT_NEAR(static_cast<double>(window_by_time_ns(3, std::int64_t{1} << 62)), 1e9, 1e5);
  // Four samples a kernel, but for the room for steps that take longer.
  const SamplingPlan plan = plan_sampling(1, window_by_time_ns(2, 120'000), 30 * kGiB, {});
  EXPECT_LE(plan.interval_ns, 40'000);
}

TEST(SamplingPlan, IsNeverFinerThanTwoMicroseconds) {
  EXPECT_EQ(plan_sampling(6, kMillisecond, 30 * kGiB, {}).interval_ns, 2000);
}

TEST(SamplingPlan, TakesFewerStepsBeforeLongerIntervals) {
  const SamplingPlan longer = plan_sampling(6, 150 * kMillisecond, 30 * kGiB, {});
  EXPECT_EQ(longer.sampled_steps, 1u);
  EXPECT_LE(longer.interval_ns, 15'000);
  const SamplingPlan longest = plan_sampling(6, 2000 * kMillisecond, 30 * kGiB, {});
  EXPECT_EQ(longest.sampled_steps, 1u);
  EXPECT_GT(longest.interval_ns, longer.interval_ns);
  EXPECT_GE(longest.interval_ns * 14'000, 2000 * kMillisecond) << "the whole step fits";
}

TEST(SamplingPlan, TakesNoMoreSamplesThanAnExitCanWaitFor) {
  for (const std::int64_t step_ns :
       {kMillisecond, 20 * kMillisecond, 57 * kMillisecond, 300 * kMillisecond}) {
    const SamplingPlan plan = plan_sampling(6, step_ns, 30 * kGiB, {});
    const std::int64_t samples = plan.sampled_steps * step_ns / plan.interval_ns;
    EXPECT_LE(samples * 60'000, 900 * kMillisecond) << step_ns;  // as decoding and evaluating one takes
  }
}

TEST(SamplingPlan, StaysInsideTheMemory) {
  for (const std::uint64_t memory : {kGiB / 2, kGiB, 8 * kGiB}) {
    const SamplingPlan plan = plan_sampling(6, 60 * kMillisecond, memory, {});
    EXPECT_LE(plan.buffer_bytes / (32 * 1024) * (100 * 1024), memory) << "buffer, twice, and image together";
    EXPECT_GE(plan.sampled_steps, 1u);
    EXPECT_GE(static_cast<std::int64_t>(plan.buffer_bytes / (16 * 1024)) * plan.interval_ns,
              plan.sampled_steps * 60 * kMillisecond);
  }
}

TEST(SamplingPlan, DoesWhatItIsTold) {
  const SamplingPlan coarse = plan_sampling(6, 60 * kMillisecond, 30 * kGiB, {.interval_ns = 20'000});
  EXPECT_EQ(coarse.interval_ns, 20'000);
  EXPECT_EQ(coarse.sampled_steps, 4u);
  const SamplingPlan fine = plan_sampling(6, 60 * kMillisecond, 30 * kGiB, {.interval_ns = 2000});
  EXPECT_EQ(fine.interval_ns, 2000);
  EXPECT_EQ(fine.sampled_steps, 1u);
  const SamplingPlan small = plan_sampling(6, 60 * kMillisecond, 30 * kGiB, {.buffer_bytes = 64u << 20});
  EXPECT_EQ(small.buffer_bytes, 64u << 20);
  EXPECT_EQ(small.sampled_steps, 1u);
}

TEST(SamplingPlan, CopesWithShortPhasesAndUnknownSteps) {
  EXPECT_EQ(plan_sampling(1, 0, 30 * kGiB, {}).settle_steps, 0u);
  EXPECT_EQ(plan_sampling(1, 0, 30 * kGiB, {}).sampled_steps, 1u);
  EXPECT_EQ(plan_sampling(2, 0, 30 * kGiB, {}).settle_steps, 1u);
  EXPECT_EQ(plan_sampling(3, 0, 30 * kGiB, {}).sampled_steps, 1u) << "100 ms are assumed";
  EXPECT_GT(plan_sampling(6, 0, 0, {}).buffer_bytes, 0u);
  EXPECT_GT(plan_sampling(6, INT64_MAX, 30 * kGiB, {}).interval_ns, 0);
}

TEST(Sampling, MeasuresTheStepsThatFollowTheSettledOnes) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(2);
  EXPECT_EQ(cupti.pm_open, 1) << "set up at the phase's begin";
  EXPECT_EQ(cupti.pm_starts, 0);
  p.steps(4);
  EXPECT_EQ(cupti.pm_starts, 1);
  EXPECT_EQ(cupti.pm_stops, 0);
  p.tick();
  EXPECT_EQ(cupti.pm_stops, 1);
  EXPECT_EQ(cupti.pm_open, 0);

  const auto c = p.contents();
  for (std::size_t i = 0; i < c.begins.size(); ++i)
    EXPECT_EQ((c.begins[i].header.flags & spool::kStepUnmeasured) != 0, i == 3 || i == 4) << "step " << i;
  ASSERT_EQ(c.pm_windows.size(), 2u) << "at opening and at the end";
  EXPECT_EQ(c.pm_windows[0].status, WindowStatus::failed) << "what stands if the process is killed";
  EXPECT_NE(c.text(c.pm_windows[0].reason).find("program ended"), std::string::npos);
  const auto& w = c.pm_windows[1];
  EXPECT_EQ(w.window_id, c.pm_windows[0].window_id);
  EXPECT_EQ(w.status, WindowStatus::ok) << c.text(w.reason);
  EXPECT_EQ(w.first_step, 5u);
  EXPECT_EQ(w.last_step, 8u);
  EXPECT_EQ(w.interval_ns, cupti.pm_interval_ns);
  EXPECT_EQ(w.hardware_buffer_bytes, cupti.pm_buffer_bytes);
  EXPECT_GT(w.stop_ns - w.start_ns, 40 * kMillisecond);

  ASSERT_EQ(c.pm_metrics.size(), sampled_metric_set().metrics.size());
  std::map<std::uint32_t, std::string> names;
  for (const auto& m : c.metrics) names[m.metric_id] = c.text(m.name);
  for (std::size_t i = 0; i < c.pm_metrics.size(); ++i) {
    EXPECT_EQ(c.pm_metrics[i].position, i);
    const std::string wanted = sampled_metric_set().metrics[i];
    EXPECT_EQ(names[c.pm_metrics[i].metric_id], wanted.substr(0, wanted.find('|')));
  }
  EXPECT_EQ(w.samples, c.pm_samples.size());
  ASSERT_EQ(c.pm_samples.size(), cupti.pm_decoded - 1) << "the first one is not of the window";
  EXPECT_EQ(c.pm_samples[0].start_ns, cupti.pm_start_ns + w.interval_ns);
  for (std::size_t i = 0; i < c.pm_values.size(); ++i)
    ASSERT_EQ(c.pm_values[i].back(), 100.0 * static_cast<double>(i + 1) + 14)
        << "in order, whoever evaluates";
  EXPECT_EQ(c.pm_values[0],
            (std::vector<double>{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114}));
}

TEST(Sampling, StopsOnlyWhenTheDeviceIsThrough) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(5);
  p.device_hangs = true;  // the last step's kernels are still running
  p.step();
  for (int i = 0; i < 3; ++i) p.tick();
  EXPECT_EQ(cupti.pm_stops, 0);
  p.device_hangs = false;
  p.tick();
  EXPECT_EQ(cupti.pm_stops, 1);
  EXPECT_EQ(p.contents().pm_windows.back().status, WindowStatus::ok);
}

TEST(Sampling, StartsWhenTheDeviceHasCaughtUp) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(2);
  int flushes = 0;
  cupti.on_flush = [&] {
    cupti.clock_ns += 5 * kMillisecond;
    EXPECT_EQ(cupti.pm_starts, 0);
    if (++flushes == 4) p.flush();
  };
  p.step();
  EXPECT_EQ(flushes, 4);
  EXPECT_EQ(cupti.pm_starts, 1);
  cupti.on_flush = [&] { p.flush(); };
}

// The last launch may be a graph without kernels, or its record was refused.
TEST(Sampling, DoesNotKeepTheProgramWaitingForARecordThatNeverComes) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(2);
  p.device_hangs = true;
  const std::int64_t since_ns = cupti.clock_ns;
  p.step();
  EXPECT_GE(cupti.clock_ns - since_ns, 140 * kMillisecond);
  EXPECT_LT(cupti.clock_ns - since_ns, 200 * kMillisecond);
  EXPECT_EQ(cupti.pm_starts, 1);
  p.device_hangs = false;
}

TEST(Sampling, WaitsForADeviceThatIsFarBehindAsLongAsItWorks) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(2);
  ASSERT_GE(p.pending.size(), 3u);
  cupti.on_flush = [&] {
    cupti.clock_ns += 100 * kMillisecond;
    EXPECT_EQ(cupti.pm_starts, 0);
    const auto next = p.pending.front();
    p.pending.erase(p.pending.begin());
    p.program->deliver({FakeProgram::kernel(next.first, "k", 1000, 2000)});
    if (p.pending.empty()) cupti.on_flush = [&] { p.flush(); };
  };
  p.step();
  EXPECT_EQ(p.pending.size(), 3u) << "those of this step alone";
  EXPECT_EQ(cupti.pm_starts, 1);
}

TEST(Sampling, SamplesFewerStepsThanPlannedIfTheyTurnOutLonger) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.step();
  cupti.clock_ns += 100 * kMillisecond;  // on the device, what the host's begins did not tell
  p.steps(5);
  p.tick();
  const auto c = p.contents();
  const auto& w = c.pm_windows.back();
  EXPECT_EQ(w.status, WindowStatus::ok) << c.text(w.reason);
  EXPECT_EQ(w.first_step, 5u);
  EXPECT_LT(w.last_step, 8u);
}

// A program that enqueues all its steps at once: its host tells nothing of how long the device takes.
TEST(Sampling, IsPlannedAnewIfNotOneStepFits) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.step();
  const std::int64_t planned_ns = cupti.pm_interval_ns;
  cupti.clock_ns += 400 * kMillisecond;
  p.steps(5);
  p.tick();
  const auto c = p.contents();
  const auto& w = c.pm_windows.back();
  EXPECT_EQ(w.status, WindowStatus::ok) << c.text(w.reason);
  EXPECT_EQ(w.first_step, 5u);
  EXPECT_GT(w.interval_ns, planned_ns);
  EXPECT_EQ(w.interval_ns, cupti.pm_interval_ns);
  EXPECT_EQ(w.hardware_buffer_bytes, cupti.pm_buffer_bytes);
  constexpr std::int64_t kBytesPerSample = 16 * 1024;
  EXPECT_GT(static_cast<std::int64_t>(w.hardware_buffer_bytes) / kBytesPerSample * w.interval_ns,
            200 * kMillisecond)
      << "room for a step";
}

TEST(Sampling, IsClosedBeforeCountersAreOpened) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(6);
  EXPECT_EQ(cupti.pm_open, 1) << "no tick came";
  p.steps(2);
  EXPECT_EQ(cupti.pm_open, 0);
  EXPECT_EQ(cupti.sessions_made, 1) << "for two steps of one configuration";
  EXPECT_EQ(cupti.collisions, 0);
  p.tick();  // evaluates the counters
  const auto c = p.contents();
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::ok) << c.text(c.pm_windows.back().reason);
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].status, spool::CounterStatus::ok) << c.text(c.counter_steps[0].reason);
}

TEST(Sampling, TakesAWindowForEachPhase) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,sample=3,timeline=1,sample=2"}});
  p.steps(7);
  p.tick();
  EXPECT_EQ(cupti.pm_windows, 2);
  const auto c = p.contents();
  ASSERT_EQ(c.pm_windows.size(), 4u);
  EXPECT_EQ(c.pm_windows[1].window_id, 1u);
  EXPECT_EQ(c.pm_windows[1].first_step, 4u);
  EXPECT_EQ(c.pm_windows[3].window_id, 2u);
  EXPECT_EQ(c.pm_windows[3].first_step, 8u);
  EXPECT_EQ(c.pm_windows[3].status, WindowStatus::ok) << c.text(c.pm_windows[3].reason);
}

TEST(Sampling, TakesEveryDeviceThatIsUsed) {
  FakeCupti cupti;
  TwoDevices p(cupti);
  cupti.pm_config_ns = 300 * kMillisecond;  // no part of the steps that settle
  p.steps(6);
  EXPECT_EQ(cupti.pm_log, (std::vector<std::string>{"start 0", "start 1"}));
  p.tick();
  EXPECT_EQ(cupti.pm_log,
            (std::vector<std::string>{"start 0", "start 1", "stop 0", "stop 1", "read 0", "read 1"}))
      << "while one is read, the buffer of another would run full";
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.program->contents();
  ASSERT_EQ(c.pm_windows.size(), 4u) << "of each device at opening and at the end";
  std::map<std::uint32_t, std::uint32_t> device_of_window;
  for (const auto& w : c.pm_windows) {
    device_of_window[w.window_id] = w.device_id;
    EXPECT_EQ(w.first_step, 5u);
    EXPECT_EQ(w.last_step, 8u);
  }
  EXPECT_EQ(device_of_window, (std::map<std::uint32_t, std::uint32_t>{{1, 0}, {2, 1}}));
  EXPECT_EQ(c.pm_windows[2].status, WindowStatus::ok) << c.text(c.pm_windows[2].reason);
  EXPECT_EQ(c.pm_windows[3].status, WindowStatus::ok) << c.text(c.pm_windows[3].reason);
  EXPECT_GT(c.pm_windows[2].samples, 0u);
  EXPECT_EQ(c.pm_windows[2].samples + c.pm_windows[3].samples, c.pm_samples.size());
}

TEST(Sampling, OfOneDeviceWaitsForThatDevice) {
  FakeCupti cupti;
  TwoDevices p(cupti);
  p.steps(5);
  p.hangs = {0};  // launched before what the other device is through with
  p.step();
  for (int i = 0; i < 3; ++i) p.tick();
  EXPECT_EQ(cupti.pm_log, (std::vector<std::string>{"start 0", "start 1", "stop 1"}));
  p.hangs.clear();
  p.tick();
  EXPECT_EQ(cupti.pm_stops, 2);
  EXPECT_EQ(cupti.pm_open, 0);
}

TEST(Sampling, OfSeveralDevicesEndsWithTheProgram) {
  FakeCupti cupti;
  TwoDevices p(cupti);
  p.steps(4);
  EXPECT_EQ(cupti.pm_starts, 2);
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.program->contents();
  ASSERT_EQ(c.pm_windows.size(), 4u);
  for (const std::size_t i : {2u, 3u})
    EXPECT_EQ(c.pm_windows[i].status, WindowStatus::overflow) << c.text(c.pm_windows[i].reason);
}

TEST(Sampling, EndsWithARecordingWindowAndBeginsAnewInTheNext) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,sample=6"}}, true);
  const auto command = [&](spool::WindowCommand c) {
    p.program->control()->command = static_cast<std::uint32_t>(c);
    ++p.program->control()->sequence;
    for (int i = 0; i < 40; ++i) {
      cupti.clock_ns += 50 * kMillisecond;
      p.tick();
    }
  };
  p.steps(3);  // two that settle, one that is measured of four
  EXPECT_EQ(cupti.pm_starts, 1);
  command(spool::WindowCommand::close);
  EXPECT_EQ(p.program->control()->windows_closed, 1u);
  EXPECT_EQ(cupti.pm_open, 0) << "nothing goes on outside a window";
  command(spool::WindowCommand::open);
  p.steps(9);  // the whole schedule again: steps 6 to 14
  p.tick();
  const auto c = p.contents();
  EXPECT_EQ(c.begins[6].phase, Phase::timeline);
  EXPECT_EQ(c.begins[9].phase, Phase::sample);
  const auto& w = c.pm_windows.back();
  EXPECT_EQ(w.first_step, 11u);
  EXPECT_EQ(w.last_step, 14u);
  EXPECT_EQ(w.status, WindowStatus::ok) << c.text(w.reason);
}

// The window of recording closes in the sample phase: 1 s goes by while the counters are made ready.
TEST(Sampling, EndsWithTheRecordingWindow) {
  for (const bool measuring : {false, true}) {
    FakeCupti cupti;
    SampledProgram p(cupti, {{"RIDGELINE_DURATION_MS", measuring ? "1075" : "1045"}});
    for (int i = 0; i < 6; ++i) {
      p.step();
      p.tick();
    }
    for (int i = 0; i < 400; ++i) p.tick();
    EXPECT_EQ(cupti.pm_open, 0);
    const auto c = p.contents();
    const auto& w = c.pm_windows.back();
    EXPECT_EQ(w.status, measuring ? WindowStatus::overflow : WindowStatus::failed) << c.text(w.reason);
    EXPECT_NE(c.text(w.reason).find("the recording window closed"), std::string::npos) << c.text(w.reason);
    EXPECT_EQ(w.samples > 0, measuring);
  }
}

TEST(Sampling, SaysWhatToDoWithoutPermission) {
  FakeCupti cupti;
  cupti.pm_availability_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  SampledProgram p(cupti);
  p.steps(8);
  p.tick();
  EXPECT_EQ(cupti.pm_windows, 0);
  const auto c = p.contents();
  const std::string text = c.message(spool::Topic::sampling_refused);
  EXPECT_NE(text.find("no sampled counters"), std::string::npos) << text;
  EXPECT_NE(text.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos) << text;
  ASSERT_EQ(c.pm_windows.size(), 1u);
  EXPECT_EQ(c.pm_windows[0].status, WindowStatus::failed);
  EXPECT_EQ(c.pm_windows[0].first_step, 3u);
  EXPECT_EQ(c.pm_windows[0].last_step, 8u);
  EXPECT_EQ(c.launches.size(), 3u * 11);
  EXPECT_EQ(c.counter_steps.size(), 2u) << "replay is judged by itself";
}

TEST(Sampling, GivesUpWhenAStartIsRefused) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,sample=3,timeline=1,sample=3"}});
  cupti.pm_start_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  p.steps(7);
  EXPECT_EQ(cupti.pm_open, 0);
  EXPECT_EQ(cupti.pm_windows, 1) << "not tried again";
  const auto c = p.contents();
  EXPECT_NE(c.message(spool::Topic::sampling_refused).find("CAP_SYS_ADMIN"), std::string::npos);
  for (const auto& w : c.pm_windows) EXPECT_EQ(w.status, WindowStatus::failed);
  for (const auto& b : c.begins)
    EXPECT_EQ((b.header.flags & spool::kStepUnmeasured) != 0, b.phase == Phase::sample);
}

TEST(Sampling, ReportsAConfigurationThatFails) {
  FakeCupti cupti;
  cupti.pm_config_result = CUPTI_ERROR_NOT_SUPPORTED;
  SampledProgram p(cupti);
  p.steps(8);
  EXPECT_EQ(cupti.pm_open, 0);
  EXPECT_EQ(cupti.collisions, 0);
  const auto c = p.contents();
  EXPECT_NE(c.message(spool::Topic::sampling).find("configuring sampling failed"), std::string::npos);
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
}

TEST(Sampling, IsAbsentFromAnOldCupti) {
  FakeCupti cupti;
  cupti.pm_sampling = false;
  SampledProgram p(cupti);
  p.steps(6);
  EXPECT_NE(p.contents().message(spool::Topic::sampling_refused).find("12.6"), std::string::npos);
}

TEST(Sampling, CanBeSwitchedOff) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_TIERS", "T0,T2"}});
  p.steps(8);
  p.tick();
  EXPECT_EQ(cupti.pm_windows, 0);
  const auto c = p.contents();
  EXPECT_NE(c.message(spool::Topic::sampling_refused).find("RIDGELINE_TIERS"), std::string::npos);
  EXPECT_EQ(c.counter_steps.size(), 2u);
}

TEST(Sampling, NamesTheMetricsItLacks) {
  FakeCupti cupti;
  cupti.unknown_metrics["lts__t_bytes.sum"] = 1;
  SampledProgram p(cupti);
  p.steps(6);
  p.tick();
  const auto c = p.contents();
  EXPECT_NE(c.message(spool::Topic::metric_unavailable).find("lts__t_bytes.sum"), std::string::npos);
  EXPECT_EQ(c.pm_metrics.size(), sampled_metric_set().metrics.size() - 1);
  ASSERT_FALSE(c.pm_values.empty());
  EXPECT_EQ(c.pm_values[0].size(), c.pm_metrics.size());
}

// A device without links: nobody misses their bytes, and finding that out takes a few attempts.
TEST(Sampling, DoesWithoutTheLinksThatADeviceHasNot) {
  FakeCupti cupti;
  cupti.absent_metrics = {"nvltx__bytes_data_user.sum", "nvlrx__bytes_data_user.sum"};
  SampledProgram p(cupti, {{"RIDGELINE_TIERS", "T0,T1"}});
  p.steps(6);
  p.tick();
  const auto c = p.contents();
  EXPECT_EQ(c.message(spool::Topic::metric_unavailable), "");
  EXPECT_EQ(c.pm_metrics.size(), sampled_metric_set().metrics.size() - 2);
  ASSERT_FALSE(c.pm_values.empty());
  EXPECT_EQ(c.pm_values[0].size(), c.pm_metrics.size());
  EXPECT_LE(cupti.host_objects, 20);
}

TEST(Sampling, SaysWhichLinksHaveNoRoom) {
  FakeCupti cupti;
  cupti.max_metrics_per_pass = static_cast<int>(sampled_metric_set().metrics.size()) - 1;
  SampledProgram p(cupti, {{"RIDGELINE_TIERS", "T0,T1"}});
  p.steps(6);
  p.tick();
  const std::string said = p.contents().message(spool::Topic::metric_unavailable);
  EXPECT_NE(said.find("samples without pcie__write_bytes.sum"), std::string::npos) << said;
}

TEST(Sampling, StopsBeforeTheBufferIsFullAndKeepsTheSamples) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SAMPLE_BUFFER_BYTES", "67108864"}, {"RIDGELINE_SAMPLE_NS", "2000"}});
  p.steps(2);
  p.program->push("step");
  cupti.clock_ns += 20 * kMillisecond;  // 64 MiB hold 4473 samples: 8.9 ms
  p.tick();
  EXPECT_EQ(cupti.pm_stops, 1);
  p.program->pop();
  const auto c = p.contents();
  const auto& w = c.pm_windows.back();
  EXPECT_EQ(w.status, WindowStatus::overflow);
  EXPECT_NE(c.text(w.reason).find("nearly full"), std::string::npos) << c.text(w.reason);
  EXPECT_GT(w.samples, 0u);
  EXPECT_NE(c.message(spool::Topic::sampling).find("step 5"), std::string::npos);
}

TEST(Sampling, ReportsABufferThatWasFull) {
  FakeCupti cupti;
  cupti.pm_buffer_full = true;
  SampledProgram p(cupti);
  p.steps(6);
  p.tick();
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.contents();
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed) << "CUPTI gives none of the samples then";
  EXPECT_NE(c.text(c.pm_windows.back().reason).find("was full"), std::string::npos);
  EXPECT_NE(c.message(spool::Topic::sampling).find("was full"), std::string::npos);
}

TEST(Sampling, KeepsWhatFitsIfTheDeviceSamplesFaster) {
  FakeCupti cupti;
  cupti.pm_faster = 1.5;
  SampledProgram p(cupti);
  p.steps(6);
  p.tick();
  const auto c = p.contents();
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::overflow);
  EXPECT_EQ(c.pm_windows.back().samples, cupti.pm_max_samples - 1);
  EXPECT_NE(c.text(c.pm_windows.back().reason).find("faster"), std::string::npos);
}

TEST(Sampling, EndsAWindowAtTheProgramsExit) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(4);
  p.program->push("step");
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.pm_stops, 1);
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.contents();
  const auto& w = c.pm_windows.back();
  EXPECT_EQ(w.status, WindowStatus::overflow) << "samples end early";
  EXPECT_EQ(c.text(w.reason), "the program ended");
  EXPECT_EQ(w.last_step, 6u) << "the last step that ended";
  EXPECT_GT(w.samples, 0u);
}

TEST(Sampling, ReportsAWindowThatNeverStarted) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.step();
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.pm_open, 0);
  EXPECT_EQ(cupti.pm_starts, 0);
  const auto c = p.contents();
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
  EXPECT_NE(c.text(c.pm_windows.back().reason).find("first measured step"), std::string::npos);
}

TEST(Sampling, DoesNotKeepAnEndingProgramWaitingForManySamples) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  p.steps(4);
  cupti.clock_ns += 13'000 * cupti.pm_interval_ns;  // more than can be read at exit
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.pm_stops, 1);
  EXPECT_EQ(cupti.pm_decoded, 0u);
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.contents();
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
  EXPECT_EQ(c.pm_windows.back().samples, 0u);
  EXPECT_NE(c.text(c.pm_windows.back().reason).find("program ended"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::agent
