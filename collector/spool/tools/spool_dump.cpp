// ridgeline-spool-dump FILE… [--kernels] [--steps] [--values] [--strings]: what a spool holds, for
// developers.
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

#include "ridgeline/spool/reader.h"
#include "ridgeline/spool/schedule.h"

namespace {

using namespace ridgeline::spool;

struct Options {
  bool kernels = false, steps = false, values = false, ranges = false;
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
    case CounterStatus::kOk:
      return "ok";
    case CounterStatus::kMismatch:
      return "mismatch";
    case CounterStatus::kFailed:
      return "failed";
    case CounterStatus::kNotAvailable:
      return "not available";
  }
  return "?";
}

double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

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
  std::map<std::uint32_t, StepBeginRecord> begins;
  std::map<std::uint32_t, StepEndRecord> ends;
  std::vector<KernelRecord> kernels;
  std::vector<CounterValueRecord> values;
  std::map<std::string, Total> ranges;
  reader->for_each([&](const RecordView& r) {
    ++by_type[static_cast<int>(r.type())];
    if (auto* f = r.as<KernelFunctionRecord>()) kernel_name[f->kernel_id] = f->name;
    if (auto* m = r.as<MetricRecord>()) metric_name[m->metric_id] = m->name;
    if (auto* l = r.as<LaunchRecord>()) launches[l->correlation_id] = *l;
    if (auto* p = r.as<NvtxPathRecord>()) paths[p->path_id] = *p;
    if (auto* b = r.as<StepBeginRecord>()) begins[b->step_index] = *b;
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
      std::printf("  counters of step %u config %u: %s, launches %u, ranges %u %s\n", s->step_index,
                  s->config_id, status_name(s->status), s->launches_expected, s->ranges_received,
                  printable(reader->string_or(s->reason, ""), 300).c_str());
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
      step_ms[b.phase].push_back(static_cast<double>(e->second.end_ns - b.begin_ns) / 1e6);
  for (const auto& [phase, ms] : step_ms)
    std::printf("  %s steps: %zu, median %.3f ms on the host\n", phase_name(phase), ms.size(), median(ms));
  if (options.steps)
    for (const auto& [index, b] : begins) {
      const auto e = ends.find(index);
      std::printf("    step %u %s: %.3f ms, %u launches, %zu kernel records\n", index, phase_name(b.phase),
                  e == ends.end() ? std::nan("") : static_cast<double>(e->second.end_ns - b.begin_ns) / 1e6,
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
      if (b == begins.end() || b->second.phase != Phase::kTimeline) continue;
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
                  median(p.duration_us), p.duration_us.size());
      if (options.values)
        for (const auto& [metric, list] : p.metrics)
          std::printf(" %s=%.6g", printable(reader->string_or(metric_name[metric], "?"), 80).c_str(),
                      median(list));
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
    else if (a.substr(0, 1) == "-") {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    } else
      files.push_back(argv[i]);
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: ridgeline-spool-dump [--kernels] [--values] [--steps] [--ranges] FILE...\n");
    return 2;
  }
  int worst = 0;
  for (const char* f : files) worst = std::max(worst, dump(f, options));
  return worst;
}
