// gelu_math.cuh: GELU and its derivative for one value, shared by the kernels that contain them.
//
// Since (1 + tanh(u)) / 2 = sigmoid(2u), gelu(x) = x * sigmoid(2u): two special-function operations and no
// cancellation for negative x.
#pragma once

#include "gpt2/common/dtype.h"
#include "gpt2/ops/elementwise/gelu_slope.h"

namespace ridgeline::gpt2 {

inline constexpr float kGeluScale = 0.7978845608028654F;  // sqrt(2/pi)
inline constexpr float kGeluCubic = 0.044715F;

/// 2^x and 1/x by one instruction each: about 2 ulp of FP32; subnormal numbers count as zero.
__device__ inline float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline float fast_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// sigmoid(2u) of the GELU argument. BF16 results need 8 bits, so the fast exponential and reciprocal lose
/// nothing; FP32 takes the exact ones.
template <typename T>
__device__ inline float gelu_gate(float x) {
  if constexpr (std::is_same_v<T, bf16>) {
    constexpr float kLinear = -2.0F * kGeluScale * 1.4426950408889634F;  // to base 2
    return fast_reciprocal(1.0F + fast_exp2(x * (kLinear + kLinear * kGeluCubic * (x * x))));
  } else {
    const float twice_u = 2.0F * kGeluScale * x * (1.0F + kGeluCubic * x * x);
    return 1.0F / (1.0F + expf(-twice_u));
  }
}

template <typename T>
__device__ inline float gelu_value(float x) {
  return x * gelu_gate<T>(x);
}

/// GELU and its derivative at one place: they share the gate.
struct GeluPoint {
  float value;
  float slope;
};
template <typename T>
__device__ inline GeluPoint gelu_point(float x) {
  const float gate = gelu_gate<T>(x);
  const float twice_du = 2.0F * kGeluScale + 6.0F * kGeluScale * kGeluCubic * (x * x);
  const float value = x * gate;
  return {value, gate + twice_du * (value - value * gate)};
}

template <typename T>
__device__ inline float gelu_slope(float x) {
  return gelu_point<T>(x).slope;
}

/// Two slopes as the lower two bytes of a word; two such words make one.
__device__ inline unsigned gelu_slope_bytes(float first, float second) {
  constexpr float kRounded = 0x1p23F + kGeluSlopeZero;  // floats from 2^23 on are whole numbers
  return __byte_perm(__float_as_uint(fmaf(first, kGeluSlopeSteps, kRounded)),
                     __float_as_uint(fmaf(second, kGeluSlopeSteps, kRounded)), 0x0040);
}
__device__ inline unsigned join_gelu_slopes(unsigned first_two, unsigned second_two) {
  return __byte_perm(first_two, second_two, 0x5410);
}
/// The slope of a word's byte of this number.
__device__ inline float gelu_slope_of_byte(unsigned word, unsigned byte) {
  return fmaf(__uint_as_float(__byte_perm(word, 0x43000000U, 0x7404U | byte << 4)), kGeluSlopeScale,
              kGeluSlopeOffset);
}

}  // namespace ridgeline::gpt2
