// launch_shape.h: how a launch fills the device, and what a GEMM's kernel says of itself: all known without
// a counter. Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::analyzer {

/// A launch's blocks on the SMs of a device.
struct LaunchShape {
  std::int64_t blocks = 0;
  std::int64_t blocks_per_sm = 0;  ///< that fit on an SM at once, by threads, registers and shared memory
  double waves = 0;                ///< blocks ÷ what fits on the device at once
  double idle_ratio = 0;  ///< 0..1: of the last wave, places without a block; below one wave: SMs without one
  double occupancy_ratio = 0;  ///< 0..1: theoretical, warps of the blocks that fit ÷ the most an SM holds
};

/// Empty if the device's SM count or compute capability is not known, or no block fits.
[[nodiscard]] std::optional<LaunchShape> launch_shape(const store::Device& device,
                                                      const store::Launch& launch);

/// The part of the result that a block of a GEMM computes.
struct Tile {
  std::int64_t m = 0, n = 0;
  std::int64_t k = 0;  ///< by which it goes through the sum; 0: the name does not say
};

/// As cuBLAS, CUTLASS and cuDNN write it into names: "_128x256_64x4_", "tilesize128x128x64".
[[nodiscard]] std::optional<Tile> tile_in_name(std::string_view kernel);

/// Elements that a load of a GEMM takes at once, as CUTLASS and cuBLAS write it into names ("align1", "align8",
/// "ldg8"); empty if the name does not say. 1 means a dimension or a pointer that allows no more.
[[nodiscard]] std::optional<std::int64_t> alignment_in_name(std::string_view kernel);

/// Of the results that whole tiles compute, the share outside [m, n], 0..1; at least, for a name does not say which way
/// round the tile lies.
[[nodiscard]] double tile_waste(const GemmShape& gemm, const Tile& tile);

/// What the name of a product's kernel says its inputs are; any if nothing.
[[nodiscard]] Precision precision_in_name(std::string_view kernel);

/// Fills in what RankingRow says of shapes; after RankingRow::work.
void describe_shapes(const Model& model, const UtilisationAnalysis& utilisation, Ranking& ranking);

}  // namespace ridgeline::analyzer
