#include "session/session.h"

#include <unistd.h>

#include <chrono>
#include <mutex>

#include "cupti/launch_params.h"
#include "cupti/order_calls.h"
#include "cupti/wait_calls.h"
#include "process_info.h"
#include "ridgeline/base/cancellation.h"

namespace ridgeline::agent {
namespace {

constexpr std::chrono::milliseconds kContextPatience{500};

}  // namespace

Session* Session::create(const Settings& settings, std::uint32_t generation) noexcept {
  try {
    spool::Writer::Options options;
    options.directory = settings.spool_directory;
    options.pid = static_cast<std::uint32_t>(getpid());
    options.start_ns = realtime_ns();
    options.clock = spool::kClockCupti;
    options.agent_version = kAgentVersion;
    options.limit_bytes = settings.spool_limit_bytes;
    std::string error;
    spool::Writer* writer = spool::Writer::create(options, &error);
    if (writer == nullptr) return nullptr;
    auto* session = new Session(settings, *writer, generation);
    session->write_process();
    for (const std::string& complaint : settings.complaints)
      session->session_.message(Severity::warning, spool::Topic::configuration, complaint);
    return session;
  } catch (...) {
    return nullptr;
  }
}

void Session::write_process() noexcept {
  const ProcessInfo info = describe_process();
  spool::ProcessRecord record{};
  record.pid = static_cast<std::uint32_t>(getpid());
  record.parent_pid = static_cast<std::uint32_t>(getppid());
  record.start_ns = realtime_ns();
  record.process_start_ns = info.start_ns;
  record.arguments = session_.writer.intern_reserved(info.arguments);
  record.executable = session_.writer.intern_reserved(info.executable);
  record.working_directory = session_.writer.intern_reserved(info.working_directory);
  record.host_name = session_.writer.intern_reserved(info.host_name);
  record.schedule = session_.writer.intern_reserved(session_.settings.schedule_text);
  record.step_range = session_.writer.intern_reserved(session_.settings.step_range);
  session_.writer.put_reserved(record);
  session_.write_version(spool::Component::agent, kAgentVersion, 0);
}

void Session::without_cupti(const std::string& reason) noexcept {
  session_.message(Severity::error, spool::Topic::cupti_missing, "nothing is recorded: " + reason);
}

void Session::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  if (session_.closed.load(std::memory_order_relaxed) || data == nullptr) [[unlikely]]
    return;
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) [[unlikely]]
    return on_other_domain(domain, id, data);
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  ThreadState* const thread = this_thread(session_.generation);
  if (thread == nullptr) [[unlikely]]
    return;
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (enters) calls_.enters(*thread, id);
  if (!calls_.is_launch(id)) [[unlikely]]
    on_other_call(*thread, id, call);
  else if (session_.stalls || (is_graph_launch(id) && session_.host_waits.in_graphs())) [[unlikely]]
    on_guarded_launch(*thread, id, call);
  else if (enters)
    launches_.enter(*thread, id, call);
  else
    launches_.exit(*thread, id, call);
  if (!enters) calls_.leaves(*thread, id);
}

void Session::on_other_domain(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  const NoCancellation whole;
  try {
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
      on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
    else if (domain == CUPTI_CB_DOMAIN_STATE)
      on_state(*static_cast<const CUpti_StateData*>(data));
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
}

void Session::on_other_call(ThreadState& thread, CUpti_CallbackId id,
                            const CUpti_CallbackData& call) noexcept {
  const NoCancellation whole;
  try {
    on_driver_call(thread, id, call);
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
}

void Session::on_driver_call(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (id == AloneSteps::kTimedCall) return;
  const bool guarded = session_.stalls && is_guarded(id);
  if (guarded && call.callbackSite != CUPTI_API_ENTER) pass_gate(thread, call);
  const auto memory = memory_call(id);
  if (memory) memory_.on_call(*memory, id, call);  // freeing waits as well
  if (const auto wait = wait_call(id))
    waits_.on_wait(*wait, id, call);
  else if (const auto capture = capture_call(id))
    stream_calls_.on_capture(*capture, id, call);
  else if (is_stream_wait(id))
    on_hold(id, call);
  else if (const OrderCall order = order_call(id); order != OrderCall::none)
    on_order(order, id, call);
  else if (is_load(id) && call.callbackSite == CUPTI_API_ENTER)
    on_load(thread, id, call.functionParams);
  if (guarded && call.callbackSite == CUPTI_API_ENTER) pass_gate(thread, call);
}

void Session::pass_gate(ThreadState& thread, const CUpti_CallbackData& call) noexcept {
  if (thread.inside) return;
  if (call.callbackSite == CUPTI_API_ENTER)
    session_.launch_gate.enter(thread);
  else
    LaunchGate::leave(thread);
}

// Beside stalls that are sampled, or where a stream may wait for the host in the graph.
void Session::on_guarded_launch(ThreadState& thread, CUpti_CallbackId id,
                                const CUpti_CallbackData& call) noexcept {
  const NoCancellation whole;
  const bool may_wait = session_.host_waits.in_graphs() && is_graph_launch(id);
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (may_wait) stream_calls_.on_graph_launch(id, call);
    launches_.enter(thread, id, call);
    if (may_wait) stream_calls_.on_graph_launch_begins(id, call);
    if (session_.stalls) pass_gate(thread, call);
  } else {
    if (session_.stalls) pass_gate(thread, call);
    launches_.exit(thread, id, call);
    if (may_wait) stream_calls_.on_graph_launch(id, call);
  }
}

void Session::on_load(const ThreadState& thread, CUpti_CallbackId id, const void* params) noexcept {
  if (!thread.inside) alone_.load_begins(id, params);
}

void Session::on_hold(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  stream_calls_.on_stream_wait(id, data);
  order_.on_hold(id, data);
}

void Session::on_order(OrderCall order, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  switch (order) {
    case OrderCall::event_record:
    case OrderCall::event_wait:
      return order_.on_event(order, id, data);
    case OrderCall::creates_stream:
      return order_.on_stream_made(id, data);
    case OrderCall::instantiates_graph:
      if (data.callbackSite == CUPTI_API_ENTER) alone_.on_graph_begin(AloneSteps::kAtEntry);
      return graphs_.on_instantiation(data);
    case OrderCall::none:
      return;
  }
}

void Session::on_state(const CUpti_StateData& state) noexcept {
  // Once a kind: for want of buffers CUPTI says it anew with every record, and those are counted.
  const std::uint64_t kind = 1ull << (static_cast<unsigned>(state.notification.result) % 64);
  if ((states_reported_.fetch_or(kind, std::memory_order_relaxed) & kind) != 0) return;
  const char* text = state.notification.message;
  session_.message(Severity::error, spool::Topic::timeline_refused,
                   "CUPTI reports " + session_.api->error_text(state.notification.result) +
                       (text != nullptr ? ": " : "") + (text != nullptr ? text : ""));
}

void Session::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      if (ThreadState* thread = this_thread(session_.generation)) thread->graph_node_created = true;
      alone_.on_graph_begin(AloneSteps::kInDriver);
      if (const auto* node = static_cast<const CUpti_GraphData*>(data.resourceDescriptor))
        if (HostWaits::is_waiting_node(node->nodeType)) session_.host_waits.node_waits();
      if (!session_.graphs_seen.load(std::memory_order_relaxed))
        session_.graphs_seen.store(true, std::memory_order_relaxed);
      return;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      if (const auto* graph = static_cast<const CUpti_GraphData*>(data.resourceDescriptor))
        graphs_.on_clone(*graph);
      return;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      alone_.module_loaded();
      if (const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor)) {
        session_.kernels.module_loaded(module->moduleId, module->pCubin, module->cubinSize);
        if (session_.stalls) session_.stalls->module_loaded(module->pCubin, module->cubinSize);
        // Kernels whose code was not known may be in it.
        session_.module_generation.fetch_add(1, std::memory_order_acq_rel);
      }
      return;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      if (const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor))
        session_.kernels.module_unloaded(module->moduleId);
      // A name's address and a function's handle may be reused by the next module.
      session_.module_generation.fetch_add(1, std::memory_order_acq_rel);
      return;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: {
      spool::ContextRecord record{};
      record.created_ns = session_.api->now_ns();
      window_.context_created(record.created_ns);
      if (session_.api->get_context_id(data.context, &record.context_id) != CUPTI_SUCCESS ||
          session_.api->get_device_id(data.context, &record.device_id) != CUPTI_SUCCESS)
        return;
      session_.writer.put(record);
      session_.device_launches.context_created(record.context_id, record.device_id);
      devices_.note(record.device_id);
      return;
    }
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      CUcontext context = data.context;
      session_.first_context.compare_exchange_strong(context, nullptr);
      // The agent's thread may be using it this moment. It needs the driver for that, so this does not wait for ever.
      if (std::unique_lock<std::timed_mutex> lock(session_.context_mutex, std::defer_lock);
          lock.try_lock_for(kContextPatience))
        lock.unlock();
      session_.host_waits.context_destroyed(context);
      ThreadState* thread = this_thread(session_.generation);
      if (thread == nullptr) return;
      if (const AgentCall call{session_.gate, *thread}) {
        if (session_.replay) session_.replay->context_destroyed(data.context);
        if (session_.stalls) session_.stalls->context_destroyed(data.context);
        if (session_.interventions != nullptr) session_.interventions->context_destroyed(data.context);
      }
      return;
    }
    default:
      return;
  }
}

int Session::nvtx_push(const void* domain, spool::StringId domain_name, std::string_view name,
                       const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || session_.closed.load(std::memory_order_relaxed)) return -1;
  std::uint32_t step_index = session_.steps.active();
  const std::string_view step_name = session_.steps.step_name(name);
  const bool marks_step = !step_name.empty();
  if (period_.watches() && marks_step) period_.steps_are_marked(*thread);
  if (!marks_step && thread->depth == 0 && (period_.watches() || period_.took_ranges()))
    period_.on_range_begin(*thread, name);
  // Steps that are numbered in their names share a path, or no two steps would have a range in common.
  const std::string_view path_name = marks_step ? step_name : name;
  const bool is_step = marks_step && conductor_.begin(*thread, 0, &step_index);
  if (is_step && period_.took_ranges()) period_.on_step_range();
  const std::int64_t now = session_.now_ns();
  NvtxFrame* frame = session_.nvtx.push(*thread, domain, domain_name, session_.writer.intern(path_name),
                                        attributes, now, step_index);
  if (frame != nullptr) frame->is_step = is_step;
  return static_cast<int>(thread->depth + thread->overflow_depth) - 1;
}

int Session::nvtx_pop(const void* domain, const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || session_.closed.load(std::memory_order_relaxed)) return -1;
  NvtxFrame frame;
  const int level = static_cast<int>(thread->depth + thread->overflow_depth) - 1;
  const std::int64_t now = session_.now_ns();
  if (!session_.nvtx.pop(*thread, domain, attributes, now, &frame)) return level;
  if (thread->depth == 0 && !frame.is_step && (period_.watches() || period_.took_ranges()))
    period_.on_range_end(*thread, now);
  if (!frame.is_step) return level;
  if (session_.steps.active() != frame.step_index) return level;  // a window closed before its end
  conductor_.end(*thread, now);
  return level;
}

std::uint64_t Session::nvtx_start(spool::StringId domain_name, std::string_view name,
                                  const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || session_.closed.load(std::memory_order_relaxed)) return 0;
  return session_.nvtx.start(domain_name, session_.writer.intern(name), attributes, session_.now_ns(),
                             thread->thread_id, session_.steps.active());
}

void Session::nvtx_end(std::uint64_t range_id) noexcept {
  if (!session_.closed.load(std::memory_order_relaxed)) session_.nvtx.end(range_id, session_.now_ns());
}

void Session::nvtx_mark(spool::StringId domain_name, std::string_view name,
                        const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || session_.closed.load(std::memory_order_relaxed)) return;
  session_.nvtx.mark(domain_name, session_.writer.intern(name), attributes, session_.now_ns(),
                     thread->thread_id, session_.steps.active());
}

void Session::nvtx_name_thread(std::uint32_t thread_id, std::string_view name) noexcept {
  spool::ThreadRecord record{};
  record.thread_id = thread_id;
  record.name = session_.writer.intern(name);
  session_.writer.put(record);
}

void Session::detach() noexcept {
  session_.closed.store(true, std::memory_order_relaxed);
  Timeline::disconnect();
  session_.writer.detach();
}

}  // namespace ridgeline::agent
