// What a replay did beside what the run did, against sums over launches made at random.
#include "ridgeline/analyzer/utilisation/replayed_in_situ.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

// What a launch was made to hold; of a kind it has only what is counted of it itself.
struct ReplayedLaunch {
  std::string kernel;
  std::int64_t grid_y = 1, block_x = 1, duration_ns = 0;
  std::optional<double> replay_ns, t2_bytes, t1_bytes, timeline_hz, replay_hz;
  bool by_kind = false, sampled_by_kind = false, concurrent = false;
  bool counts_time = false, counts_read = false, counts_written = false, counts_cycles = false;
};

std::vector<ReplayedLaunch> replayed_launches(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  const auto maybe = [&](double value) { return below(4) > 0 ? std::optional(value) : std::nullopt; };
  std::vector<ReplayedLaunch> launches;
  for (int i = 0; i < 60; ++i) {
    ReplayedLaunch one;
    one.kernel = std::string(1, static_cast<char>('a' + below(3)));
    one.grid_y = 1 + below(2);
    one.block_x = 32 * (1 + below(2));
    one.duration_ns = 100 * below(20);
    one.replay_ns = maybe(100.0 * below(30));
    one.t2_bytes = maybe(1000.0 * below(9));
    one.t1_bytes = maybe(1000.0 * (1 + below(9)));
    one.timeline_hz = maybe(1e9 + 1e6 * below(100));
    one.replay_hz = maybe(1e9 + 1e6 * below(100));
    one.by_kind = below(2) == 0;
    one.sampled_by_kind = below(5) == 0;
    one.concurrent = below(5) == 0;
    one.counts_time = below(3) > 0;
    one.counts_read = below(3) > 0;
    one.counts_written = below(3) > 0;
    one.counts_cycles = below(3) > 0;
    launches.push_back(one);
  }
  return launches;
}

struct ReplayedSums {
  std::int64_t launches = 0, replayed = 0, in_situ_ns = 0;
  double replayed_ns = 0;
  std::vector<double> counted, sampled, beside, in_situ_hz, replayed_hz;
};

double added(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

void expect_sum(const std::optional<double>& found, const std::vector<double>& values, double divisor) {
  ASSERT_EQ(found.has_value(), !values.empty());
  if (found) {
    EXPECT_NEAR(*found, added(values) / divisor, 1e-3);
  }
}

using ReplayedKey = std::tuple<std::string, std::int64_t, std::int64_t>;

// The sums that each kernel of one size should have.
std::map<ReplayedKey, ReplayedSums> sums_of(const std::vector<ReplayedLaunch>& launches) {
  std::map<ReplayedKey, ReplayedSums> expected;
  for (const ReplayedLaunch& one : launches) {
    ReplayedSums& sums = expected[{one.kernel, one.grid_y, one.block_x}];
    ++sums.launches;
    if (!one.replay_ns || (one.by_kind && !one.counts_time) || one.duration_ns == 0) continue;
    ++sums.replayed;
    sums.in_situ_ns += one.duration_ns;
    sums.replayed_ns += *one.replay_ns;
    if (one.t2_bytes && (!one.by_kind || (one.counts_read && one.counts_written))) {
      sums.counted.push_back(*one.t2_bytes);
      if (one.t1_bytes && !one.sampled_by_kind && !one.concurrent) {
        sums.sampled.push_back(*one.t1_bytes);
        sums.beside.push_back(*one.t2_bytes);
      }
    }
    if (one.timeline_hz) sums.in_situ_hz.push_back(*one.timeline_hz);
    if (one.replay_hz && (!one.by_kind || one.counts_cycles)) sums.replayed_hz.push_back(*one.replay_hz);
  }
  return expected;
}

LaunchUtilisation made_utilisation(const ReplayedLaunch& one, std::size_t i, store::Id kernel_id) {
  const auto measured = [](const std::optional<double>& value) {
    return value ? std::optional(Measured{*value, {}, 1, Tier::t2}) : std::nullopt;
  };
  auto values = std::make_shared<LaunchValues>();
  values->replay_duration = measured(one.replay_ns);
  values->t2.dram_bytes = measured(one.t2_bytes);
  values->t2.by_kind = one.by_kind;
  values->t1.dram_bytes = measured(one.t1_bytes);
  values->t1.by_kind = one.sampled_by_kind;
  values->t1.concurrent = one.concurrent;
  values->timeline_clock_hz = one.timeline_hz;
  values->replay_clock_hz = one.replay_hz;
  LaunchUtilisation launch;
  launch.kernel_id = kernel_id;
  launch.launch = i;
  launch.duration_ns = one.duration_ns;
  launch.values = std::move(values);
  return launch;
}

TEST(ReplayedInSitu, SumsAreThoseOfTheLaunchesThatWereReplayedThemselves) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<ReplayedLaunch> launches = replayed_launches(seed);
    testing::FabricatedModel made;
    UtilisationAnalysis utilisation;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const ReplayedLaunch& one = launches[i];
      store::Launch& row = made.launch(one.kernel, 1000, 1000 + one.duration_ns);
      row.grid.y = one.grid_y;
      row.block.x = one.block_x;
      if (one.counts_time) made.counters({{testing::kDuration, 1}});
      if (one.counts_read) made.counters({{testing::kRead, 1}});
      if (one.counts_written) made.counters({{testing::kWritten, 1}});
      if (one.counts_cycles) made.counters({{testing::kGpcCycles, 1}});
      made.counters({{testing::kDuration, 1}, {testing::kRead, 1}, {testing::kWritten, 1}}, Tier::t1);
      utilisation.launches.push_back(made_utilisation(one, i, row.kernel_id));
    }
    const ReplayedInSitu found = accepted(replayed_in_situ(made.done(), utilisation));
    auto expected = sums_of(launches);
    std::erase_if(expected, [](const auto& one) { return one.second.replayed == 0; });
    EXPECT_EQ(found.step_launches, 60);
    ASSERT_EQ(found.kernels.size(), expected.size());
    ReplayedSums all;
    for (std::size_t i = 0; i < found.kernels.size(); ++i) {
      const ReplayedKernel& row = found.kernels[i];
      if (i > 0) {
        EXPECT_GE(found.kernels[i - 1].in_situ_ns, row.in_situ_ns) << "the longest first";
      }
      const ReplayedSums& sums = expected.at({row.kernel, row.grid.y, row.block.x});
      EXPECT_EQ(row.launches, sums.launches);
      EXPECT_EQ(row.replayed, sums.replayed);
      EXPECT_EQ(row.in_situ_ns, sums.in_situ_ns);
      EXPECT_DOUBLE_EQ(row.replayed_ns, sums.replayed_ns);
      expect_sum(row.counted_dram_bytes, sums.counted, 1);
      expect_sum(row.sampled_dram_bytes, sums.sampled, 1);
      expect_sum(row.replayed_dram_bytes, sums.beside, 1);
      expect_sum(row.in_situ_clock_hz, sums.in_situ_hz, static_cast<double>(sums.in_situ_hz.size()));
      expect_sum(row.replayed_clock_hz, sums.replayed_hz, static_cast<double>(sums.replayed_hz.size()));
      all.replayed += row.replayed;
      all.in_situ_ns += row.in_situ_ns;
      all.replayed_ns += row.replayed_ns;
    }
    EXPECT_EQ(found.launches, all.replayed);
    EXPECT_EQ(found.in_situ_ns, all.in_situ_ns);
    EXPECT_DOUBLE_EQ(found.replayed_ns, all.replayed_ns);
  }
}

TEST(ReplayedInSitu, DifferencesAreSharesOfTheRun) {
  ReplayedKernel row{.in_situ_ns = 200, .replayed_ns = 250};
  EXPECT_DOUBLE_EQ(row.time_difference().value(), 0.25);
  row.in_situ_ns = 1;
  EXPECT_DOUBLE_EQ(row.time_difference().value(), 249);
  row.in_situ_ns = 0;
  EXPECT_FALSE(row.time_difference().has_value());
  EXPECT_FALSE(row.dram_difference().has_value());
  row.sampled_dram_bytes = 80;
  EXPECT_FALSE(row.dram_difference().has_value());
  row.replayed_dram_bytes = 100;
  EXPECT_DOUBLE_EQ(row.dram_difference().value(), 0.25);
  row.sampled_dram_bytes = 0;
  EXPECT_FALSE(row.dram_difference().has_value());
  row.sampled_dram_bytes = 0.5;
  EXPECT_DOUBLE_EQ(row.dram_difference().value(), 199);
  row.sampled_dram_bytes.reset();
  EXPECT_FALSE(row.dram_difference().has_value());
}

}  // namespace
}  // namespace ridgeline::analyzer
