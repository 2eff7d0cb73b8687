// roofline_names.cpp: where the roofs' names stand.
#include <QFontMetricsF>
#include <QLineF>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/text.h"
#include "ridgeline/reports/context.h"
#include "roofline/roofline_places.h"
#include "roofline/roofline_view.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kLinePiece = 4;  // of a line that no name may cover

// Of a polygon's corners across a direction, from and to.
std::pair<double, double> shadow(const QPolygonF& polygon, const QPointF& across) {
  double least = INFINITY, most = -INFINITY;
  for (const QPointF& corner : polygon) {
    const double at = QPointF::dotProduct(corner, across);
    least = std::min(least, at);
    most = std::max(most, at);
  }
  return {least, most};
}

// Whether a side of `a` has all of `b` on its other side.
bool is_parted_by_a_side_of(const QPolygonF& a, const QPolygonF& b) {
  for (qsizetype i = 0; i < a.size(); ++i) {
    const QPointF side = a[(i + 1) % a.size()] - a[i];
    const QPointF across(-side.y(), side.x());
    const auto [from_a, to_a] = shadow(a, across);
    const auto [from_b, to_b] = shadow(b, across);
    if (to_a <= from_b || to_b <= from_a) return true;
  }
  return false;
}

}  // namespace

bool meet(const QPolygonF& a, const QPolygonF& b) {
  return !is_parted_by_a_side_of(a, b) && !is_parted_by_a_side_of(b, a);
}

QPolygonF corners_of(const QRectF& box) {
  return {{box.topLeft(), box.topRight(), box.bottomRight(), box.bottomLeft()}};
}

std::vector<std::optional<std::size_t>> place_apart(const std::vector<std::vector<QPolygonF>>& wanted,
                                                    std::vector<QPolygonF> taken) {
  const auto is_free = [&](const QPolygonF& place) {
    return std::none_of(taken.begin(), taken.end(),
                        [&](const QPolygonF& other) { return meet(place, other); });
  };
  std::vector<std::ptrdiff_t> choice(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    choice[i] = std::count_if(wanted[i].begin(), wanted[i].end(), is_free);
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return choice[a] < choice[b]; });
  std::vector<std::optional<std::size_t>> chosen(wanted.size());
  for (const std::size_t i : order) {
    const auto place = std::find_if(wanted[i].begin(), wanted[i].end(), is_free);
    if (place == wanted[i].end()) continue;
    chosen[i] = static_cast<std::size_t>(place - wanted[i].begin());
    taken.push_back(*place);
  }
  return chosen;
}

// Along its roof, above the line or else below it, where no dot, no words and no other name is: of a flat one from the
// right, of a slope from below. With its figure where there is room, else without.
std::vector<RooflineView::RoofName> RooflineView::place_roof_names(const Frame& f) const {
  constexpr int kTries = 48;     // along a line
  constexpr double kAway = 2;    // from the line
  constexpr double kInside = 4;  // of its ends
  const QFontMetricsF metrics(small_font(0.85));
  std::vector<QPolygonF> taken;
  for (const QRectF& box : taken_by_dots_and_legend(f)) taken.push_back(corners_of(box));
  std::vector<std::vector<QPolygonF>> wanted;
  std::vector<std::vector<RoofName>> names;  // in the order of `wanted`
  for (const RooflineRoof& roof : plot_.roofs) {
    const auto line = roof.share == 1 ? line_of(roof, f) : std::nullopt;
    if (!line) continue;
    wanted.emplace_back();
    names.emplace_back();
    const double length = QLineF(line->first, line->second).length();
    const QPointF along = (line->second - line->first) / std::max(length, 1.0);
    const QPointF up(along.y(), -along.x());  // away from the axis
    const double angle = std::atan2(along.y(), along.x()) * 180 / M_PI;
    for (const QString& text : {plain(reports::roof_label(roof.peak)),
                                plain(std::string(analyzer::roof_name(roof.peak.quantity)))}) {
      const double wide = metrics.horizontalAdvance(text) + 8, room = length - wide - 2 * kInside;
      if (room < 0) continue;
      for (const bool above : {true, false}) {
        for (int i = 0; i < kTries; ++i) {
          const double step = room * i / (kTries - 1);
          const double at = kInside + (roof.flat ? room - step : step);
          const QPointF foot = line->first + along * at + up * (above ? kAway : -kAway - kRoofNameHeight);
          const QPolygonF covers({foot, foot + along * wide, foot + along * wide + up * kRoofNameHeight,
                                  foot + up * kRoofNameHeight});
          if (!f.graph.contains(covers.boundingRect())) continue;
          wanted.back().push_back(covers);
          names.back().push_back({text, foot, wide, angle, covers});
        }
      }
    }
  }
  std::vector<RoofName> placed;
  const auto chosen = place_apart(wanted, std::move(taken));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) placed.push_back(names[i][*chosen[i]]);
  }
  return placed;
}

std::vector<QPolygonF> RooflineView::roof_names() const {
  std::vector<QPolygonF> places;
  if (plot_.mode != RooflineMode::intensity) return places;
  for (const RoofName& name : place_roof_names(frame(rect()))) places.push_back(name.covers);
  return places;
}

// Where no dot, no circle, no words, no roof's name and no line between the levels is; of those in view.
std::vector<std::pair<QString, QRectF>> RooflineView::place_level_names(const Frame& f) const {
  constexpr double kHigh = 14;
  std::vector<QRectF> taken = taken_by_dots_and_legend(f);
  for (const RoofName& name : place_roof_names(f)) taken.push_back(name.covers.boundingRect());
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    const QLineF line(f.x(levels_[i - 1].x), f.y(levels_[i - 1].y), f.x(levels_[i].x), f.y(levels_[i].y));
    const int pieces = std::max(1, static_cast<int>(line.length() / kLinePiece));
    for (int piece = 0; piece <= pieces; ++piece)
      taken.emplace_back(line.pointAt(static_cast<double>(piece) / pieces) - QPointF(2, 5), QSizeF(4, 10));
  }
  for (const RooflineDot& level : levels_) {
    if (!f.shows.holds(level.x, level.y) || level.level == MemoryLevel::dram) continue;
    const double around = kLevelCircle + 1;
    taken.emplace_back(QPointF(f.x(level.x) - around, f.y(level.y) - around), QSizeF(2 * around, 2 * around));
  }
  const QFontMetricsF metrics(small_font(0.85));
  std::vector<std::pair<QString, QRectF>> names;
  for (const RooflineDot& level : levels_) {
    if (!f.shows.holds(level.x, level.y)) continue;
    const QPointF at(f.x(level.x), f.y(level.y));
    const bool dram = level.level == MemoryLevel::dram;
    const QString words = dram ? "DRAM" : level.level == MemoryLevel::l2 ? "L2" : "L1";
    const double wide = metrics.horizontalAdvance(words) + 2.0;
    const double away = 6 + (dram ? roofline_radius(level.share) : 0);
    std::vector<QRectF> places;
    for (const double farther : {0.0, 14.0, 28.0}) {
      for (const QPointF& way : {QPointF(0, 1), QPointF(0, -1), QPointF(1, 0), QPointF(-1, 0), QPointF(1, 1),
                                 QPointF(1, -1), QPointF(-1, 1), QPointF(-1, -1)}) {
        const QPointF middle =
            at + QPointF(way.x() * (away + wide / 2 + farther), way.y() * (away + kHigh / 2 + farther));
        const QRectF place(middle.x() - wide / 2, middle.y() - kHigh / 2, wide, kHigh);
        if (f.graph.contains(place)) places.push_back(place);
      }
    }
    if (places.empty()) continue;
    names.emplace_back(words, free_place(places, taken));
    taken.push_back(names.back().second);
  }
  return names;
}

std::vector<std::pair<QString, QRectF>> RooflineView::level_names() const {
  if (plot_.mode != RooflineMode::intensity || levels_.size() < 2) return {};
  return place_level_names(frame(rect()));
}

void RooflineView::draw_roof_names(QPainter& painter, const Frame& f) const {
  QColor ground = theme().base;
  ground.setAlphaF(0.7F);
  for (const RoofName& name : place_roof_names(f)) {
    painter.save();
    painter.translate(name.foot);
    painter.rotate(name.angle);
    const QRectF box(0, -kRoofNameHeight, name.wide, kRoofNameHeight);
    painter.fillRect(box, ground);
    painter.setPen(theme().text);
    painter.drawText(box, Qt::AlignCenter, name.text);
    painter.restore();
  }
}

}  // namespace ridgeline::gui
