// Stochastic rounding without a GPU: the generator, the rounding of one value, what the bits depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gpt2/ops/optimizer/stochastic_rounding.h"

namespace ridgeline::gpt2 {
namespace {

float float_of(std::uint32_t bits) {
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(StochasticRounding, PhiloxYieldsThePublishedBlocks) {
  // Known answers of the Random123 distribution (kat_vectors, philox4x32 with 10 rounds).
  struct Known {
    PhiloxBlock counter;
    std::uint64_t key;
    PhiloxBlock block;
  };
  const Known known[] = {
      {{{0, 0, 0, 0}}, 0, {{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}}},
      {{{0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}},
       0xffffffffffffffffU,
       {{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}}},
      {{{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}},
       0x299f31d0a4093822U,
       {{0xd16cfe09U, 0x94fdcceb, 0x5001e420U, 0x24126ea1U}}},
  };
  for (const Known& k : known) {
    const PhiloxBlock got = philox(k.counter, k.key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], k.block.word[i]) << i;
  }
}

TEST(StochasticRounding, GoesUpInExactlyTheDiscardedShareOfAllWords) {
  for (const std::uint32_t upper : {0x3f80U, 0xbf80U, 0x0001U, 0x0000U, 0x42f7U, 0xc2ffU}) {
    for (const std::uint32_t lower : {0U, 1U, 0x4000U, 0x7fffU, 0x8000U, 0xffffU}) {
      const float value = float_of(upper << 16 | lower);
      const float low = float_of(upper << 16);
      const float high = float_of((upper + 1) << 16);
      std::uint32_t ups = 0;
      for (std::uint32_t w = 0; w < 0x10000U; ++w) {
        const float got = to_float(round_stochastically(value, w << 16 | 0xabcdU));
        ASSERT_TRUE(got == low || got == high) << value << " became " << got;
        if (got == high && high != low) ++ups;
      }
      EXPECT_EQ(ups, lower) << value;
    }
  }
}

TEST(StochasticRounding, NoWordMovesAValueThatBf16Holds) {
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper) {
    const float value = float_of(upper << 16);
    for (const std::uint32_t word : {0U, 0x80000000U, 0xffffffffU}) {
      const float got = to_float(round_stochastically(value, word));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(got));
      } else {
        EXPECT_EQ(got, value);
        EXPECT_EQ(std::signbit(got), std::signbit(value));
      }
    }
  }
  // NaN whose payload lies in the discarded bits alone must not become infinity.
  EXPECT_TRUE(std::isnan(to_float(round_stochastically(float_of(0x7f800001U), 0))));
}

TEST(StochasticRounding, IsUnbiasedOverStepsAndElements) {
  constexpr std::int64_t kElements = 4096;
  constexpr std::int64_t kSteps = 64;
  constexpr double kSpacing = 0x1p-7;
  const float value = 1.0F + 0.3F * static_cast<float>(kSpacing);
  const double share = (static_cast<double>(value) - 1.0) / kSpacing;
  const double deviation = kSpacing * std::sqrt(share * (1.0 - share));
  double sum = 0.0;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      sum += static_cast<double>(to_float(round_stochastically(value, rounding_word(7, step, i))));
    }
  }
  const double count = static_cast<double>(kElements * kSteps);
  EXPECT_NEAR(sum / count, static_cast<double>(value), 5.0 * deviation / std::sqrt(count));
}

TEST(StochasticRounding, BitsDependOnSeedStepAndElement) {
  const std::uint32_t word = rounding_word(1, 1, 5);
  EXPECT_EQ(word, rounding_word(1, 1, 5));
  EXPECT_EQ(word, rounding_words(1, 1, 1).word[1]);
  EXPECT_NE(word, rounding_word(2, 1, 5));
  EXPECT_NE(word, rounding_word(std::uint64_t{1} << 32, 1, 5));
  EXPECT_NE(word, rounding_word(1, 2, 5));
  EXPECT_NE(word, rounding_word(1, 1, 6));
  // Elements beyond 2^34, whose group does not fit 32 bits.
  EXPECT_NE(word, rounding_word(1, 1, 5 + (std::int64_t{1} << 34)));
}

TEST(StochasticRounding, AnOffsetIsAPlaceInTheSameSequence) {
  std::vector<float> values(1001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.001F * static_cast<float>(i + 1);
  std::vector<bf16> whole(values.size());
  std::vector<bf16> part(values.size() - 7);
  stochastic_convert_cpu(whole.data(), values.data(), 1001, 3, 9);
  stochastic_convert_cpu(part.data(), values.data() + 7, 1001 - 7, 3, 9, 7);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(to_float(part[i]), to_float(whole[i + 7])) << i;
}

}  // namespace
}  // namespace ridgeline::gpt2
