// The layout of all that the window shows, on screens of three sizes and in both themes: no words or numbers cut
// without a sign, nothing over something else, and a window of the size that it was given. Pictures of the same views,
// for eyes: scripts/window-pictures.
#include <QLabel>
#include <QPushButton>

#include "app/screenshot.h"
#include "generate/generate.h"
#include "generate/rank_job.h"
#include "gui/gui_testing.h"
#include "gui/layout_check.h"
#include "gui/window_views.h"
#include "panels/elided_button.h"
#include "panels/elided_label.h"
#include "panels/what_if_panel.h"
#include "ridgeline/queries/ranks_query.h"
#include "support/temporary_directory.h"

namespace ridgeline::gui {
namespace {

using ridgeline::testing::TemporaryDirectory;
using testing::bundled_capture;
using testing::EachView;
using testing::layout_faults;
using testing::opened_window;
using testing::WindowView;

struct Screen {
  QSize size;
  ThemeChoice theme;
};

class LayoutTest : public ::testing::TestWithParam<Screen> {
 protected:
  void SetUp() override { apply_theme(*qApp, GetParam().theme); }
  void TearDown() override { apply_theme(*qApp, ThemeChoice::light); }

  // Expects what a view shows to be whole.
  static EachView whole(const char* of) {
    return [of](const WindowView& view) {
      const QWidget& page = view.popup != nullptr ? *view.popup : view.page;
      for (const QString& fault : layout_faults(page))
        ADD_FAILURE() << of << ", " << view.name.toStdString() << ": " << fault.toStdString();
      if (qobject_cast<const MainWindow*>(&view.page) == nullptr) return;
      EXPECT_EQ(view.page.size(), GetParam().size) << of << ", " << view.name.toStdString();
    };
  }
  static void expect_whole(const QString& capture, const char* of) {
    const auto window = opened_window(capture, GetParam().size);
    EXPECT_TRUE(testing::each_view(*window, whole(of)));
  }
};

TEST_P(LayoutTest, OfARecordedTrainingIsWhole) {
  expect_whole(bundled_capture(), "bundled");
}

TEST_P(LayoutTest, OfADecodingServerIsWhole) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("decode.ridge");
  generate::Options options;
  options.shape = generate::Shape::decode;
  (void)generate::generate(options, *generate::make_capture_sink(path));
  expect_whole(QString::fromStdString(path), "decode");
}

TEST_P(LayoutTest, OfTwoRanksIsWhole) {
  const TemporaryDirectory directory;
  generate::RankJob job;
  job.ranks = 2;
  job.ranks_per_host = 2;
  job.cause = generate::RankCause::host_gaps;
  job.straggler = 1;
  job.late_ns = 1.5e6;
  const auto files = generate::generate_rank_job(job, directory.path()).files;
  expect_whole(QString::fromStdString(files[1]), "a rank");
  const std::string merged = directory.file("job.ridge");
  ASSERT_TRUE(queries::merge_ranks(files, merged).ok());
  Options options;
  MainWindow window(options);
  window.resize(GetParam().size);
  window.show();
  window.open(QString::fromStdString(merged));
  ASSERT_TRUE(wait_until_settled(window));
  EXPECT_TRUE(testing::each_view(window, whole("the job")));
}

TEST_P(LayoutTest, OfPagesAndDialogsIsWhole) {
  const TemporaryDirectory directory;
  Options options;
  MainWindow window(options);
  window.resize(GetParam().size);
  window.show();
  testing::each_dialog(window, QString::fromStdString(directory.file("no-such.ridge")), whole("dialogs"));
}

INSTANTIATE_TEST_SUITE_P(Screens, LayoutTest,
                         ::testing::Values(Screen{{1280, 690}, ThemeChoice::light},
                                           Screen{{1280, 690}, ThemeChoice::dark},
                                           Screen{{1440, 900}, ThemeChoice::dark},
                                           Screen{{1920, 1080}, ThemeChoice::light}));

// A check that finds nothing in anything would pass on every window.
TEST(LayoutFaults, AreFoundWhereWordsAreCutAndWidgetsOverlap) {
  QWidget page;
  page.resize(300, 200);
  auto* label = new QLabel("a sentence that is longer than its place", &page);
  label->setGeometry(0, 0, 60, 20);
  auto* button = new QPushButton("Open a capture of another run", &page);
  button->setGeometry(0, 40, 60, 24);
  auto* over = new QLabel("over", &page);
  over->setGeometry(30, 50, 60, 20);
  auto* outside = new QLabel("outside", &page);
  outside->setGeometry(280, 100, 90, 20);
  page.show();
  const QStringList faults = layout_faults(page);
  EXPECT_EQ(faults.filter("cut without dots").size(), 1) << faults.join("; ").toStdString();
  EXPECT_EQ(faults.filter("no room for").size(), 1) << faults.join("; ").toStdString();
  EXPECT_EQ(faults.filter("lies over").size(), 1) << faults.join("; ").toStdString();
  EXPECT_EQ(faults.filter("reaches out of").size(), 1) << faults.join("; ").toStdString();
  label->setText("−3.2 % of 1 launch, 21 launches, 1.1 kernels of 4-1");
  over->setText("-3.2 %");
  EXPECT_EQ(layout_faults(page).filter("a hyphen for a minus sign").size(), 1);
  over->setText("1 other kernels");
  EXPECT_EQ(layout_faults(page).filter("one is said to be many").size(), 1);
  over->setText("over");
  label->setText("a sentence");
  label->resize(label->sizeHint());
  button->resize(button->sizeHint());
  over->move(200, 150);
  outside->move(0, 100);
  EXPECT_TRUE(layout_faults(page).isEmpty()) << layout_faults(page).join("; ").toStdString();
}

TEST(Layout, ChosenRangeMovesNothing) {
  const auto window = opened_window(bundled_capture(), {1280, 690});
  const QWidget* ranking = window->panel("ranking");
  const QWidget* roofline = window->panel("roofline");
  const int wide = ranking->width(), beside = roofline->width();
  const analyzer::TimeWindow step = window->selection().view();
  window->selection().select_range(
      analyzer::TimeWindow{step.start_ns + 12'345'678, step.start_ns + 23'456'789});
  ASSERT_TRUE(wait_until_settled(*window));
  EXPECT_EQ(window->size(), QSize(1280, 690));
  EXPECT_EQ(ranking->width(), wide);
  EXPECT_EQ(roofline->width(), beside);
  const auto* chip = ranking->findChild<ElidedButton*>();
  ASSERT_NE(chip, nullptr);
  EXPECT_TRUE(chip->isVisibleTo(ranking));
  EXPECT_TRUE(chip->toolTip().startsWith("11.111 ms from 12.346 ms")) << chip->toolTip().toStdString();
}

TEST(Layout, SlidersOfWhatIfHaveRoomToBeMoved) {
  const auto window = opened_window(bundled_capture(), {1280, 690});
  auto* panel = dynamic_cast<WhatIfPanel*>(window->panel("what-if"));
  ASSERT_NE(panel, nullptr);
  window->show_panel("what-if");
  ASSERT_TRUE(wait_until_settled(*window));
  for (std::size_t i = 0; i < panel->choice().kernels().size(); ++i) EXPECT_GE(panel->slider(i)->width(), 80);
}

// Names of 23 letters stood in a panel that had room for 40.
TEST(Layout, NamesOfWhatIfHaveTheRoomThatThereIs) {
  const auto names_at = [](const QSize& size) {
    const auto window = opened_window(bundled_capture(), size);
    window->show_panel("what-if");
    EXPECT_TRUE(wait_until_settled(*window));
    auto* panel = dynamic_cast<WhatIfPanel*>(window->panel("what-if"));
    QStringList names;
    int widest = 0, room = 0;
    for (const ElidedLabel* name : panel->findChildren<ElidedLabel*>()) {
      if (!name->isVisible()) continue;
      EXPECT_FALSE(name->is_cut()) << name->text().toStdString();
      names << name->text();
      widest = std::max(widest, name->fontMetrics().horizontalAdvance(name->text()));
      room = name->width();
    }
    EXPECT_EQ(names.size(), static_cast<int>(panel->choice().kernels().size()));
    EXPECT_EQ(QStringList(names).removeDuplicates(), 0) << names.join("; ").toStdString();
    // The room suffices for all of them, or they take it but for a few letters.
    if (names.filter("…").size() > 0) {
      EXPECT_GT(widest, room - 6 * window->fontMetrics().averageCharWidth());
    }
    return names;
  };
  const QStringList narrow = names_at({1280, 690}), wide = names_at({1920, 1080});
  EXPECT_GT(narrow.filter("…").size(), 0);
  EXPECT_GT(wide.join("").size(), narrow.join("").size());
}

}  // namespace
}  // namespace ridgeline::gui
