// Declared work beside what the ranges' launches did: 1 TB/s of DRAM and 100 TFLOP/s of BF16.
#include "ridgeline/analyzer/work/declared_work.h"

#include <gtest/gtest.h>

#include <stdexcept>

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

struct Op {
  std::string kernel;
  std::int64_t duration_ns = 0;
  double bytes = 0;
  double operations = 0;
};

// A timeline step and a replay step of the same launches, one after the other; the replay step counts.
class Declared : public ::testing::Test {
 protected:
  Declared() {
    f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::clock, 100e12, "test"});
    f.model.device_peaks.push_back({1, Quantity::fp32_flops_per_s, PeakSource::clock, 10e12, "test"});
  }

  // Launch i is called at 1000 * (i + 1) ns.
  void steps(const std::vector<Op>& ops, bool counted = true) {
    for (const Phase phase : {Phase::timeline, Phase::replay}) {
      f.step(phase);
      std::int64_t at = phase == Phase::timeline ? 1'000'000 : 9'000'000;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        store::Launch& launch = f.launch(ops[i].kernel, at, at + ops[i].duration_ns);
        launch.thread_id = 1;
        launch.host_start_ns = 1000 * static_cast<std::int64_t>(i + 1);
        launch.host_end_ns = *launch.host_start_ns + 10;
        at += ops[i].duration_ns;
        if (phase == Phase::timeline || !counted) continue;
        f.counters({{kRead, ops[i].bytes},
                    {kWritten, 0},
                    {kTensor, ops[i].operations > 0 ? 10.0 : 0.0},
                    {kOperations, ops[i].operations},
                    {kDuration, static_cast<double>(ops[i].duration_ns)}});
      }
    }
  }

  // In the timeline step, on the launches' thread by default.
  void range(const std::string& path, std::int64_t start_ns, std::int64_t end_ns, std::optional<double> bytes,
             std::optional<double> flops, std::int64_t thread_id = 1) {
    store::NvtxRange row;
    row.id = static_cast<store::Id>(f.model.nvtx_ranges.size() + 1);
    row.process_id = 1;
    row.thread_id = thread_id;
    row.path_id = row.name_id = static_cast<store::Id>(f.model.strings.size() + 1);
    f.model.strings[row.path_id] = path;
    row.step_id = 1;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    f.model.nvtx_ranges.push_back(row);
    f.model.annotations.push_back(
        {.nvtx_range_id = row.id, .name = "op_cost", .bytes = bytes, .flops = flops});
  }

  Analysis analysed(const AnalysisOptions& options = {}) { return analyse(f.done(), options).value(); }

  static const RankingRow& row(const Analysis& a, const std::string& key) {
    for (const RankingRow& r : a.ranking.rows) {
      if (r.key == key) return r;
    }
    throw std::out_of_range(key);
  }

  FabricatedModel f;
};

TEST_F(Declared, AKernelIsHeldAgainstItsRange) {
  steps({{"copy", 100'000, 84e6, 0}});
  range("step / copy", 500, 1500, 40e6, 1e6);
  const Analysis a = analysed();
  const WorkSum work = row(a, "copy").work.value();
  EXPECT_EQ(work.ranges, 1);
  EXPECT_EQ(work.launches, 1);
  EXPECT_EQ(work.kernels, 1);
  EXPECT_EQ(work.time_ns, 100'000);
  EXPECT_NEAR(*work.bytes_ratio, 2.1, 1e-12);
  EXPECT_FALSE(work.ops_ratio) << "no tensor operations: not counted, not zero";
  EXPECT_NEAR(*work.minimum_ns, 40'000, 1e-6) << "40 MB at 1 TB/s; 1 MFLOP at 10 TFLOP/s would take 100 ns";
  EXPECT_EQ(work.minimum_roof, Roof::kDram);
  EXPECT_NEAR(*work.minimum_ratio, 0.4, 1e-12);
  EXPECT_EQ(work.undeclared_launches, 0);
  EXPECT_NEAR(*a.ranking.totals.work->bytes_ratio, 2.1, 1e-12);
}

TEST_F(Declared, ARowSaysTheProductOfMostOfItsTime) {
  steps({{"product", 90'000, 30e6, 8e9},
         {"product", 50'000, 10e6, 4e9},
         {"product", 50'000, 10e6, 4e9},
         {"copy", 10'000, 6e6, 0}});
  const auto gemm = [&](std::int64_t from, std::int64_t m) {
    range("step / matmul", from, from + 500, 24e6, 8e9);
    f.model.annotations.back().m = m;
    f.model.annotations.back().n = 200;
    f.model.annotations.back().k = 300;
  };
  gemm(700, 100);
  gemm(1700, 50);
  gemm(2700, 50);
  range("step / copy", 3700, 4500, 6e6, 0);
  f.model.annotations.back().m = 7;  // no product without all three
  const Analysis a = analysed();
  const WorkSum work = row(a, "product").work.value();
  EXPECT_EQ(work.gemm, (GemmShape{50, 200, 300}));
  EXPECT_EQ(work.gemms, 2);
  EXPECT_FALSE(row(a, "copy").work->gemm.has_value());
  EXPECT_EQ(row(a, "copy").work->gemms, 0);
}

TEST_F(Declared, KernelsOfOneRangeAreSummed) {
  steps({{"product", 90'000, 30e6, 8e9}, {"reduce", 10'000, 6e6, 0}, {"product", 50'000, 10e6, 4e9}});
  range("step / matmul", 500, 2500, 24e6, 8e9);   // the first two launches
  range("step / matmul", 2900, 3500, 10e6, 4e9);  // the third
  const Analysis a = analysed();
  const WorkSum reduce = row(a, "reduce").work.value();
  EXPECT_EQ(reduce.kernels, 2);
  EXPECT_EQ(reduce.time_ns, 100'000);
  EXPECT_NEAR(*reduce.bytes_ratio, 1.5, 1e-12);
  EXPECT_NEAR(*reduce.ops_ratio, 1.0, 1e-12);
  EXPECT_NEAR(*reduce.minimum_ns, 80'000, 1e-6) << "8 GFLOP at 100 TFLOP/s above 24 MB at 1 TB/s";
  EXPECT_EQ(reduce.minimum_roof, roof_of(Quantity::bf16_flops_per_s));
  const WorkSum gemm = row(a, "product").work.value();
  EXPECT_EQ(gemm.ranges, 2);
  EXPECT_EQ(gemm.launches, 3);
  EXPECT_NEAR(*gemm.bytes_ratio, 46.0 / 34.0, 1e-12);
  EXPECT_NEAR(*gemm.minimum_ns, 120'000, 1e-6) << "a range's larger part, then the sum";
  // The totals count the shared range once.
  EXPECT_EQ(a.ranking.totals.work->ranges, 2);
  EXPECT_EQ(a.ranking.totals.work->time_ns, 150'000);
}

TEST_F(Declared, TheSumOfRangesTakesTheLargerRoofOfEach) {
  steps({{"a", 100'000, 50e6, 1e9}, {"b", 100'000, 1e6, 9e9}});
  range("step / a", 500, 1500, 50e6, 1e9);  // 50 µs by bytes, 10 µs by FLOPs
  range("step / b", 1900, 2500, 1e6, 9e9);  // 1 µs by bytes, 90 µs by FLOPs
  const WorkSum total = analysed().ranking.totals.work.value();
  EXPECT_NEAR(*total.minimum_ns, 140'000, 1e-6) << "not the 100 µs of the summed FLOPs";
  EXPECT_EQ(total.minimum_roof, roof_of(Quantity::bf16_flops_per_s));
}

TEST_F(Declared, WhatIsNotDeclaredHasNothing) {
  steps({{"declared", 100'000, 40e6, 0}, {"silent", 100'000, 40e6, 0}, {"declared", 50'000, 10e6, 0}});
  range("step / op", 500, 1500, 40e6, 0);
  const Analysis a = analysed();
  EXPECT_FALSE(row(a, "silent").work);
  EXPECT_EQ(row(a, "declared").work->undeclared_launches, 1);
  EXPECT_EQ(row(a, "declared").work->launches, 1);
  EXPECT_EQ(a.ranking.totals.work->undeclared_launches, 2);
}

TEST_F(Declared, TheInnermostRangeOnItsThreadOwnsALaunch) {
  steps({{"a", 100'000, 40e6, 0}, {"b", 100'000, 20e6, 0}});
  range("step / layer", 500, 2500, 60e6, 0);
  range("step / layer / a", 900, 1500, 20e6, 0);
  range("step / other thread", 1900, 2500, 1e6, 0, 2);
  const Analysis a = analysed();
  EXPECT_NEAR(*row(a, "a").work->bytes_ratio, 2.0, 1e-12);
  EXPECT_NEAR(*row(a, "b").work->bytes_ratio, 1.0, 1e-12) << "the layer's declaration is of both";
  EXPECT_EQ(row(a, "b").work->launches, 2);
}

TEST_F(Declared, WhatWasNotMeasuredIsUnknown) {
  steps({{"a", 100'000, 0, 0}}, false);
  range("step / a", 500, 1500, 20e6, 1e9);
  const WorkSum work = row(analysed(), "a").work.value();
  EXPECT_EQ(*work.declared_bytes, 20e6);
  EXPECT_FALSE(work.measured_bytes);
  EXPECT_FALSE(work.bytes_ratio);
  EXPECT_FALSE(work.minimum_ns) << "which pipe does the FLOPs is not known";
}

TEST_F(Declared, BytesAloneNeedNoPipe) {
  steps({{"a", 100'000, 0, 0}}, false);
  range("step / a", 500, 1500, 20e6, std::nullopt);
  EXPECT_NEAR(*row(analysed(), "a").work->minimum_ns, 20'000, 1e-6);
}

TEST_F(Declared, AMissingRoofIsUnknown) {
  f.model.device_peaks.resize(1);  // DRAM's
  steps({{"a", 100'000, 20e6, 5e9}});
  range("step / a", 500, 1500, 20e6, 5e9);
  const WorkSum work = row(analysed(), "a").work.value();
  EXPECT_FALSE(work.minimum_ns);
  EXPECT_NEAR(*work.ops_ratio, 1.0, 1e-12);
}

TEST_F(Declared, AMissingDramRoofIsUnknownToo) {
  f.model.device_peaks.erase(f.model.device_peaks.begin());
  steps({{"a", 100'000, 20e6, 5e9}});
  range("step / a", 500, 1500, 20e6, 5e9);
  EXPECT_FALSE(row(analysed(), "a").work.value().minimum_ns);
}

TEST_F(Declared, OfNoBytesTheRoofOfDramIsNotAsked) {
  f.model.device_peaks.erase(f.model.device_peaks.begin());
  steps({{"a", 100'000, 20e6, 5e9}});
  range("step / a", 500, 1500, std::nullopt, 5e9);
  const WorkSum work = row(analysed(), "a").work.value();
  EXPECT_NEAR(work.minimum_ns.value(), 50'000, 1e-6) << "5 GFLOP at 100 TFLOP/s";
  EXPECT_EQ(work.minimum_roof, roof_of(Quantity::bf16_flops_per_s));
}

TEST_F(Declared, InstructionCountsStandInForThePipesWithoutOperations) {
  steps({{"a", 100'000, 20e6, 0}});
  range("step / a", 500, 1500, 20e6, 4e6);
  f.step(Phase::flops);
  f.launch("a", 20'000'000, 20'100'000);
  f.counters({{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2e6},
              {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1e6},
              {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1e6},
              {"smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 5e6}},
             Tier::t3);
  const WorkSum work = row(analysed(), "a").work.value();
  EXPECT_NEAR(*work.measured_fp_ops, 6e6, 1e-3);
  EXPECT_NEAR(*work.ops_ratio, 1.5, 1e-12);
}

// While instructions are counted CUPTI makes no kernel records: what has a grid has no block and no time.
TEST_F(Declared, InstructionCountsAreOfTheSameLaunchesWithoutTheirBlocks) {
  steps({{"a", 100'000, 20e6, 0}, {"b", 50'000, 20e6, 0}});
  range("step / a", 500, 1500, 20e6, 4e6);
  f.step(Phase::flops);
  for (const char* kernel : {"a", "b"}) {
    store::Launch& launch = f.launch(kernel, 0, 0);
    launch.block = {};
    f.counters({{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", kernel[0] == 'a' ? 2e6 : 7e6}},
               Tier::t3);
  }
  EXPECT_NEAR(*row(analysed(), "a").work->measured_fp_ops, 4e6, 1e-3);
}

// Two steps that count the same instructions are two measurements of one amount.
TEST_F(Declared, InstructionCountsOfSeveralStepsAreAveraged) {
  steps({{"a", 100'000, 20e6, 0}});
  range("step / a", 500, 1500, 20e6, 4e6);
  for (const double fused : {2e6, 2.5e6}) {
    f.step(Phase::flops);
    f.launch("a", 20'000'000, 20'100'000);
    f.counters({{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", fused}}, Tier::t3);
  }
  EXPECT_NEAR(*row(analysed(), "a").work->measured_fp_ops, 4.5e6, 1e-3);
}

TEST_F(Declared, OperationsAreGroupedWhateverTheirLayer) {
  steps({{"a", 100'000, 40e6, 0}, {"a", 100'000, 40e6, 0}, {"b", 10'000, 1e6, 0}});
  range("step / layer 0 / norm", 500, 1500, 20e6, 0);
  range("step / layer 1 / norm", 1900, 2500, 20e6, 0);
  range("step / last", 2900, 3500, 1e6, 0);
  const Analysis a = analysed();
  EXPECT_EQ(a.declared_work.size(), 3U);
  ASSERT_EQ(a.declared_operations.size(), 2U);
  EXPECT_EQ(a.declared_operations[0].operation, "norm");
  EXPECT_EQ(a.declared_operations[0].ranges, 2);
  EXPECT_NEAR(*a.declared_operations[0].bytes_ratio, 2.0, 1e-12);
  // 40 MB too many are 40 µs of a step of 210 µs.
  const auto found =
      std::find_if(a.quality.findings.begin(), a.quality.findings.end(),
                   [](const Finding& finding) { return finding.code == FindingCode::excess_bytes; });
  ASSERT_NE(found, a.quality.findings.end());
  EXPECT_EQ(found->subject.name, "norm");
  EXPECT_NEAR(found->value("measured_to_declared"), 2.0, 1e-12);
  EXPECT_NEAR(*found->magnitude_ns, 40'000, 1e-6);
  EXPECT_NEAR(*found->step_share, 40.0 / 210.0, 1e-3);
  EXPECT_EQ(found->remedy, Remedy::cut_traffic);
}

// Of ranges that begin at once the deeper one owns the launch, whichever is written first.
TEST_F(Declared, OfRangesThatBeginTogetherTheDeeperOneOwnsTheLaunch) {
  for (const bool deeper_first : {true, false}) {
    f = FabricatedModel();
    f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::clock, 100e12, "test"});
    steps({{"a", 100'000, 40e6, 0}, {"b", 100'000, 20e6, 0}});
    for (const bool deeper : {deeper_first, !deeper_first}) {
      if (deeper)
        range("step / layer / a", 900, 1500, 20e6, 0);
      else
        range("step / layer", 900, 2500, 60e6, 0);
      f.model.nvtx_ranges.back().depth = deeper ? 2 : 1;
    }
    const Analysis a = analysed();
    EXPECT_NEAR(*row(a, "a").work->bytes_ratio, 2.0, 1e-12);
    EXPECT_NEAR(*row(a, "b").work->bytes_ratio, 1.0, 1e-12);
  }
}

// A launch whose call begins or ends its range with the range is in it; one a nanosecond before or after is not.
TEST_F(Declared, ARangeHoldsTheCallsOfItsOwnMoments) {
  steps({{"a", 100'000, 40e6, 0}, {"b", 100'000, 20e6, 0}});
  range("step / a", 1000, 1000, 10e6, 0);
  range("step / b", 1001, 2000, 20e6, 0);
  const Analysis a = analysed();
  EXPECT_NEAR(*row(a, "a").work->bytes_ratio, 4.0, 1e-12);
  EXPECT_EQ(row(a, "a").work->launches, 1);
  EXPECT_NEAR(*row(a, "b").work->bytes_ratio, 1.0, 1e-12);
  EXPECT_EQ(row(a, "b").work->launches, 1);
}

// Ranges are written when they end, the inner before the outer; that changes nothing.
TEST_F(Declared, TheOrderInWhichRangesAreWrittenDoesNotMatter) {
  steps({{"a", 100'000, 40e6, 0}, {"b", 100'000, 20e6, 0}});
  range("step / layer / a", 900, 1500, 20e6, 0);
  range("step / layer", 500, 2500, 60e6, 0);
  const Analysis a = analysed();
  EXPECT_NEAR(*row(a, "a").work->bytes_ratio, 2.0, 1e-12);
  EXPECT_NEAR(*row(a, "b").work->bytes_ratio, 1.0, 1e-12);
}

TEST(ExcessFindings, LeaveOutWhatIsSmallOrWithoutRoof) {
  DeclaredWork work;
  work.operation = "op";
  work.declared_bytes = 10e6;
  work.measured_bytes = 20e6;
  work.bytes_ratio = 2.0;
  EXPECT_EQ(accepted(excess_findings({work}, 1e12, 1'000'000)).size(), 1U);
  EXPECT_TRUE(accepted(excess_findings({work}, 1e12, 100'000'000)).empty()) << "10 µs of 100 ms";
  EXPECT_TRUE(accepted(excess_findings({work}, 0, 1'000'000)).empty());
  work.bytes_ratio = 1.1;
  EXPECT_TRUE(accepted(excess_findings({work}, 1e12, 1'000'000)).empty());
}

}  // namespace
}  // namespace ridgeline::analyzer
