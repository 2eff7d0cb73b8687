// roofline_frame.h: where things stand in a drawing of the roofline, and where its names go.
#pragma once

#include <QRectF>
#include <algorithm>
#include <cmath>
#include <vector>

namespace ridgeline::gui {

/// A stretch of both axes, in their units; logarithmic.
struct RooflineWindow {
  double low_x = 0, high_x = 0, low_y = 0, high_y = 0;
  [[nodiscard]] bool holds(double x, double y) const {
    return x >= low_x && x <= high_x && y >= low_y && y <= high_y;
  }
  friend bool operator==(const RooflineWindow&, const RooflineWindow&) = default;
};

/// The drawing's place on the paper and its axes.
struct RooflineFrame {
  QRectF area, graph, strip;
  RooflineWindow shows;
  [[nodiscard]] double x(double value) const {
    return graph.left() + graph.width() *
                              std::log(std::clamp(value, shows.low_x, shows.high_x) / shows.low_x) /
                              std::log(shows.high_x / shows.low_x);
  }
  [[nodiscard]] double y(double value) const {
    return graph.bottom() - graph.height() *
                                std::log(std::clamp(value, shows.low_y, shows.high_y) / shows.low_y) /
                                std::log(shows.high_y / shows.low_y);
  }
  [[nodiscard]] double value_x(double x) const {
    return shows.low_x * std::pow(shows.high_x / shows.low_x, (x - graph.left()) / graph.width());
  }
  [[nodiscard]] double value_y(double y) const {
    return shows.low_y * std::pow(shows.high_y / shows.low_y, (graph.bottom() - y) / graph.height());
  }
};

/// The first of the places that covers nothing of what is taken, else that which covers least. `places` is not empty.
[[nodiscard]] QRectF free_place(const std::vector<QRectF>& places, const std::vector<QRectF>& taken);

}  // namespace ridgeline::gui
