// graph_order.h: which nodes of a graph that do something wait for which, across nodes that do not.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "execution/stream_order.h"

namespace ridgeline::analyzer {

class GraphOrder {
 public:
  /// Keeps a reference to the nodes.
  GraphOrder(const std::unordered_map<std::int64_t, OrderedStep::Node>& nodes,
             const std::vector<OrderedStep::Edge>& edges);

  /// Of the nodes that ran in one launch, the ones that `node` waits for.
  [[nodiscard]] std::vector<std::int64_t> before(std::int64_t node,
                                                 const std::unordered_set<std::int64_t>& ran) const;
  /// The recording has the node, and that it has all of what it waits for: no part of its graph is decided as it runs.
  [[nodiscard]] bool knows(std::int64_t node) const;

 private:
  /// Collects; `seen` keeps a damaged recording's circles from being followed for ever.
  struct Walk {
    const std::unordered_set<std::int64_t>& ran;
    std::unordered_set<std::int64_t> seen_before = {}, seen_end = {};
    std::vector<std::int64_t> found = {};
  };
  void add_before(std::int64_t node, Walk& walk) const;

  const std::unordered_map<std::int64_t, OrderedStep::Node>& nodes_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> sources_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>>
      last_inside_;  // of a graph in a node, by that node
};

}  // namespace ridgeline::analyzer
