// Launches are kept as offsets from what their chunk of 1024 expects; what is read back is what was written, whatever
// the chunk expected, by Ridgeline and by the views.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture_writer.h"
#include "store/capture_testing.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

class CompactLaunches : public ::testing::Test {
 protected:
  CompactLaunches() : writer_(CaptureWriter::create(path()).value()) {
    store::Run run;
    run.command_line = "./train";
    run.ridgeline_version = "test";
    run.clock = "cupti";
    writer_->set_run(run);
    for (int i = 1; i <= 2; ++i) {
      Process process;
      process.pid = i;
      (void)writer_->add(process);
    }
    Device device;
    device.name = "NVIDIA H200";
    (void)writer_->add(device);
    kernel_ = writer_->kernel_id("_Z1av");
  }

  std::string path() const { return directory_.file("a.ridge"); }

  Id step(Id process) {
    Step step;
    step.process_id = process;
    step.step_index = steps_++;
    step.phase = Phase::timeline;
    return writer_->add(step);
  }

  void add(Launch launch) {
    launch.device_id = 1;
    launch.kernel_id = kernel_;
    launch.id = writer_->add(launch);
    written_.push_back(launch);
  }

  void finish() {
    writer_->finish();
    writer_.reset();
  }

  static void expect_equal(const Launch& read, const Launch& written) {
    EXPECT_EQ(read.id, written.id);
    EXPECT_EQ(read.process_id, written.process_id) << written.id;
    EXPECT_EQ(read.step_id, written.step_id) << written.id;
    EXPECT_EQ(read.ordinal_in_step, written.ordinal_in_step) << written.id;
    EXPECT_EQ(read.start_ns, written.start_ns) << written.id;
    EXPECT_EQ(read.end_ns, written.end_ns) << written.id;
    EXPECT_EQ(read.host_start_ns, written.host_start_ns) << written.id;
    EXPECT_EQ(read.host_end_ns, written.host_end_ns) << written.id;
    EXPECT_EQ(read.correlation_id, written.correlation_id) << written.id;
  }

  void expect_read_back() const {
    auto capture = held(Capture::open(path()));
    ASSERT_TRUE(capture.ok()) << capture.failure().message;
    const Activity activity(capture.value());
    std::vector<Launch> read;
    EXPECT_TRUE(activity.for_each_launch({}, [&](const Launch& row) { read.push_back(row); }));
    ASSERT_EQ(read.size(), written_.size());
    for (std::size_t i = 0; i < read.size() && !HasFailure(); ++i) expect_equal(read[i], written_[i]);
    expect_steps(activity);
  }

  // Each step's launches, asked for by the step.
  void expect_steps(const Activity& activity) const {
    for (Id step = 1; step <= steps_ && !HasFailure(); ++step) {
      std::vector<Launch> expected, read;
      for (const Launch& launch : written_) {
        if (launch.step_id == step) expected.push_back(launch);
      }
      ActivityFilter filter;
      filter.step_ids = std::vector<Id>{step};
      EXPECT_TRUE(activity.for_each_launch(filter, [&](const Launch& row) { read.push_back(row); }));
      ASSERT_EQ(read.size(), expected.size()) << "step " << step;
      for (std::size_t i = 0; i < read.size() && !HasFailure(); ++i) expect_equal(read[i], expected[i]);
    }
  }

  void expect_view() const {
    const Database database(path(), OpenMode::read_only);
    Statement row = database.prepare(
        "SELECT id, process_id, step_id, ordinal_in_step, start_ns, end_ns, host_start_ns, host_end_ns,"
        " correlation_id FROM launch ORDER BY id");
    for (std::size_t i = 0; i < written_.size() && !HasFailure(); ++i) {
      ASSERT_TRUE(row.step());
      Launch launch;
      launch.id = row.int64(0);
      launch.process_id = row.int64(1);
      launch.step_id = row.optional_int64(2);
      launch.ordinal_in_step = row.optional_int64(3);
      launch.start_ns = row.int64(4);
      launch.end_ns = row.int64(5);
      launch.host_start_ns = row.optional_int64(6);
      launch.host_end_ns = row.optional_int64(7);
      launch.correlation_id = row.int64(8);
      expect_equal(launch, written_[i]);
    }
    EXPECT_FALSE(row.step());
  }

  // Steps of 700 launches of two processes in turn, with pauses between the steps, launches outside of steps, and all
  // that a launch need not have left out now and then.
  void add_uneven() {
    std::mt19937_64 random(5);
    const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
    std::int64_t host = 1'700'000'000'000'000'000, gpu = host, correlation = 4'000'000'000;
    for (int s = 0; s < 8; ++s) {
      const Id process = 1 + s % 2;
      const Id id = step(process);
      host += 30'000'000;
      for (int k = 0; k < 700; ++k) {
        Launch launch;
        launch.process_id = process;
        launch.correlation_id = correlation += 1 + below(5);
        host += 2000 + below(3000);
        gpu = std::max(gpu + 500 + below(1000), host + 2000);
        launch.start_ns = gpu;
        launch.end_ns = gpu += 3000 + below(100'000);
        launch.host_start_ns = host;
        launch.host_end_ns = host + 1500 + below(1000);
        if (k % 50 != 7) {
          launch.step_id = id;
          launch.ordinal_in_step = k;
        }
        if (k % 61 == 0) launch.host_start_ns.reset();
        if (k % 67 == 0) launch.host_end_ns.reset();
        if (k % 71 == 0) launch.start_ns = launch.end_ns = 0;
        if (k % 73 == 0) launch.ordinal_in_step.reset();
        add(launch);
      }
    }
  }

  // What versions 3 to 7 wrote: offsets from the base alone, steps and ordinals as they are.
  void make_old(int version) {
    finish();
    Database database(path(), OpenMode::read_write);
    database.execute(
        "CREATE TABLE old_row (id INTEGER PRIMARY KEY, site_id INTEGER NOT NULL, step_id INTEGER,"
        " ordinal_in_step INTEGER, start_offset_ns INTEGER, duration_ns INTEGER NOT NULL, host_lead_ns "
        "INTEGER,"
        " host_duration_ns INTEGER, correlation_offset INTEGER NOT NULL) STRICT;"
        "INSERT INTO old_row SELECT l.id, r.site_id, l.step_id, l.ordinal_in_step,"
        " nullif(l.start_ns, 0) - c.base_ns, r.duration_ns,"
        " coalesce(nullif(l.start_ns, 0), c.base_ns) - l.host_start_ns,"
        " l.host_end_ns - coalesce(l.host_start_ns, nullif(l.start_ns, 0), c.base_ns),"
        " l.correlation_id - c.base_correlation_id"
        " FROM launch l JOIN launch_row r USING (id) JOIN launch_chunk c ON c.id = l.id >> 10");
    Statement view = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'");
    std::string drop;
    while (view.step()) drop += "DROP VIEW " + view.text(0) + ";";
    database.execute(drop + "DROP TABLE launch_row; ALTER TABLE old_row RENAME TO launch_row");
    for (const char* column : {"stride_ns", "correlation_stride", "base_host_ns", "host_stride_ns",
                               "base_step_id", "base_ordinal"})
      database.execute(std::string("ALTER TABLE launch_chunk DROP COLUMN ") + column);
    testing::drop_order(database);
    testing::make_reasons_sentences(database);
    database.execute("DELETE FROM table_rows");
    if (version < 6) database.execute("DROP TABLE table_rows");
    if (version < 7) {
      for (const char* column : {"tokens", "samples", "m", "n", "k"})
        database.execute(std::string("ALTER TABLE declared_work DROP COLUMN ") + column);
    }
    if (version < 4) {
      database.execute(
          "DROP TABLE synchronisation; ALTER TABLE recording_window DROP COLUMN synchronisation");
    }
    database.execute("PRAGMA user_version = " + std::to_string(version));
  }

  TemporaryDirectory directory_;
  std::optional<CaptureWriter> writer_;
  Id kernel_ = 0;
  Id steps_ = 0;
  std::vector<Launch> written_;
};

TEST_F(CompactLaunches, UnevenOnesAreReadBack) {
  add_uneven();
  finish();
  expect_read_back();
  expect_view();
}

TEST_F(CompactLaunches, TimesAndNumbersAtTheEndsOfAnIntegerAreReadBack) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t odd[] = {1, kMax, kMin, -1, kMax - 1};
  for (int i = 0; i < 2100; ++i) {
    Launch launch;
    launch.process_id = 1;
    launch.start_ns = odd[i % 5];
    launch.end_ns = odd[(i / 5) % 5];
    launch.host_start_ns = odd[(i / 25) % 5];
    launch.host_end_ns = odd[(i / 7) % 5];
    launch.correlation_id = odd[(i / 3) % 5];
    add(launch);
  }
  finish();
  expect_read_back();
}

// The first chunk shows how launches follow each other; those of the next are as expected.
TEST_F(CompactLaunches, OfEvenOnesNothingIsLeftToStore) {
  const Id id = step(1);
  for (int k = 0; k < 3 * 1024; ++k) {
    Launch launch;
    launch.process_id = 1;
    launch.step_id = id;
    launch.ordinal_in_step = k;
    launch.start_ns = 1'000'000'000 + 60'000LL * k;
    launch.end_ns = launch.start_ns + 50'000;
    launch.host_start_ns = 999'000'000 + 3500LL * k;
    launch.host_end_ns = *launch.host_start_ns + 2500;
    launch.correlation_id = 17 + 3LL * k;
    add(launch);
  }
  finish();
  expect_read_back();
  const Database database(path(), OpenMode::read_only);
  EXPECT_EQ(
      database.scalar_int64("SELECT count(*) FROM launch_row WHERE id >= 2048 AND (start_offset_ns <> 0 OR"
                            " host_offset_ns <> 0 OR correlation_offset <> 0)"),
      0);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM launch_row WHERE step_offset <> 0"), 0);
  // Ids count from 1: the first chunk has 1023 launches, and its places begin with 1.
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM launch_row WHERE ordinal_offset <> 0"), 0);
  EXPECT_EQ(database.scalar_int64("SELECT stride_ns FROM launch_chunk WHERE id = 2"), 60'000);
  EXPECT_EQ(database.scalar_int64("SELECT host_stride_ns FROM launch_chunk WHERE id = 2"), 3500);
  EXPECT_EQ(database.scalar_int64("SELECT correlation_stride FROM launch_chunk WHERE id = 2"), 3);
}

TEST_F(CompactLaunches, OfVersionSevenAreReadInPlace) {
  add_uneven();
  make_old(7);
  expect_read_back();
  const Database database(path(), OpenMode::read_only);
  EXPECT_EQ(database.scalar_int64("PRAGMA user_version"), 7);
}

TEST_F(CompactLaunches, OfVersionFourAreMigrated) {
  add_uneven();
  make_old(4);
  expect_read_back();
  const auto capture = held(Capture::open(path()));
  ASSERT_TRUE(capture.ok());
  const auto answer =
      capture.value().query("SELECT count(*), sum(ordinal_in_step) FROM v_launch WHERE step_index = 3");
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  std::int64_t launches = 0, ordinals = 0;
  for (const Launch& launch : written_) {
    if (launch.step_id != 4) continue;  // ids count from 1, indices from 0
    ++launches;
    ordinals += launch.ordinal_in_step.value_or(0);
  }
  EXPECT_EQ(std::get<std::int64_t>(answer.value().rows[0][0]), launches);
  EXPECT_EQ(std::get<std::int64_t>(answer.value().rows[0][1]), ordinals);
}

}  // namespace
}  // namespace ridgeline::store
