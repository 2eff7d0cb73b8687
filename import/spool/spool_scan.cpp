#include "spool/spool_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "recording/sampled_windows.h"
#include "recording/step_search.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/text.h"
#include "spool/spool_events.h"
#include "spool/spool_words.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {
constexpr std::uint32_t kMaxPmMetrics = 256;  // a damaged record must not ask for more

StepCounters counters_of(const Reader& reader, const ScannedSpool& spool, const CounterStepRecord& record) {
  StepCounters counters{.configuration = record.config_id, .status = StepStatus::ok, .reason = std::nullopt};
  if (record.status != CounterStatus::ok) {
    counters.status = record.status == CounterStatus::mismatch ? StepStatus::mismatch : StepStatus::failed;
    counters.reason = spool.words_of(reader, ReasonCode::replay, record.reason);
  } else if (record.reason != 0) {
    counters.reason = spool.words_of(reader, ReasonCode::replay, record.reason);
  }
  return counters;
}

StepBlock block_of(const StepBlockRecord& record) {
  StepBlock block;
  block.alone = (record.header.flags & kBlockAlone) != 0;
  block.by_period = (record.header.flags & kBlockByPeriod) != 0;
  block.first_step = record.first_step;
  block.steps = record.steps;
  block.start_ns = record.start_ns;
  block.end_ns = record.end_ns;
  block.launches = record.launches;
  block.remained_ns = record.own_ns + static_cast<std::int64_t>(record.launches) * record.callback_ps / 1000;
  return block;
}

}  // namespace

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
  // A step's end and counters may come before its start: other threads write them.
  std::map<std::uint32_t, std::uint16_t> flags;  // of the starts
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
    } else if (const auto* begin = view.as<StepStartRecord>()) {
      if (begin->step_index == kNoStep) return;
      RecordedStep& step = spool.steps[begin->step_index];
      step.index = begin->step_index;
      step.phase = begin->phase;
      flags[begin->step_index] = begin->header.flags;
      step.source = (begin->header.flags & kStepByPeriod) != 0 ? StepSource::period : StepSource::nvtx;
      step.stretch = (begin->header.flags & kStepByTime) != 0;
      if (step.stretch) step.source = StepSource::window;
      step.unmeasured = (begin->header.flags & kStepUnmeasured) != 0;
      step.deferred = (begin->header.flags & kStepDeferred) != 0;
      step.start_ns = begin->start_ns;
      step.configuration = begin->config_id;
    } else if (const auto* block = view.as<StepBlockRecord>()) {
      spool.blocks.push_back(block_of(*block));
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
      if (!is_plausible_sample(sample->start_ns, sample->end_ns)) return;
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
    if (auto step = spool.steps.find(index); step != spool.steps.end()) {
      step->second.end_ns = end.end_ns;
      step->second.deferred = step->second.deferred || (end.header.flags & kStepDeferred) != 0;
    }
  }
  for (const auto& [index, counters] : counter_steps) {
    if (auto step = spool.steps.find(index); step != spool.steps.end())
      step->second.counters = counters_of(reader, spool, counters);
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
  std::vector<std::uint32_t> alone;  // nothing was recorded of them
  for (auto& [index, step] : spool.steps) {
    if (step.stretch) continue;
    if ((flags[index] & kScheduleStarts) != 0) schedule_start = index;
    step.position = index - schedule_start;
    if (step.deferred) {
      ++schedule_start;
      // What it was meant for, it was not used for, but for samples in place of those that were missed.
      if ((flags[index] & kStepSamplesAgain) == 0) step.phase = Phase::after;
      step.configuration = 0;
    }
    if ((flags[index] & kStepAlone) != 0) alone.push_back(index);
    if ((flags[index] & kStepSupersedes) == 0) continue;
    for (auto& [before, earlier] : spool.steps) {
      if (before == index) break;
      earlier.superseded = earlier.superseded || earlier.source == StepSource::period;
    }
  }
  for (const std::uint32_t index : alone) spool.steps.erase(index);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (const RecordingWindowRecord& edge : edges) {
    if (edge.edge == WindowEdge::open) {
      spool.windows.push_back({.open_ns = edge.time_ns,
                               .cause = edge.cause,
                               .synchronisation = (edge.header.flags & kWindowHasSynchronisation) != 0,
                               .stream_calls = (edge.header.flags & kWindowHasStreamCalls) != 0});
    } else if (!spool.windows.empty() && !spool.windows.back().close_ns) {
      spool.windows.back().close_ns = edge.time_ns;
    }
  }
  return spool;
}

namespace {

// Fewer steps on the timeline than this, with the program at its end: it had most of its steps before they were found.
constexpr int kFewSteps = 20;

// Of the agent's steps none has more than a time, and there are few of those.
bool wants_steps(const ScannedSpool& spool) {
  if (!spool.blocks.empty()) return false;
  int on_timeline = 0;
  for (const auto& [index, step] : spool.steps) {
    if (step.stretch) continue;
    if (step.source != StepSource::period || step.counters) return false;
    if (step.phase != Phase::warmup && (step.phase != Phase::timeline || ++on_timeline == kFewSteps))
      return false;
  }
  return true;
}

std::ptrdiff_t steps_of_program(const std::map<std::uint32_t, RecordedStep>& steps) {
  return std::count_if(steps.begin(), steps.end(),
                       [](const auto& step) { return !step.second.stretch && !step.second.superseded; });
}

}  // namespace

void search_steps(const Reader& reader, ScannedSpool& spool, bool by_ranges) {
  if (spool.windows.empty() || !wants_steps(spool)) return;
  SearchedEvents events;
  std::unordered_map<std::uint32_t, std::size_t> graphs;  // by correlation id
  LaunchJoin join;
  const auto note = [&](const Execution& execution, const Call* call) {
    if (call == nullptr) return;
    // What a stretch takes longer is no part of a step.
    if (const auto in = spool.steps.find(call->step); in != spool.steps.end() && in->second.stretch) return;
    if (call->graph) {
      const auto [known, fresh] = graphs.try_emplace(call->correlation_id, events.launches.size());
      if (!fresh) {
        ++events.launches[known->second].kernels;
        return;
      }
    }
    events.launches.push_back(
        {call->enter_ns.value_or(execution.start_ns), call->correlation_id, execution.context_id,
         call->graph ? steps::graph_key(execution.graph_id)
                     : steps::key_of(execution.kernel, static_cast<std::uint32_t>(execution.grid.x),
                                     static_cast<std::uint32_t>(execution.grid.y),
                                     static_cast<std::uint32_t>(execution.grid.z)),
         call->graph, has_time(execution.start_ns, execution.end_ns) ? execution.start_ns : 0});
  };
  constexpr RecordTypes kTypes = {RecordType::kernel, RecordType::launch, RecordType::nvtx_range};
  visit_records(reader, kTypes, {}, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>()) {
      join.add(execution_of(*kernel), note);
    } else if (const auto* call = view.as<LaunchRecord>()) {
      if (expects_kernel(*call)) join.add(call_of(*call), note);
    } else if (const auto* range = view.as<NvtxRangeRecord>()) {
      const bool whole =
          has_time(range->start_ns, range->end_ns) && (range->header.flags & kRangeUnclosed) == 0;
      if (by_ranges && whole && range->kind == NvtxKind::push_pop && range->depth == 0)
        events.ranges.push_back({range->start_ns, range->end_ns, range->thread_id, range->path_id});
    }
  });
  for (const SearchedRange& range : events.ranges) {
    const auto path = spool.paths.find(range.path);
    if (path != spool.paths.end())
      events.names.try_emplace(range.path, reader.string_or(path->second.name, "?"));
  }
  const std::map<std::uint32_t, RecordedStep> of_agent = spool.steps;
  find_steps(std::move(events), spool);
  if (!spool.steps_found || steps_of_program(spool.steps) > steps_of_program(of_agent)) return;
  spool.steps = of_agent;
  spool.steps_found.reset();
  spool.placed.clear();
}

void scan_launches(const Reader& reader, ScannedSpool& spool, const OffsetProgress& progress) {
  RecordedSteps::LaunchPass launches(spool);
  visit_records(reader, {RecordType::kernel, RecordType::launch}, progress, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>()) {
      if (!has_time(kernel->start_ns, kernel->end_ns) && (kernel->header.flags & kUntraced) == 0)
        ++spool.zero_timestamps;
      launches.add(execution_of(*kernel));
    } else if (const auto* call = view.as<LaunchRecord>()) {
      if (expects_kernel(*call)) launches.add(spool.in_step(call_of(*call)));
    }
  });
  launches.finish();
}

namespace {

void join_value(const Reader& reader, const CounterValueRecord& value, ScannedSpool& spool) {
  const auto found = spool.steps.find(value.step_index);
  if (found == spool.steps.end()) return;
  RecordedStep& step = found->second;
  const auto launch = step.counted.find(value.step_ordinal);
  if (launch == step.counted.end()) {
    ++step.unjoined_values;
    return;
  }
  const CountedLaunch& ran = launch->second;
  const store::Dim3 grid{value.grid_x, value.grid_y, value.grid_z};
  if (ran.kernel == value.kernel_id && ran.grid == grid) {
    ++step.counter_values;
  } else if (!step.mismatch) {
    const auto name = [&](std::uint32_t kernel_id) {
      const auto kernel = spool.kernels.find(kernel_id);
      return one_line(kernel == spool.kernels.end() ? "(unknown)"
                                                    : reader.string_or(kernel->second.name, "(unknown)"));
    };
    const auto text = [](const store::Dim3& of) { return fmt::format("{}x{}x{}", of.x, of.y, of.z); };
    step.mismatch = Reason(ReasonCode::another_launch, {{"position", value.step_ordinal},
                                                        {"counted", name(value.kernel_id)},
                                                        {"counted_grid", text(grid)},
                                                        {"ran", name(ran.kernel)},
                                                        {"ran_grid", text(ran.grid)}});
  }
}

}  // namespace

void scan_copies_and_counters(const Reader& reader, ScannedSpool& spool, const OffsetProgress& progress) {
  constexpr RecordTypes kTypes = {RecordType::memcpy, RecordType::memset, RecordType::counter_value};
  visit_records(reader, kTypes, progress, [&](const RecordView& view) {
    if (const auto* copy = view.as<MemcpyRecord>()) {
      spool.add_copy(copy_of(*copy));
    } else if (const auto* set = view.as<MemsetRecord>()) {
      spool.add_copy(copy_of(*set));
    } else if (const auto* value = view.as<CounterValueRecord>()) {
      join_value(reader, *value, spool);
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

}  // namespace ridgeline::import
