#include "charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {

std::string class_css(KernelClass kernel_class) {
  return std::string("k-").append(to_string(kernel_class));
}

std::string stacked_bar(const std::vector<Share>& shares, double whole_ns, const std::string& label) {
  if (whole_ns <= 0) return "";
  constexpr double kBarHeight = 44;
  constexpr double kLegendRow = 24;
  constexpr int kLegendColumns = 3;
  std::vector<const Share*> shown;
  for (const Share& share : shares) {
    if (std::fabs(share.ns) >= 0.5) shown.push_back(&share);
  }
  // Shares that exceed the whole (overlapping kernels by class) shrink to fit, their numbers stay true.
  double sum = 0;
  for (const Share* share : shown) sum += std::max(share->ns, 0.0);
  const double scale = kChartWidth / std::max(whole_ns, sum);
  const double legend_rows = std::ceil(static_cast<double>(shown.size()) / kLegendColumns);
  Svg svg(kChartWidth, kBarHeight + 14 + legend_rows * kLegendRow, label);
  svg.rect(0, 0, kChartWidth, kBarHeight, "track", {}, 4);
  double x = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Share& share = *shown[i];
    const double width = std::max(share.ns, 0.0) * scale;
    const std::string value =
        fmt::format("{} ms · {}", milliseconds(share.ns), percent_text(share.ns / whole_ns));
    svg.rect(x, 0, width, kBarHeight, share.css, share.label + ": " + value);
    // A label only where it fits: about 7.2 units a character.
    const double needs = 7.2 * display_width(share.label) + 16;
    if (width > needs)
      svg.text(x + width / 2, kBarHeight / 2 + 4.5, share.label, "on-bar", Svg::Anchor::middle);
    x += width;

    const double column = static_cast<double>(i % kLegendColumns);
    const auto line = i / kLegendColumns;
    const double left = column * (kChartWidth / kLegendColumns);
    const double top = kBarHeight + 14 + static_cast<double>(line) * kLegendRow;
    svg.rect(left, top, 12, 12, share.css, {}, 2);
    svg.text(left + 20, top + 10.5, share.label, "legend");
    svg.text(left + kChartWidth / kLegendColumns - 24, top + 10.5, value, "number", Svg::Anchor::end);
  }
  return svg.finish();
}

std::vector<Share> accounting_shares(const analyzer::Accounting& a) {
  const auto ns = [](std::int64_t value) { return static_cast<double>(value); };
  return {{"GPU busy", "p-kernels", ns(a.kernel_busy_ns)},
          {"copies", "p-copies", ns(a.copy_exposed_ns)},
          {"memsets", "p-memsets", ns(a.memset_exposed_ns)},
          {"gaps: launch-bound", "p-gap-launch", ns(a.gap_launch_bound_ns)},
          {"gaps: CPU-bound", "p-gap-host", ns(a.gap_host_bound_ns)},
          {"gaps: synchronisation", "p-gap-wait", ns(a.gap_synchronisation_ns.value_or(0))},
          {"gaps: queued", "p-gap-queued", ns(a.gap_queued_ns)},
          {"gaps: unknown", "p-gap-unknown", ns(a.gap_unknown_ns)},
          {"gaps: tail", "p-gap-tail", ns(a.gap_tail_ns)},
          {"remainder", "p-remainder", ns(a.remainder_ns)}};
}

std::vector<Share> class_shares(const analyzer::Ranking& by_class) {
  std::vector<Share> out;
  for (const std::size_t index : analyzer::rows_by_time(by_class)) {
    const analyzer::RankingRow& row = by_class.rows[index];
    out.push_back({row.key, class_css(row.kernel_class), static_cast<double>(row.time_ns)});
  }
  return out;
}

std::string nearest_roof_chart(const analyzer::Ranking& ranking, std::size_t rows) {
  std::vector<std::size_t> order = analyzer::rows_by_time(ranking);
  if (order.size() > rows) order.resize(rows);
  if (order.empty() || ranking.rows[order.front()].time_ns <= 0) return "";

  constexpr double kRow = 24, kTop = 8, kAxis = 34;
  constexpr double kLabel = 360;   // names end here
  constexpr double kValues = 190;  // room right of the longest bar
  constexpr int kLabelColumns = 46;
  const double plot = kChartWidth - kLabel - kValues;
  const double longest = static_cast<double>(ranking.rows[order.front()].time_ns);
  const double tick = nice_tick(longest, 6);
  const double bottom = kTop + kRow * static_cast<double>(order.size());
  Svg svg(kChartWidth, bottom + kAxis,
          fmt::format("Time of each kernel in the {} and the part that its target would save",
                      scope_noun(ranking.scope)));
  const auto at = [&](double ns) { return kLabel + ns / longest * plot; };
  for (double t = 0; t <= longest * (1 + 1e-9); t += tick) {
    svg.line(at(t), kTop - 4, at(t), bottom, "grid");
    svg.text(at(t), bottom + 18, fmt::format("{:g}", t * 1e-6), "tick", Svg::Anchor::middle);
  }
  svg.text(kChartWidth - kValues + 16, bottom + 18, fmt::format("ms in the {}", scope_noun(ranking.scope)),
           "tick");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const analyzer::RankingRow& row = ranking.rows[order[i]];
    const double y = kTop + kRow * static_cast<double>(i);
    const double time = static_cast<double>(row.time_ns);
    const std::string css = class_css(row.kernel_class);
    const std::string name = bounded(row.key, 400);
    const std::string what = fmt::format(
        "{}\n{} ms, nearest roof {}{}; saving {} ms at {}, {} ms at {}", name, milliseconds(time),
        nearest_word(row), row.nearest_roof_ratio ? " at " + percent_text(*row.nearest_roof_ratio) : "",
        milliseconds(row.saved_target_ns), target_text(ranking.options.target),
        milliseconds(row.saved_stretch_ns), target_text(ranking.options.stretch));
    svg.text(kLabel - 10, y + 15, elide_kernel_name(terminal_safe(bounded(row.key)), kLabelColumns), "kernel",
             Svg::Anchor::end, name);
    svg.rect(kLabel, y + 4, at(time - row.saved_target_ns) - kLabel, kRow - 8, css, what, 2);
    svg.rect(at(time - row.saved_target_ns), y + 4, at(row.saved_target_ns) - kLabel, kRow - 8, css + " pale",
             what, 2);
    if (row.saved_stretch_ns > 0) {
      const double x = at(time - row.saved_stretch_ns);
      svg.line(x, y + 2, x, y + kRow - 2, "goal");
    }
    std::string value = nearest_roof_word(row);
    if (row.nearest_roof_ratio) value += fmt::format(" {} %", fixed(*row.nearest_roof_ratio * 100, 0));
    if (row.saved_target_ns >= 500) value += fmt::format("  −{} ms", milliseconds(row.saved_target_ns));
    svg.text(at(time) + 8, y + 15.5, value, "number");
  }
  return svg.finish();
}

namespace {

// A bar of the chart of steps: a step, or neighbours of one phase.
struct StepBar {
  const analyzer::StepSummary* first;
  const analyzer::StepSummary* last;
  std::vector<double> durations_ns;
  bool chosen = false;
  bool all_ok = true;

  [[nodiscard]] double median_ns() const { return upper_median(durations_ns); }
};

constexpr std::size_t kStepBars = 200;

std::vector<StepBar> step_bars(const analyzer::StepAnalysis& steps) {
  std::vector<const analyzer::StepSummary*> shown;
  for (const analyzer::StepSummary& step : steps.steps) {
    if (step.process_id == steps.process_id && step.gpu_duration_ns > 0) shown.push_back(&step);
  }
  const std::size_t each = (shown.size() + kStepBars - 1) / kStepBars;
  std::vector<StepBar> bars;
  for (const auto* step : shown) {
    if (bars.empty() || bars.back().durations_ns.size() >= each || bars.back().first->phase != step->phase)
      bars.push_back({step, step, {}});
    StepBar& bar = bars.back();
    bar.last = step;
    bar.durations_ns.push_back(static_cast<double>(step->gpu_duration_ns));
    bar.all_ok = bar.all_ok && step->status == StepStatus::ok;
    bar.chosen = bar.chosen || (!steps.representative.whole_recording &&
                                step->step_id == steps.representative.summary.step_id);
  }
  return bars;
}

// Where the axis ends: where most bars end, so that these can be told apart, if few are far longer.
double axis_end(const std::vector<StepBar>& bars) {
  std::vector<double> heights;
  for (const StepBar& bar : bars) heights.push_back(bar.median_ns());
  std::sort(heights.begin(), heights.end());
  const double usual = heights[heights.size() / 2];
  const double longest = heights.back();
  if (longest <= 2.5 * usual) return longest;
  double end = usual;
  for (const double height : heights) {
    if (height <= 1.6 * usual) end = std::max(end, height);
  }
  return 1.2 * end;
}

}  // namespace

std::string step_chart(const analyzer::StepAnalysis& steps) {
  const std::vector<StepBar> bars = step_bars(steps);
  if (bars.size() < 2) return "";
  const double end = axis_end(bars);
  constexpr double kPlot = 130, kTop = 32, kLeft = 56, kGapAt = 12, kGap = 4;
  constexpr double kDigit = 6.6, kRoomForNumber = 20;
  Svg svg(kChartWidth, kTop + kPlot + 30, "GPU duration of each step");
  const double tick = nice_tick(end, 4);
  for (double t = 0; t <= end * (1 + 1e-9); t += tick) {
    const double y = kTop + kPlot * (1 - t / end);
    svg.line(kLeft, y, kChartWidth, y, "grid");
    svg.text(kLeft - 8, y + 4, fmt::format("{:g}", t * 1e-6), "tick", Svg::Anchor::end);
  }
  const double slot = (kChartWidth - kLeft) / static_cast<double>(bars.size());
  const analyzer::StepSummary* labelled = nullptr;
  double label_end = 0;  // where the last phase's label ends
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const StepBar& bar = bars[i];
    const analyzer::StepSummary& step = *bar.first;
    const double ns = bar.median_ns();
    const bool cut = ns > end;
    const double height = kPlot * std::min(ns / end, 1.0);
    const double x = kLeft + slot * static_cast<double>(i);
    std::string css = "s-" + std::string(step.phase == Phase::timeline ? "timeline"
                                         : step.phase == Phase::replay ? "replay"
                                                                       : "rest");
    if (!bar.all_ok) css = "s-bad";
    if (bar.chosen) css += " chosen";
    const std::string chosen = bar.chosen ? ", stands for all" : "";
    const std::string title =
        bar.durations_ns.size() == 1
            ? fmt::format("step {}, {}, {}: {} ms{}", step.step_index, to_string(step.phase),
                          to_string(step.status), milliseconds(ns), chosen)
            : fmt::format("steps {} to {}, {}: {} to {} ms, median {} ms{}", step.step_index,
                          bar.last->step_index, to_string(step.phase),
                          milliseconds(*std::min_element(bar.durations_ns.begin(), bar.durations_ns.end())),
                          milliseconds(*std::max_element(bar.durations_ns.begin(), bar.durations_ns.end())),
                          milliseconds(ns), chosen);
    const double left = x + slot * 0.1, width = slot * 0.8;
    if (cut) {
      // The gap says that the bar goes on, the number how far.
      svg.rect(left, kTop, width, kGapAt, css, title);
      svg.rect(left, kTop + kGapAt + kGap, width, kPlot - kGapAt - kGap, css, title);
      const std::string number = fmt::format("{:.0f}", ns * 1e-6);
      // Neighbours that would touch stand in two lines.
      const bool raised = kDigit * static_cast<double>(number.size()) + 3 > slot && i % 2 == 1;
      if (slot >= kRoomForNumber)
        svg.text(x + slot / 2, kTop - (raised ? 19 : 6), number, "tick", Svg::Anchor::middle);
    } else {
      svg.rect(left, kTop + kPlot - height, width, height, css, title);
    }
    if (labelled == nullptr || labelled->phase != step.phase) {
      labelled = &step;
      const std::string_view phase = to_string(step.phase);
      if (x >= label_end) {
        svg.text(x + slot * 0.1, kTop + kPlot + 18, phase, "tick");
        label_end = x + 7.0 * static_cast<double>(phase.size());
      }
    }
  }
  return svg.finish();
}

}  // namespace ridgeline::reports
