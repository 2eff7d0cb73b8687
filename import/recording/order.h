// order.h: rows of what orders work on devices beside streams, and of device memory, while a recording streams by.
//
// Which record of an event a wait is for, which nodes of a graph ran, and how much memory there is follow from the
// order of all calls, whatever the order in which they come: so they are kept, 40 to 56 bytes each, until finish().
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "recording/graph_join.h"
#include "recording/process_rows.h"
#include "recording/steps.h"
#include "ridgeline/store/order.h"

namespace ridgeline::import {

class RecordedOrder {
 public:
  /// Of each kind; what comes later is counted as left out.
  static constexpr std::size_t kMax = 20'000'000;

  /// Keeps references to both.
  RecordedOrder(ProcessRows& rows, RecordedSteps& steps) : rows_(rows), recorded_(steps) {}

  void add(const StreamMade& stream);
  void add(const OrderingCall& call);
  void add(const GraphNode& node);
  void add(const GraphNodeClone& clone);
  void add(const GraphEdge& edge);
  void add(const MemoryUse& use);
  /// A node of a graph that was executed, and the executable graph that it is of (0: not known): only graphs that ran
  /// are kept.
  void ran(std::uint64_t node_id, std::uint32_t executable) { ran_.try_emplace(node_id, executable); }
  /// What the source itself left out.
  void left_out(LeftOut what, std::uint64_t count) { left_out_[what] = count; }

  void finish();

 private:
  void write_calls();
  void write_graphs();
  void write_memory();
  void write_left_out();
  [[nodiscard]] std::optional<store::Id> step_id(std::uint32_t step, std::int64_t time_ns);
  template <typename Row>
  void keep(std::vector<Row>& rows, const Row& row, LeftOut what);

  ProcessRows& rows_;
  RecordedSteps& recorded_;
  std::vector<OrderingCall> calls_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphNodeClone> clones_;
  std::vector<GraphEdge> edges_;
  std::vector<MemoryUse> memory_;
  ExecutedNodes ran_;
  std::map<LeftOut, std::uint64_t> left_out_, not_kept_;
};

}  // namespace ridgeline::import
