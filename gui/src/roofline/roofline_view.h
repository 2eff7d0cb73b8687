// roofline_view.h: draws a RooflinePlot and says what is under the mouse.
#pragma once

#include <QWidget>

#include "models/selection.h"
#include "ridgeline/analyzer/roofline/roofline_plot.h"

namespace ridgeline::gui {

using analyzer::MemoryLevel;
using analyzer::RooflineDot;
using analyzer::RooflineMode;
using analyzer::RooflinePlot;
using analyzer::RooflineRoof;
using analyzer::RooflineSettings;

class RooflineView : public QWidget {
  Q_OBJECT
 public:
  explicit RooflineView(QWidget* parent = nullptr);

  void set_plot(RooflinePlot plot);
  [[nodiscard]] const RooflinePlot& plot() const { return plot_; }
  /// Those rows of the ranking are outlined; of the first one the levels are joined.
  void set_chosen(std::vector<std::size_t> rows, std::vector<RooflineDot> levels);
  void set_hovered(std::vector<std::size_t> rows);
  /// Where the same kernels stood in another capture, by name; arrows lead from there.
  void set_before(std::vector<RooflineDot> before);
  void draw(QPainter& painter, const QRectF& area) const;
  /// Where a dot stands; of the strip too.
  [[nodiscard]] QPointF place_of(const RooflineDot& dot, bool strip) const;
  [[nodiscard]] const RooflineDot* dot_at(const QPointF& at) const;

 signals:
  void dot_chosen(std::size_t ranking_row);
  void dot_hovered(std::size_t ranking_row);
  void hover_left();
  void nothing_chosen();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Frame;
  [[nodiscard]] Frame frame(const QRectF& area) const;
  void draw_axes(QPainter& painter, const Frame& frame) const;
  void draw_roofs(QPainter& painter, const Frame& frame, bool names) const;
  void draw_time_marks(QPainter& painter, const Frame& frame) const;
  void draw_legend(QPainter& painter, const Frame& frame) const;
  void draw_dots(QPainter& painter, const Frame& frame) const;
  void draw_strip(QPainter& painter, const Frame& frame) const;
  void draw_dot(QPainter& painter, const RooflineDot& dot, const QPointF& at) const;

  RooflinePlot plot_;
  std::vector<std::size_t> chosen_, hovered_;
  std::vector<RooflineDot> levels_, before_;
};

}  // namespace ridgeline::gui
