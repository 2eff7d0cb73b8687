// Delays in front of launches: written, read, kept in a part of a capture, and absent in older captures.
#include "ridgeline/store/interventions.h"

#include <gtest/gtest.h>

#include "capture_testing.h"
#include "ridgeline/store/schema.h"
#include "support/accepted_cases.h"
#include "support/opened_capture.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

std::string write_delayed(const TemporaryDirectory& directory) {
  auto writer = CaptureWriter::create(directory.file("a.ridge"));
  EXPECT_TRUE(writer.ok());
  const auto ids = testing::write_sample(writer.value());
  Intervention row;
  row.process_id = ids.process;
  row.step_id = ids.step;
  row.kernel_id = writer.value().kernel_id("_Z1kv");
  row.ordinal = 4;
  row.seed = "18446744073709551615";
  writer.value().add(row);
  row.target = 1;
  row.drawn = true;
  row.level_ns = 50'000;
  row.start_ns = 105;
  row.end_ns = 50'905;
  writer.value().add(row);
  row.level_ns = 60'000;
  writer.value().add(row);  // again: it replaces
  writer.value().finish();
  return directory.file("a.ridge");
}

TEST(StoredInterventions, ComeBackAsTheyWere) {
  const TemporaryDirectory directory;
  const Capture capture = held(Capture::open(write_delayed(directory))).value();
  const auto rows = accepted(interventions(capture));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].target, 0);
  EXPECT_FALSE(rows[0].drawn);
  EXPECT_FALSE(rows[0].start_ns.has_value());
  EXPECT_EQ(rows[0].ordinal, 4);
  EXPECT_EQ(rows[0].seed, "18446744073709551615");
  EXPECT_TRUE(rows[1].drawn);
  EXPECT_EQ(rows[1].level_ns, 60'000);
  EXPECT_EQ(rows[1].end_ns, 50'905);
  EXPECT_TRUE(capture.verify().damage.empty());
}

TEST(StoredInterventions, AreNoneBeforeTheirVersion) {
  const TemporaryDirectory directory;
  const std::string path = testing::write_file(directory);
  {
    Database database(path, OpenMode::read_write);
    testing::drop_jobs(database);
    database.execute("DROP TABLE intervention; DELETE FROM table_rows; PRAGMA user_version = " +
                     std::to_string(kInterventionsAreKept - 1));
  }
  const auto capture = held(Capture::open(path));
  ASSERT_TRUE(capture.ok()) << capture.failure().message;
  EXPECT_TRUE(accepted(interventions(capture.value())).empty());
}

}  // namespace
}  // namespace ridgeline::store
