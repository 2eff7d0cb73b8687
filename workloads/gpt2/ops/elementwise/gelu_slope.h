// gelu_slope.h: GELU' in a byte, as a GEMM that computes GELU keeps it for the backward pass.
//
// The derivative lies between -0.129 and 1.129, so that 254 steps of 1/202 hold it, with 0 and 1 among them. The byte
// is off by 0.0025 at most; bfloat16 would be off by 0.004 above 1, by 0.002 between 0.5 and 1, by half of that between
// 0.25 and 0.5, and so on.
//
// A tensor of slopes is (N, H), row-major, H a multiple of 16. Within each 16 columns of a row the order is another
// one: a thread of the tensor cores' GEMM has four of these columns, and their bytes lie side by side.
#pragma once

#include <cmath>
#include <cstdint>

namespace ridgeline::gpt2 {

inline constexpr float kGeluSlopeSteps = 202.0F;
inline constexpr float kGeluSlopeZero = 26.0F;  // the byte of a slope of 0

/// A byte b arrives as the float 128 + b/256, whose bits are put together by one instruction. The slope is then
/// one multiply-add away: that of 0 and of 1 within 2^-16.
inline constexpr float kGeluSlopeScale = 256.0F / kGeluSlopeSteps;
inline constexpr float kGeluSlopeOffset = -(128.0F * 256.0F + kGeluSlopeZero) / kGeluSlopeSteps;

/// What the kernels take a byte for, to the bit.
inline float gelu_slope_of(std::uint8_t byte) {
  return std::fma(128.0F + static_cast<float>(byte) / 256.0F, kGeluSlopeScale, kGeluSlopeOffset);
}

/// Where in its row the slope of a column is.
constexpr std::int64_t gelu_slope_place(std::int64_t column) {
  const std::int64_t of_sixteen = column % 16;
  return column - of_sixteen + of_sixteen % 8 / 2 * 4 + of_sixteen / 8 * 2 + of_sixteen % 2;
}

}  // namespace ridgeline::gpt2
