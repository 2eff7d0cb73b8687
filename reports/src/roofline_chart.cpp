// roofline_chart.cpp: operations a second over operations a DRAM byte, both axes logarithmic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "charts.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {
namespace {

struct Point {
  std::size_t rank = 0;  // 1 is the ranking's first row
  const analyzer::RankRow* row = nullptr;
  double intensity = 0;  // FLOP/byte
  double flops_per_s = 0;
  double share = 0;  // of the step
};

// The area is the share of the step.
double radius_of(const Point& point) {
  return std::clamp(std::sqrt(std::max(point.share, 0.0)) * 34.0, 4.0, 22.0);
}

struct Roof {
  std::string label;
  double flops_per_s = 0;
};

// Over the row's launches that have time, bytes and operations.
std::optional<Point> point_of(const analyzer::UtilisationAnalysis& utilisation, const analyzer::RankRow& row,
                              std::size_t rank) {
  double bytes = 0, operations = 0, ns = 0;
  for (const std::size_t i : row.launches) {
    const analyzer::LaunchUtilisation& u = utilisation.launches[i];
    if (!u.dram_bytes || !u.tensor_ops || u.duration_ns <= 0) continue;
    bytes += u.dram_bytes->value;
    operations += u.tensor_ops->value;
    ns += static_cast<double>(u.duration_ns);
  }
  if (bytes <= 0 || operations <= 0) return std::nullopt;
  return Point{rank, &row, operations / bytes, operations / ns * 1e9, row.step_share};
}

// Precisions whose tensor operations were counted and are not zero; from the counters' verbatim names.
std::set<std::string> precisions_used(const analyzer::Model& model) {
  constexpr std::string_view kPrefix = "sm__ops_path_tensor_src_";
  std::map<store::Id, std::string> by_metric;
  for (const auto& [id, metric] : model.metrics) {
    if (metric.name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    const std::string rest = metric.name.substr(kPrefix.size());
    by_metric[id] = rest.substr(0, rest.find_first_of("_."));
  }
  std::set<std::string> used;
  for (const store::LaunchMetric& value : model.launch_metrics) {
    const auto found = by_metric.find(value.metric_id);
    if (found != by_metric.end() && value.value > 0) used.insert(found->second);
  }
  return used;
}

// One roof a precision in use: the datasheet's if it is there, else what was measured or computed.
std::vector<Roof> compute_roofs(const analyzer::Model& model, store::Id device_id) {
  constexpr std::string_view kSuffix = "_flops_per_s";
  const std::set<std::string> used = precisions_used(model);
  std::vector<Roof> roofs;
  std::vector<std::string> precisions;
  for (const char* source : {"spec", "measured", "clock", "counter"}) {
    for (const store::DevicePeak& peak : model.device_peaks) {
      const std::string_view quantity = peak.quantity;
      if (peak.device_id != device_id || peak.source != source || peak.value <= 0) continue;
      if (quantity.size() <= kSuffix.size() || quantity.substr(quantity.size() - kSuffix.size()) != kSuffix)
        continue;
      const std::string precision(quantity.substr(0, quantity.size() - kSuffix.size()));
      if (!used.empty() && used.count(precision) == 0) continue;
      if (std::find(precisions.begin(), precisions.end(), precision) != precisions.end()) continue;
      precisions.push_back(precision);
      roofs.push_back(
          {fmt::format("{} {} ({})", precision, operations_text(peak.value), source), peak.value});
    }
  }
  std::sort(roofs.begin(), roofs.end(),
            [](const Roof& a, const Roof& b) { return a.flops_per_s > b.flops_per_s; });
  return roofs;
}

}  // namespace

RooflineChart roofline_chart(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < analysis.ranking.rows.size(); ++i) {
    if (auto point = point_of(analysis.utilisation, analysis.ranking.rows[i], i + 1))
      points.push_back(*point);
  }
  if (points.empty()) {
    return {"",
            "No roofline: no kernel of the step has both a count of tensor operations and of DRAM bytes. "
            "Record replay "
            "steps with counters that hold them."};
  }
  const analyzer::Peak* dram = nullptr;
  for (const analyzer::Peak& peak : analysis.utilisation.peaks) {
    if (peak.quantity == "dram_bytes_per_s") dram = &peak;
  }
  if (dram == nullptr || dram->value <= 0) return {"", "No roofline: the device's DRAM peak is not known."};
  const std::vector<Roof> roofs = compute_roofs(model, analysis.accounting.device_id);

  double low_x = points.front().intensity, high_x = low_x, low_y = points.front().flops_per_s, high_y = low_y;
  for (const Point& p : points) {
    low_x = std::min(low_x, p.intensity), high_x = std::max(high_x, p.intensity);
    low_y = std::min(low_y, p.flops_per_s), high_y = std::max(high_y, p.flops_per_s);
  }
  for (const Roof& roof : roofs) {
    const double ridge = roof.flops_per_s / dram->value;
    low_x = std::min(low_x, ridge / 4), high_x = std::max(high_x, ridge * 3);
    low_y = std::min(low_y, roof.flops_per_s / 4), high_y = std::max(high_y, roof.flops_per_s);
  }

  constexpr double kHeight = 480, kLeft = 86, kRight = 20, kTop = 18, kBottom = 52;
  const LogScale x(low_x / 1.8, high_x * 1.8, kLeft, kChartWidth - kRight);
  const LogScale y(low_y / 1.8, high_y * 1.8, kHeight - kBottom, kTop);
  Svg svg(kChartWidth, kHeight, "Roofline: tensor operations a second over operations a DRAM byte");
  for (const double v : x.ticks()) {
    svg.line(x(v), kTop, x(v), kHeight - kBottom, "grid");
    svg.text(x(v), kHeight - kBottom + 18, fmt::format("{:g}", v), "tick", Svg::Anchor::middle);
  }
  for (const double v : y.ticks()) {
    svg.line(kLeft, y(v), kChartWidth - kRight, y(v), "grid");
    svg.text(kLeft - 8, y(v) + 4, fmt::format("{:g}", v * 1e-12), "tick", Svg::Anchor::end);
  }
  svg.text((kLeft + kChartWidth - kRight) / 2, kHeight - 10, "FLOP a DRAM byte", "axis", Svg::Anchor::middle);
  svg.text(4, kTop - 4, "TFLOP/s", "axis");

  // The memory roof rises until the highest compute roof, or the plot's edge.
  const double top = roofs.empty() ? y.high() : roofs.front().flops_per_s;
  const double memory_from = std::max(x.low(), y.low() / dram->value);
  const double memory_to = std::min(x.high(), top / dram->value);
  if (memory_from < memory_to) {
    svg.line(x(memory_from), y(memory_from * dram->value), x(memory_to), y(memory_to * dram->value), "roof");
    const double target = analysis.ranking.options.target;
    const double target_from = std::max(x.low(), y.low() / (dram->value * target));
    if (target_from < memory_to) {
      svg.line(x(target_from), y(target_from * dram->value * target), x(memory_to),
               y(memory_to * dram->value * target), "roof-target");
    }
    const double label_at = std::sqrt(memory_from * memory_to);
    svg.text(x(label_at) - 12, y(label_at * dram->value) - 6,
             fmt::format("DRAM {} ({})", bandwidth_text(dram->value), to_string(dram->source)), "roof-label",
             Svg::Anchor::end);
  }
  for (const Roof& roof : roofs) {
    const double from = std::clamp(roof.flops_per_s / dram->value, x.low(), x.high());
    svg.line(x(from), y(roof.flops_per_s), kChartWidth - kRight, y(roof.flops_per_s), "roof");
    svg.text(kChartWidth - kRight - 4, y(roof.flops_per_s) - 6, roof.label, "roof-label", Svg::Anchor::end);
  }
  // Large dots first, so that small ones are not buried; area is the share of the step.
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.share > b.share; });
  for (const Point& p : points) {
    const double radius = radius_of(p);
    svg.circle(x(p.intensity), y(p.flops_per_s), radius, "dot " + class_css(p.row->kernel_class),
               fmt::format("{}. {}\n{} FLOP/byte, {}, {} of the step", p.rank, p.row->key,
                           fixed(p.intensity, 1), operations_text(p.flops_per_s), percent_text(p.share)));
  }
  // A number goes where it covers no other: beside, above or below its dot; a crowded one is left to its
  // tooltip.
  struct Spot {
    double x, y;
  };
  std::vector<Spot> taken;
  for (const Point& p : points) {
    const double reach = radius_of(p) + 9;
    const Spot centre{x(p.intensity), y(p.flops_per_s)};
    for (const Spot offset : {Spot{reach, 0}, Spot{-reach, 0}, Spot{0, -reach}, Spot{0, reach},
                              Spot{reach * 0.8, -reach * 0.8}, Spot{reach * 0.8, reach * 0.8},
                              Spot{-reach * 0.8, -reach * 0.8}, Spot{-reach * 0.8, reach * 0.8}}) {
      const Spot spot{centre.x + offset.x, centre.y + offset.y};
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const Spot& other) {
        return std::fabs(other.x - spot.x) < 17 && std::fabs(other.y - spot.y) < 13;
      });
      const bool covered = std::any_of(points.begin(), points.end(), [&](const Point& other) {
        return other.rank != p.rank &&
               std::hypot(x(other.intensity) - spot.x, y(other.flops_per_s) - spot.y) < radius_of(other) + 5;
      });
      if (!free || covered) continue;
      taken.push_back(spot);
      svg.text(spot.x, spot.y + 4, fmt::format("{}", p.rank), "dot-number", Svg::Anchor::middle);
      break;
    }
  }
  const std::size_t left_out = analysis.ranking.rows.size() - points.size();
  std::string note =
      "Numbers are those of the ranking; a dot's area is its share of the step. FLOP are operations of the "
      "tensor pipe as counted.";
  note +=
      fmt::format(" The dashed line is {} of the DRAM roof.", target_text(analysis.ranking.options.target));
  if (left_out > 0) {
    note += fmt::format(" {} without tensor operations or DRAM bytes {} not drawn.",
                        counted(static_cast<std::int64_t>(left_out), "kernel"), left_out == 1 ? "is" : "are");
  }
  return {svg.finish(), note};
}

}  // namespace ridgeline::reports
