// foreign_process.h: one process as another profiler recorded it, and its rows.
//
// Order: 1. fill `log`, `calls`, `ranges` and the descriptions  2. write_process(), once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/devices.h"
#include "recording/events.h"
#include "recording/sampled_windows.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/store/capture_writer.h"
#include "traces/event_log.h"
#include "traces/foreign_collectives.h"

namespace ridgeline::import {

/// Texts by number, each once.
class NameTable {
 public:
  /// The number of that name, in that domain ("": none).
  std::uint32_t number_of(std::string_view text, std::string_view domain = {});
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return names_[number].first; }
  [[nodiscard]] const std::string& domain(std::uint32_t number) const { return names_[number].second; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::pair<std::string, std::string>> names_;
};

/// A peak that the source itself states of a device.
struct StatedPeak {
  Quantity quantity = Quantity::dram_bytes_per_s;
  double value = 0;
  std::string detail;
};

struct ForeignDevice {
  store::Device device;
  std::vector<StatedPeak> peaks;
};

/// Periodic samples of a device, in order of time.
struct ForeignSamples {
  std::uint32_t device = 0;
  std::vector<SampledMetric> metrics;  ///< by position in a sample
  std::vector<std::int64_t> start_ns, end_ns;
  std::vector<double> values;  ///< of each sample those of all metrics; NaN where it has none

  [[nodiscard]] std::size_t size() const { return end_ns.size(); }
};

/// What the source does not have of this process, in the order in which it is to be said.
struct ForeignLoss {
  Severity severity = Severity::warning;
  Reason what;
  bool of_timeline = true;  ///< launches or their times are missing: the timeline is partial
};

struct ForeignProcess {
  explicit ForeignProcess(const std::string& directory) : log(directory) {}

  store::Process row;
  std::string host_name;
  std::map<std::uint32_t, ForeignDevice> devices;  ///< by the source's number
  std::map<std::uint32_t, std::string> threads;    ///< names, by thread
  std::vector<KernelName> kernels;                 ///< by the source's number
  NameTable names;                                 ///< of ranges
  std::vector<ForeignRange> ranges;
  std::vector<store::Annotation> works;  ///< what ranges must compute and move; each once
  std::vector<ForeignCall> calls;
  EventLog log;
  ForeignCollectives collectives;
  std::optional<std::int64_t> world_ranks;  ///< of the job
  std::vector<ForeignSamples> samples;
  std::vector<ForeignLoss> losses;
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;  ///< of all that is in it
  std::int64_t executions = 0;
  std::int64_t hidden_graphs = 0;  ///< executions that stand for a whole graph
  std::int64_t truncated_bytes = 0;
  bool has_calls = false;  ///< the source records what the host calls

  void saw(std::int64_t start_ns, std::int64_t end_ns) {
    first_ns = start_ns < first_ns ? start_ns : first_ns;
    last_ns = end_ns > last_ns ? end_ns : last_ns;
  }
  /// Of all times, once everything has been read.
  void shift(std::int64_t shift_ns);
};

/// A process with nothing on a device has no rows to write.
[[nodiscard]] inline bool ran_something(const ForeignProcess& process) {
  return process.executions > 0;
}

/// `step_range`: name of the ranges that are the steps, numbers in it aside; "": those that are called as steps usually
/// are, else whatever the search finds. Empties the process. Throws Error(io).
void write_process(ForeignProcess& process, const std::string& step_range, store::CaptureWriter& writer,
                   RecordedDevices& devices, ImportSummary& summary);

}  // namespace ridgeline::import
