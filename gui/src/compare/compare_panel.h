// compare_panel.h: two captures, A over B: what the comparison says, and both to look at side by side.
#pragma once

#include <QLabel>
#include <QWidget>

#include "compare/linked_axes.h"
#include "models/capture_document.h"
#include "panels/charts.h"
#include "panels/table_view.h"
#include "ridgeline/analyzer/comparison.h"
#include "roofline/roofline_view.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {

class ComparePanel : public QWidget {
  Q_OBJECT
 public:
  /// Both documents are ready and outlive the panel.
  ComparePanel(CaptureDocument& a, CaptureDocument& b, QWidget* parent = nullptr);

  ~ComparePanel() override;

  [[nodiscard]] bool busy() const;
  [[nodiscard]] const std::shared_ptr<const analyzer::Comparison>& comparison() const { return comparison_; }
  [[nodiscard]] LinkedAxes& axes() { return axes_; }
  [[nodiscard]] Selection& selection_a() { return selection_a_; }
  [[nodiscard]] Selection& selection_b() { return selection_b_; }
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QString verdict() const { return verdict_->text(); }
  [[nodiscard]] const HistogramChart* durations() const { return durations_; }

 private:
  void ask();
  void show_comparison();
  void show_roofline();
  void choose(std::size_t row);
  void choose_beside(const Selection& chosen, Selection& other, bool chosen_is_a);
  void show_durations();
  void align_on_steps();
  void align_on_chosen();
  void show_offset();

  CaptureDocument& a_;
  CaptureDocument& b_;
  Selection selection_a_, selection_b_;
  LinkedAxes axes_;
  std::shared_ptr<const analyzer::Comparison> comparison_;
  QLabel* verdict_;
  QLabel* notes_;
  TableView* table_;
  HistogramChart* durations_;
  QLabel* durations_title_;
  RooflineView* roofline_;
  TimelinePanel* timeline_a_;
  TimelinePanel* timeline_b_;
  QLabel* offset_;
  bool choosing_ = false;
  Worker worker_;
};

}  // namespace ridgeline::gui
