#include "recording/graph_join.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

namespace ridgeline::import {

namespace {

constexpr int kMaxHops = 16;

class GraphJoin {
 public:
  GraphJoin(const std::vector<GraphNode>& nodes, const std::vector<GraphNodeClone>& clones,
            const ExecutedNodes& executed)
      : nodes_(nodes), clone_rows_(clones), executed_(executed) {
    for (const GraphNodeClone& clone : clones) clones_[clone.node_id] = clone;
    for (const GraphNode& node : nodes) {
      graph_of_[node.node_id] = node.graph;
      graphs_.try_emplace(node.graph);
    }
  }

  std::unordered_map<std::uint32_t, JoinedGraph> join() {
    // In the order of their ids, whatever the order of the table: the answer is the same each time.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ran(executed_.begin(), executed_.end());
    std::sort(ran.begin(), ran.end());
    std::vector<std::pair<std::uint64_t, std::uint32_t>> open;
    for (const auto& node : ran) {
      if (!join_by_chain(node.first, node.second, true)) open.push_back(node);
    }
    if (!open.empty()) {
      find_relatives();
      std::erase_if(open, [&](const auto& node) { return join_by_origin(node.first, node.second); });
    }
    join_what_is_left(open);
    // What does nothing itself.
    for (const GraphNodeClone& clone : clone_rows_) {
      if (clone.graph != 0) join_by_chain(clone.node_id, 0, false);
    }
    return std::move(graphs_);
  }

 private:
  struct Origin {
    std::uint64_t node = 0;   // that nothing is known to be made of, or the program's own
    std::uint32_t graph = 0;  // of the newest making that has a number
  };

  // Follows who was made of whom; as far as a node of the program if `to_own`.
  [[nodiscard]] Origin origin_of(std::uint64_t id, bool to_own) const {
    Origin origin{id, 0};
    for (int hop = 0; hop < kMaxHops && !(to_own && graph_of_.contains(origin.node)); ++hop) {
      const auto clone = clones_.find(origin.node);
      if (clone == clones_.end() || clone->second.original_id == origin.node) break;
      if (origin.graph == 0) origin.graph = clone->second.graph;
      origin.node = clone->second.original_id;
    }
    return origin;
  }

  void put(std::uint64_t own, std::uint32_t number, std::uint64_t id, std::uint32_t executable, bool ran) {
    const auto graph = graphs_.find(number);
    JoinedGraph& of = graph != graphs_.end() ? graph->second : graphs_[graph_of_.at(own)];
    of.made.try_emplace(own, id);
    of.ran = of.ran || ran;
    if (ran && executable != 0) number_of_[executable] = graph != graphs_.end() ? number : graph_of_.at(own);
  }

  bool join_by_chain(std::uint64_t id, std::uint32_t executable, bool ran) {
    const Origin origin = origin_of(id, true);
    if (!graph_of_.contains(origin.node)) return false;
    put(origin.node, origin.graph, id, executable, ran);
    return true;
  }

  void find_relatives() {
    for (const auto& [own, graph] : graph_of_) relatives_[origin_of(own, false).node].push_back(own);
  }

  // Made of what a node of the program was made of, too.
  bool join_by_origin(std::uint64_t id, std::uint32_t executable) {
    const Origin origin = origin_of(id, false);
    const auto found = relatives_.find(origin.node);
    if (origin.node == id || found == relatives_.end()) return false;
    const auto known = number_of_.find(executable);
    const std::uint32_t number = origin.graph != 0           ? origin.graph
                                 : known != number_of_.end() ? known->second
                                                             : 0;
    std::optional<std::uint64_t> only;
    for (const std::uint64_t own : found->second) {
      if (number != 0 && !in_graph(own, number)) continue;
      if (only) return false;  // several of the same: nobody knows which
      only = own;
    }
    if (!only) return false;
    put(*only, number, id, executable, true);
    return true;
  }
  [[nodiscard]] bool in_graph(std::uint64_t own, std::uint32_t number) {
    if (nodes_of_.empty()) {
      for (const GraphNode& node : nodes_) nodes_of_[node.graph].insert(node.node_id);
    }
    return nodes_of_[number].contains(own);
  }

  // One executed node of an executable graph whose others are known, and one kernel of that graph without one.
  void join_what_is_left(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& open) {
    std::map<std::uint32_t, std::vector<std::uint64_t>> by_executable;
    for (const auto& [id, executable] : open) {
      if (number_of_.contains(executable)) by_executable[executable].push_back(id);
    }
    for (const auto& [executable, ids] : by_executable) {
      const std::uint32_t number = number_of_.at(executable);
      const JoinedGraph& graph = graphs_[number];
      std::vector<std::uint64_t> kernels;
      for (const GraphNode& node : nodes_) {
        const bool works = node.kind == GraphNodeKind::kernel || node.kind == GraphNodeKind::copy ||
                           node.kind == GraphNodeKind::set;
        if (node.graph == number && works && !graph.made.contains(node.node_id))
          kernels.push_back(node.node_id);
      }
      if (ids.size() == 1 && kernels.size() == 1) put(kernels.front(), number, ids.front(), executable, true);
    }
  }

  const std::vector<GraphNode>& nodes_;
  const std::vector<GraphNodeClone>& clone_rows_;
  const ExecutedNodes& executed_;
  std::unordered_map<std::uint64_t, GraphNodeClone> clones_;  // by what was made
  std::unordered_map<std::uint64_t, std::uint32_t>
      graph_of_;  // of the program's own nodes: the newest with it
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>
      relatives_;  // own nodes, by what they are made of
  std::unordered_map<std::uint32_t, std::unordered_set<std::uint64_t>> nodes_of_;
  std::unordered_map<std::uint32_t, std::uint32_t> number_of_;  // of the instantiation, by executable graph
  std::unordered_map<std::uint32_t, JoinedGraph> graphs_;
};

}  // namespace

std::unordered_map<std::uint32_t, JoinedGraph> join_graphs(const std::vector<GraphNode>& nodes,
                                                           const std::vector<GraphNodeClone>& clones,
                                                           const ExecutedNodes& executed) {
  return GraphJoin(nodes, clones, executed).join();
}

}  // namespace ridgeline::import
