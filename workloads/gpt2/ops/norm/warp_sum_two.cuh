// warp_sum_two.cuh: two sums over a warp at once.
#pragma once

#include "gpt2/common/reduce.cuh"

namespace ridgeline::gpt2 {

/// Two sums over the warp in 6 shuffles instead of 10: each half of the warp takes over one of them, and they
/// are exchanged at the end.
__device__ inline float2 warp_sum_two(float first, float second, int lane) {
  const bool high = (lane & 16) != 0;
  float sum = (high ? second : first) + __shfl_xor_sync(kFullMask, high ? first : second, 16);
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  const float other = __shfl_xor_sync(kFullMask, sum, 16);
  return high ? make_float2(other, sum) : make_float2(sum, other);
}

}  // namespace ridgeline::gpt2
