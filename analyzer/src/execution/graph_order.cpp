#include "execution/graph_order.h"

#include <algorithm>

namespace ridgeline::analyzer {

GraphOrder::GraphOrder(const std::unordered_map<std::int64_t, OrderedStep::Node>& nodes,
                       const std::vector<OrderedStep::Edge>& edges)
    : nodes_(nodes) {
  std::unordered_set<std::int64_t> followed;
  for (const OrderedStep::Edge& edge : edges) {
    sources_[edge.to].push_back(edge.from);
    followed.insert(edge.from);
  }
  for (const auto& [id, node] : nodes) {
    if (node.parent && !followed.contains(id)) last_inside_[*node.parent].push_back(id);
  }
  for (auto& [parent, last] : last_inside_) std::sort(last.begin(), last.end());
}

bool GraphOrder::knows(std::int64_t node) const {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && known->second.kind != GraphNodeKind::conditional;
}

// What `node` waits for: its sources' ends; as the first inside a node, what that one waits for. A stack, for a
// chain of empty nodes may be as long as a file claims.
void GraphOrder::add_before(std::int64_t node, Walk& walk) const {
  std::vector<std::pair<std::int64_t, bool>> open = {{node, false}};  // node, whether its end is meant
  while (!open.empty()) {
    const auto [at, its_end] = open.back();
    open.pop_back();
    if (!(its_end ? walk.seen_end : walk.seen_before).insert(at).second) continue;
    if (its_end && walk.ran.contains(at)) {
      walk.found.push_back(at);
      continue;
    }
    if (its_end) {
      if (const auto inside = last_inside_.find(at); inside != last_inside_.end()) {
        for (const std::int64_t last : inside->second) open.emplace_back(last, true);
        continue;
      }
    }
    // Of a node that does nothing itself the end is its beginning.
    if (const auto sources = sources_.find(at); sources != sources_.end()) {
      for (const std::int64_t source : sources->second) open.emplace_back(source, true);
    } else if (const auto known = nodes_.find(at); known != nodes_.end() && known->second.parent) {
      open.emplace_back(*known->second.parent, false);
    }
  }
}

std::vector<std::int64_t> GraphOrder::before(std::int64_t node,
                                             const std::unordered_set<std::int64_t>& ran) const {
  Walk walk{ran};
  add_before(node, walk);
  std::sort(walk.found.begin(), walk.found.end());
  return std::move(walk.found);
}

}  // namespace ridgeline::analyzer
