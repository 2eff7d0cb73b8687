// graph_join.h: which node of a program's graph each executed node was made of. Numerics only: no rows are written.
//
// An instantiation makes nodes of nodes, and CUPTI says which of which. Kernels name what was made last. Of a graph
// inside a node it may name what the program built the inner graph of, and not the copy that stands in the node: then
// the two are joined as made of the same, if only one can be meant.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recording/events.h"

namespace ridgeline::import {

/// Nodes that were executed, with the executable graph that each is of; 0: not known.
using ExecutedNodes = std::unordered_map<std::uint64_t, std::uint32_t>;

/// Of one instantiation.
struct JoinedGraph {
  std::unordered_map<std::uint64_t, std::uint64_t> made;  // by the program's own node
  bool ran = false;
};

/// By the number of the instantiation. What cannot be told apart is not joined.
[[nodiscard]] std::unordered_map<std::uint32_t, JoinedGraph> join_graphs(
    const std::vector<GraphNode>& nodes, const std::vector<GraphNodeClone>& clones,
    const ExecutedNodes& executed);

}  // namespace ridgeline::import
