// order.h: what orders work on devices beside the order of each stream, and the memory that it takes: streams, events
// and waits for them, host functions, nodes and edges of CUDA graphs, allocations. The columns' meaning is in the
// schema's DDL. Captures before version kOrderIsRecorded have none of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/stream_words.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::store {

struct Stream {
  Id process_id = 0;
  std::int64_t context_id = 0;
  std::int64_t stream_id = 0;
  StreamKind kind = StreamKind::blocking;
  std::int64_t priority = 0;
};

/// A call that orders streams.
struct OrderingCall {
  Id process_id = 0;
  std::int64_t correlation_id = 0;
  StreamCall call = StreamCall::event_record;
  std::int64_t thread_id = 0;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> context_id;
  std::optional<std::int64_t> stream_id;
  std::optional<std::int64_t> event;
  std::optional<std::int64_t> source_id;
  std::optional<Id> step_id;
};

struct GraphNode {
  Id process_id = 0;
  std::int64_t node_id = 0;
  std::int64_t graph = 0;
  GraphNodeKind kind = GraphNodeKind::kernel;
  std::optional<std::int64_t> parent_node_id;
};

struct GraphEdge {
  Id process_id = 0;
  std::int64_t from_node_id = 0;
  std::int64_t to_node_id = 0;
  bool programmatic = false;
};

/// A call that takes or returns device memory.
struct MemoryUse {
  Id process_id = 0;
  std::int64_t correlation_id = 0;
  MemoryCall call = MemoryCall::allocate;
  std::int64_t thread_id = 0;
  std::int64_t time_ns = 0;
  Id device_id = 0;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> allocation_id;
  std::int64_t allocated_bytes = 0;
  std::optional<Id> step_id;
};

struct LeftOutCount {
  Id process_id = 0;
  LeftOut what = LeftOut::stream_calls;
  std::int64_t count = 0;
};

/// The most memory that a process held on a device at a time.
struct MemoryPeak {
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t calls = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t last_bytes = 0;  ///< after the last call
};

/// How much of all this a capture holds.
struct OrderSummary {
  std::map<StreamCall, std::int64_t> calls;
  std::int64_t graph_edges = 0;
  std::vector<MemoryPeak> memory;
  std::vector<LeftOutCount> left_out;
  std::map<Id, std::string> hosts;
};

/// Correlation ids, first and last included.
struct CallSpan {
  std::int64_t first = INT64_MIN;
  std::int64_t last = INT64_MAX;
};

/// Asks a capture for them; must not outlive it. Throws Error if the capture is damaged.
class Order {
 public:
  explicit Order(const Capture& capture);

  /// Whether the capture's version has these tables; without them every list is empty.
  [[nodiscard]] bool recorded() const { return recorded_; }
  [[nodiscard]] std::vector<Stream> streams(Id process_id) const;  // by context, stream
  /// By correlation id.
  [[nodiscard]] std::vector<OrderingCall> calls(Id process_id, const CallSpan& span = {}) const;
  /// How many of each kind, of the whole capture.
  [[nodiscard]] std::map<StreamCall, std::int64_t> call_counts() const;
  [[nodiscard]] std::vector<GraphNode> graph_nodes(Id process_id) const;  // by node
  [[nodiscard]] std::vector<GraphEdge> graph_edges(Id process_id) const;  // by to, from
  [[nodiscard]] std::int64_t graph_edge_count() const;
  [[nodiscard]] std::vector<MemoryUse> memory(Id process_id) const;  // by correlation id
  [[nodiscard]] std::vector<MemoryPeak> memory_peaks() const;        // by process, device
  [[nodiscard]] std::vector<LeftOutCount> left_out() const;          // by process, what
  [[nodiscard]] OrderSummary summary() const {
    return {call_counts(), graph_edge_count(), memory_peaks(), left_out(), hosts()};
  }
  /// Host of each process that has one.
  [[nodiscard]] std::map<Id, std::string> hosts() const;

 private:
  const Database& database_;
  bool recorded_ = false;
};

}  // namespace ridgeline::store
