// roofline_view.h: draws a RooflinePlot and says what is under the mouse.
#pragma once

#include <QPolygonF>
#include <QToolButton>
#include <optional>
#include <utility>

#include "models/selection.h"
#include "panels/item_chart.h"
#include "ridgeline/analyzer/roofline/roofline_plot.h"
#include "roofline/roofline_frame.h"

namespace ridgeline::gui {

using analyzer::MemoryLevel;
using analyzer::RooflineDot;
using analyzer::RooflineMode;
using analyzer::RooflinePlot;
using analyzer::RooflineRoof;
using analyzer::RooflineSettings;

/// The wheel zooms at the mouse, a drag zooms to a box, with Shift or the middle button it pans; a double click, 0 or
/// Escape shows everything.
class RooflineView : public ItemChart {
  Q_OBJECT
 public:
  explicit RooflineView(QWidget* parent = nullptr);

  void set_plot(RooflinePlot plot);
  /// What shares are of ("step"), and why there is nothing to see where there is nothing.
  void set_words(const QString& noun, const QString& when_empty);
  [[nodiscard]] const QString& words_when_empty() const { return when_empty_; }
  [[nodiscard]] const RooflinePlot& plot() const { return plot_; }
  /// Those rows of the ranking are outlined; of the first one the levels are joined.
  void set_chosen(std::vector<std::size_t> rows, std::vector<RooflineDot> levels);
  [[nodiscard]] const std::vector<std::size_t>& chosen() const { return chosen_; }
  void set_hovered(std::vector<std::size_t> rows);
  /// Where the same kernels stood in another capture, by name; arrows lead from there.
  void set_before(std::vector<RooflineDot> before);
  [[nodiscard]] const std::vector<RooflineDot>& before() const { return before_; }
  void draw(QPainter& painter, const QRectF& area) const;
  /// Empty: everything.
  void zoom_to(const std::optional<RooflineWindow>& window);
  [[nodiscard]] const std::optional<RooflineWindow>& zoomed_to() const { return zoom_; }
  /// Where the names of the roofs stand.
  [[nodiscard]] std::vector<QPolygonF> roof_names() const;
  /// The levels of the memory that are named for the chosen kernel, with the places of their names.
  [[nodiscard]] std::vector<std::pair<QString, QRectF>> level_names() const;
  /// What stands at the ticks of both axes.
  [[nodiscard]] QStringList tick_words() const;
  /// Where the words of the legend stand; nothing of the names covers them where there is another place.
  [[nodiscard]] std::vector<QRectF> legend_places() const;
  /// Where a dot stands; of the strip too.
  [[nodiscard]] QPointF place_of(const RooflineDot& dot, bool strip) const;
  [[nodiscard]] const RooflineDot* dot_at(const QPointF& at) const;
  /// All that are there, the longest kernels first.
  [[nodiscard]] std::vector<const RooflineDot*> dots_at(const QPointF& at) const;
  /// Dots, then those of the strip.
  [[nodiscard]] int item_count() const override;
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;

 signals:
  void dot_chosen(std::size_t ranking_row);
  void dot_hovered(std::size_t ranking_row);
  void hover_left();
  void nothing_chosen();
  /// Several dots are there, or a menu is wanted: rows of the ranking, the longest first, and the place on the screen.
  void list_asked(const std::vector<std::size_t>& ranking_rows, const QPoint& at);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;
  void choose_item(int item) override;
  void reach_item(int item) override;

 private:
  using Frame = RooflineFrame;
  enum class Drag { none, press, box, pan };
  [[nodiscard]] Frame frame(const QRectF& area) const;
  [[nodiscard]] RooflineWindow everything(const QRectF& graph) const;
  [[nodiscard]] const RooflineDot& dot_of(int item) const;
  [[nodiscard]] bool is_shown(const RooflineDot& dot, bool strip) const;
  [[nodiscard]] QString words_of(const RooflineDot& dot) const;
  void zoom_at(const QPointF& at, double factor);
  void pan_by(const QPointF& pixels);
  void click(const QPointF& at, const QPoint& on_screen);
  void draw_roof(QPainter& painter, const Frame& frame, const RooflineRoof& roof) const;
  void draw_roof_names(QPainter& painter, const Frame& frame) const;
  void draw_before(QPainter& painter, const Frame& frame) const;
  void draw_levels(QPainter& painter, const Frame& frame) const;
  [[nodiscard]] std::optional<std::pair<QPointF, QPointF>> line_of(const RooflineRoof& roof,
                                                                   const Frame& frame) const;
  struct RoofName {
    QString text;
    QPointF foot;      // lower left corner, round which it is turned
    double wide = 0;   // along its roof
    double angle = 0;  // degrees
    QPolygonF covers;  // on the paper
  };
  [[nodiscard]] std::vector<RoofName> place_roof_names(const Frame& frame) const;
  [[nodiscard]] std::vector<std::pair<QString, QRectF>> place_level_names(const Frame& frame) const;
  struct LegendWords {
    QRectF place;
    QString text;
    std::optional<KernelClass> kernel_class;  // empty: of the lines
  };
  [[nodiscard]] std::vector<LegendWords> place_legend(const Frame& frame) const;
  [[nodiscard]] std::vector<QRectF> taken_by_dots_and_legend(const Frame& frame) const;
  [[nodiscard]] std::vector<QRectF> taken_by_dots(const Frame& frame) const;
  void draw_axes(QPainter& painter, const Frame& frame) const;
  struct GridLine {
    double value;
    bool decade;  // a power of ten
  };
  struct Tick {
    QRectF place;
    QString text;
    Qt::Alignment alignment;
  };
  [[nodiscard]] bool is_scaled(double value) const;
  [[nodiscard]] std::vector<GridLine> grid_lines(double low, double high) const;
  [[nodiscard]] std::vector<Tick> place_ticks(const Frame& frame) const;
  void draw_time_marks(QPainter& painter, const Frame& frame) const;
  void draw_legend(QPainter& painter, const Frame& frame) const;
  void draw_dots(QPainter& painter, const Frame& frame) const;
  void draw_strip(QPainter& painter, const Frame& frame) const;
  using PlacedDot = std::pair<const RooflineDot*, QPointF>;
  void draw_circles(QPainter& painter, const std::vector<PlacedDot>& dots) const;

  RooflinePlot plot_;
  std::vector<std::size_t> chosen_, hovered_;
  std::vector<RooflineDot> levels_, before_;
  std::optional<RooflineWindow> zoom_;
  QString noun_ = tr("step"), when_empty_ = tr("No kernel here has counted bytes or operations.");
  QToolButton* whole_;  // ends the zoom; in the corner of the axes, where nothing is drawn
  Drag drag_ = Drag::none;
  QPointF drag_from_, drag_to_;
};

}  // namespace ridgeline::gui
