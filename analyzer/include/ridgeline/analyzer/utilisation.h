// utilisation.h: for every launch of the representative step, how busy it kept DRAM and the compute pipes.
//
// Duration is T0 (in situ, unperturbed). Bytes and pipe cycles are T2 (replay steps), joined on
// (ordinal in step, kernel, grid). Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/finding.h"
#include "ridgeline/analyzer/model.h"
#include "ridgeline/analyzer/peaks.h"
#include "ridgeline/analyzer/steps.h"

namespace ridgeline::analyzer {

// A value with what it rests on.
struct Measured {
  double value = 0;
  std::optional<double> error;    // standard error, same unit; empty: one sample, unknown
  std::int64_t sample_count = 0;  // replay steps it is the mean of
  std::string tier;               // "T2", or "T0" for durations
};

enum class LimiterKind { none, dram, compute };
[[nodiscard]] std::string_view to_string(LimiterKind kind);  // "none", "dram", "compute"

enum class LaunchStatus {
  measured,      // DRAM and compute utilisation known
  launch_bound,  // shorter than the launch floor: no roof applies, whatever was measured
  no_roof,       // measured, but moves no bytes and uses no pipe; or communication
  unmeasured,    // `reason` says why
};
[[nodiscard]] std::string_view to_string(LaunchStatus status);

// Why a value is missing.
enum class MissingReason {
  none,
  zero_timestamp,  // the driver gave no time
  tier_refused,    // counters not permitted or not available; text of the collector
  no_replay,       // the recording has no replay steps, or none was ok
  graph_node,      // CUDA graph nodes are not replayed one by one
  not_replayed,    // no replay step has a launch at this ordinal
  mismatch,        // another kernel or grid stood at this ordinal
  metric_missing,  // replayed, but this counter was not collected for it
  no_peak,         // counter known, roof unknown
};
[[nodiscard]] std::string_view to_string(MissingReason reason);  // stable identifiers, e.g. "graph_node"

struct LaunchUtilisation {
  LaunchIndex launch = 0;  // into Model::launches
  store::Id launch_id = 0;
  store::Id kernel_id = 0;
  std::int64_t ordinal = 0;
  std::int64_t duration_ns = 0;                 // T0; 0 without timestamps
  std::optional<double> duration_deviation_ns;  // standard deviation over the peers' same launch

  LaunchStatus status = LaunchStatus::unmeasured;
  MissingReason missing = MissingReason::none;  // not none whenever dram or compute is empty
  std::string reason;                           // the same in words; "" if nothing is missing

  std::optional<Measured> dram_bytes;  // read + written
  std::optional<Measured> dram_read_bytes;
  std::optional<Measured> dram_write_bytes;
  std::optional<Measured> tensor_ops;           // operations of the tensor pipe, all data types
  std::optional<Measured> replay_duration;      // ns, T2: gpu__time_duration.sum
  std::optional<double> replay_clock_hz;        // gpc cycles ÷ replay duration
  std::optional<double> timeline_clock_hz;      // median of the sampled SM clock during the timeline steps
  std::optional<Measured> dram_utilisation;     // 0..1, above 1 possible and reported
  std::optional<Measured> compute_utilisation;  // of the busiest pipe, 0..1
  std::string compute_pipe;                     // that pipe: tensor, fma, fp16, fp64, alu, xu; "" unknown
  std::optional<double> limiter_utilisation;    // max of both; set only if both are known
  LimiterKind limiter = LimiterKind::none;
  bool clamped = false;  // a utilisation above 1 was cut to 1 on request
};

struct UtilisationOptions {
  PeakPolicy peaks;
  // A launch costs about 1.6 µs on the GPU however little it does (docs/metrics.md); below 1.6 / (1 − 0.70) ≈
  // 5 µs even an ideal kernel cannot reach the 70 % target.
  std::int64_t launch_floor_ns = 5000;
  double no_roof_ratio = 0.001;  // DRAM and compute both below: no roof applies
  bool clamp = false;            // cut ratios above 1 to 1
};

struct PipeMetric {
  std::string_view pipe;    // tensor, fma, fp16, fp64, alu, xu
  std::string_view metric;  // verbatim, per cent of peak over elapsed cycles
};
// The pipe metrics known, best first within a pipe.
[[nodiscard]] const std::vector<PipeMetric>& known_pipe_metrics();

struct UtilisationAnalysis {
  std::vector<LaunchUtilisation> launches;  // one for each launch of the representative step, same order
  std::vector<Peak> peaks;                  // the roofs used, one for each device and quantity
  std::vector<std::string> pipes;           // pipes measured anywhere in the replay steps
  std::vector<StepIndex> replay_steps;      // replay steps used
  Findings findings;
};

[[nodiscard]] UtilisationAnalysis analyze_utilisation(const Model& model, const StepAnalysis& steps,
                                                      const UtilisationOptions& options = {});

}  // namespace ridgeline::analyzer
