// spool_events.h: records of a spool as events of a recording.
#pragma once

#include "recording/events.h"
#include "ridgeline/spool/format.h"
#include "spool/spool_words.h"

namespace ridgeline::import {

/// A failed launch and a captured one bring no kernel.
[[nodiscard]] inline bool expects_kernel(const spool::LaunchRecord& call) {
  return (call.header.flags & (spool::kLaunchFailed | spool::kLaunchCaptured)) == 0;
}

[[nodiscard]] inline Call call_of(const spool::LaunchRecord& call) {
  return {.correlation_id = call.correlation_id,
          .path_id = call.nvtx_path_id,
          .step = call.step_index,
          .position = call.step_ordinal,
          .code = call.code,
          .graph = (call.header.flags & spool::kLaunchIsGraph) != 0,
          .thread_id = call.thread_id,
          .enter_ns = call.enter_ns,
          .exit_ns = call.exit_ns};
}

[[nodiscard]] inline Execution execution_of(const spool::KernelRecord& kernel) {
  Execution execution{.correlation_id = kernel.correlation_id,
                      .kernel = kernel.kernel_id,
                      .device = kernel.device_id,
                      .context_id = kernel.context_id,
                      .stream_id = kernel.stream_id,
                      .start_ns = kernel.start_ns,
                      .end_ns = kernel.end_ns,
                      .grid = {kernel.grid_x, kernel.grid_y, kernel.grid_z},
                      .block = {kernel.block_x, kernel.block_y, kernel.block_z},
                      .cluster = std::nullopt,
                      .registers_per_thread = kernel.registers_per_thread,
                      .static_smem_bytes = kernel.static_smem_bytes,
                      .dynamic_smem_bytes = kernel.dynamic_smem_bytes,
                      .graph_id = kernel.graph_id,
                      .graph_node = std::nullopt};
  if (kernel.cluster_x > 1 || kernel.cluster_y > 1 || kernel.cluster_z > 1)
    execution.cluster = store::Dim3{kernel.cluster_x, kernel.cluster_y, kernel.cluster_z};
  if ((kernel.header.flags & spool::kGraphNode) != 0) execution.graph_node = kernel.graph_node_id;
  return execution;
}

template <typename Record>
[[nodiscard]] Copy copy_on_device(const Record& record) {
  return {.correlation_id = record.correlation_id,
          .device = record.device_id,
          .context_id = record.context_id,
          .stream_id = record.stream_id,
          .start_ns = record.start_ns,
          .end_ns = record.end_ns,
          .bytes = record.bytes,
          .kind = std::nullopt,
          .likeness = 0,
          .graph_node = (record.header.flags & spool::kGraphNode) != 0
                            ? std::optional<std::uint64_t>(record.graph_node_id)
                            : std::nullopt};
}
[[nodiscard]] inline Copy copy_of(const spool::MemcpyRecord& record) {
  Copy copy = copy_on_device(record);
  copy.kind = copy_kind(record.kind);
  copy.likeness = static_cast<std::uint32_t>(record.kind);
  return copy;
}
[[nodiscard]] inline Copy copy_of(const spool::MemsetRecord& record) {
  return copy_on_device(record);
}

[[nodiscard]] inline Range range_of(const spool::NvtxRangeRecord& range) {
  Range event{.id = range.range_id,
              .parent = range.parent_range_id,
              .path = range.path_id,
              .thread_id = range.thread_id,
              .depth = range.depth,
              .step = range.step_index,
              .start_ns = range.start_ns,
              .end_ns = std::nullopt};
  if ((range.header.flags & spool::kRangeUnclosed) == 0) event.end_ns = range.end_ns;
  return event;
}

[[nodiscard]] inline Wait wait_of(const spool::SynchronisationRecord& wait) {
  return {.thread_id = wait.thread_id,
          .correlation_id = wait.correlation_id,
          .enter_ns = wait.enter_ns,
          .exit_ns = wait.exit_ns,
          .call = wait.call,
          .step = wait.step_index};
}

[[nodiscard]] inline StreamMade stream_of(const spool::StreamRecord& stream) {
  return {stream.context_id, stream.stream_id, stream.kind, stream.priority};
}
[[nodiscard]] inline OrderingCall ordering_of(const spool::StreamCallRecord& call) {
  OrderingCall event{.correlation_id = call.correlation_id,
                     .thread_id = call.thread_id,
                     .time_ns = call.time_ns,
                     .call = call.call,
                     .stream = std::nullopt,
                     .event = call.event,
                     .step = call.step_index};
  if (call.call != StreamCall::event_awaited) event.stream = {call.context_id, call.stream_id};
  return event;
}
[[nodiscard]] inline GraphNode node_of(const spool::GraphNodeRecord& node) {
  return {node.node_id, node.parent_id, node.graph, node.kind};
}
[[nodiscard]] inline GraphNodeClone clone_of(const spool::GraphNodeCloneRecord& clone) {
  return {clone.node_id, clone.original_id, clone.graph};
}
[[nodiscard]] inline GraphEdge edge_of(const spool::GraphEdgeRecord& edge) {
  return {edge.from_id, edge.to_id, edge.graph, (edge.header.flags & spool::kProgrammaticEdge) != 0};
}
[[nodiscard]] inline MemoryUse use_of(const spool::MemoryCallRecord& use) {
  return {.correlation_id = use.correlation_id,
          .thread_id = use.thread_id,
          .time_ns = use.time_ns,
          .call = use.call,
          .address = use.address,
          .bytes = use.bytes,
          .device = use.device_id,
          .step = use.step_index};
}

/// Zero stands for what the agent could not read.
[[nodiscard]] inline Clocks clocks_of(const spool::ClockSampleRecord& clock) {
  const auto known = [](auto value) {
    return value == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(value));
  };
  Clocks clocks{.device = clock.device_id,
                .time_ns = clock.time_ns,
                .sm_hz = known(clock.sm_hz),
                .memory_hz = known(clock.memory_hz),
                .power_mw = known(clock.power_mw),
                .temperature_c = std::nullopt,
                .throttle_reasons = static_cast<std::int64_t>(clock.throttle_reasons)};
  if (clock.temperature_celsius != 0) clocks.temperature_c = static_cast<int>(clock.temperature_celsius);
  return clocks;
}

}  // namespace ridgeline::import
