// step_rows_chart.h: one step, a row a rank, with its collectives: where it waits, where bytes travel, what kernels
// hide. Lines join the calls of one collective.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "panels/item_chart.h"
#include "ridgeline/analyzer/ranks/job_step.h"

namespace ridgeline::gui {

/// An item is a rank's part in a collective. A click chooses its rank.
class StepRowsChart : public ItemChart {
  Q_OBJECT
 public:
  explicit StepRowsChart(QWidget* parent = nullptr);
  void set_step(analyzer::JobStepRows step);
  /// Nothing is shown but why.
  void set_message(const QString& message);
  void set_chosen_rank(std::int64_t rank);
  [[nodiscard]] const std::optional<analyzer::JobStepRows>& step() const { return step_; }

  [[nodiscard]] int item_count() const override { return static_cast<int>(items_.size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  /// As high as its ranks want to be.
  [[nodiscard]] QSize sizeHint() const override;

 signals:
  void rank_chosen(std::int64_t rank);

 protected:
  void choose_item(int item) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] double x(double time_ns) const;
  [[nodiscard]] double row_height() const;
  [[nodiscard]] int height_with(double row_height) const;
  [[nodiscard]] QRectF row_rect(std::size_t row) const;
  [[nodiscard]] int item_at(const QPointF& at) const;  // -1: none
  void paint_row(QPainter& painter, std::size_t row) const;
  void paint_joins(QPainter& painter) const;
  void paint_legend(QPainter& painter, const QRectF& foot) const;

  std::optional<analyzer::JobStepRows> step_;
  std::vector<std::pair<std::size_t, std::size_t>> items_;  // row, call
  QString message_;
  std::int64_t chosen_rank_ = -1;
};

}  // namespace ridgeline::gui
