// sample_chart.cpp: DRAM and tensor pipe over the time of one sampled step, above the kernels that ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "charts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {
namespace {

struct Panel {
  std::string label;
  std::string css;
  const std::vector<double>* ratios;
};

// Runs as they can be drawn: those that are narrower than a point are one with their neighbours, of the class of the
// longest.
std::vector<analyzer::ClassRun> drawn_runs(const analyzer::SampledStep& step, double ns_per_point) {
  std::vector<analyzer::ClassRun> drawn;
  std::int64_t longest_ns = 0;  // of those in the last one
  for (const analyzer::ClassRun& run : step.classes) {
    const std::int64_t ns = run.end_ns - run.start_ns;
    const bool joins =
        !drawn.empty() && static_cast<double>(run.end_ns - drawn.back().start_ns) < ns_per_point;
    if (!joins) {
      drawn.push_back(run);
      longest_ns = ns;
      continue;
    }
    drawn.back().end_ns = std::max(drawn.back().end_ns, run.end_ns);
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    drawn.back().kernel_class = run.kernel_class;
  }
  return drawn;
}

}  // namespace

SampleChart sample_chart(const analyzer::SampledStep& step) {
  std::vector<Panel> panels = {{"DRAM", "m-dram", &step.dram_ratio}};
  if (!step.tensor_ratio.empty()) panels.push_back({"tensor pipe", "m-tensor", &step.tensor_ratio});
  const auto length = static_cast<double>(step.window.length_ns());

  constexpr double kLeft = 92, kTop = 10, kPanel = 96, kGap = 16, kStrip = 18;
  const double plot = kChartWidth - kLeft;
  const double strip_y = kTop + static_cast<double>(panels.size()) * (kPanel + kGap);
  Svg svg(kChartWidth, strip_y + kStrip + 26,
          fmt::format("DRAM and tensor pipe over step {}", step.step_index));
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const double top = kTop + static_cast<double>(p) * (kPanel + kGap);
    const auto y = [&](double ratio) { return top + kPanel * (1 - std::clamp(ratio, 0.0, 1.0)); };
    for (const double ratio : {0.0, 0.5, 1.0}) {
      svg.line(kLeft, y(ratio), kChartWidth, y(ratio), "grid");
      svg.text(kLeft - 8, y(ratio) + 4, fmt::format("{:.0f} %", ratio * 100), "tick", Svg::Anchor::end);
    }
    svg.text(0, y(0.25) + 4, panels[p].label, "axis");  // between two ticks
    const std::vector<double>& ratios = *panels[p].ratios;
    std::vector<std::pair<double, double>> points = {{kLeft, y(0)}};
    for (std::size_t i = 0; i < ratios.size(); ++i)
      points.emplace_back(kLeft + plot * (static_cast<double>(i) + 0.5) / static_cast<double>(ratios.size()),
                          y(ratios[i]));
    points.emplace_back(kChartWidth, y(0));
    svg.area(points, panels[p].css);
  }
  svg.text(0, strip_y + 13, "kernels", "axis");
  const auto x = [&](std::int64_t time_ns) {
    return kLeft + plot * static_cast<double>(time_ns - step.window.start_ns) / length;
  };
  for (const analyzer::ClassRun& run : drawn_runs(step, length / plot)) {
    svg.rect(x(run.start_ns), strip_y, std::max(x(run.end_ns) - x(run.start_ns), 0.4), kStrip,
             class_css(run.kernel_class),
             fmt::format("{}, {}", to_string(run.kernel_class),
                         time_text(static_cast<double>(run.end_ns - run.start_ns))));
  }
  const double tick = nice_tick(length, 8);
  constexpr double kHalfLabel = 24;  // a label in the middle of its tick would leave the picture
  for (double t = 0; t <= length; t += tick) {
    const double at = kLeft + plot * t / length;
    const Svg::Anchor anchor = t == 0                          ? Svg::Anchor::start
                               : at + kHalfLabel > kChartWidth ? Svg::Anchor::end
                                                               : Svg::Anchor::middle;
    svg.text(at, strip_y + kStrip + 16, fmt::format("{:g} ms", t * 1e-6), "tick", anchor);
  }
  return {svg.finish(),
          fmt::format("Step {} as it ran, nothing serialised: {} samples, one every {}. The strip shows the "
                      "class of the kernel that ran.",
                      step.step_index, integer(step.samples), time_text(step.interval_ns))};
}

}  // namespace ridgeline::reports
