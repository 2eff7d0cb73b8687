// What the window says of a trace of another profiler: without steps there is no step and no pace, and what it has no
// counters for is to be asked of those who have them.
#include <QAccessible>
#include <QLabel>
#include <algorithm>

#include "gui/gui_testing.h"
#include "panels/kernel_panel.h"
#include "panels/overview_bar.h"
#include "panels/ranking_panel.h"
#include "panels/step_panel.h"
#include "ridgeline/store/capture_writer.h"
#include "roofline/roofline_panel.h"
#include "support/temporary_directory.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using testing::opened_window;
using testing::wait_for;

constexpr std::int64_t kBegin = 1'000'000;
constexpr std::int64_t kLate = 900'000;  // the CPU, after the first launch

// As an importer writes a trace of two kernels in which nothing marks a step.
void write_trace(const std::string& path) {
  auto writer = store::CaptureWriter::create(path).value();
  writer.set_run({.command_line = "program",
                  .ridgeline_version = "test",
                  .clock = "test",
                  .start_ns = kBegin,
                  .end_ns = kBegin + 2'000'000});
  const store::Id process = writer.add(store::Process{.pid = 1, .start_ns = kBegin});
  const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
  writer.add(store::RecordingWindow{.process_id = process, .start_ns = kBegin, .end_ns = kBegin + 2'000'000});
  for (const Tier tier : {Tier::t1, Tier::t2, Tier::t3})
    writer.add(
        store::TierStatus{.process_id = process,
                          .tier = tier,
                          .status = TierOutcome::not_requested,
                          .reason = Reason(ReasonCode::not_asked_for,
                                           {{"tier", std::string(to_string(tier))}, {"source", "trace"}})});
  store::Step window{.process_id = process};
  window.gpu_start_ns = kBegin + 100'000;
  window.gpu_end_ns = kBegin + 1'300'000;
  window.source = StepSource::window;
  const store::Id step = writer.add(window);
  const auto launch = [&](const char* kernel, std::int64_t from, std::int64_t to, std::int64_t called) {
    store::Launch row{.process_id = process, .device_id = device, .kernel_id = writer.kernel_id(kernel)};
    row.step_id = step;
    row.stream_id = 7;
    row.start_ns = kBegin + from;
    row.end_ns = kBegin + to;
    row.thread_id = 1;
    row.host_start_ns = kBegin + called;
    row.host_end_ns = kBegin + called + 5'000;
    writer.add(row);
  };
  launch("void gemv2T_kernel_val<int, double, 128>(int, double)", 100'000, 200'000, 90'000);
  launch("add_one(float const*, float*, int)", 200'000 + kLate, 1'300'000, 200'000 + kLate - 10'000);
  writer.finish();
}

class ImportsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ridgeline::testing::TemporaryDirectory>();
    write_trace(folder_->file("trace.ridge"));
    window_ = opened_window(QString::fromStdString(folder_->file("trace.ridge")));
  }
  static void TearDownTestSuite() {
    window_.reset();
    folder_.reset();
  }
  template <typename Panel>
  static Panel* panel(const char* name) {
    return dynamic_cast<Panel*>(window_->panel(name));
  }
  static bool settled() {
    return wait_for([] { return window_->settled(); });
  }

  static inline std::unique_ptr<ridgeline::testing::TemporaryDirectory> folder_;
  static inline std::unique_ptr<MainWindow> window_;
};

// What is written in the window: labels, tooltips, charts by what they tell a screen reader, rows and their events.
QStringList words_of(MainWindow& window) {
  QStringList words;
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    if (!widget->isVisibleTo(&window)) continue;
    words << widget->toolTip() << widget->accessibleName();
    if (const auto* label = qobject_cast<const QLabel*>(widget)) words << label->text();
    if (const auto* chart = qobject_cast<const ItemChart*>(widget)) {
      for (int item = 0; item < chart->item_count(); ++item) words << chart->item_text(item);
    }
  }
  const TimelineScene& scene = window.timeline()->view()->scene();
  for (std::size_t row = 0; row < scene.row_count(); ++row) {
    words << QString::fromStdString(scene.row(row).label);
    for (std::size_t event = 0; event < scene.row(row).events.size(); ++event)
      words << window.timeline()->view()->describe({row, event});
  }
  return words;
}

TEST_F(ImportsTest, WithoutStepsNothingIsCalledOne) {
  ASSERT_FALSE(window_->document()->has_steps());
  const auto* bar = window_->findChild<OverviewBar*>();
  ASSERT_NE(bar, nullptr);
  EXPECT_TRUE(bar->lines().back().startsWith("The whole recording, for lack of steps"))
      << bar->lines().back().toStdString();
  window_->selection().select_kernel(kernels_of(*window_->document()->overview(), 0));
  for (const char* name : {"step", "kernel", "gaps", "what-if", "roofline", "ranking"}) {
    window_->show_panel(name);
    ASSERT_TRUE(settled());
    for (const QString& text : words_of(*window_)) {
      for (const char* word :
           {"step 0", "steps/s", "of the step", "in the step", "each step", "between steps"})
        EXPECT_FALSE(text.contains(word, Qt::CaseInsensitive)) << name << ": " << text.toStdString();
    }
  }
  window_->show_panel("step");
  EXPECT_FALSE(panel<StepPanel>("step")->steps()->isVisibleTo(window_.get()));
  const TimelineScene& scene = window_->timeline()->view()->scene();
  ASSERT_EQ(scene.row(0).kind, analyzer::RowKind::steps);
  EXPECT_EQ(scene.row(0).label, "Recording");
  EXPECT_EQ(scene.name_of({0, 0}).text, "recorded time");
  window_->selection().reset({kBegin, kBegin + 2'000'000});
}

TEST_F(ImportsTest, TheRooflineSaysWhoHasCounters) {
  auto* roofline = panel<RooflinePanel>("roofline");
  EXPECT_TRUE(roofline->view()->words_when_empty().contains("ridgeline import --onto"))
      << roofline->view()->words_when_empty().toStdString();
}

// In a gap nothing ran: there is no counter to be missed, and the gap is what the whole of it is.
TEST_F(ImportsTest, ARangeInsideOneGapIsOfItsCause) {
  window_->show_panel("step");
  window_->selection().select_range(analyzer::TimeWindow{kBegin + 400'000, kBegin + 900'000});
  ASSERT_TRUE(settled());
  const auto* step = panel<StepPanel>("step");
  ASSERT_TRUE(step->answer() != nullptr);
  EXPECT_EQ(step->answer()->accounting->gap_host_bound_ns, 500'000);
  EXPECT_EQ(step->answer()->accounting->gap_tail_ns, 0);
  EXPECT_EQ(panel<RooflinePanel>("roofline")->view()->words_when_empty(), "No kernel ran here.");
  EXPECT_EQ(panel<RankingPanel>("ranking")->total(), "no kernel ran here");
  window_->selection().select_range(std::nullopt);
  ASSERT_TRUE(settled());
}

}  // namespace
}  // namespace ridgeline::gui
