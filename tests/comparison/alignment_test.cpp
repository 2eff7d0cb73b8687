#include "alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ridgeline::comparison {
namespace {

using Columns = std::vector<AlignedPair>;

Columns aligned(std::size_t first, std::size_t second, double score) {
  return align(first, second, [&](std::size_t, std::size_t) { return score; });
}

TEST(Alignment, ASideWithNothingLeavesTheOtherUnpaired) {
  EXPECT_EQ(aligned(0, 3, 1), (Columns{{std::nullopt, 0}, {std::nullopt, 1}, {std::nullopt, 2}}));
  EXPECT_EQ(aligned(2, 0, 1), (Columns{{0, std::nullopt}, {1, std::nullopt}}));
  EXPECT_TRUE(aligned(0, 0, 1).empty());
}

// Opening a gap costs a whole pair, making it longer a fifth: two gaps of three cost 2.8, three pairs 3 or 2.7.
TEST(Alignment, WhatIsUnlikeStaysApartWhereGapsCostLess) {
  for (const auto& [first, second] : aligned(3, 3, -1.0)) EXPECT_NE(first.has_value(), second.has_value());
  EXPECT_EQ(aligned(3, 3, -0.9), (Columns{{0, 0}, {1, 1}, {2, 2}}));
}

TEST(Alignment, WhatWasInsertedAtTheEndIsAGapThere) {
  const auto same = [](std::size_t i, std::size_t j) { return i == j ? 1.0 : -1.0; };
  EXPECT_EQ(align(1, 3, same), (Columns{{0, 0}, {std::nullopt, 1}, {std::nullopt, 2}}));
  EXPECT_EQ(align(3, 1, same), (Columns{{0, 0}, {1, std::nullopt}, {2, std::nullopt}}));
}

// What columns score: pairs as they are, each run of gaps on one side its opening and what makes it longer.
double total_of(const Columns& columns, const std::vector<double>& scores, std::size_t second,
                const AlignmentCosts& costs) {
  double total = 0;
  int before = 0;  // 1: a gap in the second, 2: in the first
  for (const auto& [i, j] : columns) {
    const int now = !j ? 1 : !i ? 2 : 0;
    if (now == 0)
      total += scores[*i * second + *j];
    else
      total -= now == before ? costs.gap_extend : costs.gap_open;
    before = now;
  }
  return total;
}

// The highest score of all alignments, each tried.
double best_total(std::size_t i, std::size_t j, std::size_t first, std::size_t second,
                  const std::vector<double>& scores, const AlignmentCosts& costs, Columns& taken) {
  if (i == first && j == second) return total_of(taken, scores, second, costs);
  double best = -std::numeric_limits<double>::infinity();
  const auto take = [&](std::optional<std::uint32_t> a, std::optional<std::uint32_t> b) {
    taken.emplace_back(a, b);
    best = std::max(best, best_total(i + (a ? 1 : 0), j + (b ? 1 : 0), first, second, scores, costs, taken));
    taken.pop_back();
  };
  const auto at_i = static_cast<std::uint32_t>(i), at_j = static_cast<std::uint32_t>(j);
  if (i < first && j < second) take(at_i, at_j);
  if (i < first) take(at_i, std::nullopt);
  if (j < second) take(std::nullopt, at_j);
  return best;
}

TEST(Alignment, NoneScoresMore) {
  std::uint64_t state = 11;
  const auto random = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40U) / static_cast<double>(1U << 24U);
  };
  for (int round = 0; round < 300; ++round) {
    const std::size_t first = static_cast<std::size_t>(random() * 5),
                      second = static_cast<std::size_t>(random() * 5);
    const AlignmentCosts costs{0.3 + 1.5 * random(), 0.05 + 0.6 * random()};
    std::vector<double> scores;
    for (std::size_t k = 0; k < first * second; ++k) scores.push_back(3 * random() - 2);
    const Columns columns = align(
        first, second, [&](std::size_t i, std::size_t j) { return scores[i * second + j]; }, costs);
    // Each position once, in order.
    std::uint32_t i = 0, j = 0;
    for (const auto& [a, b] : columns) {
      ASSERT_TRUE(a || b);
      if (a) {
        ASSERT_EQ(*a, i++);
      }
      if (b) {
        ASSERT_EQ(*b, j++);
      }
    }
    ASSERT_EQ(i, first);
    ASSERT_EQ(j, second);
    Columns taken;
    EXPECT_NEAR(total_of(columns, scores, second, costs),
                best_total(0, 0, first, second, scores, costs, taken), 1e-9)
        << first << " × " << second << ", open " << costs.gap_open << ", extend " << costs.gap_extend;
  }
}

}  // namespace
}  // namespace ridgeline::comparison
