// What the FP8 kernels are built from, without a GPU: the formats, scales and their history, the
// transposition of bytes, and which thread owns what. The casting kernel is run here as a loop over its
// threads.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "gpt2/ops/fp8/fp8.h"
#include "gpt2/ops/fp8/scaling.h"
#include "gpt2/ops/fp8/transpose_tile.h"
#include "gpt2/ops/norm/fp8_table.h"

namespace ridgeline::gpt2 {
namespace {

constexpr Fp8Format kFormats[] = {Fp8Format::e4m3, Fp8Format::e5m2};

bool is_power_of_two(float value) {
  int exponent = 0;
  return value > 0.0F && std::frexp(value, &exponent) == 0.5F;
}

// The value of the bits by the formats' definition, apart from the header that the kernels use.
double value_of(unsigned bits, Fp8Format format) {
  const int fraction_bits = format == Fp8Format::e4m3 ? 3 : 2;
  const int bias = format == Fp8Format::e4m3 ? 7 : 15;
  const auto exponent = static_cast<int>((bits & 0x7fU) >> fraction_bits);
  const auto fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1U));
  const double sign = (bits & 0x80U) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

bool is_finite(unsigned bits, Fp8Format format) {
  return format == Fp8Format::e4m3 ? (bits & 0x7fU) != 0x7fU : (bits & 0x7cU) != 0x7cU;
}

TEST(Fp8Format, ValuesAreThoseOfTheDefinition) {
  for (const Fp8Format format : kFormats) {
    double largest = 0.0;
    for (unsigned bits = 0; bits < 256; ++bits) {
      if (!is_finite(bits, format)) continue;
      const double value = value_of(bits, format);
      EXPECT_EQ(static_cast<double>(fp8_value(static_cast<std::uint8_t>(bits), format)), value) << bits;
      EXPECT_EQ(fp8_bits(static_cast<float>(value), format), bits);
      largest = std::max(largest, value);
    }
    EXPECT_EQ(static_cast<double>(fp8_largest(format)), largest);
  }
}

TEST(Fp8Format, RoundsToTheNearestAndHalvesToEven) {
  for (const Fp8Format format : kFormats) {
    for (unsigned bits = 0; bits + 1 < 128 && is_finite(bits + 1, format); ++bits) {
      const double low = value_of(bits, format);
      const double high = value_of(bits + 1, format);
      const double middle = (low + high) / 2;
      const unsigned even = bits % 2 == 0 ? bits : bits + 1;
      EXPECT_EQ(fp8_bits(static_cast<float>(middle), format), even);
      EXPECT_EQ(fp8_bits(static_cast<float>(middle * (1 - 1e-6)), format), bits);
      EXPECT_EQ(fp8_bits(static_cast<float>(middle * (1 + 1e-6)), format), bits + 1);
    }
  }
}

TEST(Fp8Format, SaturatesAndKeepsNan) {
  for (const Fp8Format format : kFormats) {
    const float largest = fp8_largest(format);
    for (const float beyond : {1.5F * largest, 1e30F, std::numeric_limits<float>::infinity()}) {
      EXPECT_EQ(fp8_value(fp8_bits(beyond, format), format), largest);
      EXPECT_EQ(fp8_value(fp8_bits(-beyond, format), format), -largest);
    }
    EXPECT_TRUE(std::isnan(fp8_value(fp8_bits(std::numeric_limits<float>::quiet_NaN(), format), format)));
  }
}

TEST(Fp8Scale, IsTheLargestPowerOfTwoThatFits) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(-60.0F, 60.0F);
  for (const Fp8Format format : kFormats) {
    for (int i = 0; i < 2000; ++i) {
      const float amax = std::exp2(exponent(random));
      const float scale = fp8_scale(amax, format);
      ASSERT_TRUE(is_power_of_two(scale)) << amax;
      // Half an ulp of the quotient may be lost on the way.
      EXPECT_LE(amax * scale, fp8_largest(format) * (1 + 1e-6F)) << amax;
      EXPECT_GT(2 * amax * scale, fp8_largest(format) * (1 - 1e-6F)) << amax;
    }
    EXPECT_EQ(fp8_scale(fp8_largest(format), format), 1.0F);
    EXPECT_EQ(fp8_scale(std::nextafter(fp8_largest(format), 1e30F), format), 0.5F);
    EXPECT_EQ(fp8_scale(fp8_largest(format) / 8, format), 8.0F);
  }
}

TEST(Fp8Scale, HasAnInverseWhateverTheMagnitude) {
  for (const Fp8Format format : kFormats) {
    for (const float amax : {std::numeric_limits<float>::denorm_min(), 1e-38F, 1e-33F, 1e33F,
                             std::numeric_limits<float>::max()}) {
      const float scale = fp8_scale(amax, format);
      ASSERT_TRUE(is_power_of_two(scale)) << amax;
      EXPECT_TRUE(std::isnormal(scale) && std::isnormal(1.0F / scale)) << amax;
    }
    for (const float amax :
         {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      EXPECT_EQ(fp8_scale(amax, format), 0.0F) << amax;
    }
  }
}

// State on the host, with the same layout.
struct HostState {
  HostState(std::int64_t tensors, std::int64_t e4m3)
      : values(static_cast<std::size_t>(kFp8StateFloats * tensors)), state{values.data(), tensors, e4m3} {
    for (std::int64_t t = 0; t < tensors; ++t) {
      at(kFp8ScaleAt, t) = 8.0F;
      at(kFp8Inverse, t) = 0.125F;
    }
  }
  float& at(int place, std::int64_t tensor) {
    return values[static_cast<std::size_t>(tensor * kFp8StateFloats + place)];
  }
  float scale(std::int64_t tensor) { return *state.scale(tensor); }
  void step(std::int64_t tensor, float amax) {
    at(kFp8Amax, tensor) = amax;
    fp8_update_tensor(state, tensor);
  }
  std::vector<float> values;
  Fp8ScalingState state;
};

TEST(Fp8History, ScaleFallsAtOnceAndRisesWhenTheLargestIsForgotten) {
  HostState host(3, 2);
  host.step(1, 2.0F);
  EXPECT_EQ(host.scale(1), 128.0F);  // 448 / 2 is 224
  host.step(1, 100.0F);
  EXPECT_EQ(host.scale(1), 4.0F);
  for (int step = 1; step < kFp8History; ++step) {
    host.step(1, 2.0F);
    EXPECT_EQ(host.scale(1), 4.0F) << step;
  }
  host.step(1, 2.0F);
  EXPECT_EQ(host.scale(1), 128.0F);
  EXPECT_EQ(*host.state.inverse(1), 1.0F / 128.0F);
  // The others are untouched.
  for (const std::int64_t other : {0, 2}) {
    EXPECT_EQ(host.scale(other), 8.0F);
    for (int age = 0; age < kFp8History; ++age) EXPECT_EQ(host.at(kFp8FirstOfHistory + age, other), 0.0F);
  }
}

TEST(Fp8History, KeepsTheStepsInTheirOrder) {
  HostState host(2, 1);
  for (int step = 1; step <= kFp8History + 3; ++step) host.step(0, static_cast<float>(step));
  for (int age = 0; age < kFp8History; ++age) {
    EXPECT_EQ(host.at(kFp8FirstOfHistory + age, 0), static_cast<float>(kFp8History + 3 - age));
  }
  EXPECT_EQ(host.at(kFp8Amax, 0), 0.0F);
}

TEST(Fp8History, TensorsBehindTheFirstAreE5m2) {
  HostState host(4, 2);
  for (std::int64_t t = 0; t < 4; ++t) host.step(t, 1.0F);
  EXPECT_EQ(host.scale(0), 256.0F);
  EXPECT_EQ(host.scale(1), 256.0F);
  EXPECT_EQ(host.scale(2), 32768.0F);
  EXPECT_EQ(host.scale(3), 32768.0F);
}

TEST(Fp8History, WhatSaysNothingChangesNothing) {
  HostState host(1, 1);
  for (const float nothing :
       {0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    host.step(0, nothing);
    EXPECT_EQ(host.scale(0), 8.0F);
    EXPECT_EQ(host.at(kFp8FirstOfHistory, 0), 0.0F);
    EXPECT_EQ(host.at(kFp8Amax, 0), 0.0F);
  }
  host.step(0, 3.0F);
  EXPECT_EQ(host.scale(0), 128.0F);
  for (int step = 0; step < kFp8History + 5; ++step) host.step(0, 0.0F);
  EXPECT_EQ(host.scale(0), 128.0F) << "a tensor of zeros keeps the scale it had";
}

TEST(TransposeBytes, MovesEachByteToItsPlace) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    std::uint32_t words[4];
    std::uint8_t bytes[4][4];
    for (int r = 0; r < 4; ++r) {
      words[r] = static_cast<std::uint32_t>(random());
      for (int c = 0; c < 4; ++c) bytes[r][c] = static_cast<std::uint8_t>(words[r] >> 8 * c);
    }
    transpose_bytes(words);
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 4; ++c) ASSERT_EQ(static_cast<std::uint8_t>(words[c] >> 8 * r), bytes[r][c]);
    }
  }
}

// The casting kernel, thread by thread: every byte of both outputs is written once, with the right one.
TEST(TransposeTile, ThreadsWriteBothOrientationsOnce) {
  struct Size {
    std::int64_t rows, columns;
  };
  for (const Size size :
       {Size{16, 16}, Size{48, 144}, Size{128, 256}, Size{144, 272}, Size{1040, 768}, Size{32, 1600}}) {
    const auto [rows, columns] = size;
    std::mt19937 random(7);
    std::vector<std::uint8_t> inp(static_cast<std::size_t>(rows * columns));
    for (auto& byte : inp) byte = static_cast<std::uint8_t>(random());
    std::vector<int> out(inp.size(), -1);
    std::vector<int> transposed(inp.size(), -1);
    const std::int64_t column_tiles = transpose_column_tiles(columns);
    for (std::int64_t block = 0; block < column_tiles * transpose_row_tiles(rows); ++block) {
      for (int thread = 0; thread < kTransposeBlock; ++thread) {
        const TransposeTile tile = transpose_tile(block, thread, column_tiles);
        if (tile.row >= rows || tile.column >= columns) continue;
        ASSERT_LE(tile.row + kTransposeRows, rows);
        ASSERT_LE(tile.column + kTransposeColumns, columns);
        ASSERT_EQ((tile.row / kTransposeTileRows), tile.row_tile);
        for (int four = 0; four < kTransposeRows; four += 4) {
          for (int half = 0; half < 2; ++half) {
            std::uint32_t words[4];
            for (int r = 0; r < 4; ++r) {
              words[r] = 0;
              for (int c = 0; c < 4; ++c) {
                const std::int64_t at = (tile.row + four + r) * columns + tile.column + 4 * half + c;
                words[r] |= std::uint32_t{inp[static_cast<std::size_t>(at)]} << 8 * c;
                ASSERT_EQ(out[static_cast<std::size_t>(at)], -1);
                out[static_cast<std::size_t>(at)] = inp[static_cast<std::size_t>(at)];
              }
            }
            transpose_bytes(words);
            for (int c = 0; c < 4; ++c) {
              for (int r = 0; r < 4; ++r) {
                const std::int64_t at = (tile.column + 4 * half + c) * rows + tile.row + four + r;
                ASSERT_EQ(transposed[static_cast<std::size_t>(at)], -1);
                transposed[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(words[c] >> 8 * r);
              }
            }
          }
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto here = static_cast<std::size_t>(r * columns + c);
        ASSERT_EQ(out[here], inp[here]);
        ASSERT_EQ(transposed[static_cast<std::size_t>(c * rows + r)], inp[here]);
      }
    }
  }
}

TEST(TransposeTile, ColumnSumsOfAWarpMeetInItsFirstFourLanes) {
  // Lanes that differ by 4, 8 and 16 have the same columns and other rows; the first four have all columns.
  const std::int64_t column_tiles = transpose_column_tiles(768);
  for (int lane = 0; lane < 32; ++lane) {
    const TransposeTile first = transpose_tile(1, lane % 4, column_tiles);
    const TransposeTile tile = transpose_tile(1, lane, column_tiles);
    EXPECT_EQ(tile.column, first.column);
    EXPECT_EQ(tile.row, first.row + lane / 4 * kTransposeRows);
  }
}

TEST(Fp8Table, EveryPieceIsStoredOnceWithoutBankConflicts) {
  for (const int channels : {16, 48, 128, 768, 1024, 1280, 1600, 1792}) {
    std::set<std::pair<int, int>> pieces;
    for (int turn = 0; turn < fp8_table_turns(channels); ++turn) {
      std::array<std::set<int>, kFp8TableRows / 2> banks;
      int active = 0;
      for (int lane = 0; lane < 32; ++lane) {
        const Fp8TablePiece piece = fp8_table_piece(turn, lane);
        if (piece.quad >= channels / 4) continue;
        ++active;
        EXPECT_TRUE(pieces.emplace(piece.quad, piece.row).second);
        for (int r = 0; r < kFp8TableRows / 2; ++r) {
          banks[static_cast<std::size_t>(r)].insert(
              ((piece.row + r) * fp8_table_pitch(channels) + piece.quad) % 32);
        }
      }
      for (const auto& in_row : banks) EXPECT_EQ(static_cast<int>(in_row.size()), active) << channels;
    }
    EXPECT_EQ(static_cast<int>(pieces.size()), 2 * channels / 4);
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
