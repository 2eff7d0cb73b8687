// column_tiles.cuh: how kernels that sum the columns of a (N, C) tensor divide it among blocks and threads.
//
// A block owns a stripe of columns and a range of rows, so that one launch fills the chip; a lane owns some
// neighbouring columns, a warp every kColumnWarps-th row of the range. Each block leaves a row of sums to
// PartialSums. Kernels that share this add the same values in the same order: their sums are equal to the
// last bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"

namespace ridgeline::gpt2 {

inline constexpr int kColumnBlock = 512;
inline constexpr int kColumnWarps = kColumnBlock / kWarpSize;
/// Two blocks a multiprocessor of an H200; sizes the scratch, so fixed.
inline constexpr std::int64_t kColumnBlocks = 264;

struct ColumnPlan {
  std::int64_t stripes;
  std::int64_t splits;  // ranges of rows
  dim3 grid() const { return {static_cast<unsigned>(stripes), static_cast<unsigned>(splits)}; }
};

/// vector: columns a lane owns.
inline ColumnPlan column_plan(int channels, int vector) {
  constexpr std::int64_t kMaxSplits = 512;
  const std::int64_t stripes = ceil_div(channels, kWarpSize * vector);
  return {stripes, std::clamp<std::int64_t>(kColumnBlocks / stripes, 1, kMaxSplits)};
}

/// What a thread of the plan's grid owns: kVector columns from `column` on (none if that is beyond the last)
/// of the rows `row`, `row` + kColumnWarps, ... before `row_end`.
struct ColumnTile {
  std::int64_t column;
  std::int64_t row;
  std::int64_t row_end;
};
template <int kVector>
__device__ inline ColumnTile column_tile(std::int64_t rows) {
  const std::int64_t lane = threadIdx.x % kWarpSize;
  const std::int64_t warp = threadIdx.x / kWarpSize;
  const std::int64_t split = blockIdx.y;
  const std::int64_t splits = gridDim.y;
  return {(std::int64_t{blockIdx.x} * kWarpSize + lane) * kVector, rows * split / splits + warp,
          rows * (split + 1) / splits};
}

template <typename T>
__device__ inline void add_to(float (&sum)[kPackedSize<T>], const Packed<T>& packed) {
  float values[kPackedSize<T>];
  unpack(packed, values);
#pragma unroll
  for (int k = 0; k < kPackedSize<T>; ++k) sum[k] += values[k];
}

/// The block's row of partials (splits, channels) from its threads' sums. All threads of the block call it.
template <int kVector>
__device__ inline void leave_column_sums(float* partials, const float (&sum)[kVector], int channels) {
  constexpr int kColumns = kWarpSize * kVector;
  __shared__ float shared[kColumnWarps][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  // Lane-major within a vector slot: conflict-free stores.
#pragma unroll
  for (int k = 0; k < kVector; ++k) shared[warp][k * kWarpSize + lane] = sum[k];
  __syncthreads();
  float* target = partials + std::int64_t{blockIdx.y} * channels;
  for (int slot = static_cast<int>(threadIdx.x); slot < kColumns; slot += kColumnBlock) {
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < kColumnWarps; ++w) total += shared[w][slot];
    const std::int64_t c =
        std::int64_t{blockIdx.x} * kColumns + (slot % kWarpSize) * kVector + slot / kWarpSize;
    if (c < channels) target[c] = total;
  }
}

}  // namespace ridgeline::gpt2
