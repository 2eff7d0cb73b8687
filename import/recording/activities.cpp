#include "recording/activities.h"

#include <algorithm>

namespace ridgeline::import {

void RecordedActivities::add(const Call& call) {
  join_.add(recorded_.in_step(call),
            [this](const Execution& execution, const Call* of) { write_launch(execution, of); });
}

void RecordedActivities::add(const Execution& execution) {
  join_.add(execution, [this](const Execution& each, const Call* of) { write_launch(each, of); });
}

void RecordedActivities::finish() {
  join_.finish([this](const Execution& execution, const Call* of) { write_launch(execution, of); });
}

void RecordedActivities::write_launch(const Execution& execution, const Call* call) {
  store::Launch row;
  row.process_id = rows_.process_id();
  row.device_id = rows_.device_id(execution.device);
  row.context_id = execution.context_id;
  row.stream_id = execution.stream_id;
  row.correlation_id = execution.correlation_id;
  const bool node = execution.graph_node.has_value();
  if (node) {
    row.graph_id = execution.graph_id;
    row.graph_node_id = static_cast<std::int64_t>(*execution.graph_node);
  }
  row.kernel_id = kernels_.id_of(execution.kernel, code_of_(execution, call));
  const bool timed = has_time(execution.start_ns, execution.end_ns);
  row.start_ns = timed ? execution.start_ns : 0;
  row.end_ns = timed ? execution.end_ns : 0;
  row.grid = execution.grid;
  row.block = execution.block;
  row.cluster = execution.cluster;
  row.registers_per_thread = execution.registers_per_thread;
  row.static_smem_bytes = execution.static_smem_bytes;
  row.dynamic_smem_bytes = execution.dynamic_smem_bytes;
  RecordedStep* step = nullptr;
  row.step_id = recorded_.window_step(call != nullptr ? call->enter_ns.value_or(execution.start_ns)
                                                      : execution.start_ns);
  if (call != nullptr) {
    row.host_start_ns = call->enter_ns;
    row.host_end_ns = call->exit_ns;
    row.thread_id = call->thread_id;
    row.nvtx_path_id = ranges_.path_id(call->path_id);
    step = finder_.find(call->step);
    if (step != nullptr) {
      row.step_id = step->id;
      if (node) {
        row.ordinal_in_step = ordinal_in_graph(execution);
      } else if (call->position != kNone) {
        row.ordinal_in_step = RecordedSteps::ordinal_in_step(*step, call->position);
      }
    }
  }
  const store::Id id = rows_.writer().add(row);
  last_launch_id_ = id;
  if (told_) told_(execution, id);
  samples_.add(execution, row.kernel_id, step, row.ordinal_in_step, id);
  if (step != nullptr && step->phase == Phase::stalls) kernels_.note_stalled(execution.kernel, row.kernel_id);
  ++rows_.summary().launches;
  ++launches_;
  rows_.row_written();
  if (step != nullptr && !node) {
    if (auto counted = step->counted.find(call->position); counted != step->counted.end())
      counted->second.launch_id = id;
  }
}

// Nodes of one graph launch are told apart by node id; a node that ran several times, by order of arrival.
std::optional<std::int64_t> RecordedActivities::ordinal_in_graph(const Execution& execution) {
  const auto graph = recorded_.graphs.find(execution.correlation_id);
  if (graph == recorded_.graphs.end()) return std::nullopt;
  const auto& nodes = graph->second.nodes;
  const std::uint64_t node = execution.graph_node.value_or(0);
  const auto [first, last] = std::equal_range(nodes.begin(), nodes.end(), node);
  std::int64_t rank = first - nodes.begin();
  if (last - first > 1) rank += repeated_nodes_[{execution.correlation_id, node}]++;
  return graph->second.first_ordinal_in_step + rank;
}

template <typename Row>
Row RecordedActivities::copy_row(const Copy& copy) {
  Row row;
  row.process_id = rows_.process_id();
  row.device_id = rows_.device_id(copy.device);
  row.context_id = copy.context_id;
  row.stream_id = copy.stream_id;
  row.correlation_id = copy.correlation_id;
  row.bytes = copy.bytes;
  const bool timed = has_time(copy.start_ns, copy.end_ns);
  row.start_ns = timed ? copy.start_ns : 0;
  row.end_ns = timed ? copy.end_ns : 0;
  row.step_id = recorded_.window_step(copy.start_ns);
  if (const RecordedStep* step = recorded_.step_of(copy)) row.step_id = step->id;
  if (copy.graph_node) {
    row.graph_node_id = static_cast<std::int64_t>(*copy.graph_node);
    if (auto graph = recorded_.graphs.find(copy.correlation_id); graph != recorded_.graphs.end())
      row.nvtx_path_id = ranges_.path_id(graph->second.call.path_id);
  }
  return row;
}

void RecordedActivities::add(const Copy& copy) {
  if (copy.kind) {
    auto row = copy_row<store::Memcpy>(copy);
    row.kind = *copy.kind;
    const store::Id id = rows_.writer().add(row);
    if (told_of_copy_) told_of_copy_(copy, id);
  } else {
    rows_.writer().add(copy_row<store::Memset>(copy));
  }
  samples_.add(copy);
  rows_.row_written();
}

void RecordedActivities::add(const Wait& wait) {
  if (!has_time(wait.enter_ns, wait.exit_ns)) return;
  store::Synchronisation row;
  row.process_id = rows_.process_id();
  row.thread_id = wait.thread_id;
  row.start_ns = wait.enter_ns;
  row.duration_ns = wait.exit_ns - wait.enter_ns;
  row.call = wait.call;
  row.correlation_id = wait.correlation_id;
  row.step_id = recorded_.window_step(wait.enter_ns);
  if (const auto step = recorded_.steps.find(recorded_.step_at(wait.step, wait.enter_ns));
      step != recorded_.steps.end())
    row.step_id = step->second.id;
  rows_.writer().add(row);
  rows_.row_written();
}

void RecordedActivities::add(const Clocks& clocks) {
  const store::Id device = rows_.device_id(clocks.device);
  rows_.writer().add(store::ClockSample{.device_id = device,
                                        .time_ns = clocks.time_ns,
                                        .sm_clock_hz = clocks.sm_hz,
                                        .memory_clock_hz = clocks.memory_hz,
                                        .power_mw = clocks.power_mw,
                                        .temperature_c = clocks.temperature_c,
                                        .throttle_reasons = clocks.throttle_reasons});
  // The clock that matters is the one while steps ran; without steps, any.
  const auto& steps = recorded_.steps;
  const bool in_steps =
      !recorded_.has_steps() || (clocks.time_ns >= steps.begin()->second.start_ns &&
                                 clocks.time_ns <= steps.rbegin()->second.end_ns.value_or(INT64_MAX));
  if (in_steps && clocks.sm_hz.value_or(0) > 0) rows_.devices().add_clock(device, *clocks.sm_hz);
}

}  // namespace ridgeline::import
