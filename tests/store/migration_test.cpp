#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/schema.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

// What a capture of version 2 answers with the views that are stored in it, and the same capture migrated.
const char* const kQueries[] = {
    "SELECT step_id, process_id, step_index, phase, status, reason, configuration, host_start_ns, "
    "host_end_ns,"
    " gpu_start_ns, gpu_end_ns, duration_ns, launches, source FROM v_step ORDER BY step_id",
    "SELECT * FROM v_launch ORDER BY launch_id",
    "SELECT * FROM v_launch_metric ORDER BY launch_id, metric, tier",
    "SELECT * FROM v_kernel_step ORDER BY step_index, kernel_id", "SELECT * FROM v_rank ORDER BY kernel_id",
    "SELECT * FROM v_pm_sample ORDER BY device_id, metric, time_ns",
    "SELECT * FROM v_stall ORDER BY kernel_id, pc_offset, stall_reason",
    // Tables that became views.
    "SELECT id, process_id, device_id, context_id, stream_id, correlation_id, graph_id, graph_node_id, "
    "kernel_id,"
    " start_ns, end_ns, host_start_ns, host_end_ns, thread_id, grid_x, grid_y, grid_z, block_x, block_y, "
    "block_z,"
    " cluster_x, cluster_y, cluster_z, registers_per_thread, static_smem_bytes, dynamic_smem_bytes, step_id,"
    " ordinal_in_step, nvtx_path_id FROM launch ORDER BY id",
    "SELECT id, process_id, thread_id, parent_id, depth, name_id, path_id, domain_id, step_id, start_ns, "
    "end_ns"
    " FROM nvtx_range ORDER BY id",
    "SELECT nvtx_range_id, name, bytes, flops FROM annotation ORDER BY nvtx_range_id, name, bytes",
    "SELECT * FROM kernel ORDER BY id"};

std::vector<std::vector<Value>> rows_of(const Database& database, const std::string& sql) {
  std::vector<std::vector<Value>> rows;
  Statement statement = database.prepare(sql);
  while (statement.step()) {
    auto& row = rows.emplace_back();
    for (int column = 0; column < statement.column_count(); ++column) row.push_back(statement.value(column));
  }
  return rows;
}

// Sums of the same numbers may differ in their last digit by the order of adding.
bool same(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return *x == *y || std::fabs(*x - *y) <= 1e-12 * std::fabs(*x);
}

void expect_same_answers(const std::string& path) {
  const Database before(path, OpenMode::read_only);
  const auto migrated = held(Capture::open(path));
  ASSERT_TRUE(migrated.ok()) << migrated.failure().message;
  for (const char* sql : kQueries) {
    SCOPED_TRACE(sql);
    const auto expected = rows_of(before, sql);
    const auto table = migrated.value().query(sql);
    ASSERT_TRUE(table.ok()) << table.failure().message;
    const auto& actual = table.value().rows;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t row = 0; row < expected.size(); ++row) {
      ASSERT_GE(actual[row].size(), expected[row].size());
      for (std::size_t column = 0; column < expected[row].size(); ++column)
        ASSERT_TRUE(same(expected[row][column], actual[row][column]))
            << "row " << row << " column " << column;
    }
  }
}

TEST(Migration, ARecordingOfVersion2AnswersAsBefore) {
  expect_same_answers(std::string(RIDGELINE_SOURCE_DIR) + "/tests/store/version-2.ridge");
}

// What a version did not count yet was not lost.
TEST(Migration, CountsThatAVersionHadNotAreZero) {
  const auto migrated =
      held(Capture::open(std::string(RIDGELINE_SOURCE_DIR) + "/tests/store/version-2.ridge"));
  ASSERT_TRUE(migrated.ok()) << migrated.failure().message;
  const auto table = migrated.value().query("SELECT strings_lost, nvtx_unbalanced FROM completeness");
  ASSERT_TRUE(table.ok()) << table.failure().message;
  ASSERT_EQ(table.value().rows.size(), 1u);
  EXPECT_EQ(table.value().rows[0], (std::vector<Value>{std::int64_t{0}, std::int64_t{0}}));
}

// The views of version 2, as they are stored in its files.
std::string views_of_version_2() {
  const Database bundled(std::string(RIDGELINE_SOURCE_DIR) + "/tests/store/version-2.ridge",
                         OpenMode::read_only);
  std::string sql;
  // A view may name another only when it is used, so their order does not matter.
  for (const auto& row : rows_of(bundled, "SELECT sql FROM sqlite_master WHERE type = 'view'"))
    sql += std::get<std::string>(row[0]) + ";";
  return sql;
}

constexpr const char* kOddRows = R"sql(
INSERT INTO process(id, pid) VALUES (1, 10), (2, 20);
INSERT INTO device(id, device_index, name) VALUES (1, 0, 'd');
INSERT INTO string VALUES (1, 'step'), (2, 'step / op');
INSERT INTO kernel VALUES (1, 'k1', 'k1()', 'k1', 'gemm', 'abc'), (2, 'k2', 'k2()', 'k2', 'other', NULL);
INSERT INTO counter_configuration VALUES (1, 'R1', 1);
INSERT INTO step(id, process_id, step_index, phase, gpu_start_ns, gpu_end_ns, status, configuration_id, source) VALUES
  (3, 1, 0, 'timeline', 1000, 1900, 'ok', NULL, 'nvtx'), (4, 1, 1, 'timeline', 2000, 2900, 'ok', NULL, 'nvtx'),
  (9, 1, 2, 'replay', 3000, 3900, 'ok', 1, 'nvtx'), (10, 2, 0, 'timeline', NULL, NULL, 'interrupted', NULL, 'window');
-- Of steps, of none, without times, with a grid node, a cluster, only an end on the host; ids with holes, launches of
-- two steps and processes in turn, a step that is not there.
INSERT INTO launch VALUES
  (1, 1, 1, 1, 7, 100, NULL, NULL, 1, 1000, 1100, 900, 910, 5, 1, 2, 3, 4, 5, 6, NULL, NULL, NULL, 32, 0, 0, 3, 0, 1),
  (2, 1, 1, 1, 7, 101, 8, 9, 2, 1200, 1300, NULL, NULL, NULL, 1, 1, 1, 4, 1, 1, 2, 1, 1, 32, 16, 48, 3, 1, NULL),
  (3, 1, 1, 1, 8, 90, NULL, NULL, 1, 2000, 2150, 1500, NULL, 5, 1, 2, 3, 4, 5, 6, NULL, NULL, NULL, 32, 0, 0, 4, 0, 1),
  (4, 1, 1, 1, 7, 102, NULL, NULL, 2, 1400, 1450, NULL, 950, 5, 1, 1, 1, 4, 1, 1, NULL, NULL, NULL, 32, 0, 0, 3, 2, 2),
  (5, 2, 1, 1, 7, 1, NULL, NULL, 1, 0, 0, 500, 600, 6, 1, 1, 1, 4, 1, 1, NULL, NULL, NULL, 32, 0, 0, 10, NULL, 2),
  (1024, 1, 1, 1, 7, 103, NULL, NULL, 2, 5000, 5001, NULL, NULL, 5, 1, 1, 1, 4, 1, 1, NULL, NULL, NULL, 32, 0, 0, NULL, NULL, 2),
  (70000, 1, 1, 1, 7, 104, NULL, NULL, 1, 3000, 3300, 2990, 2995, 5, 1, 2, 3, 4, 5, 6, NULL, NULL, NULL, 32, 0, 0, 9, 0, 1),
  (70001, 1, 1, 1, 7, 105, NULL, NULL, 2, 4000, 3900, 2990, 2995, 5, 1, 2, 3, 4, 5, 6, NULL, NULL, NULL, 32, 0, 0, 9, 1, 1);
INSERT INTO metric VALUES (1, 'dram__bytes_read.sum', 'r', 'bytes', 'm'), (2, 'dram__bytes_write.sum', 'w', 'bytes', 'm');
INSERT INTO launch_metric(launch_id, metric_id, tier, value) VALUES (70000, 1, 'T2', 5.5), (70000, 2, 'T2', 7),
  (70000, 1, 'T1', 100), (1024, 1, 'T2', 6.5);
INSERT INTO memcpy(process_id, device_id, context_id, stream_id, correlation_id, kind, bytes, start_ns, end_ns, step_id)
  VALUES (1, 1, 1, 7, 5, 'HtoD', 64, 950, 990, 3), (1, 1, 1, 7, 6, 'DtoH', 64, 0, 0, 3);
INSERT INTO memset(process_id, device_id, context_id, stream_id, correlation_id, bytes, start_ns, end_ns, step_id)
  VALUES (1, 1, 1, 7, 5, 64, 1850, 1890, 3);
INSERT INTO nvtx_range VALUES (1, 1, 5, NULL, 0, 1, 1, NULL, 3, 890, 1500), (2, 1, 5, 1, 1, 2, 2, 1, 3, 895, 905),
  (5, 2, 6, NULL, 0, 1, 1, NULL, NULL, 400, NULL);
INSERT INTO annotation VALUES (1, 2, 'op_cost', 1e9, 2.5), (2, 2, 'second', NULL, 1), (3, 5, 'op_cost', 1e9, 2.5),
  (4, 1, 'op_cost', 3, NULL);
)sql";

class MigrationOfOddRows : public ::testing::Test {
 protected:
  MigrationOfOddRows() : path_(directory_.file("v2.ridge")) {
    Database database(path_, OpenMode::create);
    migrate(database, migrations().first(2), views_of_version_2());
    database.execute(kOddRows);
  }
  TemporaryDirectory directory_;
  std::string path_;
};

TEST_F(MigrationOfOddRows, EveryViewAnswersAsBefore) {
  expect_same_answers(path_);
}

TEST_F(MigrationOfOddRows, TheSumsAreMade) {
  const auto capture = held(Capture::open(path_));
  ASSERT_TRUE(capture.ok()) << capture.failure().message;
  const Activity activity(capture.value());
  const auto totals = activity.step_totals();
  ASSERT_EQ(totals.size(), 4u);
  EXPECT_EQ(totals[0].launches, 3);
  EXPECT_EQ(totals[0].kernel_time_ns, 100 + 100 + 50);
  EXPECT_EQ(totals[0].copies, 3);
  EXPECT_EQ(totals[0].copy_start_ns, 950);
  EXPECT_EQ(totals[0].copy_end_ns, 1890);
  EXPECT_EQ(totals[2].launches_without_time, 1) << "one ends before it begins";
  EXPECT_EQ(totals[3].launches_without_time, 1);
  ActivityFilter filter;
  filter.step_ids = {3, 4};
  std::vector<Id> ids;
  activity.for_each_launch(filter, [&](const Launch& launch) { ids.push_back(launch.id); });
  EXPECT_EQ(ids, (std::vector<Id>{1, 2, 4, 3}));
  filter = {};
  filter.time = TimeSpan{5000, 5001};
  ids.clear();
  activity.for_each_launch(filter, [&](const Launch& launch) { ids.push_back(launch.id); });
  EXPECT_EQ(ids, (std::vector<Id>{1024}));
}

TEST_F(MigrationOfOddRows, TimesOutOfAnyRangeAreNoCrash) {
  {
    Database database(path_, OpenMode::read_write);
    database.execute(
        "UPDATE launch SET start_ns = 9223372036854775807, end_ns = -9223372036854775807 WHERE id = 2;"
        "UPDATE launch SET start_ns = 1, end_ns = 9223372036854775807, host_start_ns = -9223372036854775807"
        " WHERE id IN (1, 4);"
        "UPDATE nvtx_range SET start_ns = -9223372036854775807, end_ns = 9223372036854775807 WHERE id = 2");
  }
  const auto capture = held(Capture::open(path_));
  ASSERT_TRUE(capture.ok()) << capture.failure().message;
  std::map<Id, std::int64_t> ends;
  Activity(capture.value()).for_each_launch({}, [&](const Launch& launch) {
    ends[launch.id] = launch.end_ns;
  });
  EXPECT_EQ(ends[1], INT64_MAX);
  EXPECT_EQ(ends[2], -INT64_MAX);
}

}  // namespace
}  // namespace ridgeline::store
