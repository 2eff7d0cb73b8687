// time_axis.h: which stretch of time stands where on the screen. Pure arithmetic, in logical pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::gui {

using analyzer::TimeWindow;

struct TimeTick {
  double x = 0;
  std::int64_t ns = 0;
  std::string text;  ///< "" for a small tick
};

/// Times are on the capture's clock, x is counted from the left of the graph.
class TimeAxis {
 public:
  TimeAxis() = default;
  TimeAxis(const TimeWindow& view, double width) : view_(view), width_(width) {}

  [[nodiscard]] const TimeWindow& view() const { return view_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(view_.length_ns()) / width_; }
  [[nodiscard]] double x_of(std::int64_t ns) const {
    return static_cast<double>(ns - view_.start_ns) / ns_per_pixel();
  }
  [[nodiscard]] std::int64_t ns_at(double x) const;

  /// Times are written from `origin`, with the unit that fits the distance of the ticks.
  [[nodiscard]] std::vector<TimeTick> ticks(std::int64_t origin_ns, double min_distance = 90) const;

  static constexpr std::int64_t kShortestNs = 100;
  /// `factor` times as long, with the time at x where it is; inside the extent.
  [[nodiscard]] TimeWindow zoomed(double factor, double x, const TimeWindow& extent) const;
  [[nodiscard]] TimeWindow panned(double pixels, const TimeWindow& extent) const;
  /// The stretch with some room on both sides.
  [[nodiscard]] static TimeWindow around(const TimeWindow& what, double room, const TimeWindow& extent);
  /// As near to it as the extent, and a hundredth of its length beyond, allow.
  [[nodiscard]] static TimeWindow inside(TimeWindow view, const TimeWindow& extent);

 private:
  TimeWindow view_{0, 1};
  double width_ = 1;
};

}  // namespace ridgeline::gui
