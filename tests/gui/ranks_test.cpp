// Many ranks in the window: a merged job as a page of its own, a capture with several ranks with a panel more.
#include <QFile>
#include <QSignalSpy>

#include "app/screenshot.h"
#include "generate/rank_job.h"
#include "gui/gui_testing.h"
#include "ranks/ranks_panel.h"
#include "reports/fabricated_capture.h"
#include "ridgeline/queries/ranks_query.h"
#include "style/theme.h"
#include "support/temporary_directory.h"

namespace ridgeline::gui {
namespace {

using ridgeline::testing::TemporaryDirectory;
using testing::wait_for;

constexpr int kRanks = 5;
constexpr int kSteps = 6;
constexpr int kStraggler = 3;

struct MergedJob {
  TemporaryDirectory directory;
  std::vector<std::string> files;
  QString path;

  explicit MergedJob(std::int64_t ranks = kRanks) {
    generate::RankJob job;
    job.ranks = static_cast<int>(ranks);
    job.ranks_per_host = 2;
    job.steps = kSteps;
    job.layers = 3;
    job.cause = generate::RankCause::host_gaps;
    job.straggler = kStraggler;
    job.late_ns = 1.5e6;
    job.clock_offset_ns = 3e6;
    files = generate::generate_rank_job(job, directory.path()).files;
    const std::string merged = directory.file("job.ridge");
    EXPECT_TRUE(queries::merge_ranks(files, merged).ok());
    path = QString::fromStdString(merged);
  }
};

std::unique_ptr<MainWindow> window_of(const QString& path) {
  Options options;
  auto window = std::make_unique<MainWindow>(options);
  window->resize(1400, 900);
  window->show();
  window->open(path);
  EXPECT_TRUE(wait_until_settled(*window));
  return window;
}

RanksPanel* ranks_of(const MainWindow& window) {
  return dynamic_cast<RanksPanel*>(window.panel("ranks"));
}

// The rows of a step take what they want and no more, so that the table of eight ranks needs no scrolling in a small
// window; until somebody moves what divides the two.
TEST(Ranks, TheTableOfEightRanksIsWholeInASmallWindow) {
  const MergedJob job(8);
  const auto window = window_of(job.path);
  window->resize(1280, 690);
  const RanksPanel* panel = ranks_of(*window);
  ASSERT_TRUE(wait_for([&] { return window->settled() && panel->rows()->step().has_value(); }));
  QCoreApplication::processEvents();
  EXPECT_EQ(panel->rows()->step()->rows.size(), 8U);
  TableView* table = panel->table();
  EXPECT_GE(table->viewport()->height(), 8 * table->rowHeight(0));
  EXPECT_GE(panel->rows()->height(), 8 * 24);
  const int before = panel->rows()->height();
  window->resize(1280, 900);
  QCoreApplication::processEvents();
  EXPECT_LE(panel->rows()->height(), panel->rows()->sizeHint().height() + 4);
  EXPECT_GE(panel->rows()->height(), before);
}

// A few ranks do not fill a high panel, the numbers of the steps stand right below them, and words are no identifiers.
TEST(Ranks, TheMapOfFewRanksIsLowAndTheTableSpeaks) {
  const MergedJob job;
  const auto window = window_of(job.path);
  const RanksPanel* panel = ranks_of(*window);
  ASSERT_TRUE(panel != nullptr && panel->answer().has_value());
  LatenessMap map;
  map.set_analysis(panel->answer()->analysis);
  map.resize(400, 800);
  EXPECT_LE(map.item_rect(0).height(), 56);
  EXPECT_GT(map.item_rect(0).height(), 50);
  const QRectF last = map.item_rect(map.item_count() - 1);
  const QImage picture = map.grab().toImage();
  const auto any_of = [&](const QColor& colour) {
    for (int x = 0; x < picture.width(); ++x) {
      for (int y = static_cast<int>(last.bottom()) + 5; y < static_cast<int>(last.bottom()) + 20; ++y) {
        if (picture.pixelColor(x, y) == colour) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(any_of(theme().bad)) << "late, in the legend";
  EXPECT_TRUE(any_of(theme().accent)) << "early";
  QStringList cells;
  const auto* rows = panel->table()->proxy();
  for (int row = 0; row < rows->rowCount(); ++row) {
    for (int column = 0; column < rows->columnCount(); ++column)
      cells << rows->data(rows->index(row, column)).toString();
  }
  EXPECT_TRUE(cells.contains("host gaps")) << cells.join('|').toStdString();
  EXPECT_FALSE(cells.contains("host_gaps"));
}

TEST(Ranks, AMergedJobSaysWhoIsLateAndShowsThatRankInItsLatestStep) {
  const MergedJob job;
  const auto window = window_of(job.path);
  const RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  ASSERT_TRUE(panel->answer().has_value());
  EXPECT_TRUE(panel->said().contains("Rank 3")) << panel->said().toStdString();
  EXPECT_EQ(panel->chosen_rank(), kStraggler);
  EXPECT_EQ(panel->map()->item_count(),
            static_cast<int>(kRanks * panel->answer()->analysis->step_costs.size()));
  EXPECT_EQ(panel->skew()->item_count(), static_cast<int>(panel->answer()->analysis->step_costs.size()));
  EXPECT_EQ(panel->table()->proxy()->rowCount(), kRanks);
  ASSERT_TRUE(panel->rows()->step().has_value());
  EXPECT_EQ(panel->rows()->step()->rows.size(), static_cast<std::size_t>(kRanks));
  EXPECT_EQ(panel->rows()->step()->step_index, *panel->chosen_step());
  EXPECT_EQ(panel->rows()->item_count(), kRanks * 4);  // three buckets and the norm
}

TEST(Ranks, ACellOfTheMapIsARankInAStep) {
  const MergedJob job;
  const auto window = window_of(job.path);
  RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  const auto steps = static_cast<int>(panel->answer()->analysis->step_costs.size());
  const int cell = 1 * steps + 2;
  QTest::mouseClick(panel->map(), Qt::LeftButton, {}, panel->map()->item_rect(cell).center().toPoint());
  ASSERT_TRUE(wait_until_settled(*window));
  EXPECT_EQ(panel->chosen_rank(), 1);
  EXPECT_EQ(panel->chosen_step(), panel->answer()->analysis->step_costs[2].step_index);
  EXPECT_EQ(panel->rows()->step()->step_index, *panel->chosen_step());
  EXPECT_TRUE(panel->map()->item_text(cell).startsWith("rank 1, step"))
      << panel->map()->item_text(cell).toStdString();
  EXPECT_EQ(panel->table()->currentIndex().row(), panel->table()->row_of(1));
}

TEST(Ranks, ColumnsChooseStepsAndRowsChooseRanksWithTheKeyboardToo) {
  const MergedJob job;
  const auto window = window_of(job.path);
  RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  panel->skew()->choose(0);
  ASSERT_TRUE(wait_until_settled(*window));
  EXPECT_EQ(panel->chosen_step(), panel->answer()->analysis->step_costs[0].step_index);
  panel->rows()->setFocus();
  QTest::keyClick(panel->rows(), Qt::Key_Home);
  QTest::keyClick(panel->rows(), Qt::Key_Return);
  EXPECT_EQ(panel->chosen_rank(), 0);
  EXPECT_TRUE(panel->rows()->item_text(0).startsWith("rank 0, all_reduce, 28.31 MB"))
      << panel->rows()->item_text(0).toStdString();
}

TEST(Ranks, TheCaptureOfARankIsOpenedOnDemand) {
  const MergedJob job;
  const auto window = window_of(job.path);
  RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  panel->choose_rank(2);
  EXPECT_TRUE(panel->timeline_button()->text().contains("rank 2"));
  QTest::mouseClick(panel->timeline_button(), Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return window->timeline() != nullptr; }));
  ASSERT_TRUE(wait_until_settled(*window));
  EXPECT_EQ(window->document()->path().toStdString(), job.files[2]);
  EXPECT_EQ(window->panel("ranks"), nullptr);
  // And back, with docks that were made in between.
  window->open(job.path);
  ASSERT_TRUE(wait_until_settled(*window));
  EXPECT_NE(ranks_of(*window), nullptr);
}

TEST(Ranks, ACaptureThatIsNotThereAnyMoreIsNamed) {
  const MergedJob job;
  ASSERT_TRUE(QFile::remove(QString::fromStdString(job.files[1])));
  const auto window = window_of(job.path);
  RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  panel->choose_rank(1);
  const QSignalSpy asked(panel, &RanksPanel::capture_asked);
  QTest::mouseClick(panel->timeline_button(), Qt::LeftButton);
  EXPECT_EQ(asked.count(), 0);
  bool named = false;
  for (const QLabel* label : panel->findChildren<QLabel*>())
    named = named || label->text().contains("is not there any more");
  EXPECT_TRUE(named);
}

TEST(Ranks, ACaptureWithSeveralRanksHasAPanelThatLeadsIntoItsTimeline) {
  const TemporaryDirectory directory;
  ridgeline::testing::FabricatedCapture options;
  options.ranks = 2;
  const std::string path = directory.file("ranks.ridge");
  ridgeline::testing::write_fabricated_capture(path, options);
  const auto window = window_of(QString::fromStdString(path));
  ASSERT_NE(window->timeline(), nullptr);
  RanksPanel* panel = ranks_of(*window);
  ASSERT_NE(panel, nullptr);
  ASSERT_TRUE(panel->answer().has_value()) << panel->said().toStdString();
  EXPECT_FALSE(panel->answer()->merged);
  panel->choose_rank(1);
  QTest::mouseClick(panel->timeline_button(), Qt::LeftButton);
  const auto& steps = panel->answer()->job->steps;
  const auto step = std::find_if(steps.begin(), steps.end(), [&](const auto& one) {
    return one.rank == 1 && one.step_index == *panel->chosen_step();
  });
  ASSERT_NE(step, steps.end());
  EXPECT_LE(window->selection().view().start_ns, step->start_ns);
  EXPECT_GE(window->selection().view().end_ns, step->start_ns + step->duration_ns);
}

TEST(Ranks, ACaptureOfOneRankHasNoSuchPanel) {
  const auto window = window_of(testing::bundled_capture());
  EXPECT_EQ(window->panel("ranks"), nullptr);
}

}  // namespace
}  // namespace ridgeline::gui
