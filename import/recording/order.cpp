#include "recording/order.h"

#include <algorithm>

namespace ridgeline::import {

namespace {

std::int64_t as_row(std::uint64_t id) {
  return static_cast<std::int64_t>(id);
}

template <typename Row>
void sort_by_call(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.correlation_id < b.correlation_id; });
}

}  // namespace

template <typename Row>
void RecordedOrder::keep(std::vector<Row>& rows, const Row& row, LeftOut what) {
  if (rows.size() < kMax)
    rows.push_back(row);
  else
    ++not_kept_[what];
}

void RecordedOrder::add(const StreamMade& stream) {
  rows_.writer().add(
      store::Stream{rows_.process_id(), stream.context_id, stream.stream_id, stream.kind, stream.priority});
}
void RecordedOrder::add(const OrderingCall& call) {
  if (has_time(call.time_ns, call.time_ns)) keep(calls_, call, LeftOut::stream_calls);
}
void RecordedOrder::add(const GraphNode& node) {
  keep(nodes_, node, LeftOut::graph_nodes);
}
void RecordedOrder::add(const GraphNodeClone& clone) {
  keep(clones_, clone, LeftOut::graph_nodes);
}
void RecordedOrder::add(const GraphEdge& edge) {
  keep(edges_, edge, LeftOut::graph_nodes);
}
void RecordedOrder::add(const MemoryUse& use) {
  if (has_time(use.time_ns, use.time_ns)) keep(memory_, use, LeftOut::memory_calls);
}

void RecordedOrder::finish() {
  write_calls();
  write_graphs();
  write_memory();
  write_left_out();
}

std::optional<store::Id> RecordedOrder::step_id(std::uint32_t step, std::int64_t time_ns) {
  if (const auto found = recorded_.steps.find(recorded_.step_at(step, time_ns));
      found != recorded_.steps.end())
    return found->second.id;
  return recorded_.window_step(time_ns);
}

// An event stands for what was recorded last before the wait was asked for, on whichever thread.
void RecordedOrder::write_calls() {
  sort_by_call(calls_);
  struct Event {
    std::int64_t number = 0;
    std::optional<std::int64_t> recorded_by;
  };
  std::unordered_map<std::uint64_t, Event> events;
  for (const OrderingCall& call : calls_) {
    store::OrderingCall row;
    row.process_id = rows_.process_id();
    row.correlation_id = call.correlation_id;
    row.call = call.call;
    row.thread_id = call.thread_id;
    row.time_ns = call.time_ns;
    if (call.stream) {
      row.context_id = call.stream->context_id;
      row.stream_id = call.stream->stream_id;
    }
    row.step_id = step_id(call.step, call.time_ns);
    if (call.event != 0) {
      Event& event = events.try_emplace(call.event, Event{static_cast<std::int64_t>(events.size()) + 1, {}})
                         .first->second;
      row.event = event.number;
      if (call.call == StreamCall::event_record)
        event.recorded_by = row.correlation_id;
      else
        row.source_id = event.recorded_by;
    }
    rows_.writer().add(row);
    rows_.row_written();
  }
}

// Kernels and copies name the nodes that the instantiation made, where it made others; rows are of those.
void RecordedOrder::write_graphs() {
  std::unordered_map<std::uint32_t, JoinedGraph> graphs = join_graphs(nodes_, clones_, ran_);
  const auto executed = [&](const JoinedGraph& graph, std::uint64_t id) {
    const auto made = graph.made.find(id);
    return as_row(made == graph.made.end() ? id : made->second);
  };
  for (const GraphNode& node : nodes_) {
    const JoinedGraph& graph = graphs[node.graph];
    if (!graph.ran || !is_known(node.kind)) continue;
    store::GraphNode row{rows_.process_id(), executed(graph, node.node_id), node.graph, node.kind, {}};
    if (node.parent_id != 0) row.parent_node_id = executed(graph, node.parent_id);
    rows_.writer().add(row);
    rows_.row_written();
  }
  for (const GraphEdge& edge : edges_) {
    const auto graph = graphs.find(edge.graph);
    if (graph == graphs.end() || !graph->second.ran) continue;
    rows_.writer().add(store::GraphEdge{rows_.process_id(), executed(graph->second, edge.from_id),
                                        executed(graph->second, edge.to_id), edge.programmatic});
    rows_.row_written();
  }
}

void RecordedOrder::write_memory() {
  sort_by_call(memory_);
  struct Block {
    std::int64_t bytes = 0;
    std::int64_t taken_by = 0;
    std::uint32_t device = 0;
  };
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;  // a sum of them stays within int64
  std::unordered_map<std::uint64_t, Block> blocks;
  std::unordered_map<std::uint32_t, std::int64_t> allocated;  // by device
  for (const MemoryUse& use : memory_) {
    store::MemoryUse row;
    row.process_id = rows_.process_id();
    row.correlation_id = use.correlation_id;
    row.call = use.call;
    row.thread_id = use.thread_id;
    row.time_ns = use.time_ns;
    row.step_id = step_id(use.step, use.time_ns);
    std::uint32_t device = use.device;
    if (allocates(use.call)) {
      if (use.bytes < 0 || use.bytes > kMaxBytes - allocated[device]) continue;  // no such memory exists
      row.bytes = use.bytes;
      // A return of it that was not seen: the address could not be given out again otherwise.
      if (const auto stale = blocks.find(use.address); stale != blocks.end())
        allocated[stale->second.device] -= stale->second.bytes;
      blocks[use.address] = {use.bytes, row.correlation_id, device};
      allocated[device] += use.bytes;
    } else if (const auto block = blocks.find(use.address); block != blocks.end()) {
      device = block->second.device;
      row.bytes = block->second.bytes;
      row.allocation_id = block->second.taken_by;
      allocated[device] -= block->second.bytes;
      blocks.erase(block);
    }
    row.device_id = rows_.device_id(device);
    row.allocated_bytes = allocated[device];
    rows_.writer().add(row);
    rows_.row_written();
  }
}

void RecordedOrder::write_left_out() {
  for (const auto& [what, count] : not_kept_) left_out_[what] += count;
  for (const auto& [what, count] : left_out_) {
    if (count == 0) continue;
    rows_.writer().add(store::LeftOutCount{
        rows_.process_id(), what, static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX))});
  }
}

}  // namespace ridgeline::import
