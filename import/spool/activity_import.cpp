#include "spool/activity_import.h"

#include <algorithm>

#include "ridgeline/base/text.h"
#include "spool/spool_words.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

template <typename T>
std::optional<T> present(T value, T absent) {
  return value == absent ? std::nullopt : std::optional<T>(value);
}

}  // namespace

void ActivityImport::write_launch(const KernelRecord& kernel, const LaunchRecord* call) {
  store::Launch row;
  row.process_id = rows_.process_id;
  row.device_id = rows_.device_id(kernel.device_id);
  row.context_id = kernel.context_id;
  row.stream_id = kernel.stream_id;
  row.correlation_id = kernel.correlation_id;
  const bool node = (kernel.header.flags & kGraphNode) != 0;
  if (node) {
    row.graph_id = kernel.graph_id;
    row.graph_node_id = static_cast<std::int64_t>(kernel.graph_node_id);
  }
  row.kernel_id = kernels_.of(kernel, call, node);
  const bool timed = has_time(kernel.start_ns, kernel.end_ns);
  row.start_ns = timed ? kernel.start_ns : 0;
  row.end_ns = timed ? kernel.end_ns : 0;
  row.grid = {kernel.grid_x, kernel.grid_y, kernel.grid_z};
  row.block = {kernel.block_x, kernel.block_y, kernel.block_z};
  if (kernel.cluster_x > 1 || kernel.cluster_y > 1 || kernel.cluster_z > 1) {
    row.cluster = store::Dim3{kernel.cluster_x, kernel.cluster_y, kernel.cluster_z};
  }
  row.registers_per_thread = kernel.registers_per_thread;
  row.static_smem_bytes = kernel.static_smem_bytes;
  row.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  ScannedStep* step = nullptr;
  row.step_id = windows_.window_step(call != nullptr ? call->enter_ns : kernel.start_ns);
  if (call != nullptr) {
    row.host_start_ns = call->enter_ns;
    row.host_end_ns = call->exit_ns;
    row.thread_id = call->thread_id;
    row.nvtx_path_id = ranges_.path_id(call->nvtx_path_id);
    step = steps_.find(call->step_index);
    if (step != nullptr) {
      row.step_id = step->id;
      if (node) {
        row.ordinal_in_step = ordinal_in_graph(kernel);
      } else if (call->step_ordinal != kNoStep) {
        row.ordinal_in_step = ScannedSpool::ordinal_in_step(*step, call->step_ordinal);
      }
    }
  }
  const store::Id id = writer_.add(row);
  samples_.add_kernel(kernel, row.kernel_id, step, row.ordinal_in_step, id);
  if (step != nullptr && step->phase == Phase::stalls) kernels_.note_stalled(kernel.kernel_id, row.kernel_id);
  ++rows_.summary.launches;
  ++launches_;
  rows_.row_written();
  if (step != nullptr && !node) {
    if (auto replayed = step->replay.find(call->step_ordinal); replayed != step->replay.end()) {
      replayed->second.launch_id = id;
    }
  }
}

// Nodes of one graph launch are told apart by node id; a node that ran several times, by order of arrival.
std::optional<std::int64_t> ActivityImport::ordinal_in_graph(const KernelRecord& kernel) {
  const auto graph = spool_.graphs.find(kernel.correlation_id);
  if (graph == spool_.graphs.end()) return std::nullopt;
  const auto& nodes = graph->second.nodes;
  const auto [first, last] = std::equal_range(nodes.begin(), nodes.end(), kernel.graph_node_id);
  std::int64_t rank = first - nodes.begin();
  if (last - first > 1) rank += repeated_nodes_[{kernel.correlation_id, kernel.graph_node_id}]++;
  return graph->second.first_ordinal_in_step + rank;
}

template <typename Row, typename Record>
Row ActivityImport::copy_row(const Record& record, bool device_to_host) {
  const bool node = (record.header.flags & kGraphNode) != 0;
  Row row;
  row.process_id = rows_.process_id;
  row.device_id = rows_.device_id(record.device_id);
  row.context_id = record.context_id;
  row.stream_id = record.stream_id;
  row.correlation_id = record.correlation_id;
  row.bytes = record.bytes;
  const bool timed = has_time(record.start_ns, record.end_ns);
  row.start_ns = timed ? record.start_ns : 0;
  row.end_ns = timed ? record.end_ns : 0;
  row.step_id = windows_.window_step(record.start_ns);
  if (const ScannedStep* step =
          spool_.step_of_copy(record.correlation_id, record.start_ns, device_to_host, node)) {
    row.step_id = step->id;
  }
  if (node) {
    if (auto graph = spool_.graphs.find(record.correlation_id); graph != spool_.graphs.end()) {
      row.nvtx_path_id = ranges_.path_id(graph->second.call.nvtx_path_id);
    }
  }
  return row;
}

void ActivityImport::write(const OffsetProgress& progress) {
  LaunchJoin join;
  const auto emit = [this](const KernelRecord& kernel, const LaunchRecord* call) {
    write_launch(kernel, call);
  };
  constexpr RecordTypes kRows = RecordTypes::all().without({RecordType::string, RecordType::counter_value});
  visit_records(rows_.reader, kRows, progress, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>()) {
      join.add(*kernel, emit);
    } else if (const auto* call = view.as<LaunchRecord>()) {
      join.add(spool_.in_step(*call), emit);
    } else if (const auto* copy = view.as<MemcpyRecord>()) {
      auto row = copy_row<store::Memcpy>(*copy, copy->kind == MemcpyKind::device_to_host);
      row.kind = copy_kind(copy->kind);
      writer_.add(row);
      samples_.add_copy(copy->device_id, copy->start_ns, copy->end_ns, static_cast<std::uint32_t>(copy->kind),
                        copy->bytes);
      rows_.row_written();
    } else if (const auto* set = view.as<MemsetRecord>()) {
      writer_.add(copy_row<store::Memset>(*set, false));
      samples_.add_copy(set->device_id, set->start_ns, set->end_ns, UINT32_MAX, set->bytes);
      rows_.row_written();
    } else if (const auto* range = view.as<NvtxRangeRecord>()) {
      ranges_.add(*range);
    } else if (const auto* payload = view.as<NvtxPayloadRecord>()) {
      ranges_.add(*payload, view.trailing_bytes());
    } else if (const auto* clock = view.as<ClockSampleRecord>()) {
      write_clock(*clock);
    } else if (const auto* overhead = view.as<OverheadRecord>()) {
      write_overhead(*overhead);
    } else if (const auto* thread = view.as<ThreadRecord>()) {
      write_thread(*thread);
    } else if (const auto* wait = view.as<SynchronisationRecord>()) {
      write_wait(*wait);
    } else if (const auto* pair = view.as<ClockPairRecord>()) {
      writer_.add(store::ClockPair{.process_id = rows_.process_id,
                                   .time_ns = pair->cupti_ns,
                                   .realtime_ns = pair->realtime_ns,
                                   .monotonic_ns = pair->monotonic_ns});
    }
  });
  join.finish(emit);
  // The records were counted before: a file that shrinks meanwhile must not pass for whole.
  const std::int64_t counted = spool_.kernel_records + spool_.graph_kernel_records;
  if (launches_ >= counted && !rows_.reader.has_shrunk()) return;
  rows_.say(Severity::error, Reason(ReasonCode::spool_cut,
                                    {{"pid", rows_.pid}, {"records", launches_}, {"expected", counted}}));
}

// What the program calls its thread stands, whatever the system calls it.
void ActivityImport::write_thread(const ThreadRecord& thread) {
  if ((thread.header.flags & kSystemThreadName) == 0)
    named_threads_.insert(thread.thread_id);
  else if (named_threads_.contains(thread.thread_id))
    return;
  writer_.add(store::Thread{.process_id = rows_.process_id,
                            .thread_id = thread.thread_id,
                            .name = one_line(rows_.reader.string_or(thread.name, "(name lost)"))});
}

void ActivityImport::write_wait(const SynchronisationRecord& wait) {
  if (!is_known(wait.call) || !has_time(wait.enter_ns, wait.exit_ns))
    return;  // of another version, or damaged
  store::Synchronisation row;
  row.process_id = rows_.process_id;
  row.thread_id = wait.thread_id;
  row.start_ns = wait.enter_ns;
  row.duration_ns = wait.exit_ns - wait.enter_ns;
  row.call = wait.call;
  row.correlation_id = wait.correlation_id;
  row.step_id = windows_.window_step(wait.enter_ns);
  if (const auto step = spool_.steps.find(spool_.step_at(wait.step_index, wait.enter_ns));
      step != spool_.steps.end())
    row.step_id = step->second.id;
  writer_.add(row);
  rows_.row_written();
}

void ActivityImport::write_clock(const ClockSampleRecord& clock) {
  const store::Id device = rows_.device_id(clock.device_id);
  writer_.add(
      store::ClockSample{.device_id = device,
                         .time_ns = clock.time_ns,
                         .sm_clock_hz = present<std::int64_t>(clock.sm_hz, 0),
                         .memory_clock_hz = present<std::int64_t>(clock.memory_hz, 0),
                         .power_mw = present<std::int64_t>(static_cast<std::int64_t>(clock.power_mw), 0),
                         .temperature_c = present(static_cast<int>(clock.temperature_celsius), 0),
                         .throttle_reasons = static_cast<std::int64_t>(clock.throttle_reasons)});
  // The clock that matters is the one while steps ran; without steps, any.
  const bool in_steps =
      spool_.steps.empty() || (clock.time_ns >= spool_.steps.begin()->second.begin_ns &&
                               clock.time_ns <= spool_.steps.rbegin()->second.end_ns.value_or(INT64_MAX));
  if (in_steps && clock.sm_hz > 0) rows_.devices.add_clock(device, clock.sm_hz);
}

void ActivityImport::write_overhead(const OverheadRecord& overhead) {
  writer_.add(store::ProfilerOverhead{.process_id = rows_.process_id,
                                      .kind = overhead_kind(overhead.kind),
                                      .thread_id = present<std::int64_t>(overhead.thread_id, 0),
                                      .start_ns = overhead.start_ns,
                                      .end_ns = overhead.end_ns});
  rows_.row_written();
}

}  // namespace ridgeline::import
