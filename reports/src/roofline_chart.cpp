// roofline_chart.cpp: operations per second over arithmetic intensity, both axes logarithmic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kMostDots = 200;

struct Point {
  const analyzer::RooflinePoint* data = nullptr;
  double intensity = 0;  // FLOP/byte
  double flops_per_s = 0;
  [[nodiscard]] std::size_t rank() const { return data->rank_row + 1; }
};

// The area is the share of the step.
double radius_of(double share) {
  return std::clamp(std::sqrt(std::max(share, 0.0)) * 34.0, 4.0, 22.0);
}

// Kernels without operations, by their share of the DRAM roof: dots on one line, from 0 to 100 %.
void draw_memory_side(const analyzer::Roofline& roofline, double top, double left, Svg& svg) {
  const double right = kChartWidth - 20;
  const double y = top + 22;
  const auto x = [&](double ratio) { return left + (right - left) * std::clamp(ratio, 0.0, 1.0); };
  svg.text(4, top - 12, "Without operations: share of the DRAM roof", "axis");
  for (const double ratio : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg.line(x(ratio), top, x(ratio), top + 44, "grid");
    svg.text(x(ratio), top + 60, fmt::format("{:.0f} %", ratio * 100), "tick", Svg::Anchor::middle);
  }
  std::vector<const analyzer::RooflinePoint*> dots;
  for (const analyzer::RooflinePoint& point : roofline.points) {
    if (!point.intensity_flop_per_byte && point.dram_bytes_per_s) dots.push_back(&point);
  }
  std::stable_sort(dots.begin(), dots.end(),
                   [](const auto* a, const auto* b) { return a->step_share > b->step_share; });
  if (dots.size() > kMostDots) dots.resize(kMostDots);
  for (const auto* dot : dots) {
    const double ratio = *dot->dram_bytes_per_s / roofline.dram->value;
    svg.circle(x(ratio), y, radius_of(dot->step_share), "dot " + class_css(dot->kernel_class),
               fmt::format("{}. {}\n{}, {} of the DRAM roof, {} of the step", dot->rank_row + 1,
                           bounded(dot->key, 400), bandwidth_text(*dot->dram_bytes_per_s),
                           percent_text(ratio), percent_text(dot->step_share)));
  }
}

constexpr double kHeight = 480, kLeft = 86, kRight = 20, kTop = 18, kBottom = 52, kMemorySide = 100;

struct Range {
  double low_x, high_x, low_y, high_y;
};

// What has to be seen: the points, and both sides of each ridge.
Range range_of(const std::vector<Point>& points, const analyzer::Roofline& roofline) {
  const double dram = roofline.dram->value;
  const Point& first = points.front();
  Range range{first.intensity, first.intensity, first.flops_per_s, first.flops_per_s};
  for (const Point& p : points) {
    range.low_x = std::min(range.low_x, p.intensity), range.high_x = std::max(range.high_x, p.intensity);
    range.low_y = std::min(range.low_y, p.flops_per_s), range.high_y = std::max(range.high_y, p.flops_per_s);
  }
  for (const analyzer::Peak& roof : roofline.compute) {
    const double ridge = roof.value / dram;
    range.low_x = std::min(range.low_x, ridge / 4), range.high_x = std::max(range.high_x, ridge * 3);
    range.low_y = std::min(range.low_y, roof.value / 4), range.high_y = std::max(range.high_y, roof.value);
  }
  return range;
}

class Drawing {
 public:
  // With a DRAM roof.
  Drawing(const analyzer::Roofline& roofline, const Range& range, bool memory_side)
      : roofline_(roofline),
        dram_(roofline.dram->value),
        x_(range.low_x / 1.8, range.high_x * 1.8, kLeft, kChartWidth - kRight),
        y_(range.low_y / 1.8, range.high_y * 1.8, kHeight - kBottom, kTop),
        svg_(kChartWidth, kHeight + (memory_side ? kMemorySide : 0),
             "Roofline: operations per second over arithmetic intensity") {}

  void axes();
  void roofs(double target);
  void dots(const std::vector<Point>& points);
  void numbers(const std::vector<Point>& points);
  void memory_side() { draw_memory_side(roofline_, kHeight + 24, kLeft, svg_); }
  [[nodiscard]] std::string finish() { return svg_.finish(); }

 private:
  const analyzer::Roofline& roofline_;
  double dram_;  // bytes a second
  LogScale x_, y_;
  Svg svg_;
};

void Drawing::axes() {
  for (const double v : x_.ticks()) {
    svg_.line(x_(v), kTop, x_(v), kHeight - kBottom, "grid");
    svg_.text(x_(v), kHeight - kBottom + 18, fmt::format("{:g}", v), "tick", Svg::Anchor::middle);
  }
  for (const double v : y_.ticks()) {
    svg_.line(kLeft, y_(v), kChartWidth - kRight, y_(v), "grid");
    svg_.text(kLeft - 8, y_(v) + 4, fmt::format("{:g}", v * 1e-12), "tick", Svg::Anchor::end);
  }
  svg_.text((kLeft + kChartWidth - kRight) / 2, kHeight - 10,
            "arithmetic intensity, FLOP/byte of DRAM traffic", "axis", Svg::Anchor::middle);
  svg_.text(4, kTop - 4, "TFLOP/s", "axis");
}

void Drawing::roofs(double target) {
  // The memory roof rises until the highest compute roof, or the plot's edge.
  const double top = roofline_.compute.empty() ? y_.high() : roofline_.compute.front().value;
  const double memory_from = std::max(x_.low(), y_.low() / dram_);
  const double memory_to = std::min(x_.high(), top / dram_);
  if (memory_from < memory_to) {
    svg_.line(x_(memory_from), y_(memory_from * dram_), x_(memory_to), y_(memory_to * dram_), "roof");
    const double target_from = std::max(x_.low(), y_.low() / (dram_ * target));
    if (target_from < memory_to) {
      svg_.line(x_(target_from), y_(target_from * dram_ * target), x_(memory_to),
                y_(memory_to * dram_ * target), "roof-target");
    }
    const double label_at = std::sqrt(memory_from * memory_to);
    svg_.text(x_(label_at) - 12, y_(label_at * dram_) - 6,
              fmt::format("DRAM {} ({})", bandwidth_text(dram_), to_string(roofline_.dram->source)),
              "roof-label", Svg::Anchor::end);
  }
  for (const analyzer::Peak& roof : roofline_.compute) {
    const double from = std::clamp(roof.value / dram_, x_.low(), x_.high());
    svg_.line(x_(from), y_(roof.value), kChartWidth - kRight, y_(roof.value), "roof");
    svg_.text(kChartWidth - kRight - 4, y_(roof.value) - 6, roof_label(roof), "roof-label", Svg::Anchor::end);
  }
}

void Drawing::dots(const std::vector<Point>& points) {
  for (const Point& p : points) {
    const double radius = radius_of(p.data->step_share);
    svg_.circle(x_(p.intensity), y_(p.flops_per_s), radius, "dot " + class_css(p.data->kernel_class),
                fmt::format("{}. {}\n{} FLOP/byte{}, {}, {} of the step", p.rank(), bounded(p.data->key, 400),
                            fixed(p.intensity, 1),
                            p.data->operations == analyzer::OperationSource::declared ? " (declared)" : "",
                            operations_text(p.flops_per_s), percent_text(p.data->step_share)));
  }
}

// A number goes where it covers no other: beside, above or below its dot; a crowded one is left to its
// tooltip.
void Drawing::numbers(const std::vector<Point>& points) {
  struct Spot {
    double x, y;
  };
  std::vector<Spot> taken;
  for (const Point& p : points) {
    const double reach = radius_of(p.data->step_share) + 9;
    const Spot centre{x_(p.intensity), y_(p.flops_per_s)};
    for (const Spot offset : {Spot{reach, 0}, Spot{-reach, 0}, Spot{0, -reach}, Spot{0, reach},
                              Spot{reach * 0.8, -reach * 0.8}, Spot{reach * 0.8, reach * 0.8},
                              Spot{-reach * 0.8, -reach * 0.8}, Spot{-reach * 0.8, reach * 0.8}}) {
      const Spot spot{centre.x + offset.x, centre.y + offset.y};
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const Spot& other) {
        return std::fabs(other.x - spot.x) < 17 && std::fabs(other.y - spot.y) < 13;
      });
      const bool covered = std::any_of(points.begin(), points.end(), [&](const Point& other) {
        return other.data != p.data &&
               std::hypot(x_(other.intensity) - spot.x, y_(other.flops_per_s) - spot.y) <
                   radius_of(other.data->step_share) + 5;
      });
      if (!free || covered) continue;
      taken.push_back(spot);
      svg_.text(spot.x, spot.y + 4, fmt::format("{}", p.rank()), "dot-number", Svg::Anchor::middle);
      break;
    }
  }
}

std::string note_of(const analyzer::Roofline& roofline, double target, std::size_t left_out) {
  std::string note =
      "Numbers are those of the ranking; a dot's area is its share of the step. FLOP are operations of the "
      "tensor pipe as counted; of a kernel without any, those that the program declares.";
  note += fmt::format(" The dashed line is {} of the DRAM roof.", target_text(target));
  if (left_out > 0) {
    note +=
        fmt::format(" Of the kernels with operations the {} with the largest share are drawn, {} are not.",
                    kMostDots, integer(static_cast<std::int64_t>(left_out)));
  }
  const auto neither = std::count_if(
      roofline.points.begin(), roofline.points.end(),
      [](const analyzer::RooflinePoint& p) { return !p.intensity_flop_per_byte && !p.dram_bytes_per_s; });
  if (neither > 0)
    note += fmt::format(" {} without DRAM bytes {} not drawn.", counted(neither, "kernel"),
                        neither == 1 ? "is" : "are");
  return note;
}

}  // namespace

RooflineChart roofline_chart(const analyzer::Roofline& roofline, double target) {
  std::vector<Point> points;
  bool memory_side = false;
  for (const analyzer::RooflinePoint& point : roofline.points) {
    if (point.intensity_flop_per_byte) {
      points.push_back({&point, *point.intensity_flop_per_byte, *point.flops_per_s});
    } else if (point.dram_bytes_per_s) {
      memory_side = true;
    }
  }
  if (points.empty()) {
    return {"",
            "No roofline: no kernel of the step has both a count of operations and of DRAM bytes. "
            "Record replay steps with counters that hold them."};
  }
  if (!roofline.dram) return {"", "No roofline: the device's DRAM peak is not known."};

  Drawing drawing(roofline, range_of(points, roofline), memory_side);
  drawing.axes();
  drawing.roofs(target);
  // Large dots first, so that small ones are not buried; area is the share of the step.
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.data->step_share > b.data->step_share; });
  const std::size_t left_out = points.size() - std::min(points.size(), kMostDots);
  points.resize(points.size() - left_out);
  drawing.dots(points);
  drawing.numbers(points);
  if (memory_side) drawing.memory_side();
  return {drawing.finish(), note_of(roofline, target, left_out)};
}

}  // namespace ridgeline::reports
