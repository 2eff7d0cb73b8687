// fp8_table.h: the table of 32 rows of FP8 that the warps of a block fill and store transposed, and who
// stores what of it.
//
// A warp that owns whole rows has of a column one byte; only 32 of them side by side fill a sector of the
// transposed tensor. Rows of the table are a word longer than the tensor's: the two halves of a warp read
// rows 16 apart, and so their words lie in different banks (16 rows of a multiple of 16 bytes and 16 words).
#pragma once

#include <cuda_runtime_api.h>

namespace ridgeline::gpt2 {

inline constexpr int kFp8TableRows = 32;

/// 32-bit words of a row of the table; channels is a multiple of 16.
__host__ __device__ constexpr int fp8_table_pitch(int channels) {
  return channels / 4 + 1;
}
__host__ __device__ constexpr int fp8_table_bytes(int channels) {
  return kFp8TableRows * fp8_table_pitch(channels) * 4;
}

/// What the lanes of a warp read from the table and store: four columns of 16 rows each.
struct Fp8TablePiece {
  int quad;  // of columns
  int row;   // 0 or 16
};
__host__ __device__ inline Fp8TablePiece fp8_table_piece(int turn, int lane) {
  return {turn * 16 + lane % 16, lane / 16 * 16};
}
__host__ __device__ constexpr int fp8_table_turns(int channels) {
  return (channels / 4 + 15) / 16;
}

}  // namespace ridgeline::gpt2
