// The public views: what each says of a small recording whose numbers can be counted by hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/database.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

// Rows of a query, cells as text; NULL as "-".
std::vector<std::string> texts_of(const Capture& capture, const std::string& sql) {
  const auto table = capture.query(sql);
  if (!table.ok()) return {"failed: " + table.failure().message};
  std::vector<std::string> rows;
  for (const auto& row : table.value().rows) {
    std::string line;
    for (const Value& value : row) {
      if (!line.empty()) line += ' ';
      if (const auto* text = std::get_if<std::string>(&value)) {
        line += *text;
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        line += std::to_string(*number);
      } else if (const auto* real = std::get_if<double>(&value)) {
        line += std::to_string(*real).substr(0, std::to_string(*real).find('.') + 2);
      } else {
        line += '-';
      }
    }
    rows.push_back(line);
  }
  return rows;
}
using Rows = std::vector<std::string>;

// Steps 0 to 4 of one process: warmup, timeline, timeline, timeline (mismatch, without launches), replay. Kernel `a`
// runs twice a step for 100 and 300 ns, `b` once for 1000 ns. Begin of step i: 10,000 (i + 1) ns.
class Views : public ::testing::Test {
 protected:
  Views() {
    Result<CaptureWriter> made = CaptureWriter::create(path_);
    if (!made.ok()) throw std::runtime_error(made.failure().message);
    CaptureWriter& writer = made.value();
    writer.set_run({.command_line = "train", .ridgeline_version = "0.1.0", .clock = "cupti"});
    const Id process = writer.add(Process{.pid = 42});
    Device device;
    device.name = "gpu";
    const Id gpu = writer.add(device);
    const Id a = writer.kernel_id("a"), b = writer.kernel_id("b");
    const Id read = writer.metric_id("dram__bytes_read.sum"),
             written = writer.metric_id("dram__bytes_write.sum");
    const Id configuration = writer.add(CounterConfiguration{0, "R1", 1});
    const Id path = writer.string_id("step / forward");
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::int64_t begin = 10'000 * (i + 1);
      Step step;
      step.process_id = process;
      step.step_index = i;
      step.phase = i == 0 ? Phase::warmup : i == 4 ? Phase::replay : Phase::timeline;
      step.status = i == 3 ? StepStatus::mismatch : StepStatus::ok;
      step.host_start_ns = begin - 500;
      step.host_end_ns = begin + 4'000;
      step.gpu_start_ns = begin;
      step.gpu_end_ns = begin + 5'000 + i;
      if (i == 4) step.configuration_id = configuration;
      const Id id = writer.add(step);
      if (i == 3) continue;
      std::int64_t ordinal = 0;
      for (const auto& [kernel, duration] : {std::pair{a, 100}, {a, 300}, {b, 1000}}) {
        Launch launch;
        launch.process_id = process;
        launch.device_id = gpu;
        launch.kernel_id = kernel;
        launch.context_id = 1;
        launch.stream_id = 7;
        launch.start_ns = begin + ordinal * 1500;
        launch.end_ns = launch.start_ns + duration;
        launch.host_start_ns = begin - 400;
        launch.host_end_ns = begin - 390;
        launch.grid = {2, 3, 4};
        launch.block = {5, 6, 7};
        launch.registers_per_thread = 32;
        launch.static_smem_bytes = 8;
        launch.dynamic_smem_bytes = 9;
        launch.step_id = id;
        launch.ordinal_in_step = ordinal++;
        launch.nvtx_path_id = path;
        const Id launched = writer.add(launch);
        if (i == 4) {
          writer.add(LaunchMetric{launched, read, Tier::t2, static_cast<double>(duration), 0.5, 3, false});
          writer.add(
              LaunchMetric{launched, written, Tier::t2, 2.0 * duration, std::nullopt, std::nullopt, false});
          writer.add(LaunchMetric{launched, read, Tier::t1, 7e6, std::nullopt, std::nullopt, true});
        }
      }
    }
    Launch loose;  // outside every step, without a time
    loose.process_id = process;
    loose.device_id = gpu;
    loose.kernel_id = b;
    writer.add(loose);
    writer.add(PmSample{gpu, 5, read, 1.5});
    writer.add(StallSample{a, 16, "stalled_wait", 4});
    writer.add(StallSample{a, 32, "stalled_wait", 5});
    writer.add(SourceLine{a, 16, writer.string_id("a.cu"), 12});
    writer.finish();
  }
  Rows rows(const std::string& sql) {
    const auto capture = held(Capture::open(path_));
    return capture.ok() ? texts_of(capture.value(), sql) : Rows{capture.failure().message};
  }
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("a.ridge");
};

TEST_F(Views, AStepLastsToTheNextOfItsPhaseAndTheLastOfAPhaseToItsOwnEnd) {
  EXPECT_EQ(rows("SELECT step_index, phase, status, duration_ns, launches FROM v_step ORDER BY step_index"),
            (Rows{"0 warmup ok 5000 3", "1 timeline ok 10000 3", "2 timeline ok 10000 3",
                  "3 timeline mismatch 5003 0", "4 replay ok 5004 3"}));
  EXPECT_EQ(rows("SELECT configuration, host_start_ns, host_end_ns, gpu_start_ns, gpu_end_ns, source, reason "
                 "FROM v_step WHERE step_index IN (1, 4) ORDER BY step_index"),
            (Rows{"- 19500 24000 20000 25001 nvtx -", "R1 49500 54000 50000 55004 nvtx -"}));
}

TEST_F(Views, ALaunchHasItsNamesStepAndDuration) {
  EXPECT_EQ(
      rows("SELECT kernel, normalised_name, class, step_index, phase, ordinal_in_step, nvtx_path, start_ns, "
           "end_ns, duration_ns, host_start_ns, host_end_ns FROM v_launch WHERE step_index = 1 ORDER BY "
           "start_ns"),
      (Rows{"a a other 1 timeline 0 step / forward 20000 20100 100 19600 19610",
            "a a other 1 timeline 1 step / forward 21500 21800 300 19600 19610",
            "b b other 1 timeline 2 step / forward 23000 24000 1000 19600 19610"}));
  EXPECT_EQ(
      rows("SELECT context_id, stream_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, "
           "registers_per_thread, static_smem_bytes, dynamic_smem_bytes, cluster_x FROM v_launch LIMIT 1"),
      (Rows{"1 7 2 3 4 5 6 7 32 8 9 -"}));
  EXPECT_EQ(
      rows("SELECT kernel, phase, step_index, duration_ns, nvtx_path FROM v_launch WHERE step_index IS NULL"),
      (Rows{"b - - - -"}))
      << "outside the steps, without a time";
}

TEST_F(Views, AKernelOfAStepIsItsLaunchesTakenTogether) {
  EXPECT_EQ(rows("SELECT step_index, phase, kernel, launches, duration_ns, shortest_ns, longest_ns FROM "
                 "v_kernel_step "
                 "WHERE step_index IN (1, 4) ORDER BY step_index, kernel"),
            (Rows{"1 timeline a 2 400 100 300", "1 timeline b 1 1000 1000 1000", "4 replay a 2 400 100 300",
                  "4 replay b 1 1000 1000 1000"}));
}

// Two timeline steps are sound; the third one mismatched and counts nowhere.
TEST_F(Views, TheRankIsTheMeanOfTheSoundTimelineSteps) {
  EXPECT_EQ(rows("SELECT kernel, launches_per_step, mean_ns_per_step, dram_read_bytes_per_launch, "
                 "dram_written_bytes_per_launch FROM v_rank"),
            (Rows{"b 1.0 1000.0 1000.0 2000.0", "a 2.0 400.0 200.0 400.0"}));
  EXPECT_EQ(rows("SELECT kernel, calls, time_ns, exposed_ns FROM v_rank"),
            (Rows{"b 1 1000 1000.0", "a 2 400 400.0"}));
}

// Its work grows with the launches of the step, not with their square.
TEST(ViewOfTheRank, TakesNoMoreStepsThanAReadingOfTheFileMay) {
  constexpr std::int64_t kLaunches = 20'000;
  TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    Result<CaptureWriter> made = CaptureWriter::create(path);
    CaptureWriter& writer = made.value();
    writer.set_run({.command_line = "train", .ridgeline_version = "0.1.0", .clock = "cupti"});
    Launch launch;
    launch.process_id = writer.add(Process{.pid = 42});
    Device device;
    device.name = "gpu";
    launch.device_id = writer.add(device);
    launch.kernel_id = writer.kernel_id("a");
    Step step;
    step.process_id = launch.process_id;
    step.phase = Phase::timeline;
    step.status = StepStatus::ok;
    step.gpu_start_ns = 100'000;
    step.gpu_end_ns = 100'000 + 1'000 * kLaunches;
    launch.step_id = writer.add(step);
    for (std::int64_t i = 0; i < kLaunches; ++i) {
      launch.ordinal_in_step = i;
      launch.start_ns = 100'000 + 1'000 * i;
      launch.end_ns = launch.start_ns + 900;
      writer.add(launch);
    }
    writer.finish();
  }
  Database database(path, OpenMode::read_only);
  database.limit_statements(std::filesystem::file_size(path));
  EXPECT_EQ(database.scalar_int64("SELECT sum(calls) FROM v_rank"), kLaunches);
  EXPECT_EQ(database.scalar_int64("SELECT sum(exposed_ns) FROM v_rank"), 900 * kLaunches);
}

// A kernel none of whose launches has a time is in the rank with its launches, not with a time of nothing.
TEST(ViewOfTheRank, KnowsNoTimeOfAKernelWithoutAnyTime) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    Result<CaptureWriter> made = CaptureWriter::create(path);
    CaptureWriter& writer = made.value();
    writer.set_run({.command_line = "train", .ridgeline_version = "0.1.0", .clock = "cupti"});
    const Id process = writer.add(Process{.pid = 42});
    Device device;
    device.name = "gpu";
    Launch launch;
    launch.process_id = process;
    launch.device_id = writer.add(device);
    const Id timed = writer.kernel_id("timed"), untimed = writer.kernel_id("untimed");
    for (std::int64_t i = 0; i < 2; ++i) {
      Step step;
      step.process_id = process;
      step.step_index = i;
      step.phase = Phase::timeline;
      step.gpu_start_ns = 1000 * (i + 1);
      step.gpu_end_ns = 1000 * (i + 1) + 500;
      launch.step_id = writer.add(step);
      for (const Id kernel : {timed, untimed, timed}) {
        launch.kernel_id = kernel;
        launch.start_ns = kernel == timed ? *step.gpu_start_ns : 0;
        launch.end_ns = kernel == timed ? launch.start_ns + 100 : 0;
        writer.add(launch);
      }
    }
    writer.finish();
  }
  const Capture capture = held(Capture::open(path)).value();
  EXPECT_EQ(
      texts_of(capture, "SELECT kernel, launches_per_step, mean_ns_per_step FROM v_rank ORDER BY kernel"),
      (Rows{"timed 2.0 200.0", "untimed 1.0 -"}));
}

// Of three closed steps of 10,000, 30,000 and 20,000 ns the last is the lower median; a fourth launched something else
// and a fifth is open. In the chosen one `a` runs for 1000 ns, `b` beside its second half and 500 ns longer.
TEST(ViewOfTheRank, IsAboutTheStepOfLowerMedianAndSharesOverlap) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    Result<CaptureWriter> made = CaptureWriter::create(path);
    ASSERT_TRUE(made.ok());
    CaptureWriter& writer = made.value();
    writer.set_run({.command_line = "train", .ridgeline_version = "0.1.0", .clock = "cupti"});
    const Id process = writer.add(Process{.pid = 42});
    Device device;
    device.name = "gpu";
    const Id gpu = writer.add(device);
    const Id a = writer.kernel_id("a"), b = writer.kernel_id("b");
    const std::int64_t starts_ns[] = {100'000, 110'000, 140'000, 160'000, 170'000};
    for (std::int64_t i = 0; i < 5; ++i) {
      Step step;
      step.process_id = process;
      step.step_index = i;
      step.phase = Phase::timeline;
      step.status = StepStatus::ok;
      step.gpu_start_ns = starts_ns[i];
      step.gpu_end_ns = starts_ns[i] + 2'000;
      const Id id = writer.add(step);
      for (std::int64_t ordinal = 0; ordinal < 2; ++ordinal) {
        Launch launch;
        launch.process_id = process;
        launch.device_id = gpu;
        launch.kernel_id = ordinal == 0 || i == 3 ? a : b;
        launch.stream_id = 7 + ordinal;
        launch.start_ns = starts_ns[i] + ordinal * 500;
        launch.end_ns = launch.start_ns + (i == 2 ? 1000 : 1500 + i);
        launch.step_id = id;
        launch.ordinal_in_step = ordinal;
        writer.add(launch);
      }
    }
    writer.finish();
  }
  const auto capture = held(Capture::open(path));
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(
      texts_of(capture.value(), "SELECT kernel, calls, time_ns, exposed_ns FROM v_rank ORDER BY kernel"),
      (Rows{"a 1 1000 750.0", "b 1 1000 750.0"}));
}

TEST_F(Views, AMeasuredValueKnowsItsLaunchTierAndError) {
  EXPECT_EQ(rows("SELECT kernel, step_index, phase, ordinal_in_step, metric, tier, value, error, "
                 "sample_count, concurrent "
                 "FROM v_launch_metric WHERE ordinal_in_step = 0 ORDER BY tier, value"),
            (Rows{"a 4 replay 0 dram__bytes_read.sum T1 7000000.0 - - 1",
                  "a 4 replay 0 dram__bytes_read.sum T2 100.0 0.5 3 0",
                  "a 4 replay 0 dram__bytes_write.sum T2 200.0 - - 0"}));
  EXPECT_EQ(rows("SELECT unit FROM v_launch_metric LIMIT 1"), (Rows{"bytes"}));
  EXPECT_EQ(rows("SELECT time_ns, metric, unit, value FROM v_pm_sample"),
            (Rows{"5 dram__bytes_read.sum bytes 1.5"}));
}

TEST_F(Views, AStallNamesItsSourceLineIfThereIsOne) {
  EXPECT_EQ(
      rows("SELECT kernel, pc_offset, file, line, stall_reason, samples FROM v_stall ORDER BY pc_offset"),
      (Rows{"a 16 a.cu 12 stalled_wait 4", "a 32 - - stalled_wait 5"}));
}

}  // namespace
}  // namespace ridgeline::store
