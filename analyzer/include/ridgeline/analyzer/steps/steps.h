// steps.h: what each step cost, and which one represents all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/values/finding.h"
#include "ridgeline/analyzer/values/scope_kind.h"
#include "ridgeline/base/error.h"

namespace ridgeline::analyzer {

struct StepSummary {
  StepIndex index = 0;  // into Model::steps
  store::Id step_id = 0;
  store::Id process_id = 0;
  std::int64_t step_index = 0;
  Phase phase = Phase::timeline;
  StepStatus status = StepStatus::ok;
  Reason reason;  // why not ok; empty if ok
  StepSource source = StepSource::nvtx;
  std::string configuration;  // counters of a replay or cold step; "" otherwise
  /// From the start of this step's first kernel (of its first copy if it has no kernel) to that of the next
  /// step's. If the next step is missing or of another phase (a change of phase costs the collector time that
  /// is not the program's), to the end of its own work, and `closed` is false. 0: no GPU work with timestamps.
  std::int64_t gpu_duration_ns = 0;
  bool closed = false;
  bool settled = false;  // the step before it is of the same phase: the GPU was not idle when it came
  std::int64_t gpu_start_ns = 0;                 // 0: none
  std::int64_t gpu_end_ns = 0;                   // end of its own work; not the end of gpu_duration_ns
  std::optional<std::int64_t> host_duration_ns;  // of the range on the host
  std::int64_t kernel_time_ns = 0;               // plain sum over launches
  std::int64_t launches = 0;
  std::int64_t launches_without_time = 0;
  std::uint64_t sequence_hash = 0;  // of (kernel, grid, block) in order of launch
  int kind = -1;                    // into StepAnalysis::kinds of its process; -1: of none
};

/// Over the steps that the representative was chosen from.
struct StepSpread {
  std::int64_t count = 0;
  double median_ns = 0;
  double p10_ns = 0;  // linear interpolation between order statistics
  double p90_ns = 0;
  double mad_ns = 0;  // median absolute deviation, unscaled
  double min_ns = 0;
  double max_ns = 0;
};

struct RepresentativeStep {
  /// What it is; `recording` too for the one recording window of a capture without steps.
  ScopeKind scope = ScopeKind::step;
  std::string range;               // of ScopeKind::range: the pattern
  std::int64_t instances = 0;      // likewise, that launched anything
  std::int64_t cut_launches = 0;   // of these Scope::window cuts off a part; a session fills it in
  std::int64_t from_start_ns = 0;  // of window_start_ns, from recording_start_ns(); a session fills it in
  /// The capture has no steps: all launches of the process are taken as one step. `summary.index` is then
  /// meaningless and `launches` holds every launch of the process.
  bool whole_recording = false;
  StepSummary summary;
  SharedVector<LaunchIndex> launches;  // in order of launch
  /// Into Model::memcpys and memsets: of a step those that start in its window, of ranges those of the ranges.
  std::vector<std::size_t> memcpys;
  std::vector<std::size_t> memsets;
  std::int64_t window_start_ns = 0;  // the step's time: [window_start_ns, window_end_ns)
  std::int64_t window_end_ns = 0;
  std::vector<StepIndex> peers;  // steps it was chosen from, itself included
  bool is_median = false;        // of those by their GPU time, chosen or asked for
};

/// Steps that launch about as many kernels (within 5 %) in about the same kernel time (within 30 %): a training step
/// whose grids depend on the data is one kind, with an evaluation after it it is another.
struct StepKind {
  std::int64_t steps = 0;     // of those that the representative may be chosen from
  double time_share = 0;      // of the GPU time of all of those
  double median_ns = 0;       // GPU duration
  std::int64_t launches = 0;  // of the first
};

struct StepOptions {
  std::optional<store::Id> process_id;     // empty: the process with the most kernel time
  std::optional<std::int64_t> step_index;  // empty: choose; else this very step stands for all
  std::size_t kind = 0;         // the representative is of this one, by time; the last if there are fewer
  double outlier_mads = 5.0;    // a step farther from the median than this many (scaled) MADs …
  double outlier_ratio = 0.05;  // … and than this share of the median is an outlier
};

struct StepAnalysis {
  store::Id process_id = 0;
  std::vector<StepSummary> steps;  // of every process, in the model's order
  RepresentativeStep representative;
  StepSpread spread;
  std::vector<StepKind> kinds;  // of the process's steps of the representative's phase, the most time first
  std::size_t kind = 0;         // that of the representative
  Findings findings;
};

/// Summaries of all steps; never fails, empty for a capture without steps.
[[nodiscard]] std::vector<StepSummary> summarise_steps(const Model& model);

/// The step as one that stands for itself, without peers.
[[nodiscard]] RepresentativeStep represent(const Model& model, const StepSummary& summary);

/// All that the process launched, as one.
[[nodiscard]] RepresentativeStep represent_recording(const Model& model, store::Id process_id);

/// Chooses the representative step: the timeline step of (lower) median GPU duration among those with status
/// ok and of the kind that takes the most time, closed ones before open ones. Without timeline steps it takes
/// sample, after, warm-up, stalls and at last replay, cold and flops steps, and says so.
/// Failures: no_data (no launch with a timestamp), usage (no such process or step).
[[nodiscard]] Result<StepAnalysis> analyze_steps(const Model& model, const StepOptions& options = {});

}  // namespace ridgeline::analyzer
