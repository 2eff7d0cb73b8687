// packed.cuh: 128-bit loads and stores of 4 floats or 8 bfloat16, the widest access a thread makes.
#pragma once

#include <cstdint>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2 {

template <typename T>
inline constexpr int kPackedSize = 16 / static_cast<int>(sizeof(T));

/// 16 bytes of T, as four 32-bit registers: arrays of 16-bit values would take a register each.
template <typename T>
struct Packed {
  uint4 bits;
};

/// bfloat16 is the upper half of a float, so widening is a shift or a mask.
template <typename T>
__device__ inline void unpack(const Packed<T>& packed, float (&values)[kPackedSize<T>]) {
  const unsigned words[4] = {packed.bits.x, packed.bits.y, packed.bits.z, packed.bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      values[i] = __uint_as_float(words[i]);
    } else {
      values[2 * i] = __uint_as_float(words[i] << 16);
      values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
    }
  }
}

/// Two floats to one register of bfloat16, `low` in the lower half; rounds to nearest even.
__device__ inline unsigned pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  unsigned word;
  static_assert(sizeof(pair) == sizeof(word));
  memcpy(&word, &pair, sizeof(word));
  return word;
}

template <typename T>
__device__ inline Packed<T> pack(const float (&values)[kPackedSize<T>]) {
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      words[i] = __float_as_uint(values[i]);
    } else {
      words[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
    }
  }
  return {make_uint4(words[0], words[1], words[2], words[3])};
}

/// Addresses must be 16-byte aligned.
template <typename T>
__device__ inline Packed<T> load128(const T* address) {
  return {*reinterpret_cast<const uint4*>(address)};
}
/// Read once, not again soon: asks the caches to evict it first.
template <typename T>
__device__ inline Packed<T> load128_streaming(const T* address) {
  return {__ldcs(reinterpret_cast<const uint4*>(address))};
}
template <typename T>
__device__ inline void store128(T* address, const Packed<T>& packed) {
  *reinterpret_cast<uint4*>(address) = packed.bits;
}
/// Written and not read by a kernel that follows soon.
template <typename T>
__device__ inline void store128_streaming(T* address, const Packed<T>& packed) {
  __stcs(reinterpret_cast<uint4*>(address), packed.bits);
}

/// Makes the compiler forget what it derived from these bits, so that it converts them again rather than hold
/// the FP32 values (twice the registers) across a barrier.
template <typename T>
__device__ inline void forget_conversions(Packed<T>& packed) {
  if constexpr (sizeof(T) < sizeof(float)) {
    asm volatile("" : "+r"(packed.bits.x), "+r"(packed.bits.y), "+r"(packed.bits.z), "+r"(packed.bits.w));
  }
}

/// Host side: may this pointer be accessed 128 bits at a time?
inline bool is_aligned_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace ridgeline::gpt2
