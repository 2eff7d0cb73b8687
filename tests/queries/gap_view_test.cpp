// v_gap against what the analyzer says of the same steps.
#include "ridgeline/queries/gap_view.h"

#include <gtest/gtest.h>

#include "reports/fabricated_capture.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/queries/sql_query.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

const std::string kRecorded = RIDGELINE_SOURCE_DIR "/examples/gpt2-h200.ridge";

SqlRows asked(const std::string& sql, const std::string& path = kRecorded) {
  const auto capture = store::Capture::open(path).value();
  auto rows = ask(capture, {sql, 1'000'000});
  if (!rows) throw Error(rows.failure().kind, rows.failure().message);
  return std::move(rows).value();
}

std::int64_t number(const SqlRows& rows, std::size_t row, std::size_t column) {
  return std::get<std::int64_t>(rows.table.rows.at(row).at(column));
}

TEST(GapView, HoldsTheGapsOfAllTimelineSteps) {
  analyzer::Session session = analyzer::Session::open(kRecorded).value();
  analyzer::Scope scope;
  scope.steps = analyzer::StepSelection::all_of(Phase::timeline);
  const auto accounting = session.accounting(scope).value();
  const SqlRows sums = asked(
      "SELECT count(*), sum(duration_ns), sum(end_ns - start_ns), "
      "sum(CASE WHEN cause = 'launch_bound' THEN duration_ns END) FROM V_GAP");
  EXPECT_EQ(number(sums, 0, 0), static_cast<std::int64_t>(accounting->gaps.size()));
  EXPECT_EQ(number(sums, 0, 1), accounting->gap_total_ns);
  EXPECT_EQ(number(sums, 0, 2), accounting->gap_total_ns);
  EXPECT_EQ(number(sums, 0, 3), accounting->gap_launch_bound_ns);
}

TEST(GapView, SaysBetweenWhichLaunchesAndInWhichStep) {
  // Joined with the file's own views: the launches are those beside the gap. In one query, for each has the view made
  // anew.
  const SqlRows found = asked(
      "SELECT (SELECT count(*) FROM v_gap g JOIN v_launch a ON a.launch_id = g.launch_after_id WHERE "
      "a.start_ns <> g.end_ns OR a.kernel <> g.kernel_after OR a.nvtx_path IS NOT g.nvtx_path) AS wrong, "
      "(SELECT count(*) FROM v_gap g JOIN v_launch a ON a.launch_id = g.launch_after_id) AS joined, "
      "(SELECT count(*) FROM v_gap g JOIN v_launch b ON b.launch_id = g.launch_before_id WHERE "
      "b.end_ns <> g.start_ns) AS wrong_before, "
      "(SELECT count(DISTINCT g.step_index) FROM v_gap g JOIN v_step s USING (step_index) WHERE s.phase = "
      "'timeline') AS steps, "
      "(SELECT count(*) FROM v_gap WHERE step_index IS NULL) AS without_step");
  EXPECT_EQ(number(found, 0, 0), 0);
  EXPECT_GT(number(found, 0, 1), 100);
  EXPECT_EQ(number(found, 0, 2), 0);
  EXPECT_GT(number(found, 0, 3), 1);
  EXPECT_EQ(number(found, 0, 4), 0);
}

TEST(GapView, IsMadeForTheQueryThatNamesItOnly) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory.file("made.ridge");
  ridgeline::testing::write_fabricated_capture(path, {});
  EXPECT_EQ(asked("SELECT 'v_gaps' AS x, 1", path).table.rows.size(), 1U);
  const auto none = GapView::for_query(path, "SELECT * FROM v_gapless, my_v_gap", {});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.value(), nullptr);
  // Another query of the same capture does not see it, and nobody can write it.
  const auto capture = store::Capture::open(path).value();
  ASSERT_TRUE(ask(capture, {"SELECT count(*) FROM v_gap", 10}).ok());
  EXPECT_FALSE(capture.query("SELECT count(*) FROM v_gap").ok());
  EXPECT_FALSE(ask(capture, {"DELETE FROM v_gap", 10}).ok());
  EXPECT_TRUE(ask(capture, {"SELECT count(*) FROM v_gap", 10}).ok()) << "made anew each time";
}

TEST(GapView, IsDescribedWithTheViewsOfTheFile) {
  // One of this version: an older one has the views of its time.
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::write_fabricated_capture(directory.file("made.ridge"), {});
  const std::vector<ViewDescription> views = described_views();
  ASSERT_GT(views.size(), 5U);
  for (const ViewDescription& view : views) {
    EXPECT_FALSE(view.rows.empty()) << view.name;
    const SqlRows rows = asked("SELECT * FROM " + view.name + " LIMIT 1", directory.file("made.ridge"));
    EXPECT_FALSE(rows.table.columns.empty()) << view.name;
    for (const std::string& column : rows.table.columns)
      EXPECT_NE(view.definition.find(column), std::string::npos) << view.name << "." << column;
  }
  EXPECT_EQ(views.back().name, "v_gap");
}

}  // namespace
}  // namespace ridgeline::queries
