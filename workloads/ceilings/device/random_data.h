// random_data.h: the inputs of all benchmarks. The same bits on GPU and CPU, from a seed and an index, so that
// a result can be checked without the input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace ridgeline::ceilings {

#ifdef __CUDACC__
#define RIDGELINE_BOTH __host__ __device__
#else
#define RIDGELINE_BOTH
#endif

/// Of 32 bits; Wang's mix, as cheap as a write benchmark can bear.
RIDGELINE_BOTH inline std::uint32_t random_bits(std::uint32_t seed, std::uint64_t index) {
  std::uint32_t x =
      static_cast<std::uint32_t>(index) ^ (static_cast<std::uint32_t>(index >> 32) * 0x85ebca6bU) ^ seed;
  x = (x ^ 61U) ^ (x >> 16);
  x *= 9U;
  x ^= x >> 4;
  x *= 0x27d4eb2dU;
  return x ^ (x >> 15);
}

/// The same as a float's bits: the number is 1 or more and below 2.
RIDGELINE_BOTH inline std::uint32_t random_float_bits(std::uint32_t seed, std::uint64_t index) {
  return 0x3f800000U | (random_bits(seed, index) >> 9);
}

inline float as_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// words[i] = random_float_bits(seed, i).
void fill_floats(void* words, std::int64_t count, std::uint32_t seed, cudaStream_t stream);

/// Elements of matrices of products. i8 is uniform over −127..127; the others are near a normal distribution of
/// deviation 1, rounded to the type (f32, f64: not rounded).
enum class Element { f32, f64, bf16, f16, e4m3, i8 };
void fill_elements(void* data, std::int64_t count, Element element, std::uint32_t seed, cudaStream_t stream);

/// Sum of random_float_bits(seed, i) over i < count, modulo 2^32, by the GPU, from the generator and not from memory.
[[nodiscard]] std::uint32_t sum_of_floats(std::int64_t count, std::uint32_t seed, cudaStream_t stream);

}  // namespace ridgeline::ceilings
