// step_graph.h: a step as pieces of work that wait for one another, and how long it takes when it repeats.
//
// Every moment is the latest of those it waits for plus a delay that does not depend on them. Such a system answers
// without guessing: shortening work never makes the step longer, and never shortens it by more than it was shortened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ridgeline::analyzer {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

/// The nodes of one repetition of a step, in an order in which each can be worked out after those before it.
class StepGraph {
 public:
  enum class Point : std::uint8_t { start, end };

  /// The waiting moment comes no earlier than `point` of `node`, `back` repetitions ago, plus `lag_ns`.
  struct Edge {
    NodeIndex node = 0;
    std::uint32_t back = 0;
    std::int64_t lag_ns = 0;
    Point point = Point::end;
  };

  /// Adds a node that lasts `duration_ns`; `release_ns` holds its start back in the first repetition only.
  NodeIndex add_node(std::int64_t duration_ns, std::int64_t release_ns = 0);
  /// Of the node added last; start edges before end edges. An edge within a repetition leads to an earlier node.
  /// Throws std::logic_error otherwise.
  void add_start_edge(const Edge& edge);
  /// The node's end waits too: it is the later of start + duration and what its end edges say.
  void add_end_edge(const Edge& edge);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::int64_t duration_ns(NodeIndex node) const { return nodes_[node].duration_ns; }
  [[nodiscard]] std::uint32_t farthest_back() const { return farthest_back_; }

  /// When each node begins and ends in each of the first `repetitions`.
  struct Times {
    std::vector<std::int64_t> start_ns, end_ns;
  };
  /// Goes through the repetitions and calls seen(repetition, times) after each; `durations_ns` has one entry per node.
  template <typename Seen>
  void run(std::span<const std::int64_t> durations_ns, std::size_t repetitions, Seen&& seen) const {
    std::vector<Times> past(static_cast<std::size_t>(farthest_back_) + 1);
    for (Times& times : past) {
      times.start_ns.resize(nodes_.size());
      times.end_ns.resize(nodes_.size());
    }
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      run_once(durations_ns, repetition, past);
      seen(repetition, past[repetition % past.size()]);
    }
  }

 private:
  struct Node {
    std::int64_t duration_ns = 0;
    std::int64_t release_ns = 0;
    std::uint32_t first_edge = 0;      // that the start waits for
    std::uint32_t first_end_edge = 0;  // that the end waits for, up to the next node's first
  };
  void check(const Edge& edge);
  void run_once(std::span<const std::int64_t> durations_ns, std::size_t repetition,
                std::vector<Times>& past) const;
  [[nodiscard]] std::int64_t latest(std::uint32_t first, std::uint32_t last, std::size_t repetition,
                                    const std::vector<Times>& past, std::int64_t at_least_ns) const;

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::uint32_t farthest_back_ = 0;
};

/// Answers how long a step lasts if some of its work takes another time.
class StepSimulation {
 public:
  struct Options {
    /// The length that counts: from this node's start to its start in the next repetition; kNoNode: the step is run
    /// once, and lasts from 0 to the start of the node added last.
    NodeIndex anchor = kNoNode;
    /// Nodes worked on in one run at most; a long step is repeated less often.
    std::int64_t max_visits = 8'000'000;
  };
  StepSimulation(StepGraph graph, const Options& options);

  struct Change {
    NodeIndex node = 0;
    std::int64_t duration_ns = 0;
  };
  /// With the graph's own durations.
  [[nodiscard]] double length_ns() const { return length_ns_; }
  /// How much shorter the step is with these. Of a node named twice the last counts.
  [[nodiscard]] double saving_ns(std::span<const Change> changes) const;
  /// How much shorter the step is if it is this graph, of the same nodes with other durations and lags.
  [[nodiscard]] double saving_ns(const StepGraph& edited) const;
  /// When each node begins and ends in a repetition whose pace has settled, from the beginning of the anchor in it; of
  /// a step that does not repeat from 0.
  [[nodiscard]] StepGraph::Times settled_times() const;
  [[nodiscard]] const StepGraph& graph() const { return graph_; }
  /// Nodes worked on to answer one question.
  [[nodiscard]] std::int64_t visits() const;

 private:
  [[nodiscard]] std::int64_t total_ns(const StepGraph& graph,
                                      std::span<const std::int64_t> durations_ns) const;

  StepGraph graph_;
  Options options_;
  std::vector<std::int64_t> durations_ns_;
  std::size_t repetitions_ = 1;  // that the length is the mean of
  std::int64_t total_ns_ = 0;    // its start after `repetitions_`, with the graph's own durations
  double length_ns_ = 0;
};

}  // namespace ridgeline::analyzer
