// attention_hopper.cuh: what the forward and the backward kernel for sm_90a share. For attention_hopper_*.cu alone.
#pragma once

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper_order.h"
#include "gpt2/ops/hopper/hopper_ptx.cuh"
#include "gpt2/ops/hopper/wgmma.cuh"

namespace ridgeline::gpt2::hopper {

constexpr int kTile = 128;  // queries of a block of rows, keys of a block of columns
constexpr int kWarpgroup = 128;
constexpr int kConsumers = 2;  // warpgroups, 64 of a tile's rows each
constexpr int kConsumerRows = 64;
constexpr int kConsumerWarps = 4 * kConsumers;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kConsumerRegisters = 240;
constexpr int kProducerRegisters = 24;
constexpr int kHeadSize = 64;      // of every GPT-2
constexpr int kPanel = kHeadSize;  // columns that lie side by side in shared memory: 128 bytes, swizzled
constexpr int kPanelBytes = kTile * kPanel * 2;

constexpr float kLog2e = 1.4426950408889634F;
constexpr float kLn2 = 0.6931471805599453F;

/// exp2, results below the normal range are zeros.
__device__ inline float exp2_flushed(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Products of two pairs of bfloat16, rounded once.
__device__ inline std::uint32_t multiply_bf16(std::uint32_t a, std::uint32_t b) {
  std::uint32_t d;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
/// sum + a . b of two pairs of bfloat16.
__device__ inline float dot_bf16(std::uint32_t a, std::uint32_t b, float sum) {
  sum = fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), sum);
  return fmaf(__uint_as_float(a & 0xFFFF0000U), __uint_as_float(b & 0xFFFF0000U), sum);
}
/// Over the four lanes that share a row of the accumulators.
__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffU, value, 1);
  return value + __shfl_xor_sync(0xffffffffU, value, 2);
}
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
}

}  // namespace ridgeline::gpt2::hopper
