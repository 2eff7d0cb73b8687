#include "spool/spool_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/error.h"
#include "ridgeline/base/text.h"
#include "spool/spool_words.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {
constexpr std::uint32_t kMaxPmMetrics = 256;  // a damaged record must not ask for more
}

void visit_records(const Reader& reader, RecordTypes types, const OffsetProgress& progress,
                   const std::function<void(const RecordView&)>& visit) {
  std::uint64_t count = 0;
  std::string error;
  const bool whole = reader.for_each(
      types,
      [&](const RecordView& record) {
        if (progress && (++count & 0xfff) == 0) progress(record.offset());
        visit(record);
      },
      &error);
  if (!whole) throw Error(ErrorKind::io, error);
}

ScannedSpool scan_definitions(const Reader& reader, const OffsetProgress& progress) {
  ScannedSpool spool;
  // A step's end and counters may come before its begin: other threads write them.
  std::map<std::uint32_t, StepEndRecord> ends;
  std::map<std::uint32_t, CounterStepRecord> counter_steps;
  std::vector<RecordingWindowRecord> edges;
  std::map<std::uint32_t, std::vector<std::uint32_t>> graph_calls;  // correlation ids by step
  std::size_t captured = 0;
  constexpr RecordTypes kOthers = {RecordType::kernel, RecordType::counter_value, RecordType::string};
  visit_records(reader, RecordTypes::all().without(kOthers), progress, [&](const RecordView& view) {
    if (const auto* process = view.as<ProcessRecord>()) {
      spool.process = *process;
    } else if (const auto* version = view.as<VersionRecord>()) {
      spool.versions.push_back(*version);
    } else if (const auto* device = view.as<DeviceRecord>()) {
      spool.devices[device->device_id] = *device;
    } else if (const auto* function = view.as<KernelFunctionRecord>()) {
      KernelFunctionRecord& known = spool.kernels[function->kernel_id];
      const StringId name = function->name != 0 ? function->name : known.name;
      if (known.kernel_id == 0 || function->header.flags > known.header.flags) known = *function;
      known.name = name;
      if (function->code_hash != 0) {
        auto& codes = spool.codes[function->kernel_id];
        if (std::find(codes.begin(), codes.end(), function->code_hash) == codes.end())
          codes.push_back(function->code_hash);
      }
    } else if (const auto* path = view.as<NvtxPathRecord>()) {
      spool.paths[path->path_id] = *path;
    } else if (const auto* range = view.as<NvtxRangeRecord>()) {
      if (range->kind == NvtxKind::push_pop && range->depth == 0) ++spool.ranges_by_path[range->path_id];
    } else if (const auto* metric = view.as<MetricRecord>()) {
      spool.metrics[metric->metric_id] = *metric;
    } else if (const auto* config = view.as<CounterConfigRecord>()) {
      spool.configs[config->config_id] = *config;
    } else if (const auto* begin = view.as<StepBeginRecord>()) {
      if (begin->step_index == kNoStep) return;
      ScannedStep& step = spool.steps[begin->step_index];
      step.index = begin->step_index;
      step.phase = begin->phase;
      step.flags = begin->header.flags;
      step.by_period = (begin->header.flags & kStepByPeriod) != 0;
      step.unmeasured = (begin->header.flags & kStepUnmeasured) != 0;
      step.begin_ns = begin->begin_ns;
      step.config_id = begin->config_id;
    } else if (const auto* end = view.as<StepEndRecord>()) {
      ends[end->step_index] = *end;
    } else if (const auto* counters = view.as<CounterStepRecord>()) {
      counter_steps[counters->step_index] = *counters;
    } else if (const auto* window = view.as<PmWindowRecord>()) {
      spool.pm_windows[window->window_id].record = *window;
    } else if (const auto* column = view.as<PmMetricRecord>()) {
      auto& metrics = spool.pm_windows[column->window_id].metrics;
      if (column->position >= kMaxPmMetrics) return;
      if (metrics.size() <= column->position) metrics.resize(column->position + 1, 0);
      metrics[column->position] = column->metric_id;
    } else if (const auto* sample = view.as<PmSampleRecord>()) {
      if (!is_plausible(*sample)) return;
      ScannedPmWindow& sampled = spool.pm_windows[sample->window_id];
      if (sampled.samples++ == 0 || sample->start_ns < sampled.first_start_ns) {
        sampled.first_start_ns = sample->start_ns;
      }
      sampled.last_end_ns = std::max(sampled.last_end_ns, sample->end_ns);
    } else if (view.as<StallSampleRecord>() != nullptr) {
      ++spool.stall_samples;
      spool.has_stalls = true;
    } else if (view.as<StallWindowRecord>() != nullptr) {
      spool.has_stalls = true;
    } else if (const auto* completeness = view.as<CompletenessRecord>()) {
      spool.completeness = *completeness;
    } else if (const auto* message = view.as<MessageRecord>()) {
      spool.messages.push_back(
          {message->time_ns, message->severity, message->topic, reason_of(reader, *message)});
    } else if (const auto* last = view.as<EndRecord>()) {
      spool.end = *last;
    } else if (const auto* edge = view.as<RecordingWindowRecord>()) {
      edges.push_back(*edge);
    } else if (const auto* clock = view.as<ClockSampleRecord>()) {
      spool.clocks[clock->device_id].push_back({clock->time_ns, clock->sm_hz});
    } else if (view.as<MemcpyRecord>() != nullptr || view.as<MemsetRecord>() != nullptr) {
      ++spool.copies;
    } else if (const auto* call = view.as<LaunchRecord>()) {
      constexpr std::uint16_t kMask = kLaunchIsGraph | kLaunchFailed | kLaunchCaptured;
      if (call->step_index != kNoStep && (call->header.flags & kMask) == kLaunchIsGraph) {
        graph_calls[call->step_index].push_back(call->correlation_id);
      }
      if ((call->header.flags & kLaunchCaptured) != 0 && call->code != 0)
        spool.captured[call->code] = ++captured;
    }
  });
  std::erase_if(spool.codes, [](const auto& kernel) { return kernel.second.size() < 2; });
  for (auto& [index, correlation_ids] : graph_calls) {
    const auto step = spool.steps.find(index);
    if (step == spool.steps.end()) continue;
    std::sort(correlation_ids.begin(), correlation_ids.end());
    for (const std::uint32_t id : correlation_ids) step->second.graph_calls.push_back({.correlation_id = id});
  }
  for (const auto& [index, end] : ends) {
    if (auto step = spool.steps.find(index); step != spool.steps.end()) step->second.end_ns = end.end_ns;
  }
  for (const auto& [index, counters] : counter_steps) {
    if (auto step = spool.steps.find(index); step != spool.steps.end()) step->second.counters = counters;
  }
  // A window may cover fewer steps than its phase has; the others were not meant to be measured.
  const auto meant = [&](std::uint32_t index) {
    bool any = false;
    for (const auto& [id, window] : spool.pm_windows) {
      if (!window.record) return true;
      any = any || (index >= window.record->first_step && index <= window.record->last_step);
    }
    return any || spool.pm_windows.empty();
  };
  for (auto& [index, step] : spool.steps) {
    if (step.phase == Phase::sample && !meant(index)) step.unmeasured = true;
  }
  std::uint32_t schedule_start = 0;
  for (auto& [index, step] : spool.steps) {
    if ((step.flags & kScheduleStarts) != 0) schedule_start = index;
    step.position = index - schedule_start;
    if ((step.flags & kStepSupersedes) == 0) continue;
    for (auto& [before, earlier] : spool.steps) {
      if (before == index) break;
      earlier.superseded = earlier.superseded || earlier.by_period;
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (const RecordingWindowRecord& edge : edges) {
    if (edge.edge == WindowEdge::open) {
      spool.windows.push_back({.open_ns = edge.time_ns,
                               .cause = edge.cause,
                               .synchronisation = (edge.header.flags & kWindowHasSynchronisation) != 0});
    } else if (!spool.windows.empty() && !spool.windows.back().close_ns) {
      spool.windows.back().close_ns = edge.time_ns;
    }
  }
  return spool;
}

LaunchRecord ScannedSpool::in_step(const LaunchRecord& call) const {
  if (!steps_found) return call;
  LaunchRecord copy = call;
  const auto place = placed.find(call.correlation_id);
  copy.step_index = place == placed.end() ? kNoStep : place->second.first;
  copy.step_ordinal = place == placed.end() ? kNoStep : place->second.second;
  return copy;
}

std::uint32_t ScannedSpool::step_at(std::uint32_t recorded_step, std::int64_t time_ns) const {
  if (!steps_found) return recorded_step;
  // Numbered in order of time.
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(steps.size());
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    (steps.at(middle).begin_ns <= time_ns ? low : high) =
        steps.at(middle).begin_ns <= time_ns ? middle + 1 : middle;
  }
  if (low == 0) return kNoStep;
  const ScannedStep& step = steps.at(low - 1);
  return time_ns < step.end_ns.value_or(INT64_MAX) ? step.index : kNoStep;
}

ScannedSpool::Window* ScannedSpool::window_at(std::int64_t time_ns) {
  const auto next =
      std::upper_bound(windows.begin(), windows.end(), time_ns,
                       [](std::int64_t at, const Window& window) { return at < window.open_ns; });
  return next == windows.begin() ? nullptr : &*std::prev(next);
}

void scan_launches(const Reader& reader, ScannedSpool& spool, const OffsetProgress& progress) {
  LaunchJoin join;
  StepFinder steps(spool.steps);
  const auto step_of = [&](const LaunchRecord& call) { return steps.find(call.step_index); };
  const auto kernel_of_call = [&](const KernelRecord& kernel, const LaunchRecord* call) {
    ScannedStep* step = call == nullptr ? nullptr : step_of(*call);
    if (spool.steps.empty() && has_time(kernel.start_ns, kernel.end_ns)) {
      if (auto* window = spool.window_at(call != nullptr ? call->enter_ns : kernel.start_ns)) {
        window->gpu_start_ns = std::min(window->gpu_start_ns.value_or(kernel.start_ns), kernel.start_ns);
        window->gpu_end_ns = std::max(window->gpu_end_ns.value_or(kernel.end_ns), kernel.end_ns);
      }
    }
    if (step == nullptr) return;
    if ((call->header.flags & kLaunchIsGraph) == 0) ++step->kernel_records;
    if (has_time(kernel.start_ns, kernel.end_ns)) {
      step->gpu_start_ns = std::min(step->gpu_start_ns.value_or(kernel.start_ns), kernel.start_ns);
      step->gpu_end_ns = std::max(step->gpu_end_ns.value_or(kernel.end_ns), kernel.end_ns);
      step->kernel_end_ns = std::max(step->kernel_end_ns, kernel.end_ns);
    }
    if (step->is_replay() && call->step_ordinal != kNoStep) {
      step->replay[call->step_ordinal] = {
          .kernel_id = kernel.kernel_id,
          .grid_x = kernel.grid_x,
          .grid_y = kernel.grid_y,
          .grid_z = kernel.grid_z,
          .device_id = kernel.device_id,
          .duration_ns = has_time(kernel.start_ns, kernel.end_ns) ? kernel.end_ns - kernel.start_ns : 0};
    }
  };
  visit_records(reader, {RecordType::kernel, RecordType::launch}, progress, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>()) {
      const bool node = (kernel->header.flags & kGraphNode) != 0;
      ++(node ? spool.graph_kernel_records : spool.kernel_records);
      if (!has_time(kernel->start_ns, kernel->end_ns) && (kernel->header.flags & kUntraced) == 0)
        ++spool.zero_timestamps;
      join.add(*kernel, kernel_of_call);
    } else if (const auto* recorded = view.as<LaunchRecord>()) {
      const LaunchRecord in_step = spool.in_step(*recorded);
      const LaunchRecord* const call = &in_step;
      const std::uint16_t flags = call->header.flags;
      if ((flags & (kLaunchFailed | kLaunchCaptured)) == 0) {
        ++((flags & kLaunchIsGraph) != 0 ? spool.graph_launches : spool.launches_seen);
        if (ScannedStep* step = step_of(*call)) {
          if ((flags & kLaunchIsGraph) == 0) ++step->launches_seen;
          step->first_correlation_id = std::min(step->first_correlation_id, call->correlation_id);
          step->last_correlation_id = std::max(step->last_correlation_id, call->correlation_id);
          if (call->step_ordinal != kNoStep) {
            const auto later =
                std::upper_bound(step->graph_calls.begin(), step->graph_calls.end(), call->correlation_id,
                                 [](std::uint32_t id, const ScannedStep::GraphCall& graph) {
                                   return id < graph.correlation_id;
                                 });
            if (later != step->graph_calls.end()) {
              later->next_position = std::max(later->next_position, call->step_ordinal + 1);
            }
          }
        }
      }
      join.add(*call, kernel_of_call);
    }
  });
  join.finish(kernel_of_call);
  spool.graphs = join.take_graphs();
  for (auto& [correlation_id, graph] : spool.graphs) std::sort(graph.nodes.begin(), graph.nodes.end());
  for (auto& [index, step] : spool.steps) {
    std::uint32_t position = 0;
    std::int64_t kernels = 0;
    for (ScannedStep::GraphCall& call : step.graph_calls) {
      position = call.next_position = std::max(call.next_position, position);
      GraphLaunch& graph = spool.graphs[call.correlation_id];
      graph.first_ordinal_in_step = position + kernels;
      kernels += static_cast<std::int64_t>(graph.nodes.size());
      call.kernels_until_here = kernels;
    }
  }
  spool.steps_by_correlation_.clear();
  for (const auto& [index, step] : spool.steps) {
    if (step.first_correlation_id <= step.last_correlation_id) {
      spool.steps_by_correlation_.emplace_back(step.first_correlation_id, index);
    }
  }
  std::sort(spool.steps_by_correlation_.begin(), spool.steps_by_correlation_.end());
}

void scan_copies_and_counters(const Reader& reader, ScannedSpool& spool, const OffsetProgress& progress) {
  const auto extend = [](ScannedStep* step, std::int64_t start_ns, std::int64_t end_ns) {
    if (step == nullptr || !has_time(start_ns, end_ns)) return;
    // A copy may run ahead on another stream, beside the step before: a step with kernels begins with the
    // first.
    if (step->kernel_end_ns == 0)
      step->gpu_start_ns = std::min(step->gpu_start_ns.value_or(start_ns), start_ns);
    step->gpu_end_ns = std::max(step->gpu_end_ns.value_or(end_ns), end_ns);
  };
  constexpr RecordTypes kTypes = {RecordType::memcpy, RecordType::memset, RecordType::counter_value};
  visit_records(reader, kTypes, progress, [&](const RecordView& view) {
    if (const auto* copy = view.as<MemcpyRecord>()) {
      extend(
          spool.step_of_copy(copy->correlation_id, copy->start_ns, copy->kind == MemcpyKind::device_to_host,
                             (copy->header.flags & kGraphNode) != 0),
          copy->start_ns, copy->end_ns);
    } else if (const auto* set = view.as<MemsetRecord>()) {
      extend(spool.step_of_copy(set->correlation_id, set->start_ns, false,
                                (set->header.flags & kGraphNode) != 0),
             set->start_ns, set->end_ns);
    } else if (const auto* value = view.as<CounterValueRecord>()) {
      const auto found = spool.steps.find(value->step_index);
      if (found == spool.steps.end()) return;
      ScannedStep& step = found->second;
      const auto launch = step.replay.find(value->step_ordinal);
      if (launch == step.replay.end()) {
        ++step.unjoined_values;
        return;
      }
      const ReplayLaunch& ran = launch->second;
      const bool same = ran.kernel_id == value->kernel_id && ran.grid_x == value->grid_x &&
                        ran.grid_y == value->grid_y && ran.grid_z == value->grid_z;
      if (same) {
        ++step.counter_values;
      } else if (!step.mismatch) {
        const auto name = [&](std::uint32_t kernel_id) {
          const auto kernel = spool.kernels.find(kernel_id);
          return one_line(kernel == spool.kernels.end() ? "(unknown)"
                                                        : reader.string_or(kernel->second.name, "(unknown)"));
        };
        const auto grid = [](const auto& of) {
          return fmt::format("{}x{}x{}", of.grid_x, of.grid_y, of.grid_z);
        };
        step.mismatch = Reason(ReasonCode::another_launch, {{"position", value->step_ordinal},
                                                            {"counted", name(value->kernel_id)},
                                                            {"counted_grid", grid(*value)},
                                                            {"ran", name(ran.kernel_id)},
                                                            {"ran_grid", grid(ran)}});
      }
    }
  });
}

std::uint64_t ScannedSpool::code_hash(std::uint32_t kernel_id, std::uint32_t code) const {
  if (code != 0) {
    if (const auto several = codes.find(kernel_id); several != codes.end()) {
      for (const std::uint64_t hash : several->second) {
        if (static_cast<std::uint32_t>(hash) == code) return hash;
      }
    }
  }
  const auto kernel = kernels.find(kernel_id);
  return kernel == kernels.end() ? 0 : kernel->second.code_hash;
}

std::uint64_t ScannedSpool::code_hash_of_node(std::uint32_t kernel_id) const {
  std::size_t last = 0;
  std::uint32_t code = 0;
  if (const auto several = codes.find(kernel_id); several != codes.end()) {
    for (const std::uint64_t hash : several->second) {
      const auto at = captured.find(static_cast<std::uint32_t>(hash));
      if (at == captured.end() || at->second <= last) continue;
      last = at->second;
      code = at->first;
    }
  }
  return code_hash(kernel_id, code);
}

const AgentMessage* ScannedSpool::message_about(Topic topic) const {
  for (const AgentMessage& message : messages) {
    if (message.topic == topic && message.severity != Severity::info) return &message;
  }
  return nullptr;
}

Reason ScannedSpool::words_of(const Reader& reader, ReasonCode code, StringId text) const {
  Reason words = import::words_of(reader, code, text);
  for (const AgentMessage& message : messages) {
    if (!words.text.empty() && message.what.text == words.text) return message.what;
  }
  return words;
}

bool ScannedSpool::is_empty() const {
  const bool complaint = std::any_of(messages.begin(), messages.end(), [](const AgentMessage& message) {
    return message.severity != Severity::info;
  });
  // The agent's own count outlives the records that were lost.
  const bool counted = completeness && completeness->launches_seen > 0;
  return !complaint && !counted &&
         kernel_records + graph_kernel_records + launches_seen + graph_launches + copies == 0;
}

std::int64_t ScannedSpool::ordinal_in_step(const ScannedStep& step, std::uint32_t position) {
  const auto later = std::upper_bound(
      step.graph_calls.begin(), step.graph_calls.end(), position,
      [](std::uint32_t at, const ScannedStep::GraphCall& graph) { return at < graph.next_position; });
  return position + (later == step.graph_calls.begin() ? 0 : std::prev(later)->kernels_until_here);
}

ScannedStep* ScannedSpool::step_of_copy(std::uint32_t correlation_id, std::int64_t start_ns,
                                        bool device_to_host, bool graph_node) {
  const auto step_at = [&](std::uint32_t index) -> ScannedStep* {
    const auto found = steps.find(index);
    return found == steps.end() ? nullptr : &found->second;
  };
  if (graph_node) {
    const auto graph = graphs.find(correlation_id);
    return graph == graphs.end() ? nullptr : step_at(graph->second.call.step_index);
  }
  const auto next = std::upper_bound(steps_by_correlation_.begin(), steps_by_correlation_.end(),
                                     std::pair<std::uint32_t, std::uint32_t>(correlation_id, UINT32_MAX));
  ScannedStep* const following = next == steps_by_correlation_.end() ? nullptr : step_at(next->second);
  const bool begun = following != nullptr && start_ns >= following->begin_ns;
  if (next == steps_by_correlation_.begin()) return begun ? following : nullptr;
  ScannedStep* const step = step_at(std::prev(next)->second);
  if (correlation_id <= step->last_correlation_id) return step;
  // Behind the step's last launch and before the next step's first. A result read back belongs to what made
  // it.
  if (begun) return device_to_host ? step : following;
  // Of this step while the host was in its range, or if it was queued behind its kernels.
  constexpr std::int64_t kQueueGapNs = 100'000;
  const std::int64_t end_ns = std::max(step->end_ns.value_or(INT64_MAX), step->kernel_end_ns + kQueueGapNs);
  return start_ns <= end_ns ? step : nullptr;
}

}  // namespace ridgeline::import
