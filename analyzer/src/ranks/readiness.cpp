#include "ranks/readiness.h"

#include <algorithm>
#include <unordered_set>

namespace ridgeline::analyzer::ranks {

namespace {
// A collective follows few nodes that do not compute; a graph with more between is not one that anybody made by hand.
constexpr std::size_t kMaxNodesLookedAt = 4096;
}  // namespace

Readiness::Readiness(const std::vector<store::GraphEdge>& edges) {
  for (const store::GraphEdge& edge : edges) before_[edge.to_node_id].push_back(edge.from_node_id);
}

void Readiness::add(const store::Launch& launch) {
  if (launch.graph_node_id) graph_ends_[launch.correlation_id][*launch.graph_node_id] = launch.end_ns;
  if (launch.host_start_ns) called_.push_back({*launch.host_start_ns, launch.end_ns});
}

void Readiness::finish() {
  std::sort(called_.begin(), called_.end(), [](const Called& a, const Called& b) {
    return a.host_start_ns != b.host_start_ns ? a.host_start_ns < b.host_start_ns : a.end_ns < b.end_ns;
  });
}

std::optional<std::int64_t> Readiness::ready_ns(const store::Launch& collective) const {
  const auto ready = collective.graph_node_id ? by_edges(collective) : by_calls(collective);
  if (!ready) return std::nullopt;
  return std::min(*ready, collective.start_ns);
}

// Kernels of one launch of a graph have one call: the last of them is the last of its kernels to end.
std::optional<std::int64_t> Readiness::by_calls(const store::Launch& collective) const {
  if (!collective.host_start_ns) return std::nullopt;
  const auto after = std::partition_point(called_.begin(), called_.end(), [&](const Called& called) {
    return called.host_start_ns < *collective.host_start_ns;
  });
  if (after == called_.begin()) return std::nullopt;
  return (after - 1)->end_ns;
}

// The nearest computing kernels on each way back. Ways end at them: what they follow has ended before.
std::optional<std::int64_t> Readiness::by_edges(const store::Launch& collective) const {
  const auto ends = graph_ends_.find(collective.correlation_id);
  if (ends == graph_ends_.end()) return std::nullopt;
  std::vector<std::int64_t> open = {*collective.graph_node_id};
  std::unordered_set<std::int64_t> seen(open.begin(), open.end());
  std::optional<std::int64_t> last;
  while (!open.empty() && seen.size() < kMaxNodesLookedAt) {
    const std::int64_t node = open.back();
    open.pop_back();
    const auto before = before_.find(node);
    if (before == before_.end()) continue;
    for (const std::int64_t from : before->second) {
      if (!seen.insert(from).second) continue;
      if (const auto end = ends->second.find(from); end != ends->second.end())
        last = std::max(last.value_or(end->second), end->second);
      else
        open.push_back(from);
    }
  }
  return last;
}

}  // namespace ridgeline::analyzer::ranks
