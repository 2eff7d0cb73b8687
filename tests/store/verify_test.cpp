// Whether a capture still holds what was written: rows that are gone, values that are others.
#include <fstream>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "store/capture_testing.h"

namespace ridgeline::store::testing {
namespace {

TEST(Capture, RowsThatAreGoneAreNoticed) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    const auto whole = Capture::open(path);
    ASSERT_TRUE(whole.ok());
    EXPECT_TRUE(whole.value().lost_rows().empty());
    const Verification verified = whole.value().verify();
    EXPECT_TRUE(verified.noted);
    EXPECT_EQ(verified.damage, std::vector<std::string>());
  }
  Database(path, OpenMode::read_write).execute("DELETE FROM launch_metric");
  const auto opened = Capture::open(path);
  ASSERT_TRUE(opened.ok());
  const auto lost = opened.value().lost_rows();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].table, "launch_metric");
  EXPECT_EQ(lost[0].rows, 0);
  EXPECT_EQ(lost[0].written, 1);
}

struct Change {
  const char* name;
  const char* sql;
  const char* said;
};
class Changes : public ::testing::TestWithParam<Change> {};

TEST_P(Changes, AreFoundByVerify) {
  const TemporaryDirectory directory;
  const std::string path = write_file(directory);
  { Database(path, OpenMode::read_write).execute(GetParam().sql); }
  const auto opened = Capture::open(path);
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  std::string lines;
  for (const std::string& line : opened.value().verify().damage) lines += line + "\n";
  EXPECT_NE(lines.find(GetParam().said), std::string::npos) << lines;
}

INSTANTIATE_TEST_SUITE_P(
    Values, Changes,
    ::testing::Values(
        Change{"LaunchGone", "DELETE FROM launch_row", "step id 1 holds 0 launches of 0 ns, 1 of 100 ns"},
        Change{"LaunchLonger", "UPDATE launch_row SET duration_ns = duration_ns + 1",
               "step id 1 holds 1 launches of 101 ns, 1 of 100 ns"},
        Change{"LaunchLater", "UPDATE launch_row SET start_offset_ns = coalesce(start_offset_ns, 0) + 1",
               "table launch_row holds other values"},
        Change{"HostLater", "UPDATE launch_row SET host_offset_ns = coalesce(host_offset_ns, 0) + 1",
               "table launch_row holds other values"},
        Change{"OtherGrid", "UPDATE launch_site SET grid_x = 8", "step id 1 holds other kernels or grids"},
        Change{"ValueChanged", "UPDATE launch_metric SET value = value + 1",
               "table launch_metric holds other values"},
        Change{"NameChanged", "UPDATE kernel SET demangled_name = 'other'",
               "table kernel holds other values"},
        Change{"ColumnRenamed", "ALTER TABLE pm_window RENAME COLUMN reason_id TO treason_id",
               "table pm_window has other columns than were written"},
        Change{"OtherSite", "PRAGMA foreign_keys = OFF; UPDATE launch_row SET site_id = 9999",
               "a row names a site that is not there"},
        Change{"FewerRecorded", "UPDATE completeness SET kernel_records = 2",
               "process id 1 holds 1 launches, 2 were recorded"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Capture, ACaptureOfTheVersionBeforeIsReadAsItIs) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database database(path, OpenMode::read_write);
    make_reasons_sentences(database);
    database.execute("DROP TABLE table_rows; PRAGMA user_version = 5");
  }
  const auto opened = Capture::open(path);
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  EXPECT_EQ(opened.value().launches().size(), 1u);
  EXPECT_TRUE(opened.value().lost_rows().empty());
  EXPECT_FALSE(opened.value().verify().noted);
}

// What must not be written over is told by its first bytes, whatever it is called.
TEST(IsCaptureFile, KnowsACaptureFromOtherFiles) {
  TemporaryDirectory directory;
  const std::string capture = write_file(directory, "renamed.txt");
  EXPECT_TRUE(is_capture_file(capture));
  EXPECT_FALSE(is_capture_file(directory.file("none.ridge")));
  EXPECT_FALSE(is_capture_file(directory.path()));
  { Database(directory.file("other.ridge"), OpenMode::create).execute("CREATE TABLE t (a)"); }
  EXPECT_FALSE(is_capture_file(directory.file("other.ridge"))) << "of another program";
  std::ofstream(directory.file("text.ridge")) << "SQLite format 3";
  EXPECT_FALSE(is_capture_file(directory.file("text.ridge")));
}

TEST(Verification, AHundredLinesOfDamageAreEnough) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    auto writer = CaptureWriter::create(path).value();
    const Written ids = write_sample(writer);
    writer.add(Completeness{ids.process, 121, 121, 0, 0, 0, 0, 0, 0, 0});
    for (int i = 1; i <= 120; ++i) {
      Step step;
      step.process_id = ids.process;
      step.step_index = i;
      step.phase = Phase::timeline;
      Launch launch;
      launch.process_id = ids.process;
      launch.device_id = ids.device;
      launch.kernel_id = ids.kernel;
      launch.start_ns = 1000 * i;
      launch.end_ns = launch.start_ns + 10;
      launch.step_id = writer.add(step);
      writer.add(launch);
    }
    writer.finish();
  }
  const auto damage = [&] { return Capture::open(path).value().verify().damage; };
  EXPECT_TRUE(damage().empty()) << damage().front();
  { Database(path, OpenMode::read_write).execute("UPDATE launch_row SET duration_ns = duration_ns + 1"); }
  EXPECT_EQ(damage().size(), 100u);
  EXPECT_NE(damage().back().find("step id "), std::string::npos) << damage().back();
}

}  // namespace
}  // namespace ridgeline::store::testing
