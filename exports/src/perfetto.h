// perfetto.h: Perfetto's protobuf. Field numbers: protos/perfetto of the Perfetto project; typed events of compute
// kernels are read by its version 55 and later, and shown by older ones as render stages.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "proto_writer.h"
#include "trace_writer.h"

namespace ridgeline::exports {

class PerfettoWriter : public TraceWriter {
 public:
  explicit PerfettoWriter(const Sink& out) : out_(out) {}
  void begin(const std::vector<TraceProcess>& processes, const std::vector<TraceThread>& threads,
             const std::vector<store::Device>& devices, const std::vector<TraceKernel>& kernels,
             const std::vector<TraceCounter>& counters) override;
  void host(const HostEvent& event) override;
  void device(const DeviceEvent& event) override;
  void launch_counters(Id device_id, std::int64_t start_ns, std::int64_t end_ns,
                       const std::vector<CounterValue>& values) override;
  void sample(Id device_id, std::int64_t time_ns, const CounterValue& value) override;
  void end() override {}

 private:
  using QueueKey = std::tuple<Id, std::int64_t, std::int64_t>;  // device, context, stream
  using TrackKey = std::tuple<Id, std::int64_t, int, int>;      // process, thread, kind, depth

  void packet(ProtoMessage message, bool first = false);
  void at(std::int64_t time_ns, std::uint32_t field, const ProtoMessage& payload);
  std::uint64_t queue(const DeviceEvent& event);
  std::uint64_t track(const HostEvent& event);
  void counter_point(Id device_id, std::int64_t time_ns, const std::vector<CounterValue>& values, bool zero);
  [[nodiscard]] std::uint64_t device_index(Id id) const;
  [[nodiscard]] std::int64_t pid_of(Id process) const;

  const Sink& out_;
  std::map<Id, std::int64_t> pids_;
  std::map<Id, int> device_indices_;
  std::map<Id, std::uint64_t> process_tracks_;
  std::map<std::pair<Id, std::int64_t>, std::uint64_t> thread_tracks_;
  std::map<QueueKey, std::uint64_t> queues_;
  std::map<TrackKey, std::uint64_t> tracks_;
  std::map<TrackKey, std::int64_t> busy_until_ns_;
  std::uint64_t next_track_ = 1;
};

}  // namespace ridgeline::exports
