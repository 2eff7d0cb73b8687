// transpose_tile.h: which piece of a (rows, columns) tensor a thread of the casting kernels owns.
//
// A thread owns 16 rows of 8 neighbouring columns: it reads 16 bytes of bfloat16 a row, and has of each column the 16
// bytes that lie one behind the other in the transposed tensor. A warp is 128 rows of 32 columns, so that both its
// reads and its writes are whole 32-byte sectors, the transposed ones whole 128-byte lines; a block is 8 warps side
// by side.
#pragma once

#include <cstdint>

#include "gpt2/common/launch.h"

namespace ridgeline::gpt2 {

inline constexpr int kTransposeBlock = 256;
inline constexpr int kTransposeRows = 16;
inline constexpr int kTransposeColumns = 8;
inline constexpr int kTransposeTileRows = 128;
inline constexpr int kTransposeTileColumns = 256;

struct TransposeTile {
  std::int64_t row_tile;
  std::int64_t row;     // the first of 16
  std::int64_t column;  // the first of 8
};

constexpr std::int64_t transpose_column_tiles(std::int64_t columns) {
  return ceil_div(columns, kTransposeTileColumns);
}
constexpr std::int64_t transpose_row_tiles(std::int64_t rows) {
  return ceil_div(rows, kTransposeTileRows);
}

/// Blocks go along a band of rows first. What begins beyond the tensor is nobody's.
__host__ __device__ inline TransposeTile transpose_tile(std::int64_t block, int thread,
                                                        std::int64_t column_tiles) {
  const int lane = thread % 32;
  const int warp = thread / 32;
  const std::int64_t row_tile = block / column_tiles;
  const std::int64_t column_tile = block - row_tile * column_tiles;
  return {row_tile, row_tile * kTransposeTileRows + lane / 4 * kTransposeRows,
          column_tile * kTransposeTileColumns + warp * 32 + lane % 4 * kTransposeColumns};
}

}  // namespace ridgeline::gpt2
