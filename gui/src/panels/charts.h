// charts.h: small charts of the panels. Each draws plain data and says what a click meant.
#pragma once

#include <QColor>
#include <QString>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panels/item_chart.h"

namespace ridgeline::gui {

/// How often values fall into bins of equal width; one of them may be marked.
class HistogramChart : public ItemChart {
  Q_OBJECT
 public:
  using ItemChart::ItemChart;
  /// Nanoseconds. `other` is drawn as a line over it: the same of the capture A that this one, B, is compared with.
  void set_values(std::vector<double> values, std::optional<double> marked = {},
                  std::vector<double> other = {});
  [[nodiscard]] QSize sizeHint() const override { return {320, 120}; }
  /// Share of the values below the marked one.
  [[nodiscard]] std::optional<double> rank() const;
  /// What is written below the middle; values or others are there.
  [[nodiscard]] QString median_words() const;
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Bins {
    double low = 0, high = 1;
    std::vector<int> counts, other;
  };
  [[nodiscard]] Bins bins() const;
  [[nodiscard]] QRectF graph() const;
  void paint_other(QPainter& painter, const Bins& bins) const;
  [[nodiscard]] bool is_beyond(double ns) const;

  std::vector<double> values_, other_;
  std::optional<double> marked_;
};

struct SeriesPoint {
  double value = 0;
  QColor colour;
  bool outlier = false;
  bool chosen = false;
  double part = 0;  ///< of the value: what the chosen kernel takes
};

/// A column a step. A click chooses one.
class ColumnChart : public ItemChart {
  Q_OBJECT
 public:
  explicit ColumnChart(QWidget* parent = nullptr);
  /// `text` writes a value of the axis, `help` what a column is, by its place; it is asked when somebody wants to know.
  void set_points(std::vector<SeriesPoint> points, std::function<QString(double)> text,
                  std::function<QString(std::size_t)> help = {});
  /// One more value a column, each line on an axis of its own from 0 to its largest value.
  struct Line {
    std::vector<std::optional<double>> values;
    QString label;  ///< with its largest value
  };
  /// Lines without a value above 0 are left out.
  void set_lines(std::vector<Line> lines);
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  /// Where their labels stand, above the columns.
  [[nodiscard]] std::vector<QRectF> line_places() const;
  /// What the colours are, under the columns.
  using Legend = std::vector<std::pair<QString, QColor>>;
  void set_legend(Legend legend);
  [[nodiscard]] const Legend& legend() const { return legend_; }
  [[nodiscard]] QSize sizeHint() const override { return {320, 130}; }
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 signals:
  void column_chosen(int column);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;
  void choose_item(int item) override;

 private:
  void keep_room();
  [[nodiscard]] QRectF graph() const;
  [[nodiscard]] QRectF whole_graph() const;  // with the room that the legend below the columns has
  [[nodiscard]] int legend_height() const;   // 0 without one
  [[nodiscard]] int column_at(double x) const;
  [[nodiscard]] double most() const { return most_; }  // the value at the upper end
  [[nodiscard]] static double most_of(const std::vector<SeriesPoint>& points);
  /// Places of the legend's words, line by line.
  [[nodiscard]] std::vector<QRectF> legend_places() const;
  /// What lies at one pixel.
  struct Slice {
    int columns = 0;
    double least = 0, most = 0, part = 0;
    QColor colour;  // of the last of them
  };
  [[nodiscard]] std::vector<Slice> profile(double wide) const;  // of each pixel of a graph
  /// `area`: graph(), which takes as long as measuring words does, and is asked for once for all columns.
  [[nodiscard]] QRectF column_rect(const QRectF& area, int column, double largest) const;
  void paint_column(QPainter& painter, const QRectF& area, int column, double largest) const;
  void paint_profile(QPainter& painter, const QRectF& area, double largest) const;
  void paint_marks(QPainter& painter, const QRectF& area, int column, double largest) const;
  void paint_lines(QPainter& painter, const QRectF& area) const;
  void paint_legend(QPainter& painter) const;
  std::vector<SeriesPoint> points_;
  double most_ = 1;
  bool has_marks_ = false, has_chosen_ = false;
  std::vector<Line> lines_;
  Legend legend_;
  std::function<QString(double)> text_;
  std::function<QString(std::size_t)> help_;
};

struct BarPart {
  QString label;
  double value = 0;
  QColor colour;
};

/// Parts of a whole beside each other, with a legend that has the numbers.
class StackedBar : public ItemChart {
  Q_OBJECT
 public:
  using ItemChart::ItemChart;
  void set_parts(std::vector<BarPart> parts, double whole);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] static int columns(int width);
  [[nodiscard]] QString numbers(const BarPart& part, const QString& between) const;
  std::vector<BarPart> parts_;
  double whole_ = 0;
};

struct FlameBox {
  QString label;
  QString help;
  int depth = 0;
  double from = 0, to = 0;  ///< shares of the width
  QColor colour;
  std::string key;
};

/// Nested boxes, the outermost on top.
class FlameChart : public ItemChart {
  Q_OBJECT
 public:
  explicit FlameChart(QWidget* parent = nullptr);
  void set_boxes(std::vector<FlameBox> boxes);
  /// Boxes that hold the chosen kernel, and the one under the mouse.
  void set_chosen(std::vector<bool> boxes);
  void set_hovered(std::vector<bool> boxes);
  [[nodiscard]] const std::vector<bool>& chosen() const { return chosen_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] const std::vector<FlameBox>& boxes() const { return boxes_; }
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 signals:
  void box_chosen(std::size_t box);
  void box_hovered(std::size_t box);
  void menu_asked(std::size_t box, const QPoint& at);  ///< on the screen
  void hover_left();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;
  void choose_item(int item) override;
  void reach_item(int item) override;

 private:
  [[nodiscard]] QRectF rect_of(const FlameBox& box) const;
  [[nodiscard]] std::optional<std::size_t> box_at(const QPointF& at) const;
  std::vector<FlameBox> boxes_;
  std::vector<bool> chosen_, hovered_;
  std::optional<std::size_t> under_mouse_;
};

/// Where something lies in a whole: stretches of a bar.
class SpanStrip : public ItemChart {
  Q_OBJECT
 public:
  explicit SpanStrip(QWidget* parent = nullptr);
  /// Shares of the width, from and to.
  void set_spans(std::vector<std::pair<double, double>> spans, const QColor& colour);
  [[nodiscard]] const std::vector<std::pair<double, double>>& spans() const { return spans_; }
  [[nodiscard]] QSize sizeHint() const override { return {320, 20}; }
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<std::pair<double, double>> spans_;
  QColor colour_;
};

}  // namespace ridgeline::gui
