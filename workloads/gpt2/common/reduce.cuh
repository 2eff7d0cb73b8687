// reduce.cuh: sums and maxima over a warp or a block. All threads of the group must take part.
#pragma once

#include <cstdint>

namespace ridgeline::gpt2 {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kFullMask = 0xffffffffU;

/// Every lane gets the result; the order of additions is fixed.
template <typename V>
__device__ inline V warp_sum(V value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullMask, value, offset);
  return value;
}

/// NaN is passed over, as fmaxf does.
__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kFullMask, value, offset));
  }
  return value;
}

/// `shared` holds one V per warp and is free for reuse only after a further __syncthreads().
/// blockDim.x must be a multiple of 32 and at most 1024; the grid's blocks are one-dimensional.
template <typename V>
__device__ inline V block_sum(V value, V* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  value = warp_sum(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_sum(lane < warps ? shared[lane] : V{});
}

__device__ inline float block_max(float value, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  value = warp_max(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_max(lane < warps ? shared[lane] : -INFINITY);
}

}  // namespace ridgeline::gpt2
