// What is where on a roofline, of rankings made by hand: held against tests/golden/tables/roofline-plots.txt.
#include "ridgeline/analyzer/roofline/roofline_plot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fabricated_model.h"
#include "support/accepted_table.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

struct PlotRow {
  const char* name;
  std::int64_t time_ns = 0;
  std::optional<double> intensity, flops_per_s, bytes_per_s, dram, compute;
};

// A device with roofs of DRAM, L2 and three precisions, and six kernels: with operations, without, without anything.
class PlotSource {
 public:
  PlotSource() {
    for (const auto& [quantity, value] : {std::pair{Quantity::l2_bytes_per_s, 5e12},
                                          {Quantity::bf16_flops_per_s, 100e12},
                                          {Quantity::fp32_flops_per_s, 20e12},
                                          {Quantity::int8_ops_per_s, 200e12}})
      made.model.device_peaks.push_back({1, quantity, PeakSource::spec, value, "test"});
    made.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::counter, 90e12, "test"});
    made.model.device_peaks.push_back(
        {2, Quantity::fp64_flops_per_s, PeakSource::spec, 1e12, "other device"});
    roofline.device_id = 1;
    for (const PlotRow& row : std::vector<PlotRow>{{"gemm", 600, 200, 50e12, 0.25e12, 0.25, 0.5},
                                                   {"norm", 900, 2, 1e12, 0.5e12, 0.5, 0.0},
                                                   {"copy", 500, {}, {}, 0.75e12, 0.75, 1e-5},
                                                   {"zero", 400, 0, 0, 0.1e12, 1e-6, 0.9},
                                                   {"unknown", 300, {}, {}, {}, {}, 0.5},
                                                   {"tiny", 300, 0.125, 3e9, {}, 0.125, {}}}) {
      RankingRow ranked;
      ranked.key = row.name;
      ranked.kernel_class = row.intensity ? KernelClass::gemm : KernelClass::copy;
      ranked.time_ns = row.time_ns;
      ranked.calls = 2;
      ranked.step_share = static_cast<double>(row.time_ns) / 3000;
      ranked.nearest_roof_ratio = row.dram;
      ranked.bound = row.dram ? KernelBound::memory : KernelBound::unmeasured;
      if (row.dram) ranked.dram = Measured{*row.dram, {}, 1, Tier::t2};
      if (row.compute) ranked.compute = Measured{*row.compute, {}, 1, Tier::t2};
      ranking.rows.push_back(ranked);
      ranking.totals.time_ns += row.time_ns;
      RooflinePoint point;
      point.ranking_row = roofline.points.size();
      point.intensity_flop_per_byte = row.intensity;
      point.flops_per_s = row.flops_per_s;
      point.dram_bytes_per_s = row.bytes_per_s;
      roofline.points.push_back(point);
    }
    use(Quantity::bf16_flops_per_s);
    use(Quantity::fp32_flops_per_s);
    roofline.dram =
        accepted(choose_peak(made.done(), 1, Quantity::dram_bytes_per_s, PeakSource::spec)).value();
  }

  void use(Quantity quantity) {
    roofline.compute.push_back(accepted(choose_peak(made.done(), 1, quantity, PeakSource::spec)).value());
  }
  [[nodiscard]] RooflineSource source() { return {made.done(), ranking, roofline}; }

  testing::FabricatedModel made;
  Ranking ranking;
  Roofline roofline;
};

std::string dot_text(const RooflineDot& dot) {
  return fmt::format(
      "  {} {} {} x {:.6g} y {:.6g} share {:.4g} time {} ratio {} bound {} level {} measured {:g}\n",
      dot.ranking_row, dot.name, to_string(dot.kernel_class), dot.x, dot.y, dot.share, dot.time_ns,
      dot.ratio ? fmt::format("{:g}", *dot.ratio) : "none", to_string(dot.bound), static_cast<int>(dot.level),
      dot.measured);
}

std::string plot_text(const std::string& what, const RooflinePlot& plot) {
  std::string text =
      fmt::format("{}: mode {} x {:.6g} to {:.6g} y {:.6g} to {:.6g} left out {} decluttered {}\n", what,
                  static_cast<int>(plot.mode), plot.low_x, plot.high_x, plot.low_y, plot.high_y,
                  plot.left_out, plot.decluttered);
  for (const RooflineRoof& roof : plot.roofs)
    text += fmt::format("  roof {} {:g} {} flat {} share {:g}\n", to_string(roof.peak.quantity),
                        roof.peak.value, to_string(roof.peak.source), roof.flat, roof.share);
  for (const RooflineDot& dot : plot.dots) text += dot_text(dot);
  if (!plot.strip.empty()) text += " strip\n";
  for (const RooflineDot& dot : plot.strip) text += dot_text(dot);
  return text;
}

TEST(AcceptedTable, WhatIsWhereOnARoofline) {
  std::string table;
  PlotSource all;
  const auto plot = [&](const std::string& what, const RooflineSettings& settings) {
    table += plot_text(what, make_plot(all.source(), settings));
  };
  plot("by default", {});
  plot("with the roof of L2", {.l2 = true});
  plot("of another source", {.roofs = PeakSource::counter});
  plot("of another precision", {.precisions = {Quantity::int8_ops_per_s}});
  plot("of a precision without a roof", {.precisions = {Quantity::fp8_flops_per_s}});
  for (const double share : {0.0, 0.3, 0.31, 0.5, 0.66, 0.99}) {
    plot(fmt::format("{} of the time", share), {.min_share = share});
    plot(fmt::format("{} of the time, by time", share), {.mode = RooflineMode::time, .min_share = share});
  }
  plot("by time", {.mode = RooflineMode::time});
  all.ranking.rows[0].calls = 0;
  all.ranking.rows[1].dram.reset();
  plot("by time, two unknown", {.mode = RooflineMode::time});
  all.roofline.dram->value = 0;
  plot("without a DRAM roof to hold rates against", {});
  all.roofline.dram.reset();
  all.made.model.device_peaks.clear();
  plot("without roofs", {});
  all.ranking = {};
  all.roofline.points.clear();
  plot("of nothing", {});
  plot("of nothing, by time", {.mode = RooflineMode::time});
  ridgeline::testing::expect_accepted("roofline-plots.txt", table);
}

TEST(RooflinePlot, ARowStandsAtEachLevelThatWasCounted) {
  PlotSource all;
  RankingRow& gemm = all.ranking.rows[0];
  EXPECT_TRUE(accepted(level_dots(all.source(), 0)).empty()) << "its bytes are not known";
  gemm.dram_bytes = 1e6;
  const auto levels = [&] {
    std::string text;
    for (const RooflineDot& dot : accepted(level_dots(all.source(), 0)))
      text += fmt::format("{}:{:g}:{:g} ", static_cast<int>(dot.level), dot.x, dot.y);
    return text;
  };
  EXPECT_EQ(levels(), "0:200:5e+13 ");
  gemm.metrics.set("l1_bytes", Measured{8e6, {}, 1, Tier::t2});
  EXPECT_EQ(levels(), "0:200:5e+13 2:25:5e+13 ");
  gemm.metrics.set("l2_bytes", Measured{2e6, {}, 1, Tier::t2});
  EXPECT_EQ(levels(), "0:200:5e+13 1:100:5e+13 2:25:5e+13 ");
  gemm.metrics.set("l1_bytes", Measured{0, {}, 1, Tier::t2});
  EXPECT_EQ(levels(), "0:200:5e+13 1:100:5e+13 ");
  for (const std::size_t row : {2U, 4U, 6U, 60U})
    EXPECT_TRUE(accepted(level_dots(all.source(), row)).empty()) << row;
  gemm.dram_bytes = 0;
  EXPECT_EQ(levels(), "");
}

TEST(RooflinePlot, PrecisionsAreThoseOfTheDevicesRoofsOnceEach) {
  PlotSource all;
  EXPECT_EQ(known_precisions(all.source()),
            (std::vector<Quantity>{Quantity::bf16_flops_per_s, Quantity::fp32_flops_per_s}));
  all.roofline.device_id = 2;
  EXPECT_EQ(known_precisions(all.source()), std::vector<Quantity>{Quantity::fp64_flops_per_s});
}

}  // namespace
}  // namespace ridgeline::analyzer
