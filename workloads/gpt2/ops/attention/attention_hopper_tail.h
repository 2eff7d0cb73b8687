// attention_hopper_tail.h: who takes the last units of the Hopper forward pass. 1536 pairs of row blocks on 132
// multiprocessors are eleven rounds and two thirds of one; dealt as pairs they take twelve. So the last two rounds are
// dealt by row blocks, packed so that all multiprocessors end at about the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpt2/ops/attention/attention_hopper_order.h"

namespace ridgeline::gpt2::hopper {

/// Packs the row blocks of the units from `first_unit` on into `grid` bins: the longest first, each into the first bin
/// that has room, at the smallest capacity at which all fit.
inline ForwardTail pack_forward_tail(const Problem& problem, int grid) {
  ForwardTail tail{};
  const int pairs = (problem.blocks + 1) / 2;
  const int units = problem.batch * problem.heads * pairs;
  if (grid > ForwardTail::kMaxBlocks) {
    tail.first_unit = units;
    return tail;
  }
  tail.first_unit = std::max(0, units / grid - 1) * grid;

  struct Item {
    int cost;  // half tiles: a row block costs as much again for its beginning and end
    std::uint16_t code;
  };
  std::vector<Item> items;
  int total = 0;
  for (int unit = tail.first_unit; unit < units; ++unit) {
    const int shorter = unit % pairs;
    const int longer = problem.blocks - 1 - shorter;
    for (int which = 0; which < (longer > shorter ? 2 : 1); ++which) {
      const int cost = 2 * (which == 0 ? longer : shorter) + 3;
      items.push_back({cost, static_cast<std::uint16_t>(2 * (unit - tail.first_unit) + which)});
      total += cost;
    }
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.cost > b.cost; });

  std::vector<int> bin_of(items.size());
  for (int capacity = std::max((total + grid - 1) / grid, items.empty() ? 0 : items.front().cost);;
       ++capacity) {
    std::vector<int> loads(static_cast<std::size_t>(grid), 0);
    bool all = true;
    for (std::size_t i = 0; i < items.size() && all; ++i) {
      const auto bin = std::find_if(loads.begin(), loads.end(),
                                    [&](int load) { return load + items[i].cost <= capacity; });
      all = bin != loads.end();
      if (all) {
        *bin += items[i].cost;
        bin_of[i] = static_cast<int>(bin - loads.begin());
      }
    }
    if (all) break;
  }
  std::uint16_t at = 0;
  for (int bin = 0; bin < grid; ++bin) {
    tail.begin[bin] = at;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (bin_of[i] == bin) tail.items[at++] = items[i].code;
    }
  }
  tail.begin[grid] = at;
  return tail;
}

}  // namespace ridgeline::gpt2::hopper
