// packed.cuh: 128-bit loads and stores of 4 floats or 8 bfloat16, the widest access a thread makes.
#pragma once

#include <cstdint>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2 {

// 16 bytes of T in registers. Addresses given to load/store must be 16-byte aligned.
template <typename T>
struct alignas(16) Packed {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T values[kSize];

  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }
};

template <typename T>
inline constexpr int kPackedSize = Packed<T>::kSize;

namespace detail {
template <typename T>
__device__ inline Packed<T> from_bits(uint4 bits) {
  Packed<T> out;
  static_assert(sizeof(out) == sizeof(bits));
  memcpy(&out, &bits, sizeof(bits));
  return out;
}
template <typename T>
__device__ inline uint4 to_bits(const Packed<T>& value) {
  uint4 bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
}  // namespace detail

template <typename T>
__device__ inline Packed<T> load128(const T* address) {
  return detail::from_bits<T>(*reinterpret_cast<const uint4*>(address));
}
// Read once, not again soon: asks the caches to evict it first.
template <typename T>
__device__ inline Packed<T> load128_streaming(const T* address) {
  return detail::from_bits<T>(__ldcs(reinterpret_cast<const uint4*>(address)));
}
template <typename T>
__device__ inline void store128(T* address, const Packed<T>& value) {
  *reinterpret_cast<uint4*>(address) = detail::to_bits(value);
}
// Written and not read by a kernel that follows soon.
template <typename T>
__device__ inline void store128_streaming(T* address, const Packed<T>& value) {
  __stcs(reinterpret_cast<uint4*>(address), detail::to_bits(value));
}

// Host side: may this pointer be accessed 128 bits at a time?
inline bool is_aligned_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace ridgeline::gpt2
