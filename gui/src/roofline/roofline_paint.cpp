// roofline_paint.cpp: how the roofline is drawn.
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "roofline/roofline_places.h"
#include "roofline/roofline_view.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kLegendSwatch = 14;  // with the room after it
constexpr double kAboveZero = 2;      // times where zero stands: there a scale begins

QString axis_text(double value) {
  static constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [unit, letter] : kUnits) {
    if (value >= unit) return QString::number(value / unit) + " " + letter;
  }
  return QString::number(value);
}

// "10 ms": of a tick no decimals are of interest.
QString time_tick_text(double ns) {
  static constexpr std::pair<double, const char*> kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
  for (const auto& [unit, name] : kUnits) {
    if (ns >= unit * (1 - 1e-9)) return QString::number(ns / unit) + " " + plain(name);
  }
  return QString::number(ns) + " ns";
}

// Powers of ten; of less than two decades, what lies between too.
std::vector<double> axis_ticks(double low, double high) {
  std::vector<double> ticks;
  const bool near = high / low < 100;
  for (double decade = std::pow(10, std::floor(std::log10(low) + 1e-9)); decade <= high; decade *= 10) {
    for (const double part : {1.0, 2.0, 5.0}) {
      if ((part == 1 || near) && decade * part >= low && decade * part <= high)
        ticks.push_back(decade * part);
    }
  }
  return ticks;
}

bool is_among(const std::vector<std::size_t>& rows, std::size_t row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

bool meets_any(const QRectF& place, const std::vector<QRectF>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const QRectF& other) { return other.intersects(place); });
}

}  // namespace

QRectF free_place(const std::vector<QRectF>& places, const std::vector<QRectF>& taken) {
  QRectF best = places.front();
  double least = -1;
  for (const QRectF& place : places) {
    double covered = 0;
    for (const QRectF& other : taken) {
      const QRectF both = place.intersected(other);
      covered += both.width() * both.height();
    }
    if (least >= 0 && covered >= least) continue;
    least = covered;
    best = place;
    if (covered == 0) break;
  }
  return best;
}

void RooflineView::draw(QPainter& painter, const QRectF& area) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, theme().base);
  painter.setFont(small_font(0.85));
  const Frame f = frame(area);
  if (plot_.dots.empty() && plot_.strip.empty()) {
    painter.setPen(theme().faint);
    painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, when_empty_);
    return;
  }
  draw_axes(painter, f);
  if (plot_.mode == RooflineMode::intensity) {
    painter.save();
    painter.setClipRect(f.graph);
    for (const RooflineRoof& roof : plot_.roofs) draw_roof(painter, f, roof);
    painter.restore();
    draw_strip(painter, f);
  } else {
    draw_time_marks(painter, f);
  }
  draw_legend(painter, f);
  draw_dots(painter, f);
  if (plot_.mode == RooflineMode::intensity) draw_roof_names(painter, f);
}

// Powers of ten and what lies between them, as far as the axis has a scale there.
std::vector<RooflineView::GridLine> RooflineView::grid_lines(double low, double high) const {
  std::vector<GridLine> lines;
  for (double decade = std::pow(10, std::floor(std::log10(low) + 1e-9)); decade <= high; decade *= 10) {
    for (int i = 1; i < 10 && decade * i <= high; ++i) {
      if (decade * i >= low && is_scaled(decade * i)) lines.push_back({decade * i, i == 1});
    }
  }
  return lines;
}

// Between nothing and the least that is used an axis has no scale.
bool RooflineView::is_scaled(double value) const {
  return !plot_.zero || value > *plot_.zero * kAboveZero;
}

// As many as have room, from the axes' low ends.
std::vector<RooflineView::Tick> RooflineView::place_ticks(const Frame& f) const {
  const QFontMetricsF metrics(small_font(0.85));
  const auto ticks_of = [&](double low, double high) {
    std::vector<std::pair<double, QString>> ticks;
    if (plot_.zero && *plot_.zero >= low && *plot_.zero <= high) ticks.emplace_back(*plot_.zero, "0");
    for (const double tick : axis_ticks(low, high)) {
      if (!is_scaled(tick)) continue;
      ticks.emplace_back(tick, plot_.mode == RooflineMode::time ? time_tick_text(tick) : axis_text(tick));
    }
    return ticks;
  };
  std::vector<Tick> placed;
  double free_from = f.area.left();
  for (const auto& [value, text] : ticks_of(f.shows.low_x, f.shows.high_x)) {
    const double wide = metrics.horizontalAdvance(text) + 8.0, left = f.x(value) - wide / 2;
    if (left < free_from || left + wide > f.area.right()) continue;
    free_from = left + wide;
    placed.push_back({QRectF(left, f.graph.bottom() + 3, wide, 16), text, Qt::AlignHCenter});
  }
  double free_below = f.area.bottom();
  for (const auto& [value, text] : ticks_of(f.shows.low_y, f.shows.high_y)) {
    const double top = f.y(value) - 8;
    if (top + 16 > free_below) continue;
    free_below = top;
    placed.push_back(
        {QRectF(f.area.left() + 18, top, kRooflineLeft - 24, 16), text, Qt::AlignRight | Qt::AlignVCenter});
  }
  return placed;
}

QStringList RooflineView::tick_words() const {
  QStringList words;
  for (const Tick& tick : place_ticks(frame(rect()))) words << tick.text;
  return words;
}

void RooflineView::draw_axes(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  const bool time = plot_.mode == RooflineMode::time;
  for (const GridLine& line : grid_lines(f.shows.low_x, f.shows.high_x)) {
    painter.setPen(QPen(line.decade ? t.grid : t.alternate, 1));
    painter.drawLine(QPointF(f.x(line.value), f.graph.top()), QPointF(f.x(line.value), f.graph.bottom()));
  }
  for (const GridLine& line : grid_lines(f.shows.low_y, f.shows.high_y)) {
    painter.setPen(QPen(line.decade ? t.grid : t.alternate, 1));
    painter.drawLine(QPointF(f.graph.left(), f.y(line.value)), QPointF(f.graph.right(), f.y(line.value)));
  }
  if (plot_.zero) {
    painter.setPen(QPen(t.line, 1, Qt::DotLine));
    if (const double at = *plot_.zero; f.shows.holds(at, f.shows.low_y))
      painter.drawLine(QPointF(f.x(at), f.graph.top()), QPointF(f.x(at), f.graph.bottom()));
    if (const double at = *plot_.zero; f.shows.holds(f.shows.low_x, at))
      painter.drawLine(QPointF(f.graph.left(), f.y(at)), QPointF(f.graph.right(), f.y(at)));
  }
  painter.setPen(t.faint);
  for (const Tick& tick : place_ticks(f)) painter.drawText(tick.place, tick.alignment, tick.text);
  painter.setPen(t.text);
  painter.drawText(QRectF(f.graph.left(), f.graph.bottom() + 19, f.graph.width(), 18), Qt::AlignHCenter,
                   time ? tr("time at the DRAM roof, in all calls of the %1").arg(noun_)
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

// Within what is shown; empty: nowhere.
std::optional<std::pair<QPointF, QPointF>> RooflineView::line_of(const RooflineRoof& roof,
                                                                 const Frame& f) const {
  const RooflineWindow& shows = f.shows;
  double highest = 0, slope = 0;
  for (const RooflineRoof& each : plot_.roofs) {
    if (each.flat) highest = std::max(highest, each.peak.value);
    if (!each.flat && (slope == 0 || each.peak.value < slope)) slope = each.peak.value;
  }
  const double value = roof.peak.value * roof.share;
  if (roof.flat) {
    const double begin = std::max(slope > 0 ? value / slope : shows.low_x, shows.low_x);
    if (value < shows.low_y || value > shows.high_y || begin >= shows.high_x) return std::nullopt;
    return std::pair(QPointF(f.x(begin), f.y(value)), QPointF(f.x(shows.high_x), f.y(value)));
  }
  // A straight line on two logarithmic axes, cut at the paper's edges and at the highest roof.
  const double knee = highest > 0 ? highest / roof.peak.value : shows.high_x;
  const double begin = std::max(shows.low_x, shows.low_y / value);
  const double end = std::min({shows.high_x, knee, shows.high_y / value});
  if (end <= begin) return std::nullopt;
  return std::pair(QPointF(f.x(begin), f.y(begin * value)), QPointF(f.x(end), f.y(end * value)));
}

void RooflineView::draw_roof(QPainter& painter, const Frame& f, const RooflineRoof& roof) const {
  const auto line = line_of(roof, f);
  if (!line) return;
  const Theme& t = theme();
  const bool whole = roof.share == 1;
  QColor colour = roof.flat ? t.of(analyzer::KernelBound::compute) : t.of(analyzer::KernelBound::memory);
  if (!whole) colour.setAlphaF(0.7F);
  painter.setPen(QPen(colour, whole ? 2 : 1,
                      whole              ? Qt::SolidLine
                      : roof.share > 0.8 ? Qt::DashLine
                                         : Qt::DotLine));
  painter.drawLine(line->first, line->second);
}

// Squares in the circles, a little larger: names in their corners would touch nobody.
std::vector<QRectF> RooflineView::taken_by_dots(const Frame& f) const {
  std::vector<QRectF> taken;
  for (const RooflineDot& dot : plot_.dots) {
    if (!is_shown(dot, false)) continue;
    const double r = roofline_radius(dot.share) * 0.9 + 1;
    taken.emplace_back(f.x(dot.x) - r, f.y(dot.y) - r, 2 * r, 2 * r);
  }
  return taken;
}

// Classes that are there, and what the broken lines are; where no kernel can stand: above the memory's slope.
std::vector<RooflineView::LegendWords> RooflineView::place_legend(const Frame& f) const {
  std::vector<LegendWords> legend;
  if (f.graph.height() < 150) return legend;
  const QFontMetricsF metrics(small_font(0.85));
  double y = f.graph.top() + (plot_.mode == RooflineMode::time ? 40 : 8);
  const double x = f.graph.left() + 10;
  if (plot_.mode == RooflineMode::intensity) {
    const QString words = tr("broken lines: 85 % and 70 % of the roof");
    legend.push_back({QRectF(x, y - 2, metrics.horizontalAdvance(words) + 2, 14), words, std::nullopt});
    y += 16;
  }
  std::vector<KernelClass> classes;
  for (const auto* dots : {&plot_.dots, &plot_.strip}) {
    for (const RooflineDot& dot : *dots) {
      if (std::find(classes.begin(), classes.end(), dot.kernel_class) == classes.end())
        classes.push_back(dot.kernel_class);
    }
  }
  // In columns, as many as it takes, and beside dots, of which it would hide what they are.
  const std::vector<QRectF> dots = taken_by_dots(f);
  const double top = y, bottom = f.graph.top() + f.graph.height() * 0.45;
  double column = x, wide = 0;
  for (const KernelClass each : classes) {
    const QString words = plain(to_string(each));
    const double own = kLegendSwatch + metrics.horizontalAdvance(words) + 2;
    QRectF place;
    do {
      if (y > bottom) {
        column += wide + 24;
        wide = 0;
        y = top;
      }
      place = QRectF(column, y, own, 14);
      wide = std::max(wide, own);
      y += 15;
    } while (place.right() <= f.graph.right() && meets_any(place, dots));
    if (place.right() > f.graph.right()) break;
    legend.push_back({place, words, each});
  }
  return legend;
}

void RooflineView::draw_legend(QPainter& painter, const Frame& f) const {
  painter.setPen(theme().faint);
  for (const LegendWords& words : place_legend(f)) {
    const double swatch = words.kernel_class ? kLegendSwatch : 0;
    // A roof that is zoomed in on may lead below it.
    QColor ground = theme().base;
    ground.setAlphaF(0.85F);
    painter.fillRect(words.place, ground);
    if (words.kernel_class)
      painter.fillRect(QRectF(words.place.left(), words.place.top() + 2, 9, 9),
                       theme().of(*words.kernel_class));
    painter.drawText(words.place.adjusted(swatch, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, words.text);
  }
}

std::vector<QRectF> RooflineView::legend_places() const {
  std::vector<QRectF> places;
  for (const LegendWords& words : place_legend(frame(rect()))) places.push_back(words.place);
  return places;
}

// What no name may cover.
std::vector<QRectF> RooflineView::taken_by_dots_and_legend(const Frame& f) const {
  std::vector<QRectF> taken = taken_by_dots(f);
  for (const LegendWords& words : place_legend(f)) taken.push_back(words.place);
  return taken;
}

// Diagonal: where both roofs take as long. From each dot to what it took: at the roof this would have no length.
void RooflineView::draw_time_marks(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  painter.save();
  painter.setClipRect(f.graph);
  painter.setPen(QPen(t.line, 1.5, Qt::DashLine));
  const double from = std::max(f.shows.low_x, f.shows.low_y), to = std::min(f.shows.high_x, f.shows.high_y);
  if (from < to) painter.drawLine(QPointF(f.x(from), f.y(from)), QPointF(f.x(to), f.y(to)));
  painter.setPen(t.faint);
  std::vector<QRectF> taken = taken_by_dots_and_legend(f);
  // From a corner along its side, where no dot is.
  const auto say = [&](const QString& text, bool right, bool from_top) {
    const QSizeF size(painter.fontMetrics().horizontalAdvance(text) + 4, kRoofNameHeight);
    std::vector<QRectF> places;
    for (double down = 4; down + size.height() < f.graph.height(); down += size.height()) {
      const double top = from_top ? f.graph.top() + down : f.graph.bottom() - down - size.height();
      places.emplace_back(QPointF(right ? f.graph.right() - size.width() - 4 : f.graph.left() + 6, top),
                          size);
    }
    if (places.empty()) return;
    const QRectF place = free_place(places, taken);
    taken.push_back(place);
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, text);
  };
  say(tr("▴ nearer to compute"), false, true);
  say(tr("line: to the time it took; ┆ 85 %, ┊ 70 % of the roof"), false, true);
  say(tr("nearer to DRAM ▸"), true, false);
  for (const RooflineDot& dot : plot_.dots) {
    if (!is_shown(dot, false)) continue;
    const bool memory = dot.x >= dot.y;
    const QPointF at(f.x(dot.x), f.y(dot.y));
    const auto along = [&](double value) {
      return memory ? QPointF(f.x(value), at.y()) : QPointF(at.x(), f.y(value));
    };
    QColor colour = t.of(dot.kernel_class);
    colour.setAlphaF(is_among(chosen_, dot.ranking_row) ? 1.0F : 0.55F);
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
  painter.restore();
}

// In the larger ones their place in the ranking, but where another circle lies over it: half a number is another one.
void RooflineView::draw_circles(QPainter& painter, const std::vector<PlacedDot>& dots) const {
  constexpr double kMinForNumber = 8;
  const Theme& t = theme();
  const auto is_faded = [&](const RooflineDot& dot) {
    return !chosen_.empty() && !is_among(chosen_, dot.ranking_row);
  };
  const auto opacity = [&](const RooflineDot& dot) { return is_faded(dot) ? 0.3 : 0.82; };
  for (const auto& [dot, at] : dots) {
    const bool chosen = is_among(chosen_, dot->ranking_row), hovered = is_among(hovered_, dot->ranking_row);
    QColor fill = t.of(dot->kernel_class);
    fill.setAlphaF(static_cast<float>(opacity(*dot)));
    painter.setBrush(fill);
    painter.setPen(QPen(hovered ? t.hovered : chosen ? t.selected : t.base, chosen || hovered ? 2.5 : 1));
    painter.drawEllipse(at, roofline_radius(dot->share), roofline_radius(dot->share));
  }
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const auto& [dot, at] = dots[i];
    if (roofline_radius(dot->share) < kMinForNumber) continue;
    const QString number = QString::number(dot->ranking_row + 1);
    const QSizeF size = QFontMetricsF(painter.font()).boundingRect(number).size();
    const QRectF box(at - QPointF(size.width() / 2, size.height() / 2), size);
    const bool covered = std::any_of(
        dots.begin() + static_cast<std::ptrdiff_t>(i) + 1, dots.end(), [&box = box](const PlacedDot& other) {
          // From the point of the box that is nearest to its middle.
          const QPointF& to = other.second;
          const QPointF away = to - QPointF(std::clamp(to.x(), box.left(), box.right()),
                                            std::clamp(to.y(), box.top(), box.bottom()));
          return std::hypot(away.x(), away.y()) < roofline_radius(other.first->share);
        });
    if (covered) continue;
    painter.setPen(Theme::on(mixed(t.of(dot->kernel_class), t.base, opacity(*dot))));
    painter.drawText(box.adjusted(-2, -2, 2, 2), Qt::AlignCenter, number);
  }
}

void RooflineView::draw_before(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  for (const RooflineDot& old : before_) {
    for (const RooflineDot& dot : plot_.dots) {
      if (dot.name != old.name || !is_shown(dot, false)) continue;
      const QPointF from(f.x(old.x), f.y(old.y)), to(f.x(dot.x), f.y(dot.y));
      const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
      painter.setPen(QPen(t.faint, 1.2));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(from, 3, 3);
      if (length < 4) continue;
      painter.drawLine(from, to);
      const QPointF unit = (to - from) / length, side(-unit.y(), unit.x());
      const QPointF tip = to - unit * std::min(roofline_radius(dot.share), length / 2);
      painter.setBrush(t.faint);
      painter.drawPolygon(QPolygonF({tip, tip - unit * 8 + side * 3.5, tip - unit * 8 - side * 3.5}));
    }
  }
}

void RooflineView::draw_dots(QPainter& painter, const Frame& f) const {
  painter.save();
  painter.setClipRect(f.graph);
  draw_before(painter, f);
  std::vector<PlacedDot> dots;
  for (const RooflineDot& dot : plot_.dots) {
    if (is_shown(dot, false)) dots.emplace_back(&dot, QPointF(f.x(dot.x), f.y(dot.y)));
  }
  draw_circles(painter, dots);
  if (plot_.mode == RooflineMode::intensity && levels_.size() > 1) draw_levels(painter, f);
  painter.restore();
}

// The chosen kernel's intensity at each level of the memory, joined; all circles before any name: one would stand over
// the name of its neighbour.
void RooflineView::draw_levels(QPainter& painter, const Frame& f) const {
  const Theme& t = theme();
  painter.setPen(QPen(t.selected, 1.5, Qt::DashLine));
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    painter.drawLine(QPointF(f.x(levels_[i - 1].x), f.y(levels_[i - 1].y)),
                     QPointF(f.x(levels_[i].x), f.y(levels_[i].y)));
  }
  painter.setPen(QPen(t.selected, 1.5));
  painter.setBrush(t.base);
  for (const RooflineDot& level : levels_) {
    if (f.shows.holds(level.x, level.y) && level.level != MemoryLevel::dram)
      painter.drawEllipse(QPointF(f.x(level.x), f.y(level.y)), kLevelCircle, kLevelCircle);
  }
  painter.setPen(t.text);
  for (const auto& [words, place] : place_level_names(f)) painter.drawText(place, Qt::AlignCenter, words);
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
  std::vector<PlacedDot> dots;
  for (const RooflineDot& dot : plot_.strip) {
    const double x = f.strip.left() + f.strip.width() * std::clamp(dot.x, 0.0, 1.0);
    dots.emplace_back(&dot, QPointF(x, f.strip.center().y()));
  }
  draw_circles(painter, dots);
}

}  // namespace ridgeline::gui
