// records.h: rows of a capture as plain structs; the columns' meaning and units are in the schema's DDL.
// Words are enumerations (base/vocabulary.h): reading a row with another word is an Error(corrupt).
// Ids are the database's. Writers ignore the `id` of a row they insert and return the new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/base/reason.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::store {

using Id = std::int64_t;

struct Run {
  std::string command_line;
  std::optional<std::string> working_directory;
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;
  std::optional<std::string> host_name;
  std::optional<std::string> os;
  std::string ridgeline_version;
  std::string clock;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  std::optional<std::string> schedule;
  std::optional<std::string> step_range;
};

struct Process {
  Id id = 0;
  std::int64_t pid = 0;
  std::optional<std::int64_t> parent_pid;
  std::optional<std::string> command;
  std::optional<int> rank;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
};

struct Device {
  Id id = 0;
  int device_index = 0;
  std::string name;
  std::optional<std::string> uuid;
  std::optional<std::string> chip;
  std::optional<std::string> compute_capability;
  std::optional<int> sm_count;
  std::optional<std::int64_t> max_sm_clock_hz;
  std::optional<std::int64_t> max_memory_clock_hz;
  std::optional<int> memory_bus_bits;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> l2_bytes;
};

struct DevicePeak {
  Id device_id = 0;
  Quantity quantity = Quantity::dram_bytes_per_s;
  PeakSource source = PeakSource::spec;
  double value = 0;
  std::optional<std::string> detail;
};

/// A roof that was measured on the device, or a term of its energy model: columns of the table `ceiling`.
struct Ceiling {
  Id device_id = 0;
  CeilingLevel level = CeilingLevel::dram;
  std::string kind;
  CeilingState state = CeilingState::burst;
  std::optional<double> read_share;
  double value = 0;
  std::string unit;
  std::optional<double> spread_ratio;
  std::optional<double> sm_clock_hz;
  std::optional<double> power_w;
  std::optional<double> joules_each;
  std::string conditions;
};

struct ClockSample {
  Id device_id = 0;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> sm_clock_hz;
  std::optional<std::int64_t> memory_clock_hz;
  std::optional<std::int64_t> power_mw;
  std::optional<int> temperature_c;
  std::optional<std::int64_t> throttle_reasons;
};

struct Kernel {
  Id id = 0;
  std::string mangled_name;
  std::string demangled_name;
  std::string normalised_name;
  KernelClass kernel_class = KernelClass::other;
  std::optional<std::string> code_hash;
};

struct CounterConfiguration {
  Id id = 0;
  std::string name;
  int pass_count = 1;
};

struct Step {
  Id id = 0;
  Id process_id = 0;
  std::int64_t step_index = 0;
  Phase phase = Phase::timeline;
  std::optional<std::int64_t> host_start_ns;
  std::optional<std::int64_t> host_end_ns;
  std::optional<std::int64_t> gpu_start_ns;
  std::optional<std::int64_t> gpu_end_ns;
  std::optional<Id> configuration_id;
  StepStatus status = StepStatus::ok;
  std::optional<Reason> reason;
  StepSource source = StepSource::nvtx;
};

struct NvtxRange {
  Id id = 0;
  Id process_id = 0;
  std::int64_t thread_id = 0;
  std::optional<Id> parent_id;
  int depth = 0;
  Id name_id = 0;
  Id path_id = 0;
  std::optional<Id> domain_id;
  std::optional<Id> step_id;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

struct Dim3 {
  std::int64_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
  friend auto operator<=>(const Dim3&, const Dim3&) = default;
};

struct Launch {
  Id id = 0;
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t context_id = 0;
  std::int64_t stream_id = 0;
  std::int64_t correlation_id = 0;
  std::optional<std::int64_t> graph_id;
  std::optional<std::int64_t> graph_node_id;
  Id kernel_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> host_start_ns;
  std::optional<std::int64_t> host_end_ns;
  std::optional<std::int64_t> thread_id;
  Dim3 grid;
  Dim3 block;
  std::optional<Dim3> cluster;
  std::int64_t registers_per_thread = 0;
  std::int64_t static_smem_bytes = 0;
  std::int64_t dynamic_smem_bytes = 0;
  std::optional<Id> step_id;
  std::optional<std::int64_t> ordinal_in_step;
  std::optional<Id> nvtx_path_id;
};

struct Memcpy {
  Id id = 0;
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t context_id = 0;
  std::int64_t stream_id = 0;
  std::int64_t correlation_id = 0;
  CopyKind kind = CopyKind::unknown;
  std::int64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<Id> step_id;
  std::optional<Id> nvtx_path_id;
  std::optional<std::int64_t> graph_node_id = {};
};

struct Memset {
  Id id = 0;
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t context_id = 0;
  std::int64_t stream_id = 0;
  std::int64_t correlation_id = 0;
  std::int64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<Id> step_id;
  std::optional<Id> nvtx_path_id;
  std::optional<std::int64_t> graph_node_id = {};
};

struct Metric {
  Id id = 0;
  std::string name;
  std::string label;
  std::string unit;
  std::string meaning;
};

struct LaunchMetric {
  Id launch_id = 0;
  Id metric_id = 0;
  Tier tier = Tier::t0;
  double value = 0;
  std::optional<double> error;
  std::optional<std::int64_t> sample_count;
  bool concurrent = false;  // T1: the value is of several kernels that ran at the same time
};

struct Thread {
  Id process_id = 0;
  std::int64_t thread_id = 0;
  std::string name;
};

/// A call on which a thread waited for the device, or might have.
struct Synchronisation {
  Id process_id = 0;
  std::int64_t thread_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  SynchronisationCall call = SynchronisationCall::device;
  std::int64_t correlation_id = 0;
  std::optional<Id> step_id;
  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Time that the profiler says it cost.
struct ProfilerOverhead {
  Id process_id = 0;
  std::string kind;
  std::optional<std::int64_t> thread_id;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// One instant on three clocks.
struct ClockPair {
  Id process_id = 0;
  std::int64_t time_ns = 0;  // on the capture's clock
  std::int64_t realtime_ns = 0;
  std::int64_t monotonic_ns = 0;
};

struct Completeness {
  Id process_id = 0;
  std::int64_t launches_seen = 0;
  std::int64_t kernel_records = 0;
  std::int64_t graph_launches = 0;
  std::int64_t graph_kernel_records = 0;
  std::int64_t profiler_records = 0;
  std::int64_t dropped_records = 0;
  std::int64_t lost_spool_records = 0;
  std::int64_t zero_timestamps = 0;
  std::int64_t truncated_bytes = 0;
  std::int64_t strings_lost = 0;
  std::int64_t nvtx_unbalanced = 0;
};

struct TierStatus {
  Id process_id = 0;
  Tier tier = Tier::t0;
  TierOutcome status = TierOutcome::ok;
  std::optional<Reason> reason;
};

struct Message {
  Id id = 0;
  std::optional<Id> process_id;
  std::optional<std::int64_t> time_ns;
  Severity severity = Severity::info;
  Reason what;
};

/// What a program declares for a range: the least it must move and compute, the product it is, or what a step works
/// through.
struct Annotation {
  Id id = 0;  // not stored: the work of a range is known by the range
  Id nvtx_range_id = 0;
  std::string name;
  std::optional<double> bytes;
  std::optional<double> flops;
  std::optional<double> tokens = {};   // of a step, or of a part of it
  std::optional<double> samples = {};  // likewise
  /// Of a GEMM [m, k] × [k, n]; all three or none.
  std::optional<std::int64_t> m = {}, n = {}, k = {};
};

struct PmWindow {
  Id id = 0;
  Id process_id = 0;
  Id device_id = 0;
  std::optional<std::int64_t> first_step_index;
  std::optional<std::int64_t> last_step_index;
  std::int64_t interval_ns = 0;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
  std::int64_t sample_count = 0;
  std::int64_t buffer_bytes = 0;
  bool overflow = false;
  std::optional<std::int64_t> clock_shift_ns;
  std::optional<double> shift_correlation;
  WindowStatus status = WindowStatus::ok;
  std::optional<Reason> reason;
};

struct PmSample {
  Id device_id = 0;
  std::int64_t time_ns = 0;  // end of the sample
  Id metric_id = 0;
  double value = 0;
};

struct TierCoverage {
  Id process_id = 0;
  Tier tier = Tier::t1;
  Id metric_id = 0;
  std::int64_t kernel_time_ns = 0;
  std::int64_t covered_ns = 0;
};

struct ReplayExclusion {
  Id process_id = 0;
  Id kernel_id = 0;
  ExclusionReason reason = ExclusionReason::name;
};

struct GraphMetric {
  Id step_id = 0;
  std::int64_t correlation_id = 0;
  Id metric_id = 0;
  Tier tier = Tier::t2;
  double value = 0;
};

struct RecordingWindow {
  Id id = 0;
  Id process_id = 0;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
  WindowCause cause = WindowCause::start;
  bool synchronisation = false;  // what the host waited for is recorded in it
  bool stream_calls = false;     // what orders streams is
};

struct StallWindow {
  Id id = 0;
  Id process_id = 0;
  Id device_id = 0;
  std::int64_t first_step_index = 0;
  std::int64_t last_step_index = 0;
  std::int64_t period_cycles = 0;
  std::int64_t samples = 0;
  std::int64_t dropped_samples = 0;
  std::int64_t foreign_samples = 0;
  WindowStatus status = WindowStatus::ok;
  std::optional<Reason> reason;
};

struct StallSample {
  Id kernel_id = 0;
  std::int64_t pc_offset = 0;
  std::string stall_reason;
  std::int64_t samples = 0;
};

struct SourceLine {
  Id kernel_id = 0;
  std::int64_t pc_offset = 0;
  std::optional<Id> file_id;
  std::optional<std::int64_t> line;
};

}  // namespace ridgeline::store
