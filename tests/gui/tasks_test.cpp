// What a user of a profiler does every day, done with mouse and keyboard as the platform delivers them, and counted:
// docs/results/gui.md has the counts. Each case fails if its answer is not there, or takes more than it did.
#include <QClipboard>
#include <QFile>
#include <QHeaderView>
#include <QTabBar>
#include <QWheelEvent>
#include <algorithm>

#include "app/pages.h"
#include "app/record_dialog.h"
#include "app/screenshot.h"
#include "compare/compare_panel.h"
#include "generate/generate.h"
#include "gui/gui_testing.h"
#include "panels/charts.h"
#include "panels/gaps_panel.h"
#include "panels/kernel_panel.h"
#include "panels/overview_bar.h"
#include "panels/ranking_panel.h"
#include "panels/sql_panel.h"
#include "panels/step_panel.h"
#include "roofline/roofline_panel.h"
#include "support/temporary_directory.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using ridgeline::testing::TemporaryDirectory;
using testing::bundled_capture;
using testing::opened_window;
using testing::wait_for;

// Mouse and keyboard of one window, and what was done with them.
class Hand {
 public:
  explicit Hand(MainWindow& window) : window_(window) { window_.activateWindow(); }

  void click(const QWidget& on, const QPoint& at) {
    move(on, at);
    QTest::mouseClick(window_.windowHandle(), Qt::LeftButton, {}, on.mapTo(&window_, at));
    settle();
    ++clicks_;
  }
  void drag(const QWidget& on, const QPoint& from, const QPoint& to) {
    move(on, from);
    QTest::mousePress(window_.windowHandle(), Qt::LeftButton, {}, on.mapTo(&window_, from));
    QTest::mouseMove(window_.windowHandle(), on.mapTo(&window_, (from + to) / 2));
    QTest::mouseMove(window_.windowHandle(), on.mapTo(&window_, to));
    QTest::mouseRelease(window_.windowHandle(), Qt::LeftButton, {}, on.mapTo(&window_, to));
    settle();
    ++drags_;
  }
  void wheel(QWidget& on, const QPoint& at, int turn) {
    QWheelEvent event(at, on.mapToGlobal(at), {}, {0, turn}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&on, &event);
    settle();
    ++turns_;
  }
  void press(Qt::Key key, Qt::KeyboardModifiers with = {}) {
    QTest::keyClick(window_.windowHandle(), key, with);
    settle();
    ++keys_;
  }
  void type(const QString& text) {
    for (const QChar letter : text) QTest::keyClick(window_.windowHandle(), letter.toLatin1());
    settle();
    keys_ += static_cast<int>(text.size());
  }
  // A tab of panels that share a place.
  void click_tab(const QString& title) {
    for (const QTabBar* tabs : window_.findChildren<QTabBar*>()) {
      for (int i = 0; i < tabs->count(); ++i) {
        if (tabs->isVisible() && tabs->tabText(i) == title) return click(*tabs, tabs->tabRect(i).center());
      }
    }
    ADD_FAILURE() << "no tab " << title.toStdString();
  }

  void expect_no_more_than(int clicks, int keys, int drags = 0, int turns = 0) const {
    EXPECT_LE(clicks_, clicks);
    EXPECT_LE(keys_, keys);
    EXPECT_LE(drags_, drags);
    EXPECT_LE(turns_, turns);
  }

 private:
  void move(const QWidget& on, const QPoint& at) {
    QTest::mouseMove(window_.windowHandle(), on.mapTo(&window_, at));
    QApplication::processEvents();
  }
  void settle() { EXPECT_TRUE(wait_until_settled(window_)); }

  MainWindow& window_;
  int clicks_ = 0, keys_ = 0, drags_ = 0, turns_ = 0;
};

class TasksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    window_ = opened_window(bundled_capture());
    hand_ = std::make_unique<Hand>(*window_);
    view_ = window_->timeline()->view();
    view_->setFocus();
    ASSERT_TRUE(wait_for([&] { return view_->hasFocus(); }));
  }
  template <typename Panel>
  Panel* panel(const char* name) {
    return dynamic_cast<Panel*>(window_->panel(name));
  }
  QPoint graph_point(double share, int y) const {
    return {view_->label_width() + static_cast<int>(view_->axis().width() * share), y};
  }
  int stream_y() const {
    for (const TimelineView::Box& box : view_->boxes()) {
      if (view_->scene().row(box.row).kind == RowKind::kernels) return box.rect.center().y();
    }
    return -1;
  }

  std::unique_ptr<MainWindow> window_;
  std::unique_ptr<Hand> hand_;
  TimelineView* view_ = nullptr;
};

TEST_F(TasksTest, TheKernelToMendWhyAndItsCountersByTier) {
  const TableView& table = *panel<RankingPanel>("ranking")->table();
  hand_->click(*table.viewport(), table.visualRect(table.model()->index(0, 1)).center());
  hand_->click_tab("Kernel");
  const auto* kernel = panel<KernelPanel>("kernel");
  EXPECT_TRUE(kernel->title().contains("attention")) << kernel->title().toStdString();
  EXPECT_TRUE(kernel->why().startsWith("Latency-bound")) << kernel->why().toStdString();
  for (const char* words : {"(T1)", "(T2)"}) EXPECT_TRUE(kernel->facts().contains(words)) << words;
  hand_->expect_no_more_than(2, 0);
}

TEST_F(TasksTest, ZoomPanAndARange) {
  const auto before = window_->selection().view();
  hand_->wheel(*view_, graph_point(0.5, stream_y()), 240);
  EXPECT_LT(window_->selection().view().length_ns(), before.length_ns());
  hand_->drag(*view_, graph_point(0.3, stream_y()), graph_point(0.6, stream_y()));
  EXPECT_TRUE(window_->selection().range());
  hand_->expect_no_more_than(0, 0, 1, 1);
}

TEST_F(TasksTest, TheLongestGapAndItsCause) {
  hand_->press(Qt::Key_G, Qt::ControlModifier);
  const auto* gaps = panel<GapsPanel>("gaps");
  EXPECT_TRUE(gaps->isVisible());
  const auto said = gaps->findChildren<QLabel*>();
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const QLabel* label) {
    return label->isVisible() && label->text().contains("of the step: queued");
  }));
  EXPECT_TRUE(window_->selection().launch()) << "the launch that ended it";
  hand_->expect_no_more_than(0, 1);
}

TEST_F(TasksTest, WhatOneRangeOfTheBackwardLaunched) {
  const auto* step = panel<StepPanel>("step");
  FlameChart* tree = window_->panel("step")->findChild<FlameChart*>();
  ASSERT_NE(tree, nullptr);
  std::size_t box = 0;
  while (box < tree->boxes().size() && tree->boxes()[box].key != "step / backward / layer 5") ++box;
  ASSERT_LT(box, tree->boxes().size());
  hand_->click(*tree, tree->item_rect(static_cast<int>(box)).center().toPoint());
  ASSERT_TRUE(wait_for([&] { return !step->waiting() && !panel<RankingPanel>("ranking")->waiting(); }));
  EXPECT_EQ(window_->selection().nvtx(), "step / backward / layer 5");
  EXPECT_EQ(panel<RankingPanel>("ranking")->answer()->ranking->totals.calls, 14)
      << "its launches, not others";
  hand_->expect_no_more_than(1, 0);
}

TEST_F(TasksTest, TheNextLaunchOfAKernelAndADistance) {
  hand_->click(*view_, graph_point(0.5, stream_y()));
  ASSERT_TRUE(window_->selection().launch());
  const auto first = *window_->selection().launch();
  hand_->press(Qt::Key_Period);
  ASSERT_TRUE(window_->selection().launch());
  EXPECT_GT(window_->selection().launch()->start_ns, first.start_ns);
  EXPECT_EQ(window_->selection().launch()->kernel_id, first.kernel_id);
  hand_->drag(*view_, graph_point(0.2, stream_y()), graph_point(0.4, stream_y()));
  ASSERT_TRUE(window_->selection().range());
  EXPECT_FALSE(view_->statistics(*window_->selection().range()).isEmpty());
  hand_->expect_no_more_than(1, 1, 1);
}

TEST_F(TasksTest, ADotOfTheRooflineAndWhichKernelItIs) {
  auto* view = panel<RooflinePanel>("roofline")->view();
  ASSERT_FALSE(view->plot().dots.empty());
  // One that stands alone is a click; in a heap it would be a line of the list.
  const RooflineDot* alone = nullptr;
  for (const RooflineDot& dot : view->plot().dots) {
    if (view->dots_at(view->place_of(dot, false)).size() == 1) alone = &dot;
  }
  ASSERT_NE(alone, nullptr);
  const std::string name = alone->name;
  hand_->wheel(*view, view->place_of(*alone, false).toPoint(), 120);
  ASSERT_TRUE(view->zoomed_to());
  for (const RooflineDot& dot : view->plot().dots) {
    if (dot.name == name) hand_->click(*view, view->place_of(dot, false).toPoint());
  }
  EXPECT_EQ(window_->selection().kernel().name, name);
  hand_->expect_no_more_than(1, 0, 0, 1);
}

TEST_F(TasksTest, RankingSortedCopiedAndAQuery) {
  auto* table = panel<RankingPanel>("ranking")->table();
  QHeaderView* heads = table->horizontalHeader();
  const auto column = static_cast<int>(table->table_model()->table()->column("time_ns"));
  hand_->click(*heads->viewport(), {heads->sectionViewportPosition(column) + 12, heads->height() / 2});
  EXPECT_EQ(heads->sortIndicatorSection(), column);
  hand_->click(*table->viewport(), table->visualRect(table->model()->index(0, 1)).center());
  hand_->press(Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text().count('\n'), table->model()->rowCount() + 1);
  const QString query = "SELECT count(*) FROM v_launch";
  view_->setFocus();
  hand_->type(":" + query);
  hand_->press(Qt::Key_Return);
  const auto* sql = panel<SqlPanel>("sql");
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  EXPECT_EQ(sql->table()->model()->index(0, 0).data().toString(), "9691");
  hand_->expect_no_more_than(2, 3 + static_cast<int>(query.size()));
}

TEST(Tasks, TwoCapturesAreComparedAsTheyAreNamed) {
  Options options;
  options.captures = {bundled_capture()};
  options.against = {QString("%1/tests/store/version-2.ridge").arg(RIDGELINE_SOURCE_DIR)};
  options.size = {1280, 690};
  MainWindow window(options);
  window.resize(options.size);
  window.show();
  window.open(options.captures.front());
  ASSERT_TRUE(wait_until_settled(window));
  auto* compare = dynamic_cast<ComparePanel*>(window.panel("compare"));
  ASSERT_NE(compare, nullptr);
  ASSERT_TRUE(wait_for([&] { return compare->comparison() != nullptr; }));
  EXPECT_TRUE(compare->isVisible());
  EXPECT_FALSE(compare->verdict().isEmpty());
  EXPECT_EQ(window.size(), QSize(1280, 690));
}

TEST(Tasks, ADamagedFileSaysWhatToDo) {
  const TemporaryDirectory directory;
  const QString path = QString::fromStdString(directory.file("torn.ridge"));
  ASSERT_TRUE(QFile::copy(bundled_capture(), path));
  QFile file(path);
  ASSERT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
  ASSERT_TRUE(file.resize(file.size() / 3));
  MainWindow window(Options{});
  window.show();
  window.open(path);
  ASSERT_TRUE(wait_for([&] { return window.document()->state() == CaptureDocument::State::failed; }));
  EXPECT_TRUE(window.error_page()->isVisible());
  EXPECT_TRUE(window.error_page()->text().contains("damaged")) << window.error_page()->text().toStdString();
}

TEST_F(TasksTest, ByKeyboardAloneToTheKernelAndIntoTheTimeline) {
  hand_->press(Qt::Key_2, Qt::AltModifier);  // the ranking
  hand_->press(Qt::Key_Down);
  hand_->press(Qt::Key_Down);
  ASSERT_FALSE(window_->selection().kernel().empty());
  hand_->press(Qt::Key_Return);
  ASSERT_TRUE(window_->selection().launch()) << "its launch in the timeline";
  EXPECT_TRUE(view_->hasFocus());
  hand_->press(Qt::Key_5, Qt::AltModifier);  // the kernel
  EXPECT_TRUE(window_->panel("kernel")->isVisible());
  hand_->expect_no_more_than(0, 5);
}

TEST(Tasks, WhatDominatesADecodingStepIsTheFirstLine) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("decode.ridge");
  generate::Options recording;
  recording.shape = generate::Shape::decode;
  generate::generate(recording, *generate::make_capture_sink(path));
  const auto window = opened_window(QString::fromStdString(path));
  const auto* bar = window->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  EXPECT_TRUE(bar->lines().front().startsWith("The GPU is idle for ")) << bar->lines().front().toStdString();
}

TEST_F(TasksTest, RecordingSaysWhatTheMachineCannotDo) {
  hand_->press(Qt::Key_R, Qt::ControlModifier);
  auto* dialog = window_->findChild<RecordDialog*>();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(wait_for([&] { return !dialog->machine().contains("Checking"); }, 60'000));
  EXPECT_FALSE(dialog->machine().isEmpty());
  hand_->expect_no_more_than(0, 1);
  dialog->close();
}

}  // namespace
}  // namespace ridgeline::gui
