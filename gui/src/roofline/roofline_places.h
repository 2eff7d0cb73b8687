// roofline_places.h: measures that the roofline's drawing and its mouse share, in logical pixels.
#pragma once

#include <algorithm>
#include <cmath>

namespace ridgeline::gui {

constexpr double kRooflineLeft = 78;  // room of the axis
constexpr double kRoofNameHeight = 14;

/// Of a kernel with that share of the time.
[[nodiscard]] inline double roofline_radius(double share) {
  return std::clamp(std::sqrt(std::max(share, 0.0)) * 40, 3.5, 26.0);
}

}  // namespace ridgeline::gui
