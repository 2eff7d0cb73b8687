// fp8.cuh: what the kernels that write FP8 share: conversion of four or eight values, and the tensor's largest
// magnitude.
#pragma once

#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// Four bytes, the first value in the lowest.
template <Fp8Format kFormat>
__device__ inline std::uint32_t fp8_word(float a, float b, float c, float d) {
  constexpr __nv_fp8_interpretation_t kKind = kFormat == Fp8Format::e4m3 ? __NV_E4M3 : __NV_E5M2;
  const std::uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, kKind);
  const std::uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, kKind);
  return low | high << 16;
}

/// The largest magnitude of a block into amax; null: nothing. Every thread of the block calls it, once;
/// `shared` holds a float a warp and is not used for anything else. Bits of magnitudes order as they do, so
/// that the order of blocks does not matter.
__device__ inline void commit_amax(std::uint32_t* amax, float largest, float* shared) {
  if (amax == nullptr) return;
  const float of_block = block_max(largest, shared);
  if (threadIdx.x == 0 && of_block > 0.0F) atomicMax(amax, __float_as_uint(of_block));
}

}  // namespace ridgeline::gpt2
