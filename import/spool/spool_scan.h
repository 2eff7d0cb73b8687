// spool_scan.h: what must be known of one process's spool before rows can be written: definitions, steps with
// their extent on the GPU, and which replay steps measured what the timeline ran.
//
// Order: 1. scan_definitions()  2. scan_launches()  3. scan_copies_and_counters(). Each is one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/spool/reader.h"
#include "ridgeline/store/records.h"
#include "spool/launch_join.h"

namespace ridgeline::import {

/// A launch of a replay step, found by its position; the values of the counters join it.
struct ReplayLaunch {
  std::uint32_t kernel_id = 0;  // the spool's
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0;
  std::uint32_t device_id = 0;
  std::int64_t duration_ns = 0;  // 0: no timestamps
  store::Id launch_id = 0;       // the capture's, once written
};

struct ScannedStep {
  std::uint32_t index = 0;
  Phase phase = Phase::timeline;
  bool by_period = false;      // found by the period of the launches
  bool superseded = false;     // by period, and no step of the program after all
  std::uint32_t position = 0;  // in the schedule, from 0
  std::uint16_t flags = 0;     // of its begin
  bool unmeasured = false;     // sample phase: only lets the clocks settle
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> end_ns;
  std::uint32_t config_id = 0;
  std::optional<spool::CounterStepRecord> counters;

  std::int64_t launches_seen = 0;  // calls that expect one kernel
  std::int64_t launches_without_kernel() const { return launches_seen - kernel_records; }
  std::int64_t kernel_records = 0;           // of those
  std::optional<std::int64_t> gpu_start_ns;  // of kernels; of copies in a step without
  std::optional<std::int64_t> gpu_end_ns;    // of kernels and copies
  std::int64_t kernel_end_ns = 0;            // kernels only
  std::uint32_t first_correlation_id = UINT32_MAX, last_correlation_id = 0;
  /// The agent numbers kernel launches only: a graph launch has no position, but its kernels take places in
  /// the capture. By order of launch: correlation id, position of the next kernel launch, kernels of this and
  /// all earlier graph launches of the step.
  struct GraphCall {
    std::uint32_t correlation_id = 0;
    std::uint32_t next_position = 0;
    std::int64_t kernels_until_here = 0;
  };
  std::vector<GraphCall> graph_calls;

  std::unordered_map<std::uint32_t, ReplayLaunch>
      replay;                        // by position; steps with counters of launches only
  std::int64_t counter_values = 0;   // joined
  std::int64_t unjoined_values = 0;  // no kernel record at that position
  std::optional<Reason> mismatch;    // the first contradiction

  store::Id id = 0;  // the capture's, once written

  /// Replayed with counters: T2's steps, and T3's with cold caches or instrumented.
  [[nodiscard]] bool is_replay() const {
    return phase == Phase::replay || is_third_tier() || counters.has_value();
  }
  [[nodiscard]] bool is_third_tier() const { return phase == Phase::cold || phase == Phase::flops; }
  /// Of the values of its counters.
  [[nodiscard]] Tier counter_tier() const { return is_third_tier() ? Tier::t3 : Tier::t2; }
  [[nodiscard]] bool counters_usable() const {
    return !mismatch && (!counters || counters->status == spool::CounterStatus::ok);
  }
};

/// What the agent said.
struct AgentMessage {
  std::int64_t time_ns = 0;
  Severity severity = Severity::info;
  spool::Topic topic = spool::Topic::general;
  Reason what;  // the topic's code, the refusal's cause, the agent's words
};

/// A window of periodic samples (T1).
struct ScannedPmWindow {
  std::optional<spool::PmWindowRecord> record;  // none: the recording ended before it was decoded to the end
  std::vector<std::uint32_t> metrics;           // spool's ids, by position
  std::int64_t samples = 0;                     // in the spool
  std::int64_t first_start_ns = 0, last_end_ns = 0;  // of those, as stamped
};

struct ClockPoint {
  std::int64_t time_ns = 0;
  std::int64_t sm_hz = 0;
};

struct ScannedSpool {
  std::optional<spool::ProcessRecord> process;
  std::vector<spool::VersionRecord> versions;
  std::map<std::uint32_t, spool::DeviceRecord> devices;                    // by CUDA ordinal
  std::unordered_map<std::uint32_t, spool::KernelFunctionRecord> kernels;  // with the newest code
  /// All code hashes of the kernels that have more than one.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> codes;
  std::unordered_map<std::uint32_t, std::size_t>
      captured;  // LaunchRecord::code of captured launches: the last's place
  /// Whole code hash of a launch of that kernel, from LaunchRecord::code; 0: not known.
  [[nodiscard]] std::uint64_t code_hash(std::uint32_t kernel_id, std::uint32_t code) const;
  /// The same of a node of a graph, whose launch names no kernel: the code that was captured last.
  [[nodiscard]] std::uint64_t code_hash_of_node(std::uint32_t kernel_id) const;
  std::unordered_map<std::uint32_t, spool::NvtxPathRecord> paths;
  std::unordered_map<std::uint32_t, spool::MetricRecord> metrics;
  std::map<std::uint32_t, spool::CounterConfigRecord> configs;
  std::map<std::uint32_t, ScannedStep> steps;  // by index
  /// Where the import found the steps itself (step_search.h): what they are, and the place of each launch, by
  /// correlation id: step, position in it.
  std::optional<Reason> steps_found;
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> placed;
  /// The call with its place in those steps; as it is where the agent had steps.
  [[nodiscard]] spool::LaunchRecord in_step(const spool::LaunchRecord& call) const;
  /// The same for what has a time.
  [[nodiscard]] std::uint32_t step_at(std::uint32_t recorded_step, std::int64_t time_ns) const;
  std::map<std::uint32_t, ScannedPmWindow> pm_windows;  // by id
  std::optional<spool::CompletenessRecord> completeness;
  std::vector<AgentMessage> messages;
  std::optional<spool::EndRecord> end;
  struct Window {
    std::int64_t open_ns = 0;
    std::optional<std::int64_t> close_ns;
    WindowCause cause{};                                   // of the opening
    std::optional<std::int64_t> gpu_start_ns, gpu_end_ns;  // of kernels launched in it; only without steps
    store::Id step_id = 0;                                 // of the step that stands for it, once written
    bool synchronisation = false;                          // calls that wait are recorded
  };
  std::vector<Window> windows;  // in order of time; none in spools of older agents
  /// The window that a launch at this time belongs to.
  [[nodiscard]] Window* window_at(std::int64_t time_ns);
  /// The process went on, but recording had been ended.
  [[nodiscard]] bool left_alone() const { return !windows.empty() && windows.back().close_ns.has_value(); }
  std::map<std::uint32_t, std::vector<ClockPoint>> clocks;  // by device
  std::map<std::uint32_t, std::int64_t> ranges_by_path;     // outermost ranges, how many of each

  /// Counted in the spool itself.
  std::int64_t launches_seen = 0;  // calls that expect one kernel
  std::int64_t kernel_records = 0;
  std::int64_t graph_launches = 0;
  std::int64_t graph_kernel_records = 0;
  std::int64_t copies = 0;  // memcpy and memset
  std::int64_t zero_timestamps = 0;
  std::int64_t stall_samples = 0;  // records of them
  bool has_stalls = false;         // those or their windows
  GraphLaunches graphs;

  [[nodiscard]] const AgentMessage* message_about(spool::Topic topic) const;
  /// The words of a record that has no code of its own: what a message says in the same words, with its code and cause;
  /// else of the code given. no_reason or text_lost without any.
  [[nodiscard]] Reason words_of(const spool::Reader& reader, ReasonCode code, spool::StringId text) const;
  /// Nothing of interest happened: no GPU activity and no complaint.
  [[nodiscard]] bool is_empty() const;
  /// Place of a kernel among all kernels of its step, from the position of its launch.
  [[nodiscard]] static std::int64_t ordinal_in_step(const ScannedStep& step, std::uint32_t position);
  /// The step whose host range a copy or memset was issued in, as far as it can be told: from the correlation
  /// ids of the launches round it and, between the launches of two steps, from its time and direction.
  [[nodiscard]] ScannedStep* step_of_copy(std::uint32_t correlation_id, std::int64_t start_ns,
                                          bool device_to_host, bool graph_node);

 private:
  friend void scan_launches(const spool::Reader&, ScannedSpool&, const std::function<void(std::uint64_t)>&);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps_by_correlation_;  // (first id, step index)
};

/// Called with the offset in the file, now and then.
using OffsetProgress = std::function<void(std::uint64_t)>;

/// All throw Error(io) if the spool can no longer be read.
[[nodiscard]] ScannedSpool scan_definitions(const spool::Reader& reader, const OffsetProgress& progress);
void scan_launches(const spool::Reader& reader, ScannedSpool& spool, const OffsetProgress& progress);
void scan_copies_and_counters(const spool::Reader& reader, ScannedSpool& spool,
                              const OffsetProgress& progress);

/// Visits every record of these types; reports progress and turns a failed read into Error(io).
void visit_records(const spool::Reader& reader, spool::RecordTypes types, const OffsetProgress& progress,
                   const std::function<void(const spool::RecordView&)>& visit);

/// Later times are no times of any clock: reckoning with them would leave int64.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;  // in 2043, of a clock that counts from 1970

/// Finds steps by their index: records of one step come together.
class StepFinder {
 public:
  explicit StepFinder(std::map<std::uint32_t, ScannedStep>& steps) : steps_(steps) {}
  [[nodiscard]] ScannedStep* find(std::uint32_t index) {
    if (last_ != nullptr && last_->index == index) return last_;
    const auto found = steps_.find(index);
    return found == steps_.end() ? nullptr : last_ = &found->second;
  }

 private:
  std::map<std::uint32_t, ScannedStep>& steps_;
  ScannedStep* last_ = nullptr;
};

/// A periodic sample whose times can be reckoned with; a damaged record may hold anything.
[[nodiscard]] inline bool is_plausible(const spool::PmSampleRecord& sample) {
  constexpr std::int64_t kLongestNs = 10'000'000'000;
  return sample.start_ns > 0 && sample.start_ns < kLatestNs && sample.end_ns > sample.start_ns &&
         sample.end_ns - sample.start_ns <= kLongestNs;
}

[[nodiscard]] inline bool has_time(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns > 0 && end_ns >= start_ns && end_ns < kLatestNs;
}

}  // namespace ridgeline::import
