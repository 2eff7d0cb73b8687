// Samples and counters of programs without steps, or with steps that vary, against a fake CUPTI: when windows are
// sampled and launches counted, which, and when no longer.
#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;

// Launches five kernels in no order. Each is in the timeline, where it takes 10 us, k0 100 us.
struct WithoutSteps {
  explicit WithoutSteps(FakeCupti& fake, std::map<std::string, std::string> environment = {})
      : cupti(fake), program(fake, with_sets(std::move(environment))) {
    program.while_running = [this] { cupti.clock_ns += cupti.pushes > cupti.pops ? 1'350'000 : 1000; };
    EXPECT_TRUE(program.start());
    program.create_context();
  }
  static std::map<std::string, std::string> with_sets(std::map<std::string, std::string> e) {
    e.emplace("RIDGELINE_SCHEDULE", "timeline=2,replay=3");
    e["RIDGELINE_METRICS_R1"] = "a,dram__bytes_read.sum";
    e["RIDGELINE_METRICS_R2"] = "a,c";
    return e;
  }
  void launches(int count, unsigned grid = 1) {
    std::vector<CUpti_ActivityKernel10> records;
    for (int i = 0; i < count; ++i) {
      const char* name =
          kNames[in_order ? static_cast<std::size_t>(i) % kNames.size() : random() % kNames.size()];
      const auto start = static_cast<std::uint64_t>(cupti.clock_ns);
      const std::uint32_t correlation = program.launch(name, grid);
      records.push_back(
          FakeProgram::kernel(correlation, name, start, start + (name == kNames[0] ? longest_ns : 10'000)));
      records.back().gridX = static_cast<int>(grid);
      records.back().gridY = records.back().gridZ = 1;
      records.back().streamId = 7;
      if (spinning == name) {  // to the middle of the next launch
        records.back().streamId = 9;
        records.back().end += 1'000'000;
      }
      if (records.size() < 100) continue;
      EXPECT_TRUE(program.deliver(records));
      records.clear();
    }
  }
  // The agent's thread, for so many seconds.
  void wait(int seconds) {
    for (int i = 0; i < seconds; ++i) program.tick();
  }
  void step(int count) {
    program.push("step");
    launches(count);
    program.pop();
  }
  bool in_order = false;  // the same launches each time
  std::string_view spinning;
  std::uint64_t longest_ns = 100'000;  // k0
  static constexpr std::array<const char*, 5> kNames = {"k0", "k1", "k2", "k3", "k4"};
  FakeCupti& cupti;
  FakeProgram program;
  std::mt19937 random{7};
};

TEST(Stretches, LaunchesOfAProgramWithoutStepsAreCountedByKind) {
  FakeCupti cupti;
  WithoutSteps p(cupti);
  p.launches(1000);
  EXPECT_EQ(cupti.sessions_made, 0) << "there may be steps yet";
  for (int i = 0; i < 8; ++i) {
    p.wait(3);
    p.launches(1500);
  }
  EXPECT_EQ(cupti.sessions_open, 0);
  EXPECT_GE(cupti.sessions_made, 2) << "each set";
  const auto c = measured(p.program);
  ASSERT_GE(c.counter_steps.size(), 2u);
  std::set<std::uint32_t> configs;
  for (const auto& stretch : c.counter_steps) {
    EXPECT_GE(stretch.step_index, spool::kFirstStretch);
    EXPECT_EQ(stretch.status, CounterStatus::ok) << c.text(stretch.reason);
    configs.insert(stretch.config_id);
  }
  EXPECT_EQ(configs, (std::set<std::uint32_t>{1, 2}));
  for (const auto& begin : c.begins) {
    EXPECT_EQ(begin.header.flags, spool::kStepByTime);
    EXPECT_EQ(begin.phase, Phase::replay);
  }
  EXPECT_EQ(c.begins.size(), c.ends.size());
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> of_kernel;
  for (const auto& value : c.values) of_kernel[value.kernel_id].emplace(value.step_index, value.step_ordinal);
  EXPECT_EQ(of_kernel.size(), 5u);
  std::size_t most = 0, least = 1000;
  for (const auto& [kernel, launches] : of_kernel) {
    most = std::max(most, launches.size());
    least = std::min(least, launches.size());
  }
  EXPECT_GT(most, 2 * least) << "the one that takes the time is counted most";
  EXPECT_LT(most, 400u);
}

// Run alone it would wait for ever: k0 frees it, on another stream.
TEST(Stretches, AKernelThatAlwaysOverlapsALaterOneIsLeftAlone) {
  FakeCupti cupti;
  WithoutSteps p(cupti);
  p.spinning = "k1";
  p.launches(1000);
  for (int i = 0; i < 8; ++i) {
    p.wait(3);
    p.launches(1500);
  }
  EXPECT_GT(cupti.pushes, 0);
  EXPECT_EQ(std::count(cupti.in_ranges.begin(), cupti.in_ranges.end(), "k1"), 0);
  EXPECT_GT(std::count(cupti.in_ranges.begin(), cupti.in_ranges.end(), "k2"), 0);
}

TEST(Stretches, TheyKeepWithinTheBudget) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_BUDGET_MS", "700"}});
  p.launches(1000);
  for (int i = 0; i < 8; ++i) {
    p.wait(3);
    p.launches(1500);
  }
  EXPECT_GT(cupti.pushes, 0);
  EXPECT_LE(cupti.pushes * 1'350'000LL, 700'000'000LL);
}

TEST(Stretches, WithoutStepsTheDeviceIsSampledByTime) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  p.launches(1000);
  EXPECT_EQ(cupti.pm_windows, 0) << "there may be steps yet";
  const auto run_on = [&](unsigned grid) {
    for (int i = 0; i < 3; ++i) {
      p.wait(3);
      p.launches(300, grid);
      cupti.clock_ns += 300'000'000;
      p.launches(300, grid);
      p.wait(1);
    }
  };
  run_on(1);
  EXPECT_EQ(cupti.pm_windows, 1) << "each kind of launch was in it";
  run_on(64);
  EXPECT_EQ(cupti.pm_windows, 2) << "others came";
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = measured(p.program);
  ASSERT_EQ(c.begins.size(), 2u);
  for (const auto& begin : c.begins) {
    EXPECT_GE(begin.step_index, spool::kFirstStretch);
    EXPECT_EQ(begin.header.flags, spool::kStepByTime);
    EXPECT_EQ(begin.phase, Phase::sample);
  }
  EXPECT_EQ(c.ends.size(), 2u);
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::ok) << c.text(c.pm_windows.back().reason);
  EXPECT_EQ(c.pm_windows.back().first_step, c.begins.back().step_index);
  EXPECT_GT(c.pm_samples.size(), 1000u);
}

// The buffer of a window of 90 ms holds 200 ms, of which starting takes 250 at first.
TEST(Stretches, AWindowThatStartedTooSlowlyIsTakenAgain) {
  FakeCupti cupti;
  cupti.pm_start_takes_ns = 250'000'000;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  p.launches(1000);
  for (int i = 0; i < 10; ++i) {
    p.wait(3);
    p.launches(30);
    cupti.clock_ns += 100'000'000;
    p.launches(30);
  }
  EXPECT_EQ(cupti.pm_windows, 2) << "the first was none";
  EXPECT_EQ(cupti.pm_open, 0);
  const auto c = measured(p.program);
  std::vector<bool> unmeasured;
  for (const auto& begin : c.begins) unmeasured.push_back((begin.header.flags & spool::kStepUnmeasured) != 0);
  EXPECT_EQ(unmeasured, (std::vector<bool>{true, false}));
  EXPECT_GE(c.pm_windows.back().stop_ns - c.pm_windows.back().start_ns, 340'000'000);
  EXPECT_GT(c.pm_samples.size(), 1000u);
  EXPECT_EQ(c.message(spool::Topic::sampling).find("no samples"), std::string::npos);
}

TEST(Stretches, AWindowThatSamplesCameTooLateForIsTakenAgainAndIsLonger) {
  FakeCupti cupti;
  cupti.pm_first_after_ns = 60'000'000;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  p.launches(1000);
  for (int i = 0; i < 10; ++i) {
    p.wait(3);
    for (int k = 0; k < 20; ++k) {
      p.launches(10);
      cupti.clock_ns += 10'000'000;
    }
  }
  EXPECT_EQ(cupti.pm_windows, 2);
  const auto c = measured(p.program);
  ASSERT_EQ(c.ends.size(), 2u);
  EXPECT_GE(c.ends[1].end_ns - c.begins[1].start_ns, 165'000'000) << "90 ms of it sampled";
}

// Nothing helps: the program is not stopped for it again and again.
TEST(Stretches, WindowsThatNeverStartInTimeAreGivenUpAndThatIsSaid) {
  FakeCupti cupti;
  cupti.pm_first_after_ns = 100'000'000'000;
  cupti.pm_start_takes_ns = 250'000'000;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  p.launches(1000);
  for (int i = 0; i < 30; ++i) {
    p.wait(3);
    p.launches(30);
    cupti.clock_ns += 100'000'000;
    p.launches(30);
    // Longer each time than the window made room for.
    cupti.pm_start_takes_ns = 250'000'000;
    for (int k = 0; k < cupti.pm_starts; ++k) cupti.pm_start_takes_ns *= 3;
  }
  EXPECT_EQ(cupti.pm_windows, 4);
  std::string said;
  const auto c = measured(p.program);
  for (const auto& message : c.messages)
    if (message.topic == spool::Topic::sampling && message.severity == Severity::warning)
      said += c.text(message.text);
  EXPECT_NE(said.find("a window of time has no samples, or not all: starting it took"), std::string::npos)
      << said;
  EXPECT_NE(said.find("three more windows were tried"), std::string::npos) << said;
}

TEST(Stretches, AProgramThatLaunchesOtherThingsEachTimeIsNotSampledWithoutEnd) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  for (unsigned i = 0; i < 30; ++i) {
    p.launches(600, 1u << (i % 28));
    p.wait(2);
    cupti.clock_ns += 100'000'000;
  }
  EXPECT_GT(cupti.pm_windows, 2);
  EXPECT_LE(cupti.pm_windows, 8);
}

TEST(Stretches, LaterWindowsAreLongerAndCoarser) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  std::vector<std::int64_t> intervals_ns;
  for (unsigned i = 0; i < 120; ++i) {
    p.launches(600, 1u << (i % 28));
    p.wait(2);
    cupti.clock_ns += 100'000'000;
    if (static_cast<std::size_t>(cupti.pm_windows) > intervals_ns.size())
      intervals_ns.push_back(cupti.pm_interval_ns);
  }
  ASSERT_EQ(intervals_ns.size(), 8u);
  EXPECT_GT(intervals_ns[1], intervals_ns[0]);
  EXPECT_GT(intervals_ns[2], intervals_ns[1]);
  EXPECT_EQ(intervals_ns[3], intervals_ns[2]) << "the kernels are short";
  EXPECT_LE(intervals_ns[7], intervals_ns[2]);
  EXPECT_LE(cupti.pm_buffer_bytes, std::size_t{512} << 20) << "as dear as the first";
}

TEST(Stretches, WindowsAreTheLongerTheLongerKernelsTake) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3"}});
  p.longest_ns = 10'000'000;
  for (unsigned i = 0; i < 30 && cupti.pm_windows < 2; ++i) {
    p.launches(600, 1u << (i % 28));
    p.wait(2);
    cupti.clock_ns += 100'000'000;
  }
  ASSERT_EQ(cupti.pm_windows, 2);
  EXPECT_GT(cupti.pm_interval_ns, 70'000) << "a second in 14,000 samples";
}

// 0.3 s each, as setting one up takes; what is left is too little for a third.
TEST(Stretches, WindowsArePaidForFromTheBudgetOfCounting) {
  FakeCupti cupti;
  cupti.pm_config_ns = 300'000'000;
  WithoutSteps p(cupti,
                 {{"RIDGELINE_SCHEDULE", "timeline=2,sample=3,replay=2"}, {"RIDGELINE_BUDGET_MS", "800"}});
  for (unsigned i = 0; i < 30; ++i) {
    p.launches(600, 1u << (i % 28));
    p.wait(2);
    cupti.clock_ns += 100'000'000;
  }
  EXPECT_GT(cupti.pm_windows, 0);
  EXPECT_LE(cupti.pm_windows, 2);
}

// Each step launches another sequence. What the schedule measured of some says little of the others.
TEST(Stretches, StepsThatVaryAreFollowedByThem) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=14,sample=2,replay=3"}});
  for (int i = 0; i < 60; ++i) {
    p.step(200);
    p.wait(1);
  }
  EXPECT_EQ(cupti.sessions_open, 0);
  const auto c = measured(p.program);
  std::size_t stretches = 0, steps_behind = 0;
  for (const auto& begin : c.begins) {
    if (begin.step_index >= spool::kFirstStretch) {
      ++stretches;
    } else if (stretches > 0) {
      ++steps_behind;
      EXPECT_EQ(begin.phase, Phase::timeline) << "the schedule was over";
    }
  }
  EXPECT_GT(stretches, 0u);
  EXPECT_GT(steps_behind, 10u) << "steps go on behind them";
  std::size_t counted = 0;
  for (const auto& step : c.counter_steps)
    if (step.step_index >= spool::kFirstStretch && step.status == CounterStatus::ok)
      counted += step.ranges_received;
  EXPECT_GT(counted, 10u);
}

TEST(Stretches, OfStepsThatVaryTheScheduleSamplesMore) {
  const auto sampled = [](bool alike) {
    FakeCupti cupti;
    WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=14,sample=6"}});
    p.in_order = alike;
    p.longest_ns = 10'000'000;
    p.wait(1);
    for (int i = 0; i < 22; ++i) {
      p.program.push("step");
      p.launches(200);
      cupti.clock_ns += 90'000'000;
      p.program.pop();
      p.program.session().tick(cupti.clock_ns += 1'000'000);
    }
    const auto c = measured(p.program);
    return std::count_if(c.begins.begin(), c.begins.end(), [](const auto& begin) {
      return begin.phase == Phase::sample && begin.step_index < spool::kFirstStretch &&
             (begin.header.flags & spool::kStepUnmeasured) == 0;
    });
  };
  EXPECT_EQ(sampled(true), 1);
  EXPECT_EQ(sampled(false), 4);
}

TEST(Stretches, StepsThatAreAlikeAreNot) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=14,sample=2,replay=3"}});
  p.in_order = true;
  for (int i = 0; i < 60; ++i) {
    p.step(200);
    p.wait(1);
  }
  for (const auto& begin : measured(p.program).begins) EXPECT_LT(begin.step_index, spool::kFirstStretch);
}

TEST(Stretches, AProgramWithStepsHasNone) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=100,replay=3"}});
  for (int i = 0; i < 8; ++i) {
    p.program.push("step");
    p.launches(300);
    p.program.pop();
    p.wait(1);
  }
  EXPECT_EQ(cupti.sessions_made, 0);
}

TEST(Stretches, NorDoesAProcessWithCollectives) {
  FakeCupti cupti;
  FakeProgram program(cupti, WithoutSteps::with_sets({}), true);
  ASSERT_TRUE(program.start());
  program.create_context();
  std::mt19937 random{7};
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 600; ++i)
      program.launch(random() % 3 == 0 ? "ncclDevKernel" : "k1", 1 + static_cast<unsigned>(random() % 7));
    for (int i = 0; i < 3; ++i) program.tick();
  }
  EXPECT_EQ(cupti.sessions_made, 0);
}

TEST(Stretches, ARecordingWithoutReplayStepsHasNone) {
  FakeCupti cupti;
  WithoutSteps p(cupti, {{"RIDGELINE_SCHEDULE", "timeline=5"}});
  p.launches(1000);
  for (int i = 0; i < 4; ++i) {
    p.wait(3);
    p.launches(500);
  }
  EXPECT_EQ(cupti.sessions_made, 0);
}

}  // namespace
}  // namespace ridgeline::agent
