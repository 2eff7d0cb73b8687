// chrome.h: the JSON of Chrome's trace viewer.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trace_writer.h"

namespace ridgeline::exports {

/// Times are in µs with three decimals from the start of what is exported, for a double does not hold ns since 1970:
/// "baseTimeNanoseconds" is a µs before it. Events that overlap on a line get lines of their own.
class ChromeWriter : public TraceWriter {
 public:
  ChromeWriter(const Sink& out, std::int64_t base_ns) : out_(out), base_ns_(base_ns) {}
  void begin(const std::vector<TraceProcess>& processes, const std::vector<TraceThread>& threads,
             const std::vector<store::Device>& devices, const std::vector<TraceKernel>& kernels,
             const std::vector<TraceCounter>& counters) override;
  void host(const HostEvent& event) override;
  void device(const DeviceEvent& event) override;
  void launch_counters(Id device_id, std::int64_t start_ns, std::int64_t end_ns,
                       const std::vector<CounterValue>& values) override;
  void sample(Id device_id, std::int64_t time_ns, const CounterValue& value) override;
  void end() override;

 private:
  /// One line of a stream; where its events end so far.
  struct Lane {
    std::int64_t line = 0;
    std::int64_t busy_until_ns = 0;
  };
  using StreamKey = std::tuple<Id, Id, std::int64_t, std::int64_t>;  // process, device, context, stream

  void event(std::string_view members);
  [[nodiscard]] std::string time(std::int64_t ns) const;
  [[nodiscard]] std::int64_t pid_of(Id process) const;
  [[nodiscard]] int index_of(Id device) const;
  std::int64_t lane(const DeviceEvent& event);
  void counter_event(Id device_id, std::int64_t time_ns, const CounterValue& value, bool zero);

  const Sink& out_;
  std::int64_t base_ns_;
  bool first_ = true;
  std::map<Id, std::int64_t> pids_;
  std::map<Id, int> device_indices_;
  std::map<StreamKey, std::vector<Lane>> lanes_;
  std::map<std::uint32_t, std::string> counter_names_;
  std::int64_t next_line_ = 1;
};

}  // namespace ridgeline::exports
