#include "perfetto.h"

#include <array>

namespace ridgeline::exports {
namespace {

// Of TracePacket.
constexpr std::uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                        kSequenceFlags = 13, kGpuCounterEvent = 52, kGpuRenderStageEvent = 53,
                        kTrackDescriptor = 60;
// Of InternedData; the last two are extensions.
constexpr std::uint32_t kContexts = 23, kGpuSpecifications = 24, kComputeKernels = 1000,
                        kArgumentNames = 1001;
constexpr std::uint64_t kCleared = 1, kNeedsState = 2;
constexpr std::uint64_t kCuda = 4, kComputeCategory = 2, kOtherCategory = 0;
constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2;
constexpr std::uint32_t kGpuCorrelation = 3000;

// Stages, from 1; hardware queues come after them among the specifications.
constexpr std::array<const char*, 3> kStages = {"Kernel", "Copy", "Memset"};
constexpr std::uint64_t kFirstQueue = 100;

enum class ArgumentName : std::uint64_t {
  registers = 1,
  shared_static,
  shared_dynamic,
  threads,
  waves,
  maximum_warps,
  stream,
};
constexpr std::array<const char*, 7> kArguments = {"registers_per_thread",
                                                   "shared_mem_static",
                                                   "shared_mem_dynamic",
                                                   "thread_count",
                                                   "waves_per_multiprocessor",
                                                   "sm__maximum_warps_per_active_cycle_pct",
                                                   "stream"};

std::uint64_t unsigned_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

ProtoMessage dimensions(const store::Dim3& dim) {
  return ProtoMessage()
      .number(1, unsigned_of(dim.x))
      .number(2, unsigned_of(dim.y))
      .number(3, unsigned_of(dim.z));
}

ProtoMessage whole(ArgumentName name, std::int64_t value) {
  return ProtoMessage().number(1, static_cast<std::uint64_t>(name)).number(3, unsigned_of(value));
}

ProtoMessage real(ArgumentName name, double value) {
  return ProtoMessage().number(1, static_cast<std::uint64_t>(name)).real(5, value);
}

ProtoMessage launch_of(const DeviceEvent& event) {
  const store::Launch& site = *event.site;
  ProtoMessage launch;
  launch.message(1, dimensions(site.grid)).message(2, dimensions(site.block));
  launch.message(3, whole(ArgumentName::registers, site.registers_per_thread))
      .message(3, whole(ArgumentName::shared_static, site.static_smem_bytes))
      .message(3, whole(ArgumentName::shared_dynamic, site.dynamic_smem_bytes));
  const double threads = static_cast<double>(site.grid.x) * static_cast<double>(site.grid.y) *
                         static_cast<double>(site.grid.z) * static_cast<double>(site.block.x) *
                         static_cast<double>(site.block.y) * static_cast<double>(site.block.z);
  if (threads >= 0 && threads < 9e18)
    launch.message(3, whole(ArgumentName::threads, static_cast<std::int64_t>(threads)));
  if (event.waves) launch.message(3, real(ArgumentName::waves, *event.waves));
  if (event.occupancy_ratio)
    launch.message(3, real(ArgumentName::maximum_warps, 100 * *event.occupancy_ratio));
  launch.message(3, whole(ArgumentName::stream, site.stream_id));
  return launch;
}

// The measure that a unit of a metric is; 0: none of Perfetto's.
std::uint64_t measure_of(const std::string& unit) {
  if (unit == "percent") return 37;
  if (unit == "bytes" || unit == "bytes/s") return 7;
  if (unit == "ns") return 19;
  if (unit == "Hz") return 13;
  if (unit == "instructions") return 40;
  return 0;
}

ProtoMessage described(const TraceCounter& counter) {
  constexpr std::uint64_t kMemory = 5, kCompute = 6, kSecond = 22;
  ProtoMessage spec;
  spec.number(1, counter.id).text(2, counter.name).text(3, counter.description);
  if (counter.unit == "percent") spec.real(6, 100);
  if (const std::uint64_t measure = measure_of(counter.unit); measure != 0) spec.number(7, measure);
  if (counter.unit == "bytes/s") spec.number(8, kSecond);
  spec.number(9, 1).number(10, counter.of_launches ? kCompute : kMemory);
  return spec;
}

}  // namespace

void PerfettoWriter::packet(ProtoMessage message, bool first) {
  message.number(kSequenceId, 1).number(kSequenceFlags, first ? kCleared : kNeedsState);
  // A trace is a message whose packets are its first field.
  out_(ProtoMessage().message(1, message).bytes());
}

void PerfettoWriter::at(std::int64_t time_ns, std::uint32_t field, const ProtoMessage& payload) {
  packet(ProtoMessage().number(kTimestamp, unsigned_of(time_ns)).message(field, payload));
}

std::uint64_t PerfettoWriter::device_index(Id id) const {
  const auto found = device_indices_.find(id);
  return found == device_indices_.end() ? 0 : unsigned_of(found->second);
}

std::int64_t PerfettoWriter::pid_of(Id process) const {
  const auto found = pids_.find(process);
  return found == pids_.end() ? process : found->second;
}

void PerfettoWriter::begin(const std::vector<TraceProcess>& processes,
                           const std::vector<TraceThread>& threads, const std::vector<store::Device>& devices,
                           const std::vector<TraceKernel>& kernels,
                           const std::vector<TraceCounter>& counters) {
  ProtoMessage interned;
  for (const store::Device& device : devices) device_indices_[device.id] = device.device_index;
  for (const TraceProcess& process : processes) {
    pids_[process.id] = process.pid;
    interned.message(kContexts, ProtoMessage()
                                    .number(1, unsigned_of(process.id))
                                    .number(2, unsigned_of(process.pid))
                                    .number(3, kCuda));
  }
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    interned.message(kGpuSpecifications, ProtoMessage()
                                             .number(1, i + 1)
                                             .text(2, kStages[i])
                                             .number(4, i == 0 ? kComputeCategory : kOtherCategory));
  }
  for (const TraceKernel& kernel : kernels) {
    ProtoMessage one;
    one.number(1, unsigned_of(kernel.id)).text(2, kernel.mangled_name).text(3, kernel.name);
    interned.message(kComputeKernels, one);
  }
  for (std::size_t i = 0; i < kArguments.size(); ++i)
    interned.message(kArgumentNames, ProtoMessage().number(1, i + 1).text(2, kArguments[i]));
  packet(ProtoMessage().message(kInternedData, interned), true);
  for (const TraceProcess& process : processes) {
    process_tracks_[process.id] = next_track_;
    ProtoMessage track;
    track.number(1, next_track_++)
        .message(3, ProtoMessage().number(1, unsigned_of(process.pid)).text(6, process.name));
    packet(ProtoMessage().message(kTrackDescriptor, track));
  }
  for (const TraceThread& thread : threads) {
    thread_tracks_[{thread.process_id, thread.thread_id}] = next_track_;
    ProtoMessage track;
    track.number(1, next_track_++)
        .number(5, process_tracks_[thread.process_id])
        .message(4, ProtoMessage()
                        .number(1, unsigned_of(pid_of(thread.process_id)))
                        .number(2, unsigned_of(thread.thread_id))
                        .text(5, thread.name));
    packet(ProtoMessage().message(kTrackDescriptor, track));
  }
  if (counters.empty()) return;
  ProtoMessage descriptor;
  for (const TraceCounter& counter : counters) descriptor.message(1, described(counter));
  packet(ProtoMessage().message(kGpuCounterEvent, ProtoMessage().message(1, descriptor)));
}

// A track for each depth, and further ones for what overlaps on it (ranges that are no stack), so that no order of
// packets can nest events wrongly. Tracks of one name and parent are shown as one.
std::uint64_t PerfettoWriter::track(const HostEvent& event) {
  constexpr int kDepths = 1000;
  TrackKey key{event.process_id, event.thread_id, static_cast<int>(event.kind), event.depth};
  for (auto busy = busy_until_ns_.find(key); busy != busy_until_ns_.end() && busy->second > event.start_ns;
       busy = busy_until_ns_.find(key))
    std::get<3>(key) += kDepths;
  busy_until_ns_[key] = event.end_ns;
  const auto [found, added] = tracks_.try_emplace(key, next_track_);
  if (!added) return found->second;
  constexpr std::array<const char*, 3> kNames = {"NVTX", "Launches", "Waits for the GPU"};
  ProtoMessage track;
  track.number(1, next_track_++).text(2, kNames[static_cast<std::size_t>(event.kind)]);
  const auto thread = thread_tracks_.find({event.process_id, event.thread_id});
  track.number(5, thread == thread_tracks_.end() ? process_tracks_[event.process_id] : thread->second);
  packet(ProtoMessage().message(kTrackDescriptor, track));
  return found->second;
}

void PerfettoWriter::host(const HostEvent& event) {
  const std::uint64_t on = track(event);
  ProtoMessage begin;
  begin.number(9, kSliceBegin).number(11, on).text(23, event.name);
  if (!event.launched.empty()) {
    ProtoMessage correlation;
    for (const std::uint64_t id : event.launched) correlation.number(1, id);
    begin.message(kGpuCorrelation, correlation);
  }
  at(event.start_ns, kTrackEvent, begin);
  at(event.end_ns, kTrackEvent, ProtoMessage().number(9, kSliceEnd).number(11, on));
}

std::uint64_t PerfettoWriter::queue(const DeviceEvent& event) {
  const auto [found, added] =
      queues_.try_emplace({event.device_id, event.context_id, event.stream_id}, kFirstQueue + queues_.size());
  if (!added) return found->second;
  ProtoMessage queue;
  queue.number(1, found->second)
      .text(2, "GPU " + std::to_string(device_index(event.device_id)) + " stream " +
                   std::to_string(event.stream_id))
      .number(4, kComputeCategory);
  packet(ProtoMessage().message(kInternedData, ProtoMessage().message(kGpuSpecifications, queue)));
  return found->second;
}

void PerfettoWriter::device(const DeviceEvent& event) {
  ProtoMessage stage;
  stage.number(1, event.id)
      .number(2, unsigned_of(event.end_ns - event.start_ns))
      .number(5, unsigned_of(event.process_id))
      .number(11, device_index(event.device_id))
      .number(13, queue(event))
      .number(14, static_cast<std::uint64_t>(event.kind) + 1)
      .text(17, event.kernel != nullptr ? event.kernel->name : event.name);
  if (event.kernel != nullptr) stage.number(19, unsigned_of(event.kernel->id));
  if (event.site != nullptr) {
    stage.message(21, launch_of(event));
  } else {
    stage.message(6, ProtoMessage().text(1, "bytes").text(2, std::to_string(event.bytes)));
  }
  at(event.start_ns, kGpuRenderStageEvent, stage);
}

void PerfettoWriter::counter_point(Id device_id, std::int64_t time_ns,
                                   const std::vector<CounterValue>& values, bool zero) {
  ProtoMessage event;
  for (const CounterValue& one : values)
    event.message(2, ProtoMessage().number(1, one.counter).real(3, zero ? 0 : one.value));
  event.number(3, device_index(device_id));
  at(time_ns, kGpuCounterEvent, event);
}

// A value is of the interval that ends at its time: without the point at the start it would reach back to the launch
// before.
void PerfettoWriter::launch_counters(Id device_id, std::int64_t start_ns, std::int64_t end_ns,
                                     const std::vector<CounterValue>& values) {
  counter_point(device_id, start_ns, values, true);
  counter_point(device_id, end_ns, values, false);
}

void PerfettoWriter::sample(Id device_id, std::int64_t time_ns, const CounterValue& value) {
  counter_point(device_id, time_ns, {value}, false);
}

}  // namespace ridgeline::exports
