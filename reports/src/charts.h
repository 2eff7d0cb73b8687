// charts.h: the report's charts, each one inline SVG (empty string: nothing to draw).
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/reports/roofline_document.h"

namespace ridgeline::reports {

inline constexpr double kChartWidth = 1040;

/// CSS class of a kernel class: "k-gemm" ...; unknown ones are "k-other".
[[nodiscard]] std::string class_css(KernelClass kernel_class);

/// A named share of a stacked bar.
struct Share {
  std::string label;
  std::string css;
  double ns = 0;
};

/// One stacked bar of `whole_ns` and its legend with the numbers, which add up.
[[nodiscard]] std::string stacked_bar(const std::vector<Share>& shares, double whole_ns,
                                      const std::string& label);

[[nodiscard]] std::vector<Share> accounting_shares(const analyzer::Accounting& accounting);
/// Kernel time by class, most first; `by_class` is a ranking with key kernel_class.
[[nodiscard]] std::vector<Share> class_shares(const analyzer::Ranking& by_class);

/// One bar per row of the ranking: its time, of which the pale end would be gone at the target; a tick where the
/// stretch goal would put the end. At most `rows` bars.
[[nodiscard]] std::string nearest_roof_chart(const analyzer::Ranking& ranking, std::size_t rows);

/// A column a step, coloured by phase, the representative one outlined.
[[nodiscard]] std::string step_chart(const analyzer::StepAnalysis& steps);

/// DRAM and tensor pipe over one sampled step.
struct SampleChart {
  std::string svg;
  std::string note;
};
[[nodiscard]] SampleChart sample_chart(const analyzer::SampledStep& step);

/// Log-log roofline of the ranking's rows; those without operations stand below, by their share of the DRAM roof.
struct RooflineChart {
  std::string svg;   // empty: not drawn
  std::string note;  // why not, or what was left out
};
struct RooflineDrawing {
  double target = 0.70;  ///< of the DRAM roof, drawn as a line
  bool names = false;    ///< kernels by name; else numbered as in the ranking
  bool alone = false;    ///< a file of its own, with colours, title and key; else the page has them
  PictureTheme theme = PictureTheme::light;  ///< of a file of its own
  std::string title, subtitle;               ///< likewise: what was recorded, and which step of it
  bool step = true;                          ///< all kernels together as a ring
};
[[nodiscard]] RooflineChart roofline_chart(const analyzer::Roofline& roofline, const RooflineDrawing& how);
/// The same kernels by their times at the roofs of memory and of the SMs, with their headroom.
[[nodiscard]] RooflineChart roof_times_chart(const analyzer::Roofline& roofline, const RooflineDrawing& how);

}  // namespace ridgeline::reports
