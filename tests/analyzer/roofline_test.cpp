#include "ridgeline/analyzer/roofline/roofline.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::analyse;
using testing::FabricatedModel;
using testing::kFma;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

// Three kernels of 100 µs: one with tensor operations, one whose range declares its FLOPs, one with neither; and
// one that was not replayed.
FabricatedModel measured() {
  FabricatedModel f;
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, "test"});
  f.model.device_peaks.push_back({1, Quantity::fp8_flops_per_s, PeakSource::spec, 2e15, "test"});
  f.model.device_peaks.push_back({1, Quantity::fp32_flops_per_s, PeakSource::spec, 6e13, "test"});
  f.model.strings[1] = "norm";
  for (const Phase phase : {Phase::timeline, Phase::replay}) {
    const bool replay = phase == Phase::replay;
    const std::int64_t at = replay ? 9'000'000 : 1'000'000;
    const store::Id step = f.step(phase).id;
    int ordinal = 0;
    for (const char* kernel : {"product", "norm", "copy", "other"}) {
      store::Launch& launch = f.launch(kernel, at + ordinal * 100'000, at + (ordinal + 1) * 100'000);
      launch.host_start_ns = 500 + ordinal * 10 + (replay ? 1000 : 0);
      launch.thread_id = 1;
      ++ordinal;
      if (!replay) continue;
      const std::string name = kernel;
      if (name == "product")
        f.counters(
            {{kRead, 2e7}, {kWritten, 0}, {testing::kDuration, 1e5}, {kTensor, 50}, {kOperations, 4e10}});
      if (name == "norm" || name == "copy")
        f.counters({{kRead, 5e7}, {kWritten, 3e7}, {testing::kDuration, 1e5}, {kFma, 5}, {kOperations, 0}});
    }
    if (replay) continue;
    f.model.nvtx_ranges.push_back({.id = 1,
                                   .process_id = 1,
                                   .thread_id = 1,
                                   .name_id = 1,
                                   .path_id = 1,
                                   .step_id = step,
                                   .start_ns = 508,
                                   .end_ns = 512});
    f.model.annotations.push_back({1, 1, "norm", 8e7, 1.6e8});
  }
  (void)f.done();
  return f;
}

TEST(Roofline, EveryKernelHasAPoint) {
  const FabricatedModel f = measured();
  const Analysis a = analyse(f.model).value();
  const Roofline& roofline = a.roofline;
  ASSERT_EQ(roofline.points.size(), a.ranking.rows.size());
  ASSERT_EQ(roofline.points.size(), 4u);
  struct Expected {
    OperationSource operations;
    std::optional<double> intensity, flops_per_s, dram_bytes_per_s;
    std::optional<Quantity> quantity;
  };
  const std::map<std::string, Expected> expected = {
      {"product", {OperationSource::counted, 2000.0, 4e14, 2e11, Quantity::bf16_flops_per_s}},
      {"norm", {OperationSource::declared, 2.0, 1.6e12, 8e11, Quantity::fp32_flops_per_s}},
      {"copy", {OperationSource::none, {}, {}, 8e11, {}}},
      {"other", {OperationSource::none, {}, {}, {}, {}}},
  };
  for (const RooflinePoint& point : roofline.points) {
    const Expected& e = expected.at(point.key);
    EXPECT_EQ(point.key, a.ranking.rows[point.ranking_row].key);
    EXPECT_EQ(point.operations, e.operations) << point.key;
    EXPECT_EQ(point.intensity_flop_per_byte.has_value(), e.intensity.has_value()) << point.key;
    if (e.intensity) {
      EXPECT_DOUBLE_EQ(*point.intensity_flop_per_byte, *e.intensity) << point.key;
      EXPECT_DOUBLE_EQ(*point.flops_per_s, *e.flops_per_s) << point.key;
    }
    EXPECT_EQ(point.dram_bytes_per_s.has_value(), e.dram_bytes_per_s.has_value()) << point.key;
    if (e.dram_bytes_per_s) {
      EXPECT_DOUBLE_EQ(*point.dram_bytes_per_s, *e.dram_bytes_per_s) << point.key;
    }
    EXPECT_EQ(point.quantity, e.quantity) << point.key;
    EXPECT_EQ(point.time_ns, 100'000);
  }
  EXPECT_EQ(roofline.without_intensity, 2);
}

TEST(Roofline, OnlyRoofsOfPrecisionsInUse) {
  const FabricatedModel f = measured();
  const Analysis a = analyse(f.model).value();
  ASSERT_EQ(a.roofline.compute.size(), 2u) << "FP8 was not used";
  EXPECT_EQ(a.roofline.compute[0].quantity, Quantity::bf16_flops_per_s);
  EXPECT_EQ(a.roofline.compute[1].quantity, Quantity::fp32_flops_per_s);
  ASSERT_TRUE(a.roofline.dram.has_value());
  EXPECT_EQ(a.roofline.dram->value, 1e12);
}

TEST(Roofline, APrecisionOfSeveralKernelsIsOneRoof) {
  FabricatedModel f;
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, "test"});
  for (const Phase phase : {Phase::timeline, Phase::replay}) {
    f.step(phase);
    std::int64_t at = phase == Phase::timeline ? 1'000'000 : 9'000'000;
    for (const char* kernel : {"one", "other"}) {
      f.launch(kernel, at, at + 100'000);
      at += 100'000;
      if (phase == Phase::replay)
        f.counters(
            {{kRead, 2e7}, {kWritten, 0}, {testing::kDuration, 1e5}, {kTensor, 50}, {kOperations, 4e10}});
    }
  }
  const Analysis a = analyse(f.done()).value();
  EXPECT_EQ(a.roofline.points.size(), 2u);
  ASSERT_EQ(a.roofline.compute.size(), 1u);
  EXPECT_EQ(a.roofline.compute[0].quantity, Quantity::bf16_flops_per_s);
}

TEST(Roofline, ADeclarationOfSeveralKernelsIsNoOnesIntensity) {
  FabricatedModel f = measured();
  f.model.nvtx_ranges.front().end_ns = 525;  // holds the copy too
  f.model.index();
  const Analysis a = analyse(f.model).value();
  for (const RooflinePoint& point : a.roofline.points) {
    if (point.key == "norm") {
      EXPECT_EQ(point.operations, OperationSource::none);
    }
  }
}

// Counted 4e10; up to 5 % apart the sources speak of the same work.
TEST(Roofline, SourcesOfOperationsThatDisagreeAreAFindingAndTheCountedAreTaken) {
  for (const auto& [declared, disagree] : {std::pair(4e10, false), std::pair(3.82e10, false),
                                           std::pair(3.6e10, true), std::pair(4.4e10, true)}) {
    FabricatedModel f = measured();
    store::NvtxRange range = f.model.nvtx_ranges.front();
    range.id = 2;
    range.start_ns = 498;
    range.end_ns = 502;
    f.model.nvtx_ranges.insert(f.model.nvtx_ranges.begin(), range);
    f.model.annotations.push_back({2, 2, "norm", 2e7, declared});
    f.model.index();
    const Roofline roofline = analyse(f.model).value().roofline;
    std::vector<Finding> found;
    for (const Finding& finding : roofline.findings) {
      if (finding.code == FindingCode::operations_disagree) found.push_back(finding);
    }
    ASSERT_EQ(found.size(), disagree ? 1U : 0U) << declared;
    for (const RooflinePoint& point : roofline.points) {
      if (point.key != "product") continue;
      EXPECT_EQ(point.operations, OperationSource::counted);
      EXPECT_DOUBLE_EQ(*point.flops_per_s, 4e14);
    }
    if (!disagree) continue;
    EXPECT_EQ(found[0].subject.name, "product");
    EXPECT_DOUBLE_EQ(found[0].value("counted"), 4e10);
    EXPECT_DOUBLE_EQ(found[0].value("declared"), declared);
  }
}

// The type that a kernel does most of its operations in is the sum over its launches, and so is all that moved.
TEST(Roofline, TheTypeOfAKernelIsThatOfMostOperationsOfAllItsLaunches) {
  FabricatedModel f;
  for (const Phase phase : {Phase::timeline, Phase::replay}) {
    f.step(phase);
    std::int64_t at = phase == Phase::timeline ? 1'000'000 : 9'000'000;
    for (int i = 0; i < 4; ++i) {
      f.launch("product", at, at + 100'000);
      at += 100'000;
      if (phase == Phase::timeline) continue;
      const double bytes = 1e7 * (i + 1);
      if (i < 2)
        f.counters(
            {{kRead, bytes}, {kWritten, 0}, {testing::kDuration, 1e5}, {kTensor, 5}, {kOperations, 3e10}});
      if (i == 2)
        f.counters({{kRead, bytes},
                    {kWritten, 0},
                    {testing::kDuration, 1e5},
                    {kTensor, 5},
                    {"sm__ops_path_tensor_src_fp8.sum", 5e10}});
      if (i == 3) f.counters({{kRead, bytes}, {kWritten, 0}, {testing::kDuration, 1e5}, {kTensor, 5}});
    }
  }
  const Analysis a = analyse(f.done()).value();
  ASSERT_EQ(a.roofline.points.size(), 1u);
  const RooflinePoint& point = a.roofline.points[0];
  EXPECT_EQ(point.operations, OperationSource::counted);
  EXPECT_EQ(point.quantity, Quantity::bf16_flops_per_s);
  EXPECT_DOUBLE_EQ(*point.dram_bytes_per_s, 1e8 / 4e5 * 1e9);
  EXPECT_DOUBLE_EQ(*point.intensity_flop_per_byte, 1.1e11 / 6e7)
      << "of the launches whose operations are known";
  EXPECT_DOUBLE_EQ(*point.flops_per_s, 1.1e11 / 3e5 * 1e9);
  EXPECT_EQ(a.roofline.without_intensity, 0);
}

}  // namespace
}  // namespace ridgeline::analyzer
