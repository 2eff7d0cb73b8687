// When a collective could have begun, against a walk over everything that it follows.
#include "ranks/readiness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace ridgeline::analyzer::ranks {
namespace {

constexpr std::int64_t kLate = 1'000'000;

store::Launch node_of_graph(std::int64_t call, std::int64_t node, std::int64_t end_ns) {
  store::Launch launch;
  launch.correlation_id = call;
  launch.graph_node_id = node;
  launch.start_ns = end_ns - 10;
  launch.end_ns = end_ns;
  return launch;
}

store::Launch called_at(std::int64_t host_start_ns, std::int64_t end_ns) {
  store::Launch launch;
  launch.host_start_ns = host_start_ns;
  launch.start_ns = end_ns - 10;
  launch.end_ns = end_ns;
  return launch;
}

struct GraphAtRandom {
  std::vector<store::GraphEdge> edges;
  std::vector<std::optional<std::int64_t>> ends_ns;  // by node; empty: it computes nothing
};

// The last end among the nearest nodes that compute, on every way back from `node`.
std::optional<std::int64_t> last_before(const GraphAtRandom& graph, std::int64_t node,
                                        std::set<std::int64_t>& seen) {
  std::optional<std::int64_t> last;
  for (const store::GraphEdge& edge : graph.edges) {
    if (edge.to_node_id != node || !seen.insert(edge.from_node_id).second) continue;
    const auto end = graph.ends_ns[static_cast<std::size_t>(edge.from_node_id)];
    const auto found = end ? end : last_before(graph, edge.from_node_id, seen);
    if (found) last = std::max(last.value_or(*found), *found);
  }
  return last;
}

TEST(Readiness, OfANodeIsTheLastOfTheNearestKernelsThatItFollows) {
  int known = 0, unknown = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    GraphAtRandom graph;
    for (std::int64_t node = 0; node < 12; ++node) {
      graph.ends_ns.push_back(below(2) == 0 ? std::optional(100 + below(900)) : std::nullopt);
      for (std::int64_t from = 0; from < node; ++from) {
        if (below(5) == 0) graph.edges.push_back({1, from, node, false});
      }
    }
    std::shuffle(graph.edges.begin(), graph.edges.end(), random);
    Readiness readiness(graph.edges);
    for (std::int64_t node = 0; node < 12; ++node) {
      const auto end = graph.ends_ns[static_cast<std::size_t>(node)];
      if (end) readiness.add(node_of_graph(5, node, *end));
      readiness.add(node_of_graph(6, node, 5000));  // of another launch of the graph
    }
    readiness.finish();
    for (std::int64_t node = 0; node < 12; ++node) {
      store::Launch collective = node_of_graph(5, node, kLate + 10);
      std::set<std::int64_t> seen{node};
      const auto expected = last_before(graph, node, seen);
      EXPECT_EQ(readiness.ready_ns(collective), expected) << node;
      ++(expected ? known : unknown);
      if (!expected) continue;
      collective.start_ns = *expected - 1;
      EXPECT_EQ(readiness.ready_ns(collective), *expected - 1) << "no later than its own start";
      collective.correlation_id = 7;
      EXPECT_FALSE(readiness.ready_ns(collective).has_value()) << "a launch without kernels";
    }
  }
  EXPECT_GT(known, 100);
  EXPECT_GT(unknown, 30);
}

TEST(Readiness, OfACallIsTheEndOfTheLastKernelCalledBefore) {
  Readiness readiness({});
  for (const auto& [called, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {300, 900}, {100, 700}, {200, 950}, {200, 990}, {200, 920}})
    readiness.add(called_at(called, end));
  readiness.add(node_of_graph(1, 1, 995));  // called by nobody
  readiness.finish();
  const auto ready = [&](std::optional<std::int64_t> called, std::int64_t start = kLate) {
    store::Launch collective;
    collective.host_start_ns = called;
    collective.start_ns = start;
    return readiness.ready_ns(collective);
  };
  EXPECT_FALSE(ready(std::nullopt).has_value());
  EXPECT_FALSE(ready(99).has_value());
  EXPECT_FALSE(ready(100).has_value()) << "called together with it";
  EXPECT_EQ(ready(101), 700);
  EXPECT_EQ(ready(200), 700);
  EXPECT_EQ(ready(201), 990) << "of one call the last to end";
  EXPECT_EQ(ready(300), 990);
  EXPECT_EQ(ready(301), 900);
  EXPECT_EQ(ready(301, 800), 800);
}

// A way back over thousands of nodes that do not compute is given up.
TEST(Readiness, LooksAtFourThousandNodes) {
  for (const std::int64_t between : {4'000, 4'200}) {
    std::vector<store::GraphEdge> edges;
    for (std::int64_t node = 0; node <= between; ++node) edges.push_back({1, node, node + 1, false});
    Readiness readiness(edges);
    readiness.add(node_of_graph(1, 0, 500));
    readiness.finish();
    EXPECT_EQ(readiness.ready_ns(node_of_graph(1, between + 1, kLate)).has_value(), between == 4'000);
  }
}

}  // namespace
}  // namespace ridgeline::analyzer::ranks
