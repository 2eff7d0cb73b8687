// run_spreads_chart.h: how long the launches of one kernel, or the steps, took in each run of a comparison, one row per
// run.
#pragma once

#include <QString>
#include <vector>

#include "panels/item_chart.h"
#include "ridgeline/comparison/run_durations.h"

namespace ridgeline::gui {

/// One run, of A or of B.
struct RunSpread {
  bool of_a = true;
  std::size_t run = 0;  ///< of its side, from 0
  QString capture;      ///< name of its file
  comparison::DurationSpread spread;
  bool of_steps = false;   ///< not of launches
  QString failure;         ///< why it cannot be read; else ""
  bool looked_at = false;  ///< its timeline is shown
};

/// A line from the 5 % to the 95 % quantile, a box from quarter to quarter and the median in it; all of A above all of
/// B on one axis, with the run that is looked at in bold. A click on a row looks at its run.
class RunSpreadsChart : public ItemChart {
  Q_OBJECT
 public:
  explicit RunSpreadsChart(QWidget* parent = nullptr);
  /// Those of A first, both in the order of recording.
  void set_runs(std::vector<RunSpread> runs);
  /// Which run of A and which of B has its timeline shown.
  void set_looked_at(std::size_t run_of_a, std::size_t run_of_b);
  [[nodiscard]] const std::vector<RunSpread>& runs() const { return runs_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] int item_count() const override { return static_cast<int>(runs_.size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  /// Where a time stands.
  [[nodiscard]] double x_of(double ns) const;

 signals:
  void run_chosen(bool of_a, std::size_t run);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;
  void choose_item(int item) override;

 private:
  [[nodiscard]] QRectF graph() const;
  [[nodiscard]] double row_height() const;
  [[nodiscard]] int item_at(const QPointF& at) const;  // -1: none
  void paint_run(QPainter& painter, int item) const;

  std::vector<RunSpread> runs_;
  double low_ns_ = 0, high_ns_ = 1;
};

}  // namespace ridgeline::gui
