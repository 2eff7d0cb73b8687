#include "ridgeline/analyzer/trace/trace.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "model/refusal.h"
#include "trace/painter.h"
#include "trace/tracer.h"

namespace ridgeline::analyzer {

namespace {

void require_whole(bool whole) {
  if (!whole) throw Refused{{ErrorKind::cancelled, "the question was cancelled"}};
}

void require_window(const TimeWindow& window) {
  if (window.end_ns <= window.start_ns)
    throw Refused{{ErrorKind::usage, "the time window is empty: its end is not after its start"}};
}

std::string step_name(const store::Step& step) {
  return std::string(to_string(step.phase)) + " " + std::to_string(step.step_index);
}

// Open ranges last until the end of the recording.
std::int64_t end_of(const store::NvtxRange& range) {
  return range.end_ns.value_or(std::numeric_limits<std::int64_t>::max());
}

void find_steps(const Model& overview, const TraceQuery& query, Trace& trace,
                std::vector<PaintEvent>& events) {
  for (const ModelStep& step : overview.steps) {
    if (step.step.process_id != query.row.process_id || !step.total || step.total->kernel_start_ns == 0)
      continue;
    const store::StepTotal& total = *step.total;
    if (total.kernel_end_ns < query.window.start_ns || total.kernel_start_ns >= query.window.end_ns) continue;
    events.push_back({total.kernel_start_ns, total.kernel_end_ns, step.step.id});
    if (trace.events.size() <= query.most_events)
      trace.events.push_back(
          {step.step.id, total.kernel_start_ns, total.kernel_end_ns, step_name(step.step)});
  }
}

}  // namespace

Tracer::Tracer(const store::Capture& capture, const store::Activity& activity, ReadCounts& counts)
    : capture_(capture), activity_(activity), counts_(counts) {}

const std::vector<store::PmSample>& Tracer::samples(store::Id device_id, store::Id metric_id) {
  const auto [place, fresh] = samples_.try_emplace({device_id, metric_id});
  if (fresh) {
    ++counts_.queries;
    place->second = capture_.pm_samples(device_id, metric_id);
    counts_.samples += static_cast<std::int64_t>(place->second.size());
  }
  return place->second;
}

std::vector<TraceRow> Tracer::rows(const Model& overview, store::Id device_id, const TimeWindow& window,
                                   const Ask& ask) {
  require_window(window);
  if (overview.device(device_id) == nullptr)
    throw Refused{{ErrorKind::usage, "the capture holds no device " + std::to_string(device_id)}};
  tell(ask, Stage::trace);
  const store::ActivityFilter filter{{}, {}, store::TimeSpan{window.start_ns, window.end_ns}};
  std::set<store::Id> processes;
  std::set<std::pair<store::Id, std::int64_t>> streams, copies;
  std::set<std::tuple<store::Id, std::int64_t, int>> ranges;
  counts_.queries += 4;
  require_whole(activity_.for_each_launch(
      filter,
      [&](const store::Launch& row) {
        ++counts_.launches;
        if (row.device_id != device_id) return;
        processes.insert(row.process_id);
        streams.emplace(row.process_id, row.stream_id);
      },
      ask.stop));
  const auto add_copy = [&](const auto& row) {
    ++counts_.copies;
    if (row.device_id == device_id) copies.emplace(row.process_id, row.stream_id);
  };
  require_whole(activity_.for_each_memcpy(filter, add_copy, ask.stop));
  require_whole(activity_.for_each_memset(filter, add_copy, ask.stop));
  require_whole(activity_.for_each_range(
      filter,
      [&](const store::NvtxRange& row) {
        ++counts_.ranges;
        ranges.emplace(row.process_id, row.thread_id, row.depth);
      },
      ask.stop));
  std::vector<TraceRow> rows;
  for (const store::Id process : processes) rows.push_back({TraceRowKind::steps, process, 0, 0, "steps"});
  for (const auto& [process, thread, depth] : ranges) {
    if (processes.contains(process))
      rows.push_back({TraceRowKind::nvtx, process, thread, depth,
                      "thread " + std::to_string(thread) + ", depth " + std::to_string(depth)});
  }
  for (const auto& [process, stream] : streams)
    rows.push_back({TraceRowKind::stream, process, stream, 0, "stream " + std::to_string(stream)});
  for (const auto& [process, stream] : copies)
    rows.push_back({TraceRowKind::copies, process, stream, 0, "copies, stream " + std::to_string(stream)});
  const bool sampled = std::any_of(overview.pm_windows.begin(), overview.pm_windows.end(),
                                   [&](const store::PmWindow& w) { return w.device_id == device_id; });
  for (const auto& [id, metric] : overview.metrics) {
    if (!sampled) break;
    const std::vector<store::PmSample>& values = samples(device_id, id);
    const auto first = std::lower_bound(
        values.begin(), values.end(), window.start_ns,
        [](const store::PmSample& sample, std::int64_t time_ns) { return sample.time_ns < time_ns; });
    if (first != values.end() && first->time_ns < window.end_ns)
      rows.push_back({TraceRowKind::counter, 0, id, 0, metric.label});
  }
  return rows;
}

Trace Tracer::trace(const Model& overview, const TraceQuery& query, const Ask& ask) {
  require_window(query.window);
  if (query.bins == 0 || query.bins > kMostTraceBins)
    throw Refused{{ErrorKind::usage,
                   std::to_string(query.bins) + " bins: ask for 1 to " + std::to_string(kMostTraceBins)}};
  tell(ask, Stage::trace);
  Trace out;
  out.query = query;
  if (query.row.kind == TraceRowKind::counter) {
    out.bins = paint_samples(samples(query.device_id, query.row.id), query.window, query.bins);
    for (const TraceBin& bin : out.bins) out.count += bin.count;
    return out;
  }
  std::vector<PaintEvent> events;
  const store::ActivityFilter filter{
      query.row.process_id, {}, store::TimeSpan{query.window.start_ns, query.window.end_ns}};
  // One event more than wanted tells that there are too many.
  const auto add = [&](store::Id id, std::int64_t start_ns, std::int64_t end_ns, auto&& name) {
    events.push_back({start_ns, end_ns, id});
    if (out.events.size() <= query.most_events) out.events.push_back({id, start_ns, end_ns, name()});
  };
  ++counts_.queries;
  switch (query.row.kind) {
    case TraceRowKind::stream:
      require_whole(activity_.for_each_launch(
          filter,
          [&](const store::Launch& row) {
            ++counts_.launches;
            if (row.device_id == query.device_id && row.stream_id == query.row.id)
              add(row.id, row.start_ns, row.end_ns, [&] { return std::string(overview.kernel_name(row)); });
          },
          ask.stop));
      break;
    case TraceRowKind::copies: {
      // Copies and memsets have ids of their own: a memset's are negative here.
      const auto mine = [&](const auto& row) {
        ++counts_.copies;
        return row.device_id == query.device_id && row.stream_id == query.row.id;
      };
      require_whole(activity_.for_each_memcpy(
          filter,
          [&](const store::Memcpy& row) {
            if (mine(row))
              add(row.id, row.start_ns, row.end_ns, [&] { return std::string(to_string(row.kind)); });
          },
          ask.stop));
      require_whole(activity_.for_each_memset(
          filter,
          [&](const store::Memset& row) {
            if (mine(row)) add(-row.id, row.start_ns, row.end_ns, [] { return std::string("memset"); });
          },
          ask.stop));
      break;
    }
    case TraceRowKind::nvtx:
      require_whole(activity_.for_each_range(
          filter,
          [&](const store::NvtxRange& row) {
            ++counts_.ranges;
            if (row.thread_id == query.row.id && row.depth == query.row.depth)
              add(row.id, row.start_ns, end_of(row),
                  [&] { return std::string(overview.string(row.name_id)); });
          },
          ask.stop));
      break;
    case TraceRowKind::steps:
      find_steps(overview, query, out, events);
      break;
    case TraceRowKind::counter:
      break;
  }
  check_stop(ask);
  out.count = static_cast<std::int64_t>(events.size());
  if (events.size() > query.most_events) out.events.clear();
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.start_ns < b.start_ns; });
  out.bins = paint_events(events, query.window, query.bins);
  return out;
}

}  // namespace ridgeline::analyzer
