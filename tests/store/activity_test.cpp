#include "ridgeline/store/activity.h"

#include <gtest/gtest.h>

#include <set>

#include "ridgeline/store/capture_writer.h"
#include "store/capture_testing.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

// Two processes; the first has three steps of three launches, the second of which runs a different grid, and one
// launch behind them. Launch k of step s starts at 10'000 + 1000 s + 100 k and takes 10 + s + k ns.
class ActivityTest : public ::testing::Test {
 protected:
  ActivityTest() {
    auto created = CaptureWriter::create(directory_.file("a.ridge"));
    if (!created.ok()) throw std::runtime_error(created.failure().message);
    CaptureWriter writer = std::move(created).value();
    store::Run run;
    run.command_line = "./train";
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    writer.set_run(run);
    Process process;
    process.pid = 1;
    first_ = writer.add(process);
    process.pid = 2;
    second_ = writer.add(process);
    Device device;
    device.name = "NVIDIA H200";
    device_ = writer.add(device);
    const Id kernels[] = {writer.kernel_id("_Z1av"), writer.kernel_id("_Z1bv"), writer.kernel_id("_Z1cv")};
    metric_ = writer.metric_id("dram__bytes_read.sum");
    for (int s = 0; s < 3; ++s) {
      Step step;
      step.process_id = first_;
      step.step_index = s;
      step.phase = Phase::timeline;
      steps_.push_back(writer.add(step));
      for (int k = 0; k < 3; ++k) {
        Launch launch = launch_of(first_, kernels[k], 10'000 + 1000 * s + 100 * k, 10 + s + k);
        launch.step_id = steps_.back();
        launch.ordinal_in_step = k;
        launch.grid.x = s == 1 && k == 2 ? 7 : 5;
        const Id id = writer.add(launch);
        writer.add(LaunchMetric{id, metric_, Tier::t2, 100.0 * s + k, std::nullopt, std::nullopt});
      }
      NvtxRange range;
      range.process_id = first_;
      range.thread_id = 9;
      range.name_id = range.path_id = writer.string_id("step");
      range.step_id = steps_.back();
      range.start_ns = 10'000 + 1000 * s;
      if (s != 2) range.end_ns = 10'900 + 1000 * s;
      const Id range_id = writer.add(range);
      writer.add(Annotation{0, range_id, "op_cost", 64.0 * s, std::nullopt});
      Memcpy copy{0,
                  first_,
                  device_,
                  1,
                  7,
                  90,
                  CopyKind::host_to_device,
                  4096,
                  9'900 + 1000 * s,
                  9'950 + 1000 * s,
                  steps_.back(),
                  {}};
      writer.add(copy);
      Memset set{0, first_, device_, 1, 7, 91, 64, 10'960 + 1000 * s, 10'980 + 1000 * s, steps_.back(), {}};
      writer.add(set);
    }
    writer.add(launch_of(first_, kernels[0], 20'000, 50));
    writer.add(launch_of(second_, kernels[0], 10'050, 500));
    Launch untimed = launch_of(second_, kernels[0], 0, 0);
    writer.add(untimed);
    writer.finish();
    auto opened = held(Capture::open(directory_.file("a.ridge")));
    if (!opened.ok()) throw std::runtime_error(opened.failure().message);
    capture_.emplace(std::move(opened).value());
  }

  Launch launch_of(Id process, Id kernel, std::int64_t start, std::int64_t duration) const {
    Launch launch;
    launch.process_id = process;
    launch.device_id = device_;
    launch.kernel_id = kernel;
    launch.start_ns = start;
    launch.end_ns = start + duration;
    return launch;
  }
  std::vector<Launch> launches(const ActivityFilter& filter) const {
    std::vector<Launch> rows;
    EXPECT_TRUE(Activity(*capture_).for_each_launch(filter, [&](const Launch& row) { rows.push_back(row); }));
    return ridgeline::testing::accepted(rows);
  }

  TemporaryDirectory directory_;
  std::optional<Capture> capture_;
  Id first_ = 0, second_ = 0, device_ = 0, metric_ = 0;
  std::vector<Id> steps_;
};

TEST_F(ActivityTest, WithoutAFilterEveryLaunchIsVisitedOnce) {
  std::set<Id> ids;
  for (const Launch& launch : launches({})) ids.insert(launch.id);
  EXPECT_EQ(ids.size(), 12u);
}

TEST_F(ActivityTest, StepsAreVisitedInTheOrderAskedFor) {
  ActivityFilter filter;
  filter.step_ids = {steps_[2], steps_[0]};
  std::vector<std::int64_t> starts;
  for (const Launch& launch : launches(filter)) starts.push_back(launch.start_ns);
  EXPECT_EQ(starts, (std::vector<std::int64_t>{12'000, 12'100, 12'200, 10'000, 10'100, 10'200}));
}

TEST_F(ActivityTest, AnEmptyListOfStepsOrAnUnknownOneSelectsNothing) {
  ActivityFilter filter;
  filter.step_ids.emplace();
  EXPECT_TRUE(launches(filter).empty());
  filter.step_ids = {12345, -1};
  EXPECT_TRUE(launches(filter).empty());
}

TEST_F(ActivityTest, AWindowSelectsWhatOverlapsItUpToItsEnd) {
  ActivityFilter filter;
  filter.process_id = first_;
  filter.time = TimeSpan{10'010, 10'200};  // the first launch ends at its start, the third begins at its end
  const auto found = launches(filter);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start_ns, 10'100);
  filter.time = TimeSpan{10'009, 10'201};
  EXPECT_EQ(launches(filter).size(), 3u);
}

TEST_F(ActivityTest, AProcessHasItsOwnLaunchesOnlyAndUntimedOnesAreInNoWindow) {
  ActivityFilter filter;
  filter.process_id = second_;
  EXPECT_EQ(launches(filter).size(), 2u);
  filter.time = TimeSpan{0, INT64_MAX};
  EXPECT_EQ(launches(filter).size(), 1u);
}

TEST_F(ActivityTest, EveryFieldOfALaunchComesBack) {
  const Launch launch = launches({}).front();
  EXPECT_EQ(launch.process_id, first_);
  EXPECT_EQ(launch.device_id, device_);
  EXPECT_EQ(launch.end_ns, 10'010);
  EXPECT_EQ(launch.grid.x, 5);
  EXPECT_EQ(launch.ordinal_in_step, 0);
  EXPECT_EQ(launch.step_id, steps_[0]);
  EXPECT_EQ(launch.host_start_ns, std::nullopt);
  EXPECT_EQ(launch.graph_id, std::nullopt);
}

TEST_F(ActivityTest, CopiesSetsRangesAnnotationsAndMetricsFollowTheSameFilter) {
  const Activity activity(*capture_);
  ActivityFilter filter;
  filter.step_ids = {steps_[1]};
  int copies = 0, sets = 0;
  EXPECT_TRUE(activity.for_each_memcpy(filter, [&](const Memcpy& row) {
    ++copies;
    EXPECT_EQ(row.start_ns, 10'900);
    EXPECT_EQ(row.kind, CopyKind::host_to_device);
  }));
  EXPECT_TRUE(activity.for_each_memset(filter, [&](const Memset& row) {
    ++sets;
    EXPECT_EQ(row.bytes, 64);
  }));
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(sets, 1);
  std::vector<double> values;
  EXPECT_TRUE(
      activity.for_each_launch_metric(filter, [&](const LaunchMetric& row) { values.push_back(row.value); }));
  EXPECT_EQ(values, (std::vector<double>{100, 101, 102}));
  std::vector<std::optional<double>> bytes;
  EXPECT_TRUE(
      activity.for_each_annotation(filter, [&](const Annotation& row) { bytes.push_back(row.bytes); }));
  EXPECT_EQ(bytes, (std::vector<std::optional<double>>{64.0}));
  int ranges = 0;
  EXPECT_TRUE(activity.for_each_range(filter, [&](const NvtxRange& row) {
    ++ranges;
    EXPECT_EQ(row.end_ns, 11'900);
  }));
  EXPECT_EQ(ranges, 1);
}

TEST_F(ActivityTest, ARangeThatNeverEndedOverlapsEverythingAfterItsStart) {
  ActivityFilter filter;
  filter.time = TimeSpan{1'000'000, 1'000'001};
  int ranges = 0;
  EXPECT_TRUE(Activity(*capture_).for_each_range(filter, [&](const NvtxRange& row) {
    ++ranges;
    EXPECT_EQ(row.step_id, steps_[2]);
    EXPECT_EQ(row.end_ns, std::nullopt);
  }));
  EXPECT_EQ(ranges, 1);
}

// Captures from schema 5 on are read as they are: the work of one without tokens and products has none.
TEST_F(ActivityTest, WorkOfACaptureBeforeTokensIsReadInPlace) {
  capture_.reset();
  {
    Database database(directory_.file("a.ridge"), OpenMode::read_write);
    testing::make_reasons_sentences(database);
    for (const char* column : {"tokens", "samples", "m", "n", "k"})
      database.execute(std::string("ALTER TABLE declared_work DROP COLUMN ") + column);
    database.execute("DELETE FROM table_rows");
    database.execute("PRAGMA user_version = 6");
  }
  const Capture old = std::move(held(Capture::open(directory_.file("a.ridge")))).value();
  const std::vector<Annotation> rows = old.annotations();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].bytes, 64.0);
  EXPECT_FALSE(rows[1].tokens || rows[1].samples || rows[1].m || rows[1].n || rows[1].k);
}

TEST_F(ActivityTest, AStopEndsTheVisitAndLeavesTheCaptureUsable) {
  const Activity activity(*capture_);
  std::stop_source source;
  int seen = 0;
  const bool whole = activity.for_each_launch(
      {},
      [&](const Launch&) {
        if (++seen == 4) source.request_stop();
      },
      source.get_token());
  EXPECT_FALSE(whole);
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(launches({}).size(), 12u);
}

TEST_F(ActivityTest, WhatTheVisitorThrowsPassesThrough) {
  const Activity activity(*capture_);
  EXPECT_THROW(activity.for_each_launch({}, [](const Launch&) { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(launches({}).size(), 12u);
}

TEST_F(ActivityTest, StoppingInsideOneOfSeveralStepsStopsAll) {
  std::stop_source source;
  std::int64_t seen = 0;
  const bool whole = Activity(*capture_).for_each_launch(
      {{}, steps_, {}},
      [&](const Launch&) {
        ++seen;
        source.request_stop();
      },
      source.get_token());
  EXPECT_FALSE(whole);
  EXPECT_LT(seen, 9);
  EXPECT_FALSE(Activity(*capture_).for_each_memcpy(
      {{}, steps_, {}}, [](const Memcpy&) {}, source.get_token()));
}

TEST_F(ActivityTest, TotalsOfStepsAreThoseOfTheirRows) {
  const auto totals = Activity(*capture_).step_totals();
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[1].step_id, steps_[1]);
  EXPECT_EQ(totals[1].launches, 3);
  EXPECT_EQ(totals[1].launches_without_time, 0);
  EXPECT_EQ(totals[1].kernel_time_ns, 11 + 12 + 13);
  EXPECT_EQ(totals[1].kernel_start_ns, 11'000);
  EXPECT_EQ(totals[1].kernel_end_ns, 11'213);
  EXPECT_EQ(totals[1].copies, 2);
  EXPECT_EQ(totals[1].copy_start_ns, 10'900);
  EXPECT_EQ(totals[1].copy_end_ns, 11'980);
  EXPECT_EQ(totals[0].sequence_hash, totals[2].sequence_hash);
  EXPECT_NE(totals[0].sequence_hash, totals[1].sequence_hash) << "another grid is another sequence";
}

TEST_F(ActivityTest, TotalsOfProcessesCountLaunchesOutsideOfSteps) {
  const auto totals = Activity(*capture_).process_totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].launches, 10);
  EXPECT_EQ(totals[0].kernel_time_ns, 33 + 36 + 39 + 50);
  EXPECT_EQ(totals[1].launches, 2);
  EXPECT_EQ(totals[1].launches_without_time, 1);
  EXPECT_EQ(totals[1].kernel_time_ns, 500);
}

TEST_F(ActivityTest, OrdinalSumsAreOverTheStepsOfOneSequence) {
  const Activity activity(*capture_);
  const auto totals = activity.step_totals();
  const auto sums = activity.ordinal_sums({first_, Phase::timeline, totals[0].sequence_hash});
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[1].ordinal_in_step, 1);
  EXPECT_EQ(sums[1].count, 2);
  EXPECT_EQ(sums[1].sum_ns, 11 + 13);
  EXPECT_EQ(sums[1].sum_of_squares_ns2, 121.0 + 169.0);
  EXPECT_TRUE(activity.ordinal_sums({first_, Phase::timeline, totals[1].sequence_hash}).empty())
      << "of one step only";
  EXPECT_TRUE(activity.ordinal_sums({second_, Phase::timeline, totals[0].sequence_hash}).empty());
  EXPECT_TRUE(activity.ordinal_sums({first_, Phase::replay, totals[0].sequence_hash}).empty());
}

// A step whose launches come in two parts far apart has been closed in between: what was summed up of it is only half.
TEST(OrdinalSums, AreNotMadeOfStepsThatWereClosedTooEarly) {
  const TemporaryDirectory directory;
  constexpr int kSteps = 5000;  // more than are held open
  {
    auto writer = CaptureWriter::create(directory.file("a")).value();
    writer.set_run({});
    const Id process = writer.add(Process{.pid = 1});
    const Id device = writer.add(Device{.name = "GPU"});
    Launch launch;
    launch.process_id = process;
    launch.device_id = device;
    launch.kernel_id = writer.kernel_id("k");
    std::vector<Id> steps;
    for (int i = 0; i < kSteps; ++i)
      steps.push_back(writer.add(Step{.process_id = process, .step_index = i}));
    for (const std::int64_t ordinal : {0, 1}) {
      launch.ordinal_in_step = ordinal;
      for (int i = 0; i < kSteps; ++i) {
        launch.step_id = steps[static_cast<std::size_t>(i)];
        launch.start_ns = 1000 * (i + 1) + ordinal * 10;
        launch.end_ns = launch.start_ns + 5;
        if (i == 7) launch.start_ns = launch.end_ns = 0;
        writer.add(launch);
        if (ordinal == 0) {
          Memcpy copy;
          copy.process_id = process;
          copy.device_id = device;
          copy.start_ns = 1000 * (i + 1) + 20;
          copy.end_ns = copy.start_ns + 7;
          copy.step_id = steps[static_cast<std::size_t>(i)];
          writer.add(copy);
          NvtxRange range;
          range.process_id = process;
          range.thread_id = 1;
          range.name_id = range.path_id = writer.string_id("op");
          range.start_ns = copy.start_ns;
          range.step_id = copy.step_id;
          writer.add(range);
        }
      }
    }
    writer.finish();
  }
  const auto capture = held(Capture::open(directory.file("a")));
  ASSERT_TRUE(capture.ok()) << capture.failure().message;
  const Activity activity(capture.value());
  const auto totals = activity.step_totals();
  ASSERT_EQ(totals.size(), std::size_t{kSteps});
  EXPECT_EQ(totals.front().launches, 2);
  EXPECT_EQ(totals.front().launches_without_time, 0);
  EXPECT_EQ(totals.front().kernel_time_ns, 10);
  EXPECT_EQ(totals.front().kernel_start_ns, 1000);
  EXPECT_EQ(totals.front().kernel_end_ns, 1015);
  EXPECT_EQ(totals.front().copies, 1);
  EXPECT_EQ(totals.front().copy_start_ns, 1020);
  EXPECT_EQ(totals.front().copy_end_ns, 1027);
  EXPECT_EQ(totals[7].launches, 2);
  EXPECT_EQ(totals[7].launches_without_time, 2);
  EXPECT_EQ(totals[7].kernel_time_ns, 0);
  // What came before a step was closed is still found: its ids go from the first part to the second.
  ActivityFilter first_step;
  first_step.step_ids = std::vector<Id>{totals.front().step_id};
  std::vector<std::int64_t> starts;
  activity.for_each_launch(first_step, [&](const Launch& row) { starts.push_back(row.start_ns); });
  EXPECT_EQ(starts, (std::vector<std::int64_t>{1000, 1010}));
  int ranges = 0;
  activity.for_each_range(first_step, [&](const NvtxRange&) { ++ranges; });
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(totals.front().sequence_hash, totals.back().sequence_hash);
  EXPECT_TRUE(
      activity.ordinal_sums({capture.value().processes().at(0).id, Phase::timeline, totals[0].sequence_hash})
          .empty());
}

TEST_F(ActivityTest, ARunIsKnownToExist) {
  EXPECT_TRUE(capture_->has_run());
  {
    auto writer = CaptureWriter::create(directory_.file("empty.ridge"));
    ASSERT_TRUE(writer.ok());
    writer.value().finish();
  }
  const auto opened = Capture::open(directory_.file("empty.ridge"));
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().has_run());
  EXPECT_TRUE(Activity(opened.value()).step_totals().empty());
  EXPECT_TRUE(Activity(opened.value()).process_totals().empty());
}

TEST_F(ActivityTest, RowsAndSitesTogetherAreTheLaunches) {
  const Activity activity(*capture_);
  ActivityFilter filter;
  filter.process_id = first_;
  const std::vector<Launch> expected = launches(filter);
  std::vector<LaunchRow> rows;
  EXPECT_TRUE(activity.for_each_launch_row(filter, LaunchColumns::all,
                                           [&](const LaunchRow& row) { rows.push_back(row); }));
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Launch site = activity.launch_site(rows[i].site_id);
    EXPECT_EQ(rows[i].id, expected[i].id);
    EXPECT_EQ(rows[i].start_ns, expected[i].start_ns);
    EXPECT_EQ(rows[i].end_ns, expected[i].end_ns);
    EXPECT_EQ(rows[i].step_id, expected[i].step_id);
    EXPECT_EQ(rows[i].ordinal_in_step, expected[i].ordinal_in_step);
    EXPECT_EQ(rows[i].correlation_id, expected[i].correlation_id);
    EXPECT_EQ(site.process_id, first_);
    EXPECT_EQ(site.kernel_id, expected[i].kernel_id);
    EXPECT_EQ(site.grid, expected[i].grid);
    EXPECT_EQ(site.start_ns, 0);
  }
  EXPECT_THROW((void)activity.launch_site(12345), Error);
}

TEST_F(ActivityTest, WhatAVisitorThrowsPassesThroughAndTheNextQuestionIsAnswered) {
  const Activity activity(*capture_);
  int seen = 0;
  const auto visit = [&](const LaunchRow&) {
    if (++seen == 2) throw std::runtime_error("enough");
  };
  try {
    (void)activity.for_each_launch_row({}, LaunchColumns::times, visit);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "enough");
  }
  EXPECT_EQ(seen, 2) << "no row is visited after it";
  EXPECT_EQ(launches({}).size(), 12u);
}

TEST_F(ActivityTest, AQueryCannotReachTheReaderOfRows) {
  const auto answer = capture_->query("SELECT ridgeline_take_row(1, id) FROM launch_row");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ridgeline::store
