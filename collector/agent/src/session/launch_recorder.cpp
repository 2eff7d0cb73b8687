#include "session/launch_recorder.h"

#include <algorithm>

#include "cupti/launch_params.h"
#include "session/interventions.h"

namespace ridgeline::agent {
namespace {

const void* graph_of_launch(const void* params) noexcept {
  return params != nullptr ? static_cast<const cuGraphLaunch_params*>(params)->hGraph : nullptr;
}

steps::Key graph_key_of(const void* params) {
  return steps::graph_key(reinterpret_cast<std::uintptr_t>(graph_of_launch(params)));
}

}  // namespace

std::int64_t LaunchRecorder::note_for_period(ThreadState& thread, CUpti_CallbackId id,
                                             const CUpti_CallbackData& data) noexcept {
  if (!period_.looks_at(data.contextUid)) return 0;
  const std::int64_t now = now_ns();
  if (is_graph_launch(id))
    return period_.note_launch(thread, graph_key_of(data.functionParams), nullptr, now) ? 0 : now;
  SequenceEntry entry{thread.launch_kernel_id, 0, 0, 0};
  grid_of(id, data.functionParams, &entry);
  return period_.note_launch(thread, steps::key_of(entry.kernel_id, entry.grid_x, entry.grid_y, entry.grid_z),
                             data.symbolName, now)
             ? 0
             : now;
}

void LaunchRecorder::on_launch(ThreadState& thread, CUpti_CallbackId id,
                               const CUpti_CallbackData& data) noexcept {
  if (thread.inside) {
    if (thread.delaying && data.callbackSite == CUPTI_API_ENTER)
      thread.delay_correlation_id = data.correlationId;
    return;
  }
  if (data.callbackSite == CUPTI_API_ENTER) {
    const bool noted = recording_.load(std::memory_order_acquire);
    thread.launch_noted.store(noted, std::memory_order_relaxed);
    if (!noted) {
      if (alone_.active()) count_alone(thread, id, data);
      return;
    }
    session_.thread_names.note(thread);
    thread.launch_kernel_id = 0;
    thread.launch_verdict = 0;
    thread.launch_collective = false;
    // For the period, the step's sequence, to tell CUPTI's helpers apart, and to know collectives.
    if (!is_graph_launch(id)) look_up_kernel(thread, id, data);
    const bool captured = is_captured(id, data);
    std::int64_t entered_ns = 0;
    if (period_.watches() && !captured) {
      entered_ns = note_for_period(thread, id, data);
      // It may have begun a step that is not recorded.
      if (!recording_.load(std::memory_order_relaxed))
        return thread.launch_noted.store(false, std::memory_order_relaxed);
    }
    if (stretches_.wants_launch() && !captured) {
      stretches_.note_launch(thread, is_graph_launch(id));
      entered_ns = 0;
    }
    if (thread.launch_collective) session_.agreement.count_collective();
    if (session_.steps.active() == spool::kNoStep) thread.launch_kernel_id = 0;
    const bool counted = session_.replay && session_.replay->wants_launch() && !captured;
    const bool looked_into = session_.stalls && session_.stalls->wants_launch() && !captured;
    if (counted || looked_into) entered_ns = 0;  // what comes now takes its time
    if (counted)
      if (const AgentCall call{session_.gate, thread})
        thread.launch_verdict =
            static_cast<std::uint8_t>(session_.replay->launch_enter(call_of(thread, id, data)));
    if (looked_into)
      if (const AgentCall call{session_.gate, thread}) session_.stalls->launch_enter(data.context);
    if (session_.interventions != nullptr && session_.interventions->wants_launch() && !captured) {
      session_.interventions->launch_enter(thread, id, data);
      entered_ns = 0;
    }
    session_.timeline->seen().mark(
        data.correlationId, is_graph_launch(id) ? SeenLaunches::kGraphLaunch : thread.launch_kernel_id);
    thread.graph_node_created = false;
    thread.launch_enter_ns = entered_ns != 0 ? entered_ns : now_ns();
  } else if (thread.launch_noted.load(std::memory_order_relaxed)) {
    launch_exit(thread, id, data);
    thread.launch_noted.store(false, std::memory_order_release);
  }
}

// In a step that is not recorded: as little as finds its end.
void LaunchRecorder::count_alone(ThreadState& thread, CUpti_CallbackId id,
                                 const CUpti_CallbackData& data) noexcept {
  if (is_captured(id, data)) return;
  const bool careful = alone_.careful();
  const std::int64_t since_ns = now_ns();
  // The driver may load it now.
  if (careful && !is_graph_launch(id) && !is_loaded(thread, function_of(id, data.functionParams)))
    return alone_.code_comes();
  if (!period_.watches()) {
    if (careful) alone_.count_launch(now_ns() - since_ns);
    return;
  }
  thread.launch_kernel_id = 0;
  if (!is_graph_launch(id)) look_up_kernel(thread, id, data);
  note_for_period(thread, id, data);
  if (alone_.active()) alone_.count_launch(now_ns() - since_ns);
}

// It was launched before, and no module was unloaded since.
bool LaunchRecorder::is_loaded(const ThreadState& thread, const void* function) const noexcept {
  if (function == nullptr) return false;
  const auto& cached = thread.kernels[(reinterpret_cast<std::uintptr_t>(function) >> 4) % kKernelCacheSize];
  const std::uint32_t modules = session_.module_generation.load(std::memory_order_acquire);
  return (cached.function == function && cached.code_known && cached.module_generation == modules) ||
         session_.kernels.knows(function);
}

// Into a stream that is being captured: it becomes part of a graph and runs when that does. It counts towards
// no period, and no step begins or ends in it, since what a step's boundary asks of CUPTI would break the
// capture.
bool LaunchRecorder::is_captured(CUpti_CallbackId id, const CUpti_CallbackData& data) const noexcept {
  return session_.captures.any() && session_.driver.captures(stream_of(id, data.functionParams));
}

// What the name says is looked up where the function is new, or a module came or went since.
ThreadState::CachedKernel& LaunchRecorder::cached_kernel(ThreadState& thread, CUpti_CallbackId id,
                                                         const CUpti_CallbackData& data) const noexcept {
  const char* const name = data.symbolName;
  const void* const function = function_of(id, data.functionParams);
  const void* const key = function != nullptr ? function : name;
  const std::uint32_t modules = session_.module_generation.load(std::memory_order_acquire);
  auto& cached = thread.kernels[(reinterpret_cast<std::uintptr_t>(key) >> 4) % kKernelCacheSize];
  if (cached.function == function && cached.name == name && cached.module_generation == modules)
    return cached;
  cached.kernel_id = session_.kernels.id_of(name);
  const auto reason = session_.exclusions.by_name(name);
  if (reason) session_.exclusions.add(cached.kernel_id, *reason);
  cached.collective = reason == ExclusionReason::name;
  cached.code_known = false;
  cached.module_generation = modules;
  cached.function = function;
  cached.name = name;
  return cached;
}

void LaunchRecorder::look_up_kernel(ThreadState& thread, CUpti_CallbackId id,
                                    const CUpti_CallbackData& data) noexcept {
  if (data.symbolName == nullptr) return;
  const auto& cached = cached_kernel(thread, id, data);
  thread.launch_kernel_id = cached.kernel_id;
  thread.launch_collective = cached.collective;
}

std::uint32_t LaunchRecorder::code_of(ThreadState& thread, CUpti_CallbackId id,
                                      const CUpti_CallbackData& data) const noexcept {
  if (data.symbolName == nullptr) return 0;
  auto& cached = cached_kernel(thread, id, data);
  if (!cached.code_known) {
    cached.code = session_.kernels.code_of(cached.function, data.symbolName);
    cached.code_known = cached.function != nullptr;
  }
  return cached.code;
}

LaunchCall LaunchRecorder::call_of(const ThreadState& thread, CUpti_CallbackId id,
                                   const CUpti_CallbackData& data) const noexcept {
  LaunchCall call;
  call.context = data.context;
  call.stream = stream_of(id, data.functionParams);
  call.thread_id = thread.thread_id;
  call.correlation_id = data.correlationId;
  call.kernel_id = thread.launch_kernel_id;
  call.graph = is_graph_launch(id);
  if (!call.graph) {
    SequenceEntry entry{};
    grid_of(id, data.functionParams, &entry);
    call.grid_x = entry.grid_x;
    call.grid_y = entry.grid_y;
    call.grid_z = entry.grid_z;
    call.waits_for_nothing = session_.without_steps.waits_for_nothing(call.kernel_id);
  }
  call.name = call.graph ? nullptr : data.symbolName;
  call.several_devices = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice;
  return call;
}

void LaunchRecorder::launch_exit(ThreadState& thread, CUpti_CallbackId id,
                                 const CUpti_CallbackData& data) noexcept {
  const auto verdict = static_cast<Verdict>(thread.launch_verdict);
  if (verdict != Verdict::not_asked)
    if (const AgentCall call{session_.gate, thread})
      session_.replay->launch_exit(call_of(thread, id, data), verdict);
  spool::LaunchRecord record{};
  record.correlation_id = data.correlationId;
  record.thread_id = thread.thread_id;
  record.enter_ns = thread.launch_enter_ns;
  record.exit_ns = std::max(now_ns(), record.enter_ns);  // of two clocks, perhaps
  record.nvtx_path_id = NvtxTracker::path_of(thread);
  record.nvtx_range_id = NvtxTracker::range_of(thread);
  record.step_index = session_.steps.active();
  record.step_ordinal = spool::kNoStep;
  record.callback_id = id;
  record.context_id = data.contextUid;
  const bool graph = is_graph_launch(id);
  const bool failed = data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  const bool captured = thread.graph_node_created && !graph;
  if (!failed && !graph) record.code = code_of(thread, id, data);
  if (!failed && !captured && session_.first_context.load(std::memory_order_relaxed) == nullptr)
    session_.first_context.store(data.context, std::memory_order_release);
  if (verdict == Verdict::excluded || verdict == Verdict::unmeasured)
    record.header.flags |= spool::kLaunchExcluded;
  if (failed) {
    record.header.flags |= spool::kLaunchFailed;
    session_.totals.add(&Count::launches_failed);
  } else if (captured) {
    record.header.flags |= spool::kLaunchCaptured;
    session_.totals.add(&Count::launches_captured);
  } else if (graph) {
    record.header.flags |= spool::kLaunchIsGraph;
    session_.totals.add(&Count::graph_launches_seen);
    if (GraphLaunches* graphs = session_.timeline->graphs())
      graphs->launched(graph_of_launch(data.functionParams), data.correlationId);
    if (record.step_index != spool::kNoStep) session_.steps.current().count_graph_launch();
  } else {
    session_.totals.add(&Count::launches_seen);
    if (record.step_index != spool::kNoStep) {
      SequenceEntry entry{thread.launch_kernel_id, 0, 0, 0, verdict == Verdict::measured};
      grid_of(id, data.functionParams, &entry);
      LaunchSequence& sequence = session_.steps.current();
      record.step_ordinal = sequence.append(entry, data.contextUid);
      if (session_.replay && !session_.steps.schedule_over())
        session_.times.places.launched(data.correlationId, record.step_ordinal);
      if (session_.replay && session_.replay->untraced()) write_untraced(entry, data);
    }
  }
  if (session_.interventions != nullptr)
    session_.interventions->launch_exit(thread, record, failed || captured || graph);
  if (!failed && !captured) order_.on_launch(thread, stream_of(id, data.functionParams), data);
  if (!failed && !captured) session_.device_launches.note(device_of(data), data.correlationId);
  if (!failed && !graph) {
    thread.last_launch_range = record.nvtx_range_id;
    thread.last_launch_id = data.correlationId;
  }
  session_.writer.put(record);
}

std::uint32_t LaunchRecorder::device_of(const CUpti_CallbackData& data) noexcept {
  std::uint32_t device_id = session_.device_launches.device_of(data.contextUid);
  if (device_id == DeviceLaunches::kUnknown &&
      session_.api->get_device_id(data.context, &device_id) == CUPTI_SUCCESS)
    session_.device_launches.context_created(data.contextUid, device_id);
  return device_id;
}

// Stands for the record that CUPTI does not make while instructions are counted, so that the counts have a
// launch.
void LaunchRecorder::write_untraced(const SequenceEntry& entry, const CUpti_CallbackData& data) noexcept {
  spool::KernelRecord record{};
  record.header.flags = spool::kUntraced;
  record.correlation_id = data.correlationId;
  record.kernel_id = entry.kernel_id;
  record.context_id = data.contextUid;
  if (const std::uint32_t device_id = device_of(data); device_id != DeviceLaunches::kUnknown)
    record.device_id = device_id;
  record.grid_x = entry.grid_x;
  record.grid_y = entry.grid_y;
  record.grid_z = entry.grid_z;
  session_.totals.add(&Count::kernel_records);
  session_.writer.put(record);
}

}  // namespace ridgeline::agent
