// trace_writer.h: what a trace is made of, whichever format it is written in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/exports/export.h"
#include "ridgeline/store/records.h"

namespace ridgeline::exports {

using store::Id;

struct TraceProcess {
  Id id = 0;
  std::int64_t pid = 0;
  std::string name;  ///< "rank 1", "gpt2_train"
};
struct TraceThread {
  Id process_id = 0;
  std::int64_t thread_id = 0;
  std::string name;
};
/// Of the host: a range, a call or a wait of one thread.
struct HostEvent {
  enum class Kind { range, call, wait };
  Kind kind = Kind::range;
  Id process_id = 0;
  std::int64_t thread_id = 0;
  int depth = 0;  ///< of a range
  std::int64_t start_ns = 0, end_ns = 0;
  std::string name;
  std::vector<std::uint64_t> launched;  ///< DeviceEvent::id
  std::uint64_t call_id = 0;            ///< DeviceEvent::call_id of those
  bool graph = false;                   ///< a call that launches a graph
};
/// How many times a kernel was launched makes no difference: it is described once.
struct TraceKernel {
  Id id = 0;
  std::string name, mangled_name;
};
/// Of a device: a kernel, a copy or a memset.
struct DeviceEvent {
  enum class Kind { kernel, copy, memset };
  Kind kind = Kind::kernel;
  std::uint64_t id = 0;  ///< of the trace, never 0
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t context_id = 0;
  std::int64_t stream_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  const TraceKernel* kernel = nullptr;
  std::string name;                              ///< of a copy or memset
  std::int64_t bytes = 0;                        ///< likewise
  const store::Launch* site = nullptr;           ///< of a kernel: grid, block, registers, shared memory
  std::optional<double> waves, occupancy_ratio;  ///< of a kernel, theoretical
  bool has_flow = false;                         ///< a call that launched it is in the trace
  /// Of the call that launched it: a process's calls have rising numbers, copies' among them. Its own id where the
  /// capture has none.
  std::uint64_t call_id = 0;
};
/// A counter of launches or of samples.
struct TraceCounter {
  std::uint32_t id = 0;  ///< from 1
  std::string name;      ///< verbatim; of samples with " (sampled)" after it
  std::string unit, description;
  bool of_launches = true;  ///< it has a value over a launch's time, and none between
};
struct CounterValue {
  std::uint32_t counter = 0;
  double value = 0;
};

/// Begin once, then events in any order, then end.
class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  virtual void begin(const std::vector<TraceProcess>& processes, const std::vector<TraceThread>& threads,
                     const std::vector<store::Device>& devices, const std::vector<TraceKernel>& kernels,
                     const std::vector<TraceCounter>& counters) = 0;
  virtual void host(const HostEvent& event) = 0;
  virtual void device(const DeviceEvent& event) = 0;
  /// Over [start_ns, end_ns) of a launch.
  virtual void launch_counters(Id device_id, std::int64_t start_ns, std::int64_t end_ns,
                               const std::vector<CounterValue>& values) = 0;
  /// Of the time up to it.
  virtual void sample(Id device_id, std::int64_t time_ns, const CounterValue& value) = 0;
  virtual void end() = 0;
};

}  // namespace ridgeline::exports
