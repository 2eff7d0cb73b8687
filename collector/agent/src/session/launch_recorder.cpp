#include "session/launch_recorder.h"

#include <algorithm>

#include "cupti/launch_params.h"
#include "ridgeline/base/cancellation.h"
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
  if (is_graph_launch(id)) [[unlikely]]
    return period_.note_launch(thread, graph_key_of(data.functionParams), nullptr, now) ? 0 : now;
  const LaunchArguments& launch = thread.launch;
  const steps::Key key = steps::key_of(thread.launch_kernel_id, launch.grid_x, launch.grid_y, launch.grid_z);
  return period_.note_launch(thread, key, data.symbolName, now) ? 0 : now;
}

// A call of the agent's own.
void LaunchRecorder::note_own(ThreadState& thread, const CUpti_CallbackData& data) noexcept {
  if (thread.delaying && data.callbackSite == CUPTI_API_ENTER)
    thread.delay_correlation_id = data.correlationId;
}

void LaunchRecorder::make_ready(ThreadState& thread) noexcept {
  session_.thread_names.note(thread);
  if (thread.lane == nullptr) thread.lane = session_.writer.own_lane();
  thread.ready_to_launch = true;
}

void LaunchRecorder::enter(ThreadState& thread, CUpti_CallbackId id,
                           const CUpti_CallbackData& data) noexcept {
  if (thread.inside) [[unlikely]]
    return note_own(thread, data);
  const bool noted = recording_.load(std::memory_order_acquire);
  thread.launch_noted.store(noted, std::memory_order_relaxed);
  if (!noted) [[unlikely]] {
    if (alone_.active()) count_alone(thread, id, data);
    return;
  }
  if (!thread.ready_to_launch) [[unlikely]]
    make_ready(thread);
  thread.launch = arguments_of(id, data.functionParams);
  thread.launch_verdict = 0;
  // For the period, the step's sequence, to tell CUPTI's helpers apart, and to know collectives.
  look_up_kernel(thread, id, data);
  const bool captured = is_captured(thread.launch);
  std::int64_t entered_ns = 0;
  if (session_.looks_for_period.load(std::memory_order_relaxed) && !captured) {
    entered_ns = note_for_period(thread, id, data);
    // It may have begun a step that is not recorded.
    if (!recording_.load(std::memory_order_relaxed)) [[unlikely]]
      return thread.launch_noted.store(false, std::memory_order_relaxed);
  }
  if (session_.stretch.load(std::memory_order_relaxed) != StretchState::idle && !captured) [[unlikely]] {
    stretches_.note_launch(thread, is_graph_launch(id));
    entered_ns = 0;
  }
  if (thread.launch_collective) [[unlikely]]
    session_.agreement.count_collective();
  if (session_.steps.active() == spool::kNoStep) thread.launch_kernel_id = 0;
  if (!captured && attend(thread, id, data)) [[unlikely]]
    entered_ns = 0;  // it took its time
  thread.graph_node_created = false;
  session_.seen->mark(data.correlationId,
                      is_graph_launch(id) ? SeenLaunches::kGraphLaunch : thread.launch_kernel_id);
  // What the exit writes to comes into the cache while the driver launches.
  session_.steps.current().prefetch();
  if (thread.lane != nullptr) thread.lane->prefetch();
  thread.launch_enter_ns = entered_ns;
  if (entered_ns == 0) note_entry(thread);
}

// Its time is asked for at the exit, with that of the exit.
void LaunchRecorder::note_entry(ThreadState& thread) const noexcept {
  thread.launch_enter_count = LaunchClock::count();
  if (!session_.launch_clock.has_rate()) [[unlikely]]
    thread.launch_enter_ns = session_.api->now_ns();
}

LaunchClock::Span LaunchRecorder::span_of(const ThreadState& thread) const noexcept {
  const std::uint64_t count = LaunchClock::count();
  const bool known = thread.launch_enter_ns != 0;
  LaunchClock::Span span = session_.launch_clock.since(known ? count : thread.launch_enter_count, count);
  if (span.end_ns == 0) [[unlikely]]
    span = span_by_cupti(thread, count);
  if (known) {
    span.begin_ns = thread.launch_enter_ns;
    span.end_ns = std::max(span.end_ns, span.begin_ns);  // of two clocks, perhaps
  }
  return span;
}

// The counter is none to go by, or was not for a while.
LaunchClock::Span LaunchRecorder::span_by_cupti(const ThreadState& thread,
                                                std::uint64_t count) const noexcept {
  const std::int64_t now = session_.api->now_ns();
  return {now - session_.launch_clock.lasted_ns(thread.launch_enter_count, count), now};
}

// What counts, looks into or delays the launch.
bool LaunchRecorder::attend(ThreadState& thread, CUpti_CallbackId id,
                            const CUpti_CallbackData& data) noexcept {
  const bool counted = session_.replay && session_.replay->wants_launch();
  const bool looked_into = session_.stalls && session_.stalls->wants_launch();
  const bool delayed = session_.interventions != nullptr && session_.interventions->wants_launch();
  if (!counted && !looked_into && !delayed) [[likely]]
    return false;
  begin_attending(thread, id, data, {counted, looked_into, delayed});
  return true;
}

void LaunchRecorder::begin_attending(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                                     const Attention& attention) noexcept {
  const NoCancellation whole;
  if (attention.counted)
    if (const AgentCall call{session_.gate, thread})
      thread.launch_verdict =
          static_cast<std::uint8_t>(session_.replay->launch_enter(call_of(thread, id, data)));
  if (attention.looked_into)
    if (const AgentCall call{session_.gate, thread}) session_.stalls->launch_enter(data.context);
  if (attention.delayed) session_.interventions->launch_enter(thread, id, data);
}

void LaunchRecorder::exit(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  if (thread.inside || !thread.launch_noted.load(std::memory_order_relaxed)) [[unlikely]]
    return;
  end_launch(thread, id, data);
  thread.launch_noted.store(false, std::memory_order_release);
}

// In a step that is not recorded: as little as finds its end.
void LaunchRecorder::count_alone(ThreadState& thread, CUpti_CallbackId id,
                                 const CUpti_CallbackData& data) noexcept {
  thread.launch = arguments_of(id, data.functionParams);
  if (is_captured(thread.launch)) return;
  const bool careful = alone_.careful();
  const std::int64_t since_ns = now_ns();
  // The driver may load it now.
  if (careful && !is_graph_launch(id) && !is_loaded(thread, thread.launch.function))
    return alone_.code_comes();
  if (!session_.looks_for_period.load(std::memory_order_relaxed)) {
    if (careful) alone_.count_launch(now_ns() - since_ns);
    return;
  }
  look_up_kernel(thread, id, data);
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

// What the name says is looked up where the function is new, or a module came or went since.
ThreadState::CachedKernel& LaunchRecorder::cached_kernel(ThreadState& thread,
                                                         const char* name) const noexcept {
  const void* const function = thread.launch.function;
  const void* const key = function != nullptr ? function : name;
  auto& cached = thread.kernels[(reinterpret_cast<std::uintptr_t>(key) >> 4) % kKernelCacheSize];
  const std::uint32_t modules = session_.module_generation.load(std::memory_order_acquire);
  if (cached.function != function || cached.name != name || cached.module_generation != modules) [[unlikely]]
    learn_kernel(cached, function, name, modules);
  return cached;
}

void LaunchRecorder::learn_kernel(ThreadState::CachedKernel& cached, const void* function, const char* name,
                                  std::uint32_t modules) const noexcept {
  cached.kernel_id = session_.kernels.id_of(name);
  const auto reason = session_.exclusions.by_name(name);
  if (reason) session_.exclusions.add(cached.kernel_id, *reason);
  cached.collective = reason == ExclusionReason::name;
  cached.code_known = false;
  cached.module_generation = modules;
  cached.function = function;
  cached.name = name;
}

void LaunchRecorder::look_up_kernel(ThreadState& thread, CUpti_CallbackId id,
                                    const CUpti_CallbackData& data) noexcept {
  if (is_graph_launch(id) || data.symbolName == nullptr) [[unlikely]] {
    thread.launch_kernel = nullptr;
    thread.launch_kernel_id = 0;
    thread.launch_collective = false;
    return;
  }
  thread.launch_kernel = &cached_kernel(thread, data.symbolName);
  thread.launch_kernel_id = thread.launch_kernel->kernel_id;
  thread.launch_collective = thread.launch_kernel->collective;
}

std::uint32_t LaunchRecorder::code_of(ThreadState& thread, const CUpti_CallbackData& data) const noexcept {
  if (thread.launch_kernel == nullptr) [[unlikely]]
    return 0;
  const ThreadState::CachedKernel& cached = *thread.launch_kernel;
  const std::uint32_t modules = session_.module_generation.load(std::memory_order_acquire);
  if (!cached.code_known || cached.module_generation != modules) [[unlikely]]
    return learn_code(thread, data);
  return cached.code;
}

// Looked up again: the call may have loaded a module. Then the function and the name may lie where those of a kernel
// did whose module is gone, which is not always told: what the entry of the call took for that kernel is put right, or
// the record of this one would be taken for CUPTI's.
std::uint32_t LaunchRecorder::learn_code(ThreadState& thread, const CUpti_CallbackData& data) const noexcept {
  auto& cached = cached_kernel(thread, data.symbolName);
  if (thread.launch_kernel_id != 0 && thread.launch_kernel_id != cached.kernel_id) {
    thread.launch_kernel_id = cached.kernel_id;
    session_.seen->mark(data.correlationId, cached.kernel_id);
  }
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
  call.stream = thread.launch.stream;
  call.thread_id = thread.thread_id;
  call.correlation_id = data.correlationId;
  call.kernel_id = thread.launch_kernel_id;
  call.graph = is_graph_launch(id);
  if (!call.graph) {
    call.grid_x = thread.launch.grid_x;
    call.grid_y = thread.launch.grid_y;
    call.grid_z = thread.launch.grid_z;
    call.waits_for_nothing = session_.without_steps.waits_for_nothing(call.kernel_id);
  }
  call.name = call.graph ? nullptr : data.symbolName;
  call.several_devices = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice;
  return call;
}

// Of a thread without a lane of its own, or without room in it.
spool::LaunchRecord& LaunchRecorder::unplaced(ThreadState& thread) noexcept {
  return thread.unplaced = {};
}

void LaunchRecorder::end_launch(ThreadState& thread, CUpti_CallbackId id,
                                const CUpti_CallbackData& data) noexcept {
  const auto verdict = static_cast<Verdict>(thread.launch_verdict);
  if (verdict != Verdict::not_asked) [[unlikely]]
    end_counting(thread, id, data, verdict);
  auto* const place =
      thread.lane != nullptr ? session_.writer.claim<spool::LaunchRecord>(*thread.lane) : nullptr;
  spool::LaunchRecord& record = place != nullptr ? *place : unplaced(thread);
  record.correlation_id = data.correlationId;
  record.thread_id = thread.thread_id;
  const LaunchClock::Span span = span_of(thread);
  record.enter_ns = span.begin_ns;
  record.exit_ns = span.end_ns;
  record.nvtx_path_id = NvtxTracker::path_of(thread);
  record.nvtx_range_id = NvtxTracker::range_of(thread);
  record.step_index = session_.steps.active();
  record.step_ordinal = spool::kNoStep;
  record.callback_id = id;
  record.context_id = data.contextUid;
  const bool failed = data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  const bool graph = is_graph_launch(id);
  if (failed || graph || thread.graph_node_created) [[unlikely]]
    end_other(thread, data, failed, graph, record);
  else
    end_kernel(thread, data, verdict, record);
  if (session_.interventions != nullptr) [[unlikely]]
    end_delayed(thread, record);
  if (verdict == Verdict::excluded || verdict == Verdict::unmeasured) [[unlikely]]
    record.header.flags |= spool::kLaunchExcluded;
  if (place != nullptr) [[likely]]
    spool::Writer::commit<spool::LaunchRecord>(*thread.lane);
  else if (thread.lane == nullptr)
    put_unplaced(thread);
}

void LaunchRecorder::put_unplaced(const ThreadState& thread) noexcept {
  session_.writer.put(thread.unplaced);
}

void LaunchRecorder::end_delayed(ThreadState& thread, const spool::LaunchRecord& record) noexcept {
  session_.interventions->launch_exit(thread, record, record.header.flags != 0);
}

void LaunchRecorder::end_counting(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                                  Verdict verdict) noexcept {
  if (const AgentCall call{session_.gate, thread})
    session_.replay->launch_exit(call_of(thread, id, data), verdict);
}

// A kernel was launched.
void LaunchRecorder::end_kernel(ThreadState& thread, const CUpti_CallbackData& data, Verdict verdict,
                                spool::LaunchRecord& record) noexcept {
  record.code = code_of(thread, data);
  thread.launches.store(thread.launches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (record.step_index != spool::kNoStep) {
    const LaunchArguments& launch = thread.launch;
    const SequenceEntry entry{thread.launch_kernel_id, launch.grid_x, launch.grid_y, launch.grid_z,
                              verdict == Verdict::measured};
    record.step_ordinal = session_.steps.current().append(entry, data.contextUid);
    if (session_.replay) {
      if (!session_.steps.schedule_over())
        session_.times.places.launched(data.correlationId, record.step_ordinal);
      if (session_.replay->untraced()) [[unlikely]]
        write_untraced(entry, data);
    }
  }
  thread.last_launch_range = record.nvtx_range_id;
  thread.last_launch_id = data.correlationId;
  note_on_device(thread, data);
}

void LaunchRecorder::note_on_device(ThreadState& thread, const CUpti_CallbackData& data) noexcept {
  if (session_.first_context.load(std::memory_order_relaxed) == nullptr) [[unlikely]]
    session_.first_context.store(data.context, std::memory_order_release);
  order_.on_launch(thread, thread.launch.stream, data);
  session_.device_launches.note(device_of(data), data.correlationId);
}

// The call failed, launched a graph, or added a kernel to one that is being captured.
void LaunchRecorder::end_other(ThreadState& thread, const CUpti_CallbackData& data, bool failed, bool graph,
                               spool::LaunchRecord& record) noexcept {
  if (failed) {
    record.header.flags |= spool::kLaunchFailed;
    return session_.totals.add(&Count::launches_failed);
  }
  if (!graph) {
    record.code = code_of(thread, data);
    record.header.flags |= spool::kLaunchCaptured;
    thread.last_launch_range = record.nvtx_range_id;
    thread.last_launch_id = data.correlationId;
    return session_.totals.add(&Count::launches_captured);
  }
  record.header.flags |= spool::kLaunchIsGraph;
  session_.totals.add(&Count::graph_launches_seen);
  if (GraphLaunches* graphs = session_.timeline->graphs())
    graphs->launched(graph_of_launch(data.functionParams), data.correlationId);
  if (record.step_index != spool::kNoStep) session_.steps.current().count_graph_launch();
  note_on_device(thread, data);
}

std::uint32_t LaunchRecorder::device_of(const CUpti_CallbackData& data) noexcept {
  const std::uint32_t known = session_.device_launches.device_of(data.contextUid);
  return known != DeviceLaunches::kUnknown ? known : ask_for_device(data);
}

std::uint32_t LaunchRecorder::ask_for_device(const CUpti_CallbackData& data) noexcept {
  std::uint32_t device_id = DeviceLaunches::kUnknown;
  if (session_.api->get_device_id(data.context, &device_id) == CUPTI_SUCCESS)
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
