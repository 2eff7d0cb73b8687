#include "accounting/step_power.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::analyse;
using testing::FabricatedModel;
using testing::kDuration;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

constexpr double kHighest = 2e9;
constexpr ClockShare kUnsure{0.5, 0.3};

// 40 ms at the highest clock, of which `share` follows the clock; clocks from 1.4 to 1.9 GHz, times off by `noise`.
std::vector<ClockPoint> steps_of(double share, double noise, int count = 12) {
  std::vector<ClockPoint> points;
  for (int i = 0; i < count; ++i) {
    const double clock_hz = 1.4e9 + 0.5e9 * i / (count - 1);
    const double time_ns = 40e6 * (1 - share + share * kHighest / clock_hz);
    points.push_back({clock_hz, time_ns * (1 + (i % 2 == 0 ? noise : -noise))});
  }
  return points;
}

TEST(ClockShare, TimesThatFollowTheClockSayHowFar) {
  // Of the time at the mean clock: a bit more than at the highest.
  const ToldShare all = accepted(clock_share(steps_of(1, 0), kUnsure));
  EXPECT_TRUE(all.told);
  EXPECT_NEAR(all.beta, 1, 0.01);
  EXPECT_LT(all.error, 0.03);
  const ToldShare none = accepted(clock_share(steps_of(0, 0), kUnsure));
  EXPECT_NEAR(none.beta, 0, 0.01);
  const ToldShare part = accepted(clock_share(steps_of(0.4, 0), kUnsure));
  EXPECT_GT(part.beta, 0.40);
  EXPECT_LT(part.beta, 0.50);
}

TEST(ClockShare, NoiseLeavesMoreToThePrior) {
  const ClockShare prior{0.05, 0.1};
  const ToldShare noisy = accepted(clock_share(steps_of(1, 0.2), prior));
  EXPECT_TRUE(noisy.told);
  EXPECT_LT(noisy.beta, 0.9) << "shrunk";
  EXPECT_GT(noisy.beta, prior.beta);
  EXPECT_LT(noisy.error, prior.error) << "what is told makes it surer";
  EXPECT_GT(noisy.error, accepted(clock_share(steps_of(1, 0.001), prior)).error);
}

TEST(ClockShare, FewStepsOrOneClockSayNothing) {
  for (const std::vector<ClockPoint>& points :
       {steps_of(1, 0, 5), std::vector<ClockPoint>(12, {1.7e9, 40e6}), std::vector<ClockPoint>()}) {
    const ToldShare share = accepted(clock_share(points, kUnsure));
    EXPECT_FALSE(share.told);
    EXPECT_DOUBLE_EQ(share.beta, kUnsure.beta);
    EXPECT_DOUBLE_EQ(share.error, kUnsure.error);
  }
}

// Eight timeline steps of a product and a copy at clocks that differ; the product's time follows them, the copy's does
// not. Then a replay step that counts both.
FabricatedModel clocked(double clock_step_hz = 0.02e9, int steps = 8) {
  FabricatedModel f;
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, "test"});
  f.model.devices[0].max_sm_clock_hz = static_cast<std::int64_t>(kHighest);
  std::int64_t at = 1'000'000;
  for (int i = 0; i <= steps; ++i) {
    const bool replay = i == steps;
    f.step(replay ? Phase::replay : Phase::timeline);
    const double clock_hz = 1.5e9 + clock_step_hz * i;
    const auto product_ns = static_cast<std::int64_t>(600e3 * kHighest / clock_hz / 1.25);
    f.model.steps.back().step.gpu_start_ns = at;
    f.launch("product", at, at + product_ns);
    if (replay)
      f.counters({{kRead, 1e6}, {kWritten, 0}, {kTensor, 95}, {kOperations, 5.8e11}, {kDuration, 640e3}});
    f.launch("copy", at + product_ns, at + product_ns + 400'000);
    if (replay)
      f.counters({{kRead, 190e6}, {kWritten, 190e6}, {kTensor, 0}, {kOperations, 0}, {kDuration, 400e3}});
    f.model.steps.back().step.gpu_end_ns = at + product_ns + 400'000;
    f.model.clock_samples.push_back({.device_id = 1,
                                     .time_ns = at + 100'000,
                                     .sm_clock_hz = static_cast<std::int64_t>(clock_hz),
                                     .power_mw = 600'000,
                                     .throttle_reasons = 4});
    at += product_ns + 400'000;
  }
  return f;
}

TEST(StepPower, TheClockCostsWhatFollowsItAndNotWhatMemoryHolds) {
  FabricatedModel f = clocked();
  const Ranking ranking = analyse(f.done()).value().ranking;
  ASSERT_TRUE(ranking.power.clock);
  const ClockCost& cost = *ranking.power.clock;
  EXPECT_DOUBLE_EQ(cost.reference_hz, kHighest);
  EXPECT_NEAR(cost.clock_hz, 1.57e9, 0.02e9);
  EXPECT_EQ(cost.steps, 7) << "the last one is open";
  EXPECT_EQ(cost.throttle_reasons, 4);
  // The product is a good 600 µs of which 21 % would be gone.
  const double truth = 600e3 * kHighest / 1.57e9 / 1.25 * (1 - 1.57 / 2);
  EXPECT_GT(cost.cost_ns, 0.85 * truth);
  EXPECT_LT(cost.cost_ns, 1.25 * truth);
  EXPECT_LE(cost.low_ns, truth);
  EXPECT_GE(cost.high_ns, truth);
  for (const RankingRow& row : ranking.rows) {
    ASSERT_TRUE(row.clock_cost_ns) << row.key;
    EXPECT_NEAR(*row.clock_loss_ratio, 1 - 1.57 / 2, 0.01);
    if (row.key == "copy") {
      EXPECT_LT(*row.clock_cost_ns, 0.1 * static_cast<double>(row.time_ns));
    }
    EXPECT_FALSE(row.energy_j) << "without an energy model";
  }
  EXPECT_FALSE(ranking.power.energy) << "power over milliseconds says nothing";
}

// "Hardly differ" is a finding: there has to be something that was compared.
TEST(StepPower, ClocksOfStepsAreAlikeOnlyWhereThereAreStepsToCompare) {
  const auto clock_of = [](double clock_step_hz, int steps) {
    FabricatedModel f = clocked(clock_step_hz, steps);
    return analyse(f.done()).value().ranking.power.clock;
  };
  const auto differ = clock_of(0.02e9, 8), alike = clock_of(0, 8), few = clock_of(0, 3);
  ASSERT_TRUE(differ && alike && few);
  EXPECT_GT(differ->steps, 0);
  EXPECT_FALSE(differ->steps_alike);
  EXPECT_EQ(alike->steps, 0);
  EXPECT_TRUE(alike->steps_alike);
  EXPECT_EQ(few->steps, 0);
  EXPECT_FALSE(few->steps_alike);
}

TEST(StepPower, WithoutClocksNothingIsSaid) {
  FabricatedModel f = clocked();
  f.model.clock_samples.clear();
  const Ranking ranking = analyse(f.done()).value().ranking;
  EXPECT_FALSE(ranking.power.clock);
  for (const RankingRow& row : ranking.rows) EXPECT_FALSE(row.clock_cost_ns);
}

store::Ceiling term(const std::string& kind, double value, const char* unit) {
  return {.device_id = 1,
          .level = CeilingLevel::energy,
          .kind = kind,
          .state = CeilingState::sustained,
          .read_share = {},
          .value = value,
          .unit = unit,
          .spread_ratio = 0.1,
          .sm_clock_hz = {},
          .power_w = {},
          .joules_each = {},
          .conditions = "as made"};
}

TEST(StepPower, JoulesAreThoseOfTheModelWithTheDevicesOwn) {
  FabricatedModel f = clocked();
  f.model.ceilings = {term("idle", 100, "W"), term("dram_byte", 1e-10, "J"), term("bf16_op", 5e-13, "J")};
  const Ranking ranking = analyse(f.done()).value().ranking;
  for (const RankingRow& row : ranking.rows) {
    ASSERT_TRUE(row.energy_j) << row.key;
    const double own = 100 * static_cast<double>(row.time_ns) * 1e-9;
    EXPECT_NEAR(*row.energy_j - own, row.key == "copy" ? 380e6 * 1e-10 : 5.8e11 * 5e-13, 1e-6) << row.key;
  }
  ASSERT_TRUE(ranking.power.energy);
  const double step_s = static_cast<double>(ranking.totals.step_ns) * 1e-9;
  EXPECT_NEAR(*ranking.power.energy->modelled_j, 0.038 + 0.29 + 100 * step_s, 1e-6);
  EXPECT_DOUBLE_EQ(ranking.power.energy->covered_ratio, 1);
  EXPECT_FALSE(ranking.power.energy->measured_j) << "less than two seconds of samples";
  f.model.ceilings.pop_back();
  const Ranking without = analyse(f.done()).value().ranking;
  for (const RankingRow& row : without.rows)
    EXPECT_EQ(row.energy_j.has_value(), row.key == "copy") << "absent, not zero";
  EXPECT_FALSE(without.power.energy) << "most of the time is not known";
}

}  // namespace
}  // namespace ridgeline::analyzer
