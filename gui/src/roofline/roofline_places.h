// roofline_places.h: measures that the roofline's drawing and its mouse share, in logical pixels, and places of names.
#pragma once

#include <QPolygonF>
#include <QRectF>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace ridgeline::gui {

constexpr double kRooflineLeft = 78;  // room of the axis
constexpr double kRoofNameHeight = 14;
constexpr double kLevelCircle = 4.5;  // radius, of a level of the memory

/// Of a kernel with that share of the time.
[[nodiscard]] inline double roofline_radius(double share) {
  return std::clamp(std::sqrt(std::max(share, 0.0)) * 40, 3.5, 26.0);
}

/// Whether two convex polygons have more than an edge in common.
[[nodiscard]] bool meet(const QPolygonF& a, const QPolygonF& b);
[[nodiscard]] QPolygonF corners_of(const QRectF& box);

/// Of each name one of the places that it may have, the first that meets nothing of `taken` and no other name; empty:
/// there is none, and it had better not be written. Who has the least choice is served first.
[[nodiscard]] std::vector<std::optional<std::size_t>> place_apart(
    const std::vector<std::vector<QPolygonF>>& wanted, std::vector<QPolygonF> taken);

}  // namespace ridgeline::gui
