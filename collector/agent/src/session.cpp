#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "launch_params.h"
#include "messages.h"
#include "process_info.h"
#include "ridgeline/spool/environment.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::chrono::milliseconds kContextPatience{500};

constexpr CUpti_CallbackId kLaunchCallbacks[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

// The stream of a launch, the default streams by their special handles.
CUstream stream_of(CUpti_CallbackId id, const void* params) {
  CUstream stream = nullptr;
  bool per_thread = false;
  if (params != nullptr) switch (id) {
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        stream = static_cast<const cuLaunchKernel_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const auto& p = *static_cast<const cuLaunchKernelEx_params*>(params);
        if (p.config != nullptr) stream = p.config->hStream;
        break;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        stream = static_cast<const cuLaunchCooperativeKernel_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        stream = static_cast<const cuGraphLaunch_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
        stream = static_cast<const cuLaunchGridAsync_params*>(params)->hStream;
        break;
      default:
        break;
    }
  if (stream != nullptr) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

void CUPTIAPI forward_callback(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                               const void* data) {
  static_cast<Session*>(session)->on_callback(domain, id, data);
}

std::vector<MetricSet> wanted_sets(const Settings& settings) {
  if (settings.metric_sets.empty()) return built_in_metric_sets();
  std::vector<MetricSet> sets;
  for (std::size_t i = 0; i < settings.metric_sets.size(); ++i) {
    std::string name = "R";
    name += std::to_string(i + 1);
    sets.push_back({std::move(name), settings.metric_sets[i]});
  }
  return sets;
}

}  // namespace

std::span<const CUpti_CallbackId> launch_callbacks() noexcept {
  return kLaunchCallbacks;
}

Session::Session(const Settings& settings, spool::Writer& writer, std::uint32_t generation)
    : settings_(settings),
      writer_(writer),
      generation_(generation),
      totals_(writer),
      kernels_(writer),
      exclusions_(writer, settings.replay_exclude),
      nvtx_(writer, totals_),
      steps_(writer, settings.schedule, settings.step_range),
      window_plan_({settings.wait, static_cast<std::int64_t>(settings.after_ms) * kMillisecond,
                    static_cast<std::int64_t>(settings.duration_ms) * kMillisecond},
                   map_control(settings.spool_directory)) {
  nvtx_.mute(!window_plan_.opens_at_start());
  steps_.hold(!window_plan_.opens_at_start());
}

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
      session->message(spool::Severity::kWarning, spool::Topic::kConfiguration, complaint);
    return session;
  } catch (...) {
    return nullptr;
  }
}

void Session::message(spool::Severity severity, spool::Topic topic, const std::string& text) noexcept {
  put_message(writer_, now_ns(), severity, topic, text);
}

void Session::write_version(spool::Component component, std::string_view text, std::int64_t number) noexcept {
  spool::VersionRecord record{};
  record.component = component;
  record.text = writer_.intern_reserved(text);
  record.number = number;
  writer_.put_reserved(record);
}

void Session::write_process() noexcept {
  const ProcessInfo info = describe_process();
  spool::ProcessRecord record{};
  record.pid = static_cast<std::uint32_t>(getpid());
  record.parent_pid = static_cast<std::uint32_t>(getppid());
  record.start_ns = realtime_ns();
  record.process_start_ns = info.start_ns;
  record.arguments = writer_.intern_reserved(info.arguments);
  record.executable = writer_.intern_reserved(info.executable);
  record.working_directory = writer_.intern_reserved(info.working_directory);
  record.host_name = writer_.intern_reserved(info.host_name);
  record.schedule = writer_.intern_reserved(settings_.schedule_text);
  record.step_range = writer_.intern_reserved(settings_.step_range);
  writer_.put_reserved(record);
  write_version(spool::Component::kAgent, kAgentVersion, 0);
}

void Session::without_cupti(const std::string& reason) noexcept {
  message(spool::Severity::kError, spool::Topic::kCuptiMissing, "nothing is recorded: " + reason);
}

bool Session::start_cupti(const CuptiApi& api, const std::string& library_path) noexcept {
  api_ = &api;
  std::uint32_t version = 0;
  api.get_version(&version);
  write_version(spool::Component::kCupti, library_path, version);
  const CUptiResult subscribed = api.subscribe(&subscriber_, forward_callback, this);
  if (subscribed != CUPTI_SUCCESS) {
    const bool taken = subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
                       subscribed == CUPTI_ERROR_MAX_LIMIT_REACHED;
    message(
        spool::Severity::kError, taken ? spool::Topic::kSubscriberTaken : spool::Topic::kCuptiMissing,
        taken
            ? "nothing is recorded: another tool (nsys, ncu, compute-sanitizer, cuda-gdb, a framework's own "
              "profiler) holds CUPTI; run without it: " +
                  api.error_text(subscribed)
            : "nothing is recorded: CUPTI cannot be used: " + api.error_text(subscribed) +
                  "; `ridgeline doctor` tells more");
    api_ = nullptr;
    return false;
  }
  bool wants_replay = false;
  for (const spool::Phase phase : spool::kAllPhases)
    wants_replay = wants_replay || (Replay::measures(phase) && settings_.schedule.has(phase));
  timeline_ = std::make_unique<Timeline>(api, writer_, totals_, kernels_, settings_.buffer_bytes,
                                         settings_.buffer_count);
  if (wants_replay)
    replay_ = std::make_unique<Replay>(
        api, driver_, writer_, steps_, timeline_->intervals(), exclusions_, gate_,
        CounterPlan{wanted_sets(settings_), settings_.schedule.has(spool::Phase::kFlops)
                                                ? built_in_flop_sets()
                                                : std::vector<MetricSet>{}});
  if (wants_replay) driver_ = load_driver_();
  if (wants_replay) timeline_->watch_concurrency(&concurrency_, &exclusions_);
  if (replay_ && !settings_.replay_allowed)
    replay_->rule_out(
        spool::Topic::kCountersRefused,
        std::string("timeline only: counters were switched off by ") + spool::environment::kTiers);

  if (settings_.schedule.has(spool::Phase::kSample)) {
    sampling_ = std::make_unique<Sampling>(
        api, writer_, *timeline_, gate_,
        SamplingLimits{settings_.sample_interval_ns, settings_.sample_buffer_bytes});
    if (!settings_.sampling_allowed) {
      sampling_prepared_ = true;
      sampling_->rule_out(
          spool::Topic::kSamplingRefused,
          std::string("no in-situ samples: sampling was switched off by ") + spool::environment::kTiers);
    }
  }
  if (settings_.schedule.has(spool::Phase::kStalls)) {
    stalls_ = std::make_unique<PcSampling>(api, writer_, kernels_);
    if (!settings_.third_tier_allowed)
      stalls_->rule_out(std::string("no stall reasons: they were switched off by ") +
                        spool::environment::kTiers);
  }

  std::string refused;
  auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const CUptiResult result = api.enable_callback(1, subscriber_, domain, id);
    if (result != CUPTI_SUCCESS && refused.empty())
      refused =
          "callback " + std::to_string(domain) + "/" + std::to_string(id) + ": " + api.error_text(result);
  };
  for (const CUpti_CallbackId id : kLaunchCallbacks) enable(CUPTI_CB_DOMAIN_DRIVER_API, id);
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED})
    enable(CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id));
  api.enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_STATE);
  if (!refused.empty())
    message(spool::Severity::kWarning, spool::Topic::kTimelineRefused,
            "launches may be missed: CUPTI refuses " + refused);
  start_window();
  timeline_->enable();
  cupti_started_ = true;
  return true;
}

void Session::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  if (closed_.load(std::memory_order_relaxed) || data == nullptr) return;
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      on_launch(id, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
      on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_STATE) {
      const auto& state = *static_cast<const CUpti_StateData*>(data);
      const char* text = state.notification.message;
      // Once a kind: for want of buffers CUPTI says it anew with every record, and those are counted.
      const std::uint64_t kind = 1ull << (static_cast<unsigned>(state.notification.result) % 64);
      if ((states_reported_.fetch_or(kind, std::memory_order_relaxed) & kind) != 0) return;
      message(spool::Severity::kError, spool::Topic::kTimelineRefused,
              "CUPTI reports " + api_->error_text(state.notification.result) + (text != nullptr ? ": " : "") +
                  (text != nullptr ? text : ""));
    }
  } catch (...) {
    totals_.add(&Count::callback_errors);
  }
}

void Session::on_launch(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr || thread->inside) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    thread->launch_noted = recording_.load(std::memory_order_acquire);
    if (!thread->launch_noted) return;
    if (watches_period_.load(std::memory_order_relaxed)) note_launch(*thread, id, data, api_->now_ns());
    thread->launch_kernel_id = 0;
    thread->launch_verdict = 0;
    // In a step the kernel's name is looked up, for the step's sequence and to tell CUPTI's helpers apart.
    if (steps_.active() != spool::kNoStep && !is_graph_launch(id)) look_up_kernel(*thread, data.symbolName);
    if (replay_ && replay_->wants_launch())
      if (const AgentCall call{gate_, *thread})
        thread->launch_verdict = static_cast<std::uint8_t>(replay_->launch_enter(call_of(*thread, id, data)));
    if (stalls_ && stalls_->wants_launch())
      if (const AgentCall call{gate_, *thread}) stalls_->launch_enter(data.context);
    timeline_->seen().mark(data.correlationId,
                           is_graph_launch(id) ? SeenLaunches::kGraphLaunch : thread->launch_kernel_id);
    thread->graph_node_created = false;
    thread->launch_enter_ns = api_->now_ns();
  } else if (thread->launch_noted) {
    thread->launch_noted = false;
    launch_exit(*thread, id, data);
  }
}

void Session::look_up_kernel(ThreadState& thread, const char* name) noexcept {
  if (name == nullptr) return;
  const std::uint32_t modules = module_generation_.load(std::memory_order_acquire);
  auto& cached = thread.kernels[(reinterpret_cast<std::uintptr_t>(name) >> 4) % kKernelCacheSize];
  if (cached.name != name || cached.module_generation != modules) {
    cached.kernel_id = kernels_.id_of(name);
    if (const auto reason = exclusions_.by_name(name)) exclusions_.add(cached.kernel_id, *reason);
    cached.module_generation = modules;
    cached.name = name;
  }
  thread.launch_kernel_id = cached.kernel_id;
}

LaunchCall Session::call_of(const ThreadState& thread, CUpti_CallbackId id,
                            const CUpti_CallbackData& data) const noexcept {
  LaunchCall call;
  call.context = data.context;
  call.stream = stream_of(id, data.functionParams);
  call.thread_id = thread.thread_id;
  call.correlation_id = data.correlationId;
  call.kernel_id = thread.launch_kernel_id;
  call.graph = is_graph_launch(id);
  call.name = call.graph ? nullptr : data.symbolName;
  call.several_devices = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice;
  return call;
}

void Session::launch_exit(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  const auto verdict = static_cast<Verdict>(thread.launch_verdict);
  if (verdict != Verdict::kNotAsked)
    if (const AgentCall call{gate_, thread}) replay_->launch_exit(call_of(thread, id, data), verdict);
  spool::LaunchRecord record{};
  record.correlation_id = data.correlationId;
  record.thread_id = thread.thread_id;
  record.enter_ns = thread.launch_enter_ns;
  record.exit_ns = api_->now_ns();
  record.nvtx_path_id = NvtxTracker::path_of(thread);
  record.nvtx_range_id = NvtxTracker::range_of(thread);
  record.step_index = steps_.active();
  record.step_ordinal = spool::kNoStep;
  record.callback_id = id;
  record.context_id = data.contextUid;
  const bool graph = is_graph_launch(id);
  const bool failed = data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  const bool captured = thread.graph_node_created && !graph;
  if (!failed && !captured && first_context_.load(std::memory_order_relaxed) == nullptr)
    first_context_.store(data.context, std::memory_order_release);
  if (verdict == Verdict::kExcluded || verdict == Verdict::kUnmeasured)
    record.header.flags |= spool::kLaunchExcluded;
  if (failed) {
    record.header.flags |= spool::kLaunchFailed;
    totals_.add(&Count::launches_failed);
  } else if (captured) {
    record.header.flags |= spool::kLaunchCaptured;
    totals_.add(&Count::launches_captured);
  } else if (graph) {
    record.header.flags |= spool::kLaunchIsGraph;
    totals_.add(&Count::graph_launches_seen);
    if (record.step_index != spool::kNoStep) steps_.current().count_graph_launch();
  } else {
    totals_.add(&Count::launches_seen);
    if (record.step_index != spool::kNoStep) {
      SequenceEntry entry{thread.launch_kernel_id, 0, 0, 0, verdict == Verdict::kMeasured};
      grid_of(id, data.functionParams, &entry);
      LaunchSequence& sequence = steps_.current();
      record.step_ordinal = sequence.append(entry, data.contextUid);
      if (replay_ && replay_->untraced()) write_untraced(entry, data);
    }
  }
  if (!failed && !captured) last_correlation_id_.store(data.correlationId, std::memory_order_relaxed);
  writer_.put(record);
}

// Stands for the record that CUPTI does not make while instructions are counted, so that the counts have a
// launch.
void Session::write_untraced(const SequenceEntry& entry, const CUpti_CallbackData& data) noexcept {
  spool::KernelRecord record{};
  record.header.flags = spool::kUntraced;
  record.correlation_id = data.correlationId;
  record.kernel_id = entry.kernel_id;
  record.context_id = data.contextUid;
  api_->get_device_id(data.context, &record.device_id);
  record.grid_x = entry.grid_x;
  record.grid_y = entry.grid_y;
  record.grid_z = entry.grid_z;
  totals_.add(&Count::kernel_records);
  writer_.put(record);
}

void Session::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      if (ThreadState* thread = this_thread(generation_)) thread->graph_node_created = true;
      return;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      if (const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor)) {
        kernels_.module_loaded(module->pCubin, module->cubinSize);
        if (stalls_) stalls_->module_loaded(module->pCubin, module->cubinSize);
      }
      return;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      // A name's address may be reused by the next module.
      module_generation_.fetch_add(1, std::memory_order_acq_rel);
      return;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: {
      spool::ContextRecord record{};
      record.created_ns = api_->now_ns();
      window_plan_.context_created(record.created_ns);
      if (api_->get_context_id(data.context, &record.context_id) != CUPTI_SUCCESS ||
          api_->get_device_id(data.context, &record.device_id) != CUPTI_SUCCESS)
        return;
      writer_.put(record);
      if (record.device_id < kMaxDevices)
        devices_to_describe_.fetch_or(1ull << record.device_id, std::memory_order_release);
      return;
    }
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      CUcontext context = data.context;
      first_context_.compare_exchange_strong(context, nullptr);
      // The agent's thread may be using it this moment. It needs the driver for that, so this does not wait for ever.
      if (std::unique_lock<std::timed_mutex> lock(context_mutex_, std::defer_lock);
          lock.try_lock_for(kContextPatience))
        lock.unlock();
      ThreadState* thread = this_thread(generation_);
      if (thread == nullptr) return;
      if (const AgentCall call{gate_, *thread}) {
        if (replay_) replay_->context_destroyed(data.context);
        if (stalls_) stalls_->context_destroyed(data.context);
      }
      return;
    }
    default:
      return;
  }
}

bool Session::begin_step(ThreadState& thread, std::uint16_t flags, std::uint32_t* step_index) noexcept {
  const AgentCall call{gate_, thread};
  if (!call) return false;
  if (replay_) replay_->finish_pending();
  StepTracker::Step step{};
  if (!steps_.begin(&step)) return false;
  if (sampling_) {
    if (step.phase == spool::Phase::kSample) {
      if (!sampling_->step_begin(step, usual_step_ns(), last_correlation_id_.load(std::memory_order_relaxed)))
        flags |= spool::kStepUnmeasured;
      if (sampling_->busy()) wake_.notify_all();  // its thread turns slowly between windows
    } else if (step.phase != spool::Phase::kWarmup && step.phase != spool::Phase::kTimeline) {
      sampling_->close_now();  // both want the device's counters
    }
  }
  const std::int64_t now = now_ns();  // after what had to be finished and set up
  *step_index = step.index;
  step_begin_ns_[step.index % kStepHistory] = now;
  std::uint32_t config_id = 0;
  if (Replay::measures(step.phase) && replay_) {
    config_id = replay_->config_id(step);
    if (!concurrency_looked_at_) look_for_waiting_kernels((flags & spool::kStepByPeriod) == 0);
    replay_->arm(step, thread.thread_id,
                 Replay::measures(step.next_phase) &&
                     (step.phase == spool::Phase::kFlops) == (step.next_phase == spool::Phase::kFlops));
  }
  if (stalls_) {
    stalls_->note_step(step, now);
    if (step.phase == spool::Phase::kStalls) stalls_->arm(step, step.steps_left);
  }
  steps_.write_begin(step, config_id, now, thread.thread_id, flags);
  return true;
}

void Session::end_step(ThreadState& thread, std::int64_t now) noexcept {
  const AgentCall call{gate_, thread};
  if (!call) return;
  const StepTracker::Step step = steps_.end(now);
  if (step.phase == spool::Phase::kSample && sampling_)
    sampling_->step_end(step, last_correlation_id_.load(std::memory_order_relaxed));
  bool done = true;
  if (Replay::measures(step.phase) && replay_) {
    done = replay_->step_end(thread.thread_id);
  } else {
    if (step.phase == spool::Phase::kStalls && stalls_) stalls_->step_end();
    steps_.keep_as_reference();
  }
  if (done) steps_.release();
}

int Session::nvtx_push(const void* domain, spool::StringId domain_name, std::string_view name,
                       const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr || closed_.load(std::memory_order_relaxed)) return -1;
  std::uint32_t step_index = steps_.active();
  const bool marks_step = steps_.matches(name);
  if (marks_step && watches_period_.load(std::memory_order_relaxed)) steps_are_marked(*thread);
  const bool is_step = marks_step && begin_step(*thread, 0, &step_index);
  const std::int64_t now = now_ns();
  NvtxFrame* frame =
      nvtx_.push(*thread, domain, domain_name, writer_.intern(name), attributes, now, step_index);
  if (frame != nullptr) frame->is_step = is_step;
  return static_cast<int>(thread->depth + thread->overflow_depth) - 1;
}

int Session::nvtx_pop(const void* domain) noexcept {
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr || closed_.load(std::memory_order_relaxed)) return -1;
  NvtxFrame frame;
  const int level = static_cast<int>(thread->depth + thread->overflow_depth) - 1;
  const std::int64_t now = now_ns();
  if (!nvtx_.pop(*thread, domain, now, &frame) || !frame.is_step) return level;
  if (steps_.active() != frame.step_index) return level;  // a window closed before its end
  end_step(*thread, now);
  return level;
}

std::uint64_t Session::nvtx_start(spool::StringId domain_name, std::string_view name,
                                  const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr || closed_.load(std::memory_order_relaxed)) return 0;
  return nvtx_.start(domain_name, writer_.intern(name), attributes, now_ns(), thread->thread_id,
                     steps_.active());
}

void Session::nvtx_end(std::uint64_t range_id) noexcept {
  if (!closed_.load(std::memory_order_relaxed)) nvtx_.end(range_id, now_ns());
}

void Session::nvtx_mark(spool::StringId domain_name, std::string_view name,
                        const NvtxAttributes& attributes) noexcept {
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr || closed_.load(std::memory_order_relaxed)) return;
  nvtx_.mark(domain_name, writer_.intern(name), attributes, now_ns(), thread->thread_id, steps_.active());
}

void Session::nvtx_name_thread(std::uint32_t thread_id, std::string_view name) noexcept {
  spool::ThreadRecord record{};
  record.thread_id = thread_id;
  record.name = writer_.intern(name);
  writer_.put(record);
}

// Median of begin to begin over the latest steps; 0 before there are two.
std::int64_t Session::usual_step_ns() const noexcept {
  std::int64_t lengths[kStepHistory];
  std::size_t count = 0;
  const std::uint32_t begun = steps_.steps_begun();
  for (std::uint32_t i = begun > kStepHistory ? begun - kStepHistory + 1 : 1; i < begun; ++i)
    lengths[count++] = step_begin_ns_[i % kStepHistory] - step_begin_ns_[(i - 1) % kStepHistory];
  if (count == 0) return 0;
  std::nth_element(lengths, lengths + count / 2, lengths + count);
  return lengths[count / 2];
}

void Session::prepare_replay() noexcept {
  std::unique_lock<std::timed_mutex> context_lock(
      context_mutex_);  // the program does not destroy it meanwhile
  CUcontext context = first_context_.load(std::memory_order_acquire);
  if (context == nullptr) return;
  std::uint32_t device_id = 0;
  if (api_->get_device_id(context, &device_id) != CUPTI_SUCCESS || device_id >= kMaxDevices) return;
  if (chips_[device_id].empty()) return;  // described first
  replay_prepared_ = true;
  const bool available = replay_->ask_availability(context, device_id, chips_[device_id]);
  context_lock.unlock();
  if (available) replay_->prepare();
}

void Session::detach() noexcept {
  closed_.store(true, std::memory_order_relaxed);
  Timeline::disconnect();
  writer_.detach();
}

}  // namespace ridgeline::agent
