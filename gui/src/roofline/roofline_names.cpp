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
