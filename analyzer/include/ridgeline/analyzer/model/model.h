// model.h: a capture in memory, joined once, for everything the analyzer computes.
//
// The model owns plain values and is immutable once it is indexed: any number of threads may read it.
// Indices (LaunchIndex, StepIndex …) are positions in the model's vectors; ids are the capture's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ridgeline/analyzer/model/launches.h"
#include "ridgeline/analyzer/model/shared_vector.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/order.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

using LaunchIndex = std::size_t;
using StepIndex = std::size_t;

/// A step and what ran in it.
struct ModelStep {
  store::Step step;
  /// All of its launches and copies added up, where the capture was asked for that; the vectors below then hold
  /// what of them is loaded.
  std::optional<store::StepTotal> total;
  SharedVector<LaunchIndex> launches;  // by ordinal_in_step
  std::vector<std::size_t> memcpys;    // into Model::memcpys, by start_ns
  std::vector<std::size_t> memsets;    // into Model::memsets, by start_ns
};

/// One stored value of a launch, with its metric's name resolved.
struct MetricValue {
  std::string_view name;  // verbatim; lives in Model::metrics
  std::string_view unit;
  Tier tier = Tier::t0;
  double value = 0;
  std::optional<double> error;
  std::optional<std::int64_t> sample_count;
  bool concurrent = false;  // T1: of several kernels that ran at the same time
};

/// In-situ samples of one metric on one device, by time.
struct SampleTrace {
  store::Id device_id = 0;
  std::string metric;  // verbatim
  std::vector<store::PmSample> samples;
};

struct Model {
  std::string path;
  std::optional<store::Run> run;  // empty: the recording never began
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> environment;
  std::vector<store::Process> processes;
  std::vector<store::Device> devices;
  std::vector<store::DevicePeak> device_peaks;
  std::vector<store::Ceiling> ceilings;           // measured roofs; none: nobody measured them
  std::vector<store::ClockSample> clock_samples;  // by device, time
  std::map<store::Id, store::Kernel> kernels;
  std::map<store::Id, store::CounterConfiguration> configurations;
  Launches launches;                   // by process, start_ns
  std::vector<store::Memcpy> memcpys;  // by process, start_ns
  std::vector<store::Memset> memsets;  // by process, start_ns
  std::vector<ModelStep> steps;        // by process, step_index
  std::map<store::Id, store::Metric> metrics;
  std::vector<store::LaunchMetric> launch_metrics;  // by launch, metric
  /// Bytes that a collective sends, by its launch (store::collective_traffic); none where they are not known.
  std::unordered_map<store::Id, std::int64_t> collective_traffic;
  std::vector<store::Completeness> completeness;
  std::vector<store::TierStatus> tier_statuses;
  std::vector<store::Message> messages;
  std::vector<store::NvtxRange> nvtx_ranges;  // by process, start_ns
  std::vector<store::Annotation> annotations;
  std::vector<store::PmWindow> pm_windows;
  std::vector<store::TierCoverage> tier_coverage;
  std::vector<store::ReplayExclusion> replay_exclusions;
  std::vector<store::GraphMetric> graph_metrics;          // counters of whole graph launches
  std::vector<store::RecordingWindow> recording_windows;  // by process, start_ns
  std::vector<store::Thread> threads;                     // by process, thread_id
  /// What the host waited for, in the time that `launches` are of; by process, thread_id, start_ns.
  std::vector<store::Synchronisation> synchronisations;
  /// What orders streams in that time, by process, correlation_id; and the graphs that were launched in it.
  std::vector<store::OrderingCall> ordering_calls;
  std::vector<store::Stream> streams;
  std::vector<store::GraphNode> graph_nodes;
  std::vector<store::GraphEdge> graph_edges;
  std::optional<store::OrderSummary> order_summary;  // of all of the recording; only who tells of it loads it
  std::int64_t stream_calls_left_out = 0;            // of the process that the scope is of
  std::vector<store::ProcessTotal> process_totals;   // empty: `launches` are all there are
  /// Durations over the peers of the representative step, by ordinal, where these are not loaded themselves.
  std::vector<store::OrdinalSum> peer_sums;
  std::uint64_t peer_sequence = 0;  // the sequence that peer_sums are of
  std::vector<store::StallWindow> stall_windows;
  std::vector<store::StallSample> stall_samples;  // by kernel, offset
  std::vector<store::SourceLine> source_lines;    // by kernel, offset
  std::map<store::Id, std::string> strings;
  std::vector<store::LostRows>
      lost_rows;  // tables, or launches of one step, that hold other rows than were written

  /// Makes the joins below from the tables above; who fills the tables calls it once.
  void index();

  [[nodiscard]] const store::Kernel* kernel(store::Id id) const;  // nullptr: no such kernel
  [[nodiscard]] const store::Device* device(store::Id id) const;
  [[nodiscard]] std::string_view string(std::optional<store::Id> id) const;  // "" if absent
  [[nodiscard]] std::string_view kernel_name(const store::Launch&) const;    // demangled; "?" if unknown
  [[nodiscard]] std::string_view kernel_family(
      const store::Launch&) const;                                     // normalised name, "?" if unknown
  [[nodiscard]] KernelClass kernel_class(const store::Launch&) const;  // other if unknown
  /// "" if the thread has no name of its own.
  [[nodiscard]] std::string_view thread_name(store::Id process_id, std::int64_t thread_id) const;
  /// The values stored for one launch.
  [[nodiscard]] std::vector<MetricValue> metrics_of(store::Id launch_id) const;
  /// The value of one metric of one launch at a tier; empty if it was not collected.
  [[nodiscard]] std::optional<double> metric(store::Id launch_id, std::string_view name, Tier tier) const;
  [[nodiscard]] const store::TierStatus* tier_status(store::Id process_id, Tier tier) const;
  /// It was made of what another profiler recorded: nobody is told to ask Ridgeline's agent for what is missing.
  [[nodiscard]] bool imported() const;

 private:
  /// Percentages over the elapsed cycles of a range that is wider than its kernel are made those of the kernel.
  void narrow_wide_ranges();

  std::unordered_map<store::Id, std::pair<std::size_t, std::size_t>> metric_rows_;  // launch → [first, last)
  std::map<std::string, store::Id, std::less<>> metric_ids_;
};

/// Reads what tells how the recording went (run, devices, steps, tiers, windows, completeness, messages), whose size
/// does not grow with the launches. Missing parts (no steps, no peaks, no run) leave their vectors empty.
[[nodiscard]] Model load_recording(const store::Capture& capture);

/// What times "from the start of the recording" count from, on its clock: the run's start, else that of the first
/// recording window; 0 if neither is known.
[[nodiscard]] std::int64_t recording_start_ns(const Model& model);

/// Throws Error(corrupt) if sums of the model's times or sizes could leave int64: such a capture is damaged or made up.
void require_sums_fit(const Model& model);

/// The samples of these metrics on every device that was sampled; a metric without any is left out. They are
/// many, so that only who draws them loads them.
[[nodiscard]] std::vector<SampleTrace> load_sample_traces(const store::Capture& capture, const Model& model,
                                                          const std::vector<std::string_view>& metrics);

/// True if the driver gave the launch both timestamps.
[[nodiscard]] inline bool has_time(const store::Launch& launch) {
  return launch.start_ns > 0 && launch.end_ns >= launch.start_ns;
}

/// Duration on the GPU; 0 without timestamps.
[[nodiscard]] inline std::int64_t duration_ns(const store::Launch& launch) {
  return has_time(launch) ? launch.end_ns - launch.start_ns : 0;
}

}  // namespace ridgeline::analyzer
