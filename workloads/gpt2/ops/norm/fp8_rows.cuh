// fp8_rows.cuh: 32 rows of FP8 that the warps of a block leave in shared memory, stored transposed by all of them.
#pragma once

#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/norm/fp8_table.h"

namespace ridgeline::gpt2 {

/// Eight scaled values of a row: into the tensor, and into the table.
template <Fp8Format kFormat>
__device__ __forceinline__ void store_fp8_vector(std::uint8_t* out, std::uint32_t* table,
                                                 const float (&v)[8]) {
  const std::uint32_t low = fp8_word<kFormat>(v[0], v[1], v[2], v[3]);
  const std::uint32_t high = fp8_word<kFormat>(v[4], v[5], v[6], v[7]);
  *reinterpret_cast<uint2*>(out) = make_uint2(low, high);
  table[0] = low;
  table[1] = high;
}

/// After a barrier that all rows of the table passed. transposed (channels, rows); the table's first row is
/// the tensor's `first_row`, a multiple of 16 as is rows.
__device__ inline void store_transposed(std::uint8_t* transposed, const std::uint32_t* table,
                                        std::int64_t first_row, std::int64_t rows, int channels, int warp,
                                        int warps, int lane) {
  const int pitch = fp8_table_pitch(channels);
  const int turns = fp8_table_turns(channels);
  for (int turn = warp; turn < turns; turn += warps) {
    const Fp8TablePiece piece = fp8_table_piece(turn, lane);
    if (piece.quad >= channels / 4 || first_row + piece.row >= rows) continue;
    std::uint32_t words[4][4];  // four rows, four columns each
#pragma unroll
    for (int four = 0; four < 4; ++four) {
#pragma unroll
      for (int r = 0; r < 4; ++r) words[four][r] = table[(piece.row + 4 * four + r) * pitch + piece.quad];
      transpose_bytes(words[four]);
    }
    std::uint8_t* target = transposed + std::int64_t{piece.quad} * 4 * rows + first_row + piece.row;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      *reinterpret_cast<uint4*>(target + c * rows) =
          make_uint4(words[0][c], words[1][c], words[2][c], words[3][c]);
    }
  }
}

}  // namespace ridgeline::gpt2
