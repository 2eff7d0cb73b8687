#include "ridgeline/analyzer/values/measured_roofs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabricated_model.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {
namespace {

using testing::FabricatedModel;
using testing::kDuration;
using testing::kFma;
using testing::kGpcCycles;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

store::Ceiling row(CeilingLevel level, const std::string& kind, CeilingState state, double value,
                   std::optional<double> read_share = {}) {
  return {.device_id = 1,
          .level = level,
          .kind = kind,
          .state = state,
          .read_share = read_share,
          .value = value,
          .unit = level == CeilingLevel::compute ? "ops_per_s" : "bytes_per_s",
          .spread_ratio = 0.004,
          .sm_clock_hz = 1.4e9,
          .power_w = 600,
          .joules_each = {},
          .conditions = "as made"};
}

// Reads 1.00, 3:1 0.95, triad 0.88, copy 0.80, writes 0.90 TB/s.
std::vector<store::Ceiling> mixes(CeilingState state = CeilingState::sustained) {
  return {row(CeilingLevel::dram, "read", state, 1.0e12, 1.0),
          row(CeilingLevel::dram, "3:1", state, 0.95e12, 0.75),
          row(CeilingLevel::dram, "triad", state, 0.88e12, 2.0 / 3),
          row(CeilingLevel::dram, "copy", state, 0.8e12, 0.5),
          row(CeilingLevel::dram, "write", state, 0.9e12, 0.0)};
}

TEST(MeasuredRoofs, BetweenTwoMixesTheTimeOfAByteIsLinear) {
  const MeasuredRoofs roofs(mixes(), 1);
  const auto at = [&](double share) { return roofs.of(Roof::kDram, CeilingState::sustained, share)->per_s; };
  EXPECT_DOUBLE_EQ(at(0), 0.9e12);
  EXPECT_DOUBLE_EQ(at(0.5), 0.8e12);
  EXPECT_DOUBLE_EQ(at(1), 1e12);
  EXPECT_DOUBLE_EQ(at(0.25), 1 / (0.5 / 0.9e12 + 0.5 / 0.8e12));
  EXPECT_DOUBLE_EQ(at(0.875), 1 / (0.5 / 0.95e12 + 0.5 / 1e12));
  EXPECT_DOUBLE_EQ(roofs.of(Roof::kDram, CeilingState::sustained)->per_s, 1e12) << "which nothing passes";
  EXPECT_EQ(roofs.dram_mixes(CeilingState::sustained).size(), 5u);
}

TEST(MeasuredRoofs, BeyondWhatWasMeasuredTheNearestMixCounts) {
  const MeasuredRoofs roofs({row(CeilingLevel::dram, "triad", CeilingState::burst, 0.88e12, 2.0 / 3),
                             row(CeilingLevel::dram, "copy", CeilingState::burst, 0.8e12, 0.5)},
                            1);
  EXPECT_DOUBLE_EQ(roofs.of(Roof::kDram, CeilingState::burst, 0.1)->per_s, 0.8e12);
  EXPECT_DOUBLE_EQ(roofs.of(Roof::kDram, CeilingState::burst, 0.9)->per_s, 0.88e12);
  EXPECT_FALSE(roofs.of(Roof::kDram, CeilingState::sustained, 0.5)) << "another state";
  EXPECT_FALSE(roofs.of(Roof::kL2, CeilingState::burst));
}

TEST(MeasuredRoofs, EveryLevelHasItsRoofAndRowsOfOthersNone) {
  const MeasuredRoofs roofs({row(CeilingLevel::l2, "read", CeilingState::burst, 1e13),
                             row(CeilingLevel::l1, "read", CeilingState::burst, 3e13),
                             row(CeilingLevel::shared, "read", CeilingState::burst, 9e13),
                             row(CeilingLevel::compute, "bf16", CeilingState::burst, 7e14),
                             row(CeilingLevel::compute, "fp64_tensor", CeilingState::burst, 6e13),
                             row(CeilingLevel::compute, "fp4", CeilingState::burst, 1e16),
                             row(CeilingLevel::energy, "idle", CeilingState::sustained, 100),
                             row(CeilingLevel::l2, "read", CeilingState::sustained, 0)},
                            1);
  EXPECT_TRUE(roofs.any());
  EXPECT_DOUBLE_EQ(roofs.of(Roof::kL2, CeilingState::burst)->per_s, 1e13);
  EXPECT_DOUBLE_EQ(roofs.of(Roof::kL1, CeilingState::burst)->per_s, 3e13);
  EXPECT_DOUBLE_EQ(roofs.of(roof_of(Quantity::bf16_flops_per_s), CeilingState::burst)->per_s, 7e14);
  EXPECT_DOUBLE_EQ(roofs.of(roof_of(Quantity::fp64_tensor_flops_per_s), CeilingState::burst)->per_s, 6e13);
  EXPECT_FALSE(roofs.of(Roof::kL2, CeilingState::sustained)) << "0 is no roof";
  EXPECT_EQ(roofs.of(Roof::kL2, CeilingState::burst)->spread_ratio, 0.004);
  EXPECT_FALSE(MeasuredRoofs({row(CeilingLevel::energy, "idle", CeilingState::sustained, 100)}, 1).any());
  EXPECT_FALSE(MeasuredRoofs(mixes(), 2).any()) << "another device";
}

FabricatedModel one_launch_of(const std::map<std::string, double>& counters) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.step(Phase::replay);
  f.launch("k", 9'000'000, 9'100'000);
  f.counters(counters);
  return f;
}

UtilisationAnalysis utilisation_of(const Model& model, const PeakPolicy& peaks = {}) {
  return analyze_utilisation(model, analyze_steps(model).value(), {.peaks = peaks});
}

const Finding* find_in(const UtilisationAnalysis& u, FindingCode code) {
  const auto found =
      std::find_if(u.findings.begin(), u.findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == u.findings.end() ? nullptr : &*found;
}

TEST(MeasuredRoofs, ALaunchIsHeldAgainstTheRoofOfItsOwnShareOfReads) {
  // 40 MB in 100 µs, half of it read: 0.4 TB/s of 0.8.
  FabricatedModel f = one_launch_of({{kRead, 20e6}, {kWritten, 20e6}, {kTensor, 1}, {kDuration, 100e3}});
  f.model.ceilings = mixes();
  const Model& model = f.done();
  const UtilisationAnalysis measured = utilisation_of(model);
  EXPECT_DOUBLE_EQ(measured.launches[0].values->dram_utilisation->value, 0.5) << "sustained, by default";
  ASSERT_EQ(measured.peaks.size(), 1u);
  EXPECT_EQ(measured.peaks[0].source, PeakSource::sustained);
  EXPECT_FALSE(measured.peaks[0].fallback);
  EXPECT_DOUBLE_EQ(measured.peaks[0].value, 1e12);
  EXPECT_NE(measured.peaks[0].detail.find("50 % reads 800.00 GB/s"), std::string::npos)
      << measured.peaks[0].detail;
  EXPECT_DOUBLE_EQ(
      utilisation_of(model, roof_policy("spec").value()).launches[0].values->dram_utilisation->value, 0.4);
  const UtilisationAnalysis burst = utilisation_of(model, roof_policy("burst").value());
  EXPECT_EQ(burst.peaks[0].source, PeakSource::sustained) << "the other measured one stands in";
  EXPECT_TRUE(burst.peaks[0].fallback);
  EXPECT_NE(find_in(burst, FindingCode::peak_fallback), nullptr);
}

TEST(MeasuredRoofs, ByDefaultTheyAreTakenWhereTheyAreThereAndNothingIsSaidElsewhere) {
  FabricatedModel f = one_launch_of({{kRead, 20e6}, {kWritten, 20e6}, {kTensor, 1}, {kDuration, 100e3}});
  f.model.ceilings = mixes(CeilingState::burst);
  EXPECT_EQ(utilisation_of(f.done()).peaks[0].source, PeakSource::burst);
  f.model.ceilings = {row(CeilingLevel::compute, "bf16", CeilingState::sustained, 7e14)};
  const UtilisationAnalysis other = utilisation_of(f.done());
  EXPECT_EQ(other.peaks[0].source, PeakSource::spec);
  EXPECT_EQ(find_in(other, FindingCode::peak_fallback), nullptr) << "nobody asked for it";
}

TEST(MeasuredRoofs, PipesAreSharesOfTheirMeasuredOperations) {
  // At 1.98 GHz 132 SMs do 66.9 TFLOP/s in FP32: 40 % of the cycles are 26.76, half of what was measured.
  FabricatedModel f = one_launch_of({{kRead, 1e6},
                                     {kWritten, 0},
                                     {kTensor, 30},
                                     {kFma, 40},
                                     {kDuration, 100e3},
                                     {kGpcCycles, 198e3},
                                     {kOperations, 3.5e10}});
  f.model.devices[0].compute_capability = "9.0";
  f.model.devices[0].sm_count = 132;
  f.model.clock_samples = {{.device_id = 1, .time_ns = 1'050'000, .sm_clock_hz = 1'980'000'000}};
  f.model.ceilings = {row(CeilingLevel::compute, "fp32", CeilingState::sustained, 53.53e12),
                      row(CeilingLevel::compute, "bf16", CeilingState::sustained, 7e14)};
  const Model& model = f.done();
  const UtilisationAnalysis u = utilisation_of(model, roof_policy("sustained").value());
  const LaunchValues& values = *u.launches[0].values;
  EXPECT_NEAR(*values.roofs.of(Roof::kTensor), 0.5, 1e-9) << "35 GFLOP in 100 µs, by operations";
  EXPECT_NEAR(*values.roofs.of(Roof::kFma), 0.5, 1e-3) << "by cycles at the launch's clock";
  EXPECT_NEAR(values.compute_utilisation->value, 0.5, 1e-3);
  const UtilisationAnalysis cycles = utilisation_of(model);
  EXPECT_NEAR(cycles.launches[0].values->compute_utilisation->value, 0.4, 1e-9)
      << "by default at the own clock";
}

TEST(MeasuredRoofs, AboveOneByMoreThanNoiseIsAFindingAndNotCut) {
  FabricatedModel f = one_launch_of({{kRead, 110e6}, {kWritten, 0}, {kTensor, 1}, {kDuration, 100e3}});
  f.model.ceilings = mixes();
  const UtilisationAnalysis above = utilisation_of(f.done());
  EXPECT_NEAR(above.launches[0].values->dram_utilisation->value, 1.1, 1e-12);
  const Finding* finding = find_in(above, FindingCode::above_measured_roof);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(find_in(above, FindingCode::above_peak), nullptr) << "said once";
  EXPECT_EQ(finding->subject.name, "k");
  EXPECT_NEAR(finding->value("utilisation_ratio"), 1.1, 1e-12);
  EXPECT_NEAR(finding->value("allowed_ratio"), 1.01, 1e-12);
  ASSERT_TRUE(finding->peak);
  EXPECT_EQ(finding->peak->source, PeakSource::sustained);

  FabricatedModel near = one_launch_of({{kRead, 100.9e6}, {kWritten, 0}, {kTensor, 1}, {kDuration, 100e3}});
  near.model.ceilings = mixes();
  const UtilisationAnalysis within = utilisation_of(near.done());
  EXPECT_EQ(find_in(within, FindingCode::above_measured_roof), nullptr) << "within noise";
  EXPECT_EQ(find_in(within, FindingCode::above_peak), nullptr);
}

}  // namespace
}  // namespace ridgeline::analyzer
