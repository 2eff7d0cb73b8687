// kernel_panel.h: everything that is known of one kernel.
#pragma once

#include <QLabel>
#include <map>

#include "panels/charts.h"
#include "panels/scope_panel.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {

class KernelPanel : public ScopePanel {
  Q_OBJECT
 public:
  /// `scene` outlives the panel; call scene_read() when it has new data.
  KernelPanel(CaptureDocument& document, Selection& selection, const TimelineScene& scene,
              QWidget* parent = nullptr);

  void scene_read();
  /// Whether its launches are being looked for.
  [[nodiscard]] bool busy() const { return worker_.busy(); }
  [[nodiscard]] const HistogramChart* durations() const { return durations_; }
  [[nodiscard]] const SpanStrip* strip() const { return strip_; }
  /// Why it takes the time that it takes; empty: it was not launched in this part.
  [[nodiscard]] QString why() const { return why_->isHidden() ? QString() : why_->text(); }
  [[nodiscard]] QString facts() const { return facts_->text(); }
  /// Of the chosen launch; empty: none is chosen.
  [[nodiscard]] QString launch() const { return launch_->isHidden() ? QString() : launch_->text(); }
  [[nodiscard]] QString title() const { return title_->text(); }

 signals:
  void step_chosen(const analyzer::TimeWindow& window);
  /// What it takes in each step, by Step::id; nothing: none is chosen.
  void step_times_known(const std::map<store::Id, double>& times_ns);

 protected:
  void changeEvent(QEvent* event) override;
  void show_answer(const ScopeAnswer& answer) override;

 private:
  void format_labels();
  void show_kernel();
  void find_launches();
  void show_launches();
  void show_stalls(std::size_t ranking_row);
  void show_place();
  void find_launch();

  const TimelineScene& scene_;
  QWidget* page_;
  QLabel* empty_;
  QLabel* title_;
  QLabel* why_;
  QLabel* launch_;
  QLabel* facts_;
  QLabel* place_;
  QLabel* strip_title_;
  SpanStrip* strip_;
  HistogramChart* durations_;
  ColumnChart* steps_;
  QLabel* stalls_title_;
  StackedBar* stalls_;
  QLabel* hot_;
  QLabel* findings_;
  std::vector<analyzer::TimeWindow> step_windows_;
  EventFinder::Launches launches_;
  KernelChoice launches_of_;  // empty: they are being looked for
  Worker worker_;
};

}  // namespace ridgeline::gui
