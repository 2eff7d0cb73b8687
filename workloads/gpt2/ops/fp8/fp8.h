// fp8.h: the two 8-bit floating-point formats, how a tensor's scale follows from its largest magnitude, and how 4 x 4
// bytes are transposed in registers.
//
// A tensor x is stored as q = round(x * scale), rounded to nearest even and saturated to the largest finite value;
// GEMMs give q * inverse back, inverse = 1 / scale. Scales are powers of two, so that both are exact.
#pragma once

#include <cuda_fp8.h>

#include <bit>
#include <cstdint>

namespace ridgeline::gpt2 {

/// e4m3: activations and weights; e5m2: gradients, which need its range more than a third bit of fraction.
enum class Fp8Format { e4m3, e5m2 };

constexpr float fp8_largest(Fp8Format format) {
  return format == Fp8Format::e4m3 ? 448.0F : 57344.0F;
}

/// The number behind the bits: a float for every value of either format.
__host__ __device__ inline float fp8_value(std::uint8_t bits, Fp8Format format) {
  const __half_raw half = __nv_cvt_fp8_to_halfraw(bits, format == Fp8Format::e4m3 ? __NV_E4M3 : __NV_E5M2);
  return __half2float(__half(half));
}

/// To nearest even, beyond the largest finite value to that; NaN stays NaN.
__host__ __device__ inline std::uint8_t fp8_bits(float value, Fp8Format format) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, format == Fp8Format::e4m3 ? __NV_E4M3 : __NV_E5M2);
}

/// The largest power of two that takes `amax` to at most the format's largest value, within 2^-100 to 2^100, so that
/// its inverse is a normal number too. 0 where amax says nothing of the tensor: zero, or not finite.
constexpr float fp8_scale(float amax, Fp8Format format) {
  constexpr float kMax = 0x1p100F;
  constexpr float kMin = 0x1p-100F;
  if (!(amax > 0.0F) || !(amax <= 3.402823466e38F)) return 0.0F;
  const float ratio = fp8_largest(format) / amax;
  if (ratio >= kMax) return kMax;
  if (ratio <= kMin) return kMin;
  // A normal number: without its fraction it is the power of two below.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(ratio) & 0xff800000U);
}

/// As the instruction: byte i of the result is byte (selector >> 4i) & 7 of the eight bytes of low, then high.
__host__ __device__ inline std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high,
                                                       std::uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, selector);
#else
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto byte = static_cast<std::uint32_t>(both >> (8 * (selector >> 4 * i & 7U)) & 0xffU);
    result |= byte << 8 * i;
  }
  return result;
#endif
}

/// Byte c of word r goes to byte r of word c.
__host__ __device__ inline void transpose_bytes(std::uint32_t (&words)[4]) {
  const std::uint32_t low01 = permute_bytes(words[0], words[1], 0x5140);   // bytes 0 and 1 of both, in turn
  const std::uint32_t high01 = permute_bytes(words[0], words[1], 0x7362);  // bytes 2 and 3
  const std::uint32_t low23 = permute_bytes(words[2], words[3], 0x5140);
  const std::uint32_t high23 = permute_bytes(words[2], words[3], 0x7362);
  words[0] = permute_bytes(low01, low23, 0x5410);
  words[1] = permute_bytes(low01, low23, 0x7632);
  words[2] = permute_bytes(high01, high23, 0x5410);
  words[3] = permute_bytes(high01, high23, 0x7632);
}

/// What a kernel that writes FP8 needs to know of the tensor. In device memory.
struct Fp8Scale {
  const float* scale = nullptr;
  /// The largest magnitude before scaling is added to it by atomic maximum, as the bits of a float; null: not wanted.
  /// NaN counts as nothing.
  std::uint32_t* amax = nullptr;
};

/// Sizes a transposed FP8 tensor may have: cuBLASLt wants rows of whole 16 bytes either way.
constexpr bool fp8_size_supported(std::int64_t rows, std::int64_t columns) {
  return rows > 0 && columns > 0 && rows % 16 == 0 && columns % 16 == 0;
}

}  // namespace ridgeline::gpt2
