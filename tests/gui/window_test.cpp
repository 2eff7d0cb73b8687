#include <QClipboard>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QHeaderView>
#include <QMimeData>
#include <QScrollBar>
#include <QSettings>

#include "generate/generate.h"
#include "gui/gui_testing.h"
#include "panels/column_chooser.h"
#include "panels/elided_label.h"
#include "panels/overview_bar.h"
#include "panels/ranking_panel.h"
#include "reports/fabricated_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::gui {
namespace {

using testing::bundled_capture;
using testing::opened_window;
using testing::wait_for;

RankingPanel* ranking_of(const MainWindow& window) {
  return dynamic_cast<RankingPanel*>(window.panel("ranking"));
}

TEST(Window, ThereIsAFontToWriteWith) {
  ASSERT_FALSE(QFontDatabase::families().isEmpty()) << "install fonts-dejavu-core";
  EXPECT_TRUE(QFontDatabase::families().contains(QFontInfo(QApplication::font()).family()));
}

TEST(Window, RanksTheBundledCaptureAsTheCommandLineDoes) {
  const auto window = opened_window(bundled_capture());
  const RankingPanel* ranking = ranking_of(*window);
  ASSERT_NE(ranking, nullptr);
  const analyzer::Ranking& expected = window->document()->analysis()->ranking;
  EXPECT_EQ(ranking->table()->model()->rowCount(), static_cast<int>(expected.rows.size()));
  EXPECT_GT(expected.rows.size(), 10U);
  const std::size_t key = ranking->table()->table_model()->table()->column("key");
  EXPECT_EQ(ranking->table()->table_model()->index(0, static_cast<int>(key)).data().toString().toStdString(),
            expected.rows[0].key);
}

TEST(Window, AKernelChosenElsewhereIsChosenInTheRanking) {
  const auto window = opened_window(bundled_capture());
  RankingPanel* ranking = ranking_of(*window);
  const ScopeAnswer& answer = *window->document()->overview();
  window->selection().select_kernel(kernels_of(answer, 3));
  EXPECT_EQ(ranking->table()->currentIndex().row(), ranking->table()->row_of(3));
  // And back: the keyboard moves the choice.
  QTest::keyClick(ranking->table(), Qt::Key_Down);
  EXPECT_EQ(window->selection().kernel(), kernels_of(answer, 4));
}

TEST(Window, AChosenRangeIsAFilterOfTheRankingWithAChip) {
  const auto window = opened_window(bundled_capture());
  RankingPanel* ranking = ranking_of(*window);
  const auto& step = window->document()->overview()->steps->representative;
  const std::int64_t all = ranking->answer()->ranking->totals.calls;
  window->selection().select_range(
      analyzer::TimeWindow{step.window_start_ns, (step.window_start_ns + step.window_end_ns) / 2});
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  const std::int64_t part = ranking->answer()->ranking->totals.calls;
  EXPECT_GT(part, 0);
  EXPECT_LT(part, all);
  auto* chip = ranking->findChild<QToolButton*>();
  ASSERT_NE(chip, nullptr);
  EXPECT_TRUE(chip->isVisibleTo(ranking));
  chip->click();
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, all);
  window->selection().undo();
  EXPECT_FALSE(chip->isVisibleTo(ranking));
}

TEST(Window, ChosenNvtxRangesAreAskedAboutInAllTheirInstances) {
  const auto window = opened_window(bundled_capture());
  RankingPanel* ranking = ranking_of(*window);
  const auto& step = window->document()->overview()->steps->representative;
  const std::int64_t all = ranking->answer()->ranking->totals.calls;
  window->selection().select_nvtx("step / forward");
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  const analyzer::Ranking& forward = *ranking->answer()->ranking;
  EXPECT_EQ(forward.scope, analyzer::ScopeKind::range);
  analyzer::Session session = analyzer::Session::open(bundled_capture().toStdString()).value();
  const auto asked = session.ranking(analyzer::Scope::of_range("step / forward"));
  EXPECT_EQ(forward.totals.calls, asked.value()->totals.calls);
  EXPECT_GT(forward.totals.calls, all);  // of every timeline step
  auto* chip = ranking->findChild<QToolButton*>();
  EXPECT_TRUE(chip->isVisibleTo(ranking));
  EXPECT_TRUE(chip->text().contains("'step / forward'")) << chip->text().toStdString();
  // Within a range of time: what of them began then.
  window->selection().select_range(analyzer::TimeWindow{step.window_start_ns, step.window_end_ns});
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_GT(ranking->answer()->ranking->totals.calls, 0);
  EXPECT_LT(ranking->answer()->ranking->totals.calls, all);
  window->selection().select_range(std::nullopt);
  window->selection().select_nvtx({});
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, all);
  EXPECT_FALSE(chip->isVisibleTo(ranking));
}

TEST(Window, NamesHaveRoomInANarrowRanking) {
  const auto window = opened_window(bundled_capture());
  TableView* table = ranking_of(*window)->table();
  table->resize(400, 300);
  const auto key = static_cast<int>(table->table_model()->table()->column("key"));
  EXPECT_GE(table->columnWidth(key), 240);
}

TEST(Window, ColumnsThatNobodyAskedForGiveWayInANarrowRanking) {
  const auto window = opened_window(bundled_capture());
  TableView narrow;
  narrow.set_table(ranking_of(*window)->table()->table_model()->table(), nullptr);
  narrow.resize(400, 300);
  narrow.show();
  const auto last = static_cast<int>(narrow.table_model()->table()->column("saved_stretch_ns"));
  EXPECT_EQ(narrow.horizontalScrollBar()->maximum(), 0) << "nothing has to be scrolled";
  EXPECT_TRUE(narrow.isColumnHidden(last));
  // Two lines of a head cost less than a column.
  narrow.resize(1180, 300);
  EXPECT_FALSE(narrow.isColumnHidden(last));
  narrow.resize(1400, 300);
  EXPECT_FALSE(narrow.isColumnHidden(last));
}

TEST(Window, ColumnsAreChosenInGroupsWithASearch) {
  const auto window = opened_window(bundled_capture());
  TableView* table = ranking_of(*window)->table();
  const auto column = static_cast<int>(table->table_model()->table()->column("cold_time_ns"));
  ASSERT_TRUE(table->isColumnHidden(column));
  QHeaderView* heads = table->horizontalHeader();
  emit heads->customContextMenuRequested(QPoint(20, 5));  // as a right click on the head
  auto* chooser = table->findChild<ColumnChooser*>();
  ASSERT_NE(chooser, nullptr);
  ASSERT_TRUE(chooser->isVisible());
  QTreeWidget* list = chooser->list();
  int all = 0;
  QStringList groups;
  for (int g = 0; g < list->topLevelItemCount(); ++g) {
    groups << list->topLevelItem(g)->text(0);
    all += list->topLevelItem(g)->childCount();
  }
  EXPECT_EQ(all, table->model()->columnCount()) << "each column once";
  // Names are seen whole, and most keys beside them.
  const QTreeWidgetItem* longest = nullptr;
  for (int g = 0; g < list->topLevelItemCount(); ++g) {
    for (int i = 0; i < list->topLevelItem(g)->childCount(); ++i) {
      const QTreeWidgetItem* item = list->topLevelItem(g)->child(i);
      if (longest == nullptr || item->text(0).size() > longest->text(0).size()) longest = item;
    }
  }
  EXPECT_GT(list->columnWidth(0), list->fontMetrics().horizontalAdvance(longest->text(0)));
  EXPECT_GT(list->columnWidth(1), 200);
  for (const char* name : {"tiers", "caches", "clock", "shape", "cold", "work"})
    EXPECT_TRUE(groups.contains(name)) << name << " in " << groups.join(", ").toStdString();
  QTest::keyClicks(chooser->field(), "cold_time");
  std::vector<QTreeWidgetItem*> found;
  for (int g = 0; g < list->topLevelItemCount(); ++g) {
    for (int i = 0; i < list->topLevelItem(g)->childCount(); ++i) {
      QTreeWidgetItem* item = list->topLevelItem(g)->child(i);
      if (!item->isHidden() && !list->topLevelItem(g)->isHidden()) found.push_back(item);
    }
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]->parent()->text(0), "cold");
  // Space on the line, as a click on its box.
  list->setCurrentItem(found[0]);
  QTest::keyClick(list, Qt::Key_Space);
  EXPECT_FALSE(table->isColumnHidden(column));
  QTest::keyClick(list, Qt::Key_Space);
  EXPECT_TRUE(table->isColumnHidden(column));
  QTest::keyClicks(chooser->field(), "no such column");
  for (int g = 0; g < list->topLevelItemCount(); ++g) EXPECT_TRUE(list->topLevelItem(g)->isHidden());
  chooser->close();
}

TEST(Window, HasTheSizeThatItHadWhenOneWasClosed) {
  QSettings().remove("window");
  {
    MainWindow first({});
    first.take_place();
    first.show();
    first.resize(781, 573);
    first.close();
  }
  {
    MainWindow second({});
    second.take_place();
    EXPECT_EQ(second.size(), QSize(781, 573));
  }
  Options asked;
  asked.size = {700, 610};
  asked.size_given = true;
  MainWindow third(asked);
  third.take_place();
  EXPECT_EQ(third.size(), QSize(700, 610)) << "--size goes before";
  QSettings().remove("window");
}

// 1920 x 1080 pixels at a scale of 2, less the title bar.
TEST(Window, FitsAFullHighDefinitionScreenAtTwiceItsScale) {
  const QSize screen(960, 516);
  const auto window = opened_window(bundled_capture(), screen);
  QApplication::processEvents();
  EXPECT_EQ(window->size(), screen) << window->minimumSizeHint().width() << " x "
                                    << window->minimumSizeHint().height() << " at least";
  for (const char* name : {"timeline", "ranking", "roofline", "step"}) {
    const QWidget* panel = window->panel(name);
    const QRect where(panel->mapTo(window.get(), QPoint(0, 0)), panel->size());
    EXPECT_TRUE(window->rect().contains(where)) << name;
  }
}

TEST(Window, GroupsByClass) {
  const auto window = opened_window(bundled_capture());
  RankingPanel* ranking = ranking_of(*window);
  ranking->grouping()->setCurrentText("class");
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->key, analyzer::RankingKey::kernel_class);
  EXPECT_EQ(ranking->table()->model()->rowCount(), static_cast<int>(ranking->answer()->ranking->rows.size()));
}

TEST(Window, FiltersByTypingAndCopies) {
  const auto window = opened_window(bundled_capture());
  RankingPanel* ranking = ranking_of(*window);
  const int all = ranking->table()->model()->rowCount();
  QTest::keyClicks(ranking->filter(), "adam");
  const int some = ranking->table()->model()->rowCount();
  EXPECT_GT(some, 0);
  EXPECT_LT(some, all);
  ranking->table()->copy_tsv();
  EXPECT_EQ(QApplication::clipboard()->text().count('\n'), some + 1);
}

TEST(Window, ADamagedCaptureHasAPageThatSaysWhatToDo) {
  const ridgeline::testing::TemporaryDirectory directory;
  const QString path = QString::fromStdString(directory.file("torn.ridge"));
  ASSERT_TRUE(QFile::copy(bundled_capture(), path));
  QFile file(path);
  ASSERT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
  ASSERT_TRUE(file.resize(file.size() / 3));
  MainWindow window(Options{});
  window.open(path);
  ASSERT_TRUE(wait_for([&] { return window.document()->state() == CaptureDocument::State::failed; }));
  EXPECT_EQ(window.document()->failure().kind, ErrorKind::corrupt);
  EXPECT_TRUE(window.error_page()->text().contains("ridgeline import"))
      << window.error_page()->text().toStdString();
  EXPECT_EQ(window.panel("ranking"), nullptr);
  // The window goes on: another capture opens in it.
  window.open(bundled_capture());
  ASSERT_TRUE(wait_for([&] { return window.panel("ranking") != nullptr; }));
}

TEST(Window, LoadingCanBeCancelled) {
  MainWindow window(Options{});
  bool failed = false;
  QObject::connect(&window, &MainWindow::opening_failed, [&] { failed = true; });
  window.open(bundled_capture());
  window.document()->cancel_loading();
  EXPECT_TRUE(failed);
  EXPECT_EQ(window.document()->failure().kind, ErrorKind::cancelled);
  QTest::qWait(50);
  EXPECT_EQ(window.panel("ranking"), nullptr);
}

TEST(Window, PanelsStandWhereTheyWereLeft) {
  const ridgeline::testing::TemporaryDirectory directory;
  const QString path = QString::fromStdString(directory.file("run.ridge"));
  ASSERT_TRUE(QFile::copy(bundled_capture(), path));
  const auto dock_of = [](const MainWindow& window, const char* name) {
    return window.findChild<QDockWidget*>(QString("dock-") + name);
  };
  {
    const auto window = opened_window(path);
    dock_of(*window, "roofline")->hide();
    window->addDockWidget(Qt::LeftDockWidgetArea, dock_of(*window, "step"));
    window->save_view();
  }
  const auto window = opened_window(path);
  EXPECT_FALSE(dock_of(*window, "roofline")->isVisible());
  EXPECT_TRUE(dock_of(*window, "ranking")->isVisible());
  EXPECT_EQ(window->dockWidgetArea(dock_of(*window, "step")), Qt::LeftDockWidgetArea);
  window->run("reset_layout");
  EXPECT_TRUE(dock_of(*window, "roofline")->isVisible());
  EXPECT_EQ(window->dockWidgetArea(dock_of(*window, "step")), Qt::RightDockWidgetArea);
}

TEST(Window, TheHeadlineIsFourLinesAndSaysFirstThatTheGpuIsIdle) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory.file("decode.ridge");
  generate::Options recording;
  recording.shape = generate::Shape::decode;
  recording.launches = 755 * 14;
  generate::generate(recording, *generate::make_capture_sink(path));
  const auto window = opened_window(QString::fromStdString(path), {1280, 690});
  const auto* bar = window->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  ASSERT_GE(bar->lines().size(), 4);
  EXPECT_TRUE(bar->lines().front().startsWith("The GPU is idle for ")) << bar->lines().front().toStdString();
  EXPECT_TRUE(bar->lines().at(1).startsWith("No verdict against ")) << bar->lines().at(1).toStdString();
  EXPECT_TRUE(bar->lines().at(2).startsWith("First: ")) << bar->lines().at(2).toStdString();
  EXPECT_LE(bar->height(), 116) << "in a small window there is room for what was recorded";
  for (const int width : {1280, 1440, 1920}) {
    window->resize(width, 690);
    QApplication::processEvents();
    const ElidedLabel* headline = bar->labels().front();
    const QStringList painted = headline->painted_lines();
    EXPECT_EQ(painted.join(' '), headline->text()) << "all of it, at " << width;
    EXPECT_TRUE(painted.join(' ').contains("the longest gap lasts "));
    EXPECT_GE(headline->height(), painted.size() * headline->fontMetrics().height());
    for (const QString& line : painted)
      EXPECT_LE(headline->fontMetrics().horizontalAdvance(line), headline->width()) << line.toStdString();
  }
  window->resize(1280, 690);
  EXPECT_LE(window->width(), 1280);
  EXPECT_LE(window->height(), 690);
}

TEST(ElidedWords, AreCutBetweenWordsAndNeverAfterANumber) {
  const QFontMetrics metrics(QApplication::font());
  const QString text = "idle for 84.4 % of the step, 10.785 ms of 12.776 ms";
  EXPECT_EQ(elided_words(text, metrics, 10'000), text);
  for (int width = metrics.horizontalAdvance("idle for …"); width < metrics.horizontalAdvance(text);
       ++width) {
    const QString cut = elided_words(text, metrics, width);
    ASSERT_TRUE(cut.endsWith(QString::fromUtf8(" …"))) << cut.toStdString();
    EXPECT_LE(metrics.horizontalAdvance(cut), width);
    EXPECT_TRUE(text.startsWith(cut.chopped(2) + ' ')) << cut.toStdString();
    EXPECT_FALSE(cut.chopped(2).split(' ').last().front().isDigit()) << cut.toStdString();
  }
}

TEST(FittedLines, WholeClausesAreLeftOutFromTheEnd) {
  const QFontMetrics metrics(QApplication::font());
  const QString text =
      "Fuse it: the GPU waits (for 2 ms, at most). It would give 5.090 ms; from what was measured.";
  const auto lines = [&](const QString& room, int most) {
    return fitted_lines(text, metrics, metrics.horizontalAdvance(room), most).join('|');
  };
  EXPECT_EQ(lines(text, 1), text);
  EXPECT_EQ(lines("Fuse it: the GPU waits (for 2 ms, at most). It would …", 2),
            "Fuse it: the GPU waits (for 2 ms, at most). It would|give 5.090 ms; from what was measured.");
  const QString dots = QString::fromUtf8(" …");
  EXPECT_EQ(lines("Fuse it: the GPU waits (for 2 ms, at most). It would give 5.090 ms; from", 1),
            "Fuse it: the GPU waits (for 2 ms, at most). It would give 5.090 ms" + dots);
  EXPECT_EQ(lines("Fuse it: the GPU waits (for 2 ms, at most). It would", 1),
            "Fuse it: the GPU waits (for 2 ms, at most)." + dots);
  EXPECT_EQ(lines("Fuse it: the GPU waits (for", 1), "Fuse it" + dots) << "not within brackets";
  for (int width = metrics.horizontalAdvance("Fuse …"); width < metrics.horizontalAdvance(text); ++width) {
    const QStringList painted = fitted_lines(text, metrics, width, 1);
    ASSERT_EQ(painted.size(), 1);
    EXPECT_LE(metrics.horizontalAdvance(painted.front()), width) << painted.front().toStdString();
    for (const QString& line : fitted_lines(text, metrics, width, 4))
      EXPECT_FALSE(line.back().isDigit()) << "a number stays with its unit: " << line.toStdString();
  }
}

TEST(Window, APanelWithATabIsTitledOnce) {
  const auto window = opened_window(bundled_capture());
  const auto dock_of = [&](const char* name) {
    return window->findChild<QDockWidget*>(QString("dock-") + name);
  };
  const auto titled = [&](const char* name) { return dock_of(name)->titleBarWidget() == nullptr; };
  ASSERT_TRUE(wait_for([&] { return !titled("ranking") && !titled("step"); }));
  EXPECT_EQ(dock_of("ranking")->titleBarWidget()->height(), 0);
  EXPECT_TRUE(titled("roofline")) << "it has no tab";
  dock_of("step")->setFloating(true);
  ASSERT_TRUE(wait_for([&] { return titled("step"); }));
  dock_of("step")->setFloating(false);
  ASSERT_TRUE(wait_for([&] { return !titled("step"); }));
}

TEST(Window, NothingMeasuredIsSaidInTheRanking) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::FabricatedCapture options;
  options.tier_refused = true;
  ridgeline::testing::write_fabricated_capture(directory.file("plain.ridge"), options);
  const auto window = opened_window(QString::fromStdString(directory.file("plain.ridge")));
  bool said = false;
  for (const QLabel* label : ranking_of(*window)->findChildren<QLabel*>()) {
    said = said || label->text().contains("nothing was measured");
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace ridgeline::gui
