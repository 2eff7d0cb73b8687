// roofline_chart.cpp: operations per second over arithmetic intensity, both axes logarithmic; kernels without
// operations on a rail of bandwidth; and the same kernels by their times at the roofs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.h"
#include "label_places.h"
#include "picture_style.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/roofline_document.h"
#include "ridgeline/reports/svg.h"
#include "roofline_key.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kMaxDots = 200;
constexpr int kDotNameColumns = 30;
constexpr double kHeight = 520, kLeft = 86, kRight = 20, kTop = 22, kBottom = 52, kRail = 132;
constexpr double kMinOfLongest = 3e-4;     // of the time view
constexpr double kLevelShare = 0.01;       // of the step: shorter kernels have no points of the caches
constexpr double kMinShareOfRange = 1e-3;  // of the step, for what the axes show
constexpr double kMinNumberedRadius = 7;
constexpr std::size_t kMaxNumbered = 15;

using analyzer::Roofline;
using analyzer::RooflinePoint;

// The area is the share of the step.
double radius_of(double share) {
  return std::clamp(std::sqrt(std::max(share, 0.0)) * 34.0, 4.0, 22.0);
}

std::string tooltip(const RooflinePoint& point) {
  std::string text =
      fmt::format("{}. {}\n{} of the step, {}", point.ranking_row + 1, bounded(point.key, 400),
                  percent_text(point.step_share), time_text(static_cast<double>(point.time_ns)));
  if (point.intensity_flop_per_byte && point.flops_per_s) {
    text += fmt::format("\n{} FLOP/byte, {} ({})", fixed(*point.intensity_flop_per_byte, 1),
                        operations_text(*point.flops_per_s), to_string(point.operations));
  }
  if (point.dram_bytes_per_s) text += "\nDRAM " + bandwidth_text(*point.dram_bytes_per_s);
  if (point.sol_ns && point.covered_ns > 0 && point.bound) {
    text += fmt::format("\n{} at its roofs ({} of the time; {}), headroom {}", time_text(*point.sol_ns),
                        percent_text(*point.sol_ns / point.covered_ns), roof_words(*point.bound),
                        time_text(point.headroom_ns));
  }
  return text;
}

// How a dot is called: its name where the picture stands alone, else its number in the ranking.
std::string label_of(const RooflinePoint& point, const RooflineDrawing& how) {
  if (how.names) return elide_kernel_name(point.key, kDotNameColumns);
  return fmt::format("{}", point.ranking_row + 1);
}

std::vector<const RooflinePoint*> largest_first(std::vector<const RooflinePoint*> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const auto* a, const auto* b) { return a->step_share > b->step_share; });
  if (points.size() > kMaxDots) points.resize(kMaxDots);
  return points;
}

struct Spot {
  double x = 0, y = 0, radius = 0;
  const RooflinePoint* point = nullptr;
};

Svg picture(double height, std::string_view label, const RooflineDrawing& how) {
  if (!how.alone) return {kChartWidth, height, label};
  const PictureStyle style = picture_style(how.theme);
  return {kChartWidth, height, label, style.css, style.background};
}

// Where a name has no room, a number in the dot, which the key has.
void number_dots(const std::vector<Spot>& nameless, Svg& svg, RooflineKey& key) {
  std::vector<Box> taken;
  for (const Spot& spot : nameless) {
    if (spot.radius < kMinNumberedRadius || key.numbered.size() == kMaxNumbered) continue;
    const std::string number = fmt::format("{}", spot.point->ranking_row + 1);
    const double half = text_width(number) / 2;
    const Box box{spot.x - half, spot.y - 6, spot.x + half, spot.y + 6};
    if (std::any_of(taken.begin(), taken.end(), [&](const Box& other) { return box.meets(other); })) continue;
    taken.push_back(box);
    svg.text(spot.x, spot.y + 4, number, "dot-inside", Svg::Anchor::middle);
    key.numbered.push_back(spot.point);
  }
}

void put_labels(const std::vector<Spot>& spots, const RooflineDrawing& how, LabelPlaces& places, Svg& svg,
                RooflineKey& key) {
  std::vector<Spot> nameless;
  for (const Spot& spot : spots) places.block_dot(spot.x, spot.y, spot.radius);
  for (const Spot& spot : spots) {
    key.drawn.push_back(spot.point);
    const std::string label = label_of(*spot.point, how);
    if (const auto place = places.beside(spot.x, spot.y, spot.radius, text_width(label))) {
      svg.text(place->x, place->y, label, how.names ? "dot-name" : "dot-number", Svg::Anchor::middle);
    } else {
      nameless.push_back(spot);
    }
  }
  if (how.alone && how.names) number_dots(nameless, svg, key);
}

// Kernels without operations, by their share of the DRAM roof: dots on one line, from 0 to 100 %.
void draw_rail(const std::vector<const RooflinePoint*>& points, const Roofline& roofline,
               const RooflineDrawing& how, Svg& svg, RooflineKey& key) {
  const double top = kHeight + 24, right = kChartWidth - kRight, bottom = kHeight + kRail - 30;
  const double y = (top + bottom) / 2;
  const auto x = [&](double ratio) { return kLeft + (right - kLeft) * std::clamp(ratio / 1.1, 0.0, 1.0); };
  svg.text(4, top - 10, "Without operations: share of the DRAM roof, each at its own share of reads", "axis");
  for (const double ratio : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg.line(x(ratio), top, x(ratio), bottom, ratio == 1.0 ? "roof" : "grid");
    svg.text(x(ratio), bottom + 16, fmt::format("{:.0f} %", ratio * 100), "tick", Svg::Anchor::middle);
  }
  std::vector<Spot> spots;
  for (const RooflinePoint* point : points) {
    double ratio = *point->dram_bytes_per_s / roofline.dram->value;
    for (const analyzer::RoofTime& time : point->roofs) {
      if (time.roof == analyzer::Roof::kDram && point->covered_ns > 0)
        ratio = time.time_ns / point->covered_ns;
    }
    spots.push_back({x(ratio), y, radius_of(point->step_share), point});
    svg.circle(x(ratio), y, spots.back().radius, "dot " + class_css(point->kernel_class), tooltip(*point));
  }
  LabelPlaces places({kLeft, top, right, bottom});
  put_labels(spots, how, places, svg, key);
}

struct Range {
  double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;
  void take(double x, double y) {
    low_x = std::min(low_x, x), high_x = std::max(high_x, x);
    low_y = std::min(low_y, y), high_y = std::max(high_y, y);
  }
};

class IntensityChart {
 public:
  IntensityChart(const Roofline& roofline, const std::vector<const RooflinePoint*>& points, bool rail,
                 const RooflineDrawing& how)
      : roofline_(roofline),
        points_(points),
        how_(how),
        dram_(roofline.dram->value),
        range_(range_of(points)),
        x_(range_.low_x / 1.8, range_.high_x * 1.8, kLeft, kChartWidth - kRight),
        y_(range_.low_y / 1.8, range_.high_y * 1.8, kHeight - kBottom, kTop),
        places_({kLeft, kTop, kChartWidth - kRight, kHeight - kBottom}),
        svg_(picture(kHeight + (rail ? kRail : 0),
                     "Roofline: operations per second over arithmetic intensity", how)) {}

  void draw() {
    axes();
    roofs();
    levels();
    dots();
  }
  [[nodiscard]] Svg& svg() { return svg_; }
  [[nodiscard]] RooflineKey& key() { return key_; }
  // Kernels whose place the axes do not show.
  [[nodiscard]] std::int64_t at_edge() const {
    return std::count_if(points_.begin(), points_.end(), [&](const RooflinePoint* p) {
      return *p->intensity_flop_per_byte < x_.low() || *p->intensity_flop_per_byte > x_.high() ||
             *p->flops_per_s < y_.low() || *p->flops_per_s > y_.high();
    });
  }

 private:
  [[nodiscard]] Range range_of(const std::vector<const RooflinePoint*>& points) const;
  void axes();
  void roofs();
  void name_slope(const std::string& name, double per_s, double top, bool right);
  void levels();
  void dots();

  const Roofline& roofline_;
  const std::vector<const RooflinePoint*>& points_;
  const RooflineDrawing& how_;
  double dram_;  // bytes a second
  Range range_;
  LogScale x_, y_;
  LabelPlaces places_;
  Svg svg_;
  RooflineKey key_;
};

// What has to be seen: the points, and both sides of each ridge. What takes next to nothing stands at the edge: else it
// would take the room of all others.
Range IntensityChart::range_of(const std::vector<const RooflinePoint*>& points) const {
  Range range;
  for (const RooflinePoint* p : points) {
    if (p->step_share >= kMinShareOfRange || p == points.front())
      range.take(*p->intensity_flop_per_byte, *p->flops_per_s);
  }
  for (const analyzer::Peak& roof : roofline_.compute) {
    range.take(roof.value / dram_ / 4, roof.value / 4);
    range.take(roof.value / dram_ * 3, roof.value);
  }
  return range;
}

void IntensityChart::axes() {
  for (const double v : x_.ticks()) {
    svg_.line(x_(v), kTop, x_(v), kHeight - kBottom, "grid");
    svg_.text(x_(v), kHeight - kBottom + 18, fmt::format("{:g}", v), "tick", Svg::Anchor::middle);
  }
  for (const double v : y_.ticks()) {
    svg_.line(kLeft, y_(v), kChartWidth - kRight, y_(v), "grid");
    svg_.text(kLeft - 8, y_(v) + 4, fmt::format("{:g}", v * 1e-12), "tick", Svg::Anchor::end);
  }
  svg_.text((kLeft + kChartWidth - kRight) / 2, kHeight - 10, "arithmetic intensity, FLOP/byte", "axis",
            Svg::Anchor::middle);
  svg_.text(4, kTop - 8, "TFLOP/s", "axis");
}

// At the middle of its line: the upper one's to the left, where nothing is above it; DRAM's to the right of the line of
// the target, which is below it.
void IntensityChart::name_slope(const std::string& name, double per_s, double top, bool right) {
  const double from = std::max(x_.low(), y_.low() / per_s), to = std::min(x_.high(), top / per_s);
  if (from >= to) return;
  const double middle = std::sqrt(from * to), width = text_width(name);
  const double left = right ? x_(middle / how_.target) + 8 : x_(middle) - 12 - width;
  const double y = y_(middle * per_s) + (right ? 4 : -6);
  if (left < kLeft || left + width > kChartWidth - kRight) return;
  places_.block({left, y - 12, left + width, y + 4});
  svg_.text(right ? left : left + width, y, name, "roof-label",
            right ? Svg::Anchor::start : Svg::Anchor::end);
}

void IntensityChart::roofs() {
  const double top = roofline_.compute.empty() ? y_.high() : roofline_.compute.front().value;
  const auto slope = [&](double per_s, const char* css) {
    // It rises until the highest compute roof, or the plot's edge.
    const double from = std::max(x_.low(), y_.low() / per_s), to = std::min(x_.high(), top / per_s);
    if (from < to) svg_.line(x_(from), y_(from * per_s), x_(to), y_(to * per_s), css);
  };
  slope(dram_, "roof");
  slope(dram_ * how_.target, "roof-target");
  if (roofline_.l2 && roofline_.l2->value > dram_) {
    slope(roofline_.l2->value, "roof-cache");
    name_slope(
        fmt::format("L2 {} ({})", bandwidth_text(roofline_.l2->value), to_string(roofline_.l2->source)),
        roofline_.l2->value, top, false);
  }
  name_slope(fmt::format("DRAM {} ({})", bandwidth_text(dram_), to_string(roofline_.dram->source)), dram_,
             top, true);
  for (const analyzer::Peak& roof : roofline_.compute) {
    const double from = std::clamp(roof.value / dram_, x_.low(), x_.high());
    svg_.line(x_(from), y_(roof.value), kChartWidth - kRight, y_(roof.value), "roof");
    const std::string name = roof_label(roof);
    const double y = y_(roof.value) - 6, right = kChartWidth - kRight - 4;
    places_.block({right - text_width(name), y - 12, right, y + 4});
    svg_.text(right, y, name, "roof-label", Svg::Anchor::end);
  }
}

// From a kernel's point over DRAM to those over the traffic of the caches: the distance is its reuse.
void IntensityChart::levels() {
  for (const RooflinePoint* p : points_) {
    if (p->step_share < kLevelShare) continue;
    const double y = y_(*p->flops_per_s);
    double from = x_(*p->intensity_flop_per_byte);
    for (const auto& [intensity, css] :
         {std::pair(p->l2_intensity, "level level-l2 "), std::pair(p->l1_intensity, "level level-l1 ")}) {
      if (!intensity || *intensity < x_.low() || *intensity > x_.high()) continue;
      svg_.line(from, y, x_(*intensity), y, "level-line");
      places_.block({std::min(from, x_(*intensity)) - 3, y - 3, std::max(from, x_(*intensity)) + 3, y + 3});
      svg_.circle(x_(*intensity), y, 3, css + class_css(p->kernel_class),
                  fmt::format("{}. {}\n{} FLOP/byte of {} traffic", p->ranking_row + 1, bounded(p->key, 400),
                              fixed(*intensity, 1), p->l2_intensity == intensity ? "L2" : "L1"));
      from = x_(*intensity);
    }
  }
}

void IntensityChart::dots() {
  std::vector<Spot> spots;
  for (const RooflinePoint* p : points_) {
    spots.push_back({x_(*p->intensity_flop_per_byte), y_(*p->flops_per_s), radius_of(p->step_share), p});
    svg_.circle(spots.back().x, spots.back().y, spots.back().radius, "dot " + class_css(p->kernel_class),
                tooltip(*p));
  }
  const RooflinePoint& step = roofline_.step;
  if (how_.step && step.intensity_flop_per_byte && step.flops_per_s) {
    const double x = x_(*step.intensity_flop_per_byte), y = y_(*step.flops_per_s);
    svg_.circle(x, y, 7, "step-dot",
                fmt::format("All kernels: {} FLOP/byte, {}", fixed(*step.intensity_flop_per_byte, 1),
                            operations_text(*step.flops_per_s)));
    for (const Spot& spot : spots) places_.block_dot(spot.x, spot.y, spot.radius);
    places_.block_dot(x, y, 7);
    if (const auto place = places_.beside(x, y, 7, text_width("all kernels")))
      svg_.text(place->x, place->y, "all kernels", "step-name", Svg::Anchor::middle);
  }
  put_labels(spots, how_, places_, svg_, key_);
}

std::string note_of(const Roofline& roofline, const RooflineDrawing& how, std::size_t left_out,
                    std::int64_t at_edge) {
  std::string note = how.names ? "A dot's area is its share of the step."
                               : "Numbers are those of the ranking; a dot's area is its share of the step.";
  note +=
      " FLOP are operations of the tensor pipe as counted, else counted instructions, else what the program "
      "declares. "
      "Small dots on a thin line are the same kernel over the traffic of the L2 cache and of the L1 caches; "
      "the ring is "
      "all kernels together.";
  note += fmt::format(" The dashed line is {} of the DRAM roof.", target_text(how.target));
  if (roofline.dram->source == PeakSource::sustained || roofline.dram->source == PeakSource::burst)
    note +=
        " The DRAM roof drawn is that of the fastest mix of reads and writes: " + roofline.dram->detail + ".";
  if (at_edge > 0)
    note += fmt::format(" {} less than a thousandth of the step and {} beyond the axes: drawn at their edge.",
                        at_edge == 1 ? "One kernel takes" : counted(at_edge, "kernel") + " take",
                        at_edge == 1 ? "lies" : "lie");
  if (left_out > 0) {
    note +=
        fmt::format(" Of the kernels with operations the {} with the largest share are drawn, {} are not.",
                    kMaxDots, integer(static_cast<std::int64_t>(left_out)));
  }
  const auto neither =
      std::count_if(roofline.points.begin(), roofline.points.end(),
                    [](const RooflinePoint& p) { return !p.intensity_flop_per_byte && !p.dram_bytes_per_s; });
  if (neither > 0)
    note += fmt::format(" {} without DRAM bytes {} not drawn.", counted(neither, "kernel"),
                        neither == 1 ? "is" : "are");
  return note;
}

// Times at the roofs: of memory over x, of the SMs over y.
std::pair<double, double> times_of(const RooflinePoint& point) {
  double memory = 0, compute = 0;
  for (const analyzer::RoofTime& time : point.roofs) {
    const bool is_memory = time.roof.level == analyzer::RoofLevel::dram ||
                           time.roof.level == analyzer::RoofLevel::l2 ||
                           time.roof.level == analyzer::RoofLevel::l1;
    (is_memory ? memory : compute) = std::max(is_memory ? memory : compute, time.time_ns);
  }
  // What uses a roof for less than a thousandth of its time stands at the edge.
  const double least = point.covered_ns * 1e-3;
  return {std::max(memory, least), std::max(compute, least)};
}

}  // namespace

RooflineChart roofline_chart(const Roofline& roofline, const RooflineDrawing& how) {
  std::vector<const RooflinePoint*> points, rail;
  for (const RooflinePoint& point : roofline.points) {
    if (point.intensity_flop_per_byte) {
      points.push_back(&point);
    } else if (point.dram_bytes_per_s) {
      rail.push_back(&point);
    }
  }
  if (points.empty()) {
    return {"",
            "No roofline: no kernel of the step has both a count of operations and of DRAM bytes. "
            "Record replay steps with counters that hold them."};
  }
  if (!roofline.dram) return {"", "No roofline: the device's DRAM peak is not known."};
  const std::size_t left_out = points.size() - std::min(points.size(), kMaxDots);
  // Large dots first, so that small ones are not buried.
  points = largest_first(std::move(points));
  rail = largest_first(std::move(rail));
  IntensityChart chart(roofline, points, !rail.empty(), how);
  chart.draw();
  if (!rail.empty()) draw_rail(rail, roofline, how, chart.svg(), chart.key());
  if (how.alone) {
    const std::int64_t at_edge = chart.at_edge();
    std::string& marks = chart.key().marks;
    marks = "Area: share of the step. Small dots: the same kernel over the traffic of L2 and L1.";
    if (how.step) marks += " Ring: all kernels.";
    marks += fmt::format(" Dashed: {} of the DRAM roof.", target_text(how.target));
    if (at_edge > 0) marks += fmt::format(" At the edge, their place is beyond it: {}.", at_edge);
    draw_key(chart.svg(), kHeight + (rail.empty() ? 0 : kRail), how, chart.key());
  }
  return {chart.svg().finish(), note_of(roofline, how, left_out, chart.at_edge())};
}

RooflineChart roof_times_chart(const Roofline& roofline, const RooflineDrawing& how) {
  std::vector<const RooflinePoint*> points;
  for (const RooflinePoint& point : roofline.points) {
    if (point.sol_ns && point.covered_ns > 0) points.push_back(&point);
  }
  if (points.empty())
    return {"", "No times at the roofs: of no kernel both DRAM bytes and what its pipes did were measured."};
  points = largest_first(std::move(points));
  Range range;
  for (const RooflinePoint* point : points) {
    const auto [memory, compute] = times_of(*point);
    const double slower = point->covered_ns / std::max(memory, compute);
    range.take(memory, compute);
    range.take(memory * slower, compute * slower);
  }
  const double high = std::max(range.high_x, range.high_y) * 1.6;
  // What takes next to nothing stands at the edge: else it would take the room of all others.
  const double low = std::max(std::min(range.low_x, range.low_y) / 1.6, high * kMinOfLongest);
  const LogScale x(low, high, kLeft, kChartWidth - kRight), y(low, high, kHeight - kBottom, kTop);
  Svg svg = picture(kHeight, "Times at the roofs of memory and of the SMs", how);
  for (const double v : x.ticks()) {
    svg.line(x(v), kTop, x(v), kHeight - kBottom, "grid");
    svg.text(x(v), kHeight - kBottom + 18, time_text(v), "tick", Svg::Anchor::middle);
    svg.line(kLeft, y(v), kChartWidth - kRight, y(v), "grid");
    svg.text(kLeft - 8, y(v) + 4, time_text(v), "tick", Svg::Anchor::end);
  }
  svg.line(x(low), y(low), x(high), y(high), "roof-target");
  svg.text((kLeft + kChartWidth - kRight) / 2, kHeight - 10, "time at the roofs of memory (DRAM, L2, L1)",
           "axis", Svg::Anchor::middle);
  svg.text(4, kTop - 8, "time at the roofs of the SMs (pipes, issue slots)", "axis");
  LabelPlaces places({kLeft, kTop, kChartWidth - kRight, kHeight - kBottom});
  std::vector<Spot> spots;
  for (const RooflinePoint* point : points) {
    const auto [memory, compute] = times_of(*point);
    const double slower = point->covered_ns / std::max(memory, compute);
    svg.line(x(memory), y(compute), x(memory * slower), y(compute * slower), "level-line");
    places.block_dot(x(memory), y(compute), 3);
    spots.push_back({x(memory * slower), y(compute * slower), radius_of(point->step_share), point});
    svg.circle(spots.back().x, spots.back().y, spots.back().radius, "dot " + class_css(point->kernel_class),
               tooltip(*point));
    svg.circle(x(memory), y(compute), 3, "level level-l1 " + class_css(point->kernel_class), tooltip(*point));
  }
  RooflineKey key;
  put_labels(spots, how, places, svg, key);
  if (how.alone) {
    key.marks =
        "Area: share of the step. Small dot: at its nearest roof; the line to it is headroom. Dashed: memory "
        "and SMs "
        "would take as long.";
    draw_key(svg, kHeight, how, key);
  }
  std::string note =
      "Each dot is as far to the upper right as its kernel takes; the small ring is where it would stand at "
      "its nearest "
      "roof: the line between them is its headroom. Below the dashed line memory is the nearer roof, above "
      "it the SMs.";
  return {svg.finish(), note};
}

}  // namespace ridgeline::reports
