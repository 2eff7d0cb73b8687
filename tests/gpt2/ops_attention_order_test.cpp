// The walk of the Hopper attention's multiprocessors over tiles, and the order in which parts of dQ are added.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpt2/ops/attention/attention_hopper_order.h"
#include "gpt2/ops/attention/attention_hopper_tail.h"

namespace ridgeline::gpt2::hopper {
namespace {

Problem problem_of(int batch, int heads, int blocks) {
  return {batch, blocks * 128, heads, blocks, 0.0F};
}

TEST(HopperAttentionOrder, ForwardVisitsEveryTileOnceTheDiagonalFirst) {
  for (int blocks = 1; blocks <= 17; ++blocks) {
    for (const int grid : {1, 3, 7, 132}) {
      const Problem problem = problem_of(2, 3, blocks);
      const ForwardTail tail = pack_forward_tail(problem, grid);
      std::map<std::tuple<int, int, int>, std::vector<int>> columns;  // of each batch, head and row block
      for (int block = 0; block < grid; ++block) {
        for (ForwardCursor at(problem, tail, block); at.valid(problem); at.advance(problem, tail, grid)) {
          columns[{at.batch(problem), at.head(problem), at.row_block}].push_back(at.column_block);
        }
      }
      ASSERT_EQ(columns.size(), static_cast<std::size_t>(6 * blocks)) << blocks << " blocks, grid " << grid;
      for (const auto& [rows, visited] : columns) {
        std::vector<int> expected;
        for (int column = std::get<2>(rows); column >= 0; --column) expected.push_back(column);
        EXPECT_EQ(visited, expected) << "row block " << std::get<2>(rows) << " of " << blocks;
      }
    }
  }
}

// Tiles of the longest and of all blocks of the grid.
std::pair<int, int> tiles_of(const Problem& problem, int grid) {
  const ForwardTail tail = pack_forward_tail(problem, grid);
  int longest = 0;
  int all = 0;
  for (int block = 0; block < grid; ++block) {
    int tiles = 0;
    for (ForwardCursor at(problem, tail, block); at.valid(problem); at.advance(problem, tail, grid)) ++tiles;
    EXPECT_EQ(tail.has_work(block), tiles > 0) << "block " << block;
    longest = std::max(longest, tiles);
    all += tiles;
  }
  return {longest, all};
}

TEST(HopperAttentionOrder, LastRoundsAreSharedOut) {
  // 13824 tiles on 132 multiprocessors: 104.7 for each. As pairs alone the longest would have 108; beginnings count.
  const auto [longest, all] = tiles_of(problem_of(32, 12, 8), 132);
  EXPECT_EQ(all, 32 * 12 * 36);
  EXPECT_LE(longest, 106);
  // Fewer units than two rounds; other lengths.
  for (const int blocks : {1, 2, 5, 16, 64}) {
    for (const int heads : {1, 7, 40, 133}) {
      const Problem problem = problem_of(1, heads, blocks);
      const int grid = std::min(132, heads * ((blocks + 1) / 2));
      const auto [most, sum] = tiles_of(problem, grid);
      EXPECT_EQ(sum, heads * blocks * (blocks + 1) / 2);
      EXPECT_LE(most, std::max(blocks, sum / grid + 1 + blocks / 2))
          << blocks << " blocks, " << heads << " heads";
    }
  }
}

TEST(HopperAttentionOrder, GridBeyondTheTableIsDealtInTurn) {
  const Problem problem = problem_of(4, 100, 4);
  const auto [longest, all] = tiles_of(problem, ForwardTail::kMaxBlocks + 8);
  EXPECT_EQ(all, 4 * 100 * 10);
  EXPECT_EQ(longest, 25);
}

// All multiprocessors at once, each stopped at a part of dQ whose turn has not come. `slow` takes a step only when no
// other can.
class Walk {
 public:
  Walk(int heads, int blocks, int groups, int slow) : slow_(slow) {
    p_.problem = problem_of(1, heads, blocks);
    p_.units = (blocks + 1) / 2;
    p_.groups = groups;
    for (int block = 0; block < groups * p_.units; ++block) cursors_.emplace_back(p_, block);
  }

  // Whether all came to their end.
  bool finish() {
    while (step_all(false) || step_all(true)) {
    }
    return std::none_of(cursors_.begin(), cursors_.end(),
                        [&](const BackwardCursor& at) { return at.valid(p_); });
  }
  // Blocks of keys in the order in which they were added, by head and query block.
  const std::map<std::pair<int, int>, std::vector<int>>& added() const { return added_; }
  bool overtaken() const { return overtaken_; }

 private:
  bool step_all(bool slow_too) {
    bool moved = false;
    for (int block = 0; block < static_cast<int>(cursors_.size()); ++block) {
      if (block == slow_ && !slow_too) continue;
      moved = step(block) || moved;
    }
    return moved;
  }
  bool step(int block) {
    BackwardCursor& at = cursors_[static_cast<std::size_t>(block)];
    if (!at.valid(p_)) return false;
    // As the kernel counts: every round uses a group's place.
    int& parts = parts_[{block / p_.units, at.query_block}];
    const int turn = at.round * (at.query_block + 1) + at.parts_before(p_);
    if (parts > turn) overtaken_ = true;
    if (parts != turn) return false;
    ++parts;
    added_[{at.head, at.query_block}].push_back(at.key_block);
    at.advance(p_);
    return true;
  }

  BackwardProblem p_{};
  int slow_;
  bool overtaken_ = false;
  std::vector<BackwardCursor> cursors_;
  std::map<std::pair<int, int>, int> parts_;
  std::map<std::pair<int, int>, std::vector<int>> added_;
};

TEST(HopperAttentionOrder, PartsOfDqueriesComeInOneOrderWhoeverIsSlow) {
  for (int blocks = 1; blocks <= 17; ++blocks) {
    constexpr int kGroups = 2;
    constexpr int kHeads = 9;  // five rounds of one group, four of the other
    Walk even(kHeads, blocks, kGroups, -1);
    ASSERT_TRUE(even.finish()) << blocks << " blocks: they wait for one another";
    ASSERT_EQ(even.added().size(), static_cast<std::size_t>(kHeads * blocks));
    for (const auto& [rows, keys] : even.added()) {
      std::vector<int> sorted = keys;
      std::sort(sorted.begin(), sorted.end());
      std::vector<int> expected;
      for (int block = 0; block <= rows.second; ++block) expected.push_back(block);
      EXPECT_EQ(sorted, expected) << "query block " << rows.second << " of " << blocks;
    }
    for (int slow = 0; slow < kGroups * ((blocks + 1) / 2); ++slow) {
      Walk uneven(kHeads, blocks, kGroups, slow);
      ASSERT_TRUE(uneven.finish()) << blocks << " blocks, slow " << slow;
      EXPECT_FALSE(uneven.overtaken());
      EXPECT_EQ(uneven.added(), even.added()) << blocks << " blocks, slow " << slow;
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::hopper
