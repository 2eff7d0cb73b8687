#include "ridgeline/analyzer/ranking/throughput.h"

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
using testing::kGpcCycles;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

// One launch of 100 µs on an H200 with 40e9 BF16 operations: 400 TFLOP/s, over a step of 100 µs.
FabricatedModel product() {
  FabricatedModel f;
  f.model.devices[0].name = "NVIDIA H200";
  f.model.devices[0].sm_count = 132;
  f.model.devices[0].compute_capability = "9.0";
  f.model.devices[0].max_sm_clock_hz = 1'980'000'000;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.step(Phase::sample);
  f.launch("k", 2'000'000, 2'100'000);
  f.samples({{"gpc__cycles_elapsed.avg.per_second", {1.5e9, 1e6}}}, 18);
  f.step(Phase::replay);
  f.launch("k", 9'000'000, 9'100'000);
  f.counters({{kRead, 1e6},
              {kWritten, 0},
              {kTensor, 50},
              {kOperations, 40e9},
              {kDuration, 100e3},
              {kGpcCycles, 180e3}});
  return f;
}

Analysis analysed(const Model& model, const AnalysisOptions& options = {}) {
  return analyse(model, options).value();
}

TEST(Throughput, CountedOperationsOverTheStepAgainstTheDataSheet) {
  FabricatedModel f = product();
  // What an older program wrote down at the highest clock does not count.
  f.model.device_peaks.push_back(
      {1, Quantity::bf16_flops_per_s, PeakSource::spec, 1070.5e12, "highest clock"});
  const Throughput t = analysed(f.done()).throughput;
  EXPECT_EQ(t.step_ns, 100'000);
  EXPECT_NEAR(*t.tensor_ops_per_s, 400e12, 1);
  ASSERT_TRUE(t.peak.has_value());
  EXPECT_DOUBLE_EQ(t.peak->value, 989.4e12);
  EXPECT_EQ(t.peak->detail, "data sheet of NVIDIA H200, dense at 1830 MHz");
  EXPECT_NEAR(*t.hardware, 400.0 / 989.4, 1e-9);
  EXPECT_FALSE(t.mfu.has_value());
  EXPECT_EQ(t.device_count, 1);
}

// The first launch's range declares 30 GFLOP.
void declare_flops(FabricatedModel& f) {
  f.launches[0].host_start_ns = 900'000;
  f.launches[0].host_end_ns = 901'000;
  store::NvtxRange range;
  range.id = 1;
  range.process_id = 1;
  range.step_id = 1;
  range.start_ns = 800'000;
  range.end_ns = 950'000;
  f.model.nvtx_ranges.push_back(range);
  f.model.annotations.push_back({.nvtx_range_id = 1, .name = "op_cost", .bytes = 1e6, .flops = 30e9});
}

TEST(Throughput, DeclaredFlopsGiveMfu) {
  FabricatedModel f = product();
  declare_flops(f);
  const Throughput t = analysed(f.done()).throughput;
  EXPECT_DOUBLE_EQ(*t.declared_flops, 30e9);
  EXPECT_NEAR(*t.mfu, 300.0 / 989.4, 1e-9);
  EXPECT_NEAR(*t.hardware, 400.0 / 989.4, 1e-9);
}

// A recording of the timeline alone: nothing says that the tensor pipe did nothing.
TEST(Throughput, WithoutCountersTheTypeIsThatOfTheProductsNames) {
  for (const auto& [name, peak] :
       {std::pair("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_NNT", 989.4e12), {"k", 0.0}}) {
    FabricatedModel f;
    f.model.devices[0].name = "NVIDIA H200";
    f.model.devices[0].sm_count = 132;
    f.model.devices[0].compute_capability = "9.0";
    f.step(Phase::timeline);
    f.launch(name, 1'000'000, 1'100'000);
    declare_flops(f);
    const Throughput t = analysed(f.done()).throughput;
    EXPECT_FALSE(t.tensor_ops.has_value());
    EXPECT_NEAR(*t.declared_flops_per_s, 300e12, 1);
    EXPECT_EQ(t.mfu.has_value(), peak > 0) << name;
    if (t.mfu) {
      EXPECT_NEAR(*t.mfu, 300e12 / peak, 1e-9);
    }
  }
}

// Steps 1 to 3 are the timeline, sample and replay step.
void size_range(FabricatedModel& f, store::Id step_id, std::int64_t start_ns, std::int64_t end_ns,
                std::optional<double> tokens, std::optional<double> samples, std::int64_t thread_id = 1) {
  store::NvtxRange range;
  range.id = static_cast<store::Id>(f.model.nvtx_ranges.size() + 1);
  range.process_id = 1;
  range.thread_id = thread_id;
  range.step_id = step_id;
  range.start_ns = start_ns;
  range.end_ns = end_ns;
  f.model.nvtx_ranges.push_back(range);
  store::Annotation size{.nvtx_range_id = range.id, .name = "step_size"};
  size.tokens = tokens;
  size.samples = samples;
  f.model.annotations.push_back(size);
}

TEST(Throughput, TokensASecondAreThoseThatTheStepDeclares) {
  FabricatedModel f = product();
  size_range(f, 1, 800'000, 850'000, 1000, {});  // two micro-batches
  size_range(f, 1, 850'000, 950'000, 1024, 2.0);
  size_range(f, 1, 860'000, 900'000, 512, {});   // inside one that says it already
  size_range(f, 3, 860'000, 900'000, 4096, {});  // of another step
  size_range(f, 1, 960'000, 990'000, 8192, {});  // of no step
  f.model.nvtx_ranges.back().step_id.reset();
  const Throughput t = analysed(f.done()).throughput;
  EXPECT_DOUBLE_EQ(*t.size.tokens, 2024);
  EXPECT_DOUBLE_EQ(*t.size.samples, 2);
  EXPECT_NEAR(*t.tokens_per_s, 2024 / 100e-6, 1e-3);
  EXPECT_NEAR(*t.samples_per_s, 2 / 100e-6, 1e-3);
  EXPECT_FALSE(t.declared_flops.has_value()) << "a size is no work";
  EXPECT_TRUE(analysed(f.model).declared_work.empty());
}

TEST(Throughput, ASizeIsKnownWithoutAnyCounterAndOnEveryThread) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 3'000'000);
  size_range(f, 1, 800'000, 900'000, {}, 8);
  size_range(f, 1, 800'000, 900'000, {}, 4, 2);
  const Throughput t = analysed(f.done()).throughput;
  EXPECT_NEAR(*t.samples_per_s, 12 / 2e-3, 1e-6);
  EXPECT_FALSE(t.tokens_per_s.has_value());
  EXPECT_FALSE(t.mfu.has_value());
}

TEST(Throughput, UnknownWhereALaunchHasNoCount) {
  FabricatedModel g;
  g.step(Phase::timeline);
  g.launch("k", 1'000'000, 1'100'000);
  const Throughput t = analysed(g.done()).throughput;
  EXPECT_FALSE(t.tensor_ops.has_value());
  EXPECT_FALSE(t.peak.has_value());
}

TEST(Throughput, PipeClockAndDataSheetStandInOneRow) {
  FabricatedModel f = product();
  f.model.clock_samples.push_back({1, 1'050'000, 1'500'000'000, {}, {}, {}, 0x4});
  const RankingRow row = analysed(f.done()).ranking.rows.at(0);
  EXPECT_DOUBLE_EQ(*row.sm_clock_hz, 1.5e9);
  EXPECT_EQ(row.clock_tier, TierSet(Tier::t1));
  EXPECT_DOUBLE_EQ(*row.replay_clock_hz, 1.8e9);
  EXPECT_EQ(row.tensor_quantity, Quantity::bf16_flops_per_s);
  EXPECT_NEAR(*row.tensor_ops_per_s, 400e12, 1);
  EXPECT_NEAR(*row.tensor_spec_ratio, 400.0 / 989.4, 1e-9);
  EXPECT_EQ(row.clock_limit, "power limit");
  // At its highest clock nothing holds it back.
  f.model.devices[0].max_sm_clock_hz = 1'520'000'000;
  EXPECT_EQ(analysed(f.model).ranking.rows.at(0).clock_limit, "");
}

TEST(Peaks, TheClockIsThatOfTheAnalysedSteps) {
  FabricatedModel f = product();
  f.model.device_peaks.push_back(
      {1, Quantity::bf16_flops_per_s, PeakSource::clock, 1070.5e12, "whole recording"});
  f.model.clock_samples.push_back({1, 1'050'000, 1'400'000'000, {}, {}, {}, {}});
  f.model.clock_samples.push_back({1, 80'000'000, 1'980'000'000, {}, {}, {}, {}});
  f.model.clock_samples.push_back({1, 90'000'000, 1'980'000'000, {}, {}, {}, {}});
  const Model& m = f.done();
  const UtilisationAnalysis u = analyze_utilisation(m, analyze_steps(m).value());
  EXPECT_DOUBLE_EQ(u.sm_clock_hz.at(1), 1.4e9);
  const Peak peak =
      accepted(choose_peak(m, 1, Quantity::bf16_flops_per_s, PeakSource::clock, u.sm_clock_hz.at(1))).value();
  EXPECT_NEAR(peak.value, 132.0 * 4096 * 1.4e9, 1);
  EXPECT_NE(peak.detail.find("1400 MHz median SM clock of the analysed steps"), std::string::npos)
      << peak.detail;
  EXPECT_EQ(rate_source(m, 1, {}), PeakSource::spec);
  EXPECT_EQ(rate_source(m, 1, {{}, PeakSource::measured}), PeakSource::measured);
  EXPECT_EQ(rate_source(m, 1, {{}, PeakSource::clock}), PeakSource::spec) << "cycles have no rate";
  EXPECT_EQ(rate_source(m, 1, {{}, PeakSource::sustained}), PeakSource::sustained);
}

}  // namespace
}  // namespace ridgeline::analyzer
