// ridgeline-spool-dump FILE… [--kernels] [--steps] [--values] [--ranges] [--samples]: what a spool holds, for
// developers. --samples prints every periodic sample (T1) as comma-separated values, one line each.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/base/statistics.h"
#include "ridgeline/spool/reader.h"

namespace {

using namespace ridgeline;
using namespace ridgeline::spool;

struct Options {
  bool kernels = false, steps = false, values = false, ranges = false, samples = false;
};

struct Total {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};

std::string printable(std::string_view s, std::size_t limit) {
  std::string out;
  for (char c : s.substr(0, limit)) out += (c >= 32 && c < 127) ? c : (c == 0 ? ' ' : '?');
  return out;
}

const char* status_name(CounterStatus s) {
  switch (s) {
    case CounterStatus::ok:
      return "ok";
    case CounterStatus::mismatch:
      return "mismatch";
    case CounterStatus::failed:
      return "failed";
    case CounterStatus::not_available:
      return "not available";
  }
  return "?";
}

// Samples of one window as they come by.
struct Samples {
  std::map<std::uint32_t, std::uint32_t> metric_by_position;
  std::uint64_t count = 0;
  std::int64_t first_ns = 0, last_ns = 0, longest_gap_ns = 0;
  std::vector<double> sum;
  std::vector<std::uint64_t> not_evaluated;

  void add(const PmSampleRecord& sample, std::string_view bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    if (count++ == 0)
      first_ns = sample.start_ns;
    else
      longest_gap_ns = std::max(longest_gap_ns, sample.start_ns - last_ns);
    last_ns = sample.end_ns;
    if (sum.size() < values.size()) sum.resize(values.size()), not_evaluated.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i]))
        sum[i] += values[i];
      else
        ++not_evaluated[i];
  }
};

int dump(const char* path, const Options& options) {
  std::string error;
  const auto reader = Reader::open(path, &error);
  if (!reader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 3;
  }
  const FileHeader& h = reader->file_header();
  const Diagnosis& d = reader->diagnosis();
  std::printf("%s: pid %u, clock %s, agent %s, %" PRIu64 " bytes, %" PRIu64 " records, lost %" PRIu64 "\n",
              path, h.pid, h.clock, h.agent_version, d.file_bytes, d.records, h.records_lost);
  for (const auto& f : d.findings) std::printf("  damage: %s\n", f.c_str());

  std::map<int, std::uint64_t> by_type;
  std::unordered_map<std::uint32_t, StringId> kernel_name, metric_name;
  std::unordered_map<std::uint32_t, LaunchRecord> launches;
  std::unordered_map<std::uint32_t, NvtxPathRecord> paths;
  std::map<std::uint32_t, StepStartRecord> begins;
  std::map<std::uint32_t, StepEndRecord> ends;
  std::vector<KernelRecord> kernels;
  std::vector<CounterValueRecord> values;
  std::map<std::string, Total> ranges;
  std::map<std::uint32_t, Samples> windows;
  std::map<std::uint32_t, std::uint64_t> stalls;  // samples by kernel
  std::uint64_t source_lines = 0, graph_values = 0;
  std::map<std::string_view, std::uint64_t> stream_calls, memory_calls;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> graphs;  // nodes and edges, by number
  reader->for_each([&](const RecordView& r) {
    ++by_type[static_cast<int>(r.type())];
    if (auto* f = r.as<KernelFunctionRecord>(); f != nullptr && f->name != 0)
      kernel_name[f->kernel_id] = f->name;
    if (auto* m = r.as<MetricRecord>()) metric_name[m->metric_id] = m->name;
    if (auto* l = r.as<LaunchRecord>()) launches[l->correlation_id] = *l;
    if (auto* p = r.as<NvtxPathRecord>()) paths[p->path_id] = *p;
    if (auto* b = r.as<StepStartRecord>()) begins[b->step_index] = *b;
    if (auto* e = r.as<StepEndRecord>()) ends[e->step_index] = *e;
    if (auto* k = r.as<KernelRecord>()) kernels.push_back(*k);
    if (auto* v = r.as<CounterValueRecord>()) values.push_back(*v);
    if (auto* p = r.as<ProcessRecord>())
      std::printf("  process pid %u ppid %u: %s  schedule %s step '%s'\n", p->pid, p->parent_pid,
                  printable(reader->string_or(p->arguments, "?"), 200).c_str(),
                  printable(reader->string_or(p->schedule, ""), 80).c_str(),
                  printable(reader->string_or(p->step_range, ""), 80).c_str());
    if (auto* v = r.as<VersionRecord>())
      std::printf("  version of component %u: %" PRId64 " %s\n", static_cast<unsigned>(v->component),
                  v->number, printable(reader->string_or(v->text, ""), 200).c_str());
    if (auto* v = r.as<DeviceRecord>())
      std::printf(
          "  device %u: %s (%s) sm_%u%u, %u SMs, %.1f GB, L2 %.1f MB, %u bit, max %.0f/%.0f MHz, %s\n",
          v->device_id, printable(reader->string_or(v->name, "?"), 80).c_str(),
          printable(reader->string_or(v->chip_name, "?"), 80).c_str(), v->compute_capability_major,
          v->compute_capability_minor, v->sm_count, static_cast<double>(v->memory_bytes) / 1e9,
          static_cast<double>(v->l2_bytes) / 1e6, v->memory_bus_width_bits,
          static_cast<double>(v->max_sm_hz) / 1e6, static_cast<double>(v->max_memory_hz) / 1e6,
          printable(reader->string_or(v->pci_bus_id, ""), 40).c_str());
    if (auto* m = r.as<MessageRecord>())
      std::printf("  message %u/%u: %s\n", static_cast<unsigned>(m->severity),
                  static_cast<unsigned>(m->topic), printable(reader->string_or(m->text, "?"), 400).c_str());
    if (auto* c = r.as<CounterConfigRecord>())
      std::printf("  config %u %s: %u pass(es), %u metrics\n", c->config_id,
                  printable(reader->string_or(c->name, "?"), 20).c_str(), c->passes, c->metric_count);
    if (auto* s = r.as<CounterStepRecord>())
      std::printf(
          "  counters of step %u config %u: %s, launches %u, ranges %u, opened in %.0f ms, closed in %.0f ms "
          "%s\n",
          s->step_index, s->config_id, status_name(s->status), s->launches_expected, s->ranges_received,
          static_cast<double>(s->open_ns) / 1e6, static_cast<double>(s->finish_ns) / 1e6,
          printable(reader->string_or(s->reason, ""), 300).c_str());
    if (auto* w = r.as<PmWindowRecord>())
      std::printf("  sampling window %u on device %u: %s, steps %u to %u, every %" PRId64
                  " ns, %.3f ms, %" PRIu64 " samples, buffer %.0f MiB, set-up %.1f ms, decoding %.1f ms %s\n",
                  w->window_id, w->device_id, to_string(w->status).data(), w->first_step, w->last_step,
                  w->interval_ns, static_cast<double>(w->stop_ns - w->start_ns) / 1e6, w->samples,
                  static_cast<double>(w->hardware_buffer_bytes) / (1 << 20),
                  static_cast<double>(w->setup_ns) / 1e6, static_cast<double>(w->decode_ns) / 1e6,
                  printable(reader->string_or(w->reason, ""), 300).c_str());
    if (auto* m = r.as<PmMetricRecord>())
      windows[m->window_id].metric_by_position[m->position] = m->metric_id;
    if (auto* m = r.as<PmSampleRecord>()) {
      windows[m->window_id].add(*m, r.trailing_bytes());
      if (options.samples) {
        std::printf("sample,%u,%" PRId64 ",%" PRId64, m->window_id, m->start_ns, m->end_ns);
        const std::string_view bytes = r.trailing_bytes();
        for (std::size_t at = 0; at + sizeof(double) <= bytes.size(); at += sizeof(double)) {
          double value = 0;
          std::memcpy(&value, bytes.data() + at, sizeof value);
          std::printf(",%.10g", value);
        }
        std::printf("\n");
      }
    }
    if (auto* x = r.as<ReplayExclusionRecord>())
      std::printf("  kernel %u is left out of replay: reason %u\n", x->kernel_id,
                  static_cast<unsigned>(x->reason));
    if (auto* w = r.as<RecordingWindowRecord>())
      std::printf("  recording window %s at %" PRId64 ", cause %u\n",
                  w->edge == WindowEdge::open ? "opens" : "closes", w->time_ns,
                  static_cast<unsigned>(w->cause));
    if (auto* x = r.as<StallSampleRecord>()) stalls[x->kernel_id] += x->samples;
    if (r.as<SourceLineRecord>() != nullptr) ++source_lines;
    if (auto* c = r.as<StreamCallRecord>()) ++stream_calls[to_string(c->call)];
    if (auto* c = r.as<MemoryCallRecord>()) ++memory_calls[to_string(c->call)];
    if (auto* n = r.as<GraphNodeRecord>()) ++graphs[n->graph].first;
    if (auto* e = r.as<GraphEdgeRecord>()) ++graphs[e->graph].second;
    if (auto* s = r.as<StreamRecord>())
      std::printf("  stream %u of context %u: %s, priority %d\n", s->stream_id, s->context_id,
                  to_string(s->kind).data(), s->priority);
    if (auto* l = r.as<LeftOutRecord>())
      std::printf("  left out so far: %" PRIu64 " %s\n", l->count, to_string(l->what).data());
    if (r.as<GraphCounterValueRecord>() != nullptr) ++graph_values;
    if (auto* c = r.as<CompletenessRecord>())
      std::printf("  completeness: launches %" PRIu64 " (graph %" PRIu64 ", failed %" PRIu64
                  ", captured %" PRIu64 ") kernels %" PRIu64 " (graph %" PRIu64 ", own %" PRIu64
                  ") memcpy %" PRIu64 " memset %" PRIu64 " dropped %" PRIu64 " zero %" PRIu64
                  " buffers %" PRIu64 " refused %" PRIu64 " unknown %" PRIu64 " spool lost %" PRIu64
                  " nvtx unbalanced %" PRIu64 " errors %" PRIu64 "\n",
                  c->launches_seen, c->graph_launches_seen, c->launches_failed, c->launches_captured,
                  c->kernel_records, c->graph_kernel_records, c->own_kernel_records, c->memcpy_records,
                  c->memset_records, c->dropped_records, c->zero_timestamp_records, c->buffers_completed,
                  c->buffers_refused, c->unknown_records, c->spool_records_lost, c->nvtx_unbalanced,
                  c->callback_errors);
    if (auto* p = r.as<ClockPairRecord>())
      std::printf("  clocks: cupti - realtime %" PRId64 " ns\n", p->cupti_ns - p->realtime_ns);
    if (auto* e = r.as<EndRecord>()) std::printf("  end: reason %u\n", static_cast<unsigned>(e->reason));
    if (auto* n = r.as<NvtxRangeRecord>()) {
      std::string name = "?";
      if (auto it = paths.find(n->path_id); it != paths.end())
        name = printable(reader->string_or(it->second.name, "?"), 60);
      Total& t = ranges[name];
      ++t.count;
      t.total_ns += n->end_ns - n->start_ns;
    }
  });
  for (const auto& [id, w] : windows) {
    std::printf("  samples of window %u: %" PRIu64 " over %.3f ms, longest gap %" PRId64 " ns\n", id, w.count,
                static_cast<double>(w.last_ns - w.first_ns) / 1e6, w.longest_gap_ns);
    for (std::size_t i = 0; i < w.sum.size(); ++i) {
      const auto metric = w.metric_by_position.find(static_cast<std::uint32_t>(i));
      const std::uint64_t evaluated = w.count - w.not_evaluated[i];
      std::printf("    %-70s mean %.6g, %" PRIu64 " not evaluated\n",
                  metric == w.metric_by_position.end()
                      ? "?"
                      : printable(reader->string_or(metric_name[metric->second], "?"), 100).c_str(),
                  evaluated == 0 ? std::nan("") : w.sum[i] / static_cast<double>(evaluated),
                  w.not_evaluated[i]);
    }
  }
  for (const auto& [kernel, samples] : stalls)
    std::printf("  stalls of kernel %u %-50s %" PRIu64 " samples\n", kernel,
                printable(reader->string_or(kernel_name[kernel], "?"), 50).c_str(), samples);
  if (source_lines + graph_values > 0)
    std::printf("  source lines %" PRIu64 ", counters of graphs %" PRIu64 "\n", source_lines, graph_values);
  for (const auto* calls : {&stream_calls, &memory_calls})
    for (const auto& [call, count] : *calls) std::printf("  %s: %" PRIu64 "\n", call.data(), count);
  for (const auto& [number, of] : graphs)
    std::printf("  graph %u: %" PRIu64 " nodes, %" PRIu64 " edges\n", number, of.first, of.second);
  std::printf("  records by type:");
  for (const auto& [type, count] : by_type) std::printf(" %d:%" PRIu64, type, count);
  std::printf("\n");

  std::sort(kernels.begin(), kernels.end(), [](auto& a, auto& b) { return a.start_ns < b.start_ns; });
  std::uint64_t orphans = 0, zero = 0;
  std::set<std::uint32_t> recorded;
  std::map<std::uint32_t, std::vector<const KernelRecord*>> of_step;
  for (const auto& k : kernels) {
    recorded.insert(k.correlation_id);
    if (k.header.flags & kZeroTimestamp) ++zero;
    const auto it = launches.find(k.correlation_id);
    if (it == launches.end())
      ++orphans;
    else if (it->second.step_index != kNoStep)
      of_step[it->second.step_index].push_back(&k);
  }
  std::uint64_t without_kernel = 0;
  for (const auto& [id, l] : launches)
    if (!(l.header.flags & (kLaunchIsGraph | kLaunchFailed | kLaunchCaptured)) && !recorded.count(id))
      ++without_kernel;
  std::printf("  kernels %zu, launches %zu; kernels without launch %" PRIu64
              ", launches without kernel %" PRIu64 ", zero timestamps %" PRIu64 "\n",
              kernels.size(), launches.size(), orphans, without_kernel, zero);

  std::map<Phase, std::vector<double>> step_ms;
  for (const auto& [index, b] : begins)
    if (auto e = ends.find(index); e != ends.end())
      step_ms[b.phase].push_back(static_cast<double>(e->second.end_ns - b.start_ns) / 1e6);
  for (const auto& [phase, ms] : step_ms)
    std::printf("  %s steps: %zu, median %.3f ms on the host\n", to_string(phase).data(), ms.size(),
                upper_median(ms));
  if (options.steps)
    for (const auto& [index, b] : begins) {
      const auto e = ends.find(index);
      std::printf("    step %u %s: %.3f ms, %u launches, %zu kernel records\n", index,
                  to_string(b.phase).data(),
                  e == ends.end() ? std::nan("") : static_cast<double>(e->second.end_ns - b.start_ns) / 1e6,
                  e == ends.end() ? 0 : e->second.launches_seen, of_step[index].size());
    }
  if (options.ranges)
    for (const auto& [name, t] : ranges)
      std::printf("    range %-40s n=%" PRIu64 " mean %.3f us\n", name.c_str(), t.count,
                  static_cast<double>(t.total_ns) / 1e3 / static_cast<double>(t.count));

  // (ordinal, kernel) over the timeline steps: duration; over the replay steps: counters.
  struct Position {
    std::vector<double> duration_us;
    std::map<std::uint32_t, std::vector<double>> metrics;
  };
  if (options.kernels || options.values) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Position> positions;
    for (const auto& [step, list] : of_step) {
      const auto b = begins.find(step);
      if (b == begins.end() || b->second.phase != Phase::timeline) continue;
      for (const KernelRecord* k : list)
        positions[{launches[k->correlation_id].step_ordinal, k->kernel_id}].duration_us.push_back(
            static_cast<double>(k->end_ns - k->start_ns) / 1e3);
    }
    for (const auto& v : values)
      positions[{v.step_ordinal, v.kernel_id}].metrics[v.metric_id].push_back(v.value);
    int printed = 0;
    for (const auto& [key, p] : positions) {
      if (++printed > 60) break;
      std::printf("    #%u %-50s T0 median %.3f us (n=%zu)", key.first,
                  printable(reader->string_or(kernel_name[key.second], "?"), 50).c_str(),
                  upper_median(p.duration_us), p.duration_us.size());
      if (options.values)
        for (const auto& [metric, list] : p.metrics)
          std::printf(" %s=%.6g", printable(reader->string_or(metric_name[metric], "?"), 80).c_str(),
                      upper_median(list));
      std::printf("\n");
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<const char*> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--kernels")
      options.kernels = true;
    else if (a == "--steps")
      options.steps = true;
    else if (a == "--values")
      options.values = true;
    else if (a == "--ranges")
      options.ranges = true;
    else if (a == "--samples")
      options.samples = true;
    else if (a.substr(0, 1) == "-") {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    } else
      files.push_back(argv[i]);
  }
  if (files.empty()) {
    std::fprintf(
        stderr,
        "usage: ridgeline-spool-dump [--kernels] [--values] [--steps] [--ranges] [--samples] FILE...\n");
    return 2;
  }
  int worst = 0;
  for (const char* f : files) worst = std::max(worst, dump(f, options));
  return worst;
}
