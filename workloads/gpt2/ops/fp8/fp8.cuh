// fp8.cuh: what the kernels that read or write FP8 share: conversion of several values, and the tensor's largest
// magnitude.
#pragma once

#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// Two bytes, the first value in the lower.
template <Fp8Format kFormat>
__device__ inline std::uint32_t fp8_pair(float a, float b) {
  constexpr __nv_fp8_interpretation_t kKind = kFormat == Fp8Format::e4m3 ? __NV_E4M3 : __NV_E5M2;
  return __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, kKind);
}
/// Four bytes, the first value in the lowest.
template <Fp8Format kFormat>
__device__ inline std::uint32_t fp8_word(float a, float b, float c, float d) {
  return fp8_pair<kFormat>(a, b) | fp8_pair<kFormat>(c, d) << 16;
}

/// The four values of a word, the lowest byte first.
template <Fp8Format kFormat>
__device__ inline void fp8_values(std::uint32_t word, float (&values)[4]) {
  constexpr __nv_fp8_interpretation_t kKind = kFormat == Fp8Format::e4m3 ? __NV_E4M3 : __NV_E5M2;
  const auto low = static_cast<__nv_fp8x2_storage_t>(word & 0xffffU);
  const auto high = static_cast<__nv_fp8x2_storage_t>(word >> 16);
  const float2 first = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(low, kKind)));
  const float2 second = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(high, kKind)));
  values[0] = first.x;
  values[1] = first.y;
  values[2] = second.x;
  values[3] = second.y;
}

/// The largest magnitude that a GEMM found of its own result, into amax; null: nothing. Called by one thread of the
/// grid. NaN counts as nothing, as below.
__device__ inline void commit_found_amax(std::uint32_t* amax, const float* found) {
  if (amax != nullptr && *found > 0.0F) atomicMax(amax, __float_as_uint(*found));
}

/// The largest magnitude of a warp into amax, as below. Every lane calls it.
__device__ inline void commit_warp_amax(std::uint32_t* amax, float largest, int lane) {
  if (amax == nullptr) return;
  const float of_warp = warp_max(largest);
  if (lane == 0 && of_warp > 0.0F) atomicMax(amax, __float_as_uint(of_warp));
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
