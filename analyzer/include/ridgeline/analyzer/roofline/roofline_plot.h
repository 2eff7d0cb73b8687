// roofline_plot.h: what is where on a roofline that is drawn, in the units of its axes. No pixels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/roofline/roofline.h"

namespace ridgeline::analyzer {

enum class RooflineMode {
  intensity,  ///< operations a second over operations a byte
  time,  ///< time at the compute roof over time at the memory roof; kernels without operations have a place too
};
enum class MemoryLevel { dram, l2, l1 };

struct RooflineSettings {
  RooflineMode mode = RooflineMode::intensity;
  std::optional<PeakSource> roofs;  ///< empty: Roofline::source
  bool l2 = false;                  ///< the L2 cache's slope beside the DRAM's
  double min_share = 1.0;  ///< only the longest kernels that together take this share of the kernel time
  std::vector<Quantity> precisions;  ///< quantities of the compute roofs; empty: those that were used
};

struct RooflineDot {
  std::size_t ranking_row = 0;
  std::string name;
  KernelClass kernel_class = KernelClass::other;
  double x = 0, y = 0;
  double share = 0;  ///< of the step
  std::int64_t time_ns = 0;
  std::optional<double> ratio;  ///< of its nearest roof
  KernelBound bound = KernelBound::unmeasured;
  MemoryLevel level = MemoryLevel::dram;
  /// Time mode: what it took; the dot would stand there at its roof.
  double measured = 0;
  friend bool operator==(const RooflineDot&, const RooflineDot&) = default;
};

/// A roof: y = slope · x up to where it meets a flat one, or y = level.
struct RooflineRoof {
  Peak peak;
  bool flat = false;
  double share = 1;  ///< 0.70 and 0.85 for the targets' lines
};

struct RooflinePlot {
  RooflineMode mode = RooflineMode::intensity;
  double low_x = 0.1, high_x = 1000, low_y = 1e9, high_y = 1e15;
  /// Time mode: where on both axes stands what does not use a roof, for a logarithm has no zero; empty: all use both.
  std::optional<double> zero;
  std::vector<RooflineRoof> roofs;
  std::vector<RooflineDot> dots;   ///< longest last, so that short ones are not hidden below it
  std::vector<RooflineDot> strip;  ///< intensity mode: without operations; x is their share of the DRAM roof
  std::int64_t left_out = 0;       ///< neither
  std::int64_t decluttered = 0;    ///< left out by RooflineSettings::min_share
};

/// Ranking and roofline are of each other, and of one scope of the model. Threads: pure.
struct RooflineSource {
  const Model& model;
  const Ranking& ranking;
  const Roofline& roofline;
};

[[nodiscard]] RooflinePlot make_plot(const RooflineSource& source, const RooflineSettings& settings);
/// The row's dots at each memory level that was counted, nearest to the registers last; empty without operations.
[[nodiscard]] std::vector<RooflineDot> level_dots(const RooflineSource& source, std::size_t ranking_row);
/// All quantities of operations that the device has a roof for.
[[nodiscard]] std::vector<Quantity> known_precisions(const RooflineSource& source);

}  // namespace ridgeline::analyzer
