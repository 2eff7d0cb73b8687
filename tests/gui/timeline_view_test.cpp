// The timeline as people use it: keys, wheel, drag, clicks, and what the other panels make of it.
#include <QScrollBar>
#include <QSignalSpy>
#include <QWheelEvent>

#include "gui/gui_testing.h"
#include "panels/ranking_panel.h"
#include "style/theme.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using testing::opened_window;
using testing::wait_for;

class TimelineViewTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { window_ = opened_window(testing::bundled_capture()); }
  static void TearDownTestSuite() { window_.reset(); }
  void SetUp() override {
    view_ = window_->timeline()->view();
    view_->scene().arrange({});
    view_->scene_changed();
    view_->findChild<QScrollBar*>()->setValue(0);
    window_->timeline()->search_field()->clear();
    const auto& step = window_->document()->overview()->steps->representative;
    selection().reset({step.window_start_ns, step.window_end_ns});
    ASSERT_TRUE(wait_for([] { return window_->settled(); }));
    view_->setFocus();
  }
  Selection& selection() { return window_->selection(); }
  // The longest kernel in view.
  EventPlace kernel() {
    EventPlace best;
    std::int64_t longest = 0;
    for (const TimelineView::Box& box : view_->boxes()) {
      const TimelineRow& row = view_->scene().row(box.row);
      if (row.kind != RowKind::kernels) continue;
      for (std::size_t i = row.events.first_from(selection().view().start_ns);
           i < row.events.first_from(selection().view().end_ns); ++i) {
        if (row.events.duration_ns(i) <= longest) continue;
        longest = row.events.duration_ns(i);
        best = {box.row, i};
      }
    }
    return best;
  }
  void wheel(const QPoint& at, int turn, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(at, view_->mapToGlobal(at), {}, {0, turn}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(view_, &event);
  }
  QPoint graph_point(double share, int y = 200) {
    return {view_->label_width() + static_cast<int>(view_->axis().width() * share), y};
  }

  static inline std::unique_ptr<MainWindow> window_;  // opened once: it takes most of the time
  TimelineView* view_ = nullptr;
};

TEST_F(TimelineViewTest, KeysZoomPanFitAndGoHome) {
  const TimeWindow start = selection().view();
  QTest::keyClick(view_, Qt::Key_W);
  EXPECT_LT(selection().view().length_ns(), start.length_ns());
  QTest::keyClick(view_, Qt::Key_S);
  EXPECT_NEAR(static_cast<double>(selection().view().length_ns()), static_cast<double>(start.length_ns()),
              10);
  QTest::keyClick(view_, Qt::Key_D);
  EXPECT_GT(selection().view().start_ns, start.start_ns);
  QTest::keyClick(view_, Qt::Key_Left);
  EXPECT_NEAR(static_cast<double>(selection().view().start_ns), static_cast<double>(start.start_ns), 10);
  QTest::keyClick(view_, Qt::Key_Home);
  EXPECT_GE(selection().view().length_ns(), view_->scene().extent().length_ns());
  QTest::keyClick(view_, Qt::Key_F);
  EXPECT_LT(selection().view().length_ns(), 2 * start.length_ns());
}

TEST_F(TimelineViewTest, WheelZoomsAtTheMouseAndScrollsOverTheNames) {
  const QPoint at = graph_point(0.25);
  const std::int64_t under = view_->axis().ns_at(at.x() - view_->label_width());
  const std::int64_t before = selection().view().length_ns();
  wheel(at, 240);
  EXPECT_LT(selection().view().length_ns(), before);
  EXPECT_NEAR(static_cast<double>(view_->axis().ns_at(at.x() - view_->label_width())),
              static_cast<double>(under), view_->axis().ns_per_pixel());
  const int top = view_->boxes().front().rect.top();
  const TimeWindow view = selection().view();
  wheel({20, 200}, -120);
  EXPECT_EQ(selection().view(), view);
  EXPECT_LT(view_->boxes().front().rect.top(), top);
}

TEST_F(TimelineViewTest, ShiftDragPans) {
  const TimeWindow before = selection().view();
  QTest::mousePress(view_, Qt::LeftButton, Qt::ShiftModifier, graph_point(0.5));
  QTest::mouseMove(view_, graph_point(0.4));
  QTest::mouseRelease(view_, Qt::LeftButton, Qt::ShiftModifier, graph_point(0.4));
  EXPECT_GT(selection().view().start_ns, before.start_ns);
  EXPECT_EQ(selection().view().length_ns(), before.length_ns());
  EXPECT_FALSE(selection().range());
}

TEST_F(TimelineViewTest, DragSelectsARangeThatSnapsToKernelsAndFiltersTheRanking) {
  const EventPlace place = kernel();
  const QRect box = view_->event_rect(place);
  const TimeWindow when = view_->scene().time_of(place);
  ASSERT_GT(box.width(), 20);
  QTest::mousePress(view_, Qt::LeftButton, {}, QPoint(box.left() + 3, box.center().y()));
  QTest::mouseMove(view_, QPoint(box.center().x(), box.center().y()));
  QTest::mouseMove(view_, QPoint(box.right() - 2, box.center().y()));
  QTest::mouseRelease(view_, Qt::LeftButton, {}, QPoint(box.right() - 2, box.center().y()));
  ASSERT_TRUE(selection().range());
  EXPECT_EQ(*selection().range(), when);
  const QStringList lines = view_->statistics(*selection().range());
  EXPECT_TRUE(lines.join('\n').contains("busy")) << lines.join('\n').toStdString();
  EXPECT_TRUE(lines.join('\n').contains("(100.0 %)")) << lines.join('\n').toStdString();
  auto* ranking = dynamic_cast<RankingPanel*>(window_->panel("ranking"));
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, 1);
  QTest::keyClick(view_, Qt::Key_Escape);
  EXPECT_FALSE(selection().range());
}

// The first range of that kind of row in view, at a depth.
std::optional<EventPlace> first_range(const TimelineView& view, const TimeWindow& seen, RowKind kind,
                                      int depth) {
  for (std::size_t row = 0; row < view.scene().row_count(); ++row) {
    const TimelineRow& line = view.scene().row(row);
    if (line.kind != kind || line.depth != depth) continue;
    const std::size_t first = line.events.first_from(seen.start_ns);
    if (first < line.events.size()) return EventPlace{row, first};
  }
  return std::nullopt;
}

TEST_F(TimelineViewTest, ARangeMeansItsLaunchesInWhicheverRowItIsChosen) {
  auto* ranking = dynamic_cast<RankingPanel*>(window_->panel("ranking"));
  const auto on_gpu = first_range(*view_, selection().view(), RowKind::gpu_ranges, 2);
  ASSERT_TRUE(on_gpu);
  const RangeChoice meant = *view_->scene().range_at(*on_gpu);
  view_->choose(*on_gpu);
  ASSERT_TRUE(selection().instance());
  EXPECT_EQ(*selection().instance(), meant);
  EXPECT_EQ(selection().range(), meant.on_gpu);
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  const std::int64_t calls = ranking->answer()->ranking->totals.calls;
  EXPECT_GT(calls, 0);
  const analyzer::Model& model = *ranking->answer()->model;
  for (const analyzer::LaunchIndex i : ranking->answer()->steps->representative.launches) {
    EXPECT_GE(model.launches.row(i).host_start_ns, meant.calls.start_ns);
    EXPECT_LE(model.launches.row(i).host_start_ns, meant.calls.end_ns);
  }
  EXPECT_TRUE(view_->about(meant).join(' ').contains("on the GPU"))
      << view_->about(meant).join(' ').toStdString();
  // The same range in the host's row, where the CPU had long gone on.
  std::optional<EventPlace> on_host;
  for (std::size_t row = 0; row < view_->scene().row_count(); ++row) {
    const TimelineRow& line = view_->scene().row(row);
    if (line.kind != RowKind::ranges || line.depth != 2 || line.thread_id != meant.calls.thread_id) continue;
    on_host = EventPlace{row, line.events.at(meant.calls.start_ns)};
  }
  ASSERT_TRUE(on_host);
  selection().select_range(std::nullopt);
  EXPECT_FALSE(selection().instance());
  view_->choose(*on_host);
  EXPECT_EQ(selection().instance(), meant);
  ASSERT_TRUE(wait_for([&] { return !ranking->waiting(); }));
  EXPECT_EQ(ranking->answer()->ranking->totals.calls, calls);
  selection().undo();
  selection().undo();
  EXPECT_EQ(selection().instance(), meant);
  QTest::keyClick(view_, Qt::Key_Escape);
  EXPECT_FALSE(selection().range());
  EXPECT_FALSE(selection().instance());
}

TEST_F(TimelineViewTest, AKeyShowsAllNvtxRangesOfTheNameThatWasChosenAndEscapeLetsThemGo) {
  std::optional<EventPlace> range;
  for (const TimelineView::Box& box : view_->boxes()) {
    const TimelineRow& row = view_->scene().row(box.row);
    if (row.kind != RowKind::ranges) continue;
    const std::size_t first = row.events.first_from(selection().view().start_ns);
    if (first < row.events.size()) range = EventPlace{box.row, first};
    if (range) break;
  }
  ASSERT_TRUE(range);
  view_->choose(*range);
  EXPECT_TRUE(selection().range());
  QTest::keyClick(view_, Qt::Key_R);
  EXPECT_EQ(selection().nvtx(), view_->scene().name_of(*range).text);
  EXPECT_FALSE(selection().range());
  QTest::keyClick(view_, Qt::Key_Escape);
  EXPECT_EQ(selection().nvtx(), "");
}

TEST_F(TimelineViewTest, AClickChoosesALaunchEverywhereAndKeysWalkItsLikes) {
  const EventPlace place = kernel();
  const store::Id kernel_id = view_->scene().name_of(place).kernel_id;
  QTest::mouseClick(view_, Qt::LeftButton, {}, view_->event_rect(place).center());
  ASSERT_TRUE(selection().launch());
  EXPECT_EQ(selection().launch()->kernel_id, kernel_id);
  auto* ranking = dynamic_cast<RankingPanel*>(window_->panel("ranking"));
  ASSERT_TRUE(ranking->table()->currentIndex().isValid());
  const auto row = static_cast<std::size_t>(
      ranking->table()->proxy()->mapToSource(ranking->table()->currentIndex()).row());
  EXPECT_TRUE(kernels_of(*ranking->answer(), row).holds(kernel_id));
  const std::int64_t first = selection().launch()->start_ns;
  QTest::keyClick(view_, Qt::Key_Period);
  EXPECT_GT(selection().launch()->start_ns, first);
  EXPECT_EQ(selection().launch()->kernel_id, kernel_id);
  EXPECT_LE(selection().view().start_ns, selection().launch()->start_ns);
  EXPECT_GE(selection().view().end_ns, selection().launch()->end_ns);
  QTest::keyClick(view_, Qt::Key_Comma);
  EXPECT_EQ(selection().launch()->start_ns, first);
}

TEST_F(TimelineViewTest, ARowOfTheRankingIsMarkedInTheTimeline) {
  selection().select_kernel(kernels_of(*window_->document()->overview(), 0));
  ASSERT_TRUE(wait_for([&] { return !view_->finding(); }));
  std::size_t marked = 0;
  for (std::size_t row = 0; row < view_->scene().row_count(); ++row) {
    if (view_->scene().row(row).kind == RowKind::kernels) marked += view_->scene().marked(row).size();
  }
  // In each of the 38 steps as often as in the representative one.
  EXPECT_EQ(marked, 38U * static_cast<std::size_t>(window_->document()->analysis()->ranking.rows[0].calls));
}

TEST_F(TimelineViewTest, HoveringLightsTheKernelForAll) {
  const EventPlace place = kernel();
  QTest::mouseMove(view_, view_->event_rect(place).center());
  // On an X server it is the pointer that moves: the event comes back from there.
  EXPECT_TRUE(
      wait_for([&] { return selection().hovered().holds(view_->scene().name_of(place).kernel_id); }, 5000));
  EXPECT_TRUE(view_->describe(place).contains("Stream 13")) << view_->describe(place).toStdString();
}

TEST_F(TimelineViewTest, UndoGoesBackToWhatWasSeen) {
  const TimeWindow before = selection().view();
  QTest::keyClick(view_, Qt::Key_Home);
  QTest::keyClick(view_, Qt::Key_F);
  selection().undo();
  selection().undo();
  EXPECT_EQ(selection().view(), before);
}

TEST_F(TimelineViewTest, SearchingCountsAndWalksMatches) {
  const TimeWindow before = selection().view();
  // Enter may come before the answer: it goes to the match as soon as there is one.
  QTest::keyClicks(window_->timeline()->search_field(), "backward$");
  QTest::keyClick(window_->timeline()->search_field(), Qt::Key_Return);
  ASSERT_TRUE(wait_for([&] { return !view_->finding(); }));
  EXPECT_GT(view_->scene().found_count(), 30);
  EXPECT_TRUE(selection().range() || selection().view() != before);
  window_->timeline()->search_field()->clear();
  EXPECT_FALSE(view_->matching());
  EXPECT_EQ(view_->scene().found_count(), 0);
}

// A walk that began in the middle of the view after each match left out those that were called meanwhile.
TEST_F(TimelineViewTest, MatchesOfARangeAreWalkedFromTheFirstThatRunsInView) {
  const auto& step = window_->document()->overview()->steps->representative;
  selection().reset({step.window_start_ns, step.window_end_ns});
  window_->timeline()->search_name("layer 5");
  ASSERT_TRUE(wait_for([&] { return !view_->matching(); }));
  std::vector<RangeChoice> walked;
  for (int i = 0; i < 4; ++i) {
    view_->next_match();
    ASSERT_TRUE(selection().instance());
    walked.push_back(*selection().instance());
    EXPECT_EQ(walked.back().calls.name, "layer 5");
  }
  // Forward and backward of the step that is in view, then those of the next.
  EXPECT_GE(walked[0].on_gpu.start_ns, step.window_start_ns);
  EXPECT_LE(walked[1].on_gpu.end_ns, step.window_end_ns);
  EXPECT_GT(walked[2].on_gpu.start_ns, step.window_end_ns);
  for (std::size_t i = 1; i < walked.size(); ++i)
    EXPECT_GT(walked[i].on_gpu.start_ns, walked[i - 1].on_gpu.end_ns);
  view_->previous_match();
  EXPECT_EQ(*selection().instance(), walked[2]);
  EXPECT_EQ(view_->scene().found_count(), 2 * 38) << "each instance once";
  window_->timeline()->search_field()->clear();
}

TEST_F(TimelineViewTest, ARowIsDraggedByItsName) {
  const std::vector<TimelineView::Box> boxes = view_->boxes();
  const std::size_t first = boxes[0].row, second = boxes[1].row, third = boxes[2].row;
  QSignalSpy changed(view_, &TimelineView::arrangement_changed);
  QTest::mousePress(view_, Qt::LeftButton, {}, {20, boxes[0].rect.center().y()});
  QTest::mouseMove(view_, {20, boxes[1].rect.center().y()});
  const QImage dragging = view_->grab().toImage();
  QTest::mouseMove(view_, {20, boxes[2].rect.center().y()});
  EXPECT_NE(view_->grab().toImage(), dragging);  // where it would go is shown
  QTest::mouseRelease(view_, Qt::LeftButton, {}, {20, boxes[2].rect.center().y()});
  EXPECT_EQ(changed.count(), 1);
  EXPECT_EQ(view_->boxes()[0].row, second);
  EXPECT_EQ(view_->boxes()[1].row, third);
  EXPECT_EQ(view_->boxes()[2].row, first);
  // Escape lets it where it was, and a click moves nothing.
  QTest::mousePress(view_, Qt::LeftButton, {}, {20, boxes[0].rect.center().y()});
  QTest::mouseMove(view_, {20, boxes[2].rect.center().y()});
  QTest::keyClick(view_, Qt::Key_Escape);
  QTest::mouseRelease(view_, Qt::LeftButton, {}, {20, boxes[2].rect.center().y()});
  QTest::mouseClick(view_, Qt::LeftButton, {}, {20, boxes[2].rect.center().y()});
  EXPECT_EQ(view_->boxes()[0].row, second);
  EXPECT_EQ(changed.count(), 1);
}

TEST_F(TimelineViewTest, KeysWalkEventsAndRows) {
  const EventPlace place = kernel();
  view_->choose(place);
  QTest::keyClick(view_, Qt::Key_Right, Qt::ControlModifier);
  ASSERT_TRUE(selection().launch());
  EXPECT_EQ(selection().launch()->start_ns, view_->scene().time_of({place.row, place.event + 1}).start_ns);
  QTest::keyClick(view_, Qt::Key_Left, Qt::ControlModifier);
  QTest::keyClick(view_, Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(selection().launch()->start_ns, view_->scene().time_of({place.row, place.event - 1}).start_ns);
  // The row above has gaps: what is chosen there is a range.
  QTest::keyClick(view_, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_TRUE(selection().range());
}

TEST_F(TimelineViewTest, ANoteBelongsToARowAndCanBeChangedAndRemoved) {
  view_->set_notes({});
  QSignalSpy changed(view_, &TimelineView::notes_changed);
  const TimelineView::Box box = view_->boxes()[2];
  const std::string row = view_->scene().row(box.row).id;
  const std::int64_t middle = selection().view().start_ns + selection().view().length_ns() / 2;
  const QImage before = view_->grab().toImage();
  view_->add_note(middle, row, "  look here ");
  ASSERT_EQ(view_->notes().size(), 1U);
  EXPECT_EQ(view_->notes()[0], (TimelineNote{middle, "look here", row}));
  EXPECT_NE(view_->grab().toImage(), before);
  const QPoint flag(graph_point(0.5).x() + 5, box.rect.center().y());
  ASSERT_EQ(view_->note_at(flag), 0U);
  EXPECT_FALSE(view_->note_at(flag + QPoint(0, 60)));
  view_->set_note(0, "there");
  EXPECT_EQ(view_->notes()[0].text, "there");
  view_->set_note(0, " ");
  EXPECT_TRUE(view_->notes().empty());
  EXPECT_EQ(changed.count(), 3);
  view_->add_note(middle, row, "");
  EXPECT_TRUE(view_->notes().empty());
}

TEST_F(TimelineViewTest, ACounterThatWasSampledElsewhereLeadsThere) {
  const TimeWindow before = selection().view();
  for (const TimelineView::Box& box : view_->boxes()) {
    const TimelineRow& row = view_->scene().row(box.row);
    if (row.kind != RowKind::counter || box.folded.size() < 2) continue;
    ASSERT_FALSE(row.counter.over(before).known);
    QTest::mouseClick(view_, Qt::LeftButton, {}, {graph_point(0.5).x(), box.rect.center().y()});
    EXPECT_TRUE(row.counter.over(selection().view()).known);
    EXPECT_EQ(selection().view().length_ns(), before.length_ns());
    return;
  }
  FAIL() << "no counter is in sight";
}

TEST_F(TimelineViewTest, CountersWithoutSamplesInViewAreOneLine) {
  const auto counters = [&] {
    std::pair<std::size_t, std::size_t> lines_and_rows;
    for (const TimelineView::Box& box : view_->boxes()) {
      if (view_->scene().row(box.row).kind != RowKind::counter) continue;
      ++lines_and_rows.first;
      lines_and_rows.second += std::max<std::size_t>(box.folded.size(), 1);
      EXPECT_EQ(box.folded.empty(), view_->scene().row(box.row).counter.over(selection().view()).known);
    }
    return lines_and_rows;
  };
  window_->resize(1400, 1600);  // so that all rows are in sight
  ASSERT_TRUE(wait_for([&] { return view_->height() > 700; }));
  const auto [lines, rows] = counters();
  EXPECT_GT(rows, lines + 3) << "most were sampled in another step";
  const int top = view_->boxes().back().rect.bottom();
  view_->home();  // everything is in view, the sampled step too
  const auto [lines_of_all, rows_of_all] = counters();
  EXPECT_EQ(lines_of_all, rows_of_all);
  EXPECT_EQ(rows_of_all, rows);
  EXPECT_GT(view_->boxes().back().rect.bottom(), top);
  window_->resize(1400, 900);
}

TEST_F(TimelineViewTest, RowsWithoutEventsInViewAreOneLineThatLeadsToThem) {
  const TimeWindow step = selection().view();
  const auto folded = [&]() -> std::optional<TimelineView::Box> {
    for (const TimelineView::Box& box : view_->boxes()) {
      if (!box.folded.empty() && view_->scene().row(box.row).kind != RowKind::counter) return box;
    }
    return std::nullopt;
  };
  const auto drawn_empty = [&] {
    int count = 0;
    for (const TimelineView::Box& box : view_->boxes()) {
      const TimelineRow& row = view_->scene().row(box.row);
      const bool always = row.kind == RowKind::steps || row.kind == RowKind::gaps;
      if (!box.folded.empty() || row.kind == RowKind::counter || always) continue;
      count += row.events.sum(selection().view()).count == 0 ? 1 : 0;
    }
    return count;
  };
  // Before the first step most rows have nothing.
  const TimeWindow all = view_->scene().extent();
  selection().show(
      {all.start_ns - all.length_ns() / 50 - step.length_ns(), all.start_ns - all.length_ns() / 50});
  const auto line = folded();
  ASSERT_TRUE(line);
  EXPECT_GT(line->folded.size(), 1U);
  EXPECT_EQ(drawn_empty(), 0);
  const std::size_t row = line->row;
  const auto nearest = view_->scene().elsewhere(row, selection().view());
  ASSERT_TRUE(nearest);
  for (const std::size_t each : line->folded) {
    const auto there = view_->scene().elsewhere(each, selection().view());
    if (there) {
      EXPECT_LE(nearest->start_ns, there->start_ns) << "the nearest of all";
    }
  }
  QTest::mouseClick(view_, Qt::LeftButton, {}, {graph_point(0.5).x(), line->rect.center().y()});
  EXPECT_GT(view_->scene().row(row).events.sum(selection().view()).count, 0);
  // Within a step rows stay as they are, however little of it is in view.
  selection().show(step);
  const auto lines = [&] {
    const auto boxes = view_->boxes();
    return std::count_if(boxes.begin(), boxes.end(), [&](const TimelineView::Box& box) {
      return view_->scene().row(box.row).kind != RowKind::counter;
    });
  };
  const auto before = lines();
  for (const double at : {0.1, 0.4, 0.7}) {
    const auto from = step.start_ns + static_cast<std::int64_t>(at * static_cast<double>(step.length_ns()));
    selection().show({from, from + step.length_ns() / 200});
    EXPECT_EQ(lines(), before) << at;
  }
  selection().show(step);
}

TEST(EventLabels, DifferentNamesAreNotCutToTheSameText) {
  std::vector<EventLabel> labels = {{{}, "nvjet…TN", 1, true, {}}, {{}, "copy", 2, false, {}},
                                    {{}, "nvjet…TN", 3, true, {}}, {{}, "gelu…", 4, true, {}},
                                    {{}, "gelu…", 4, true, {}},    {{}, "copy", 5, true, {}}};
  leave_out_alike(labels);
  ASSERT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels[0].text, "copy") << "whole: it is what it says";
  EXPECT_EQ(labels[1].text, "gelu…");
  EXPECT_EQ(labels[2].text, "gelu…") << "the same name";
  const QFontMetricsF metrics(QApplication::font());
  const auto narrow = [&](const char* name, const char* room, EventName::Kind kind) {
    EventName event;
    event.text = name;
    event.kind = kind;
    return narrow_label(event, metrics, metrics.horizontalAdvance(QString::fromUtf8(room)) + 1);
  };
  EXPECT_EQ(narrow("layer 11", "lay…11", EventName::Kind::range), QString::fromUtf8("lay…11"));
  EXPECT_EQ(narrow("layer 11", "l…11", EventName::Kind::range), QString::fromUtf8("l…11"));
  EXPECT_EQ(narrow("layer 11", "…11", EventName::Kind::range), "");
  EXPECT_EQ(narrow("void ns::fused_classifier<3, true>(float*)", "fused…", EventName::Kind::kernel),
            QString::fromUtf8("fused…"));
  EXPECT_EQ(narrow("forward", "forw…", EventName::Kind::range), QString::fromUtf8("forw…"));
  EXPECT_EQ(narrow("forward", "f…", EventName::Kind::range), "") << "a letter tells nothing";
}

TEST_F(TimelineViewTest, AnEdgeOfTheStripsWindowIsDragged) {
  const TimeWindow all = view_->scene().extent();
  selection().show({all.start_ns + all.length_ns() / 4, all.start_ns + all.length_ns() / 2});
  const TimeWindow before = selection().view();
  const int edge = view_->label_width() + static_cast<int>(view_->axis().width() * 0.5);
  QTest::mousePress(view_, Qt::LeftButton, {}, {edge, 15});
  QTest::mouseMove(view_, {edge + 100, 15});
  QTest::mouseRelease(view_, Qt::LeftButton, {}, {edge + 100, 15});
  EXPECT_EQ(selection().view().start_ns, before.start_ns);
  EXPECT_GT(selection().view().end_ns, before.end_ns + all.length_ns() / 20);
}

// The picture of everything was kept when a bar for the rows took of its width.
TEST_F(TimelineViewTest, TheStripIsAsWideAsWhatItStandsFor) {
  const QSize size = window_->size();
  auto* bar = view_->findChild<QScrollBar*>();
  ASSERT_NE(bar, nullptr);
  window_->resize(size.width(), 1900);
  ASSERT_TRUE(wait_for([&] { return !bar->isVisible(); }));
  view_->grab();
  window_->resize(size.width(), 690);
  ASSERT_TRUE(wait_for([&] { return bar->isVisible(); }));
  selection().select_kernel(kernels_of(*window_->document()->overview(), 0));
  ASSERT_TRUE(wait_for([&] { return window_->settled(); }));
  QTest::keyClick(view_, Qt::Key_Home);
  const QImage picture = view_->grab().toImage();
  // Right of the frame there is nothing but the window's ground.
  for (int x = view_->width() - bar->width() + 2; x < view_->width(); ++x) {
    for (int y = 2; y < 20; ++y) ASSERT_EQ(picture.pixelColor(x, y), theme().window) << x << " " << y;
  }
  selection().select_kernel({});
  window_->resize(size);
}

TEST_F(TimelineViewTest, TheStripMovesTheView) {
  QTest::mouseClick(view_, Qt::LeftButton, {}, {graph_point(0.9).x(), 15});
  const TimeWindow all = view_->scene().extent();
  const double middle =
      static_cast<double>(selection().view().start_ns + selection().view().length_ns() / 2 - all.start_ns);
  EXPECT_NEAR(middle / static_cast<double>(all.length_ns()), 0.9, 0.02);
}

TEST_F(TimelineViewTest, ShiftTPinsTheRowUnderTheMouse) {
  const TimelineView::Box box = view_->boxes()[3];
  QTest::mouseMove(view_, {graph_point(0.5).x(), box.rect.center().y()});
  QTest::keyClick(view_, Qt::Key_T, Qt::ShiftModifier);
  ASSERT_EQ(view_->scene().pinned_rows(), std::vector<std::size_t>{box.row});
  EXPECT_EQ(view_->boxes().front().row, box.row);
}

TEST_F(TimelineViewTest, AChosenLaunchHasAnArrowFromItsCall) {
  QTest::mouseClick(view_, Qt::LeftButton, {}, view_->event_rect(kernel()).center());
  ASSERT_TRUE(wait_for([&] { return !window_->timeline()->busy(); }));
  const QImage with = view_->grab().toImage();
  view_->set_arrow(std::nullopt);
  EXPECT_NE(with, view_->grab().toImage());
}

TEST_F(TimelineViewTest, ItIsPaintedInColour) {
  const QImage image = view_->grab().toImage();
  std::set<QRgb> colours;
  for (int x = view_->label_width(); x < image.width(); x += 3) {
    for (int y = 60; y < image.height(); y += 3) colours.insert(image.pixel(x, y));
  }
  EXPECT_GT(colours.size(), 20U);
}

}  // namespace
}  // namespace ridgeline::gui
