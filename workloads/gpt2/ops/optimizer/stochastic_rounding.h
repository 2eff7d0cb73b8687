// stochastic_rounding.h: FP32 to bf16, up or down with the probability that makes the mean exact.
//
// The random bits are a function of (seed, step, element) alone: whichever thread rounds an element, in
// whatever launch, gets the same result, and a resumed run repeats what the first one did.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2 {

struct PhiloxBlock {
  std::uint32_t word[4];
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random bits of a
/// 128-bit counter and a 64-bit key.
__host__ __device__ inline PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

inline constexpr int kRoundingGroup = 4;  // consecutive elements that share one Philox block

/// The random words of elements 4*group to 4*group + 3 at optimizer step `step`.
__host__ __device__ inline PhiloxBlock rounding_words(std::uint64_t seed, std::int64_t step,
                                                      std::int64_t group) {
  const auto g = static_cast<std::uint64_t>(group);
  const auto s = static_cast<std::uint64_t>(step);
  return philox({{static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(g >> 32),
                  static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(s >> 32)}},
                seed);
}
__host__ __device__ inline std::uint32_t rounding_word(std::uint64_t seed, std::int64_t step,
                                                       std::int64_t element) {
  return rounding_words(seed, step, element / kRoundingGroup).word[element % kRoundingGroup];
}

/// Adds 16 of the word's bits below the last bit of bf16, then truncates: away from zero with the probability
/// (discarded part) / (spacing). Values that bf16 holds stay as they are, infinities and NaN too; above the
/// largest finite bf16 the next step is infinity, as in rounding to nearest.
__host__ __device__ inline bf16 round_stochastically(float value, std::uint32_t word) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7f800000U) == 0x7f800000U) return from_float<bf16>(value);
  __nv_bfloat16_raw raw;
  raw.x = static_cast<unsigned short>((bits + (word >> 16)) >> 16);
  return bf16(raw);
}

/// What launch_adamw makes of the master weights inp, elements first_element to first_element + n - 1 of the
/// model's: the reference.
void stochastic_convert_cpu(bf16* out, const float* inp, std::int64_t n, std::uint64_t seed,
                            std::int64_t step, std::int64_t first_element = 0);

}  // namespace ridgeline::gpt2
