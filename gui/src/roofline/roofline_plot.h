// roofline_plot.h: what stands where on a roofline, in the units of its axes. No window, no pixels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/capture_document.h"

namespace ridgeline::gui {

enum class RooflineMode {
  intensity,  ///< operations a second over operations a byte
  time,  ///< time at the compute roof over time at the memory roof; kernels without operations have a place too
};
enum class MemoryLevel { dram, l2, l1 };

struct RooflineSettings {
  RooflineMode mode = RooflineMode::intensity;
  PeakSource roofs = PeakSource::spec;
  bool l2 = false;           ///< the L2 cache's slope beside the DRAM's
  double least_share = 1.0;  ///< only the longest kernels that together take this share of the kernel time
  std::vector<std::string> precisions;  ///< quantities of the compute roofs; empty: those that were used
};

struct RooflineDot {
  std::size_t rank_row = 0;
  std::string name;
  KernelClass kernel_class = KernelClass::other;
  double x = 0, y = 0;
  double share = 0;  ///< of the step
  std::int64_t time_ns = 0;
  std::optional<double> ratio;  ///< of its nearest roof
  std::string bound;            ///< in words
  MemoryLevel level = MemoryLevel::dram;
  /// Time mode: what it took; the dot would stand there at its roof.
  double measured = 0;
  friend bool operator==(const RooflineDot&, const RooflineDot&) = default;
};

/// A roof: y = slope · x up to where it meets a flat one, or y = level.
struct RooflineRoof {
  std::string label;
  bool flat = false;
  double value = 0;  ///< bytes a second or operations a second
  double share = 1;  ///< 0.70 and 0.85 for the targets' lines
};

struct RooflinePlot {
  RooflineMode mode = RooflineMode::intensity;
  double low_x = 0.1, high_x = 1000, low_y = 1e9, high_y = 1e15;
  std::vector<RooflineRoof> roofs;
  std::vector<RooflineDot> dots;   ///< longest last, so that short ones are not hidden below it
  std::vector<RooflineDot> strip;  ///< intensity mode: without operations; x is their share of the DRAM roof
  std::int64_t left_out = 0;       ///< neither
  std::int64_t decluttered = 0;    ///< left out by RooflineSettings::least_share
};

[[nodiscard]] RooflinePlot make_plot(const ScopeAnswer& answer, const RooflineSettings& settings);
/// The row's dots at each memory level that was counted, nearest to the registers last; empty without operations.
[[nodiscard]] std::vector<RooflineDot> level_dots(const ScopeAnswer& answer, std::size_t rank_row);
/// All quantities of operations that the device has a roof for.
[[nodiscard]] std::vector<std::string> known_precisions(const ScopeAnswer& answer);

}  // namespace ridgeline::gui
