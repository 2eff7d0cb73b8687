#include "ridgeline/store/schema.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "capture_file.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::TemporaryDirectory;

constexpr std::string_view kNoViews = "SELECT 1";

TEST(Migrate, AnEmptyFileReachesTheCurrentVersion) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  migrate(database, migrations(), views_sql());
  EXPECT_EQ(database.scalar_int64("PRAGMA user_version"), schema_version());
  EXPECT_EQ(database.scalar_int64("PRAGMA application_id"), kApplicationId);
  EXPECT_GT(database.scalar_int64("SELECT count(*) FROM sqlite_master WHERE type = 'view'"), 4);
}

// The file store/src/schema_newest.h, of the tables and indexes of a database.
std::string header_of(const Database& database) {
  std::string text =
      "// What all migrations together make of an empty file, as statements. The migrations alter and "
      "replace tables,\n"
      "// and SQLite then reads the whole schema again, which takes longer than writing a small capture.\n"
      "//\n"
      "// Written by `RIDGELINE_ACCEPT_TABLES=1 build/tests/test_store --gtest_filter='Migrate.*'`, never by "
      "hand: after a\n"
      "// migration is added.\n"
      "#pragma once\n\nnamespace ridgeline::store {\n\ninline constexpr const char kNewestTables[] = "
      "R\"sql(\n";
  Statement made = database.prepare(
      "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'view' AND name NOT LIKE 'sqlite_%' "
      "ORDER BY rowid");
  while (made.step()) text.append(made.text(0)).append(";\n");
  return text + ")sql\";\n\n}  // namespace ridgeline::store\n";
}

TEST(Migrate, AFileIsMadeAsTheMigrationsMakeItStepByStep) {
  const auto schema = [](const Database& database) {
    std::vector<std::string> rows;
    Statement row =
        database.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY rowid");
    while (row.step())
      rows.push_back(row.text(0) + " " + row.text(1) + " " + row.text(2) + " " + row.text(3));
    rows.push_back(std::to_string(database.scalar_int64("PRAGMA user_version")));
    rows.push_back(std::to_string(database.scalar_int64("PRAGMA application_id")));
    return rows;
  };
  TemporaryDirectory directory;
  Database by_step(directory.file("by-step"), OpenMode::create);
  for (std::size_t steps = 1; steps < migrations().size(); ++steps)
    migrate(by_step, migrations().first(steps), kNoViews);
  migrate(by_step, migrations(), views_sql());
  EXPECT_GT(schema(by_step).size(), 60U);
  if (std::getenv("RIDGELINE_ACCEPT_TABLES") != nullptr)
    std::ofstream(RIDGELINE_SOURCE_DIR "/store/src/schema_newest.h", std::ios::binary) << header_of(by_step);
  Database at_once(directory.file("at-once"), OpenMode::create);
  migrate(at_once, migrations(), views_sql());
  EXPECT_EQ(schema(at_once), schema(by_step)) << "store/src/schema_newest.h says how it is made anew";
  // A file that has something in it already is brought up step by step.
  Database other(directory.file("other"), OpenMode::create);
  other.execute("CREATE TABLE mine(i INTEGER)");
  migrate(other, migrations(), views_sql());
  EXPECT_EQ(other.scalar_int64("PRAGMA user_version"), schema_version());
  EXPECT_EQ(other.scalar_int64("SELECT count(*) FROM mine"), 0);
}

TEST(Migrate, OnlyTheMissingStepsRun) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  const std::array first = {Migration{1, "CREATE TABLE t(i INTEGER); INSERT INTO t VALUES (1)"}};
  const std::array both = {first[0], Migration{2, "ALTER TABLE t ADD COLUMN j INTEGER DEFAULT 7"}};
  migrate(database, first, kNoViews);
  migrate(database, both, kNoViews);
  migrate(database, both, kNoViews);  // again: nothing to do
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM t"), 1);
  EXPECT_EQ(database.scalar_int64("SELECT j FROM t"), 7);
  EXPECT_EQ(database.scalar_int64("PRAGMA user_version"), 2);
}

TEST(Migrate, AFailingStepChangesNothing) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  const std::array first = {Migration{1, "CREATE TABLE t(i INTEGER)"}};
  migrate(database, first, kNoViews);
  const std::array broken = {first[0], Migration{2, "CREATE TABLE u(i INTEGER); NO SUCH STATEMENT"}};
  EXPECT_THROW(migrate(database, broken, kNoViews), Error);
  EXPECT_EQ(database.scalar_int64("PRAGMA user_version"), 1);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM sqlite_master WHERE name = 'u'"), 0);
}

TEST(Migrate, StepsOfTheFirstVersionKeepTheirRowsAndWhatRefersToThem) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("PRAGMA foreign_keys = ON");
  migrate(database, migrations().first(1), kNoViews);
  database.execute(
      "INSERT INTO process(id, pid) VALUES (1, 10);"
      "INSERT INTO device(id, device_index, name) VALUES (1, 0, 'd');"
      "INSERT INTO kernel VALUES (1, 'k', 'k', 'k', 'other', NULL);"
      "INSERT INTO step(id, process_id, step_index, phase, status) VALUES (7, 1, 3, 'replay', 'ok');"
      "INSERT INTO launch(process_id, device_id, context_id, stream_id, correlation_id, kernel_id, start_ns, "
      "end_ns,"
      " grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_smem_bytes,"
      " dynamic_smem_bytes, step_id) VALUES (1, 1, 1, 1, 1, 1, 5, 6, 1, 1, 1, 1, 1, 1, 1, 0, 0, 7)");
  migrate(database, migrations(), views_sql());
  EXPECT_EQ(database.scalar_int64("SELECT step_index FROM step WHERE id = 7 AND source = 'nvtx'"), 3);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  EXPECT_EQ(database.scalar_int64("SELECT step_index FROM v_launch"), 3);
  database.execute("INSERT INTO step(process_id, step_index, phase, status) VALUES (1, 4, 'cold', 'ok')");
  EXPECT_THROW(
      database.execute("INSERT INTO step(process_id, step_index, phase, status) VALUES (1, 5, 'no', 'ok')"),
      Error);
}

TEST(Migrate, ANewerFileIsRefused) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("PRAGMA user_version = 999");
  try {
    migrate(database, migrations(), views_sql());
    FAIL() << "a newer file was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::newer_capture);
  }
}

TEST(Schema, VersionsAreConsecutiveFromOne) {
  int expected = 1;
  for (const Migration& step : migrations()) EXPECT_EQ(step.to_version, expected++);
}

// Views are for people without Ridgeline: each must be readable and none may be forgotten when they are
// remade.
TEST(Schema, EveryViewCanBeSelectedFrom) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  migrate(database, migrations(), views_sql());
  migrate(database, migrations(), views_sql());
  Statement views = database.prepare("SELECT name FROM sqlite_master WHERE type = 'view'");
  int count = 0;
  std::set<std::string> names;
  while (views.step()) {
    Statement select = database.prepare("SELECT * FROM " + views.text(0));
    while (select.step()) {
    }
    names.insert(views.text(0));
    ++count;
  }
  // Public views are v_…; three stand in for what was a table of that name.
  for (const char* former : {"launch", "nvtx_range", "annotation"})
    EXPECT_EQ(names.erase(former), 1u) << former;
  for (const std::string& name : names) EXPECT_EQ(name.substr(0, 2), "v_");
  const std::string text(views_sql());
  const std::regex create("CREATE VIEW (\\w+) AS +--");  // each view says what a row is
  EXPECT_EQ(count,
            std::distance(std::sregex_iterator(text.begin(), text.end(), create), std::sregex_iterator()));
}

// What opening a capture requires is what the migrations make.
TEST(Schema, EveryTableIsRequiredOfACapture) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  migrate(database, migrations(), views_sql());
  std::set<std::string> made;
  Statement table = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> "
      "'table_rows'");
  while (table.step()) made.insert(table.text(0));
  const auto required = table_names();
  EXPECT_EQ(made, std::set<std::string>(required.begin(), required.end()));
}

// The first version knew of no other kernels beside a launch; its values are of the launch alone.
TEST(Migrate, ValuesOfTheFirstVersionAreOfOneKernel) {
  Database database(":memory:", OpenMode::read_write);
  migrate(database, migrations().first(1), "");
  database.execute(
      "INSERT INTO metric VALUES (1, 'dram__bytes_read.sum', 'r', 'bytes', 'm');"
      "INSERT INTO launch_metric(launch_id, metric_id, tier, value) VALUES (1, 1, 'T1', 5.5)");
  migrate(database, migrations(), views_sql());
  EXPECT_EQ(database.scalar_int64("SELECT concurrent FROM launch_metric"), 0);
}

}  // namespace
}  // namespace ridgeline::store
