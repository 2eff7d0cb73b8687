#include "ridgeline/experiment/rounds.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace ridgeline::experiment {
namespace {

TEST(Rounds, TwoVariantsRunInTurn) {
  EXPECT_EQ(order_of_round(2, 0), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(order_of_round(2, 1), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(order_of_round(2, 2), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(order_of_round(1, 5), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(order_of_round(0, 0).empty());
}

// Of n variants after n rounds, of an odd number after 2n.
TEST(Rounds, PlacesAndPredecessorsAreBalanced) {
  for (std::size_t variants = 2; variants <= 9; ++variants) {
    const std::size_t cycle = variants % 2 == 0 ? variants : 2 * variants;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> places, neighbours;
    for (std::size_t round = 0; round < cycle; ++round) {
      const auto order = order_of_round(variants, static_cast<std::int64_t>(round));
      EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), variants) << "each once";
      for (std::size_t place = 0; place < variants; ++place) {
        ++places[{order[place], place}];
        if (place > 0) ++neighbours[{order[place - 1], order[place]}];
      }
      EXPECT_EQ(order, order_of_round(variants, static_cast<std::int64_t>(round + cycle)));
    }
    EXPECT_EQ(places.size(), variants * variants);
    for (const auto& [place, count] : places) EXPECT_EQ(count, cycle / variants) << variants;
    EXPECT_EQ(neighbours.size(), variants * (variants - 1)) << variants;
    for (const auto& [pair, count] : neighbours) EXPECT_EQ(count, cycle / variants) << variants;
  }
}

}  // namespace
}  // namespace ridgeline::experiment
