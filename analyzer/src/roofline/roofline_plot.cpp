#include "ridgeline/analyzer/roofline/roofline_plot.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::analyzer {
namespace {

// Rows in order of time, cut where the rest is no longer wanted.
std::vector<std::size_t> wanted_rows(const RooflineSource& source, double min_share) {
  const auto& rows = source.ranking.rows;
  std::vector<std::size_t> order = rows_by_time(source.ranking);
  const double all = static_cast<double>(source.ranking.totals.time_ns);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < order.size() && (kept == 0 || sum < min_share * all))
    sum += static_cast<double>(rows[order[kept++]].time_ns);
  if (min_share < 1) order.resize(kept);
  return order;
}

RooflineDot dot_of(const RooflineSource& source, std::size_t row) {
  const RankingRow& ranked = source.ranking.rows[row];
  RooflineDot dot;
  dot.ranking_row = row;
  dot.name = ranked.key;
  dot.kernel_class = ranked.kernel_class;
  dot.share = ranked.step_share;
  dot.time_ns = ranked.time_ns;
  dot.ratio = ranked.nearest_roof_ratio;
  dot.bound = ranked.bound;
  return dot;
}

// Some room on both sides.
void fit_axis(double& low, double& high, const std::vector<double>& values) {
  double least = INFINITY, most = 0;
  for (const double value : values) {
    if (value <= 0 || !std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (most <= 0) return;
  low = least * 0.5;
  high = most * 3;
}

// What uses a roof for less than a ten-thousandth of its time does not use it, and stands before all that does.
void stand_at_zero(RooflinePlot& plot) {
  constexpr double kMinRatio = 1e-4, kBefore = 3;
  double least = INFINITY;
  bool any = false;
  const auto look_at = [&](const RooflineDot& dot, double value) {
    const bool uses = value >= kMinRatio * dot.measured && value > 0;
    any = any || !uses;
    least = std::min(least, uses ? value : dot.measured);
  };
  for (const RooflineDot& dot : plot.dots) {
    look_at(dot, dot.x);
    look_at(dot, dot.y);
  }
  if (!any) return;
  plot.zero = least / kBefore;
  for (RooflineDot& dot : plot.dots) {
    for (double* value : {&dot.x, &dot.y}) {
      if (*value < kMinRatio * dot.measured || *value <= 0) *value = *plot.zero;
    }
  }
}

void add_roofs(const RooflineSource& source, const RooflineSettings& settings, RooflinePlot& plot) {
  const Roofline& roofline = source.roofline;
  const auto peak = [&](Quantity quantity) {
    return choose_peak(source.model, roofline.device_id, quantity, settings.roofs.value_or(roofline.source));
  };
  if (const auto dram = peak(Quantity::dram_bytes_per_s)) {
    for (const double share : {1.0, 0.85, 0.70}) plot.roofs.push_back({dram.value(), false, share});
  }
  if (settings.l2) {
    if (const auto l2 = peak(Quantity::l2_bytes_per_s)) plot.roofs.push_back({l2.value(), false, 1});
  }
  std::vector<Quantity> precisions = settings.precisions;
  if (precisions.empty()) {
    for (const Peak& each : roofline.compute) precisions.push_back(each.quantity);
  }
  double highest = 0;
  std::vector<Peak> compute;
  for (const Quantity quantity : precisions) {
    if (const auto found = peak(quantity)) compute.push_back(found.value());
  }
  for (const Peak& each : compute) highest = std::max(highest, each.value);
  for (const Peak& each : compute) {
    plot.roofs.push_back({each, true, 1});
    if (each.value < highest) continue;
    for (const double share : {0.85, 0.70}) plot.roofs.push_back({each, true, share});
  }
}

}  // namespace

RooflinePlot make_plot(const RooflineSource& source, const RooflineSettings& settings) {
  RooflinePlot plot;
  plot.mode = settings.mode;
  const std::vector<std::size_t> rows = wanted_rows(source, settings.min_share);
  plot.decluttered = static_cast<std::int64_t>(source.ranking.rows.size() - rows.size());
  const Roofline& roofline = source.roofline;
  std::vector<double> xs, ys;
  if (settings.mode == RooflineMode::time) {
    for (const std::size_t row : rows) {
      const RankingRow& ranked = source.ranking.rows[row];
      if (!ranked.dram || !ranked.compute || ranked.calls == 0) {
        ++plot.left_out;
        continue;
      }
      RooflineDot dot = dot_of(source, row);
      dot.measured = static_cast<double>(ranked.time_ns);
      dot.x = dot.measured * ranked.dram->value;
      dot.y = dot.measured * ranked.compute->value;
      plot.dots.push_back(std::move(dot));
    }
    stand_at_zero(plot);
    for (const RooflineDot& dot : plot.dots) xs.insert(xs.end(), {dot.x, dot.y, dot.measured});
    fit_axis(plot.low_x, plot.high_x, xs);
    plot.low_y = plot.low_x;
    plot.high_y = plot.high_x;
  } else {
    add_roofs(source, settings, plot);
    for (const std::size_t row : rows) {
      const RooflinePoint& point = roofline.points[row];
      RooflineDot dot = dot_of(source, row);
      if (point.intensity_flop_per_byte && point.flops_per_s && *point.intensity_flop_per_byte > 0 &&
          *point.flops_per_s > 0) {
        dot.x = *point.intensity_flop_per_byte;
        dot.y = *point.flops_per_s;
        xs.push_back(dot.x);
        ys.push_back(dot.y);
        plot.dots.push_back(std::move(dot));
      } else if (point.dram_bytes_per_s && roofline.dram && roofline.dram->value > 0) {
        dot.x = *point.dram_bytes_per_s / roofline.dram->value;
        plot.strip.push_back(std::move(dot));
      } else {
        ++plot.left_out;
      }
    }
    double slope = 0;
    for (const RooflineRoof& roof : plot.roofs) {
      if (roof.flat) {
        ys.push_back(roof.peak.value);
      } else {
        slope = std::max(slope, roof.peak.value);
      }
    }
    // Both sides of the ridge are seen.
    for (const RooflineRoof& roof : plot.roofs) {
      if (roof.flat && slope > 0) {
        xs.push_back(roof.peak.value / slope * 4);
        xs.push_back(roof.peak.value / slope / 20);
      }
    }
    fit_axis(plot.low_x, plot.high_x, xs);
    if (ys.empty()) ys = {1e12};
    fit_axis(plot.low_y, plot.high_y, ys);
  }
  const auto longer = [](const RooflineDot& a, const RooflineDot& b) { return a.time_ns > b.time_ns; };
  std::stable_sort(plot.dots.begin(), plot.dots.end(), longer);
  std::stable_sort(plot.strip.begin(), plot.strip.end(), longer);
  return plot;
}

std::vector<RooflineDot> level_dots(const RooflineSource& source, std::size_t ranking_row) {
  std::vector<RooflineDot> dots;
  if (ranking_row >= source.roofline.points.size()) return dots;
  const RooflinePoint& point = source.roofline.points[ranking_row];
  const RankingRow& ranked = source.ranking.rows[ranking_row];
  if (!point.intensity_flop_per_byte || !point.flops_per_s || !ranked.dram_bytes || *ranked.dram_bytes <= 0)
    return dots;
  const double operations = *point.intensity_flop_per_byte * *ranked.dram_bytes;
  const auto moved = [&](analyzer::Metric metric) {
    const auto value = ranked.metrics.of(metric);
    return value ? std::optional(value->value) : std::nullopt;
  };
  const std::pair<MemoryLevel, std::optional<double>> levels[] = {{MemoryLevel::dram, ranked.dram_bytes},
                                                                  {MemoryLevel::l2, moved("l2_bytes")},
                                                                  {MemoryLevel::l1, moved("l1_bytes")}};
  for (const auto& [level, bytes] : levels) {
    if (!bytes || *bytes <= 0) continue;
    RooflineDot dot = dot_of(source, ranking_row);
    dot.level = level;
    dot.x = operations / *bytes;
    dot.y = *point.flops_per_s;
    dots.push_back(std::move(dot));
  }
  return dots;
}

std::vector<Quantity> known_precisions(const RooflineSource& source) {
  std::vector<Quantity> known;
  for (const store::DevicePeak& peak : source.model.device_peaks) {
    if (peak.device_id != source.roofline.device_id || !is_flops(peak.quantity)) continue;
    if (std::find(known.begin(), known.end(), peak.quantity) == known.end()) known.push_back(peak.quantity);
  }
  return known;
}

}  // namespace ridgeline::analyzer
