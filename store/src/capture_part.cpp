#include "ridgeline/store/capture_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/interventions.h"
#include "ridgeline/store/order.h"

namespace ridgeline::store {
namespace {

// Steps of these phases say what kernels do, whichever step somebody looks at.
bool phase_measures(Phase phase) {
  return phase != Phase::warmup && phase != Phase::timeline && phase != Phase::after;
}

bool overlaps(const TimeSpan& time, std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns < time.end_ns && std::max(end_ns, start_ns + 1) > time.start_ns;
}

class PartWriter {
 public:
  PartWriter(const Capture& whole, const TimeSpan& time, CaptureWriter& out, const std::stop_token& stop)
      : whole_(whole),
        activity_(whole),
        order_(whole),
        time_(time),
        out_(out),
        stop_(stop),
        strings_(whole.strings()) {
    for (const Kernel& kernel : whole.kernels()) kernels_[kernel.id] = kernel;
    for (const Metric& metric : whole.metrics()) metrics_[metric.id] = metric;
  }

  Result<CapturePart> write() {
    write_recording();
    write_steps();
    const bool all = write_ranges() && write_launches() && write_copies();
    if (!all || stop_.stop_requested())
      return Failure{ErrorKind::cancelled, "writing the part was cancelled"};
    if (!ran_) return Failure{ErrorKind::no_data, "no kernel ran in that time"};
    write_collectives();
    write_waits();
    write_order();
    write_samples();
    write_statuses();
    out_.finish();
    return part_;
  }

 private:
  using Ids = std::unordered_map<Id, Id>;  // of the whole, and what they are in the part

  static std::optional<Id> found(const Ids& ids, const std::optional<Id>& id) {
    if (!id) return std::nullopt;
    const auto at = ids.find(*id);
    return at == ids.end() ? std::nullopt : std::optional(at->second);
  }
  template <typename Rows>
  static const auto& row_of(const Rows& rows, Id id) {
    const auto at = rows.find(id);
    if (at == rows.end())
      throw Error(ErrorKind::corrupt, fmt::format("a row refers to id {}, which is not there", id));
    return at->second;
  }
  Id string(Id id) { return out_.string_id(row_of(strings_, id)); }
  std::optional<Id> string(const std::optional<Id>& id) {
    return id ? std::optional(string(*id)) : std::nullopt;
  }
  Id kernel(Id id) {
    const Kernel& row = row_of(kernels_, id);
    return row.mangled_name.empty() ? out_.demangled_kernel_id(row.demangled_name, row.code_hash)
                                    : out_.kernel_id(row.mangled_name, row.code_hash);
  }
  Id metric(Id id) {
    const Metric& row = row_of(metrics_, id);
    return out_.metric_id(row.name, row.unit, row.meaning);
  }

  // What is of the whole recording.
  void write_recording() {
    if (whole_.has_run()) out_.set_run(whole_.run());
    for (const auto& [name, value] : whole_.environment()) out_.add_environment(name, value);
    for (const auto& [component, version] : whole_.versions()) out_.add_version(component, version);
    for (const Process& process : whole_.processes()) processes_[process.id] = out_.add(process);
    for (const auto& [process, host] : order_.hosts()) out_.set_host(row_of(processes_, process), host);
    for (const Device& device : whole_.devices()) devices_[device.id] = out_.add(device);
    for (DevicePeak peak : whole_.device_peaks()) {
      peak.device_id = row_of(devices_, peak.device_id);
      out_.add(peak);
    }
    for (Ceiling ceiling : whole_.ceilings()) {
      ceiling.device_id = row_of(devices_, ceiling.device_id);
      out_.add(ceiling);
    }
    for (ClockSample sample : whole_.clock_samples()) {
      sample.device_id = row_of(devices_, sample.device_id);
      out_.add(sample);
    }
    for (const CounterConfiguration& configuration : whole_.counter_configurations())
      configurations_[configuration.id] = out_.add(configuration);
    for (Thread thread : whole_.threads()) {
      thread.process_id = row_of(processes_, thread.process_id);
      out_.add(thread);
    }
    for (RecordingWindow window : whole_.recording_windows()) {
      window.process_id = row_of(processes_, window.process_id);
      out_.add(window);
    }
  }

  void write_steps() {
    for (Step step : whole_.steps()) {
      ++part_.steps_of_whole;
      const bool touched =
          (step.gpu_start_ns && step.gpu_end_ns && overlaps(time_, *step.gpu_start_ns, *step.gpu_end_ns)) ||
          (step.host_start_ns && step.host_end_ns && overlaps(time_, *step.host_start_ns, *step.host_end_ns));
      if (!touched && !phase_measures(step.phase)) continue;
      ++part_.steps;
      const Id id = step.id;
      if (touched) touched_.insert(id);
      step.process_id = row_of(processes_, step.process_id);
      step.configuration_id = found(configurations_, step.configuration_id);
      steps_[id] = out_.add(step);
    }
  }

  [[nodiscard]] bool kept(const std::optional<Id>& step_id, std::int64_t start_ns,
                          std::int64_t end_ns) const {
    return step_id ? steps_.contains(*step_id) : overlaps(time_, start_ns, end_ns);
  }

  bool write_ranges() {
    const bool all = activity_.for_each_range(
        {},
        [&](const NvtxRange& range) {
          if (!kept(range.step_id, range.start_ns, range.end_ns.value_or(time_.end_ns))) return;
          NvtxRange row = range;
          row.process_id = row_of(processes_, range.process_id);
          row.parent_id = found(ranges_, range.parent_id);
          row.name_id = string(range.name_id);
          row.path_id = string(range.path_id);
          row.domain_id = string(range.domain_id);
          row.step_id = found(steps_, range.step_id);
          ranges_[range.id] = out_.add(row);
        },
        stop_);
    return all && activity_.for_each_annotation(
                      {},
                      [&](const Annotation& work) {
                        const auto range = ranges_.find(work.nvtx_range_id);
                        if (range == ranges_.end()) return;
                        Annotation row = work;
                        row.nvtx_range_id = range->second;
                        out_.add(row);
                      },
                      stop_);
  }

  bool write_launches() {
    const bool all = activity_.for_each_launch(
        {},
        [&](const Launch& launch) {
          ++part_.launches_of_whole;
          if (!kept(launch.step_id, launch.start_ns, launch.end_ns)) return;
          ++part_.launches;
          ran_ = ran_ || (launch.step_id ? touched_.contains(*launch.step_id) : true);
          ++(launch.graph_node_id ? kept_of_graphs_ : kept_alone_)[launch.process_id];
          Launch row = launch;
          row.process_id = row_of(processes_, launch.process_id);
          row.device_id = row_of(devices_, launch.device_id);
          row.kernel_id = kernel(launch.kernel_id);
          row.step_id = found(steps_, launch.step_id);
          row.nvtx_path_id = string(launch.nvtx_path_id);
          launches_[launch.id] = out_.add(row);
        },
        stop_);
    return all && activity_.for_each_launch_metric(
                      {},
                      [&](const LaunchMetric& value) {
                        const auto launch = launches_.find(value.launch_id);
                        if (launch == launches_.end()) return;
                        LaunchMetric row = value;
                        row.launch_id = launch->second;
                        row.metric_id = metric(value.metric_id);
                        out_.add(row);
                      },
                      stop_);
  }

  template <typename Copy>
  void write_copy(const Copy& copy) {
    if (!kept(copy.step_id, copy.start_ns, copy.end_ns)) return;
    Copy row = copy;
    row.process_id = row_of(processes_, copy.process_id);
    row.device_id = row_of(devices_, copy.device_id);
    row.step_id = found(steps_, copy.step_id);
    row.nvtx_path_id = string(copy.nvtx_path_id);
    if constexpr (std::is_same_v<Copy, Memcpy>) {
      copies_[copy.id] = out_.add(row);
    } else {
      out_.add(row);
    }
  }
  bool write_copies() {
    return activity_.for_each_memcpy(
               {}, [&](const Memcpy& copy) { write_copy(copy); }, stop_) &&
           activity_.for_each_memset(
               {}, [&](const Memset& set) { write_copy(set); }, stop_);
  }

  void write_collectives() {
    Ids groups;
    for (Communicator group : communicators(whole_)) {
      group.process_id = row_of(processes_, group.process_id);
      groups[group.id] = out_.add(group);
    }
    for (Collective call : collectives(whole_)) {
      const auto launch = launches_.find(call.launch_id);
      if (launch == launches_.end()) continue;
      call.launch_id = launch->second;
      call.communicator_id = found(groups, call.communicator_id);
      out_.add(call);
    }
    Ids first_of;  // of each call, its first copy that is kept
    for (CopiedCollective copied : copied_collectives(whole_)) {
      const auto copy = copies_.find(copied.copy_id);
      if (copy == copies_.end()) continue;
      copied.first_copy_id = first_of.try_emplace(copied.first_copy_id, copy->second).first->second;
      copied.copy_id = copy->second;
      copied.communicator_id = found(groups, copied.communicator_id);
      out_.add(copied);
    }
  }

  void write_waits() {
    for (const auto& [id, process] : processes_) {
      for (Synchronisation wait : whole_.synchronisations(id, INT64_MIN / 2, INT64_MAX / 2)) {
        if (!kept(wait.step_id, wait.start_ns, wait.end_ns())) continue;
        wait.process_id = process;
        wait.step_id = found(steps_, wait.step_id);
        out_.add(wait);
      }
    }
  }

  void write_order() {
    for (const auto& [id, process] : processes_) {
      const auto add = [&, process = process](auto rows) {
        for (auto& row : rows) {
          row.process_id = process;
          out_.add(row);
        }
      };
      add(order_.streams(id));
      add(order_.graph_nodes(id));
      add(order_.graph_edges(id));
      std::set<std::int64_t> sources;  // records that a kept wait is for
      const std::vector<OrderingCall> calls = order_.calls(id);
      for (const OrderingCall& call : calls) {
        if (call.source_id && kept(call.step_id, call.time_ns, call.time_ns)) sources.insert(*call.source_id);
      }
      for (OrderingCall call : calls) {
        if (!kept(call.step_id, call.time_ns, call.time_ns) && !sources.contains(call.correlation_id))
          continue;
        call.process_id = process;
        call.step_id = found(steps_, call.step_id);
        out_.add(call);
      }
      // How much there is at a time follows from all that came before.
      for (MemoryUse use : order_.memory(id)) {
        use.process_id = process;
        use.device_id = row_of(devices_, use.device_id);
        use.step_id = found(steps_, use.step_id);
        out_.add(use);
      }
    }
    for (LeftOutCount row : order_.left_out()) {
      row.process_id = row_of(processes_, row.process_id);
      out_.add(row);
    }
  }

  // In-situ samples and those of program counters are of steps that are kept whole.
  void write_samples() {
    for (PmWindow window : whole_.pm_windows()) {
      window.process_id = row_of(processes_, window.process_id);
      window.device_id = row_of(devices_, window.device_id);
      out_.add(window);
    }
    for (const auto& [device, new_device] : devices_) {
      for (const auto& [id, row] : metrics_) {
        for (PmSample sample : whole_.pm_samples(device, id)) {
          sample.device_id = new_device;
          sample.metric_id = metric(id);
          out_.add(sample);
        }
      }
    }
    for (GraphMetric value : whole_.graph_metrics()) {
      if (!steps_.contains(value.step_id)) continue;
      value.step_id = row_of(steps_, value.step_id);
      value.metric_id = metric(value.metric_id);
      out_.add(value);
    }
    for (Intervention delay : interventions(whole_)) {
      if (!steps_.contains(delay.step_id)) continue;
      delay.process_id = row_of(processes_, delay.process_id);
      delay.step_id = row_of(steps_, delay.step_id);
      delay.kernel_id = kernel(delay.kernel_id);
      out_.add(delay);
    }
    for (StallWindow window : whole_.stall_windows()) {
      window.process_id = row_of(processes_, window.process_id);
      window.device_id = row_of(devices_, window.device_id);
      out_.add(window);
    }
    for (StallSample sample : whole_.stall_samples()) {
      sample.kernel_id = kernel(sample.kernel_id);
      out_.add(sample);
    }
    for (SourceLine line : whole_.source_lines()) {
      line.kernel_id = kernel(line.kernel_id);
      line.file_id = string(line.file_id);
      out_.add(line);
    }
  }

  void write_statuses() {
    for (Completeness row : whole_.completeness()) {
      // What is missing of the recording is missing of the part; what it holds is counted anew.
      const std::int64_t missing = row.launches_seen - row.kernel_records;
      row.kernel_records = kept_alone_[row.process_id];
      row.graph_kernel_records = kept_of_graphs_[row.process_id];
      row.launches_seen = row.kernel_records + missing;
      row.process_id = row_of(processes_, row.process_id);
      out_.add(row);
    }
    for (TierStatus row : whole_.tier_statuses()) {
      row.process_id = row_of(processes_, row.process_id);
      out_.add(row);
    }
    for (TierCoverage row : whole_.tier_coverage()) {
      row.process_id = row_of(processes_, row.process_id);
      row.metric_id = metric(row.metric_id);
      out_.add(row);
    }
    for (ReplayExclusion row : whole_.replay_exclusions()) {
      row.process_id = row_of(processes_, row.process_id);
      row.kernel_id = kernel(row.kernel_id);
      out_.add(row);
    }
    for (Message message : whole_.messages()) {
      message.process_id = found(processes_, message.process_id);
      out_.add(message);
    }
    Message about;
    about.time_ns = time_.start_ns;
    about.what = Reason(ReasonCode::part_of_capture,
                        {{"name", std::filesystem::path(whole_.path()).filename().string()},
                         {"steps", part_.steps},
                         {"of_steps", part_.steps_of_whole},
                         {"launches", part_.launches},
                         {"of_launches", part_.launches_of_whole},
                         {"duration_ns", time_.end_ns - time_.start_ns}});
    out_.add(about);
  }

  const Capture& whole_;
  const Activity activity_;
  const Order order_;
  TimeSpan time_;
  CaptureWriter& out_;
  std::stop_token stop_;
  std::map<Id, std::string> strings_;
  std::unordered_map<Id, Kernel> kernels_;
  std::map<Id, Metric> metrics_;
  Ids processes_, devices_, configurations_, steps_, ranges_, launches_, copies_;
  std::set<Id> touched_;  // steps that are kept for their time
  bool ran_ = false;      // a kernel did in that time, or in a step that it touches
  std::map<Id, std::int64_t> kept_alone_, kept_of_graphs_;  // launches of a process
  CapturePart part_;
};

Result<CapturePart> write_new(const Capture& whole, const TimeSpan& time, const std::string& path,
                              const std::stop_token& stop) {
  Result<CaptureWriter> out = CaptureWriter::create(path);
  if (!out) return out.failure();
  return PartWriter(whole, time, out.value(), stop).write();
}

}  // namespace

Result<CapturePart> write_part(const Capture& whole, const TimeSpan& time, const std::string& path,
                               const std::stop_token& stop) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return Failure{ErrorKind::io, path + ": is already there"};
  const auto remove = [&] {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"})
      std::filesystem::remove(path + suffix, ignored);
  };
  try {
    Result<CapturePart> part = write_new(whole, time, path, stop);
    if (!part) remove();
    return part;
  } catch (...) {
    remove();
    throw;
  }
}

}  // namespace ridgeline::store
