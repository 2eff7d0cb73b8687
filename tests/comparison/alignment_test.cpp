#include "alignment.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ridgeline::comparison
