#include "ridgeline/analyzer/roofline/roof_times.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabricated_model.h"
#include "ridgeline/analyzer/roofline/roofline.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::analyse;
using testing::FabricatedModel;
using testing::kDuration;
using testing::kFma;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

constexpr const char* kHalfOperations = "sm__ops_path_tensor_op_hgmma_src_fp16.sum";
constexpr const char* kL2Traffic = "lts__t_bytes.sum";
constexpr const char* kL2PeakRate = "lts__t_bytes.sum.peak_sustained_elapsed.per_second";
constexpr const char* kFusedAdds = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";

// A timeline step with one launch of 100 µs in that grid, and a replay step that counts it.
FabricatedModel launched(const std::map<std::string, double>& counters, std::int64_t blocks = 1) {
  FabricatedModel f;
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, "test"});
  f.model.device_peaks.push_back({1, Quantity::fp16_flops_per_s, PeakSource::spec, 5e14, "test"});
  f.model.device_peaks.push_back({1, Quantity::fp32_flops_per_s, PeakSource::spec, 1e14, "test"});
  for (const Phase phase : {Phase::timeline, Phase::replay}) {
    f.step(phase);
    const std::int64_t at = phase == Phase::replay ? 9'000'000 : 1'000'000;
    f.launch("k", at, at + 100'000).grid = {blocks, 1, 1};
    if (phase == Phase::replay) f.counters(counters);
  }
  return f;
}

LaunchRoofTimes times_of(FabricatedModel& f, const PeakPolicy& policy = {}) {
  const Model& model = f.done();
  const UtilisationAnalysis u = analyze_utilisation(model, analyze_steps(model).value(), {.peaks = policy});
  return RoofTimes(model, u, policy).of(0).value();
}

double time_at(const LaunchRoofTimes& times, RoofLevel level, Pipe pipe = Pipe::none) {
  for (const RoofTime& time : times.roofs) {
    if (time.roof.level == level && time.roof.pipe == pipe) return time.time_ns;
  }
  return -1;
}

TEST(RoofTimes, TheLongestOfTheTimesAtItsRoofsIsTheSpeedOfLight) {
  FabricatedModel f = launched({{kRead, 15e6},
                                {kWritten, 5e6},
                                {kTensor, 50},
                                {kFma, 5},
                                {kOperations, 4e10},
                                {kL2Traffic, 60e6},
                                {kL2PeakRate, 2e12},
                                {kDuration, 100e3}});
  const LaunchRoofTimes times = times_of(f);
  EXPECT_DOUBLE_EQ(time_at(times, RoofLevel::dram), 20e3) << "20 MB at 1 TB/s";
  EXPECT_DOUBLE_EQ(time_at(times, RoofLevel::l2), 30e3);
  EXPECT_DOUBLE_EQ(time_at(times, RoofLevel::pipe, Pipe::tensor), 40e3) << "40 GFLOP at 1 PFLOP/s";
  EXPECT_NEAR(time_at(times, RoofLevel::pipe, Pipe::fma), 5e3, 1e-3) << "5 % of its cycles";
  EXPECT_DOUBLE_EQ(times.sol_ns, 40e3);
  EXPECT_EQ(times.bound, roof_of(Quantity::bf16_flops_per_s));
  EXPECT_DOUBLE_EQ(times.filled_ns, 40e3) << "nothing is known of the SMs";
}

TEST(RoofTimes, PrecisionsOfOnePipeAddUp) {
  FabricatedModel f = launched({{kRead, 1e6},
                                {kWritten, 0},
                                {kTensor, 60},
                                {kOperations, 2e10},
                                {kHalfOperations, 2e10},
                                {kDuration, 100e3}});
  const LaunchRoofTimes times = times_of(f);
  EXPECT_DOUBLE_EQ(time_at(times, RoofLevel::pipe, Pipe::tensor), 20e3 + 40e3);
  EXPECT_EQ(times.bound, roof_of(Quantity::fp16_flops_per_s)) << "of the most time";
}

TEST(RoofTimes, ASmallGridFillsAsManySmsAsItHasBlocks) {
  FabricatedModel f =
      launched({{kRead, 2e6}, {kWritten, 0}, {kTensor, 5}, {kOperations, 4e9}, {kDuration, 100e3}}, 20);
  f.model.devices[0].sm_count = 100;
  const LaunchRoofTimes times = times_of(f);
  EXPECT_DOUBLE_EQ(times.sol_ns, 4e3);
  EXPECT_DOUBLE_EQ(times.filled_ns, 20e3) << "a fifth of the SMs; DRAM is all there";
}

TEST(RoofTimes, NoLaunchIsShorterThanTheFloor) {
  FabricatedModel f = launched({{kRead, 1e3}, {kWritten, 0}, {kTensor, 0.1}, {kDuration, 100e3}});
  const LaunchRoofTimes usual = times_of(f);
  EXPECT_DOUBLE_EQ(usual.sol_ns, 1600);
  EXPECT_EQ(usual.bound.level, RoofLevel::launch);
  f.model.ceilings.push_back({.device_id = 1,
                              .level = CeilingLevel::launch,
                              .kind = "graph",
                              .state = CeilingState::burst,
                              .read_share = {},
                              .value = 1300,
                              .unit = "ns",
                              .spread_ratio = {},
                              .sm_clock_hz = {},
                              .power_w = {},
                              .joules_each = {},
                              .conditions = ""});
  EXPECT_DOUBLE_EQ(times_of(f).sol_ns, 1300) << "as measured on the card";
}

TEST(RoofTimes, WhatWasNotMeasuredHasNone) {
  FabricatedModel f = launched({{kRead, 15e6}, {kWritten, 5e6}, {kDuration, 100e3}});
  const Model& model = f.done();
  const UtilisationAnalysis u = analyze_utilisation(model, analyze_steps(model).value());
  EXPECT_FALSE(RoofTimes(model, u, {}).of(0)) << "nothing is known of its pipes";
}

TEST(WholeRoofline, RowsAndStepAddUpWithTheirHeadroom) {
  FabricatedModel f = launched({{kRead, 20e6},
                                {kWritten, 0},
                                {kTensor, 50},
                                {kOperations, 4e10},
                                {kL2Traffic, 40e6},
                                {kL2PeakRate, 2e12},
                                {kDuration, 100e3}});
  const Roofline roofline = analyse(f.done()).value().roofline;
  ASSERT_EQ(roofline.points.size(), 1u);
  const RooflinePoint& point = roofline.points[0];
  ASSERT_TRUE(point.sol_ns);
  EXPECT_DOUBLE_EQ(*point.sol_ns, 40e3);
  EXPECT_DOUBLE_EQ(point.headroom_ns, 60e3);
  EXPECT_DOUBLE_EQ(point.covered_ns, 100e3);
  EXPECT_EQ(point.bound, roof_of(Quantity::bf16_flops_per_s));
  EXPECT_DOUBLE_EQ(*point.intensity_flop_per_byte, 2000);
  EXPECT_DOUBLE_EQ(*point.l2_intensity, 1000) << "the gap is what L2 gives twice";
  EXPECT_FALSE(point.l1_intensity) << "not counted is absent";
  EXPECT_DOUBLE_EQ(*point.read_share, 1);
  EXPECT_DOUBLE_EQ(*roofline.step.sol_ns, 40e3);
  EXPECT_DOUBLE_EQ(*roofline.step.intensity_flop_per_byte, 2000);
  EXPECT_EQ(roofline.step.calls, 1);
  EXPECT_TRUE(roofline.findings.empty());
}

TEST(WholeRoofline, InstructionsComeBehindTensorOperationsAndBeforeWhatIsDeclared) {
  FabricatedModel f =
      launched({{kRead, 20e6}, {kWritten, 0}, {kFma, 40}, {kOperations, 0}, {kDuration, 100e3}});
  f.step(Phase::flops);
  f.launch("k", 12'000'000, 12'300'000).grid = {1, 1, 1};
  f.counters({{kFusedAdds, 1e9}}, Tier::t3);
  const Roofline roofline = analyse(f.done()).value().roofline;
  const RooflinePoint& point = roofline.points.at(0);
  EXPECT_EQ(point.operations, OperationSource::instructions);
  EXPECT_DOUBLE_EQ(*point.intensity_flop_per_byte, 100) << "2 GFLOP over 20 MB";
  EXPECT_DOUBLE_EQ(*point.flops_per_s, 2e13);
  EXPECT_EQ(point.quantity, Quantity::fp32_flops_per_s);
}

TEST(WholeRoofline, ACacheAboveItsRoofIsAFinding) {
  FabricatedModel f = launched({{kRead, 20e6},
                                {kWritten, 0},
                                {kTensor, 50},
                                {kOperations, 4e10},
                                {kL2Traffic, 300e6},
                                {kL2PeakRate, 2e12},
                                {kDuration, 100e3}});
  const Roofline roofline = analyse(f.done()).value().roofline;
  ASSERT_EQ(roofline.findings.size(), 1u);
  EXPECT_EQ(roofline.findings[0].code, FindingCode::above_cache_roof);
  EXPECT_EQ(roofline.findings[0].roof, Roof::kL2);
  EXPECT_NEAR(roofline.findings[0].value("utilisation_ratio"), 1.5, 1e-9);
  EXPECT_DOUBLE_EQ(roofline.points[0].headroom_ns, 0) << "never below none";
}

}  // namespace
}  // namespace ridgeline::analyzer
