#include "generate/generate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/import/importer.h"
#include "ridgeline/store/capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::generate {
namespace {

using ridgeline::testing::TemporaryDirectory;

// Every row of a query as one text.
std::string rows(const std::string& capture, const std::string& sql) {
  const auto opened = store::Capture::open(capture);
  EXPECT_TRUE(opened.ok());
  const auto table = opened.value().query(sql);
  EXPECT_TRUE(table.ok()) << table.failure().message;
  std::ostringstream text;
  for (const auto& row : table.value().rows) {
    for (const auto& value : row)
      std::visit(
          [&](const auto& v) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) text << v;
            text << '|';
          },
          value);
    text << '\n';
  }
  return text.str();
}

std::string capture_of(const TemporaryDirectory& directory, const Options& options, const std::string& name) {
  const std::string path = directory.file(name);
  generate(options, *make_capture_sink(path));
  return path;
}
std::string imported(const TemporaryDirectory& directory, const Options& options, const std::string& name) {
  const std::string spools = directory.file(name + ".spools");
  std::filesystem::create_directories(spools);
  generate(options, *make_spool_sink(spools));
  const auto summary = import::import_spools(spools, directory.file(name), {});
  EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.failure().message);
  return directory.file(name);
}

constexpr const char* kLaunchesAndSteps =
    "SELECT kernel, step_index, phase, ordinal_in_step, nvtx_path, start_ns, end_ns, host_start_ns, "
    "host_end_ns,"
    " grid_x, correlation_id FROM v_launch ORDER BY process_id, start_ns";

TEST(Generate, TheSameOptionsGiveTheSameRecordingAndAnotherSeedAnother) {
  TemporaryDirectory directory;
  Options options;
  options.launches = 2000;
  options.launches_per_step = 50;
  const std::string first = rows(capture_of(directory, options, "a"), kLaunchesAndSteps);
  EXPECT_EQ(first, rows(capture_of(directory, options, "b"), kLaunchesAndSteps));
  options.seed = 2;
  EXPECT_NE(first, rows(capture_of(directory, options, "c"), kLaunchesAndSteps));
}

struct ShapeCase {
  const char* name;
  Shape shape;
  std::int64_t timeline_launches;
  std::int64_t after_launches;
};
class GenerateShape : public ::testing::TestWithParam<ShapeCase> {};
TEST_P(GenerateShape, SpoolAndCaptureHoldTheSameLaunches) {
  TemporaryDirectory directory;
  Options options;
  options.shape = GetParam().shape;
  options.launches = 6000;
  options.launches_per_step = options.shape == Shape::after || options.shape == Shape::timeline ? 100 : 0;
  options.replay_steps = 2;
  options.ranges = options.annotations = true;
  options.outlier_every = 5;
  if (options.shape == Shape::pairs) options.launches_per_step = 1000;
  const std::string capture = capture_of(directory, options, "capture");
  const std::string spool = imported(directory, options, "imported");
  EXPECT_EQ(rows(capture, kLaunchesAndSteps), rows(spool, kLaunchesAndSteps));
  const char* values =
      "SELECT step_index, ordinal_in_step, metric, tier, value FROM v_launch_metric ORDER BY 1, 2, 3";
  EXPECT_EQ(rows(capture, values), rows(spool, values));
  const auto launches = [&](const std::string& phase) {
    return rows(spool, "SELECT count(*) FROM v_launch WHERE phase = '" + phase + "'");
  };
  EXPECT_EQ(launches("timeline"), std::to_string(GetParam().timeline_launches) + "|\n");
  EXPECT_EQ(launches("after"), std::to_string(GetParam().after_launches) + "|\n");
  EXPECT_EQ(rows(spool, "SELECT count(*) FROM message WHERE severity <> 'info'"), "0|\n");
}
INSTANTIATE_TEST_SUITE_P(Shapes, GenerateShape,
                         ::testing::Values(ShapeCase{"after", Shape::after, 1200, 4400},
                                           ShapeCase{"timeline", Shape::timeline, 5600, 0},
                                           ShapeCase{"one_step", Shape::one_step, 6000, 0},
                                           ShapeCase{"pairs", Shape::pairs, 2000, 0}),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST(Generate, ProcessesSamplesAndPairsAreThere) {
  TemporaryDirectory directory;
  Options options;
  options.shape = Shape::timeline;
  options.launches = 1000;
  options.launches_per_step = 100;
  options.processes = 2;
  options.sample_steps = 1;
  const std::string spool = imported(directory, options, "imported");
  EXPECT_EQ(rows(spool, "SELECT count(*) FROM process"), "2|\n");
  EXPECT_NE(rows(spool, "SELECT count(*) FROM v_launch_metric WHERE tier = 'T1'"), "0|\n");
  EXPECT_EQ(rows(spool, "SELECT DISTINCT status FROM step"), "ok|\n");
  options = {};
  options.shape = Shape::pairs;
  options.launches = 20'000;
  options.replay_steps = 0;
  const std::string pairs = imported(directory, options, "pairs");
  EXPECT_EQ(rows(pairs, "SELECT count(*) FROM (SELECT DISTINCT kernel_id, grid_x FROM v_launch)"),
            "20000|\n");
}

TEST(Generate, WhereTheCpuIsThePaceItsWaitsAreRecordedInBothKinds) {
  TemporaryDirectory directory;
  for (const auto& [shape, launches] : {std::pair(Shape::eager, 1153), std::pair(Shape::decode, 755)}) {
    Options options;
    options.shape = shape;
    options.launches = 8 * launches;
    options.replay_steps = 2;
    const std::string name = std::to_string(launches);
    const std::string capture = capture_of(directory, options, "capture-" + name);
    EXPECT_EQ(rows(capture, kLaunchesAndSteps),
              rows(imported(directory, options, "spools-" + name), kLaunchesAndSteps));
    EXPECT_EQ(rows(capture, "SELECT count(*) FROM v_step WHERE launches = " + name), "8|\n");
    EXPECT_EQ(rows(capture, "SELECT DISTINCT call FROM v_synchronisation"), "cudaStreamSynchronize|\n");
    EXPECT_EQ(rows(capture, "SELECT count(*) FROM v_synchronisation"), "8|\n");
    // The GPU has done nearly every kernel before the next is launched.
    EXPECT_EQ(rows(capture,
                   "SELECT count(*) * 20 < (SELECT count(*) FROM v_launch) FROM v_launch "
                   "WHERE start_ns - host_start_ns > 100000"),
              "1|\n");
  }
}

TEST(Generate, WhatOrdersStreamsAndTakesMemoryIsTheSameInBothKinds) {
  TemporaryDirectory directory;
  Options options;
  options.launches = 1200;
  options.launches_per_step = 100;
  options.order = true;
  const std::string capture = capture_of(directory, options, "capture");
  const std::string spool = imported(directory, options, "imported");
  for (const char* query :
       {"SELECT step_index, time_ns, stream_id, event, correlation_id, source_correlation_id, "
        "source_stream_id"
        " FROM v_stream_wait ORDER BY correlation_id",
        "SELECT step_index, time_ns, call, change_bytes, allocated_bytes, allocation_id FROM v_memory_use"
        " ORDER BY correlation_id",
        "SELECT * FROM v_stream ORDER BY 1, 2, 3", kLaunchesAndSteps})
    EXPECT_EQ(rows(capture, query), rows(spool, query));
  EXPECT_EQ(rows(spool, "SELECT count(*), sum(source_correlation_id IS NULL) FROM v_stream_wait"),
            "240|0|\n");
  EXPECT_EQ(rows(spool, "SELECT max(allocated_bytes), min(allocated_bytes) FROM v_memory_use"),
            "3145728|0|\n");
}

TEST(Generate, ATargetThatCannotBeWrittenIsAnError) {
  EXPECT_THROW((void)make_capture_sink("/no/such/place.ridge"), std::runtime_error);
  Options options;
  EXPECT_THROW(generate(options, *make_spool_sink("/no/such/place")), std::runtime_error);
}

}  // namespace
}  // namespace ridgeline::generate
