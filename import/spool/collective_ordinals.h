// collective_ordinals.h: which call on its communicator a collective is, from 0 since the communicator was made.
//
// All ranks of a communicator call its collectives in the same order, so that the ordinal names one collective in all
// of them, whatever step each found it in. It is counted where every call is known to have been recorded: the
// communicator was made in the recording, once in this process, and nothing since was left out. Of some that are made
// NCCL does not say which they are: if no more are called on than were made, they are these. A call is counted where
// its kernels are launched: that of a graph's capture not then, but with each launch of the graph. Sends and receives
// are not of all ranks, and so have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ridgeline::import {

class CollectiveOrdinals {
 public:
  /// A kernel of a graph, or calls of a group that became one kernel.
  struct GraphCall {
    std::optional<std::uint64_t> group;  ///< hash of the communicator; none: not known
    std::int64_t calls = 1;              ///< collectives that it does; 0: not known
    bool numbered = true;                ///< false: a send or receive
  };

  /// Every range of the program's, of whatever kind: they are numbered from 1 as they begin.
  void range_recorded(std::uint64_t range) { recorded_.push_back(range); }
  void group_made(std::uint64_t group) { ++made_[group]; }
  void called(std::uint64_t range, std::int64_t start_ns, std::uint64_t group) {
    calls_.push_back({start_ns, range, group});
  }
  /// The call launched into a graph that was captured.
  void captured(std::uint64_t range) { captured_.insert(range); }
  /// The call launched nothing: engines do it, in a graph or not.
  void without_launch(std::uint64_t range) { without_launch_.insert(range); }
  /// Such a call whose copies were made at once: it is in no graph.
  void done_by_engines(std::uint64_t range) { without_launch_.erase(range); }
  void graph_made() { has_graphs_ = true; }
  void graph_launched(std::uint32_t correlation_id, std::int64_t enter_ns) {
    graph_launches_.push_back({enter_ns, correlation_id});
  }
  /// The collectives of such a launch in the order in which the graph does them; without it they are not known.
  void graph_ran(std::uint32_t correlation_id, std::vector<GraphCall> calls) {
    graph_calls_[correlation_id] = std::move(calls);
  }
  /// From then on something may have been left out.
  void left_out_from(std::int64_t time_ns);
  /// Something was left out, nobody knows when.
  void forget() { forgotten_ = true; }

  /// Once, when all of the above is said. `unnamed`: groups that were made, of which it was not said which they are.
  void count(std::size_t unnamed);
  /// Empty: not known, or of no communicator.
  [[nodiscard]] std::optional<std::int64_t> of_call(std::uint64_t range) const;
  [[nodiscard]] std::optional<std::int64_t> of_graph(std::uint32_t correlation_id, std::size_t place) const;

 private:
  struct Call {
    std::int64_t start_ns = 0;
    std::uint64_t range = 0;
    std::uint64_t group = 0;
  };
  struct GraphLaunch {
    std::int64_t enter_ns = 0;
    std::uint32_t correlation_id = 0;
  };
  using Counts = std::map<std::uint64_t, std::optional<std::int64_t>>;  // by group; empty: no longer known

  [[nodiscard]] Counts counts_of_made(std::size_t unnamed) const;
  void count_call(const Call& call, std::uint64_t first_missing, Counts& counts);
  void count_graph(const GraphLaunch& launch, Counts& counts);
  [[nodiscard]] std::uint64_t first_missing_range();

  std::vector<std::uint64_t> recorded_;
  std::map<std::uint64_t, int> made_;
  std::vector<Call> calls_;
  std::unordered_set<std::uint64_t> captured_, without_launch_;
  bool has_graphs_ = false;
  bool forgotten_ = false;
  std::optional<std::int64_t> left_out_from_ns_;
  std::vector<GraphLaunch> graph_launches_;
  std::unordered_map<std::uint32_t, std::vector<GraphCall>> graph_calls_;
  std::unordered_map<std::uint64_t, std::int64_t> of_calls_;
  std::unordered_map<std::uint32_t, std::vector<std::optional<std::int64_t>>> of_graphs_;
};

}  // namespace ridgeline::import
