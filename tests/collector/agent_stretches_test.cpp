// Counters of programs without steps, against a fake CUPTI: when launches are counted, which, and when no longer.
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
  void launches(int count) {
    std::vector<CUpti_ActivityKernel10> records;
    for (int i = 0; i < count; ++i) {
      const char* name = kNames[random() % kNames.size()];
      const auto start = static_cast<std::uint64_t>(cupti.clock_ns);
      const std::uint32_t correlation = program.launch(name);
      records.push_back(
          FakeProgram::kernel(correlation, name, start, start + (name == kNames[0] ? 100'000 : 10'000)));
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
  std::string_view spinning;
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
