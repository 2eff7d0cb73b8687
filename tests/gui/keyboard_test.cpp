// The window by keyboard and by screen reader: Tab stays where eyes are, what has the keys is marked, and charts have
// words.
#include <QAccessible>
#include <QComboBox>
#include <QDockWidget>
#include <QListWidget>
#include <QSignalSpy>
#include <QTabBar>

#include "app/focus_ring.h"
#include "gui/gui_testing.h"
#include "panels/charts.h"
#include "panels/findings_panel.h"
#include "panels/ranking_panel.h"
#include "panels/step_panel.h"
#include "reports/fabricated_capture.h"
#include "roofline/roofline_panel.h"
#include "support/temporary_directory.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using testing::opened_window;
using testing::wait_for;

class KeyboardTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    window_ = opened_window(testing::bundled_capture());
    window_->activateWindow();
  }
  static void TearDownTestSuite() { window_.reset(); }
  void SetUp() override {
    const auto& step = window_->document()->overview()->steps->representative;
    window_->selection().reset({step.window_start_ns, step.window_end_ns});
    ASSERT_TRUE(wait_for([] { return window_->settled(); }));
    window_->show_panel("ranking");
    window_->show_panel("step");
    window_->timeline()->view()->setFocus();
    ASSERT_TRUE(wait_for([] { return window_->timeline()->view()->hasFocus(); }));
  }
  static QWidget* focused() { return window_->focusWidget(); }
  static QDockWidget* dock(const char* name) {
    return window_->findChild<QDockWidget*>(QString("dock-") + name);
  }
  static bool is_in(const QWidget* widget, const QWidget* outer) {
    return widget == outer || outer->isAncestorOf(widget);
  }
  static inline std::unique_ptr<MainWindow> window_;
};

TEST_F(KeyboardTest, EscapeLetsGoOfTheChoiceWhereverTheKeysAre) {
  auto* ranking = dynamic_cast<RankingPanel*>(window_->panel("ranking"));
  QWidget* tabs = window_->findChild<QTabBar*>();
  ASSERT_NE(tabs, nullptr);
  const auto choose = [] {
    window_->selection().select_kernel(kernels_of(*window_->document()->overview(), 0));
    EXPECT_FALSE(window_->selection().kernel().empty());
  };
  for (QWidget* has_keys : std::initializer_list<QWidget*>{
           ranking->table(), tabs, ranking->grouping(), window_->panel("step")->findChild<ColumnChart*>()}) {
    choose();
    has_keys->setFocus();
    ASSERT_TRUE(wait_for([&] { return focused() != window_->timeline()->view(); }));
    QTest::keyClick(focused(), Qt::Key_Escape);
    EXPECT_TRUE(window_->selection().kernel().empty()) << has_keys->metaObject()->className();
  }
  choose();
  ranking->filter()->setFocus();
  QTest::keyClick(ranking->filter(), Qt::Key_Escape);
  EXPECT_FALSE(window_->selection().kernel().empty()) << "who types means the text";
  window_->selection().select_kernel({});
}

TEST_F(KeyboardTest, TabGoesRoundWhatCanBeSeenAndChangesNothing) {
  const auto view = window_->selection().view();
  std::vector<QWidget*> reached;
  bool forward_round = false;
  for (int presses = 0; presses < 200 && !forward_round; ++presses) {
    QTest::keyClick(focused(), Qt::Key_Tab);
    QWidget* now = focused();
    ASSERT_NE(now, nullptr);
    EXPECT_TRUE(now->isVisible());
    for (const char* hidden : {"findings", "gaps", "sql", "advice", "log", "kernel", "what-if"})
      EXPECT_FALSE(is_in(now, dock(hidden))) << hidden << " is behind another panel";
    forward_round = now == window_->timeline()->view();
    reached.push_back(now);
  }
  EXPECT_TRUE(forward_round);
  EXPECT_GT(reached.size(), 6U);
  const auto reaches = [&](const char* name) {
    return std::any_of(reached.begin(), reached.end(),
                       [&](QWidget* each) { return is_in(each, dock(name)); });
  };
  EXPECT_TRUE(reaches("ranking"));
  EXPECT_TRUE(reaches("roofline"));
  EXPECT_TRUE(reaches("step"));
  EXPECT_EQ(window_->selection().view(), view);
  EXPECT_TRUE(window_->selection().kernel().empty()) << "who passes through a table chooses nothing";
  // And back the same way.
  for (std::size_t i = reached.size() - 1; i > 0; --i) {
    QTest::keyClick(focused(), Qt::Key_Backtab);
    EXPECT_EQ(focused(), reached[i - 1]) << i;
  }
}

TEST_F(KeyboardTest, APanelThatComesToTheFrontIsReachedThen) {
  window_->show_panel("findings");
  bool reached = false;
  for (int presses = 0; presses < 60 && !reached; ++presses) {
    QTest::keyClick(focused(), Qt::Key_Tab);
    EXPECT_FALSE(is_in(focused(), dock("ranking")));
    reached = is_in(focused(), dock("findings"));
  }
  // Where there are no findings there is nothing to reach in it.
  const auto* list = window_->panel("findings")->findChild<QListWidget*>();
  EXPECT_EQ(reached, list->isVisible());
}

TEST_F(KeyboardTest, WhatHasTheKeysHasARing) {
  auto* ring = window_->findChild<FocusRing*>();
  ASSERT_NE(ring, nullptr);
  auto* table = dynamic_cast<RankingPanel*>(window_->panel("ranking"))->table();
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, QPoint(30, 10));
  EXPECT_EQ(ring->widget(), nullptr) << "who points sees where";
  QTest::keyClick(focused(), Qt::Key_Tab);
  ASSERT_EQ(ring->widget(), focused());
  EXPECT_TRUE(ring->isVisible());
  window_->timeline()->view()->setFocus(Qt::TabFocusReason);
  ASSERT_EQ(ring->widget(), window_->timeline()->view());
  const QRect place(window_->timeline()->view()->mapTo(window_.get(), QPoint()),
                    window_->timeline()->view()->size());
  EXPECT_EQ(ring->geometry(), place);
  const QImage marked = window_->grab().toImage();
  EXPECT_EQ(marked.pixelColor(place.left() + 1, place.center().y()), theme().accent);
}

TEST(FindingsByKeyboard, ActOnlyOnceALineIsChosen) {
  const ridgeline::testing::TemporaryDirectory folder;
  ridgeline::testing::FabricatedCapture made;
  made.sample_steps = 4;
  made.t1_outlier = 0.05;
  made.losses = true;
  ridgeline::testing::write_fabricated_capture(folder.file("findings.ridge"), made);
  const auto window = opened_window(QString::fromStdString(folder.file("findings.ridge")));
  window->show_panel("findings");
  auto* list = window->panel("findings")->findChild<QListWidget*>();
  ASSERT_GT(list->count(), 1);
  QSignalSpy kernels(&window->selection(), &Selection::kernel_changed);
  QSignalSpy views(&window->selection(), &Selection::view_changed);
  window->activateWindow();  // on an X server without a window manager a second window has not got the keys
  list->setFocus(Qt::TabFocusReason);
  ASSERT_TRUE(wait_for([&] { return list->hasFocus(); }));
  EXPECT_EQ(kernels.count() + views.count(), 0) << "the focus came, nobody chose";
  for (int i = 1; i < list->count(); ++i) QTest::keyClick(list, Qt::Key_Down);
  EXPECT_GT(kernels.count() + views.count(), 0);
}

TEST_F(KeyboardTest, ColumnsAndBoxesAreWalkedAndChosen) {
  auto* chart = window_->panel("step")->findChild<ColumnChart*>();
  QSignalSpy chosen(chart, &ColumnChart::column_chosen);
  chart->setFocus(Qt::TabFocusReason);
  QTest::keyClick(chart, Qt::Key_End);
  EXPECT_EQ(chart->current_item(), chart->item_count() - 1);
  QTest::keyClick(chart, Qt::Key_Right);
  EXPECT_EQ(chart->current_item(), chart->item_count() - 1);
  QTest::keyClick(chart, Qt::Key_Left);
  EXPECT_EQ(chart->current_item(), chart->item_count() - 2);
  EXPECT_EQ(chosen.count(), 0);
  QTest::keyClick(chart, Qt::Key_Return);
  ASSERT_EQ(chosen.count(), 1);
  EXPECT_EQ(chosen[0][0].toInt(), chart->item_count() - 2);
  auto* back = window_->panel("step")->findChild<QToolButton*>();
  ASSERT_NE(back, nullptr);
  auto* flame = window_->panel("step")->findChild<FlameChart*>();
  flame->setFocus(Qt::TabFocusReason);
  QTest::keyClick(flame, Qt::Key_Home);
  EXPECT_FALSE(window_->selection().hovered().empty())
      << "what the keyboard is on lights up like under the mouse";
  QTest::keyClick(flame, Qt::Key_Space);
  EXPECT_FALSE(window_->selection().nvtx().empty());
  window_->selection().select_nvtx({});
  ASSERT_TRUE(wait_for([] { return window_->settled(); }));
}

TEST_F(KeyboardTest, ChartsAndDotsHaveNamesValuesAndPlaces) {
  window_->selection().select_kernel(kernels_of(*window_->document()->overview(), 0));
  window_->show_panel("kernel");
  ASSERT_TRUE(wait_for([] { return window_->settled(); }));
  std::vector<ItemChart*> charts;
  for (const char* name : {"step", "kernel", "roofline"}) {
    for (ItemChart* chart : window_->panel(name)->findChildren<ItemChart*>()) {
      if (chart->isVisibleTo(window_->panel(name))) charts.push_back(chart);
    }
  }
  ASSERT_GT(charts.size(), 6U);
  for (ItemChart* chart : charts) {
    QAccessibleInterface* list = QAccessible::queryAccessibleInterface(chart);
    ASSERT_NE(list, nullptr);
    const std::string name = list->text(QAccessible::Name).toStdString();
    EXPECT_FALSE(name.empty()) << chart->metaObject()->className();
    EXPECT_EQ(list->role(), QAccessible::List) << name;
    EXPECT_EQ(list->childCount(), chart->item_count()) << name;
    EXPECT_GT(list->childCount(), 0) << name;
    for (int i = 0; i < list->childCount(); i += 1 + list->childCount() / 7) {
      QAccessibleInterface* item = list->child(i);
      ASSERT_NE(item, nullptr);
      EXPECT_EQ(item->parent(), list);
      EXPECT_EQ(list->indexOfChild(item), i);
      const QString words = item->text(QAccessible::Name);
      EXPECT_TRUE(words.contains(QRegularExpression("\\d"))) << name << ": " << words.toStdString();
    }
  }
  auto* roofline = dynamic_cast<RooflinePanel*>(window_->panel("roofline"));
  QAccessibleInterface* dots = QAccessible::queryAccessibleInterface(roofline->view());
  EXPECT_TRUE(dots->child(0)->text(QAccessible::Name).contains("FLOP/byte"));
  dots->child(1)->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  EXPECT_EQ(window_->selection().kernel(),
            kernels_of(*window_->document()->overview(), roofline->view()->plot().dots[1].ranking_row));
}

TEST_F(KeyboardTest, BoxesToChooseFromAreCalledWhatTheyAreFor) {
  int boxes = 0;
  for (const char* name : {"ranking", "roofline", "sql"}) {
    for (QComboBox* box : window_->panel(name)->findChildren<QComboBox*>()) {
      QAccessibleInterface* about = QAccessible::queryAccessibleInterface(box);
      bool named = false;
      for (const auto& [other, relation] : about->relations(QAccessible::Label))
        named = named || !other->text(QAccessible::Name).isEmpty();
      EXPECT_TRUE(named) << name << ": " << box->accessibleName().toStdString();
      ++boxes;
    }
  }
  EXPECT_GE(boxes, 4);
}

}  // namespace
}  // namespace ridgeline::gui
