// row_painter.h: draws one line of a timeline. Behind a small interface, so that another way of drawing could take its
// place; this one is QPainter on an image.
#pragma once

#include <QFontMetricsF>
#include <QHash>
#include <QImage>
#include <QPainter>
#include <cstdint>
#include <vector>

#include "style/theme.h"
#include "timeline/time_axis.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {

/// Height of a line in logical pixels.
[[nodiscard]] int row_height(const TimelineRow& row);
/// Likewise, of rows that are folded to one line too.
[[nodiscard]] int line_height(const TimelineScene& scene, const RowLine& line);

/// Threads: one at a time. Keeps shortened names between frames.
class RowPainter {
 public:
  virtual ~RowPainter() = default;
  struct Style {
    QFont font;
    double pixel_ratio = 1;
  };
  /// The line's graph, without what lies over several lines. Of the size axis.width × row_height.
  [[nodiscard]] virtual QImage paint(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                                     const Style& style) = 0;
};

class ImageRowPainter : public RowPainter {
 public:
  [[nodiscard]] QImage paint(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                             const Style& style) override;

 private:
  void paint_density(const TimelineScene& scene, std::size_t row, const TimeAxis& axis, QImage& image);
  void paint_events(const TimelineScene& scene, std::size_t row, const TimeAxis& axis, const Style& style,
                    QPainter& painter);
  void paint_marks(const TimelineScene& scene, std::size_t row, const TimeAxis& axis, QPainter& painter);
  void paint_counter(const TimelineRow& row, const TimeAxis& axis, const Style& style, QImage& image);
  [[nodiscard]] const QString& label(const EventName& name, std::uint32_t key, int columns);

  QHash<quint64, QString> labels_;  // by name and columns
  [[nodiscard]] QRgb colour_of(const TimelineScene& scene, const EventPlace& place, bool fade);

  const TimelineData* colours_of_ = nullptr;  // only compared
  bool colours_dark_ = false;
  std::vector<std::pair<QRgb, QRgb>> colours_;  // of each name: whole, and pale beside a chosen kernel
  std::vector<EventBin> bins_;
  std::vector<int> tops_;
  std::vector<QRgb> inks_;
  std::vector<CounterBin> counter_bins_;
};

/// Of an event; kernels of one class differ a little where they are wide enough to be seen one by one.
[[nodiscard]] QColor event_colour(const EventName& name, bool apart);
/// The name of an event in at most that many columns.
[[nodiscard]] QString event_label(const EventName& name, int columns);
/// Where even the fewest columns of event_label() are too wide: the first letters and dots, of a range that
/// ends in a number its end too; "" where that would tell nothing. `room` in pixels.
[[nodiscard]] QString narrow_label(const EventName& name, const QFontMetricsF& metrics, double room);

/// A name to be written in an event's box.
struct EventLabel {
  QRectF box;
  QString text;
  std::uint32_t name = 0;  ///< of the event: labels of the same name may be alike
  bool cut = false;        ///< it is not the whole name
  QColor colour;           ///< of the box
};
/// Of different names that were cut to the same text none is written: it would say that they are the same.
void leave_out_alike(std::vector<EventLabel>& labels);
/// "87.3 %", "1.71 TB/s", "1755 MHz", "612 W".
[[nodiscard]] QString counter_text(CounterUnit unit, double value);

}  // namespace ridgeline::gui
