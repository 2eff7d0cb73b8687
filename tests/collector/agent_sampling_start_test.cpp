// Sampling that takes long to start, against a fake CUPTI: on a busy host the start was seen to take 107 ms, which is
// as much as the buffer of a window holds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "sampling_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using testing::kMillisecond;
using testing::SampledProgram;
using testing::TwoDevices;

// The windows as they stand in the end, by id.
std::vector<spool::PmWindowRecord> last_words(const FakeProgram::Contents& c) {
  std::map<std::uint32_t, spool::PmWindowRecord> by_id;
  for (const auto& window : c.pm_windows) by_id[window.window_id] = window;
  std::vector<spool::PmWindowRecord> windows;
  for (const auto& [id, window] : by_id) windows.push_back(window);
  return windows;
}

// Steps of the sample phase that are meant to have samples, as the import understands it.
std::vector<std::uint32_t> meant_steps(const FakeProgram::Contents& c, std::uint32_t device = 0) {
  std::vector<std::uint32_t> steps;
  for (const auto& begin : c.begins) {
    if (begin.phase != Phase::sample || (begin.header.flags & spool::kStepUnmeasured) != 0) continue;
    for (const auto& window : last_words(c))
      if (window.device_id == device && begin.step_index >= window.first_step &&
          begin.step_index <= window.last_step)
        steps.push_back(begin.step_index);
  }
  return steps;
}

// All of them begin when samples have come and end before the last one.
void expect_whole(const FakeProgram::Contents& c, std::uint32_t device = 0) {
  for (const std::uint32_t step : meant_steps(c, device)) {
    bool whole = false;
    for (const auto& window : last_words(c)) {
      if (window.device_id != device || step < window.first_step || step > window.last_step) continue;
      std::int64_t first_ns = INT64_MAX, last_ns = 0;
      for (const auto& sample : c.pm_samples) {
        if (sample.window_id != window.window_id) continue;
        first_ns = std::min(first_ns, sample.start_ns);
        last_ns = std::max(last_ns, sample.end_ns);
      }
      const std::int64_t slack_ns = 20'000 + 4 * window.interval_ns;
      whole = whole ||
              (first_ns <= c.begins[step].start_ns + slack_ns && last_ns + slack_ns >= c.ends[step].end_ns);
    }
    EXPECT_TRUE(whole) << "step " << step << " of device " << device;
  }
}

std::size_t steps_of(const FakeProgram::Contents& c, Phase phase) {
  return static_cast<std::size_t>(std::count_if(c.begins.begin(), c.begins.end(),
                                                [&](const auto& begin) { return begin.phase == phase; }));
}

std::vector<std::string> said_of_sampling(const FakeProgram::Contents& c, Severity severity) {
  std::vector<std::string> said;
  for (const auto& message : c.messages)
    if (message.topic == spool::Topic::sampling && message.severity == severity)
      said.push_back(c.text(message.text));
  return said;
}

void run(SampledProgram& p, int steps) {
  for (int i = 0; i < steps; ++i) {
    p.step();
    p.tick();
  }
}

TEST(SamplingPlan, MakesRoomForWhatStartingTakes) {
  const SamplingLead lead{107 * kMillisecond, 0};
  for (const std::int64_t step_ns : {10 * kMillisecond, 25 * kMillisecond, 50 * kMillisecond}) {
    const SamplingPlan plan = plan_sampling(6, step_ns, 30ull << 30, {}, lead);
    EXPECT_GE(capacity_ns(plan), lead.start_ns + plan.sampled_steps * step_ns + kStopSlackNs) << step_ns;
    EXPECT_GE(plan.sampled_steps, 2u) << "beside the start one more costs little: " << step_ns;
  }
  const SamplingPlan late = plan_sampling(9, 10 * kMillisecond, 30ull << 30, {}, {0, 3});
  EXPECT_EQ(late.settle_steps, 2u);
  EXPECT_EQ(late.lead_steps, 3u);
  EXPECT_EQ(late.sampled_steps, 4u);
}

TEST(SamplingPlan, SpareRoomIsOfTheBufferAlone) {
  for (const std::int64_t step_ns : {kMillisecond, 10 * kMillisecond, 57 * kMillisecond}) {
    const SamplingPlan usual = plan_sampling(6, step_ns, 30ull << 30, {});
    const SamplingPlan roomy = plan_sampling(6, step_ns, 30ull << 30, {}, {0, 0, 120 * kMillisecond});
    EXPECT_EQ(roomy.sampled_steps, usual.sampled_steps) << step_ns;
    EXPECT_EQ(roomy.interval_ns, std::max<std::int64_t>(usual.interval_ns, 4000)) << step_ns;
    EXPECT_GE(capacity_ns(roomy), 119 * kMillisecond + usual.sampled_steps * step_ns + kStopSlackNs)
        << step_ns;
    EXPECT_LT(roomy.buffer_bytes, 1200ull << 20) << step_ns;
  }
  const SamplingPlan poor = plan_sampling(6, 57 * kMillisecond, 1ull << 30, {}, {0, 0, 120 * kMillisecond});
  EXPECT_LT(poor.buffer_bytes, 1ull << 30);
}

TEST(SamplingStart, WhatTheBufferHasNoRoomForIsSampledInFurtherSteps) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti);
  run(p, 40);
  const auto c = p.contents();
  EXPECT_EQ(meant_steps(c).size(), 4u) << "as many as the schedule asks for";
  expect_whole(c);
  EXPECT_EQ(steps_of(c, Phase::replay), 2u) << "the schedule goes on behind them";
  EXPECT_EQ(cupti.collisions, 0);
  EXPECT_EQ(cupti.pm_windows, 2);
  std::size_t again = 0;
  for (std::size_t i = 1; i < c.begins.size(); ++i) {
    if ((c.begins[i].header.flags & spool::kStepSamplesAgain) == 0) continue;
    ++again;
    EXPECT_EQ(c.begins[i].phase, Phase::sample);
    EXPECT_NE(c.begins[i].header.flags & spool::kStepDeferred, 0) << "beside the schedule";
    EXPECT_EQ(c.begins[i - 1].phase, Phase::sample) << "the phase goes on";
  }
  EXPECT_EQ(again, 6u);
  const auto said = said_of_sampling(c, Severity::info);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("starting it took 107 ms"), std::string::npos) << said[0];
  EXPECT_TRUE(said_of_sampling(c, Severity::warning).empty());
}

// What it takes is all of its buffer, or a part: those that fit are sampled, and the others later.
TEST(SamplingStart, StepsThatStillFitAreNotSampledTwice) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 60 * kMillisecond;
  SampledProgram p(cupti);
  run(p, 40);
  const auto c = p.contents();
  const auto windows = last_words(c);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].status, WindowStatus::ok) << c.text(windows[0].reason);
  EXPECT_EQ(windows[0].first_step, windows[0].last_step);
  EXPECT_EQ(meant_steps(c).size(), 4u);
  expect_whole(c);
}

TEST(SamplingStart, StepsBeforeTheFirstSampleAreNone) {
  for (const std::int64_t late_ms : {15, 35, 200}) {
    FakeCupti cupti;
    cupti.pm_first_after_ns = late_ms * kMillisecond;
    SampledProgram p(cupti);
    run(p, 80);
    const auto c = p.contents();
    EXPECT_EQ(meant_steps(c).size(), 4u) << late_ms;
    expect_whole(c);
    EXPECT_EQ(steps_of(c, Phase::replay), 2u) << late_ms;
    EXPECT_EQ(cupti.pm_windows, late_ms > 40 ? 3 : 2)
        << "all of the first were over before samples came: " << late_ms;
    EXPECT_TRUE(said_of_sampling(c, Severity::warning).empty()) << late_ms;
  }
}

// The host is a step ahead: the device begins when samples have come.
TEST(SamplingStart, WhatTheDeviceBeginsLaterIsJudgedByTheDevice) {
  FakeCupti cupti;
  cupti.pm_first_after_ns = 15 * kMillisecond;
  SampledProgram p(cupti);
  p.steps(2);
  p.device_lag_ns = 16 * kMillisecond;
  run(p, 10);
  const auto c = p.contents();
  EXPECT_EQ(cupti.pm_windows, 1);
  EXPECT_EQ(steps_of(c, Phase::sample), 6u);
}

TEST(SamplingStart, TheLastPhaseOfTheScheduleGoesOnToo) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,sample=6"}});
  run(p, 30);
  const auto c = p.contents();
  EXPECT_EQ(meant_steps(c).size(), 4u);
  expect_whole(c);
  EXPECT_EQ(c.begins.back().phase, Phase::timeline);
}

// The second window has room for what the first one's start took.
TEST(SamplingStart, StepsAreSampledHoweverTheyCompareWithTheStart) {
  for (const std::int64_t start_ms : {0, 3, 107, 500}) {
    for (const std::int64_t step_ms : {2, 10, 60, 300, 1000}) {
      SCOPED_TRACE("start " + std::to_string(start_ms) + " ms, steps of " + std::to_string(step_ms) + " ms");
      FakeCupti cupti;
      SampledProgram p(cupti);
      p.step_ns = step_ms * kMillisecond;
      cupti.pm_start_takes_ns = start_ms * kMillisecond;
      for (int i = 0; i < 60; ++i) {
        p.step();
        for (int k = 0; k < 5; ++k) p.tick();
      }
      const auto c = p.contents();
      EXPECT_FALSE(meant_steps(c).empty());
      expect_whole(c);
      EXPECT_EQ(steps_of(c, Phase::replay), 2u);
      EXPECT_LE(cupti.pm_starts, start_ms <= 3 ? 1 : 2);
      EXPECT_EQ(cupti.pm_open, 0);
      EXPECT_TRUE(said_of_sampling(c, Severity::warning).empty());
    }
  }
}

// Of the third window that is kept which its buffer had room for.
TEST(SamplingStart, ItIsTriedThreeTimesAndThenSaid) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti);
  for (int i = 0; i < 60; ++i) {
    run(p, 1);
    if (cupti.pm_starts > 0) cupti.pm_start_takes_ns = 107 * kMillisecond * (cupti.pm_starts == 1 ? 5 : 50);
  }
  EXPECT_EQ(cupti.pm_windows, 3);
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.contents();
  const auto windows = last_words(c);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].first_step, spool::kNoStep);
  EXPECT_EQ(windows[1].first_step, spool::kNoStep);
  EXPECT_EQ(windows[2].status, WindowStatus::overflow) << c.text(windows[2].reason);
  EXPECT_EQ(steps_of(c, Phase::replay), 2u) << "the rest of the schedule has its turn";
  const auto said = said_of_sampling(c, Severity::warning);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("nearly full"), std::string::npos) << said[0];
  EXPECT_EQ(
      said[1],
      "3 of the steps that were to be sampled have no samples, or not all: starting it took 5350 ms, at "
      "steps of 11 ms; three windows were tried; record fewer processes of this host at a time, or "
      "sample at a longer interval");
}

TEST(SamplingStart, WhereTheBudgetHasNoOtherWindowTheBufferHasRoomForASlowStart) {
  for (const std::int64_t start_ms : {107, 500}) {
    FakeCupti cupti;
    cupti.pm_start_takes_ns = start_ms * kMillisecond;
    cupti.pm_config_ns = 300 * kMillisecond;
    SampledProgram p(cupti, {{"RIDGELINE_BUDGET_MS", "600"}});
    run(p, 40);
    EXPECT_EQ(cupti.pm_windows, 1) << start_ms;
    const auto c = p.contents();
    EXPECT_FALSE(meant_steps(c).empty()) << "what it has is kept";
    const auto said = said_of_sampling(c, Severity::warning);
    if (start_ms == 107) {
      EXPECT_EQ(meant_steps(c).size(), 4u);
      EXPECT_TRUE(said.empty()) << said[0];
      expect_whole(c);
      continue;
    }
    ASSERT_EQ(said.size(), 2u);
    EXPECT_NE(said[1].find("starting it took 500 ms"), std::string::npos) << said[1];
    EXPECT_NE(said[1].find("the budget has no room"), std::string::npos) << said[1];
  }
}

// Who waits for peers in collectives cannot go on with samples while they stand in the next phase.
TEST(SamplingStart, ProcessesThatKeepStepHaveRoomForASlowStart) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=6,sample=6"}}, true);
  p.kernel = "_Z23ncclDevKernel_AllReducePv";
  spool::Peer& peer = p.program->control()->peers[0];
  peer.pid = static_cast<std::uint32_t>(getppid());
  peer.meetings = 1u << 30;                               // is never waited for
  run(p, 2);                                              // 3 collectives a step
  p.program->control()->agreed_start = (1ull << 32) | 9;  // with that collective the schedule begins in both
  run(p, 40);
  EXPECT_EQ(cupti.pm_starts, 1);
  const auto c = p.contents();
  EXPECT_NE(c.message(spool::Topic::steps).find("in all 2 processes"), std::string::npos);
  EXPECT_EQ(meant_steps(c).size(), 4u);
  expect_whole(c);
  EXPECT_TRUE(said_of_sampling(c, Severity::warning).empty());
}

TEST(SamplingStart, AProgramThatEndsMeanwhileSaysWhyItHasNone) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti);
  run(p, 5);
  p.program->session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.contents();
  EXPECT_TRUE(meant_steps(c).empty());
  const auto said = said_of_sampling(c, Severity::warning);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("starting it took 107 ms"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("the program ended"), std::string::npos) << said[0];
}

// Another thread ends the program: it waits for the call, which cannot be broken off, and no longer.
TEST(SamplingStart, AProgramMayEndInTheMiddleOfAStart) {
  FakeCupti cupti;
  SampledProgram p(cupti);
  std::thread ending;
  std::atomic<bool> ended{false};
  cupti.on_pm_start = [&] {
    ending = std::thread([&] {
      p.program->session().at_exit(spool::EndReason::exit);
      ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(ended) << "the call is under way";
    cupti.clock_ns += 2000 * kMillisecond;
  };
  run(p, 4);
  ASSERT_TRUE(ending.joinable());
  ending.join();
  EXPECT_EQ(cupti.pm_starts, 1);
  const auto c = p.contents();
  ASSERT_FALSE(c.pm_windows.empty());
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
  EXPECT_FALSE(c.text(c.pm_windows.back().reason).empty());
}

// One of them samples while the other is started.
TEST(SamplingStart, OfSeveralDevicesEachHasItsSteps) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 50 * kMillisecond;
  TwoDevices p(cupti);
  for (int i = 0; i < 40; ++i) {
    p.steps(1);
    p.tick();
  }
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = p.program->contents();
  for (const std::uint32_t device : {0u, 1u}) EXPECT_GE(meant_steps(c, device).size(), 4u) << device;
  EXPECT_TRUE(said_of_sampling(c, Severity::warning).empty());
  for (const auto& window : last_words(c))
    if (window.first_step != spool::kNoStep) {
      EXPECT_EQ(window.status, WindowStatus::ok) << c.text(window.reason);
    }
}

TEST(SamplingStart, ANewScheduleDoesNotGoOnWithTheOldOnesSamples) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 107 * kMillisecond;
  SampledProgram p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=3,sample=6"}}, true);
  run(p, 6);
  const auto command = [&](spool::WindowCommand c) {
    p.program->control()->command = static_cast<std::uint32_t>(c);
    ++p.program->control()->sequence;
    for (int i = 0; i < 40; ++i) {
      cupti.clock_ns += 50 * kMillisecond;
      p.tick();
    }
  };
  command(spool::WindowCommand::close);
  command(spool::WindowCommand::open);
  run(p, 3);
  const auto c = p.contents();
  for (std::size_t i = c.begins.size() - 3; i < c.begins.size(); ++i)
    EXPECT_EQ(c.begins[i].phase, Phase::timeline) << i;
}

// A window may have fewer steps than its phase: the others begin while samples are read, which takes a second.
TEST(SamplingStart, AStepThatBeginsDoesNotWaitForSamplesThatAreRead) {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SAMPLE_NS", "2000"}, {"RIDGELINE_SAMPLE_BUFFER_BYTES", "268435456"}});
  p.steps(3);
  EXPECT_EQ(cupti.pm_starts, 1);
  std::atomic<bool> reads{false}, passed{false};
  bool in_time = false;
  cupti.on_pm_decode = [&] {
    reads = true;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!passed && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    in_time = passed;
  };
  const std::int64_t now_ns = cupti.clock_ns + kMillisecond;
  std::thread reader([&] { p.program->session().tick(now_ns); });
  while (!reads) std::this_thread::yield();
  p.step();
  passed = true;
  reader.join();
  EXPECT_TRUE(in_time);
}

// Nor does one that meets the stop itself, which has the lock that reading takes at once after it: where steps take a
// millisecond and the buffer is full, one always does.
void meet_the_stop() {
  FakeCupti cupti;
  SampledProgram p(cupti, {{"RIDGELINE_SAMPLE_NS", "2000"}, {"RIDGELINE_SAMPLE_BUFFER_BYTES", "268435456"}});
  p.steps(2);
  p.program->push("step");
  ASSERT_EQ(cupti.pm_starts, 1);
  std::atomic<bool> stops{false}, ends{false}, passed{false};
  bool in_time = false;
  cupti.on_pm_stop = [&] {
    stops = true;
    while (!ends) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for the step's end to come to the lock
  };
  cupti.on_pm_decode = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!passed && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    in_time = passed;
  };
  const std::int64_t full_ns = cupti.clock_ns += 1'000 * kMillisecond;
  std::thread agent([&] { p.program->session().tick(full_ns); });
  while (!stops) std::this_thread::yield();
  ends = true;
  p.program->pop();
  passed = true;
  agent.join();
  EXPECT_TRUE(in_time);
}

// Which of the two has the lock first is chance where the agent does not see to it.
TEST(SamplingStart, AStepThatMeetsTheStopDoesNotWaitForSamplesThatAreRead) {
  for (int i = 0; i < 5; ++i) meet_the_stop();
}

}  // namespace
}  // namespace ridgeline::agent
