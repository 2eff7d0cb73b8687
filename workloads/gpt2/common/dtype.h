// dtype.h: the two element types of activations and parameters, and their conversions.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ridgeline::gpt2 {

using bf16 = __nv_bfloat16;

template <typename T>
inline constexpr bool kIsElement = std::is_same_v<T, float> || std::is_same_v<T, bf16>;

template <typename T>
__host__ __device__ inline float to_float(T value) {
  static_assert(kIsElement<T>);
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return __bfloat162float(value);
  }
}

/// Rounds to nearest even; NaN stays NaN, values beyond the largest finite become infinite.
template <typename T>
__host__ __device__ inline T from_float(float value) {
  static_assert(kIsElement<T>);
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return __float2bfloat16_rn(value);
  }
}

template <typename T>
constexpr const char* dtype_name() {
  static_assert(kIsElement<T>);
  return std::is_same_v<T, float> ? "fp32" : "bf16";
}

}  // namespace ridgeline::gpt2
