#include "alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

constexpr std::uint32_t kNone = Alignment::kNone;
using Places = std::vector<std::uint32_t>;

std::vector<LaunchKey> step(std::initializer_list<LaunchKey> keys) {
  return keys;
}

TEST(Alignment, EqualStepsAlignPlaceByPlace) {
  const auto a = step({{1, 1}, {2, 1}, {1, 1}});
  EXPECT_EQ(accepted(align(a, a)).same, (Places{0, 1, 2}));
  EXPECT_EQ(accepted(align(a, a)).other_configuration, (Places{kNone, kNone, kNone}));
  EXPECT_TRUE(accepted(align({}, a)).same.empty());
  EXPECT_EQ(accepted(align(a, {})).same, (Places{kNone, kNone, kNone}));
}

TEST(Alignment, ALaunchMoreMovesTheOthersOn) {
  const auto a = step({{1, 1}, {2, 1}, {3, 1}, {2, 1}});
  const auto b = step({{1, 1}, {9, 1}, {2, 1}, {3, 1}, {2, 1}});
  EXPECT_EQ(accepted(align(a, b)).same, (Places{0, 2, 3, 4}));
  EXPECT_EQ(accepted(align(b, a)).same, (Places{0, kNone, 1, 2, 3}));
}

TEST(Alignment, AnotherGridIsNamedAndLosesOnlyItself) {
  const auto a = step({{1, 1}, {2, 7}, {3, 1}});
  const auto b = step({{1, 1}, {2, 8}, {3, 1}});
  EXPECT_EQ(accepted(align(a, b)).same, (Places{0, kNone, 2}));
  EXPECT_EQ(accepted(align(a, b)).other_configuration, (Places{kNone, 1, kNone}));
}

TEST(Alignment, WhatChangedItsPlaceIsFoundByItsKey) {
  const auto a = step({{1, 1}, {2, 1}, {3, 1}, {4, 1}});
  const auto b = step({{2, 1}, {3, 1}, {4, 1}, {1, 1}});
  EXPECT_EQ(accepted(align(a, b)).same, (Places{3, 0, 1, 2}));
}

TEST(Alignment, OfRepeatedLayersTheRightOneIsMissing) {
  std::vector<LaunchKey> a, b;
  for (std::uint64_t layer = 0; layer < 12; ++layer) {
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel) {
      a.push_back({kernel, kernel == 3 ? layer : 0});  // one of its kernels tells the layers apart
      if (layer != 5) b.push_back(a.back());
    }
  }
  const Alignment found = accepted(align(a, b));
  // The launches that two layers have in common may be either's.
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    if (a[i].kernel == 3) {
      EXPECT_EQ(found.same[i], i < 20 ? i : i < 24 ? kNone : i - 4) << i;
    }
  }
  EXPECT_EQ(std::count(found.same.begin(), found.same.end(), kNone), 4);
}

// As many pairs in order as there can be, by the textbook's table; no place twice; equal keys only.
TEST(Alignment, IsTheLongestCommonOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<LaunchKey> a(random() % 30), b(random() % 30);
    for (auto* keys : {&a, &b})
      for (LaunchKey& key : *keys) key = {static_cast<std::int64_t>(random() % 4), random() % 2};
    std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1, 0));
    for (std::size_t i = 1; i <= a.size(); ++i)
      for (std::size_t j = 1; j <= b.size(); ++j)
        table[i][j] =
            a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    const Alignment found = accepted(align(a, b));
    std::set<std::uint32_t> used;
    int pairs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (const std::uint32_t place : {found.same[i], found.other_configuration[i]}) {
        if (place == kNone) continue;
        ASSERT_LT(place, b.size());
        EXPECT_TRUE(used.insert(place).second);
        EXPECT_EQ(a[i].kernel, b[place].kernel);
      }
      if (found.same[i] == kNone) continue;
      EXPECT_EQ(a[i], b[found.same[i]]);
      ++pairs;
    }
    EXPECT_GE(pairs, table[a.size()][b.size()]);
  }
}

TEST(Alignment, StepsWithoutMuchInCommonAreStillPairedByKey) {
  std::vector<LaunchKey> a, b;
  for (std::int64_t i = 0; i < 4000; ++i) {
    a.push_back({1, static_cast<std::uint64_t>(i)});
    b.push_back({1, static_cast<std::uint64_t>(3999 - i)});
  }
  const Alignment found = accepted(align(a, b));
  for (std::uint32_t i = 0; i < a.size(); ++i) EXPECT_EQ(found.same[i], 3999 - i);
}

}  // namespace
}  // namespace ridgeline::analyzer
