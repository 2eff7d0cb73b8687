// Two captures beside each other, and recording from the window.
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <memory>

#include "app/record_dialog.h"
#include "app/screenshot.h"
#include "compare/compare_dialog.h"
#include "compare/compare_panel.h"
#include "generate/generate.h"
#include "gui/gui_testing.h"
#include "panels/charts.h"
#include "reports/fabricated_capture.h"
#include "ridgeline/reports/compare_documents.h"
#include "roofline/roofline_view.h"
#include "style/theme.h"
#include "support/temporary_directory.h"

namespace ridgeline::gui {
namespace {

using testing::wait_for;

TEST(LinkedAxes, MoveTogetherAtTheirShift) {
  Selection a, b;
  a.reset({0, 100});
  b.reset({1000, 1100});
  LinkedAxes axes(a, b);
  axes.align(10, 1010);
  a.show({20, 60});
  EXPECT_EQ(b.view(), (analyzer::TimeWindow{1020, 1060}));
  b.show({1000, 1010});
  EXPECT_EQ(a.view(), (analyzer::TimeWindow{0, 10}));
  axes.slide(5);
  EXPECT_EQ(b.view(), (analyzer::TimeWindow{1005, 1015}));
  EXPECT_EQ(a.view(), (analyzer::TimeWindow{0, 10}));
}

TEST(LinkedAxes, UnlinkedEachMovesByItselfAndLinkingKeepsTheShift) {
  Selection a, b;
  a.reset({0, 100});
  b.reset({0, 100});
  LinkedAxes axes(a, b);
  axes.set_linked(false);
  b.show({300, 400});
  EXPECT_EQ(a.view(), (analyzer::TimeWindow{0, 100}));
  axes.set_linked(true);
  EXPECT_EQ(axes.offset_ns(), 300);
  a.show({10, 20});
  EXPECT_EQ(b.view(), (analyzer::TimeWindow{310, 320}));
}

TEST(LinkedAxes, ARangeOfOneIsARangeOfTheOther) {
  Selection a, b;
  a.reset({0, 100});
  b.reset({1000, 1100});
  LinkedAxes axes(a, b);
  axes.align(0, 1000);
  a.select_range(analyzer::TimeWindow{20, 30});
  EXPECT_EQ(b.range(), (analyzer::TimeWindow{1020, 1030}));
  b.select_range(std::nullopt);
  EXPECT_FALSE(a.range());
  axes.set_linked(false);
  a.select_range(analyzer::TimeWindow{20, 30});
  EXPECT_FALSE(b.range());
}

// A window on both, compared; null if that does not come to an end.
std::unique_ptr<MainWindow> compared(const std::vector<QString>& a, const std::vector<QString>& b) {
  Options options;
  options.captures = a;
  options.against = b;
  auto window = std::make_unique<MainWindow>(options);
  window->resize(1400, 900);
  window->show();
  window->open(a.front());
  const bool done =
      wait_for([&] { return window->panel("compare") != nullptr && window->settled(); }, 60'000);
  return done ? std::move(window) : nullptr;
}

TEST(Compare, OneCaptureBesideItselfDiffersInNothing) {
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  ASSERT_NE(compare->comparison(), nullptr) << compare->verdict().toStdString();
  EXPECT_EQ(compare->comparison()->step_delta_ns, 0);
  EXPECT_EQ(compare->comparison()->regressed, 0);
  EXPECT_GT(compare->table()->model()->rowCount(), 10);
  EXPECT_FALSE(compare->verdict().isEmpty());
  // A row of the table is chosen in both timelines; with its durations over each other.
  compare->table()->setCurrentIndex(compare->table()->model()->index(0, 0));
  EXPECT_FALSE(compare->selection_a().kernel().empty());
  EXPECT_EQ(compare->selection_a().kernel(), compare->selection_b().kernel());
  // And what is chosen in one is chosen in the other and in the table.
  compare->table()->setCurrentIndex(compare->table()->model()->index(3, 0));
  const KernelChoice third = compare->selection_a().kernel();
  // Its launches are joined across the timelines: to themselves, straight down.
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  const std::vector<Joint> joints = compare->band()->joints();
  ASSERT_FALSE(joints.empty());
  for (const Joint& joint : joints) EXPECT_NEAR(joint.a_x, joint.b_x, 0.5);
  EXPECT_FALSE(compare->durations_title()->text().isEmpty());
  compare->axes().slide(compare->selection_a().view().length_ns() / 10);
  const std::vector<Joint> slid = compare->band()->joints();
  ASSERT_FALSE(slid.empty());
  EXPECT_NE(slid.front().a_x, slid.front().b_x);
  compare->table()->setCurrentIndex(compare->table()->model()->index(0, 0));
  compare->selection_b().select_kernel(third);
  EXPECT_EQ(compare->selection_a().kernel().kernels, third.kernels);
  EXPECT_EQ(compare->table()->currentIndex().row(), 3);
  // Once it is let go of nothing is said of it.
  compare->selection_a().select_kernel({});
  compare->selection_b().select_kernel({});
  EXPECT_TRUE(wait_for([&] { return compare->band()->joints().empty(); }));
  EXPECT_EQ(compare->durations_title()->text(), "Durations: choose a kernel");
  EXPECT_FALSE(compare->durations()->isVisible());
}

// Two kernels that were fused into one: both launches lead to the one in their place, in this step and beside it.
TEST(JoinBand, LaunchesThatWereFusedLeadToTheOneInTheirPlace) {
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  const auto views = window->panel("compare")->findChildren<TimelineView*>();
  ASSERT_EQ(views.size(), 2);
  const analyzer::TimeWindow step = compare->selection_a().view();
  const std::int64_t tenth = step.length_ns() / 10;
  const auto launches = [&](int first, int count, std::int64_t apart) {
    EventFinder::Launches out;
    for (int i = first; i < first + count; ++i)
      out.emplace_back(step.start_ns + i * apart, step.start_ns + i * apart + 10);
    return out;
  };
  JoinBand band;
  band.set_views(views[0], views[1]);
  const double label = views[0]->label_width(), wide = views[0]->axis().x_of(step.start_ns + tenth);
  // Two a tenth in A, one a tenth in B; the first two of A and the first of B lie before the step.
  band.set_launches(launches(-2, 12, tenth / 2), launches(-1, 6, tenth),
                    {step.start_ns, step.start_ns + 5 * tenth}, {step.start_ns, step.start_ns + 5 * tenth});
  const std::vector<Joint> two = band.joints();
  ASSERT_EQ(two.size(), 10U) << "those in view";
  for (std::size_t i = 0; i < two.size(); ++i)
    EXPECT_NEAR(two[i].b_x - label, wide * static_cast<double>(i / 2), 1.5) << i;
  band.set_launches(launches(0, 5, tenth), launches(0, 10, tenth / 2), step, step);
  const std::vector<Joint> split = band.joints();
  ASSERT_EQ(split.size(), 10U);
  for (std::size_t i = 0; i < split.size(); ++i)
    EXPECT_NEAR(split[i].a_x - label, wide * static_cast<double>(i / 2), 1.5) << i;
  band.set_launches(launches(0, 3, tenth), launches(0, 2, tenth), step, step);
  EXPECT_TRUE(band.joints().empty()) << "nothing says which belong together";
  band.set_launches({}, launches(0, 2, tenth), step, step);
  EXPECT_TRUE(band.joints().empty());
}

TEST(Compare, IsAPageOfTheWindowThatFitsASmallScreenAndSaysThatItIsOneRecording) {
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  EXPECT_TRUE(compare->isVisible());
  EXPECT_EQ(compare->window(), window.get());
  for (const QDockWidget* dock : window->findChildren<QDockWidget*>()) {
    EXPECT_FALSE(dock->isVisible()) << dock->windowTitle().toStdString();
    EXPECT_FALSE(dock->isFloating());
  }
  window->resize(1280, 690);
  EXPECT_EQ(window->size(), QSize(1280, 690));
  EXPECT_LE(window->minimumSizeHint().height(), 690);
  EXPECT_LE(window->minimumSizeHint().width(), 1280);
  EXPECT_TRUE(compare->notes().startsWith("A and B share a recording")) << compare->notes().toStdString();
  // Both timelines and the table have room.
  EXPECT_GE(compare->table()->height(), 60);
  for (const TimelineView* view : compare->findChildren<TimelineView*>()) EXPECT_GE(view->height(), 90);
  // And back: the panels are where they were.
  ASSERT_EQ(window->page_tabs()->count(), 2);
  window->page_tabs()->setCurrentIndex(0);
  EXPECT_FALSE(compare->isVisible());
  EXPECT_TRUE(window->timeline()->isVisible());
  EXPECT_TRUE(window->panel("ranking")->isVisible());
  QTest::qWait(20);
  EXPECT_EQ(window->size(), QSize(1280, 690)) << "no page makes the window larger than the user did";
  window->run("panel_compare");
  EXPECT_TRUE(compare->isVisible());
  EXPECT_EQ(window->page_tabs()->currentIndex(), 1);
  window->run("panel_ranking");
  EXPECT_FALSE(compare->isVisible());
  EXPECT_TRUE(window->panel("ranking")->isVisible());
}

TEST(Compare, BeginsInASmallWindowWithoutMakingItLarger) {
  Options options;
  options.captures = {testing::bundled_capture()};
  options.against = {testing::bundled_capture()};
  MainWindow window(options);
  window.resize(1280, 690);
  window.show();
  window.open(options.captures.front());
  ASSERT_TRUE(wait_for([&] { return window.panel("compare") != nullptr && window.settled(); }, 60'000));
  EXPECT_EQ(window.size(), QSize(1280, 690));
}

TEST(Compare, AKernelChosenOnOnePageIsChosenOnTheOther) {
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  compare->table()->setCurrentIndex(compare->table()->model()->index(2, 0));
  const KernelChoice chosen = compare->selection_a().kernel();
  ASSERT_FALSE(chosen.empty());
  EXPECT_EQ(window->selection().kernel(), chosen);
  const KernelChoice other = kernels_of(*window->document()->overview(), 1);
  ASSERT_NE(other, chosen);
  window->selection().select_kernel(other);
  EXPECT_EQ(compare->selection_a().kernel(), other);
  EXPECT_EQ(compare->selection_b().kernel().kernels, other.kernels);
}

// The cell that has the keys had a veil over its words, and the row was seen by half.
TEST(Compare, TheChosenCellHasAnOutlineAndWordsThatCanBeReadInTheDark) {
  apply_theme(*qApp, ThemeChoice::dark);
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* table = dynamic_cast<ComparePanel*>(window->panel("compare"))->table();
  QApplication::setActiveWindow(window.get());
  table->setFocus();
  ASSERT_TRUE(wait_for([&] { return table->hasFocus(); }));
  table->setCurrentIndex(table->model()->index(table->model()->rowCount() - 1, 0));
  QTest::qWait(30);
  const QRect cell = table->visualRect(table->currentIndex());
  EXPECT_TRUE(table->viewport()->rect().contains(cell.adjusted(0, 0, -1, -1))) << "seen whole";
  const QImage picture = table->viewport()->grab().toImage();
  const QColor ground = picture.pixelColor(cell.left() + 2, cell.top() + 2);
  EXPECT_EQ(ground, theme().accent);
  for (const QPoint& at : {QPoint(cell.center().x(), cell.top()), QPoint(cell.center().x(), cell.bottom()),
                           QPoint(cell.left(), cell.center().y())})
    EXPECT_GE(contrast(picture.pixelColor(at), ground), 3) << picture.pixelColor(at).name().toStdString();
  // Of the words, the strokes' darkest pixels: their edges are smoothed.
  double most = 0;
  for (int y = cell.top() + 3; y < cell.bottom() - 2; ++y) {
    for (int x = cell.left() + 3; x < cell.right() - 2; ++x)
      most = std::max(most, contrast(picture.pixelColor(x, y), ground));
  }
  EXPECT_GE(most, 4.5);
  apply_theme(*qApp, ThemeChoice::light);
}

// Of a kernel that B lacks the durations said "no launches".
TEST(Compare, AKernelThatOnlyAHasShowsItsDurations) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::write_fabricated_capture(directory.file("other.ridge"), {});
  const auto window =
      compared({testing::bundled_capture()}, {QString::fromStdString(directory.file("other.ridge"))});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  const auto* durations = compare->findChild<HistogramChart*>();
  ASSERT_NE(durations, nullptr);
  int removed = -1;
  const QAbstractItemModel& rows = *compare->table()->model();
  for (int row = 0; row < rows.rowCount() && removed < 0; ++row) {
    if (rows.index(row, 1).data().toString() == "removed") removed = row;
  }
  ASSERT_GE(removed, 0);
  compare->table()->setCurrentIndex(rows.index(removed, 0));
  ASSERT_TRUE(wait_for([&] { return window->settled() && durations->item_count() > 0; }));
  EXPECT_TRUE(durations->median_words().startsWith("only in A: median "))
      << durations->median_words().toStdString();
  EXPECT_TRUE(durations->item_text(0).contains("0 launches, in A ")) << durations->item_text(0).toStdString();
}

TEST(Compare, ADotOfItsRooflineIsTheKernelOfTableAndTimelines) {
  const auto window = compared({testing::bundled_capture()}, {testing::bundled_capture()});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  auto* roofline = compare->findChild<RooflineView*>();
  ASSERT_NE(roofline, nullptr);
  const RooflineDot dot = roofline->plot().dots.front();
  emit roofline->dot_chosen(dot.ranking_row);
  EXPECT_EQ(compare->selection_a().kernel(), kernels_of(*compare->document_a().overview(), dot.ranking_row));
  EXPECT_EQ(compare->selection_b().kernel().kernels, compare->selection_a().kernel().kernels);
  EXPECT_EQ(window->selection().kernel(), compare->selection_a().kernel());
  EXPECT_TRUE(compare->table()->currentIndex().isValid());
  EXPECT_EQ(roofline->chosen(), std::vector<std::size_t>{dot.ranking_row});
  emit roofline->nothing_chosen();
  EXPECT_TRUE(compare->selection_a().kernel().empty());
  EXPECT_TRUE(roofline->chosen().empty());
}

TEST(Compare, CapturesOfDifferentTimesBeginAtTheirOwnSteps) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::write_fabricated_capture(directory.file("other.ridge"), {});
  const QString other = QString::fromStdString(directory.file("other.ridge"));
  const auto window = compared({testing::bundled_capture()}, {other});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  const auto alone = [](const QString& path) {
    const auto one = testing::opened_window(path);
    const auto& step = one->document()->overview()->steps->representative;
    return analyzer::TimeWindow{step.window_start_ns, step.window_end_ns};
  };
  const analyzer::TimeWindow a = alone(testing::bundled_capture()), b = alone(other);
  ASSERT_NE(a.start_ns, b.start_ns);
  EXPECT_EQ(compare->selection_a().view().start_ns, a.start_ns);
  EXPECT_EQ(compare->selection_b().view().start_ns, b.start_ns);
}

// Three runs per side, B with a slower GELU.
class RunsASide : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<ridgeline::testing::TemporaryDirectory>();
    for (int run = 1; run <= 3; ++run) {
      for (const bool slow : {false, true}) {
        ridgeline::testing::FabricatedCapture made;
        made.run = slow ? 10 + run : run;
        made.start_offset_s = 100 * run + (slow ? 50 : 0);  // in turn
        made.codes = true;
        if (slow) {
          made.slow_kernel = "gelu";
          made.slow_factor = 1.3;
        }
        const std::string path = directory_->file((slow ? "b" : "a") + std::to_string(run) + ".ridge");
        ridgeline::testing::write_fabricated_capture(path, made);
        (slow ? b_ : a_).push_back(QString::fromStdString(path));
      }
    }
  }
  static void TearDownTestSuite() {
    directory_.reset();
    a_.clear();
    b_.clear();
  }
  static inline std::unique_ptr<ridgeline::testing::TemporaryDirectory> directory_;
  static inline std::vector<QString> a_, b_;
};

TEST_F(RunsASide, TheVerdictIsThatOfTheCommandLine) {
  const auto window = compared(a_, b_);
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  std::vector<comparison::RunProfile> a, b;
  for (const QString& path : a_) a.push_back(comparison::profile_run(path.toStdString()).value());
  for (const QString& path : b_) b.push_back(comparison::profile_run(path.toStdString()).value());
  const auto expected = comparison::compare(a, b);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(compare->verdict().toStdString(), reports::compare_verdict_sentence(expected.value()));
  EXPECT_EQ(compare->comparison()->pairs, 3);
  // The slower kernel, with what each pair says.
  std::size_t slow = 0;
  for (std::size_t i = 0; i < compare->comparison()->kernels.size(); ++i) {
    if (compare->comparison()->kernels[i].outcome == comparison::Outcome::regressed) slow = i;
  }
  compare->table()->setCurrentIndex(compare->table()->model()->index(compare->table()->row_of(slow), 0));
  EXPECT_TRUE(compare->change().startsWith("pairs: +")) << compare->change().toStdString();
  EXPECT_TRUE(compare->change().contains("confidence")) << compare->change().toStdString();
}

TEST_F(RunsASide, TheSlowerKernelHasItsDurationsOverEachOtherAndAnArrow) {
  const auto window = compared(a_, b_);
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  std::size_t slow = 0;
  for (std::size_t i = 0; i < compare->comparison()->kernels.size(); ++i) {
    if (compare->comparison()->kernels[i].outcome == comparison::Outcome::regressed) slow = i;
  }
  compare->table()->setCurrentIndex(compare->table()->model()->index(compare->table()->row_of(slow), 0));
  ASSERT_TRUE(wait_for([&] { return window->settled() && compare->durations()->item_count() > 0; }));
  const auto* roofline = compare->findChild<RooflineView*>();
  ASSERT_NE(roofline, nullptr);
  ASSERT_FALSE(roofline->before().empty());
  // An arrow leads from one place to another: some kernel has both, and they differ.
  std::size_t moved = 0;
  for (const RooflineDot& before : roofline->before()) {
    for (const RooflineDot& now : roofline->plot().dots)
      if (now.name == before.name && (now.x != before.x || now.y != before.y)) ++moved;
  }
  EXPECT_GT(moved, 0U);
}

// Twelve times as many launches a step: no figure of such a comparison is about the program's speed.
TEST(Compare, OtherWorkIsSaidBeforeAnyFigure) {
  const ridgeline::testing::TemporaryDirectory directory;
  const auto made = [&](const char* name, std::int64_t launches) {
    ridgeline::generate::Options options;
    options.launches_per_step = launches;
    options.launches = 40 * launches;
    const std::string path = directory.file(name);
    ridgeline::generate::generate(options, *ridgeline::generate::make_capture_sink(path));
    return QString::fromStdString(path);
  };
  const auto window = compared({made("a.ridge", 100)}, {made("b.ridge", 1200)});
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  EXPECT_TRUE(compare->notes().contains("do other work")) << compare->notes().toStdString();
}

TEST_F(RunsASide, AnotherRunIsLookedAtWithTheSameKernel) {
  const auto window = compared(a_, b_);
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  compare->table()->setCurrentIndex(compare->table()->model()->index(0, 0));
  const std::string chosen = compare->selection_b().kernel().name;
  const KernelChoice other = compare->selection_a().kernel();
  const std::int64_t before = compare->selection_b().view().start_ns;
  compare->show_run(false, 2);
  ASSERT_TRUE(wait_for([&] { return compare->document_b().path() == b_[2] && window->settled(); }));
  EXPECT_NE(compare->selection_b().view().start_ns, before);
  EXPECT_EQ(compare->selection_b().kernel().name, chosen);
  EXPECT_EQ(compare->selection_a().kernel(), other);
  compare->show_run(false, 0);
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  EXPECT_EQ(compare->document_b().path(), b_[0]);
  EXPECT_EQ(compare->selection_b().view().start_ns, before);
}

// All runs over each other, on one axis; a click on a run looks at it.
TEST_F(RunsASide, DurationsOfAllRunsStandOverEachOtherAndAClickLooksAtOne) {
  const auto window = compared(a_, b_);
  ASSERT_NE(window, nullptr);
  auto* compare = dynamic_cast<ComparePanel*>(window->panel("compare"));
  RunSpreadsChart* chart = compare->run_spreads();
  ASSERT_NE(chart, nullptr);
  // Before a kernel is chosen they are those of the steps.
  ASSERT_TRUE(wait_for([&] { return window->settled() && chart->item_count() == 6; }));
  for (std::size_t i = 0; i < 6; ++i) {
    const auto steps = comparison::steps_of_run((i < 3 ? a_ : b_)[i % 3].toStdString());
    EXPECT_EQ(chart->runs()[i].spread.median_ns, steps.value().median_ns);
    EXPECT_TRUE(chart->item_text(static_cast<int>(i)).contains(" steps between "));
  }
  std::size_t slow = 0;
  for (std::size_t i = 0; i < compare->comparison()->kernels.size(); ++i) {
    if (compare->comparison()->kernels[i].outcome == comparison::Outcome::regressed) slow = i;
  }
  compare->table()->setCurrentIndex(compare->table()->model()->index(compare->table()->row_of(slow), 0));
  ASSERT_TRUE(wait_for([&] { return window->settled() && !chart->runs().front().of_steps; }));
  const auto& kernels = compare->comparison()->kernels[slow];
  for (std::size_t i = 0; i < 6; ++i) {
    const RunSpread& run = chart->runs()[i];
    EXPECT_EQ(run.of_a, i < 3);
    EXPECT_EQ(run.run, i % 3);
    EXPECT_EQ(run.looked_at, i % 3 == 0);
    const std::string path = (i < 3 ? a_ : b_)[i % 3].toStdString();
    const auto expected = comparison::durations_of_run(path, i < 3 ? kernels.kernels_a : kernels.kernels_b);
    ASSERT_TRUE(expected.ok());
    EXPECT_GT(run.spread.count, 0);
    EXPECT_EQ(run.spread.count, expected.value().count);
    EXPECT_EQ(run.spread.median_ns, expected.value().median_ns);
    const QString words = chart->item_text(static_cast<int>(i));
    const QString name = QString("%1 · %2.ridge: median ")
                             .arg(QString(i < 3 ? "A%1" : "B%1").arg(i % 3 + 1))
                             .arg(QString(i < 3 ? "a%1" : "b%1").arg(i % 3 + 1));
    EXPECT_TRUE(words.startsWith(name)) << words.toStdString();
  }
  // B's GELU is a third slower: each of its runs stands right of each of A's.
  for (int of_a = 0; of_a < 3; ++of_a)
    for (int of_b = 3; of_b < 6; ++of_b)
      EXPECT_LT(chart->x_of(chart->runs()[static_cast<std::size_t>(of_a)].spread.median_ns),
                chart->x_of(chart->runs()[static_cast<std::size_t>(of_b)].spread.median_ns));
  // None is read again: where there is nothing to read any more, all stay as they are.
  const auto spread = chart->runs()[5].spread;
  ASSERT_TRUE(QFile::rename(b_[2], b_[2] + ".away"));
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->item_rect(4).center().toPoint());
  ASSERT_TRUE(wait_for([&] { return compare->document_b().path() == b_[1] && window->settled(); }));
  ASSERT_TRUE(wait_for([&] { return chart->item_count() == 6 && chart->runs()[4].looked_at; }));
  EXPECT_FALSE(chart->runs()[3].looked_at);
  EXPECT_TRUE(chart->runs()[0].looked_at);
  EXPECT_EQ(chart->runs()[5].failure, "");
  EXPECT_EQ(chart->runs()[5].spread.median_ns, spread.median_ns);
  EXPECT_TRUE(QFile::rename(b_[2] + ".away", b_[2]));
}

TEST_F(RunsASide, ARunThatIsGoneIsALineOfTheLog) {
  const auto window = compared(a_, b_);
  ASSERT_NE(window, nullptr);
  QFile::remove(a_[1]);
  const int lines = window->log()->lines();
  dynamic_cast<ComparePanel*>(window->panel("compare"))->show_run(true, 1);
  EXPECT_TRUE(wait_for([&] { return window->log()->lines() > lines; }));
}

TEST(CompareDialog, TakesRunsOnceAndSaysHowManyAreNeeded) {
  CompareDialog dialog(CompareSides{{"/x/a1.ridge"}, {}, true});
  EXPECT_FALSE(dialog.can_accept());
  dialog.add(false, {"/x/b1.ridge", "/x/b2.ridge", "/x/b1.ridge"});
  EXPECT_TRUE(dialog.can_accept());
  EXPECT_EQ(dialog.sides(), (CompareSides{{"/x/a1.ridge"}, {"/x/b1.ridge", "/x/b2.ridge"}, true}));
  // Uneven sides cannot have been recorded in turn.
  EXPECT_FALSE(dialog.findChild<QCheckBox*>()->isEnabled());
  dialog.add(true, {"/x/a2.ridge"});
  EXPECT_TRUE(dialog.findChild<QCheckBox*>()->isEnabled());
}

TEST(Compare, ASecondCaptureThatIsNoneIsALineOfTheLog) {
  const QTemporaryDir directory;
  QFile file(directory.filePath("none.ridge"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("not a capture");
  file.close();
  const auto window = testing::opened_window(testing::bundled_capture());
  const int lines = window->log()->lines();
  window->compare({{testing::bundled_capture()}, {file.fileName()}, true});
  ASSERT_TRUE(wait_for([&] { return window->log()->lines() > lines; }));
  EXPECT_EQ(window->failure().kind, ErrorKind::not_a_capture);
  EXPECT_EQ(window->panel("compare"), nullptr);
  EXPECT_NE(window->panel("ranking"), nullptr);
}

TEST(RecordingPlan, BecomesACommandLine) {
  RecordingPlan plan;
  plan.program = "python3";
  plan.arguments = {"train.py", "--lr", "1e-3"};
  plan.capture = "/tmp/out.ridge";
  plan.schedule = "warmup=1,timeline=2";
  plan.stalls = true;
  EXPECT_EQ(plan.command(),
            QStringList({"record", "-o", "/tmp/out.ridge", "--schedule", "warmup=1,timeline=2", "--stalls",
                         "--", "python3", "train.py", "--lr", "1e-3"}));
}

TEST(RecordingPlan, ComplainsInWords) {
  RecordingPlan plan;
  EXPECT_TRUE(plan.complaint().contains("which program"));
  plan.program = "x";
  EXPECT_TRUE(plan.complaint().contains("where the capture"));
  plan.capture = testing::bundled_capture();
  EXPECT_TRUE(plan.complaint().contains("already there"));
  plan.capture = "/tmp/ridgeline-none.ridge";
  plan.directory = "/no/such/folder";
  EXPECT_TRUE(plan.complaint().contains("no folder"));
  plan.directory.clear();
  plan.environment = {"A=1", "B"};
  EXPECT_TRUE(plan.complaint().contains("NAME=VALUE"));
  plan.environment = {"A=1"};
  EXPECT_TRUE(plan.complaint().isEmpty());
}

// A program in ridgeline's place that says what it was asked and records a file.
class RecordDialogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QFile script(directory_.filePath("ridgeline"));
    ASSERT_TRUE(script.open(QIODevice::WriteOnly));
    script.write(
        "#!/bin/sh\n"
        "while [ \"$1\" = doctor ] && [ -e \"$0.busy\" ]; do sleep 0.05; done\n"
        "if [ \"$1\" = doctor ]; then echo 'fail gpu'; echo; echo 'nothing can be recorded here: no GPU'; "
        "exit 4; fi\n"
        "echo \"asked: $* with $COLOUR\"\n"
        "trap 'echo ended in order; echo x > \"$3\"; exit 0' TERM\n"
        "case \"$*\" in *endless*) while :; do sleep 0.05; done ;; *failing*) exit 4 ;; esac\n"
        "echo x > \"$3\"\n");
    script.close();
    ASSERT_TRUE(script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    dialog_ = std::make_unique<RecordDialog>(script.fileName());
    plan_.program = "train";
    plan_.capture = directory_.filePath("new.ridge");
    plan_.environment = {"COLOUR=blue"};
  }
  QTemporaryDir directory_;
  std::unique_ptr<RecordDialog> dialog_;
  RecordingPlan plan_;
};

TEST_F(RecordDialogTest, TakesArgumentsAsTheyAre) {
  plan_.arguments = {"--name", "two words", "say \"so\"", "--lr=1e-3"};
  dialog_->set_plan(plan_);
  EXPECT_EQ(dialog_->plan().arguments, plan_.arguments);
  EXPECT_EQ(dialog_->plan().command(), plan_.command());
}

TEST_F(RecordDialogTest, SaysWhatTheMachineCannotDo) {
  ASSERT_TRUE(wait_for([&] { return dialog_->machine().startsWith("▲"); }));
  EXPECT_TRUE(dialog_->machine().contains("no GPU"));
}

// Where nothing can be recorded, Record cannot be pressed, and says why; another machine may be able to.
TEST_F(RecordDialogTest, CanBePressedOnlyWhereSomethingCanBeRecorded) {
  const QPushButton* record = nullptr;
  for (const QPushButton* button : dialog_->findChildren<QPushButton*>()) {
    if (button->text() == "&Record") record = button;
  }
  ASSERT_NE(record, nullptr);
  EXPECT_FALSE(record->isEnabled()) << "no program is named";
  EXPECT_TRUE(record->toolTip().contains("which program"));
  dialog_->set_plan(plan_);
  ASSERT_TRUE(wait_for([&] { return dialog_->machine().startsWith("▲"); }));
  EXPECT_FALSE(record->isEnabled()) << "this machine has no GPU";
  EXPECT_TRUE(record->toolTip().contains("This machine cannot record"));
  plan_.host = "far";
  dialog_->set_plan(plan_);
  EXPECT_TRUE(record->isEnabled());
  EXPECT_EQ(record->toolTip(), "");
}

TEST_F(RecordDialogTest, RunsShowsAndOpens) {
  dialog_->set_plan(plan_);
  dialog_->start();
  ASSERT_TRUE(wait_for([&] { return !dialog_->running(); }));
  ASSERT_TRUE(wait_for([&] { return dialog_->status().startsWith("Recorded"); }));
  EXPECT_TRUE(dialog_->output().contains("asked: record -o")) << dialog_->output().toStdString();
  EXPECT_TRUE(dialog_->output().contains("-- train with blue")) << dialog_->output().toStdString();
}

TEST_F(RecordDialogTest, StoppingEndsItInOrder) {
  plan_.arguments = {"endless"};
  dialog_->set_plan(plan_);
  dialog_->start();
  ASSERT_TRUE(wait_for([&] { return dialog_->output().contains("asked"); }));
  dialog_->stop();
  ASSERT_TRUE(wait_for([&] { return !dialog_->running() && dialog_->status().startsWith("Stopped"); }));
  EXPECT_TRUE(dialog_->output().contains("ended in order"));
  EXPECT_TRUE(QFileInfo::exists(plan_.capture));
}

// The machine's answer may come when the recording has begun.
TEST_F(RecordDialogTest, ALateAnswerOfTheMachineLeavesTheRecordingsOutput) {
  const QString script = directory_.filePath("ridgeline");
  QFile busy(script + ".busy");
  ASSERT_TRUE(busy.open(QIODevice::WriteOnly));
  dialog_ = std::make_unique<RecordDialog>(script);
  dialog_->set_plan(plan_);
  dialog_->start();
  ASSERT_TRUE(wait_for([&] { return dialog_->status().startsWith("Recorded"); }));
  EXPECT_FALSE(dialog_->machine().startsWith("▲"));
  ASSERT_TRUE(busy.remove());
  ASSERT_TRUE(wait_for([&] { return dialog_->machine().startsWith("▲"); }));
  EXPECT_TRUE(dialog_->output().contains("asked: record -o")) << dialog_->output().toStdString();
}

TEST_F(RecordDialogTest, AFailureIsSaid) {
  plan_.arguments = {"failing"};
  dialog_->set_plan(plan_);
  dialog_->start();
  ASSERT_TRUE(wait_for([&] { return dialog_->status().startsWith("Nothing was recorded"); }));
  EXPECT_TRUE(dialog_->status().contains("4"));
}

TEST(RecordingPlan, WordsReachAnotherMachineAsTheyAre) {
  RecordingPlan plan;
  plan.host = "far";
  plan.program = "./train";
  plan.arguments = {"two words", "it's", "$HOME"};
  plan.capture = "/tmp/ridgeline-none.ridge";
  plan.directory = "/no/such/folder";  // of that machine
  plan.environment = {"A=b c"};
  EXPECT_TRUE(plan.complaint().isEmpty());
  const QStringList words = plan.remote_command("/opt/ridgeline");
  EXPECT_EQ(words.mid(2, 4), QStringList({"record_over_ssh", "far", plan.capture, "/opt/ridgeline"}));
  EXPECT_EQ(words.back(),
            R"('--directory' '/no/such/folder' '--' 'env' 'A=b c' './train' 'two words' 'it'\''s' '$HOME')");
  plan.host = "-oProxyCommand=x";
  EXPECT_TRUE(plan.complaint().contains("no machine"));
}

// What plays ssh runs here what it is given, but for a machine that is not there.
class RemoteRecordDialogTest : public RecordDialogTest {
 protected:
  void SetUp() override {
    RecordDialogTest::SetUp();
    const QDir folder(directory_.path());
    ASSERT_TRUE(folder.mkdir("bin") && folder.mkdir("temporary"));
    QFile ssh(folder.filePath("bin/ssh"));
    ASSERT_TRUE(ssh.open(QIODevice::WriteOnly));
    ssh.write("#!/bin/sh\n[ \"$1\" != nowhere ] || exit 255\nshift\nexec sh -c \"$*\"\n");
    ssh.close();
    ASSERT_TRUE(ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    path_ = qgetenv("PATH");
    temporary_ = qgetenv("TMPDIR");
    qputenv("PATH", folder.filePath("bin").toUtf8() + ":/usr/bin:/bin");
    qputenv("TMPDIR", folder.filePath("temporary").toUtf8());
    plan_.host = "far";
  }
  void TearDown() override {
    qputenv("PATH", path_);
    if (temporary_.isNull()) {
      qunsetenv("TMPDIR");
    } else {
      qputenv("TMPDIR", temporary_);
    }
  }
  void has_agent() {
    QFile agent(directory_.filePath("libridgeline_agent.so"));
    ASSERT_TRUE(agent.open(QIODevice::WriteOnly));
    agent.write("the agent");
  }
  // Neither here nor there.
  [[nodiscard]] QStringList left_behind() const {
    return QDir(directory_.filePath("temporary")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot);
  }
  void run_to_its_end() {
    dialog_->set_plan(plan_);
    dialog_->start();
    ASSERT_TRUE(wait_for([&] { return !dialog_->running() && !dialog_->status().startsWith("recording"); }));
  }
  QByteArray path_, temporary_;
};

TEST_F(RemoteRecordDialogTest, CarriesWhatIsMissingRecordsAndFetches) {
  has_agent();
  plan_.arguments = {"two words", "it's"};
  run_to_its_end();
  const std::string said = dialog_->output().toStdString();
  EXPECT_TRUE(dialog_->status().startsWith("Recorded")) << dialog_->status().toStdString() << said;
  EXPECT_TRUE(QFileInfo::exists(plan_.capture));
  EXPECT_NE(said.find("far: carrying ridgeline and its agent"), std::string::npos) << said;
  EXPECT_NE(said.find("recording.ridge -- env COLOUR=blue train two words it's"), std::string::npos) << said;
  EXPECT_NE(said.find("far: fetching the capture"), std::string::npos) << said;
  EXPECT_TRUE(left_behind().isEmpty()) << left_behind().join(' ').toStdString();
  EXPECT_TRUE(dialog_->machine().contains("far")) << "what this machine can measure is not what is recorded";
}

TEST_F(RemoteRecordDialogTest, TakesTheProgramThatIsThere) {
  ASSERT_TRUE(QFile::link(directory_.filePath("ridgeline"), directory_.filePath("bin/ridgeline")));
  run_to_its_end();
  EXPECT_TRUE(dialog_->status().startsWith("Recorded")) << dialog_->output().toStdString();
  EXPECT_FALSE(dialog_->output().contains("carrying"));
}

TEST_F(RemoteRecordDialogTest, StoppingEndsItInOrderAndFetches) {
  has_agent();
  plan_.arguments = {"endless"};
  dialog_->set_plan(plan_);
  dialog_->start();
  ASSERT_TRUE(wait_for([&] { return dialog_->output().contains("asked"); }))
      << dialog_->output().toStdString();
  dialog_->stop();
  ASSERT_TRUE(wait_for([&] { return !dialog_->running() && dialog_->status().startsWith("Stopped"); }))
      << dialog_->status().toStdString();
  EXPECT_TRUE(dialog_->output().contains("ended in order")) << dialog_->output().toStdString();
  EXPECT_TRUE(QFileInfo::exists(plan_.capture));
  EXPECT_TRUE(left_behind().isEmpty()) << left_behind().join(' ').toStdString();
}

TEST_F(RemoteRecordDialogTest, WhatCannotBeIsSaid) {
  plan_.host = "nowhere";
  run_to_its_end();
  EXPECT_TRUE(dialog_->status().contains("exit status 4")) << dialog_->status().toStdString();
  EXPECT_TRUE(dialog_->output().contains("ssh does not get there")) << dialog_->output().toStdString();
  plan_.host = "far";  // where no ridgeline is, and no agent here
  run_to_its_end();
  EXPECT_TRUE(dialog_->status().contains("exit status 4")) << dialog_->status().toStdString();
  EXPECT_TRUE(dialog_->output().contains("no agent to carry")) << dialog_->output().toStdString();
  has_agent();
  plan_.arguments = {"failing"};
  run_to_its_end();
  EXPECT_TRUE(dialog_->status().startsWith("Nothing was recorded (exit status 4)"))
      << dialog_->status().toStdString();
  EXPECT_FALSE(QFileInfo::exists(plan_.capture + ".part"));
  EXPECT_TRUE(left_behind().isEmpty()) << left_behind().join(' ').toStdString();
}

}  // namespace
}  // namespace ridgeline::gui
