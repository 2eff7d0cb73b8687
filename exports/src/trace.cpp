// trace.cpp: the rows of a capture, through the selection, to a writer of traces.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "chrome.h"
#include "names.h"
#include "perfetto.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "ridgeline/exports/export.h"
#include "ridgeline/store/activity.h"
#include "throughputs.h"
#include "trace_writer.h"

namespace ridgeline::exports {
namespace {

using analyzer::RangePattern;

std::string_view copy_words(CopyKind kind) {
  switch (kind) {
    case CopyKind::host_to_device:
      return "Memcpy HtoD";
    case CopyKind::device_to_host:
      return "Memcpy DtoH";
    case CopyKind::device_to_device:
      return "Memcpy DtoD";
    case CopyKind::peer_to_peer:
      return "Memcpy PtoP";
    case CopyKind::host_to_host:
      return "Memcpy HtoH";
    case CopyKind::unknown:
      break;
  }
  return "Memcpy";
}

// A call of the host, and what it launched.
using CallKey = std::tuple<Id, std::int64_t, std::int64_t, std::int64_t>;  // process, thread, start, end

class Exporter {
 public:
  Exporter(const store::Capture& capture, const ExportSelection& selection, const std::stop_token& stop)
      : capture_(capture),
        activity_(capture),
        selection_(selection),
        names_(selection.strip),
        pattern_(selection.range),
        stop_(stop) {}

  // Failure: nothing is selected.
  Result<void> prepare() {
    for (const store::Step& step : capture_.steps()) {
      if (!selection_.steps) break;
      if (step.step_index < selection_.steps->first || step.step_index > selection_.steps->second) continue;
      if (!filter_.step_ids) filter_.step_ids.emplace();
      filter_.step_ids->push_back(step.id);
    }
    if (selection_.steps && !filter_.step_ids)
      return Failure{ErrorKind::no_data, "the recording has no step from " +
                                             std::to_string(selection_.steps->first) + " to " +
                                             std::to_string(selection_.steps->second)};
    strings_ = capture_.strings();
    for (const store::Process& process : capture_.processes())
      process_place_.emplace(process.id, process_place_.size());
    devices_ = capture_.devices();
    for (const store::Device& device : devices_) device_of_[device.id] = &device;
    read_kernels();
    if (!read_launches()) return Failure{ErrorKind::cancelled, "stopped while reading launches"};
    if (launches_.empty() && !selection_.range.empty())
      return Failure{ErrorKind::no_data, "nothing was launched in a range '" + selection_.range + "'"};
    list_counters();
    return {};
  }

  [[nodiscard]] std::int64_t first_ns() const { return first_ns_ == INT64_MAX ? 0 : first_ns_; }

  Result<ExportCounts> write(TraceWriter& writer) {
    writer.begin(processes(), threads(), devices_, kernels_, counters_);
    const bool whole = write_ranges(writer) && write_waits(writer) && write_copies(writer);
    if (!whole) return Failure{ErrorKind::cancelled, "stopped before the end"};
    write_calls(writer);
    write_launches(writer);
    if (!write_launch_counters(writer)) return Failure{ErrorKind::cancelled, "stopped before the end"};
    write_samples(writer);
    writer.end();
    return counts_;
  }

 private:
  struct Kept {
    store::LaunchRow row;
    const store::Launch* site = nullptr;
    bool has_flow = false;
    std::size_t first_of_call = 0;  // in launches_
  };

  [[nodiscard]] std::string_view string_of(std::optional<Id> id) const {
    if (!id) return "";
    const auto found = strings_.find(*id);
    return found == strings_.end() ? std::string_view() : std::string_view(found->second);
  }

  // Whether what was launched in that path is selected.
  [[nodiscard]] bool in_range(std::optional<Id> path_id) {
    if (selection_.range.empty()) return true;
    if (!path_id) return false;
    const auto [known, added] = path_selected_.try_emplace(*path_id, false);
    if (added) known->second = pattern_.holds(string_of(path_id));
    return known->second;
  }

  [[nodiscard]] bool in_time(std::int64_t ns) const {
    const bool cut = selection_.steps || !selection_.range.empty();
    return !cut || (ns >= first_ns_ && ns <= last_ns_);
  }

  void note(std::int64_t start_ns, std::int64_t end_ns) {
    first_ns_ = std::min(first_ns_, start_ns);
    last_ns_ = std::max(last_ns_, end_ns);
  }

  void read_kernels() {
    for (const store::Kernel& kernel : capture_.kernels()) {
      kernel_place_[kernel.id] = kernels_.size();
      kernels_.push_back({kernel.id, names_.of("kernel", kernel.demangled_name),
                          names_.stripped() ? "" : kernel.mangled_name});
    }
  }

  bool read_launches() {
    return activity_.for_each_launch_row(
        filter_, store::LaunchColumns::all,
        [&](const store::LaunchRow& row) {
          auto& site = sites_[row.site_id];
          if (!site) site = std::make_unique<store::Launch>(activity_.launch_site(row.site_id));
          if (!in_range(site->nvtx_path_id)) return;
          if (row.start_ns <= 0 || row.end_ns < row.start_ns) {
            ++counts_.without_time;
            return;
          }
          note(row.start_ns, row.end_ns);
          Kept kept{row, site.get(), false, launches_.size()};
          if (row.host_start_ns && row.host_end_ns && site->thread_id &&
              *row.host_end_ns >= *row.host_start_ns) {
            kept.has_flow = true;
            note(*row.host_start_ns, *row.host_end_ns);
            auto& of_call =
                calls_[{site->process_id, *site->thread_id, *row.host_start_ns, *row.host_end_ns}];
            of_call.push_back(launches_.size());
            kept.first_of_call = of_call.front();
          }
          launch_place_[row.id] = launches_.size();
          launches_.push_back(kept);
        },
        stop_);
  }

  void list_counters() {
    std::uint32_t next = 1;
    std::map<std::string, std::uint32_t> by_name;
    const std::vector<store::PmWindow> windows = capture_.pm_windows();
    for (const store::Metric& metric : capture_.metrics()) {
      metric_counter_[metric.id] = by_name[metric.name] = next;
      counters_.push_back({next++, metric.name, metric.unit,
                           metric.label +
                               ", of each launch it was measured of (T1 sampled, T2 counted in replay, T3 "
                               "with cold caches); 0 between launches",
                           true});
      if (windows.empty()) continue;
      metric_sample_[metric.id] = next;
      counters_.push_back(
          {next++, metric.name + " (sampled)", metric.unit, metric.label + ", periodic samples (T1)", false});
    }
    // A counter that the capture has under that name is the same track.
    throughputs_ = throughputs(capture_, stop_);
    for (TraceCounter& counter : throughputs_.counters) {
      const auto known = by_name.find(counter.name);
      counter.id = known == by_name.end() ? next++ : known->second;
      if (known == by_name.end()) counters_.push_back(counter);
    }
  }

  [[nodiscard]] std::vector<TraceProcess> processes() const {
    std::vector<TraceProcess> list;
    for (const store::Process& process : capture_.processes()) {
      std::string name = process.rank ? "rank " + std::to_string(*process.rank) : "";
      if (process.command && !names_.stripped())
        name.append(name.empty() ? "" : ": ").append(*process.command);
      if (name.empty()) name = "process " + std::to_string(process.pid);
      list.push_back({process.id, process.pid, name});
    }
    return list;
  }

  [[nodiscard]] std::vector<TraceThread> threads() const {
    std::vector<TraceThread> list;
    for (const store::Thread& thread : capture_.threads())
      list.push_back({thread.process_id, thread.thread_id, names_.of("thread", thread.name)});
    return list;
  }

  bool write_ranges(TraceWriter& writer) {
    return activity_.for_each_range(
        filter_,
        [&](const store::NvtxRange& range) {
          if (!range.end_ns || *range.end_ns < range.start_ns || !in_range(range.path_id)) return;
          ++counts_.ranges;
          writer.host({.kind = HostEvent::Kind::range,
                       .process_id = range.process_id,
                       .thread_id = range.thread_id,
                       .depth = range.depth,
                       .start_ns = range.start_ns,
                       .end_ns = *range.end_ns,
                       .name = names_.of("range", string_of(range.name_id))});
        },
        stop_);
  }

  bool write_waits(TraceWriter& writer) {
    for (const store::Process& process : capture_.processes()) {
      for (const store::Synchronisation& wait :
           capture_.synchronisations(process.id, INT64_MIN / 2, INT64_MAX / 2)) {
        if (!in_time(wait.start_ns)) continue;
        ++counts_.waits;
        writer.host({.kind = HostEvent::Kind::wait,
                     .process_id = process.id,
                     .thread_id = wait.thread_id,
                     .start_ns = wait.start_ns,
                     .end_ns = wait.end_ns(),
                     .name = std::string(to_string(wait.call))});
      }
      if (stop_.stop_requested()) return false;
    }
    return true;
  }

  bool write_copies(TraceWriter& writer) {
    const auto put = [&](const auto& copy, DeviceEvent::Kind kind, std::uint64_t place,
                         std::string_view name) {
      if (copy.start_ns <= 0 || copy.end_ns < copy.start_ns || !in_range(copy.nvtx_path_id)) return;
      ++counts_.copies;
      DeviceEvent event;
      event.kind = kind;
      event.id = static_cast<std::uint64_t>(copy.id) * 4 + place;
      event.call_id = call_id(copy.process_id, copy.correlation_id, event.id);
      event.process_id = copy.process_id;
      event.device_id = copy.device_id;
      event.context_id = copy.context_id;
      event.stream_id = copy.stream_id;
      event.start_ns = copy.start_ns;
      event.end_ns = copy.end_ns;
      event.name = name;
      event.bytes = copy.bytes;
      writer.device(event);
    };
    return activity_.for_each_memcpy(
               filter_,
               [&](const store::Memcpy& copy) {
                 put(copy, DeviceEvent::Kind::copy, 1, copy_words(copy.kind));
               },
               stop_) &&
           activity_.for_each_memset(
               filter_, [&](const store::Memset& set) { put(set, DeviceEvent::Kind::memset, 2, "Memset"); },
               stop_);
  }

  static std::uint64_t event_id(const Kept& kept) { return static_cast<std::uint64_t>(kept.row.id) * 4 + 3; }

  // Who reads the trace takes the order of these for that of the calls, which says of which step a copy is.
  [[nodiscard]] std::uint64_t call_id(Id process, std::int64_t correlation_id, std::uint64_t own_id) const {
    constexpr int kBitsOfCorrelation = 32;
    const auto place = process_place_.find(process);
    if (correlation_id <= 0 || correlation_id >> kBitsOfCorrelation != 0 || place == process_place_.end())
      return own_id;
    return place->second << kBitsOfCorrelation | static_cast<std::uint64_t>(correlation_id);
  }
  [[nodiscard]] std::uint64_t call_id_of(const Kept& kept) const {
    return call_id(kept.site->process_id, kept.row.correlation_id, event_id(launches_[kept.first_of_call]));
  }

  [[nodiscard]] const TraceKernel* kernel_of(const store::Launch& site) const {
    static const TraceKernel kUnknown{0, "?", ""};
    const auto place = kernel_place_.find(site.kernel_id);
    return place == kernel_place_.end() ? &kUnknown : &kernels_[place->second];
  }

  // In order of time for each thread, which the map is in.
  void write_calls(TraceWriter& writer) {
    for (const auto& [key, launched] : calls_) {
      const auto& [process, thread, start_ns, end_ns] = key;
      const store::Launch& site = *launches_[launched.front()].site;
      HostEvent call{.kind = HostEvent::Kind::call,
                     .process_id = process,
                     .thread_id = thread,
                     .start_ns = start_ns,
                     .end_ns = end_ns,
                     .name = site.graph_id ? "launch of a CUDA graph" : "launch of " + kernel_of(site)->name,
                     .graph = site.graph_id.has_value()};
      for (const std::size_t place : launched) call.launched.push_back(event_id(launches_[place]));
      call.call_id = call_id_of(launches_[launched.front()]);
      counts_.flows += static_cast<std::int64_t>(launched.size());
      ++counts_.calls;
      writer.host(call);
    }
  }

  void write_launches(TraceWriter& writer) {
    std::vector<const Kept*> in_order;
    in_order.reserve(launches_.size());
    for (const Kept& kept : launches_) in_order.push_back(&kept);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Kept* a, const Kept* b) { return a->row.start_ns < b->row.start_ns; });
    std::unordered_map<const store::Launch*, std::optional<analyzer::LaunchShape>> shapes;
    for (const Kept* kept : in_order) {
      const store::Launch& site = *kept->site;
      const auto [shape, added] = shapes.try_emplace(&site);
      const auto device = device_of_.find(site.device_id);
      if (added && device != device_of_.end()) shape->second = analyzer::launch_shape(*device->second, site);
      DeviceEvent event;
      event.id = event_id(*kept);
      event.call_id = call_id_of(*kept);
      event.process_id = site.process_id;
      event.device_id = site.device_id;
      event.context_id = site.context_id;
      event.stream_id = site.stream_id;
      event.start_ns = kept->row.start_ns;
      event.end_ns = kept->row.end_ns;
      event.kernel = kernel_of(site);
      event.site = &site;
      if (shape->second) {
        event.waves = shape->second->waves;
        event.occupancy_ratio = shape->second->occupancy_ratio;
      }
      event.has_flow = kept->has_flow;
      ++counts_.kernels;
      counts_.kernel_time_ns += event.end_ns - event.start_ns;
      writer.device(event);
    }
  }

  // What was measured of a launch itself goes before what is joined to it.
  void add_throughputs(std::map<std::size_t, std::vector<CounterValue>>& of_launch) {
    for (const auto& [launch, joined] : throughputs_.of_launch) {
      const auto place = launch_place_.find(launch);
      if (place == launch_place_.end()) continue;
      std::vector<CounterValue>& values = of_launch[place->second];
      for (const auto& [counter, value] : joined) {
        const std::uint32_t id = throughputs_.counters[counter].id;
        const bool measured =
            std::any_of(values.begin(), values.end(), [&](const CounterValue& v) { return v.counter == id; });
        if (measured) continue;
        values.push_back({id, value});
        ++counts_.joined_counters;
      }
    }
  }

  bool write_launch_counters(TraceWriter& writer) {
    std::map<std::size_t, std::vector<CounterValue>> of_launch;
    const bool whole = activity_.for_each_launch_metric(
        filter_,
        [&](const store::LaunchMetric& metric) {
          const auto launch = launch_place_.find(metric.launch_id);
          const auto counter = metric_counter_.find(metric.metric_id);
          if (launch == launch_place_.end() || counter == metric_counter_.end()) return;
          of_launch[launch->second].push_back({counter->second, metric.value});
        },
        stop_);
    for (const auto& [place, values] : of_launch)
      counts_.launch_counters += static_cast<std::int64_t>(values.size());
    add_throughputs(of_launch);
    for (const auto& [place, values] : of_launch) {
      const Kept& kept = launches_[place];
      writer.launch_counters(kept.site->device_id, kept.row.start_ns, kept.row.end_ns, values);
    }
    return whole;
  }

  void write_samples(TraceWriter& writer) {
    for (const store::Device& device : devices_) {
      for (const auto& [metric, counter] : metric_sample_) {
        for (const store::PmSample& sample : capture_.pm_samples(device.id, metric)) {
          if (!in_time(sample.time_ns)) continue;
          ++counts_.samples;
          writer.sample(device.id, sample.time_ns, {counter, sample.value});
        }
      }
    }
  }

  const store::Capture& capture_;
  store::Activity activity_;
  const ExportSelection& selection_;
  Names names_;
  RangePattern pattern_;
  std::stop_token stop_;
  store::ActivityFilter filter_;
  std::map<Id, std::string> strings_;
  std::map<Id, bool> path_selected_;
  std::vector<store::Device> devices_;
  std::map<Id, const store::Device*> device_of_;
  std::map<Id, std::uint64_t> process_place_;  // in the capture, from 0
  std::vector<TraceKernel> kernels_;
  std::unordered_map<Id, std::size_t> kernel_place_;
  std::unordered_map<Id, std::unique_ptr<store::Launch>> sites_;
  std::vector<Kept> launches_;
  std::unordered_map<Id, std::size_t> launch_place_;
  std::map<CallKey, std::vector<std::size_t>> calls_;
  std::vector<TraceCounter> counters_;
  std::map<Id, std::uint32_t> metric_counter_, metric_sample_;
  Throughputs throughputs_;
  ExportCounts counts_;
  std::int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

}  // namespace

Result<ExportCounts> export_trace(const store::Capture& capture, TraceFormat format,
                                  const ExportSelection& selection, const Sink& out,
                                  const std::stop_token& stop) {
  Exporter exporter(capture, selection, stop);
  if (const Result<void> prepared = exporter.prepare(); !prepared) return prepared.failure();
  if (format == TraceFormat::chrome) {
    // A microsecond before: a time of 0 is one that was not recorded, for readers of such traces.
    ChromeWriter writer(out, std::max<std::int64_t>(exporter.first_ns() - 1000, 0));
    return exporter.write(writer);
  }
  PerfettoWriter writer(out);
  return exporter.write(writer);
}

}  // namespace ridgeline::exports
