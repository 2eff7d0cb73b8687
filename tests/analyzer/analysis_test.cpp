// The whole way: a capture file is written, read and analysed.
#include "ridgeline/analyzer/session/analysis.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/store/capture_writer.h"
#include "support/analysed_model.h"
#include "support/temporary_directory.h"
#include "support/whole_model.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::whole_model;
using store::CaptureWriter;
using store::Id;
using testing::analyse;

store::Run some_run() {
  store::Run run;
  run.command_line = "./train";
  run.ridgeline_version = "0.1.0";
  run.clock = "cupti";
  run.start_ns = 1;
  run.end_ns = 100;
  run.exit_status = 0;
  return run;
}

// 3 timeline steps of 1 ms and 2 replay steps of a gemm (600 µs) and a norm (200 µs).
void write_capture(const std::string& path) {
  CaptureWriter writer = std::move(CaptureWriter::create(path)).value();
  writer.set_run(some_run());
  store::Process process;
  process.pid = 7;
  const Id process_id = writer.add(process);
  store::Device device;
  device.name = "NVIDIA H200";
  const Id device_id = writer.add(device);
  writer.add(store::DevicePeak{device_id, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "datasheet"});
  const Id gemm = writer.kernel_id("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT");
  const Id norm = writer.kernel_id("layernorm_forward_kernel6");
  store::CounterConfiguration r2;
  r2.name = "R2";
  const Id configuration = writer.add(r2);
  const Id path_id = writer.string_id("step / forward");
  for (int i = 0; i < 5; ++i) {
    const bool replay = i >= 3;
    const std::int64_t start = 1'000'000'000 + i * (replay ? 50'000'000 : 1'000'000);
    store::Step step;
    step.process_id = process_id;
    step.step_index = i;
    step.phase = replay ? Phase::replay : Phase::timeline;
    if (replay) step.configuration_id = configuration;
    const Id step_id = writer.add(step);
    store::NvtxRange range;
    range.process_id = process_id;
    range.thread_id = 1;
    range.name_id = path_id;
    range.path_id = path_id;
    range.step_id = step_id;
    range.start_ns = start - 10'000;
    range.end_ns = start + 900'000;
    const Id range_id = writer.add(range);
    store::Annotation work{.nvtx_range_id = range_id, .name = "forward", .bytes = 480e6, .flops = 4e11};
    work.m = 1000;
    work.n = 512;
    work.k = 768;
    writer.add(work);
    store::Annotation size{.nvtx_range_id = range_id, .name = "step_size"};
    size.tokens = 1024 + i;
    writer.add(size);
    for (int k = 0; k < 2; ++k) {
      store::Launch launch;
      launch.process_id = process_id;
      launch.device_id = device_id;
      launch.correlation_id = 10 * i + k;
      launch.kernel_id = k == 0 ? gemm : norm;
      launch.start_ns = start + (k == 0 ? 0 : 600'000);
      launch.end_ns = launch.start_ns + (k == 0 ? 600'000 : 200'000);
      launch.host_start_ns = start - 5'000 + 100 * k;
      launch.host_end_ns = start - 4'950 + 100 * k;
      launch.thread_id = 1;
      launch.grid = {k == 0 ? 132 : 1024, 1, 1};
      launch.step_id = step_id;
      launch.ordinal_in_step = k;
      launch.nvtx_path_id = path_id;
      const Id launch_id = writer.add(launch);
      if (!replay) continue;
      const auto value = [&](const char* metric, double x) {
        writer.add(store::LaunchMetric{launch_id, writer.metric_id(metric), Tier::t2, x, {}, {}});
      };
      value(testing::kRead, k == 0 ? 288e6 : 336e6);  // 10 % and 35 % of 4.8 TB/s
      value(testing::kWritten, 0);
      value(testing::kTensor, k == 0 ? 90 : 0);
      value(testing::kOperations, k == 0 ? 4e11 : 0);
      value(testing::kDuration, k == 0 ? 600e3 : 200e3);
    }
  }
  store::Completeness complete;
  complete.process_id = process_id;
  complete.launches_seen = complete.kernel_records = 10;
  writer.add(complete);
  writer.finish();
}

TEST(Analysis, FromFileToVerdict) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  write_capture(path);
  const Model model = whole_model(store::Capture::open(path).value());
  const auto result = analyse(model);
  ASSERT_TRUE(result.ok());
  const Analysis& a = result.value();
  EXPECT_EQ(a.accounting.step_ns, 1'000'000);
  EXPECT_EQ(a.accounting.kernel_busy_ns, 800'000);
  EXPECT_EQ(a.accounting.gap_host_bound_ns, 200'000) << "the next step is launched when the GPU is idle";
  EXPECT_EQ(a.accounting.remainder_ns, 0);
  ASSERT_EQ(a.ranking.rows.size(), 2U);
  EXPECT_EQ(a.ranking.rows[0].kernel_class, KernelClass::normalisation);
  EXPECT_NEAR(a.ranking.rows[0].dram->value, 0.35, 1e-9);
  EXPECT_NEAR(a.ranking.rows[0].saved_target_ns, 100'000, 1e-3);
  EXPECT_NEAR(*a.ranking.rows[0].saved_target_error_ns, 0, 1e-6);  // two equal replay steps, equal durations
  EXPECT_EQ(a.ranking.rows[1].normalised_name, "nvjet_tst_TNT");
  EXPECT_NEAR(*a.ranking.rows[1].nearest_roof_ratio, 0.9, 1e-9);
  EXPECT_NEAR(a.ranking.totals.saved_target_share, 0.1, 1e-9);
  EXPECT_EQ(a.check.overall, OverallVerdict::missed);
  EXPECT_EQ(a.check.stretch_count, 1);
  EXPECT_TRUE(a.quality.complete);
  EXPECT_DOUBLE_EQ(a.quality.coverage, 1.0);
  ASSERT_EQ(a.declared_work.size(), 1U);
  EXPECT_EQ(a.declared_work[0].path, "step / forward");
  EXPECT_EQ(a.declared_work[0].launches, 2);
  EXPECT_NEAR(*a.declared_work[0].bytes_ratio, 1.3, 1e-9);
  EXPECT_NEAR(*a.declared_work[0].ops_ratio, 1.0, 1e-9);
}

// A session reads no more than the ranges that declare something, of the analysed step.
TEST(Analysis, SizesAndProductsAreThoseOfTheStep) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  write_capture(path);
  Session session = std::move(Session::open(path)).value();
  const auto all = session.analysis().value();
  const std::int64_t step = all->steps.representative.summary.step_index;
  EXPECT_DOUBLE_EQ(all->throughput.size.tokens.value(), static_cast<double>(1024 + step));
  EXPECT_DOUBLE_EQ(all->throughput.tokens_per_s.value(), static_cast<double>(1024 + step) / 1e-3);
  EXPECT_EQ(all->ranking.rows[1].work->gemm, (GemmShape{1000, 512, 768}));
  EXPECT_EQ(all->ranking.rows[1].tile, "128x256x64");
  EXPECT_DOUBLE_EQ(all->ranking.rows[1].tile_waste_ratio.value(), 1 - 1000.0 / 1024);
  Scope part;
  part.range = "step";
  const auto of_part = session.analysis(part);
  EXPECT_FALSE(of_part.ok() && of_part.value()->throughput.size.tokens)
      << "how much a part works through is not known";
}

TEST(Analysis, EmptyCaptureIsNoData) {
  TemporaryDirectory directory;
  const std::string path = directory.file("empty.ridge");
  {
    CaptureWriter writer = std::move(CaptureWriter::create(path)).value();
    writer.finish();
  }
  const Model model = whole_model(store::Capture::open(path).value());
  EXPECT_FALSE(model.run.has_value());
  const auto result = analyse(model);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure().kind, ErrorKind::no_data);
}

TEST(Analysis, TimesBeyondAnyRangeAreCorrupt) {
  TemporaryDirectory directory;
  const std::string path = directory.file("odd.ridge");
  {
    CaptureWriter writer = std::move(CaptureWriter::create(path)).value();
    writer.set_run(some_run());
    store::Process process;
    process.pid = 7;
    store::Launch launch;
    launch.process_id = writer.add(process);
    store::Device device;
    device.name = "?";
    launch.device_id = writer.add(device);
    launch.kernel_id = writer.kernel_id("k");
    launch.start_ns = 1;
    launch.end_ns = INT64_MAX;
    writer.add(launch);
    writer.add(launch);
    writer.finish();
  }
  Session session = Session::open(path).value();
  try {
    (void)session.ranking();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
  }
}

// Of sizes up to 4e18 bytes together the sum is kept in 64 bits.
TEST(Analysis, BytesThatDoNotFitIntoTheirSumAreCorrupt) {
  testing::FabricatedModel f;
  f.step(Phase::timeline);
  f.copy(1000, 2000, 1'900'000'000'000'000'000);
  f.set(1000, 2000, 1'900'000'000'000'000'000);
  EXPECT_NO_THROW(require_sums_fit(f.done()));
  f.set(1000, 2000, 300'000'000'000'000'000);
  try {
    require_sums_fit(f.done());
    ADD_FAILURE() << "4.1e18 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
  }
}

TEST(Analysis, BadTargetsAreUsage) {
  testing::FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1000, 2000);
  EXPECT_EQ(analyse(f.done(), {.targets = {.target = 3}}).failure().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ridgeline::analyzer
