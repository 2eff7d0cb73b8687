// The nodes of CUDA graphs and what each waits for, as they stand when a graph is instantiated.
//
// The driver is asked for nodes and edges of the graph that the program handed over, on the program's thread, after its
// call has returned: questions that change nothing and wait for nothing, as cuGraphGetNodes is for the program itself.
// What runs may name the nodes of the executable graph, which CUPTI says of which they were made. Always on: a graph
// outlives a window. Bounded by kMaxNodes a process; graphs beyond it are counted, not read.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cupti/order_calls.h"
#include "session/left_out.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class GraphRecorder {
 public:
  static constexpr std::uint32_t kMaxNodes = 1u << 19;
  static constexpr std::uint32_t kMaxEdges = 4 * kMaxNodes;
  static constexpr std::uint32_t kDeepest = 16;  // graphs inside graphs

  GraphRecorder(SessionState& parts, LeftOutCounts& left_out) : session_(parts), left_out_(left_out) {}
  /// Any thread: entry and return of a call that instantiates a graph, and what CUPTI says meanwhile.
  void on_instantiation(const CUpti_CallbackData& data) noexcept;
  void on_clone(const CUpti_GraphData& data) noexcept;

 private:
  void read(CUgraph graph, std::uint64_t parent_id, std::uint32_t number, std::uint32_t depth);
  void read_edges(CUgraph graph, std::size_t count, std::uint32_t number);
  [[nodiscard]] bool take_room(std::size_t nodes, std::size_t edges) noexcept;
  [[nodiscard]] std::uint64_t id_of(CUgraphNode node) const noexcept;
  [[nodiscard]] bool can_read() const noexcept;

  SessionState& session_;
  LeftOutCounts& left_out_;
  std::atomic<std::uint32_t> graphs_{0};
  std::atomic<std::uint64_t> nodes_{0}, edges_{0}, clones_{0};  // that have a record
};

}  // namespace ridgeline::agent
