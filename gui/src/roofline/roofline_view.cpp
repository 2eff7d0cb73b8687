#include "roofline/roofline_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/tables.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kLeft = 78, kRight = 16, kTop = 14, kBottom = 40, kStrip = 76;
constexpr double kRoofName = 20;

double radius_of(double share) {
  return std::clamp(std::sqrt(std::max(share, 0.0)) * 40, 3.5, 26.0);
}

QString axis_text(double value) {
  static constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [unit, letter] : kUnits) {
    if (value >= unit) return plain(fixed(value / unit, 0)) + " " + letter;
  }
  return value >= 1 ? plain(fixed(value, 0)) : QString::number(value);
}

bool holds(const std::vector<std::size_t>& rows, std::size_t row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

}  // namespace

// The drawing's place on the paper and its axes.
struct RooflineView::Frame {
  QRectF area, graph, strip;
  double low_x, high_x, low_y, high_y;
  [[nodiscard]] double x(double value) const {
    return graph.left() +
           graph.width() * std::log(std::clamp(value, low_x, high_x) / low_x) / std::log(high_x / low_x);
  }
  [[nodiscard]] double y(double value) const {
    return graph.bottom() -
           graph.height() * std::log(std::clamp(value, low_y, high_y) / low_y) / std::log(high_y / low_y);
  }
};

RooflineView::RooflineView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setMinimumSize(260, 200);
  setAccessibleName(tr("Roofline"));
}

RooflineView::Frame RooflineView::frame(const QRectF& area) const {
  Frame f{
      area,        area.adjusted(kLeft, kTop, -kRight, -kBottom), {}, plot_.low_x, plot_.high_x, plot_.low_y,
      plot_.high_y};
  if (!plot_.strip.empty() && plot_.mode == RooflineMode::intensity) {
    f.graph.setBottom(f.graph.bottom() - kStrip);
    f.strip = QRectF(f.graph.left(), f.graph.bottom() + kBottom + 22, f.graph.width(), kStrip - 44);
  }
  // The highest roof has room for its name above it, however low the drawing is.
  double highest = 0;
  for (const RooflineRoof& roof : plot_.roofs) {
    if (roof.flat) highest = std::max(highest, roof.peak.value);
  }
  if (highest > f.low_y && highest < f.high_y && f.graph.height() > 3 * kRoofName) {
    const double share = kRoofName / f.graph.height(), whole = std::log(f.high_y / f.low_y);
    const double missing = (share * whole - std::log(f.high_y / highest)) / (1 - share);
    if (missing > 0) f.high_y *= std::exp(missing);
  }
  return f;
}

void RooflineView::set_plot(RooflinePlot plot) {
  plot_ = std::move(plot);
  update();
}

void RooflineView::set_chosen(std::vector<std::size_t> rows, std::vector<RooflineDot> levels) {
  chosen_ = std::move(rows);
  levels_ = std::move(levels);
  update();
}

void RooflineView::set_hovered(std::vector<std::size_t> rows) {
  if (rows == hovered_) return;
  hovered_ = std::move(rows);
  update();
}

void RooflineView::set_before(std::vector<RooflineDot> before) {
  before_ = std::move(before);
  update();
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  draw(painter, rect());
}

void RooflineView::draw(QPainter& painter, const QRectF& area) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, theme().base);
  painter.setFont(small_font(0.85));
  const Frame f = frame(area);
  if (plot_.dots.empty() && plot_.strip.empty()) {
    painter.setPen(theme().faint);
    painter.drawText(
        area, Qt::AlignCenter | Qt::TextWordWrap,
        tr("No kernel here has counted bytes or operations:\nrecord with samples or replay steps."));
    return;
  }
  draw_axes(painter, f);
  if (plot_.mode == RooflineMode::intensity) {
    draw_roofs(painter, f, false);
    draw_strip(painter, f);
  } else {
    draw_time_marks(painter, f);
  }
  draw_legend(painter, f);
  draw_dots(painter, f);
  if (plot_.mode == RooflineMode::intensity) draw_roofs(painter, f, true);
}

void RooflineView::draw_axes(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  const bool time = plot_.mode == RooflineMode::time;
  const auto words = [&](double value) { return time ? plain(time_text(value)) : axis_text(value); };
  const auto first = [](double low) { return std::pow(10, std::floor(std::log10(low) + 1e-9)); };
  for (double decade = first(f.low_x); decade <= f.high_x; decade *= 10) {
    for (int i = 1; i < 10 && decade * i <= f.high_x; ++i) {
      if (decade * i < f.low_x) continue;
      painter.setPen(QPen(i == 1 ? t.grid : t.alternate, 1));
      painter.drawLine(QPointF(f.x(decade * i), f.graph.top()), QPointF(f.x(decade * i), f.graph.bottom()));
    }
    if (decade < f.low_x) continue;
    painter.setPen(t.faint);
    painter.drawText(QRectF(f.x(decade) - 40, f.graph.bottom() + 3, 80, 16), Qt::AlignHCenter, words(decade));
  }
  for (double decade = first(f.low_y); decade <= f.high_y; decade *= 10) {
    for (int i = 1; i < 10 && decade * i <= f.high_y; ++i) {
      if (decade * i < f.low_y) continue;
      painter.setPen(QPen(i == 1 ? t.grid : t.alternate, 1));
      painter.drawLine(QPointF(f.graph.left(), f.y(decade * i)), QPointF(f.graph.right(), f.y(decade * i)));
    }
    if (decade < f.low_y) continue;
    painter.setPen(t.faint);
    painter.drawText(QRectF(f.area.left() + 18, f.y(decade) - 8, kLeft - 24, 16),
                     Qt::AlignRight | Qt::AlignVCenter, words(decade));
  }
  painter.setPen(t.text);
  painter.drawText(QRectF(f.graph.left(), f.graph.bottom() + 19, f.graph.width(), 18), Qt::AlignHCenter,
                   time ? tr("time at the DRAM roof, in all calls of the step")
                        : tr("arithmetic intensity, FLOP/byte of DRAM"));
  painter.save();
  painter.translate(f.area.left() + 12, f.graph.center().y());
  painter.rotate(-90);
  painter.drawText(QRectF(-150, -9, 300, 18), Qt::AlignCenter,
                   time ? tr("time at the compute roof") : tr("FLOP/s"));
  painter.restore();
  painter.setPen(t.line);
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(f.graph);
}

void RooflineView::draw_roofs(QPainter& painter, const Frame& f, bool names) const {
  const Theme& t = theme();
  double highest = 0;
  for (const RooflineRoof& roof : plot_.roofs) {
    if (roof.flat) highest = std::max(highest, roof.peak.value);
  }
  if (highest <= 0) highest = f.high_y;
  double slope = 0;
  for (const RooflineRoof& roof : plot_.roofs) {
    if (!roof.flat && (slope == 0 || roof.peak.value < slope)) slope = roof.peak.value;
  }
  painter.save();
  painter.setClipRect(f.graph);
  for (const RooflineRoof& roof : plot_.roofs) {
    const bool whole = roof.share == 1;
    QColor colour = roof.flat ? t.of(analyzer::KernelBound::compute) : t.of(analyzer::KernelBound::memory);
    if (!whole) colour.setAlphaF(0.7F);
    painter.setPen(QPen(colour, whole ? 2 : 1,
                        whole              ? Qt::SolidLine
                        : roof.share > 0.8 ? Qt::DashLine
                                           : Qt::DotLine));
    const double value = roof.peak.value * roof.share;
    QPointF from, to;
    if (roof.flat) {
      const double begin = slope > 0 ? value / slope : f.low_x;
      from = {f.x(begin), f.y(value)};
      to = {f.x(f.high_x), f.y(value)};
    } else {
      // A straight line on two logarithmic axes, cut at the paper's edges.
      const double begin = std::max(f.low_x, f.low_y / value),
                   end = std::min(f.high_x, highest / roof.peak.value);
      if (end <= begin) continue;
      from = {f.x(begin), f.y(begin * value)};
      to = {f.x(end), f.y(end * value)};
    }
    if (!names) {
      painter.drawLine(from, to);
      continue;
    }
    if (!whole) continue;
    painter.setPen(t.text);
    const std::string label = reports::roof_label(roof.peak);
    if (roof.flat) {
      // Over the dots, which stand close below the roof.
      const double wide = painter.fontMetrics().horizontalAdvance(plain(label)) + 8;
      QColor ground = t.base;
      ground.setAlphaF(0.7F);
      const QRectF name(to.x() - wide - 4, to.y() - 17, wide, 14);
      painter.fillRect(name, ground);
      painter.drawText(name, Qt::AlignCenter, plain(label));
    } else {
      painter.save();
      painter.translate(from + (to - from) * 0.25);
      painter.rotate(-std::atan2(from.y() - to.y(), to.x() - from.x()) * 180 / M_PI);
      painter.drawText(QRectF(0, -16, 260, 14), Qt::AlignLeft | Qt::AlignVCenter, plain(label));
      painter.restore();
    }
  }
  painter.restore();
}

// Classes that are there, and what the broken lines are; where no kernel can stand: above the memory's slope.
void RooflineView::draw_legend(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  double y = f.graph.top() + (plot_.mode == RooflineMode::time ? 40 : 8);
  const double x = f.graph.left() + 10;
  painter.setPen(t.faint);
  if (plot_.mode == RooflineMode::intensity && f.graph.height() >= 150) {
    painter.drawText(QRectF(x, y - 2, 320, 14), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("broken lines: 85 % and 70 % of the roof"));
    y += 16;
  }
  std::vector<KernelClass> classes;
  for (const auto* dots : {&plot_.dots, &plot_.strip}) {
    for (const RooflineDot& dot : *dots) {
      if (std::find(classes.begin(), classes.end(), dot.kernel_class) == classes.end())
        classes.push_back(dot.kernel_class);
    }
  }
  for (const KernelClass each : classes) {
    if (f.graph.height() < 150 || y > f.graph.top() + f.graph.height() * 0.45) break;
    painter.fillRect(QRectF(x, y + 2, 9, 9), t.of(each));
    painter.drawText(QRectF(x + 14, y, 160, 14), Qt::AlignLeft | Qt::AlignVCenter, plain(to_string(each)));
    y += 15;
  }
}

// Diagonal: where both roofs take as long. From each dot to what it took: at the roof this would have no length.
void RooflineView::draw_time_marks(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  painter.setPen(QPen(t.line, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(f.x(f.low_x), f.y(f.low_y)), QPointF(f.x(f.high_x), f.y(f.high_y)));
  painter.setPen(t.faint);
  painter.drawText(QRectF(f.graph.right() - 210, f.graph.bottom() - 20, 204, 16), Qt::AlignRight,
                   tr("nearer to DRAM ▸"));
  painter.drawText(QRectF(f.graph.left() + 6, f.graph.top() + 3, 200, 16), Qt::AlignLeft,
                   tr("▴ nearer to compute"));
  painter.drawText(QRectF(f.graph.left() + 6, f.graph.top() + 19, 460, 16), Qt::AlignLeft,
                   tr("line behind a dot: to the time it took; ┆ 85 % and ┊ 70 % of the roof"));
  for (const RooflineDot& dot : plot_.dots) {
    const bool memory = dot.x >= dot.y;
    const QPointF at(f.x(dot.x), f.y(dot.y));
    const auto along = [&](double value) {
      return memory ? QPointF(f.x(value), at.y()) : QPointF(at.x(), f.y(value));
    };
    QColor colour = t.of(dot.kernel_class);
    colour.setAlphaF(holds(chosen_, dot.ranking_row) ? 1.0F : 0.55F);
    painter.setPen(QPen(colour, 2));
    painter.drawLine(at, along(dot.measured));
    // Where it would stand at 70 and 85 % of its roof.
    for (const double share : {0.70, 0.85}) {
      const QPointF mark = along(dot.measured * share);
      const QPointF across = memory ? QPointF(0, share > 0.8 ? 4 : 2.5) : QPointF(share > 0.8 ? 4 : 2.5, 0);
      painter.setPen(QPen(t.faint, 1));
      painter.drawLine(mark - across, mark + across);
    }
  }
}

void RooflineView::draw_dot(QPainter& painter, const RooflineDot& dot, const QPointF& at) const {
  const Theme& t = theme();
  const bool chosen = holds(chosen_, dot.ranking_row), hovered = holds(hovered_, dot.ranking_row);
  QColor fill = t.of(dot.kernel_class);
  const bool fade = !chosen_.empty() && !chosen;
  fill.setAlphaF(fade ? 0.3F : 0.82F);
  painter.setBrush(fill);
  painter.setPen(QPen(hovered ? t.hovered : chosen ? t.selected : t.base, chosen || hovered ? 2.5 : 1));
  const double r = radius_of(dot.share);
  painter.drawEllipse(at, r, r);
  if (r < 8 && !chosen) return;
  painter.setPen(fade ? t.faint : Theme::on(t.of(dot.kernel_class)));
  if (r >= 8)
    painter.drawText(QRectF(at.x() - r, at.y() - r, 2 * r, 2 * r), Qt::AlignCenter,
                     QString::number(dot.ranking_row + 1));
}

void RooflineView::draw_dots(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  painter.save();
  for (const RooflineDot& old : before_) {
    for (const RooflineDot& dot : plot_.dots) {
      if (dot.name != old.name) continue;
      const QPointF from(f.x(old.x), f.y(old.y)), to(f.x(dot.x), f.y(dot.y));
      const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
      painter.setPen(QPen(t.faint, 1.2));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(from, 3, 3);
      if (length < 4) continue;
      painter.drawLine(from, to);
      const QPointF unit = (to - from) / length, side(-unit.y(), unit.x());
      const QPointF tip = to - unit * std::min(radius_of(dot.share), length / 2);
      painter.setBrush(t.faint);
      painter.drawPolygon(QPolygonF({tip, tip - unit * 8 + side * 3.5, tip - unit * 8 - side * 3.5}));
    }
  }
  for (const RooflineDot& dot : plot_.dots) draw_dot(painter, dot, {f.x(dot.x), f.y(dot.y)});
  if (plot_.mode == RooflineMode::intensity && levels_.size() > 1) {
    painter.setPen(QPen(t.selected, 1.5, Qt::DashLine));
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      painter.drawLine(QPointF(f.x(levels_[i - 1].x), f.y(levels_[i - 1].y)),
                       QPointF(f.x(levels_[i].x), f.y(levels_[i].y)));
    }
    for (const RooflineDot& level : levels_) {
      const QPointF at(f.x(level.x), f.y(level.y));
      painter.setPen(QPen(t.selected, 1.5));
      painter.setBrush(t.base);
      if (level.level != MemoryLevel::dram) painter.drawEllipse(at, 4.5, 4.5);
      painter.setPen(t.text);
      painter.drawText(
          QRectF(at.x() - 30, at.y() + 10 + (level.level == MemoryLevel::dram ? radius_of(level.share) : 0),
                 60, 14),
          Qt::AlignHCenter,
          level.level == MemoryLevel::dram ? "DRAM"
          : level.level == MemoryLevel::l2 ? "L2"
                                           : "L1");
    }
  }
  painter.restore();
}

void RooflineView::draw_strip(QPainter& painter, const Frame& f) const {
  if (plot_.strip.empty()) return;
  const Theme& t = theme();
  painter.setPen(t.text);
  painter.drawText(QRectF(f.strip.left(), f.strip.top() - 19, f.strip.width(), 16), Qt::AlignLeft,
                   tr("without counted operations: share of the DRAM roof"));
  painter.fillRect(f.strip, t.alternate);
  for (const double share : {0.0, 0.25, 0.5, 0.7, 0.85, 1.0}) {
    const double x = f.strip.left() + f.strip.width() * share;
    const bool target = share == 0.7 || share == 0.85;
    painter.setPen(QPen(target ? t.of(analyzer::KernelBound::memory) : t.grid, 1,
                        share == 0.7    ? Qt::DotLine
                        : share == 0.85 ? Qt::DashLine
                                        : Qt::SolidLine));
    painter.drawLine(QPointF(x, f.strip.top()), QPointF(x, f.strip.bottom()));
    painter.setPen(t.faint);
    painter.drawText(QRectF(x - 30, f.strip.bottom() + 2, 60, 14), Qt::AlignHCenter,
                     plain(percent_text(share, 0)));
  }
  for (const RooflineDot& dot : plot_.strip)
    draw_dot(painter, dot,
             {f.strip.left() + f.strip.width() * std::clamp(dot.x, 0.0, 1.0), f.strip.center().y()});
}

QPointF RooflineView::place_of(const RooflineDot& dot, bool strip) const {
  const Frame f = frame(rect());
  return strip ? QPointF(f.strip.left() + f.strip.width() * std::clamp(dot.x, 0.0, 1.0), f.strip.center().y())
               : QPointF(f.x(dot.x), f.y(dot.y));
}

// The smallest that holds the point: it is drawn last.
const RooflineDot* RooflineView::dot_at(const QPointF& at) const {
  const RooflineDot* best = nullptr;
  for (const bool strip : {false, true}) {
    for (const RooflineDot& dot : strip ? plot_.strip : plot_.dots) {
      const QPointF away = place_of(dot, strip) - at;
      if (std::hypot(away.x(), away.y()) <= radius_of(dot.share) + 2 &&
          (best == nullptr || dot.share <= best->share))
        best = &dot;
    }
  }
  return best;
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
  if (const RooflineDot* dot = dot_at(event->position())) {
    emit dot_hovered(dot->ranking_row);
  } else {
    emit hover_left();
  }
}

void RooflineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const RooflineDot* dot = dot_at(event->position())) {
    emit dot_chosen(dot->ranking_row);
  } else {
    emit nothing_chosen();
  }
}

void RooflineView::leaveEvent(QEvent*) {
  emit hover_left();
}

bool RooflineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const RooflineDot* dot = dot_at(help->pos())) {
      QString text =
          tr("%1. %2\n%3, %4 of the step")
              .arg(dot->ranking_row + 1)
              .arg(shown(reports::elide_kernel_name(dot->name, 120)),
                   plain(time_text(static_cast<double>(dot->time_ns))), plain(percent_text(dot->share)));
      if (dot->ratio)
        text += tr("\n%1 of its nearest roof, bound by %2")
                    .arg(plain(percent_text(*dot->ratio)), plain(reports::bound_word(dot->bound)));
      if (plot_.mode == RooflineMode::intensity && dot->y > 0)
        text += tr("\n%1 at %2 FLOP/byte").arg(plain(operations_text(dot->y)), plain(fixed(dot->x, 1)));
      QToolTip::showText(help->globalPos(), text, this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ridgeline::gui
