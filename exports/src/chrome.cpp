#include "chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace ridgeline::exports {
namespace {

// Devices are processes of the trace, far from any that there are.
constexpr std::int64_t kFirstDevicePid = 1'000'000'000;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// What JSON has no number for was not measured.
std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string metadata(std::string_view name, std::int64_t pid, std::int64_t tid, std::string_view text) {
  return fmt::format(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}})", name, pid, tid,
                     json_text(text));
}

std::string launch_arguments(const DeviceEvent& event) {
  const store::Launch& site = *event.site;
  std::string text = fmt::format(
      R"("grid":[{},{},{}],"block":[{},{},{}],"registers per thread":{},"static shared memory":{},"dynamic shared memory":{})",
      site.grid.x, site.grid.y, site.grid.z, site.block.x, site.block.y, site.block.z,
      site.registers_per_thread, site.static_smem_bytes, site.dynamic_smem_bytes);
  if (site.graph_id) text += fmt::format(R"(,"graph id":{})", *site.graph_id);
  if (site.graph_node_id) text += fmt::format(R"(,"graph node id":{})", *site.graph_node_id);
  if (event.waves) text += fmt::format(R"(,"waves":{})", number_text(*event.waves));
  if (event.occupancy_ratio)
    text += fmt::format(R"(,"theoretical occupancy":{})", number_text(*event.occupancy_ratio));
  return text;
}

// As torch.profiler describes devices, so that readers of its traces know these.
std::string device_properties(const std::vector<store::Device>& devices) {
  nlohmann::json all = nlohmann::json::array();
  for (const store::Device& device : devices) {
    nlohmann::json each = {{"id", device.device_index}, {"name", device.name}};
    if (device.memory_bytes) each["totalGlobalMem"] = *device.memory_bytes;
    if (device.sm_count) each["numSms"] = *device.sm_count;
    int major = 0, minor = 0;
    if (device.compute_capability &&
        std::sscanf(device.compute_capability->c_str(), "%d.%d", &major, &minor) == 2) {
      each["computeMajor"] = major;
      each["computeMinor"] = minor;
    }
    all.push_back(std::move(each));
  }
  return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void ChromeWriter::event(std::string_view members) {
  out_(first_ ? "\n{" : ",\n{");
  out_(members);
  out_("}");
  first_ = false;
}

std::string ChromeWriter::time(std::int64_t ns) const {
  const std::int64_t since = ns - base_ns_;
  const std::int64_t whole = since / 1000, rest = std::abs(since % 1000);
  return fmt::format("{}{}.{:03}", since < 0 && whole == 0 ? "-" : "", whole, rest);
}

std::int64_t ChromeWriter::pid_of(Id process) const {
  const auto found = pids_.find(process);
  return found == pids_.end() ? process : found->second;
}

int ChromeWriter::index_of(Id device) const {
  const auto found = device_indices_.find(device);
  return found == device_indices_.end() ? 0 : found->second;
}

void ChromeWriter::begin(const std::vector<TraceProcess>& processes, const std::vector<TraceThread>& threads,
                         const std::vector<store::Device>& devices, const std::vector<TraceKernel>&,
                         const std::vector<TraceCounter>& counters) {
  out_(fmt::format(
      R"({{"displayTimeUnit":"ns","baseTimeNanoseconds":{},"deviceProperties":{},"traceEvents":[)", base_ns_,
      device_properties(devices)));
  for (const TraceProcess& process : processes) {
    pids_[process.id] = process.pid;
    event(metadata("process_name", process.pid, 0, process.name));
  }
  for (const TraceThread& thread : threads)
    event(metadata("thread_name", pid_of(thread.process_id), thread.thread_id, thread.name));
  for (const store::Device& device : devices) {
    device_indices_[device.id] = device.device_index;
    event(metadata("process_name", kFirstDevicePid + device.device_index, 0,
                   fmt::format("GPU {} ({})", device.device_index, device.name)));
  }
  for (const TraceCounter& counter : counters) counter_names_[counter.id] = counter.name;
}

void ChromeWriter::host(const HostEvent& of) {
  constexpr std::array<const char*, 3> kCategories = {"user_annotation", "launch", "wait"};
  const std::int64_t pid = pid_of(of.process_id);
  std::string arguments;
  if (!of.launched.empty())
    arguments = fmt::format(R"(,"args":{{"correlation":{},"graph":{}}})", of.call_id, of.graph);
  event(fmt::format(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{}{})",
                    kCategories[static_cast<std::size_t>(of.kind)], json_text(of.name), pid, of.thread_id,
                    time(of.start_ns), time(of.end_ns - of.start_ns + base_ns_), arguments));
  for (const std::uint64_t id : of.launched) {
    event(fmt::format(R"("ph":"s","cat":"launch","name":"launch","id":{},"pid":{},"tid":{},"ts":{})", id, pid,
                      of.thread_id, time(of.start_ns)));
  }
}

// The first line on which nothing runs any more.
std::int64_t ChromeWriter::lane(const DeviceEvent& of) {
  std::vector<Lane>& lanes = lanes_[{of.process_id, of.device_id, of.context_id, of.stream_id}];
  const auto free =
      std::find_if(lanes.begin(), lanes.end(), [&](const Lane& l) { return l.busy_until_ns <= of.start_ns; });
  if (free != lanes.end()) {
    free->busy_until_ns = of.end_ns;
    return free->line;
  }
  lanes.push_back({next_line_++, of.end_ns});
  const std::int64_t pid = kFirstDevicePid + index_of(of.device_id);
  std::string name = fmt::format("stream {}", of.stream_id);
  if (pids_.size() > 1) name += fmt::format(" of process {}", pid_of(of.process_id));
  if (lanes.size() > 1) name += fmt::format(" ({})", lanes.size());
  event(metadata("thread_name", pid, lanes.back().line, name));
  return lanes.back().line;
}

void ChromeWriter::device(const DeviceEvent& of) {
  const std::int64_t line = lane(of);
  const std::int64_t pid = kFirstDevicePid + index_of(of.device_id);
  const bool kernel = of.kernel != nullptr;
  const std::string arguments =
      of.site != nullptr ? launch_arguments(of) : fmt::format(R"("bytes":{})", of.bytes);
  event(fmt::format(
      R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"process":{},"device":{},"context":{},"stream":{},"correlation":{},{}}})",
      kernel                                 ? "kernel"
      : of.kind == DeviceEvent::Kind::memset ? "gpu_memset"
                                             : "gpu_memcpy",
      json_text(kernel ? of.kernel->name : of.name), pid, line, time(of.start_ns),
      time(of.end_ns - of.start_ns + base_ns_), pid_of(of.process_id), index_of(of.device_id), of.context_id,
      of.stream_id, of.call_id, arguments));
  if (!of.has_flow) return;
  event(fmt::format(R"("ph":"f","bp":"e","cat":"launch","name":"launch","id":{},"pid":{},"tid":{},"ts":{})",
                    of.id, pid, line, time(of.start_ns)));
}

void ChromeWriter::counter_event(Id device_id, std::int64_t time_ns, const CounterValue& value, bool zero) {
  event(fmt::format(R"("ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"value":{}}})",
                    json_text(counter_names_[value.counter]), kFirstDevicePid + index_of(device_id),
                    time(time_ns), zero ? "0" : number_text(value.value)));
}

// This viewer holds a value forward: from the start of a launch to its end.
void ChromeWriter::launch_counters(Id device_id, std::int64_t start_ns, std::int64_t end_ns,
                                   const std::vector<CounterValue>& values) {
  for (const CounterValue& value : values) {
    counter_event(device_id, start_ns, value, false);
    counter_event(device_id, end_ns, value, true);
  }
}

void ChromeWriter::sample(Id device_id, std::int64_t time_ns, const CounterValue& value) {
  counter_event(device_id, time_ns, value, false);
}

void ChromeWriter::end() {
  out_("\n]}\n");
}

}  // namespace ridgeline::exports
