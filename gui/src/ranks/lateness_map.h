// lateness_map.h: how late each rank is in each step, as a map of colours: ranks down, steps right.
#pragma once

#include <memory>

#include "panels/item_chart.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"

namespace ridgeline::gui {

/// A click, or Enter on the cell that the keyboard is on, chooses a rank in a step.
class LatenessMap : public ItemChart {
  Q_OBJECT
 public:
  explicit LatenessMap(QWidget* parent = nullptr);
  void set_analysis(std::shared_ptr<const analyzer::JobAnalysis> analysis);
  /// Places in JobAnalysis::ranks and step_costs.
  void set_chosen(std::size_t rank, std::size_t step);

  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  [[nodiscard]] QSize sizeHint() const override { return {320, 200}; }

 signals:
  void cell_chosen(std::size_t rank, std::size_t step);

 protected:
  void choose_item(int item) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] std::size_t ranks() const { return analysis_ ? analysis_->ranks.size() : 0; }
  [[nodiscard]] std::size_t steps() const { return analysis_ ? analysis_->step_costs.size() : 0; }
  [[nodiscard]] QRectF area() const;
  void paint_legend(QPainter& painter, const QRectF& room) const;
  [[nodiscard]] int item_at(const QPointF& at) const;  // -1: none
  [[nodiscard]] double lateness_of(int item) const;

  std::shared_ptr<const analyzer::JobAnalysis> analysis_;
  int chosen_ = -1;
};

}  // namespace ridgeline::gui
