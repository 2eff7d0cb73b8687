// Roofline, kernel and step panel.
#include <QFile>
#include <QMenu>
#include <QTemporaryDir>
#include <QWheelEvent>
#include <set>

#include "gui/gui_testing.h"
#include "models/text.h"
#include "panels/findings_panel.h"
#include "panels/gaps_panel.h"
#include "panels/kernel_facts.h"
#include "panels/kernel_panel.h"
#include "panels/ranking_panel.h"
#include "panels/step_panel.h"
#include "panels/what_if_panel.h"
#include "reports/fabricated_capture.h"
#include "ridgeline/queries/kernel_query.h"
#include "ridgeline/store/database.h"
#include "roofline/roofline_panel.h"
#include "roofline/roofline_places.h"
#include "support/temporary_directory.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using testing::opened_window;
using testing::wait_for;

// A capture whose samples and replayed counters disagree on one kernel, with declared work, and disturbed steps.
class FindingsTest : public ::testing::Test {
 protected:
  FindingsTest() {
    ridgeline::testing::FabricatedCapture made;
    made.sample_steps = 4;
    made.t1_outlier = 0.05;
    made.declared = true;
    made.losses = true;
    ridgeline::testing::write_fabricated_capture(folder_.file("findings.ridge"), made);
    window_ = opened_window(QString::fromStdString(folder_.file("findings.ridge")));
    findings_ = dynamic_cast<FindingsPanel*>(window_->panel("findings"));
  }
  const ScopeAnswer& overview() const { return *window_->document()->overview(); }
  ridgeline::testing::TemporaryDirectory folder_;
  std::unique_ptr<MainWindow> window_;
  FindingsPanel* findings_ = nullptr;
};

class PanelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { window_ = opened_window(testing::bundled_capture()); }
  static void TearDownTestSuite() { window_.reset(); }
  void SetUp() override {
    const auto& step = window_->document()->overview()->steps->representative;
    selection().reset({step.window_start_ns, step.window_end_ns});
    ASSERT_TRUE(wait_for([] { return window_->settled(); }));
  }
  static Selection& selection() { return window_->selection(); }
  static const ScopeAnswer& overview() { return *window_->document()->overview(); }
  template <typename Panel>
  static Panel* panel(const char* name) {
    return dynamic_cast<Panel*>(window_->panel(name));
  }
  static inline std::unique_ptr<MainWindow> window_;
};

TEST_F(PanelsTest, EveryRowOfTheRankingStandsSomewhereOnTheRoofline) {
  for (const RooflineMode mode : {RooflineMode::intensity, RooflineMode::time}) {
    RooflineSettings settings;
    settings.mode = mode;
    const RooflinePlot plot = make_plot(overview().to_plot(), settings);
    EXPECT_EQ(plot.dots.size() + plot.strip.size() + static_cast<std::size_t>(plot.left_out),
              overview().ranking->rows.size());
    for (const RooflineDot& dot : plot.dots) {
      EXPECT_GE(dot.x, plot.low_x);
      EXPECT_LE(dot.x, plot.high_x);
      EXPECT_GE(dot.y, plot.low_y);
      EXPECT_LE(dot.y, plot.high_y);
    }
  }
}

// The overview's ranking, but a kernel of it uses no pipe.
struct WithAnIdlePipe {
  explicit WithAnIdlePipe(const ScopeAnswer& of) : answer(of), ranking(*of.ranking) {
    const auto row = std::find_if(ranking.rows.begin(), ranking.rows.end(),
                                  [](const auto& each) { return each.dram && each.compute; });
    row->compute->value = 0;
  }
  [[nodiscard]] analyzer::RooflineSource to_plot() const {
    return {*answer.model, ranking, *answer.roofline};
  }
  const ScopeAnswer& answer;
  analyzer::Ranking ranking;
};

TEST_F(PanelsTest, InTimeModeAKernelAtItsRoofWouldStandAtItsTime) {
  RooflineSettings settings;
  settings.mode = RooflineMode::time;
  EXPECT_FALSE(make_plot(overview().to_plot(), settings).zero) << "all use both roofs";
  const WithAnIdlePipe changed(overview());
  const RooflinePlot plot = make_plot(changed.to_plot(), settings);
  ASSERT_TRUE(plot.zero);
  EXPECT_GT(*plot.zero, plot.low_x);
  int at_zero = 0;
  for (const RooflineDot& dot : plot.dots) {
    const analyzer::RankingRow& row = changed.ranking.rows[dot.ranking_row];
    for (const auto& [value, ratio] :
         {std::pair(dot.x, row.dram->value), std::pair(dot.y, row.compute->value)}) {
      if (ratio >= 1e-4) {
        EXPECT_NEAR(value / dot.measured, ratio, 1e-9);
        EXPECT_GT(value, 2 * *plot.zero) << "what uses a roof stands clear of what does not";
      } else {
        EXPECT_EQ(value, *plot.zero);
        ++at_zero;
      }
    }
  }
  EXPECT_EQ(at_zero, 1);
}

// A logarithm has no zero: "0" stands where the kernels are that do not use a roof, not a time that nobody measured.
TEST_F(PanelsTest, TheAxesOfTimeSayZeroWhereARoofIsNotUsed) {
  RooflineSettings settings;
  settings.mode = RooflineMode::time;
  RooflineView view;
  view.resize(500, 400);
  const WithAnIdlePipe changed(overview());
  view.set_plot(make_plot(changed.to_plot(), settings));
  const QStringList words = view.tick_words();
  EXPECT_EQ(words.count("0"), 2) << words.join("; ").toStdString();
  for (const QString& word : words) EXPECT_FALSE(word.startsWith("0.")) << words.join("; ").toStdString();
  EXPECT_GE(words.filter(QRegularExpression("^10+ [nµm]s$")).size(), 4) << words.join("; ").toStdString();
}

TEST_F(PanelsTest, GapsAreWalkedFromTheLongestWithTheLaunchThatEndedThem) {
  auto* gaps = panel<GapsPanel>("gaps");
  ASSERT_NE(gaps, nullptr);
  const analyzer::Accounting& accounting = *overview().accounting;
  ASSERT_GT(accounting.gaps.size(), 3U);
  ASSERT_EQ(gaps->table()->model()->rowCount(), static_cast<int>(accounting.gaps.size()));
  EXPECT_TRUE(gaps->total().endsWith("of the step")) << gaps->total().toStdString();
  EXPECT_TRUE(gaps->chosen().isEmpty());
  const analyzer::Gap longest = analyzer::longest_gap(accounting).value();
  window_->run("next_gap");
  EXPECT_TRUE(gaps->isVisible());
  EXPECT_LT(selection().view().start_ns, longest.start_ns);
  EXPECT_GT(selection().view().end_ns, longest.end_ns);
  EXPECT_LE(selection().view().length_ns(), std::max<std::int64_t>(2 * (longest.end_ns - longest.start_ns),
                                                                   2000 + longest.end_ns - longest.start_ns));
  EXPECT_FALSE(gaps->chosen().isEmpty());
  ASSERT_EQ(selection().launch().has_value(), longest.after.has_value()) << "a copy may have ended it";
  if (longest.after) {
    EXPECT_EQ(selection().launch()->start_ns, overview().model->launches.row(*longest.after).start_ns);
  }
  EXPECT_FALSE(selection().range()) << "the other panels stay at the step";
  const auto first = selection().view();
  window_->run("next_gap");
  EXPECT_NE(selection().view(), first);
  EXPECT_EQ(gaps->table()->currentIndex().row(), 1);
  window_->run("previous_gap");
  EXPECT_EQ(selection().view(), first);
  window_->run("previous_gap");
  EXPECT_EQ(gaps->table()->currentIndex().row(), 0) << "there is no longer one";
  gaps->filter()->setText("no kernel is called so");
  EXPECT_EQ(gaps->table()->model()->rowCount(), 0);
  gaps->filter()->clear();
  window_->show_panel("ranking");
}

TEST_F(PanelsTest, AnotherThemeIsThatOfTheStepsChartsToo) {
  const auto* flame = panel<StepPanel>("step")->findChild<FlameChart*>();
  ASSERT_NE(flame, nullptr);
  const auto colours = [&] {
    std::vector<QColor> all;
    for (const FlameBox& box : flame->boxes()) all.push_back(box.colour);
    return all;
  };
  const auto light = colours();
  ASSERT_FALSE(light.empty());
  apply_theme(*qApp, ThemeChoice::dark);
  const auto dark = colours();
  std::vector<QColor> expected;
  for (const FlameBox& box : flame_boxes(overview().accounting->kernels.tree)) expected.push_back(box.colour);
  apply_theme(*qApp, ThemeChoice::light);
  EXPECT_NE(light, dark);
  EXPECT_EQ(dark, expected);
  EXPECT_EQ(colours(), light);
}

TEST_F(PanelsTest, GapsOfARangeAreThoseInIt) {
  auto* gaps = panel<GapsPanel>("gaps");
  const auto& step = overview().steps->representative;
  selection().select_range(
      analyzer::TimeWindow{step.window_start_ns, (step.window_start_ns + step.window_end_ns) / 2});
  ASSERT_TRUE(wait_for([&] { return !gaps->waiting(); }));
  EXPECT_LT(gaps->table()->model()->rowCount(), static_cast<int>(overview().accounting->gaps.size()));
  EXPECT_TRUE(gaps->total().endsWith("of the range")) << gaps->total().toStdString();
  selection().select_range(std::nullopt);
}

TEST_F(PanelsTest, WhatIfAKernelIsFasterTheFourFiguresSayWhatTheStepGains) {
  auto* what_if = panel<WhatIfPanel>("what-if");
  ASSERT_NE(what_if, nullptr);
  const auto& kernels = what_if->choice().kernels();
  ASSERT_GE(kernels.size(), 3U);
  for (std::size_t i = 1; i < kernels.size(); ++i) EXPECT_GE(kernels[i - 1].time_ns, kernels[i].time_ns);
  EXPECT_TRUE(what_if->choice().empty());
  EXPECT_FALSE(what_if->figures().contains("Amdahl"));
  what_if->slider(0)->setValue(20);
  EXPECT_DOUBLE_EQ(what_if->choice().kernels()[0].times, 2);
  ASSERT_TRUE(wait_for([&] { return !what_if->waiting() && what_if->figures().contains("Amdahl"); }));
  const QStringList lines = what_if->figures().split('\n');
  ASSERT_EQ(lines.size(), 4);
  EXPECT_TRUE(lines[0].startsWith("Amdahl's bound: ")) << lines[0].toStdString();
  EXPECT_TRUE(lines[1].startsWith("Naive sum: "));
  EXPECT_TRUE(lines[2].startsWith("Simulated: "));
  EXPECT_TRUE(lines[3].startsWith("After power: "));
  EXPECT_FALSE(what_if->notes().isEmpty());
  // What was asked before the sliders went back is not shown.
  what_if->slider(1)->setValue(15);
  for (std::size_t i = 0; i < 2; ++i) what_if->slider(i)->setValue(10);
  EXPECT_FALSE(what_if->figures().contains("Amdahl"));
  ASSERT_TRUE(wait_for([] { return window_->settled(); }));
  EXPECT_FALSE(what_if->figures().contains("Amdahl"));
}

TEST_F(PanelsTest, WhatIfSaysWhatCannotBeAsked) {
  auto* what_if = panel<WhatIfPanel>("what-if");
  what_if->hide_copies()->setChecked(true);
  ASSERT_TRUE(wait_for([&] { return !what_if->waiting(); }));
  EXPECT_FALSE(what_if->figures().isEmpty());
  what_if->hide_copies()->setChecked(false);
}

TEST(WhatIfChoice, IsCutToWhatIsAllowedAndAskedAsTransforms) {
  analyzer::Ranking ranking;
  for (const auto& [name, ns] : {std::pair("slow", 300), std::pair("slower", 500), std::pair("slow", 100)}) {
    analyzer::RankingRow row;
    row.kernel = row.key = name;
    row.time_ns = ns;
    ranking.rows.push_back(row);
  }
  WhatIfChoice choice;
  choice.set_kernels(ranking, 8);
  ASSERT_EQ(choice.kernels().size(), 2U) << "kernels of one name are one";
  EXPECT_EQ(choice.kernels()[0].name, "slower");
  EXPECT_DOUBLE_EQ(choice.kernels()[1].time_ns, 400);
  choice.set_times(0, 99);
  choice.set_times(1, 0.5);
  choice.set_graph(true);
  EXPECT_EQ(choice.request().transforms,
            (std::vector<analyzer::Transform>{analyzer::Faster{"slower", WhatIfChoice::kMaxTimes},
                                              analyzer::AsGraph{}}));
  choice.reset();
  EXPECT_TRUE(choice.empty());
}

TEST_F(FindingsTest, LeadToTheirKernelAndLightWithIt) {
  Selection& selection = window_->selection();
  int of_kernels = 0;
  for (int line = 0; line < findings_->lines(); ++line) {
    selection.select_kernel({});
    findings_->choose(-1);
    findings_->choose(line);
    EXPECT_EQ(findings_->is_lit(line), !selection.kernel().empty()) << findings_->text(line).toStdString();
    if (findings_->text(line).contains("adamw")) {
      EXPECT_NE(selection.kernel().name.find("adamw"), std::string::npos);
      ++of_kernels;
    }
  }
  EXPECT_EQ(of_kernels, 1);
  // Of the kernels that the ranking's rows stand for, only those that a line is about light one.
  for (std::size_t row = 0; row < overview().ranking->rows.size(); ++row) {
    selection.select_kernel(kernels_of(overview(), row));
    for (int line = 0; line < findings_->lines(); ++line) {
      if (!findings_->text(line).contains("adamw")) continue;
      EXPECT_EQ(findings_->is_lit(line),
                overview().ranking->rows[row].key.find("adamw") != std::string::npos);
    }
  }
}

TEST_F(FindingsTest, AnOperationStandsForTheKernelsLaunchedInIt) {
  analyzer::Subject subject;
  std::set<std::string> operations;
  for (const analyzer::DeclaredWork& work : window_->document()->analysis()->declared_work)
    operations.insert(work.operation);
  ASSERT_FALSE(operations.empty());
  for (const std::string& operation : operations) {
    subject.name = operation;
    const KernelChoice kernels = window_->document()->kernels_of(subject);
    EXPECT_EQ(kernels.name, operation);
    EXPECT_FALSE(kernels.empty());
    EXPECT_LT(kernels.kernels.size(), overview().ranking->rows.size());
  }
  subject.name = "no such operation";
  EXPECT_TRUE(window_->document()->kernels_of(subject).empty());
}

TEST_F(FindingsTest, AKernelUnderTheMouseIsPointedAtEverywhere) {
  window_->run("panel_findings");
  auto* list = findings_->findChild<QListWidget*>();
  int line = 0;
  while (line < findings_->lines() && !findings_->text(line).contains("adamw")) ++line;
  ASSERT_LT(line, findings_->lines());
  list->scrollToItem(list->item(line));
  const QPoint place = list->visualItemRect(list->item(line)).center();
  QTest::mouseMove(list->viewport(), place - QPoint(1, 0));
  QTest::mouseMove(list->viewport(), place);
  EXPECT_TRUE(wait_for([&] { return !window_->selection().hovered().empty(); }));
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(list->viewport(), &leave);
  EXPECT_TRUE(window_->selection().hovered().empty());
}

TEST_F(PanelsTest, TheStepsOfAFindingAreShownFromTheirFirst) {
  // Those that were disturbed: 16 to 19.
  analyzer::Subject disturbed;
  disturbed.steps = {16, 17, 18, 19};
  const auto window = window_of(overview(), disturbed);
  ASSERT_TRUE(window);
  for (const analyzer::StepSummary& step : overview().steps->steps) {
    if (step.step_index != 16) continue;
    EXPECT_EQ(*window, (analyzer::TimeWindow{step.gpu_start_ns, step.gpu_end_ns}));
  }
  EXPECT_FALSE(window_of(overview(), {}));
  disturbed.steps = {1'000'000};
  EXPECT_FALSE(window_of(overview(), disturbed));
  disturbed.steps = {16};
  disturbed.process_id = 77;
  EXPECT_FALSE(window_of(overview(), disturbed));
}

// A recording of a CUDA graph knows the bytes of its kernels from samples, and no operations.
TEST(RooflinePanel, ShowsTimesAtTheRoofsWhereNoOperationsWereCounted) {
  QTemporaryDir folder;
  const QString path = folder.filePath("uncounted.ridge");
  ASSERT_TRUE(QFile::copy(QString(RIDGELINE_SOURCE_DIR) + "/tests/store/version-2.ridge", path));
  {
    store::Database database(path.toStdString(), store::OpenMode::read_write);
    database.execute(
        "DELETE FROM launch_metric WHERE metric_id IN (SELECT id FROM metric WHERE name LIKE 'sm__ops%' "
        "OR name LIKE '%sass%' OR name LIKE '%inst%')");
    database.execute("DELETE FROM annotation");
  }
  const auto window = opened_window(path);
  const auto* panel = dynamic_cast<RooflinePanel*>(window->panel("roofline"));
  ASSERT_NE(panel, nullptr);
  EXPECT_TRUE(make_plot(window->document()->overview()->to_plot(), {}).dots.empty());
  EXPECT_EQ(panel->settings().mode, RooflineMode::time);
  EXPECT_FALSE(make_plot(window->document()->overview()->to_plot(), panel->settings()).dots.empty());
}

TEST_F(PanelsTest, TheTargetsAreLinesOfTheRoofs) {
  const RooflinePlot plot = make_plot(overview().to_plot(), {});
  double dram = 0;
  std::vector<double> shares;
  for (const RooflineRoof& roof : plot.roofs) {
    if (roof.flat) continue;
    dram = roof.peak.value;
    shares.push_back(roof.share);
  }
  EXPECT_DOUBLE_EQ(dram, 4.8e12);
  EXPECT_EQ(shares, (std::vector<double>{1.0, 0.85, 0.70}));
}

TEST_F(PanelsTest, DeclutteringKeepsTheLongestKernels) {
  RooflineSettings settings;
  settings.min_share = 0.5;
  const RooflinePlot plot = make_plot(overview().to_plot(), settings);
  EXPECT_GT(plot.decluttered, 0);
  double shown = 0;
  for (const auto* dots : {&plot.dots, &plot.strip}) {
    for (const RooflineDot& dot : *dots) shown += static_cast<double>(dot.time_ns);
  }
  EXPECT_GE(shown, 0.5 * static_cast<double>(overview().ranking->totals.time_ns));
}

TEST_F(PanelsTest, LevelsOfAKernelDifferInIntensityOnly) {
  std::size_t found = 0;
  for (std::size_t row = 0; row < overview().ranking->rows.size(); ++row) {
    const auto dots = level_dots(overview().to_plot(), row);
    for (std::size_t i = 1; i < dots.size(); ++i) {
      EXPECT_EQ(dots[i].y, dots[0].y);
      EXPECT_NE(dots[i].level, dots[0].level);
      ++found;
    }
  }
  EXPECT_GT(found, 5U);
}

TEST_F(PanelsTest, AClickOnADotChoosesItsKernelEverywhere) {
  auto* roofline = panel<RooflinePanel>("roofline");
  RooflineView* view = roofline->view();
  const RooflineDot dot = view->plot().dots.back();
  QTest::mouseClick(view, Qt::LeftButton, {}, view->place_of(dot, false).toPoint());
  EXPECT_EQ(selection().kernel(),
            kernels_of(overview(), view->dot_at(view->place_of(dot, false))->ranking_row));
  EXPECT_FALSE(panel<KernelPanel>("kernel")->facts().isEmpty());
}

class RooflineViewTest : public PanelsTest {
 protected:
  void SetUp() override {
    PanelsTest::SetUp();
    view_ = panel<RooflinePanel>("roofline")->view();
    view_->zoom_to(std::nullopt);
    panel<RooflinePanel>("roofline")->filter()->clear();
    window_->show_panel("roofline");
  }
  void wheel(const QPoint& at, int turn) {
    QWheelEvent event(at, view_->mapToGlobal(at), {}, {0, turn}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view_, &event);
  }
  void drag(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::mousePress(view_, Qt::LeftButton, modifiers, from);
    QTest::mouseMove(view_, (from + to) / 2);
    QTest::mouseMove(view_, to);
    QTest::mouseRelease(view_, Qt::LeftButton, modifiers, to);
  }
  RooflineView* view_ = nullptr;
};

TEST_F(RooflineViewTest, TheWheelZoomsAtTheMouse) {
  const RooflineDot dot = view_->plot().dots.front();
  const QPoint at = view_->place_of(dot, false).toPoint();
  const int width = view_->width();
  wheel(at, 240);
  ASSERT_TRUE(view_->zoomed_to());
  const RooflineWindow first = *view_->zoomed_to();
  EXPECT_TRUE(first.holds(dot.x, dot.y));
  EXPECT_LT(first.high_x / first.low_x, view_->plot().high_x / view_->plot().low_x);
  EXPECT_LE((view_->place_of(dot, false) - QPointF(at)).manhattanLength(), 2)
      << "what is under the mouse stays";
  auto* whole = view_->findChild<QToolButton*>("show-all");
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(whole->isVisible());
  EXPECT_EQ(view_->width(), width) << "it takes no room from others";
  for (int i = 0; i < 40; ++i) wheel(at, -240);
  EXPECT_FALSE(view_->zoomed_to()) << "no further out than everything";
  for (int i = 0; i < 200; ++i) wheel(at, 240);
  const RooflineWindow last = *view_->zoomed_to();
  EXPECT_GE(last.high_x / last.low_x, 1.04);
  whole->click();
  EXPECT_FALSE(view_->zoomed_to());
  EXPECT_FALSE(whole->isVisible());
}

TEST_F(RooflineViewTest, ADragZoomsToABoxAndShiftPansIt) {
  const RooflineDot dot = view_->plot().dots.front();
  const QPoint at = view_->place_of(dot, false).toPoint();
  selection().select_kernel({});
  drag(at - QPoint(40, 30), at + QPoint(40, 30));
  ASSERT_TRUE(view_->zoomed_to());
  EXPECT_TRUE(selection().kernel().empty()) << "a drag is no click";
  const RooflineWindow box = *view_->zoomed_to();
  EXPECT_TRUE(box.holds(dot.x, dot.y));
  for (const RooflineDot& each : view_->plot().dots) {
    if (box.holds(each.x, each.y)) continue;
    EXPECT_NE(view_->dot_at(view_->place_of(each, false)), &each) << "what is outside is not under the mouse";
  }
  drag(at, at + QPoint(25, 0), Qt::ShiftModifier);
  ASSERT_TRUE(view_->zoomed_to());
  EXPECT_LT(view_->zoomed_to()->low_x, box.low_x);
  EXPECT_NEAR(view_->zoomed_to()->high_x / view_->zoomed_to()->low_x, box.high_x / box.low_x, 1e-6);
  QTest::keyClick(view_, Qt::Key_Escape);
  EXPECT_FALSE(view_->zoomed_to());
}

TEST_F(RooflineViewTest, ManyDotsAtOnePlaceAreAList) {
  // Seen from far enough all are one heap: the same plot on little paper.
  RooflinePlot heap = view_->plot();
  const RooflinePlot before = heap;
  ASSERT_GT(heap.dots.size(), 4U);
  for (RooflineDot& dot : heap.dots) {
    dot.x = heap.dots.front().x;
    dot.y = heap.dots.front().y;
  }
  view_->set_plot(heap);
  const QPoint at = view_->place_of(heap.dots.front(), false).toPoint();
  ASSERT_EQ(view_->dots_at(at).size(), heap.dots.size());
  QTest::mouseClick(view_, Qt::LeftButton, {}, at);
  auto* menu = panel<RooflinePanel>("roofline")->findChild<QMenu*>("dots");
  ASSERT_NE(menu, nullptr);
  EXPECT_TRUE(menu->isVisible());
  const std::size_t longest = view_->dots_at(at).front()->ranking_row;
  EXPECT_TRUE(menu->actions().first()->text().startsWith(QString::number(longest + 1) + ". "))
      << menu->actions().first()->text().toStdString();
  menu->actions().first()->trigger();
  EXPECT_EQ(selection().kernel(), kernels_of(overview(), longest));
  menu->close();
  view_->set_plot(before);
}

TEST_F(RooflineViewTest, TheFilterLeavesKernelsOfTheName) {
  QLineEdit* filter = panel<RooflinePanel>("roofline")->filter();
  const std::size_t all = view_->plot().dots.size() + view_->plot().strip.size();
  QTest::keyClicks(filter, "layernorm|adam");
  std::size_t some = 0;
  for (const auto* dots : {&view_->plot().dots, &view_->plot().strip}) {
    for (const RooflineDot& dot : *dots) {
      EXPECT_TRUE(dot.name.find("layernorm") != std::string::npos ||
                  dot.name.find("adam") != std::string::npos)
          << dot.name;
      ++some;
    }
  }
  EXPECT_GT(some, 0U);
  EXPECT_LT(some, all);
  filter->setText("no kernel is called so");
  EXPECT_EQ(view_->item_count(), 0);
  EXPECT_FALSE(view_->grab().isNull());
  filter->clear();
  EXPECT_EQ(view_->plot().dots.size() + view_->plot().strip.size(), all);
}

TEST_F(RooflineViewTest, NamesOfTheRoofsStandBesideTheDots) {
  RooflineView view;
  view.set_plot(view_->plot());
  // The heights that the panel has in windows of 1280 x 690 and larger, where there is room for all names.
  for (const QSize& size : {QSize(516, 215), QSize(520, 260), QSize(520, 360), QSize(900, 600)}) {
    view.resize(size);
    const std::vector<QPolygonF> names = view.roof_names();
    std::size_t roofs = 0;
    for (const RooflineRoof& roof : view.plot().roofs) roofs += roof.share == 1 ? 1U : 0U;
    EXPECT_EQ(names.size(), roofs) << size.width() << " x " << size.height();
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_TRUE(QRectF(view.rect()).contains(names[i].boundingRect()));
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(meet(names[i], names[j]));
      for (const RooflineDot& dot : view.plot().dots) {
        const QPointF at = view.place_of(dot, false);
        EXPECT_FALSE(names[i].containsPoint(at, Qt::OddEvenFill)) << dot.name;
      }
    }
  }
}

// The sizes that the panel has in windows of 1280 x 690, 1440 x 900 and larger, and narrower ones.
TEST_F(RooflineViewTest, NamesOfTheRoofsLeaveTheLegendFree) {
  RooflineView view;
  view.set_plot(view_->plot());
  for (const QSize& size : {QSize(520, 320), QSize(560, 400), QSize(640, 460), QSize(900, 600)}) {
    view.resize(size);
    const std::vector<QRectF> legend = view.legend_places();
    ASSERT_GT(legend.size(), 1U) << size.width();
    EXPECT_FALSE(view.roof_names().empty());
    for (const QPolygonF& name : view.roof_names())
      for (const QRectF& words : legend)
        EXPECT_FALSE(meet(name, corners_of(words)))
            << size.width() << " x " << size.height() << ": name at " << name.front().x() << ", "
            << name.front().y() << ", words at " << words.x() << ", " << words.y();
    for (std::size_t i = 0; i < legend.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(legend[i].intersects(legend[j])) << size.width();
  }
}

// One dot after the other in each part of the plot: what its colour means stands elsewhere.
TEST_F(RooflineViewTest, TheLegendLeavesDotsFree) {
  RooflineView view;
  view.resize(520, 320);
  analyzer::RooflinePlot plot = view_->plot();
  ASSERT_FALSE(plot.dots.empty());
  view.set_plot(plot);
  const std::vector<QRectF> as_it_was = view.legend_places();
  std::size_t moved = 0;
  const auto between = [](double low, double high, int part) {
    return low * std::pow(high / low, part / 16.0);
  };
  for (int across = 1; across < 16; ++across) {
    for (int down = 1; down < 16; ++down) {
      analyzer::RooflinePlot more = plot;
      more.dots.push_back(plot.dots.front());
      more.dots.back().x = between(plot.low_x, plot.high_x, across);
      more.dots.back().y = between(plot.low_y, plot.high_y, down);
      view.set_plot(more);
      const auto legend = view.legend_places();
      const QPointF dot = view.place_of(view.plot().dots.back(), false);
      EXPECT_EQ(legend.size(), as_it_was.size());
      // The first says what broken lines are.
      for (std::size_t i = 1; i < legend.size(); ++i)
        EXPECT_FALSE(legend[i].contains(dot)) << dot.x() << ", " << dot.y();
      moved += legend != as_it_was ? 1 : 0;
    }
  }
  EXPECT_GT(moved, 0U) << "some stood where a dot is now";
}

TEST_F(RooflineViewTest, NamesOfTheLevelsStandBesideRoofsLegendAndEachOther) {
  RooflineView view;
  view.set_plot(view_->plot());
  std::size_t chosen = 0;
  for (const QSize& size : {QSize(520, 320), QSize(640, 460), QSize(900, 600)}) {
    view.resize(size);
    for (const RooflineDot& dot : view.plot().dots) {
      const std::vector<RooflineDot> levels = analyzer::level_dots(overview().to_plot(), dot.ranking_row);
      view.set_chosen({dot.ranking_row}, levels);
      const auto names = view.level_names();
      if (levels.size() < 2) {
        EXPECT_TRUE(names.empty());
        continue;
      }
      ++chosen;
      // One that is beyond the axes has no place.
      const RooflineWindow axes{view.plot().low_x, view.plot().high_x, view.plot().low_y, view.plot().high_y};
      const auto shown = std::count_if(levels.begin(), levels.end(), [&](const RooflineDot& level) {
        return axes.holds(level.x, level.y);
      });
      EXPECT_GE(static_cast<std::ptrdiff_t>(names.size()), shown) << dot.name;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const QRectF& place = names[i].second;
        EXPECT_TRUE(QRectF(view.rect()).contains(place)) << dot.name;
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_NE(names[i].first, names[j].first);
          EXPECT_FALSE(place.intersects(names[j].second)) << dot.name;
        }
        for (const QRectF& words : view.legend_places()) EXPECT_FALSE(place.intersects(words)) << dot.name;
        for (const QPolygonF& roof : view.roof_names())
          EXPECT_FALSE(meet(roof, corners_of(place))) << dot.name;
      }
    }
  }
  EXPECT_GT(chosen, 0U);
}

TEST(RooflineNames, StandApartAndWhoHasTheLeastChoiceIsServedFirst) {
  const QPolygonF a = corners_of({0, 0, 10, 10}), b = corners_of({20, 0, 10, 10}),
                  c = corners_of({40, 0, 10, 10});
  using Chosen = std::vector<std::optional<std::size_t>>;
  EXPECT_EQ(place_apart({{a, b}, {a}}, {}), (Chosen{1, 0}));
  EXPECT_EQ(place_apart({{a, b}, {a}}, {b}), (Chosen{0, std::nullopt}))
      << "rather none than one over another";
  EXPECT_EQ(place_apart({{a, b, c}, {a, b, c}, {a, b, c}}, {}), (Chosen{0, 1, 2}));
  // A name on a slope is beside what the box round it covers.
  const QPolygonF slope{QPointF(0, 0), QPointF(100, -100), QPointF(90, -110), QPointF(-10, -10)};
  EXPECT_TRUE(slope.boundingRect().intersects(QRectF(60, -30, 30, 20)));
  EXPECT_FALSE(meet(slope, corners_of({60, -30, 30, 20})));
  EXPECT_TRUE(meet(slope, corners_of({40, -50, 10, 10})));
  EXPECT_FALSE(meet(a, corners_of({10, 0, 10, 10}))) << "an edge only";
}

TEST(RooflineNames, TakeTheFirstPlaceThatIsFreeElseTheLeastCovered) {
  const std::vector<QRectF> places = {{0, 0, 10, 10}, {20, 0, 10, 10}, {40, 0, 10, 10}};
  EXPECT_EQ(free_place(places, {}), places[0]);
  EXPECT_EQ(free_place(places, {{5, 5, 2, 2}}), places[1]);
  EXPECT_EQ(free_place(places, {{5, 5, 3, 3}, {20, 0, 10, 10}, {42, 2, 1, 1}}), places[2]);
}

TEST_F(PanelsTest, TheRooflineIsExportedAsSvgAndPng) {
  const QTemporaryDir directory;
  auto* roofline = panel<RooflinePanel>("roofline");
  ASSERT_TRUE(roofline->save(directory.filePath("r.svg")).ok());
  QFile svg(directory.filePath("r.svg"));
  ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
  EXPECT_TRUE(svg.readAll().contains("arithmetic intensity"));
  ASSERT_TRUE(roofline->save(directory.filePath("r.png")).ok());
  EXPECT_GE(QImage(directory.filePath("r.png")).width(), 1800);
  EXPECT_EQ(roofline->save(directory.filePath("none/r.svg")).failure().kind, ErrorKind::io);
}

// None by name: a metric that is added to the registry with a fact is said.
TEST_F(PanelsTest, FactsHoldEveryMetricThatIsOne) {
  ScopeAnswer answer = overview();
  auto ranking = std::make_shared<analyzer::Ranking>(*answer.ranking);
  for (const analyzer::Metric metric : analyzer::kAllMetrics)
    ranking->rows.at(0).metrics.set(metric, analyzer::Measured{.value = 0.25});
  answer.ranking = ranking;
  const Facts facts = kernel_facts(answer, 0, queries::why_kernel(answer, 0).hold);
  for (const analyzer::Metric metric : analyzer::kAllMetrics) {
    const analyzer::MetricFact& fact = metric.entry().fact;
    if (fact.line.empty()) continue;
    const auto said = std::find_if(facts.begin(), facts.end(),
                                   [&](const auto& each) { return each.first.toStdString() == fact.line; });
    ASSERT_NE(said, facts.end()) << fact.line;
    EXPECT_NE(said->second.toStdString().find(fact.label), std::string::npos) << fact.line;
  }
}

TEST_F(PanelsTest, FactsSayWhatTheNameOfAProductsKernelMeans) {
  ScopeAnswer answer = overview();
  const auto by_name = [&](const std::function<void(analyzer::RankingRow&)>& change) {
    auto ranking = std::make_shared<analyzer::Ranking>(*overview().ranking);
    ranking->rows.at(0).tile.clear();
    ranking->rows.at(0).alignment.reset();
    ranking->rows.at(0).name_precision = analyzer::Precision::any;
    change(ranking->rows.at(0));
    answer.ranking = ranking;
    for (const auto& [label, value] : kernel_facts(answer, 0, queries::why_kernel(answer, 0).hold)) {
      if (label == "By its name") return value;
    }
    return QString();
  };
  EXPECT_EQ(by_name([](auto&) {}), "") << "it says nothing";
  EXPECT_EQ(by_name([](auto& row) {
              row.tile = "128x64x32";
              row.alignment = 8;
              row.name_precision = analyzer::Precision::bf16;
            }),
            "bf16, tiles of 128x64x32, 8 elements a load");
  EXPECT_EQ(by_name([](auto& row) { row.alignment = 1; }),
            "one element a load: a dimension of the GEMM is odd");
}

// How near it is to a roof says nothing of what has none; and all launches together may be where some are not.
TEST_F(PanelsTest, WhatHasNoRoofIsNotSaidToBeNearOne) {
  ScopeAnswer answer = overview();
  const auto fact = [&](const char* name, const std::function<void(analyzer::RankingRow&)>& change) {
    auto ranking = std::make_shared<analyzer::Ranking>(*overview().ranking);
    change(ranking->rows.at(0));
    answer.ranking = ranking;
    for (const auto& [label, value] : kernel_facts(answer, 0, queries::why_kernel(answer, 0).hold)) {
      if (label == name) return value;
    }
    return QString();
  };
  using analyzer::KernelBound;
  const auto bound = [&](KernelBound what) {
    return fact("Bound by", [what](analyzer::RankingRow& row) { row.bound = what; });
  };
  EXPECT_EQ(bound(KernelBound::too_short), "nothing, for most of its time: too short for any roof");
  EXPECT_EQ(fact("Bound by",
                 [](analyzer::RankingRow& row) {
                   row.bound = KernelBound::too_short;
                   row.measured_calls = 0;
                 }),
            "nothing: too short for any roof");
  EXPECT_EQ(bound(KernelBound::no_roof), "no roof that is known");
  EXPECT_EQ(bound(KernelBound::unmeasured), "not known: it was not measured");
  EXPECT_TRUE(bound(KernelBound::memory).contains("of its nearest roof"))
      << bound(KernelBound::memory).toStdString();
  const auto saving = [&](double roof) {
    return fact("Could save", [roof](analyzer::RankingRow& row) {
      row.nearest_roof_ratio = roof;
      row.saved_target_ns = 1000;
    });
  };
  EXPECT_TRUE(saving(0.774).endsWith(", in its launches that are below that"));
  EXPECT_FALSE(saving(0.5).contains("below"));
}

TEST_F(PanelsTest, TheKernelPanelSaysWhatIsKnown) {
  selection().select_kernel(kernels_of(overview(), 0));
  const auto* kernel = panel<KernelPanel>("kernel");
  for (const char* words : {"Bound by", "latency", "Could save", "Traffic", " read, ", " written)", "L2",
                            "Occupancy", "limited by", "SM clock", "T1", "T2", "T3"})
    EXPECT_TRUE(kernel->facts().contains(words)) << words << " in " << kernel->facts().toStdString();
  for (const char* words : {"sampled", "± &lt;0.1 (T1)", "minimum traffic", "Roofline time"})
    EXPECT_TRUE(kernel->facts().contains(with_whole_numbers(words)))
        << words << " in " << kernel->facts().toStdString();
  EXPECT_FALSE(kernel->facts().contains(with_whole_numbers("± 0.0")));
  EXPECT_EQ(kernel->why(), with_whole_numbers(plain(queries::why_kernel(overview(), 0).sentence)));
  EXPECT_TRUE(kernel->why().startsWith(with_whole_numbers("Latency-bound: no roof is used to 60 % or more")))
      << kernel->why().toStdString();
  EXPECT_TRUE(kernel->why().endsWith("limited by registers and shared memory alike."))
      << kernel->why().toStdString();
  EXPECT_FALSE(kernel->durations()->rank());
  // One launch of it: where it stands among its likes.
  const auto launches =
      window_->timeline()->view()->scene().finder().launches_of(selection().kernel(), 100'000).value();
  ASSERT_GT(launches.size(), 100U);
  const auto longest = *std::max_element(launches.begin(), launches.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
  selection().select_launch(LaunchChoice{window_->document()->device_id(), selection().kernel().kernels[0],
                                         longest.first, longest.first + longest.second},
                            "");
  ASSERT_TRUE(wait_for([&] { return !kernel->busy() && kernel->durations()->rank(); }));
  EXPECT_GT(*kernel->durations()->rank(), 0.99);
  ASSERT_TRUE(wait_for([&] { return !kernel->launch().isEmpty(); }));
  for (const char* words : {"This launch", ", number ", "NVTX ranges", "step / backward / layer ",
                            "Launched by", "stream 13", "Waited", " after its launch call, which took "})
    EXPECT_TRUE(kernel->launch().contains(words)) << words << " in " << kernel->launch().toStdString();
  selection().select_launch(std::nullopt, "");
  EXPECT_EQ(kernel->launch(), "");
}

TEST_F(PanelsTest, StepsThatTookLongerHaveTheClockAsTheirCause) {
  QStringList said;
  for (const QLabel* label : panel<StepPanel>("step")->findChildren<QLabel*>()) said << label->text();
  EXPECT_TRUE(
      said.join('\n').contains(with_whole_numbers("the SM clock fell to 1320 MHz in them (power limit)")))
      << said.join('\n').toStdString();
}

TEST_F(PanelsTest, TheAccountingAddsUpToTheStep) {
  const analyzer::Accounting& accounting = *overview().accounting;
  double sum = 0;
  for (const BarPart& part : accounting_parts(accounting)) sum += part.value;
  EXPECT_NEAR(sum, static_cast<double>(accounting.step_ns), static_cast<double>(accounting.step_ns) * 1e-6);
  // What would be told as 0.0 % is one line together.
  const auto parts =
      without_crumbs({{"a", 900, {}}, {"b", 0.1, {}}, {"c", 99.7, {}}, {"d", 0.2, {}}, {"e", 0, {}}}, 1000);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2].label, "2 smaller: b; d");
  EXPECT_NEAR(parts[2].value, 0.3, 1e-12);
  EXPECT_EQ(without_crumbs({{"a", 999.9, {}}, {"b", 0.1, {}}}, 1000).size(), 2U)
      << "one has a line of its own";
}

TEST_F(PanelsTest, ColumnsOfTheRankingAreSeenWholeOrNotAtAll) {
  for (const QSize& size : {QSize(1280, 690), QSize(1440, 900), QSize(1920, 1080)}) {
    const auto window = opened_window(testing::bundled_capture(), size);
    const auto* table = window->panel("ranking")->findChild<TableView*>();
    const int wide = table->viewport()->width();
    int whole = 0;
    for (const std::size_t each : table->shown_columns()) {
      const int left = table->columnViewportPosition(static_cast<int>(each));
      const int right = left + table->columnWidth(static_cast<int>(each));
      EXPECT_TRUE(right <= wide || left >= wide) << each << ": " << left << " to " << right << " of " << wide;
      whole += right <= wide ? 1 : 0;
    }
    EXPECT_GE(whole, 5) << size.width();
  }
}

TEST_F(PanelsTest, TargetsAreGroundsBehindTheBarsAndNoMarksBesideTheDigits) {
  auto* table = panel<RankingPanel>("ranking")->findChild<TableView*>();
  selection().select_kernel({});
  const QImage picture = table->viewport()->grab().toImage();
  int looked_at = 0;
  for (int column = 0; column < table->proxy()->columnCount(); ++column) {
    const QModelIndex cell = table->proxy()->index(0, column);
    const QVariant ratio = cell.data(kRatioRole);
    const QRect at = table->visualRect(cell);
    if (table->isColumnHidden(column) || !ratio.isValid() || ratio.toDouble() > 0.5 || at.width() < 80 ||
        !table->viewport()->rect().contains(at))
      continue;
    ++looked_at;
    const double ratio_of_pixels = picture.devicePixelRatio();
    const auto colour = [&](double share, int y) {
      const double x = at.left() + 4 + (at.width() - 8) * share;
      return picture.pixel(static_cast<int>(x * ratio_of_pixels), static_cast<int>(y * ratio_of_pixels));
    };
    const int middle = at.center().y();
    EXPECT_NE(colour(0.65, middle), colour(0.75, middle));
    EXPECT_NE(colour(0.75, middle), colour(0.95, middle));
    for (const double share : {0.68, 0.70, 0.72, 0.84, 0.86, 0.95}) {
      for (int y = at.top(); y <= at.bottom(); ++y)
        EXPECT_EQ(colour(share, y), colour(share, middle)) << share;
    }
  }
  EXPECT_GT(looked_at, 0);
}

TEST_F(PanelsTest, TheChartOfStepsIsInSightInASmallWindow) {
  const auto window = opened_window(testing::bundled_capture(), {1280, 690});
  const ColumnChart* chart = static_cast<StepPanel*>(window->panel("step"))->steps();
  ASSERT_TRUE(chart->isVisible());
  const auto* area = window->panel("step")->findChild<QScrollArea*>();
  const QRect seen(QPoint(0, 0), area->viewport()->size());
  const QRect where(chart->mapTo(area->viewport(), QPoint(0, 0)), chart->size());
  EXPECT_TRUE(seen.contains(where)) << where.bottom() << " of " << seen.height();
}

TEST_F(PanelsTest, BoxesOfTheFlameViewLieInTheirParents) {
  const auto& tree = overview().accounting->kernels.tree;
  const auto boxes = flame_boxes(tree);
  ASSERT_GT(boxes.size(), 20U);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!tree[i].parent) continue;
    EXPECT_GE(boxes[i].from, boxes[*tree[i].parent].from - 1e-9);
    EXPECT_LE(boxes[i].to, boxes[*tree[i].parent].to + 1e-9);
    EXPECT_EQ(boxes[i].depth, boxes[*tree[i].parent].depth + 1);
  }
}

TEST_F(PanelsTest, TheStepsHaveTokensASecondAndLabelsThatDoNotTouch) {
  const ColumnChart* chart = panel<StepPanel>("step")->steps();
  ASSERT_TRUE(wait_for([&] { return chart->lines().size() == 3; }));
  EXPECT_TRUE(chart->lines().back().label.endsWith(" tokens/s")) << chart->lines().back().label.toStdString();
  for (const ColumnChart::Line& line : chart->lines())
    EXPECT_FALSE(line.label.contains("memory")) << "of this capture none was recorded";
  bool said = false;
  for (int i = 0; i < chart->item_count(); ++i) said = said || chart->item_text(i).contains(" tokens/s");
  EXPECT_TRUE(said);
  const std::vector<QRectF> places = chart->line_places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_GE(places[i].left(), 0);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(places[i].intersects(places[j])) << i << " " << j;
  }
}

TEST_F(PanelsTest, ARangeOfTheTreeChoosesTheKernelsInIt) {
  const auto* step = panel<StepPanel>("step");
  const auto all = step->kernels_inside("step"), forward = step->kernels_inside("step / forward");
  EXPECT_GT(all.kernels.size(), forward.kernels.size());
  EXPECT_GT(forward.kernels.size(), 5U);
  for (const store::Id id : forward.kernels) EXPECT_TRUE(all.holds(id));
  EXPECT_TRUE(step->kernels_inside("step / forw").empty());
}

TEST_F(PanelsTest, ABoxOfTheTreeChoosesItsRangeOfTheStepForAllPanels) {
  auto* step = panel<StepPanel>("step");
  auto* ranking = panel<RankingPanel>("ranking");
  auto* flame = step->findChild<FlameChart*>();
  std::size_t box = 0;
  while (box < flame->boxes().size() && flame->boxes()[box].key != "step / backward") ++box;
  ASSERT_LT(box, flame->boxes().size());
  const std::int64_t launches = overview().accounting->kernels.tree[box].launches;
  emit flame->box_chosen(box);
  EXPECT_EQ(selection().nvtx(), "step / backward");
  EXPECT_EQ(selection().nvtx_step(), overview().steps->representative.summary.step_index);
  ASSERT_TRUE(wait_for([&] { return !step->waiting() && !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, launches);
  EXPECT_EQ(step->answer()->ranking->totals.calls, launches);
  EXPECT_TRUE(step->title().contains("of step 15")) << step->title().toStdString();
  selection().select_nvtx({});
  ASSERT_TRUE(wait_for([&] { return !step->waiting() && !ranking->waiting(); }));
}

TEST_F(PanelsTest, ARowOfNvtxRangesChoosesThemForTheOtherPanels) {
  auto* step = panel<StepPanel>("step");
  auto* ranking = panel<RankingPanel>("ranking");
  ranking->grouping()->setCurrentText("layer");
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  const auto& rows = ranking->answer()->ranking->rows;
  const int count = ranking->table()->model()->rowCount();
  std::size_t row = 0;
  while (row < rows.size() && rows[row].key != "layer 5") ++row;
  ASSERT_LT(row, rows.size());
  const std::int64_t calls = rows[row].calls;
  ranking->table()->setCurrentIndex(ranking->table()->model()->index(ranking->table()->row_of(row), 0));
  EXPECT_EQ(selection().nvtx(), "layer 5");
  ASSERT_TRUE(wait_for([&] { return !step->waiting() && !ranking->waiting(); }));
  EXPECT_EQ(step->answer()->ranking->totals.calls, calls) << "its launches, in the step that the table is of";
  EXPECT_EQ(ranking->table()->model()->rowCount(), count) << "the table it was chosen from stays";
  // By another key it is asked like all the others.
  ranking->grouping()->setCurrentText("kernel");
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, calls);
  selection().select_nvtx({});
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting() && !step->waiting(); }));
}

TEST_F(PanelsTest, ARangeOfTimeSharesAddUpToAllOfIt) {
  auto* step = panel<StepPanel>("step");
  const auto& whole = overview().steps->representative;
  const std::int64_t third = (whole.window_end_ns - whole.window_start_ns) / 3;
  selection().select_range(analyzer::TimeWindow{whole.window_start_ns + third, whole.window_end_ns - third});
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  const analyzer::Accounting& accounting = *step->answer()->accounting;
  EXPECT_EQ(accounting.kernels.foreign_ns, 0);
  double sum = 0;
  for (const BarPart& part : accounting_parts(accounting)) sum += part.value;
  EXPECT_NEAR(sum, static_cast<double>(accounting.step_ns), 1);
  EXPECT_TRUE(step->title().contains("that its edges cut counts what lies inside"))
      << step->title().toStdString();
  selection().select_range(std::nullopt);
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
}

TEST_F(PanelsTest, AChosenKernelIsSeenInTheTreeInTheStepAndInTheSteps) {
  selection().select_kernel({});
  const auto* step = panel<StepPanel>("step");
  const auto* kernel = panel<KernelPanel>("kernel");
  const auto marked = [&] {
    std::set<std::string> paths;
    for (std::size_t i = 0; i < step->flame()->boxes().size(); ++i) {
      if (i < step->flame()->chosen().size() && step->flame()->chosen()[i])
        paths.insert(step->flame()->boxes()[i].key);
    }
    return paths;
  };
  EXPECT_TRUE(marked().empty());
  selection().select_kernel(kernels_of(overview(), 0));  // attention, backward
  EXPECT_TRUE(marked().contains("step / backward"));
  EXPECT_FALSE(marked().contains("step / forward"));
  ASSERT_TRUE(wait_for([&] { return !kernel->busy(); }));
  // Twelve layers: twelve places, in the second half of the step, in order.
  const auto& spans = kernel->strip()->spans();
  ASSERT_EQ(spans.size(), 12U);
  EXPECT_GT(spans.front().first, 0.3);
  for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GT(spans[i].first, spans[i - 1].second);
  const QImage with = panel<StepPanel>("step")->grab().toImage();
  selection().select_kernel({});
  EXPECT_NE(with, panel<StepPanel>("step")->grab().toImage());
  EXPECT_TRUE(marked().empty());
}

TEST_F(PanelsTest, ChosenNvtxRangesAreAccountedForOfAllStepsOrOfTheChosenOne) {
  auto* step = panel<StepPanel>("step");
  selection().select_nvtx("backward");
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  EXPECT_TRUE(step->title().contains("NVTX range 'backward', ")) << step->title().toStdString();
  EXPECT_TRUE(step->title().contains("instances")) << step->title().toStdString();
  step->choose_step(17);
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  EXPECT_TRUE(step->title().contains("of step 17")) << step->title().toStdString();
  selection().select_nvtx({});
  step->choose_step(std::nullopt);
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  EXPECT_TRUE(step->title().contains("Step 15")) << step->title().toStdString();
}

TEST_F(PanelsTest, AnotherStepIsAccountedFor) {
  auto* step = panel<StepPanel>("step");
  EXPECT_TRUE(step->title().contains("Step 15")) << step->title().toStdString();
  step->choose_step(17);
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  EXPECT_TRUE(step->title().contains("17")) << step->title().toStdString();
  step->choose_step(std::nullopt);
  ASSERT_TRUE(wait_for([&] { return !step->waiting(); }));
  EXPECT_TRUE(step->title().contains("Step 15"));
}

}  // namespace
}  // namespace ridgeline::gui
