// What in-situ samples (T1), counters (T2) and cold caches (T3) say of one launch, and which of it is shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;
using testing::kDuration;
using testing::kRead;
using testing::kSampledTensor;
using testing::kTensor;
using testing::kWritten;

constexpr const char* kSampledClock = "gpc__cycles_elapsed.avg.per_second";
constexpr const char* kSampledActive = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kSampledL2 = "lts__t_bytes.sum";
constexpr const char* kSampledHitRate = "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct";
constexpr const char* kL2Bytes = "lts__t_bytes.sum";
constexpr const char* kL2Peak = "lts__t_bytes.sum.peak_sustained_elapsed.per_second";

UtilisationAnalysis utilisation(const Model& model, const UtilisationOptions& options = {}) {
  return accepted(analyze_utilisation(model, analyze_steps(model).value(), options));
}

Quality quality(const Model& model) {
  const StepAnalysis steps = analyze_steps(model).value();
  return accepted(assess_quality(model, steps, accepted(analyze_utilisation(model, steps))));
}

Ranking ranking(const Model& model) {
  const StepAnalysis steps = analyze_steps(model).value();
  return accepted(rank_kernels(model, steps, accepted(analyze_utilisation(model, steps)),
                               testing::exposed(model, steps)));
}

const Finding* finding_of(const Quality& q, std::string_view code) {
  const auto found = std::find_if(q.findings.begin(), q.findings.end(),
                                  [&](const Finding& f) { return code_word(f) == code; });
  return found == q.findings.end() ? nullptr : &*found;
}

// A timeline step with one 100 µs launch of k.
FabricatedModel one_timed_launch() {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  return f;
}

// A sample step whose launch of k takes `duration_ns` and moves `bytes`.
void add_sample(FabricatedModel& f, std::int64_t duration_ns, double bytes, double error,
                double tensor = 20) {
  f.step(Phase::sample);
  const std::int64_t start = 2'000'000 + 1'000'000 * static_cast<std::int64_t>(f.model.steps.size());
  f.launch("k", start, start + duration_ns);
  f.samples({{kRead, {bytes / 2, error * 0.6}},
             {kWritten, {bytes / 2, error * 0.8}},
             {kSampledTensor, {tensor, 2}}},
            18);
}

void replay(FabricatedModel& f, double bytes, double tensor) {
  f.step(Phase::replay);
  f.launch("k", 90'000'000, 90'100'000);
  f.counters({{kRead, bytes}, {kWritten, 0}, {kTensor, tensor}, {kDuration, 100e3}});
}

TEST(Sampled, UtilisationIsOverTheSampledStepsOwnDuration) {
  // 50 MB in 125 µs and 52 MB in 130 µs are both 400 GB/s of 1 TB/s, whatever the timeline's 100 µs.
  FabricatedModel f = one_timed_launch();
  add_sample(f, 125'000, 50e6, 2e6);
  add_sample(f, 130'000, 52.2e6, 2e6);
  const auto u = utilisation(f.done());
  const TierUtilisation& t1 = u.launches[0].values->t1;
  EXPECT_NEAR(t1.dram_utilisation->value, (50.0 / 125 + 52.2 / 130) / 2, 1e-12);
  EXPECT_EQ(t1.dram_utilisation->tier, Tier::t1);
  EXPECT_EQ(t1.dram_utilisation->sample_count, 36);
  EXPECT_NEAR(t1.duration->value, 127'500, 1e-9);
  EXPECT_NEAR(t1.compute_utilisation->value, 0.20, 1e-12);
  EXPECT_EQ(t1.busiest_pipe, Roof::kTensor);
  EXPECT_EQ(u.sample_steps.size(), 2U);
}

// A sampled step at `clock_hz` whose launch of k takes `duration_ns`, with 40 MB and the tensor pipe busy for 40,000
// cycles.
void add_sample_at_clock(FabricatedModel& f, std::int64_t duration_ns, double clock_hz) {
  f.step(Phase::sample);
  const std::int64_t start = 2'000'000 + 1'000'000 * static_cast<std::int64_t>(f.model.steps.size());
  f.launch("k", start, start + duration_ns);
  const double cycles = static_cast<double>(duration_ns) * clock_hz * 1e-9;
  f.samples({{kRead, {30e6, 1e5}},
             {kWritten, {10e6, 1e5}},
             {kSampledTensor, {100 * 40e3 / cycles, 0.1}},
             {kSampledClock, {clock_hz, 1e6}},
             {kSampledHitRate, {60, 1}},
             {kSampledActive, {90, 1}},
             {kSampledL2, {80e6, 1e5}}},
            18);
}

// Beside a collective, which holds SMs, the same work takes longer: 40 MB in 100 µs of the timeline are 0.4 of 1 TB/s,
// in which steps ever they were sampled.
TEST(Sampled, WorkThatTookLongerBesideACollectiveIsOverTheTimelinesTime) {
  FabricatedModel f = one_timed_launch();
  f.model.clock_samples = {{.device_id = 1, .time_ns = 1'050'000, .sm_clock_hz = 1'000'000'000}};
  add_sample_at_clock(f, 180'000, 1e9);
  add_sample_at_clock(f, 100'000, 1e9);
  replay(f, 40e6, 40);
  const auto u = utilisation(f.done());
  const TierUtilisation& t1 = u.launches[0].values->t1;
  EXPECT_NEAR(t1.dram_utilisation->value, 0.4, 1e-9);
  EXPECT_NEAR(t1.dram_bytes->value, 40e6, 1);
  EXPECT_NEAR(t1.tensor_utilisation->value, 0.4, 1e-9);
  EXPECT_NEAR(t1.metrics.of("l2_hit_ratio")->value, 0.6, 1e-9);
  EXPECT_NEAR(t1.metrics.of("l2_bytes")->value, 80e6, 1);
  EXPECT_NEAR(t1.metrics.of("sm_active_ratio")->value, 0.9, 1e-9) << "the SMs that it is on are no work";
  EXPECT_NEAR(t1.cycles->value, 100e3, 1);
  EXPECT_NEAR(t1.duration->value, 140e3, 1);
  EXPECT_NEAR(u.launches[0].values->t2.tensor_utilisation->value, 0.4, 1e-9);

  // Alone in the sampled steps and beside one in the timeline, the other way round.
  FabricatedModel other = one_timed_launch();
  other.model.clock_samples = {{.device_id = 1, .time_ns = 1'050'000, .sm_clock_hz = 1'000'000'000}};
  add_sample_at_clock(other, 55'000, 1e9);
  EXPECT_NEAR(utilisation(other.done()).launches[0].values->t1.dram_utilisation->value, 0.4, 1e-9);
}

// What a collective moves is the same however long it waits; its instructions are those of waiting. Bytes beside others
// are theirs, too.
TEST(Sampled, ACollectiveThatWaitedMovesItsBytesAndIsAsBusyAsItWas) {
  for (const bool beside : {false, true}) {
    SCOPED_TRACE(beside);
    FabricatedModel f;
    f.kernel("k", KernelClass::communication);
    f.step(Phase::timeline);
    f.launch("k", 1'000'000, 1'100'000);
    f.model.clock_samples = {{.device_id = 1, .time_ns = 1'050'000, .sm_clock_hz = 1'000'000'000}};
    add_sample_at_clock(f, 800'000, 1e9);
    for (auto& row : f.model.launch_metrics) row.concurrent = beside;
    const TierUtilisation t1 = utilisation(f.done()).launches[0].values->t1;
    EXPECT_NEAR(t1.dram_utilisation->value, beside ? 0.05 : 0.4, 1e-9);
    EXPECT_NEAR(t1.dram_bytes->value, beside ? 5e6 : 40e6, 1);
    EXPECT_NEAR(t1.metrics.of("l2_bytes")->value, beside ? 10e6 : 80e6, 1);
    EXPECT_NEAR(t1.tensor_utilisation->value, 0.05, 1e-9);
    EXPECT_NEAR(t1.metrics.of("sm_active_ratio")->value, 0.9, 1e-9);
    EXPECT_NEAR(t1.cycles->value, 100e3, 1);
  }
}

// Of a launch shorter than a sample: the share is one that may be anything, or a little more than all.
TEST(Sampled, NoMoreLookUpsHitThanThereWere) {
  FabricatedModel f = one_timed_launch();
  for (const auto& [percent, error] : {std::pair(1273.0, 5e5), std::pair(104.0, 6.0)}) {
    f.step(Phase::sample);
    const std::int64_t start = 2'000'000 + 1'000'000 * static_cast<std::int64_t>(f.model.steps.size());
    f.launch("k", start, start + 100'000);
    f.samples({{kSampledHitRate, {percent, error}}, {kSampledActive, {99, 1}}}, 18);
  }
  const TierUtilisation t1 = utilisation(f.done()).launches[0].values->t1;
  EXPECT_DOUBLE_EQ(t1.metrics.of("l2_hit_ratio")->value, 1);
  EXPECT_NEAR(t1.metrics.of("sm_active_ratio")->value, 0.99, 1e-9);

  FabricatedModel unsure = one_timed_launch();
  unsure.step(Phase::sample);
  unsure.launch("k", 3'000'000, 3'100'000);
  unsure.samples({{kSampledHitRate, {40, 51}}}, 18);
  EXPECT_FALSE(utilisation(unsure.done()).launches[0].values->t1.metrics.of("l2_hit_ratio").has_value());
}

// It took 4 % longer when it was sampled, which no clock explains that the device does not have.
TEST(Sampled, NoClockIsAboveTheDevicesHighest) {
  for (const std::int64_t highest : {1'000'000'000, 2'000'000'000}) {
    FabricatedModel f = one_timed_launch();
    f.model.devices.front().max_sm_clock_hz = highest;
    add_sample_at_clock(f, 104'000, 1e9);
    const LaunchUtilisation launch = utilisation(f.done()).launches[0];
    const double clock_hz = std::min(1.04e9, static_cast<double>(highest));
    EXPECT_NEAR(*launch.values->timeline_clock_hz, clock_hz, 1);
    EXPECT_NEAR(*ranking(f.model).rows.at(0).sm_clock_hz, clock_hz, 1);
  }
}

// Half the clock and twice the time are as many cycles: the pipe's share of them is the timeline's too.
TEST(Sampled, WorkThatTookLongerAtALowerClockKeepsItsShareOfTheCycles) {
  FabricatedModel f = one_timed_launch();
  f.model.clock_samples = {{.device_id = 1, .time_ns = 1'050'000, .sm_clock_hz = 1'000'000'000}};
  add_sample_at_clock(f, 200'000, 0.5e9);
  const TierUtilisation t1 = utilisation(f.done()).launches[0].values->t1;
  EXPECT_NEAR(t1.tensor_utilisation->value, 0.4, 1e-9);
  EXPECT_NEAR(t1.dram_utilisation->value, 0.2, 1e-9);
}

TEST(Sampled, ErrorIsTheLargerOfSpreadAndTheSamplesOwn) {
  // Errors of 1 % of the peak each (1 MB read, 0 written would be 0.6 and 0.8): two steps give 0.01 ÷ √2.
  FabricatedModel quiet = one_timed_launch();
  add_sample(quiet, 100'000, 40e6, 1e6);
  add_sample(quiet, 100'000, 40.1e6, 1e6);
  EXPECT_NEAR(*utilisation(quiet.done()).launches[0].values->t1.dram_utilisation->error,
              0.01 / std::sqrt(2.0), 1e-9);
  // Steps that differ by 20 points say more than their errors: (0.5 − 0.3) ÷ 2 is the mean's standard error.
  FabricatedModel wide = one_timed_launch();
  add_sample(wide, 100'000, 30e6, 1e6);
  add_sample(wide, 100'000, 50e6, 1e6);
  EXPECT_NEAR(*utilisation(wide.done()).launches[0].values->t1.dram_utilisation->error, 0.1, 1e-9);
}

TEST(Sampled, OnePooledValueInEveryStepKeepsItsError) {
  FabricatedModel f = one_timed_launch();
  for (int i = 0; i < 4; ++i) add_sample(f, 100'000, 40e6, 1e6);
  const Measured dram = *utilisation(f.done()).launches[0].values->t1.dram_utilisation;
  EXPECT_NEAR(*dram.error, 0.01, 1e-9);
  EXPECT_EQ(dram.sample_count, 18);
}

// What is pooled is the amount: the launch's duration differs a little from step to step, and so does the
// rate; multiplied again they are alike but for rounding.
TEST(Sampled, OnePooledAmountIsRecognisedAtUnlikeDurations) {
  FabricatedModel f = one_timed_launch();
  for (std::int64_t duration = 99'001; duration < 101'000; duration += 67)
    add_sample(f, duration, 40e6, 1e6, 20e5 / static_cast<double>(duration));
  const TierUtilisation t1 = utilisation(f.done()).launches[0].values->t1;
  EXPECT_NEAR(*t1.dram_utilisation->error, 0.01, 1e-5);
  EXPECT_EQ(t1.dram_utilisation->sample_count, 18);
  EXPECT_NEAR(*t1.compute_utilisation->error, 0.02, 1e-9);
}

TEST(Sampled, StepsThatOnlyLetTheClocksSettleAreNoSampleSteps) {
  FabricatedModel f = one_timed_launch();
  f.step(Phase::sample);
  f.launch("k", 2'000'000, 2'300'000);  // no values
  add_sample(f, 100'000, 40e6, 1e6);
  const auto u = utilisation(f.done());
  EXPECT_EQ(u.sample_steps, (std::vector<StepIndex>{2}));
  EXPECT_NEAR(u.launches[0].values->t1.duration->value, 100'000, 1e-9);
}

TEST(Tiers, CountersAreShownAndSamplesStandBeside) {
  FabricatedModel f = one_timed_launch();
  add_sample(f, 100'000, 44e6, 1e6);
  replay(f, 40e6, 60);
  const LaunchUtilisation k = utilisation(f.done()).launches[0];
  EXPECT_EQ(k.values->dram_utilisation->tier, Tier::t2);
  EXPECT_NEAR(k.values->dram_utilisation->value, 0.40, 1e-12);
  EXPECT_NEAR(k.values->t1.dram_utilisation->value, 0.44, 1e-12);
  EXPECT_EQ(k.values->compute_utilisation->tier, Tier::t2);
  EXPECT_NEAR(k.values->compute_utilisation->value, 0.60, 1e-12);
  const RankingRow row = ranking(f.model).rows.at(0);
  EXPECT_EQ(row.tier, Tier::t2);
  EXPECT_NEAR(row.dram_t1->value, 0.44, 1e-12);
  EXPECT_NEAR(row.dram_t2->value, 0.40, 1e-12);
  EXPECT_NEAR(row.dram_difference->value, 0.04, 1e-12);
  EXPECT_EQ(row.t1_time_ns, 100'000);
  EXPECT_EQ(row.t2_time_ns, 100'000);
}

TEST(Tiers, SamplesTakeThePlaceOfCountersThatAreMissing) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.launch("other", 1'100'000, 1'200'000);
  add_sample(f, 100'000, 44e6, 1e6);
  f.step(Phase::replay);
  f.launch("k", 90'000'000, 90'100'000);  // runs unmeasured
  f.launch("other", 90'100'000, 90'200'000);
  f.counters({{kRead, 10e6}, {kWritten, 0}, {kTensor, 5}, {kDuration, 100e3}});
  f.model.replay_exclusions.push_back({1, 1, ExclusionReason::name});
  const auto u = utilisation(f.done());
  const LaunchUtilisation& k = u.launches[0];
  EXPECT_EQ(k.status, LaunchStatus::measured);
  EXPECT_EQ(k.missing, MissingReason::none);
  EXPECT_EQ(k.values->dram_utilisation->tier, Tier::t1);
  EXPECT_EQ(k.values->t2.missing, MissingReason::excluded);
  EXPECT_EQ(k.values->t2.why.cause, AbsenceCause::excluded);
  EXPECT_EQ(k.values->t2.why.exclusion, ExclusionReason::name);
  EXPECT_EQ(u.launches[1].values->dram_utilisation->tier, Tier::t2);
  EXPECT_EQ(u.launches[1].values->t1.missing, MissingReason::no_sample);
  const Ranking r = ranking(f.model);
  for (const RankingRow& row : r.rows) EXPECT_EQ(row.tier, row.key == "k" ? Tier::t1 : Tier::t2) << row.key;
  RankingOptions by_class;
  by_class.key = RankingKey::kernel_class;
  const StepAnalysis steps = analyze_steps(f.model).value();
  EXPECT_EQ(
      accepted(rank_kernels(f.model, steps, u, testing::exposed(f.model, steps), by_class)).rows.at(0).tier,
      (Tier::t1 | TierSet(Tier::t2)));
}

TEST(Tiers, WithoutEitherBothReasonsAreGiven) {
  FabricatedModel f = one_timed_launch();
  f.step(Phase::sample);
  f.launch("k", 2'000'000, 2'100'000);
  f.model.tier_statuses.push_back({1, Tier::t2, TierOutcome::refused, "no permission"});
  const LaunchUtilisation k = utilisation(f.done()).launches[0];
  EXPECT_EQ(k.missing, MissingReason::tier_refused);
  ASSERT_EQ(k.values->why.size(), 2U);
  EXPECT_EQ(k.values->why[0].detail, "no permission");
  EXPECT_EQ(k.values->why[1].cause, AbsenceCause::not_told_apart);

  FabricatedModel refused = one_timed_launch();
  refused.model.tier_statuses.push_back({1, Tier::t1, TierOutcome::refused, "not permitted"});
  const LaunchUtilisation r = utilisation(refused.done()).launches[0];
  EXPECT_EQ(r.values->t1.missing, MissingReason::tier_refused);
  EXPECT_EQ(r.values->t1.why.tier, Tier::t1);
  EXPECT_EQ(r.values->t1.why.detail, "not permitted");
  ASSERT_EQ(r.values->why.size(), 1U);
  EXPECT_EQ(r.values->why[0].cause, AbsenceCause::no_replay_step);
}

TEST(Tiers, L2IsMeasuredAgainstItsCountedPeak) {
  FabricatedModel f = one_timed_launch();
  add_sample(f, 200'000, 44e6, 1e6);
  f.samples({{kL2Bytes, {300e6, 3e6}}}, 18);
  replay(f, 40e6, 60);
  f.counters({{kL2Bytes, 100e6},
              {kL2Peak, 5e12},
              {"lts__t_sectors_lookup_hit.sum", 30},
              {"lts__t_sectors_lookup_miss.sum", 10}});
  const LaunchUtilisation k = utilisation(f.done()).launches[0];
  EXPECT_NEAR(k.values->t2.metrics.of("l2_utilisation_ratio")->value, 0.2,
              1e-12);  // 100 MB in the timeline's 100 µs of 5 TB/s
  EXPECT_NEAR(k.values->t1.metrics.of("l2_utilisation_ratio")->value, 0.3,
              1e-12);  // 300 MB in its own 200 µs
  EXPECT_NEAR(*k.values->t1.metrics.of("l2_utilisation_ratio")->error, 0.003, 1e-12);
  EXPECT_NEAR(k.values->metrics.of("l2_utilisation_ratio")->value, 0.2, 1e-12);
  EXPECT_NEAR(k.values->metrics.of("l2_hit_ratio")->value, 0.75, 1e-12);
  EXPECT_FALSE(k.values->metrics.of("l1_hit_ratio").has_value());
}

TEST(Tiers, HitsAndMissesMayBeOfDifferentSteps) {
  FabricatedModel f = one_timed_launch();
  replay(f, 40e6, 60);
  f.counters({{"lts__t_sectors_lookup_hit.sum", 30}});
  replay(f, 40e6, 60);
  f.counters({{"lts__t_sectors_lookup_miss.sum", 90}});
  EXPECT_NEAR(utilisation(f.done()).launches[0].values->metrics.of("l2_hit_ratio")->value, 0.25, 1e-12);
}

TEST(Tiers, ColdStandsBesideAndIsNeverShownAsInSitu) {
  FabricatedModel f = one_timed_launch();
  replay(f, 40e6, 60);
  f.step(Phase::cold);
  f.launch("k", 95'000'000, 95'125'000);
  f.counters({{kRead, 60e6}, {kWritten, 2.5e6}, {kDuration, 125e3}}, Tier::t3);
  const auto u = utilisation(f.done());
  const LaunchUtilisation& k = u.launches[0];
  EXPECT_NEAR(k.values->dram_utilisation->value, 0.40, 1e-12);
  EXPECT_NEAR(k.values->cold.dram_utilisation->value, 0.50, 1e-12);  // 62.5 MB in its own 125 µs
  EXPECT_EQ(k.values->cold.dram_utilisation->tier, Tier::t3);
  EXPECT_NEAR(k.values->cold.dram_bytes->value, 62.5e6, 1e-6);
  EXPECT_EQ(u.cold_steps.size(), 1U);
  const RankingRow row = ranking(f.model).rows.at(0);
  EXPECT_NEAR(*row.cold_time_ns, 125e3, 1e-9);
  EXPECT_NEAR(*row.cold_in_situ_time_ns, 100e3, 1e-9);
  EXPECT_NEAR(*row.cold_in_situ_dram_bytes, 40e6, 1e-6);
  EXPECT_EQ(row.tier, Tier::t2);
}

TEST(Tiers, ColdStepsAloneAreMeasurementsToo) {
  FabricatedModel f = one_timed_launch();
  f.step(Phase::cold);
  f.launch("k", 95'000'000, 95'125'000);
  f.counters({{kRead, 60e6}, {kWritten, 2.5e6}, {kDuration, 125e3}}, Tier::t3);
  const auto u = utilisation(f.done());
  ASSERT_TRUE(u.launches[0].values->cold.dram_utilisation.has_value());
  EXPECT_NEAR(u.launches[0].values->cold.dram_utilisation->value, 0.50, 1e-12);
  EXPECT_FALSE(u.launches[0].values->dram_utilisation.has_value());
  EXPECT_EQ(u.cold_steps.size(), 1U);
}

// 60 % of 100 µs at 1.8 GHz in replay are 108,000 tensor cycles. The sampled step took 120 µs at 1.5 GHz:
// 180,000 cycles passed, as many as in the timeline's 100 µs at 1.8 GHz.
TEST(Tiers, PipeCyclesAreOverTheCyclesOfTheSampledSteps) {
  FabricatedModel f = one_timed_launch();
  add_sample(f, 120'000, 44e6, 1e6);
  f.samples({{kSampledClock, {1.5e9, 1e6}}}, 18);
  replay(f, 40e6, 60);
  f.counters({{testing::kGpcCycles, 180e3}});
  f.model.clock_samples.push_back({1, 1'000'000, 1'700'000'000, {}, {}, {}, {}});  // a poorer source
  const LaunchUtilisation k = utilisation(f.done()).launches[0];
  EXPECT_DOUBLE_EQ(*k.values->timeline_clock_hz, 1.8e9);
  EXPECT_DOUBLE_EQ(*ranking(f.model).rows.at(0).sm_clock_hz, 1.8e9);
  EXPECT_NEAR(k.values->in_situ_cycles->value, 180e3, 1e-6);
  EXPECT_NEAR(k.values->compute_utilisation->value, 0.6, 1e-12);
  f.model.devices[0].max_sm_clock_hz = 1'300'000'000;  // 1.5 GHz cannot be: the sample is of something else
  EXPECT_FALSE(utilisation(f.model).launches[0].values->in_situ_cycles.has_value());
}

// The sampled tensor pipe at 60 % ± 1 and the counted one at 66 % ± 0: 5 points are explained by neither.
TEST(Tiers, WhatErrorsDoNotExplainOfTheTensorPipesDifferenceIsAnError) {
  for (const auto& [sampled, error] : {std::pair(60.0, 0.05), {66.5, 0.0}}) {
    FabricatedModel f = one_timed_launch();
    f.step(Phase::sample);
    f.launch("k", 2'000'000, 2'100'000);
    f.samples({{kRead, {20e6, 1e5}}, {kWritten, {20e6, 1e5}}, {kSampledTensor, {sampled, 1}}}, 18);
    for (int i = 0; i < 2; ++i) replay(f, 40e6, 66);
    const LaunchUtilisation k = utilisation(f.done()).launches[0];
    EXPECT_NEAR(k.values->t2.tensor_utilisation->value, 0.66, 1e-12);
    EXPECT_NEAR(k.values->t1.tensor_utilisation->value, sampled / 100, 1e-12);
    EXPECT_NEAR(*k.values->compute_utilisation->error, error, 1e-12);
    const RankingRow row = ranking(f.model).rows.at(0);
    EXPECT_NEAR(row.tensor_difference->value, sampled / 100 - 0.66, 1e-12);
    EXPECT_NEAR(row.tensor_t1->value, sampled / 100, 1e-12);
  }
}

TEST(Tiers, ValuesOfSeveralKernelsAtOnceAreMarkedAndComparedWithNothing) {
  FabricatedModel f = one_timed_launch();
  add_sample(f, 100'000, 90e6, 1e6);
  for (auto& row : f.model.launch_metrics) row.concurrent = true;
  replay(f, 40e6, 60);
  Quality q = quality(f.done());
  EXPECT_TRUE(utilisation(f.model).launches[0].values->t1.concurrent);
  EXPECT_TRUE(q.comparisons.empty());
  EXPECT_NE(finding_of(q, "t1.concurrent"), nullptr);
  EXPECT_DOUBLE_EQ(q.reach.at(0).concurrent_share, 1.0);
  EXPECT_EQ(ranking(f.model).rows.at(0).t1_concurrent_time_ns, 100'000);
  EXPECT_FALSE(ranking(f.model).rows.at(0).dram_difference)
      << "a value of several kernels says nothing of one";
  // A step in which it ran alone is believed instead.
  add_sample(f, 100'000, 41e6, 1e6);
  const auto u = utilisation(f.done());
  EXPECT_FALSE(u.launches[0].values->t1.concurrent);
  EXPECT_NEAR(u.launches[0].values->t1.dram_utilisation->value, 0.41, 1e-12);
}

TEST(Tiers, FurtherPhasesAreNoTimeline) {
  FabricatedModel f = one_timed_launch();
  for (const Phase phase : {Phase::sample, Phase::cold, Phase::stalls, Phase::flops}) {
    f.step(phase);
    f.launch("k", 2'000'000, 2'500'000);
  }
  f.done();
  EXPECT_EQ(analyze_steps(f.model).value().representative.summary.phase, Phase::timeline);
  f.model.steps[0].step.status = StepStatus::interrupted;
  EXPECT_EQ(analyze_steps(f.model).value().representative.summary.phase, Phase::sample);
}

TEST(Tiers, AWindowTakenAsOneStepIsSaid) {
  FabricatedModel f = one_timed_launch();
  f.model.steps[0].step.source = StepSource::window;
  const StepAnalysis steps = analyze_steps(f.done()).value();
  EXPECT_EQ(steps.representative.summary.source, StepSource::window);
  EXPECT_TRUE(std::any_of(steps.findings.begin(), steps.findings.end(),
                          [](const Finding& finding) { return finding.code == FindingCode::steps_window; }));
}

TEST(Comparison, BeyondThreePointsIsAFindingWithBothValuesAndErrors) {
  for (const auto& [bytes, flagged] :
       {std::pair(42.9e6, false), {43.1e6, true}, {36.9e6, true}, {37.1e6, false}}) {
    FabricatedModel f = one_timed_launch();
    add_sample(f, 100'000, bytes, 0.5e6);
    replay(f, 39.9e6, 60);
    replay(f, 40.1e6, 60);
    const Quality q = quality(f.done());
    ASSERT_EQ(q.comparisons.size(), 1U) << bytes;
    EXPECT_EQ(q.comparisons[0].flagged, flagged) << bytes;
    EXPECT_NEAR(q.comparisons[0].difference.value, bytes / 100e6 - 0.40, 1e-9);
    EXPECT_NEAR(*q.comparisons[0].t1.error, 0.005, 1e-9);
    EXPECT_NEAR(*q.comparisons[0].t2.error, 0.001, 1e-9);
    const Finding* finding = finding_of(q, "t1.disagreement");
    ASSERT_EQ(finding != nullptr, flagged) << bytes;
    if (!flagged) continue;
    EXPECT_EQ(finding->severity, Severity::warning);
    EXPECT_NEAR(finding->value("dram_t2_ratio"), 0.40, 1e-9);
    EXPECT_NEAR(*finding->find("dram_t2_ratio")->error, 0.001, 1e-9);
    EXPECT_EQ(finding->find("dram_t2_ratio")->tier, Tier::t2);
    EXPECT_NEAR(*finding->find("dram_t1_ratio")->error, 0.005, 1e-9);
    EXPECT_EQ(finding->find("dram_t1_ratio")->tier, Tier::t1);
  }
}

// A throttled step: what is counted is the same, it only took longer than when it was sampled.
TEST(Comparison, AnotherTimeThanInTheSampledStepsIsNoDisagreement) {
  for (const auto& [bytes, flagged] : {std::pair(40e6, false), {36e6, true}}) {
    FabricatedModel f = one_timed_launch();
    add_sample(f, 80'000, bytes, 0.5e6);
    replay(f, 40e6, 20);
    const Quality q = quality(f.done());
    ASSERT_EQ(q.comparisons.size(), 1U);
    EXPECT_NEAR(q.comparisons[0].difference.value, bytes / 80e6 - 0.40, 1e-9);
    EXPECT_EQ(q.comparisons[0].flagged, flagged) << bytes;
    EXPECT_EQ(finding_of(q, "t1.disagreement") != nullptr, flagged) << bytes;
  }
}

TEST(Comparison, TheTensorPipeIsComparedLikeDram) {
  for (const auto& [tensor, flagged] : {std::pair(62.0, false), {56.5, true}}) {
    FabricatedModel f = one_timed_launch();
    add_sample(f, 100'000, 40e6, 0.5e6, tensor);
    replay(f, 40e6, 60);
    const Quality q = quality(f.done());
    ASSERT_EQ(q.tensor_comparisons.size(), 1U);
    EXPECT_NEAR(q.tensor_comparisons[0].difference.value, tensor / 100 - 0.60, 1e-9);
    EXPECT_EQ(finding_of(q, "t1.disagreement"), nullptr);
    const Finding* finding = finding_of(q, "t1.tensor_disagreement");
    ASSERT_EQ(finding != nullptr, flagged);
    if (!flagged) continue;
    EXPECT_NEAR(finding->value("tensor_t1_ratio"), 0.565, 1e-9);
  }
}

TEST(Comparison, ShortKernelsAreNotCompared) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'019'000);
  add_sample(f, 19'000, 1e6, 1e5);
  replay(f, 15e6, 60);
  const Quality q = quality(f.done());
  EXPECT_TRUE(q.comparisons.empty());
  EXPECT_EQ(finding_of(q, "t1.disagreement"), nullptr);
}

TEST(Comparison, ReachIsOfKernelTimeAndAnErrorBelongsToAT1Value) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'300'000);
  f.launch("b", 1'300'000, 1'400'000);
  f.step(Phase::sample);
  f.launch("k", 2'000'000, 2'300'000);
  f.samples({{kRead, {60e6, 3e6}}, {kWritten, {0, 0}}, {kSampledTensor, {20, 2}}}, 60);
  f.launch("b", 2'300'000, 2'400'000);
  f.counters({{kRead, 10e6}, {kWritten, 0}, {kSampledTensor, 3}},
             Tier::t1);  // a value of an interval: no error
  const Quality q = quality(f.done());
  ASSERT_EQ(q.reach.size(), 1U);
  EXPECT_EQ(q.reach[0].tier, Tier::t1);
  EXPECT_DOUBLE_EQ(q.reach[0].dram_coverage, 0.75);
  EXPECT_DOUBLE_EQ(q.reach[0].compute_coverage, 1.0);
  EXPECT_NEAR(*q.reach[0].dram_mean_error, 0.01, 1e-12);
  EXPECT_EQ(q.reach[0].launches, 2);
  EXPECT_DOUBLE_EQ(q.coverage, 1.0);  // both have both utilisations, by T1
}

}  // namespace
}  // namespace ridgeline::analyzer
