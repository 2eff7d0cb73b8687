// stream_order.h: what each piece of work waits for by recorded calls and edges: events, the legacy default stream,
// graphs. Plain values, so that a test writes them down by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "execution/recorded_step.h"
#include "ridgeline/base/stream_words.h"

namespace ridgeline::analyzer {

/// What orders the work of a step, beside the order of each stream.
struct OrderedStep {
  using Index = RecordedStep::Index;

  struct Stream {
    std::int64_t context = 0;
    std::optional<StreamKind> kind;  ///< empty: its making was not seen
  };
  /// A piece of RecordedStep::works.
  struct Work {
    std::int64_t correlation_id = 0;   ///< of the call that gave it to the stream
    std::uint32_t stream = 0;          ///< into `streams`
    std::optional<std::int64_t> node;  ///< of a graph
  };
  struct Call {
    std::int64_t correlation_id = 0;
    StreamCall call = StreamCall::event_record;
    std::optional<std::uint32_t> stream;  ///< empty: of none, or of one without work in the step
    std::optional<std::int64_t> event;
    std::optional<std::int64_t> source_id;  ///< of the record waited for
    /// The record waited for is what `source_id` was so many repetitions before.
    std::uint32_t source_back = 0;
  };
  struct Node {
    GraphNodeKind kind = GraphNodeKind::kernel;
    std::optional<std::int64_t> parent;
  };
  struct Edge {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  std::vector<Stream> streams;
  std::vector<Work> works;  ///< as RecordedStep::works
  std::vector<Call> calls;  ///< by correlation id
  std::unordered_map<std::int64_t, Node> nodes;
  std::vector<Edge> edges;
  bool repeats = false;  ///< what a step waits for may be of the step before, which did the same
};

struct StepOrder {
  std::vector<RecordedStep::Dependency> dependencies;
  /// What the host waits for in a call, by the call's correlation id.
  std::unordered_map<std::int64_t, std::vector<RecordedStep::Awaited>> awaited;
  std::vector<bool> graph_known;  ///< by work: what its graph's nodes wait for is among the dependencies
  /// No stream of the step can wait for another unseen: all kinds are known, and nothing was given up.
  bool complete = false;
};

[[nodiscard]] StepOrder order_of(const OrderedStep& step);

}  // namespace ridgeline::analyzer
