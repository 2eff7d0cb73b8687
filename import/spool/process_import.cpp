#include "spool/process_import.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "spool/range_import.h"
#include "spool/stall_import.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

// Counters and samples refused for one cause: the same of CUPTI's errors, or the same permission.
bool same_refusal(std::string_view a, std::string_view b) {
  constexpr std::string_view kPermission = "may not read GPU counters";
  if (a.find(kPermission) != std::string_view::npos) return b.find(kPermission) != std::string_view::npos;
  const std::size_t from = a.find("CUPTI_ERROR_");
  if (from == std::string_view::npos) return false;
  return b.find(a.substr(from, a.find(' ', from) - from)) != std::string_view::npos;
}

constexpr std::int64_t kRowsBetweenCheckpoints = 1'000'000;
constexpr std::size_t kMostPaths = 1u << 16;       // that the agent keeps
constexpr std::size_t kMostNameBytes = 32 * 1024;  // of a kernel: every report would carry a longer one

template <typename T>
std::optional<T> present(T value, T absent) {
  return value == absent ? std::nullopt : std::optional<T>(value);
}

CopyKind copy_kind(MemcpyKind kind) {
  switch (kind) {
    case MemcpyKind::host_to_device:
    case MemcpyKind::host_to_array:
      return CopyKind::host_to_device;
    case MemcpyKind::device_to_host:
    case MemcpyKind::array_to_host:
      return CopyKind::device_to_host;
    case MemcpyKind::array_to_array:
    case MemcpyKind::array_to_device:
    case MemcpyKind::device_to_array:
    case MemcpyKind::device_to_device:
      return CopyKind::device_to_device;
    case MemcpyKind::host_to_host:
      return CopyKind::host_to_host;
    case MemcpyKind::peer_to_peer:
      return CopyKind::peer_to_peer;
    case MemcpyKind::unknown:
      break;
  }
  return CopyKind::unknown;
}

std::string version_text(const Reader& reader, const VersionRecord& record) {
  const std::string text = one_line(reader.string_or(record.text, ""));
  const std::int64_t n = record.number;
  switch (record.component) {
    case Component::agent:
    case Component::kernel_driver:
      return text;
    case Component::cupti: {
      const std::string path = text.empty() ? "" : " (" + text + ")";
      // 130001 is 13.0.1; older releases had a plain count.
      if (n >= 100000) return fmt::format("{}.{}.{}{}", n / 10000, n % 10000 / 100, n % 100, path);
      return n > 0 ? fmt::format("{}{}", n, path) : text;
    }
    case Component::cuda_driver:
    case Component::cuda_runtime:
      return n > 0 ? fmt::format("{}.{}", n / 1000, n % 1000 / 10) : text;
  }
  return text;
}

const char* component_name(Component component) {
  switch (component) {
    case Component::agent:
      return "agent";
    case Component::cupti:
      return "cupti";
    case Component::cuda_driver:
      return "cuda_driver";
    case Component::kernel_driver:
      return "driver";
    case Component::cuda_runtime:
      return "cuda_runtime";
  }
  return nullptr;
}

// CUpti_ActivityOverheadKind, as its header names the values.
std::string overhead_kind(std::uint32_t kind) {
  switch (kind) {
    case 0:
      return "unknown";
    case 1:
      return "driver compiler";
    case 1u << 16:
      return "buffer flush";
    case 2u << 16:
      return "instrumentation";
    case 3u << 16:
      return "resource";
    case 4u << 16:
      return "runtime triggered module loading";
    case 5u << 16:
      return "lazy function loading";
    case 6u << 16:
      return "command buffer full";
    case 7u << 16:
      return "activity buffer request";
    case 8u << 16:
      return "unified memory activity";
    default:
      return fmt::format("{}", kind);
  }
}

// One import of one process; the members are its caches from spool ids to capture ids.
class Rows {
 public:
  Rows(ProcessImport& import, ImportSummary& summary)
      : in_(import),
        writer_(import.writer),
        reader_(import.reader),
        spool_(import.spool),
        steps_(import.spool.steps),
        ranges_(import.writer, import.reader, import.spool, [this] { row_written(); }),
        samples_(import.reader, import.spool),
        summary_(summary) {}

  void write() {
    plan_ = recording_plan(reader_, spool_, in_.manifest);
    write_process();
    write_versions();
    for (const auto& [ordinal, device] : spool_.devices)
      device_ids_[ordinal] = in_.devices.add(reader_, device);
    for (const auto& [id, config] : spool_.configs) {
      config_ids_[id] = writer_.add(store::CounterConfiguration{
          .name = one_line(reader_.string_or(config.name, fmt::format("R{}", id))),
          .pass_count = static_cast<int>(config.passes)});
    }
    write_steps();
    write_windows();
    write_messages();
    write_activity();
    write_counters();
    write_samples();
    write_stall_reasons();
    write_verdicts();
    writer_.checkpoint();
    ++summary_.processes;
  }

 private:
  void row_written() {
    if (++rows_ % kRowsBetweenCheckpoints == 0) writer_.checkpoint();
  }
  void say(Severity severity, std::string text) {
    writer_.add(store::Message{
        .process_id = process_id_, .time_ns = std::nullopt, .severity = severity, .text = text});
    if (severity != Severity::info) summary_.warnings.push_back(std::move(text));
  }

  void write_process() {
    store::Process row;
    row.pid = reader_.file_header().pid;
    if (const auto& process = spool_.process) {
      row.pid = process->pid;
      row.parent_pid = process->parent_pid;
      std::string arguments(reader_.string_or(process->arguments, ""));
      std::vector<std::string> words;
      for (std::size_t at = 0; at < arguments.size();) {
        const std::size_t end = std::min(arguments.find('\0', at), arguments.size());
        words.push_back(arguments.substr(at, end - at));
        at = end + 1;
      }
      row.command = words.empty() ? one_line(reader_.string_or(process->executable, ""))
                                  : shell_quoted(command_without_secrets(words));
      row.start_ns = process->process_start_ns > 0 ? process->process_start_ns : process->start_ns;
    } else {
      row.start_ns = reader_.file_header().start_ns;
    }
    if (in_.manifest) {
      if (auto rank = in_.manifest->ranks.find(row.pid); rank != in_.manifest->ranks.end())
        row.rank = rank->second;
    }
    if (spool_.end) row.end_ns = spool_.end->time_ns;
    process_id_ = writer_.add(row);
    ranges_.set_process(process_id_);
    pid_ = row.pid;
  }

  void write_versions() {
    for (const VersionRecord& version : spool_.versions) {
      const char* component = component_name(version.component);
      if (component == nullptr) continue;
      const std::string text = version_text(reader_, version);
      if (!text.empty()) writer_.add_version(component, text);
    }
  }

  void write_steps() {
    for (auto& [index, step] : spool_.steps) {
      store::Step row;
      row.process_id = process_id_;
      row.step_index = index;
      row.phase = phase_of(step, plan_);
      row.source = step.by_period ? StepSource::period : StepSource::nvtx;
      row.host_start_ns = step.begin_ns;
      row.host_end_ns = step.end_ns;
      row.gpu_start_ns = step.gpu_start_ns;
      row.gpu_end_ns = step.gpu_end_ns;
      const std::uint32_t config = step.counters ? step.counters->config_id : step.config_id;
      if (auto id = config_ids_.find(config); id != config_ids_.end()) row.configuration_id = id->second;
      judge_step(reader_, spool_, step, plan_, row);
      step.id = writer_.add(row);
      ++summary_.steps;
      if (row.status == StepStatus::ok && step.counters && step.counters->reason != 0) {
        say(Severity::warning,
            fmt::format("counters of step {}: {}", index,
                        one_line(reader_.string_or(step.counters->reason, "(text lost)"))));
      }
      if (row.status == StepStatus::ok && row.phase == Phase::timeline) ++summary_.timeline_steps;
      const auto count = [&](auto& outcome) {
        ++outcome.steps;
        if (row.status == StepStatus::ok) {
          ++outcome.ok;
        } else if (outcome.first_reason.empty()) {
          outcome.first_reason = row.reason.value_or("no reason given");
        }
      };
      if (step.phase == Phase::sample && !step.unmeasured) count(outcomes_.sampling);
      if (!step.is_replay()) continue;
      CounterOutcome& outcome = step.is_third_tier() ? outcomes_.third_tier : outcomes_.replay;
      count(outcome);
      if (row.status != StepStatus::ok) continue;
      outcome.unjoined_values += step.unjoined_values;
      if (!step.is_third_tier()) ++summary_.replay_steps;
    }
  }

  // A program without steps: each recording window stands for one, so that it can be ranked like any other.
  void write_windows() {
    std::int64_t index = 0;
    for (ScannedSpool::Window& window : spool_.windows) {
      const bool known = window.cause == WindowCause::delay || window.cause == WindowCause::signal;
      const WindowCause cause = known ? window.cause : WindowCause::start;
      writer_.add(store::RecordingWindow{.process_id = process_id_,
                                         .start_ns = window.open_ns,
                                         .end_ns = window.close_ns,
                                         .cause = cause,
                                         .synchronisation = window.synchronisation});
      if (!spool_.steps.empty() || !window.gpu_start_ns) continue;
      store::Step row;
      row.process_id = process_id_;
      row.step_index = index++;
      row.phase = Phase::timeline;
      row.source = StepSource::window;
      row.host_start_ns = window.open_ns;
      row.host_end_ns = window.close_ns;
      row.gpu_start_ns = window.gpu_start_ns;
      row.gpu_end_ns = window.gpu_end_ns;
      if (!window.close_ns) {
        row.status = StepStatus::interrupted;
        row.reason = "the program was killed before the recording window closed";
      }
      window.step_id = writer_.add(row);
      ++summary_.steps;
    }
  }
  std::optional<store::Id> window_step(std::int64_t time_ns) {
    if (!spool_.steps.empty()) return std::nullopt;
    const ScannedSpool::Window* window = spool_.window_at(time_ns);
    return window == nullptr || window->step_id == 0 ? std::nullopt : std::optional(window->step_id);
  }

  void write_messages() {
    for (const MessageText& message : spool_.messages) {
      const Severity severity = is_known(message.severity) ? message.severity : Severity::info;
      writer_.add(store::Message{.process_id = process_id_,
                                 .time_ns = present<std::int64_t>(message.time_ns, 0),
                                 .severity = severity,
                                 .text = message.text});
      const auto& warnings = summary_.warnings;
      // "Timeline only" says it of the samples, too.
      const MessageText* counters = spool_.message_about(spool::Topic::counters_refused);
      if (message.topic == spool::Topic::sampling_refused && counters != nullptr &&
          same_refusal(message.text, counters->text))
        continue;
      if (message.severity != Severity::info &&
          std::find(warnings.begin(), warnings.end(), message.text) == warnings.end()) {
        summary_.warnings.push_back(message.text);
      }
    }
  }

  store::Id device_id(std::uint32_t ordinal) {
    const auto [found, fresh] = device_ids_.try_emplace(ordinal, 0);
    if (fresh) found->second = in_.devices.add_unknown(ordinal);
    return found->second;
  }

  // Kernels of a spool are names; one with several codes is several kernels of the capture.
  store::Id kernel_id(std::uint32_t id, std::uint64_t code) {
    auto& known = kernel_ids_[id];
    for (const auto& [its_code, its_id] : known) {
      if (its_code == code) return its_id;
    }
    const auto function = spool_.kernels.find(id);
    std::string name = fmt::format("unknown kernel {}", id);
    if (function != spool_.kernels.end())
      name = clean_text(bounded_text(reader_.string_or(function->second.name, name), kMostNameBytes));
    std::optional<std::string> code_hash;
    if (code != 0) code_hash = fmt::format("{:016x}", code);
    return known.emplace_back(code, writer_.kernel_id(name, code_hash)).second;
  }
  store::Id kernel_id(const KernelRecord& kernel, const LaunchRecord* call, bool node) {
    const std::uint64_t code = node ? spool_.code_hash_of_node(kernel.kernel_id)
                                    : spool_.code_hash(kernel.kernel_id, call != nullptr ? call->code : 0);
    return kernel_id(kernel.kernel_id, code);
  }
  // All that ran; the newest code if none did.
  std::vector<store::Id> kernels_of(std::uint32_t id) {
    if (!kernel_ids_.contains(id)) kernel_id(id, spool_.code_hash(id, 0));
    std::vector<store::Id> all;
    for (const auto& [code, kernel] : kernel_ids_[id]) all.push_back(kernel);
    return all;
  }
  // That the samples of the phase `stalls` are of; none where two codes of it ran in those steps.
  std::optional<store::Id> sampled_kernel(std::uint32_t id) {
    const auto several = stalled_.find(id);
    if (several == stalled_.end()) return kernels_of(id).back();
    if (several->second.size() == 1) return *several->second.begin();
    return std::nullopt;
  }

  void write_launch(const KernelRecord& kernel, const LaunchRecord* call) {
    store::Launch row;
    row.process_id = process_id_;
    row.device_id = device_id(kernel.device_id);
    row.context_id = kernel.context_id;
    row.stream_id = kernel.stream_id;
    row.correlation_id = kernel.correlation_id;
    const bool node = (kernel.header.flags & kGraphNode) != 0;
    if (node) {
      row.graph_id = kernel.graph_id;
      row.graph_node_id = static_cast<std::int64_t>(kernel.graph_node_id);
    }
    row.kernel_id = kernel_id(kernel, call, node);
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
    row.step_id = window_step(call != nullptr ? call->enter_ns : kernel.start_ns);
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
    if (step != nullptr && step->phase == Phase::stalls && spool_.codes.contains(kernel.kernel_id))
      stalled_[kernel.kernel_id].insert(row.kernel_id);
    ++summary_.launches;
    ++launches_;
    row_written();
    if (step != nullptr && !node) {
      if (auto replayed = step->replay.find(call->step_ordinal); replayed != step->replay.end()) {
        replayed->second.launch_id = id;
      }
    }
  }

  // Nodes of one graph launch are told apart by node id; a node that ran several times, by order of arrival.
  std::optional<std::int64_t> ordinal_in_graph(const KernelRecord& kernel) {
    const auto graph = spool_.graphs.find(kernel.correlation_id);
    if (graph == spool_.graphs.end()) return std::nullopt;
    const auto& nodes = graph->second.nodes;
    const auto [first, last] = std::equal_range(nodes.begin(), nodes.end(), kernel.graph_node_id);
    std::int64_t rank = first - nodes.begin();
    if (last - first > 1) rank += repeated_nodes_[{kernel.correlation_id, kernel.graph_node_id}]++;
    return graph->second.first_ordinal_in_step + rank;
  }

  template <typename Row, typename Record>
  Row copy_row(const Record& record, bool device_to_host) {
    const bool node = (record.header.flags & kGraphNode) != 0;
    Row row;
    row.process_id = process_id_;
    row.device_id = device_id(record.device_id);
    row.context_id = record.context_id;
    row.stream_id = record.stream_id;
    row.correlation_id = record.correlation_id;
    row.bytes = record.bytes;
    const bool timed = has_time(record.start_ns, record.end_ns);
    row.start_ns = timed ? record.start_ns : 0;
    row.end_ns = timed ? record.end_ns : 0;
    row.step_id = window_step(record.start_ns);
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

  void write_activity() {
    LaunchJoin join;
    const auto emit = [this](const KernelRecord& kernel, const LaunchRecord* call) {
      write_launch(kernel, call);
    };
    constexpr RecordTypes kRows = RecordTypes::all().without({RecordType::string, RecordType::counter_value});
    visit_records(reader_, kRows, in_.progress_rows, [&](const RecordView& view) {
      if (const auto* kernel = view.as<KernelRecord>()) {
        join.add(*kernel, emit);
      } else if (const auto* call = view.as<LaunchRecord>()) {
        join.add(*call, emit);
      } else if (const auto* copy = view.as<MemcpyRecord>()) {
        auto row = copy_row<store::Memcpy>(*copy, copy->kind == MemcpyKind::device_to_host);
        row.kind = copy_kind(copy->kind);
        writer_.add(row);
        samples_.add_copy(copy->device_id, copy->start_ns, copy->end_ns,
                          static_cast<std::uint32_t>(copy->kind), copy->bytes);
        row_written();
      } else if (const auto* set = view.as<MemsetRecord>()) {
        writer_.add(copy_row<store::Memset>(*set, false));
        samples_.add_copy(set->device_id, set->start_ns, set->end_ns, UINT32_MAX, set->bytes);
        row_written();
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
        writer_.add(store::ClockPair{.process_id = process_id_,
                                     .time_ns = pair->cupti_ns,
                                     .realtime_ns = pair->realtime_ns,
                                     .monotonic_ns = pair->monotonic_ns});
      }
    });
    join.finish(emit);
    // The records were counted before: a file that shrinks meanwhile must not pass for whole.
    const std::int64_t counted = spool_.kernel_records + spool_.graph_kernel_records;
    if (launches_ >= counted && !reader_.has_shrunk()) return;
    say(Severity::error,
        fmt::format("the spool of process {} was cut while it was read: {} of {} kernel records are in "
                    "the capture; import it again from a whole one",
                    pid_, launches_, counted));
  }

  // What the program calls its thread stands, whatever the system calls it.
  void write_thread(const ThreadRecord& thread) {
    if ((thread.header.flags & kSystemThreadName) == 0)
      named_threads_.insert(thread.thread_id);
    else if (named_threads_.contains(thread.thread_id))
      return;
    writer_.add(store::Thread{.process_id = process_id_,
                              .thread_id = thread.thread_id,
                              .name = one_line(reader_.string_or(thread.name, "(name lost)"))});
  }

  void write_wait(const SynchronisationRecord& wait) {
    if (!is_known(wait.call) || !has_time(wait.enter_ns, wait.exit_ns))
      return;  // of another version, or damaged
    store::Synchronisation row;
    row.process_id = process_id_;
    row.thread_id = wait.thread_id;
    row.start_ns = wait.enter_ns;
    row.duration_ns = wait.exit_ns - wait.enter_ns;
    row.call = wait.call;
    row.correlation_id = wait.correlation_id;
    row.step_id = window_step(wait.enter_ns);
    if (const auto step = spool_.steps.find(wait.step_index); step != spool_.steps.end())
      row.step_id = step->second.id;
    writer_.add(row);
    row_written();
  }

  void write_clock(const ClockSampleRecord& clock) {
    const store::Id device = device_id(clock.device_id);
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
    if (in_steps && clock.sm_hz > 0) in_.devices.add_clock(device, clock.sm_hz);
  }

  void write_overhead(const OverheadRecord& overhead) {
    writer_.add(store::ProfilerOverhead{.process_id = process_id_,
                                        .kind = overhead_kind(overhead.kind),
                                        .thread_id = present<std::int64_t>(overhead.thread_id, 0),
                                        .start_ns = overhead.start_ns,
                                        .end_ns = overhead.end_ns});
    row_written();
  }

  void write_graph_value(const GraphCounterValueRecord& value, store::Id metric) {
    const auto step = spool_.steps.find(value.step_index);
    if (step == spool_.steps.end() || !step->second.counters_usable() || value.kernel != kWholeGraph ||
        !std::isfinite(value.value))
      return;
    writer_.add(store::GraphMetric{.step_id = step->second.id,
                                   .correlation_id = value.correlation_id,
                                   .metric_id = metric,
                                   .tier = step->second.counter_tier(),
                                   .value = value.value});
    ++summary_.counter_values;
    row_written();
  }

  void write_counters() {
    std::unordered_map<std::uint32_t, store::Id> metric_ids;
    std::uint32_t dram_peak_metric = 0;
    std::int64_t undefined = 0;
    std::int64_t not_evaluated = 0;
    for (const auto& [id, metric] : spool_.metrics) {
      const std::string name = one_line(reader_.string_or(metric.name, ""));
      if (name.empty()) continue;
      metric_ids[id] = writer_.metric_id(name, one_line(reader_.string_or(metric.unit, "")),
                                         one_line(reader_.string_or(metric.description, "")));
      if (name == "dram__bytes.sum.peak_sustained_elapsed.per_second") dram_peak_metric = id;
    }
    constexpr RecordTypes kTypes = {RecordType::graph_counter_value, RecordType::replay_exclusion,
                                    RecordType::counter_value};
    visit_records(reader_, kTypes, in_.progress_counters, [&](const RecordView& view) {
      if (const auto* whole = view.as<GraphCounterValueRecord>()) {
        const auto metric = metric_ids.find(whole->metric_id);
        metric == metric_ids.end() ? (void)++undefined : write_graph_value(*whole, metric->second);
        return;
      }
      if (const auto* exclusion = view.as<ReplayExclusionRecord>()) {
        for (const store::Id kernel : kernels_of(exclusion->kernel_id)) {
          writer_.add(store::ReplayExclusion{
              .process_id = process_id_,
              .kernel_id = kernel,
              .reason = is_known(exclusion->reason) ? exclusion->reason : ExclusionReason::unknown});
        }
        return;
      }
      const auto* value = view.as<CounterValueRecord>();
      if (value == nullptr) return;
      const auto step = spool_.steps.find(value->step_index);
      if (step == spool_.steps.end() || !step->second.counters_usable()) return;
      const auto launch = step->second.replay.find(value->step_ordinal);
      if (launch == step->second.replay.end() || launch->second.launch_id == 0) return;
      const auto metric = metric_ids.find(value->metric_id);
      if (metric == metric_ids.end()) {
        ++undefined;
        return;
      }
      if (!std::isfinite(value->value)) {
        ++not_evaluated;
        return;
      }
      writer_.add(store::LaunchMetric{.launch_id = launch->second.launch_id,
                                      .metric_id = metric->second,
                                      .tier = step->second.counter_tier(),
                                      .value = value->value});
      ++summary_.counter_values;
      row_written();
      if (value->metric_id == dram_peak_metric) {
        in_.devices.add_counter_dram_peak(device_id(launch->second.device_id), value->value,
                                          launch->second.duration_ns);
      }
    });
    if (undefined > 0)
      say(Severity::warning, fmt::format("{} counter values name no metric and were left out", undefined));
    if (not_evaluated > 0) {
      say(Severity::warning,
          fmt::format("{} counter values could not be evaluated by CUPTI and were left out", not_evaluated));
    }
  }

  void write_samples() {
    const PmImport::Target target{
        .writer = writer_,
        .process_id = process_id_,
        .device_id = [this](std::uint32_t ordinal) { return device_id(ordinal); },
        .warn = [this](std::string text) { say(Severity::warning, std::move(text)); },
        .row_written = [this] { row_written(); }};
    for (const PmPeer& peer : in_.peers) {
      if (peer.reader != &reader_) samples_.add_peer(peer);
    }
    samples_.write(target, outcomes_.sampling, in_.progress_samples);
  }

  void write_stall_reasons() {
    if (!spool_.has_stalls) return;
    write_stalls(reader_,
                 {.writer = writer_,
                  .process_id = process_id_,
                  .device_id = [this](std::uint32_t ordinal) { return device_id(ordinal); },
                  .kernel_id = [this](std::uint32_t id) { return sampled_kernel(id); },
                  .warn = [this](std::string text) { say(Severity::warning, std::move(text)); }},
                 {});
  }

  void write_verdicts() {
    store::Completeness completeness = completeness_of(reader_, spool_);
    completeness.process_id = process_id_;
    writer_.add(completeness);
    summary_.launches_seen += completeness.launches_seen;
    std::string timeline_gaps;
    for (store::TierStatus& verdict : tier_verdicts(spool_, plan_, completeness, outcomes_)) {
      verdict.process_id = process_id_;
      const bool noteworthy =
          verdict.status != TierOutcome::ok && verdict.status != TierOutcome::not_requested;
      if (noteworthy && verdict.tier == Tier::t0) timeline_gaps = verdict.reason.value_or("");
      // One cause, one line: what the agent said itself is not said again, and a verdict that says more than
      // the agent did takes the place of its words.
      const std::string reason = verdict.reason.value_or("no reason given");
      const bool said = std::any_of(spool_.messages.begin(), spool_.messages.end(),
                                    [&](const MessageText& m) { return m.text == reason; });
      if (noteworthy && !said && !(verdict.tier != Tier::t0 && spool_.steps.empty())) {
        std::erase_if(summary_.warnings,
                      [&](const std::string& w) { return reason.find(w) != std::string::npos; });
        summary_.warnings.push_back(
            fmt::format("tier {} {}: {}", to_string(verdict.tier), to_string(verdict.status), reason));
      }
      writer_.add(verdict);
    }
    if (completeness.strings_lost > 0) {
      say(Severity::warning,
          fmt::format("{} names found no room in the spool: kernels and ranges without a name are among them",
                      completeness.strings_lost));
    }
    if (spool_.paths.size() >= kMostPaths) {
      say(Severity::warning,
          fmt::format("the program nests its NVTX ranges in more than {} different ways (numbered names?): "
                      "launches after that have no range; name ranges alike in every step",
                      kMostPaths));
    } else if (completeness.nvtx_unbalanced > 0) {
      say(Severity::warning,
          fmt::format("{} NVTX calls could not be followed (an end without a begin, or too deeply "
                      "nested): ranges of some launches are missing or wrong",
                      completeness.nvtx_unbalanced));
    }
    const std::int64_t kernels = spool_.kernel_records + spool_.graph_kernel_records;
    if (spool_.steps.empty() && kernels > 0) say(Severity::warning, no_steps_text(reader_, spool_, plan_));
    const auto& findings = reader_.diagnosis().findings;
    if (!reader_.diagnosis().intact()) {
      say(Severity::warning,
          fmt::format("the spool of process {} is damaged, {} bytes are lost: {}{}", pid_,
                      completeness.truncated_bytes, findings.empty() ? "no detail" : findings.front(),
                      findings.size() > 1 ? fmt::format(" (and {} more)", findings.size() - 1) : ""));
    }
    if (!spool_.end && !spool_.left_alone()) {
      const std::string text =
          fmt::format("process {} did not end in order (killed, crashed or still running): {}", pid_,
                      timeline_gaps.empty() ? "the last moments of it may be missing" : timeline_gaps);
      std::erase_if(summary_.warnings, [&](const std::string& w) {
        return !timeline_gaps.empty() && w == "tier T0 partial: " + timeline_gaps;
      });
      say(Severity::warning, text);
      summary_.unfinished.push_back({.warning = text, .missing = timeline_gaps});
    }
  }

  struct NodeKeyHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& key) const {
      return std::hash<std::uint64_t>{}(key.second * 0x9e3779b97f4a7c15ull + key.first);
    }
  };

  ProcessImport& in_;
  store::CaptureWriter& writer_;
  const Reader& reader_;
  ScannedSpool& spool_;
  StepFinder steps_;
  RangeImport ranges_;
  PmImport samples_;
  ImportSummary& summary_;
  RecordingPlan plan_;
  store::Id process_id_ = 0;
  std::int64_t pid_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t launches_ = 0;
  TierOutcomes outcomes_;
  std::unordered_map<std::uint32_t, store::Id> device_ids_;
  std::unordered_map<std::uint32_t, store::Id> config_ids_;
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint64_t, store::Id>>> kernel_ids_;  // by code
  std::unordered_map<std::uint32_t, std::set<store::Id>>
      stalled_;                                      // ran while stalls were sampled; of several codes
  std::unordered_set<std::uint32_t> named_threads_;  // by the program
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t, NodeKeyHash> repeated_nodes_;
};

}  // namespace

void import_process(ProcessImport& import, ImportSummary& summary) {
  Rows(import, summary).write();
}

}  // namespace ridgeline::import
