#include "execution/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "fabricated_model.h"
#include "ridgeline/analyzer/execution/exposure.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;

struct Part {
  TimeWindow time;
  unsigned kinds = 0;
  LaunchIndex launch = ExecutionSweep::kNoLaunch;
};

TEST(ExecutionSweep, TimeIsSplitByWhatRanTogether) {
  std::vector<std::pair<std::int64_t, std::int64_t>> idle;
  ExecutionSweep sweep({0, 100}, [&](const TimeWindow& i) { idle.emplace_back(i.start_ns, i.end_ns); });
  sweep.add({10, 40}, ExecutionSweep::kComputation);
  sweep.add({20, 30}, ExecutionSweep::kCopy | ExecutionSweep::kForeign);
  sweep.add({30, 60}, ExecutionSweep::kCopy);
  sweep.add({80, 90}, ExecutionSweep::kMemset);
  sweep.finish();
  EXPECT_EQ(idle, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 10}, {60, 80}, {90, 100}}));
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return kinds == ExecutionSweep::kComputation; }), 10);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return (kinds & ExecutionSweep::kCopy) != 0; }), 40);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return (kinds & ExecutionSweep::kForeign) != 0; }), 10);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return kinds == ExecutionSweep::kMemset; }), 10);
}

// Copies beside them change nothing about how launches share their time; what is left over goes to the first.
TEST(ExecutionSweep, LaunchesShareTheirTimeToTheLastNanosecond) {
  Exposure exposure;
  exposure.whole_ns.resize(3);
  ExecutionSweep sweep({0, 1000}, {}, &exposure);
  sweep.add({100, 207}, ExecutionSweep::kComputation, 2);
  sweep.add({100, 207}, ExecutionSweep::kComputation, 0);
  sweep.add({103, 110}, ExecutionSweep::kCopy);
  sweep.add({107, 120}, ExecutionSweep::kCopy);
  sweep.add({900, 1000}, ExecutionSweep::kCommunication, 1);
  sweep.finish();
  EXPECT_EQ(exposure.whole_ns, (std::vector<std::int64_t>{53, 100, 54}));
  EXPECT_EQ(exposure.ns(0), 53.5);
  EXPECT_EQ(exposure.ns(1), 100);
  EXPECT_EQ(exposure.ns(2), 53.5);
}

TEST(ExecutionSweep, RandomPartsAgreeWithCountingEachInstant) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> at(0, 60);
  for (int round = 0; round < 300; ++round) {
    const TimeWindow window{5, 65};
    std::vector<Part> parts;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::int64_t start_ns = std::max(window.start_ns, at(random));
      const std::int64_t end_ns = std::min(window.end_ns, start_ns + 1 + at(random) / 4);
      const unsigned kind = 1U << (static_cast<unsigned>(at(random)) % 4U);
      const bool is_launch = (kind & ExecutionSweep::kKernel) != 0;
      parts.push_back({{start_ns, end_ns},
                       kind | (at(random) < 20 ? ExecutionSweep::kForeign : 0U),
                       is_launch ? i : ExecutionSweep::kNoLaunch});
    }
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.time.start_ns < b.time.start_ns; });
    std::int64_t idle_ns = 0;
    Exposure exposure;
    exposure.whole_ns.resize(parts.size());
    ExecutionSweep sweep(
        window, [&](const TimeWindow& i) { idle_ns += i.end_ns - i.start_ns; }, &exposure);
    for (const Part& part : parts) sweep.add(part.time, part.kinds, part.launch);
    sweep.finish();
    std::vector<std::int64_t> expected(32, 0);
    std::int64_t with_launch_ns = 0;
    for (std::int64_t t = window.start_ns; t < window.end_ns; ++t) {
      unsigned kinds = 0;
      for (const Part& part : parts) {
        if (t >= part.time.start_ns && t < part.time.end_ns) kinds |= part.kinds;
      }
      ++expected[kinds];
      if ((kinds & ExecutionSweep::kKernel) != 0) ++with_launch_ns;
    }
    EXPECT_EQ(idle_ns, expected[0]);
    for (unsigned kinds = 1; kinds < 32; ++kinds)
      EXPECT_EQ(sweep.time_ns([&](unsigned k) { return k == kinds; }), expected[kinds]) << kinds;
    EXPECT_EQ(std::accumulate(exposure.whole_ns.begin(), exposure.whole_ns.end(), std::int64_t{0}),
              with_launch_ns);
  }
}

// On each device by itself, and inside the windows only.
TEST(ExposedTimes, AreThoseOfEachInstantOnEachDevice) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> at(0, 60);
  constexpr std::int64_t kScale = 10'000;
  for (int round = 0; round < 100; ++round) {
    FabricatedModel f;
    store::Device second = f.model.devices.front();
    second.id = 2;
    f.model.devices.push_back(second);
    f.step(Phase::timeline);
    for (int i = 0; i < 10; ++i) {
      const std::int64_t start_ns = kScale * (1 + at(random));
      f.launch("k", start_ns, start_ns + kScale * (1 + at(random) / 6));
      f.launches.back().device_id = 1 + at(random) % 2;
    }
    const Model& model = f.done();
    const std::vector<TimeWindow> windows = {{10 * kScale, 25 * kScale}, {25 * kScale, 50 * kScale}};
    const Exposure exposed = accepted(exposed_times(model, 1, windows));
    std::vector<double> expected(model.launches.size(), 0);
    for (std::int64_t t = 10 * kScale; t < 50 * kScale; t += kScale) {
      for (store::Id device = 1; device <= 2; ++device) {
        std::vector<LaunchIndex> running;
        for (LaunchIndex i = 0; i < model.launches.size(); ++i) {
          const Launches::Row& row = model.launches.row(i);
          if (model.launches.site(i).device_id == device && t >= row.start_ns && t < row.end_ns)
            running.push_back(i);
        }
        for (const LaunchIndex i : running) expected[i] += kScale / static_cast<double>(running.size());
      }
    }
    for (LaunchIndex i = 0; i < expected.size(); ++i) EXPECT_NEAR(exposed.ns(i), expected[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
