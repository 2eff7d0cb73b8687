#include "panels/charts.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr int kFlameHeight = 19;
constexpr double kHeadroom = 1.06;  // over the highest column
constexpr int kMarkHeight = 14;     // of a triangle above a column
constexpr int kOutlined = 5;        // pixels of a column that can have an outline
constexpr double kNarrow = 2;       // pixels of a column, less than which many are one block
constexpr double kSwatch = 13;      // of a legend, with the room after it
constexpr double kLegendLine = 15;
constexpr int kLowestGraph = 60;  // of columns, beside the words above and below them
constexpr int kLowestChart = 110;
constexpr double kStroke = 24;  // of a line beside its label, with the room after it

std::vector<int> binned(const std::vector<double>& values, double low, double high, std::size_t count) {
  std::vector<int> counts(count);
  for (const double value : values) {
    const double at = (value - low) / (high - low) * static_cast<double>(count);
    ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(count - 1)))];
  }
  return counts;
}

}  // namespace

void HistogramChart::set_values(std::vector<double> values, std::optional<double> marked,
                                std::vector<double> other) {
  values_ = std::move(values);
  other_ = std::move(other);
  std::sort(values_.begin(), values_.end());
  std::sort(other_.begin(), other_.end());
  marked_ = marked;
  items_changed();
}

std::optional<double> HistogramChart::rank() const {
  if (!marked_ || values_.empty()) return std::nullopt;
  const auto below = std::lower_bound(values_.begin(), values_.end(), *marked_) - values_.begin();
  return static_cast<double>(below) / static_cast<double>(values_.size());
}

QRectF HistogramChart::graph() const {
  return QRectF(rect()).adjusted(6, 6, -6, -20);
}

HistogramChart::Bins HistogramChart::bins() const {
  double low = INFINITY, high = 0;
  for (const std::vector<double>* side : {&values_, &other_}) {
    if (side->empty()) continue;
    low = std::min(low, side->front());
    // A few stragglers do not squeeze the rest: the last bin takes what is beyond.
    high = std::max(high, std::min(side->back(), (*side)[side->size() / 2] * 4));
  }
  const double margin = std::max((high - low) * 0.04, high * 0.01 + 1);
  low = std::max(low - margin, 0.0);
  high += margin;
  const auto count = static_cast<std::size_t>(std::clamp(graph().width() / 6, 10.0, 80.0));
  return {low, high, binned(values_, low, high, count), binned(other_, low, high, count)};
}

int HistogramChart::item_count() const {
  return values_.empty() && other_.empty() ? 0 : static_cast<int>(bins().counts.size());
}

QString HistogramChart::item_text(int item) const {
  const Bins all = bins();
  const auto i = static_cast<std::size_t>(item);
  const double wide = (all.high - all.low) / static_cast<double>(all.counts.size());
  QString text = tr("%1 to %2: %3")
                     .arg(time_words(all.low + wide * item), time_words(all.low + wide * (item + 1)),
                          plain(counted(all.counts[i], "launch", "launches")));
  if (!other_.empty()) text += tr(", in A %1").arg(all.other[i]);
  return text;
}

QRectF HistogramChart::item_rect(int item) const {
  const Bins all = bins();
  const QRectF area = graph();
  const double wide = area.width() / static_cast<double>(all.counts.size());
  const int most = std::max(*std::max_element(all.counts.begin(), all.counts.end()), 1);
  const int count = all.counts[static_cast<std::size_t>(item)];
  const double tall = count == 0 ? 0 : std::max(area.height() * count / most, 2.0);
  return {area.left() + wide * item, area.bottom() - tall, wide - 1, tall};
}

void HistogramChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.setFont(small_font(0.85));
  if (values_.empty() && other_.empty()) {
    painter.setPen(t.faint);
    painter.drawText(rect(), Qt::AlignCenter, tr("no launches"));
    return;
  }
  const QRectF area = graph();
  const Bins all = bins();
  const int most = std::max(*std::max_element(all.counts.begin(), all.counts.end()), 1);
  const double wide = area.width() / static_cast<double>(all.counts.size());
  for (std::size_t i = 0; i < all.counts.size(); ++i) {
    if (all.counts[i] == 0) continue;
    const double tall = std::max(area.height() * all.counts[i] / most, 2.0);
    painter.fillRect(
        QRectF(area.left() + wide * static_cast<double>(i), area.bottom() - tall, wide - 1, tall), t.accent);
  }
  if (!other_.empty()) paint_other(painter, all);
  painter.setPen(t.line);
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  if (marked_) {
    const double x =
        area.left() + area.width() * std::clamp((*marked_ - all.low) / (all.high - all.low), 0.0, 1.0);
    painter.setPen(QPen(t.selected, 2));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom() + 4));
  }
  painter.setPen(t.faint);
  const QRectF feet(area.left(), area.bottom() + 3, area.width(), 16);
  painter.drawText(feet, Qt::AlignLeft, time_words(all.low));
  painter.drawText(feet, Qt::AlignRight,
                   is_beyond(all.high) ? time_words(all.high) + " +" : time_words(all.high));
  painter.drawText(feet, Qt::AlignHCenter, median_words());
}

bool HistogramChart::is_beyond(double ns) const {
  return (!values_.empty() && values_.back() > ns) || (!other_.empty() && other_.back() > ns);
}

// Of a comparison that of B, or that only A has the kernel.
QString HistogramChart::median_words() const {
  if (values_.empty()) return tr("only in A: median %1").arg(time_words(other_[other_.size() / 2]));
  return tr("median %1").arg(time_words(values_[values_.size() / 2]));
}

void HistogramChart::paint_other(QPainter& painter, const Bins& bins) const {
  const Theme& t = theme();
  const QRectF area = graph();
  const double wide = area.width() / static_cast<double>(bins.counts.size());
  const int peak = std::max(*std::max_element(bins.other.begin(), bins.other.end()), 1);
  QPolygonF line;
  for (std::size_t i = 0; i < bins.other.size(); ++i) {
    const double y = area.bottom() - area.height() * bins.other[i] / peak;
    line << QPointF(area.left() + wide * static_cast<double>(i), y)
         << QPointF(area.left() + wide * static_cast<double>(i + 1), y);
  }
  painter.setPen(QPen(t.hovered, 1.6));
  painter.drawPolyline(line);
  const int letters = painter.fontMetrics().horizontalAdvance("A");
  const double right = area.right() - letters;
  painter.drawLine(QPointF(right - 20, 12), QPointF(right - 4, 12));
  painter.fillRect(QRectF(right - 20, 22, 16, 8), t.accent);
  painter.setPen(t.text);
  painter.drawText(QPointF(right, 16), "A");
  painter.drawText(QPointF(right, 30), "B");
}

ColumnChart::ColumnChart(QWidget* parent) : ItemChart(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void ColumnChart::set_points(std::vector<SeriesPoint> points, std::function<QString(double)> text,
                             std::function<QString(std::size_t)> help) {
  points_ = std::move(points);
  most_ = most_of(points_);
  has_marks_ =
      std::any_of(points_.begin(), points_.end(), [](const SeriesPoint& point) { return point.outlier; });
  has_chosen_ =
      std::any_of(points_.begin(), points_.end(), [](const SeriesPoint& point) { return point.chosen; });
  text_ = std::move(text);
  help_ = std::move(help);
  keep_room();
  items_changed();
}

void ColumnChart::set_lines(std::vector<Line> lines) {
  std::erase_if(lines, [](const Line& line) {
    return std::none_of(line.values.begin(), line.values.end(),
                        [](const std::optional<double>& value) { return value.value_or(0) > 0; });
  });
  lines_ = std::move(lines);
  keep_room();
  update();
}

void ColumnChart::set_legend(Legend legend) {
  legend_ = std::move(legend);
  keep_room();
  update();
}

void ColumnChart::resizeEvent(QResizeEvent* event) {
  ItemChart::resizeEvent(event);
  keep_room();
}

// Where it is narrow the words take several lines, and must not take them from the columns.
void ColumnChart::keep_room() {
  const int words = height() - static_cast<int>(whole_graph().height()) + legend_height();
  setMinimumHeight(std::max(kLowestChart, words + kLowestGraph));
}

int ColumnChart::legend_height() const {
  return legend_.empty() ? 0 : height() - static_cast<int>(legend_places().front().top());
}

std::vector<QRectF> ColumnChart::legend_places() const {
  const QFontMetricsF metrics(small_font(0.85));
  std::vector<QRectF> places;
  double x = 6;
  int line = 0;
  for (const auto& [words, colour] : legend_) {
    const double wide = kSwatch + metrics.horizontalAdvance(words) + 1;
    if (x > 6 && x + wide > width() - 6) {
      x = 6;
      ++line;
    }
    places.emplace_back(x, line * kLegendLine, wide, kLegendLine);
    x += wide + 12;
  }
  const double top = height() - (line + 1) * kLegendLine - 2;
  for (QRectF& place : places) place.translate(0, top);
  return places;
}

QRectF ColumnChart::whole_graph() const {
  const std::vector<QRectF> labels = line_places();
  double top = labels.empty() ? kLegendLine : labels.back().bottom();
  // Marks stand above columns, not in the words over these.
  const bool narrow = width() < kOutlined * static_cast<int>(points_.size());
  if (has_marks_ || (has_chosen_ && narrow)) top += kMarkHeight;
  return QRectF(rect()).adjusted(6, top + 2, -6, -6);
}

QRectF ColumnChart::graph() const {
  const QRectF whole = whole_graph();
  return whole.adjusted(0, 0, 0, -std::min(static_cast<double>(legend_height()), whole.height() / 2));
}

int ColumnChart::column_at(double x) const {
  const QRectF area = graph();
  const int i = static_cast<int>((x - area.left()) / area.width() * static_cast<double>(points_.size()));
  return x < area.left() || i < 0 || i >= static_cast<int>(points_.size()) ? -1 : i;
}

int ColumnChart::item_count() const {
  return static_cast<int>(points_.size());
}

QString ColumnChart::item_text(int item) const {
  return help_ ? help_(static_cast<std::size_t>(item)) : QString();
}

// Columns of another magnitude (replay, cold caches) are cut, with a mark; not the one that is shown.
double ColumnChart::most_of(const std::vector<SeriesPoint>& points) {
  if (points.empty()) return 1;
  std::vector<double> values;
  values.reserve(points.size());
  double chosen = 0;
  for (const SeriesPoint& point : points) {
    values.push_back(point.value);
    if (point.chosen) chosen = std::max(chosen, point.value);
  }
  std::sort(values.begin(), values.end());
  return std::max(std::max(std::min(values.back(), values[values.size() / 2] * 2), chosen) * kHeadroom, 1e-9);
}

QRectF ColumnChart::column_rect(const QRectF& area, int column, double largest) const {
  const double wide = area.width() / static_cast<double>(points_.size());
  const double value = points_[static_cast<std::size_t>(column)].value;
  const double tall = std::max(area.height() * std::min(value / largest, 1.0), 1.0);
  return {area.left() + wide * column, area.bottom() - tall, std::max(wide - (wide > 4 ? 1.5 : 0), 1.0),
          tall};
}

QRectF ColumnChart::item_rect(int item) const {
  return column_rect(graph(), item, most());
}

void ColumnChart::choose_item(int item) {
  emit column_chosen(item);
}

void ColumnChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.setFont(small_font(0.85));
  const QRectF area = graph();
  if (points_.empty()) {
    painter.setPen(t.faint);
    painter.drawText(rect(), Qt::AlignCenter, tr("no steps"));
    return;
  }
  const double top = area.top() + area.height() * (1 - 1 / kHeadroom);
  painter.setPen(t.faint);
  if (text_)
    painter.drawText(QRectF(area.left(), 0, area.width(), 16), Qt::AlignLeft, text_(most() / kHeadroom));
  painter.setPen(QPen(t.grid, 1));
  painter.drawLine(QPointF(area.left(), top), QPointF(area.right(), top));
  const double largest = most();
  const bool narrow = area.width() < kNarrow * static_cast<double>(points_.size());
  if (narrow) paint_profile(painter, area, largest);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!narrow) paint_column(painter, area, static_cast<int>(i), largest);
    if (points_[i].chosen || points_[i].outlier) paint_marks(painter, area, static_cast<int>(i), largest);
  }
  paint_lines(painter, area);
  paint_legend(painter);
  paint_current(painter);
}

void ColumnChart::paint_column(QPainter& painter, const QRectF& area, int column_at, double largest) const {
  const Theme& t = theme();
  const SeriesPoint& point = points_[static_cast<std::size_t>(column_at)];
  const QRectF column = column_rect(area, column_at, largest);
  painter.fillRect(column, point.colour);
  if (point.part > 0) {
    const double part = std::max(area.height() * std::min(point.part / largest, 1.0), 1.0);
    painter.fillRect(QRectF(column.left(), area.bottom() - part, column.width(), part), t.selected);
  }
  painter.setPen(Theme::on(point.colour));
  if (point.value > largest && column.width() > 8)
    painter.drawText(column, Qt::AlignHCenter | Qt::AlignTop, "≈");
}

std::vector<ColumnChart::Slice> ColumnChart::profile(double wide) const {
  std::vector<Slice> slices(static_cast<std::size_t>(std::max(wide, 1.0)));
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const SeriesPoint& point = points_[i];
    // A column that is wider than a pixel is in all that it covers.
    const std::size_t from = i * slices.size() / points_.size();
    const std::size_t to = std::max(from + 1, (i + 1) * slices.size() / points_.size());
    for (std::size_t x = from; x < to; ++x) {
      Slice& slice = slices[x];
      slice.least = slice.columns == 0 ? point.value : std::min(slice.least, point.value);
      slice.most = std::max(slice.most, point.value);
      slice.part = std::max(slice.part, point.part);
      slice.colour = point.colour;
      ++slice.columns;
    }
  }
  return slices;
}

// More columns than there is room for would be one block: pale up to the least of those at a pixel, full from there to
// the most.
void ColumnChart::paint_profile(QPainter& painter, const QRectF& area, double largest) const {
  const std::vector<Slice> slices = profile(area.width());
  const auto at = [&](double value) { return area.height() * std::min(value / largest, 1.0); };
  for (std::size_t x = 0; x < slices.size(); ++x) {
    const Slice& slice = slices[x];
    if (slice.columns == 0) continue;
    const double left = area.left() + static_cast<double>(x), least = at(slice.least);
    const double most = std::max(at(slice.most), least + 1.5);
    painter.fillRect(QRectF(left, area.bottom() - least, 1, least), mixed(slice.colour, theme().base, 0.45));
    painter.fillRect(QRectF(left, area.bottom() - most, 1, most - least), slice.colour);
    if (slice.part > 0)
      painter.fillRect(QRectF(left, area.bottom() - at(slice.part), 1, at(slice.part)), theme().selected);
  }
}

void ColumnChart::paint_marks(QPainter& painter, const QRectF& area, int column_at, double largest) const {
  const Theme& t = theme();
  const SeriesPoint& point = points_[static_cast<std::size_t>(column_at)];
  const QRectF column = column_rect(area, column_at, largest);
  if (point.chosen && column.width() > kOutlined - 1) {
    painter.setPen(QPen(t.selected, 2));
    painter.drawRect(column.adjusted(-0.5, -0.5, 0.5, 0.5));
  } else if (point.chosen) {
    // Too narrow for an outline: a mark above it.
    painter.setPen(t.selected);
    painter.drawText(column.adjusted(-8, -15, 8, 0), Qt::AlignHCenter | Qt::AlignTop, "▼");
  }
  painter.setPen(t.bad);
  if (point.outlier) painter.drawText(column.adjusted(-8, -16, 8, 0), Qt::AlignHCenter | Qt::AlignTop, "▲");
}

void ColumnChart::paint_legend(QPainter& painter) const {
  const std::vector<QRectF> places = legend_places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    painter.fillRect(QRectF(places[i].left(), places[i].top() + 3, 9, 9), legend_[i].second);
    painter.setPen(theme().text);
    painter.drawText(places[i].adjusted(kSwatch, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     legend_[i].first);
  }
}

// From the right, and below each other where they do not fit beside each other and the axis.
std::vector<QRectF> ColumnChart::line_places() const {
  const QFontMetricsF metrics(small_font(0.85));
  const double axis =
      text_ && !points_.empty() ? metrics.horizontalAdvance(text_(most() / kHeadroom)) + 10 : 0;
  std::vector<QRectF> places;
  double right = width() - 6.0;
  int row = 0;
  for (const Line& line : lines_) {
    const double wide = metrics.horizontalAdvance(line.label) + kStroke + 2;
    if (right < width() - 6.0 && right - wide < (row == 0 ? 6 + axis : 6)) {
      right = width() - 6.0;
      ++row;
    }
    // One that is wider than the room beside the axis has a row of its own.
    if (row == 0 && right - wide < 6 + axis) ++row;
    places.emplace_back(right - wide, row * kLegendLine, wide, kLegendLine);
    right -= wide + 10;
  }
  return places;
}

// Told apart by their strokes, for they have the same colour.
void ColumnChart::paint_lines(QPainter& painter, const QRectF& area) const {
  constexpr std::array<Qt::PenStyle, 4> kStrokes = {Qt::SolidLine, Qt::DashLine, Qt::DotLine,
                                                    Qt::DashDotDotLine};
  const double wide = area.width() / static_cast<double>(points_.size());
  const std::vector<QRectF> places = line_places();
  for (std::size_t n = 0; n < lines_.size(); ++n) {
    const Line& line = lines_[n];
    double high = 0;
    for (const auto& value : line.values) high = std::max(high, value.value_or(0));
    QPolygonF polygon;
    for (std::size_t i = 0; i < std::min(line.values.size(), points_.size()); ++i) {
      if (!line.values[i]) continue;
      polygon << QPointF(area.left() + wide * (static_cast<double>(i) + 0.5),
                         area.bottom() - area.height() * 0.9 * *line.values[i] / high);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().text, 1.4, kStrokes[n % kStrokes.size()]));
    painter.drawPolyline(polygon);
    const double middle = places[n].center().y();
    painter.drawLine(QPointF(places[n].left(), middle), QPointF(places[n].left() + kStroke - 5, middle));
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme().text);
    painter.drawText(places[n].adjusted(kStroke, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter, line.label);
  }
}

void ColumnChart::mousePressEvent(QMouseEvent* event) {
  choose(column_at(event->position().x()));
}

bool ColumnChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int column = column_at(help->pos().x());
    if (column >= 0) QToolTip::showText(help->globalPos(), item_text(column), this);
    return true;
  }
  return ItemChart::event(event);
}

void StackedBar::set_parts(std::vector<BarPart> parts, double whole) {
  std::erase_if(parts, [](const BarPart& part) { return part.value <= 0; });
  parts_ = std::move(parts);
  whole_ = whole;
  updateGeometry();
  items_changed();
}

int StackedBar::item_count() const {
  return whole_ > 0 ? static_cast<int>(parts_.size()) : 0;
}

// Of shares (the whole is 1) the share says it all.
QString StackedBar::numbers(const BarPart& part, const QString& between) const {
  const QString share = plain(percent_text(part.value / whole_));
  return whole_ == 1 ? share : time_words(part.value) + between + share;
}

QString StackedBar::item_text(int item) const {
  const BarPart& part = parts_[static_cast<std::size_t>(item)];
  return part.label + ": " + numbers(part, ", ");
}

QRectF StackedBar::item_rect(int item) const {
  double x = 4;
  const double wide = width() - 8.0;
  for (int i = 0; i < item; ++i) x += wide * parts_[static_cast<std::size_t>(i)].value / whole_;
  return {x, 2, wide * parts_[static_cast<std::size_t>(item)].value / whole_, 24};
}

int StackedBar::columns(int width) {
  return std::max(width / 250, 1);
}

int StackedBar::heightForWidth(int width) const {
  const int rows = (static_cast<int>(parts_.size()) + columns(width) - 1) / columns(width);
  return 34 + rows * 18;
}

QSize StackedBar::sizeHint() const {
  return {320, heightForWidth(std::max(width(), 320))};
}

void StackedBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.setFont(small_font(0.88));
  const QRectF bar(4, 2, width() - 8, 24);
  painter.fillRect(bar, t.grid);
  if (whole_ <= 0) return;
  double x = bar.left();
  const int across = columns(width());
  const int wide = width() / across;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const BarPart& part = parts_[i];
    const double length = bar.width() * part.value / whole_;
    painter.fillRect(QRectF(x, bar.top(), std::max(length - 0.7, 0.7), bar.height()), part.colour);
    const QString share = plain(percent_text(part.value / whole_));
    if (length > painter.fontMetrics().horizontalAdvance(share) + 8) {
      painter.setPen(Theme::on(part.colour));
      painter.drawText(QRectF(x, bar.top(), length, bar.height()), Qt::AlignCenter, share);
    }
    x += length;
    const int line = static_cast<int>(i) / across;
    const QRectF cell(4 + wide * (static_cast<int>(i) % across), 32 + 18 * line, wide - 8, 17);
    painter.fillRect(QRectF(cell.left(), cell.top() + 3, 10, 10), part.colour);
    painter.setPen(t.text);
    const QString value = numbers(part, "  ");
    painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter, value);
    const int room = static_cast<int>(cell.width()) - painter.fontMetrics().horizontalAdvance(value) - 22;
    painter.drawText(cell.adjusted(15, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(part.label, Qt::ElideRight, room));
  }
}

FlameChart::FlameChart(QWidget* parent) : ItemChart(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setMouseTracking(true);
}

void FlameChart::set_chosen(std::vector<bool> boxes) {
  chosen_ = std::move(boxes);
  update();
}

void FlameChart::set_hovered(std::vector<bool> boxes) {
  hovered_ = std::move(boxes);
  update();
}

void FlameChart::set_boxes(std::vector<FlameBox> boxes) {
  boxes_ = std::move(boxes);
  chosen_.clear();
  hovered_.clear();
  under_mouse_.reset();
  updateGeometry();
  items_changed();
}

int FlameChart::item_count() const {
  return static_cast<int>(boxes_.size());
}

QString FlameChart::item_text(int item) const {
  return boxes_[static_cast<std::size_t>(item)].help;
}

QRectF FlameChart::item_rect(int item) const {
  return rect_of(boxes_[static_cast<std::size_t>(item)]);
}

void FlameChart::choose_item(int item) {
  emit box_chosen(static_cast<std::size_t>(item));
}

void FlameChart::reach_item(int item) {
  if (item >= 0) {
    emit box_hovered(static_cast<std::size_t>(item));
  } else {
    emit hover_left();
  }
}

QSize FlameChart::sizeHint() const {
  int depth = 0;
  for (const FlameBox& box : boxes_) depth = std::max(depth, box.depth + 1);
  return {320, depth * kFlameHeight + 6};
}

QRectF FlameChart::rect_of(const FlameBox& box) const {
  const double wide = width() - 8;
  return {4 + wide * box.from, 3.0 + box.depth * kFlameHeight,
          std::max(wide * (box.to - box.from) - 0.7, 0.5), kFlameHeight - 1.0};
}

void FlameChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(small_font(0.85));
  for (const FlameBox& box : boxes_) {
    const QRectF area = rect_of(box);
    painter.fillRect(area, box.colour);
    if (area.width() < 26) continue;
    painter.setPen(Theme::on(box.colour));
    painter.drawText(
        area.adjusted(3, 0, -2, 0), Qt::AlignLeft | Qt::AlignVCenter,
        painter.fontMetrics().elidedText(box.label, Qt::ElideRight, static_cast<int>(area.width()) - 5));
  }
  for (const auto& [marked, colour] :
       {std::pair{&chosen_, theme().selected}, std::pair{&hovered_, theme().hovered}}) {
    painter.setPen(QPen(colour, 1.5));
    for (std::size_t i = 0; i < std::min(marked->size(), boxes_.size()); ++i) {
      if ((*marked)[i]) painter.drawRect(rect_of(boxes_[i]).adjusted(0.7, 0.7, -0.7, -0.7));
    }
  }
  paint_current(painter);
}

std::optional<std::size_t> FlameChart::box_at(const QPointF& at) const {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (rect_of(boxes_[i]).contains(at)) return i;
  }
  return std::nullopt;
}

void FlameChart::contextMenuEvent(QContextMenuEvent* event) {
  if (const auto box = box_at(event->pos())) emit menu_asked(*box, event->globalPos());
}

void FlameChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const auto box = box_at(event->position())) choose(static_cast<int>(*box));
}

void FlameChart::mouseMoveEvent(QMouseEvent* event) {
  const auto box = box_at(event->position());
  if (box == under_mouse_) return;
  under_mouse_ = box;
  if (box) {
    emit box_hovered(*box);
  } else {
    emit hover_left();
  }
}

void FlameChart::leaveEvent(QEvent*) {
  under_mouse_.reset();
  emit hover_left();
}

bool FlameChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto box = box_at(help->pos())) {
      QToolTip::showText(help->globalPos(), boxes_[*box].help, this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return ItemChart::event(event);
}

SpanStrip::SpanStrip(QWidget* parent) : ItemChart(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void SpanStrip::set_spans(std::vector<std::pair<double, double>> spans, const QColor& colour) {
  spans_ = std::move(spans);
  colour_ = colour;
  items_changed();
}

int SpanStrip::item_count() const {
  return static_cast<int>(spans_.size());
}

QString SpanStrip::item_text(int item) const {
  const auto& [from, to] = spans_[static_cast<std::size_t>(item)];
  return tr("from %1 to %2").arg(plain(percent_text(from)), plain(percent_text(to)));
}

QRectF SpanStrip::item_rect(int item) const {
  const QRectF bar = QRectF(rect()).adjusted(6, 2, -6, -2);
  const auto& [from, to] = spans_[static_cast<std::size_t>(item)];
  return {bar.left() + bar.width() * from, bar.top(), std::max(bar.width() * (to - from), 1.0), bar.height()};
}

void SpanStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(QRectF(rect()).adjusted(6, 2, -6, -2), theme().grid);
  for (int i = 0; i < item_count(); ++i) painter.fillRect(item_rect(i), colour_);
}

}  // namespace ridgeline::gui
