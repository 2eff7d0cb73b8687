// finding.h: what a reader of a capture must know, as data. The words are made where they are shown
// (reports/finding_text.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/values/absence.h"
#include "ridgeline/analyzer/values/peak.h"
#include "ridgeline/analyzer/values/roof.h"
#include "ridgeline/analyzer/values/scope_kind.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// What a finding is about. The words are stable: programs compare them.
enum class FindingCode : std::uint8_t {
  steps_none,
  steps_no_timeline,
  steps_window,
  steps_period,
  steps_few,
  steps_open,
  steps_outlier,
  steps_not_ok,
  steps_kinds,
  peak_fallback,
  above_peak,
  above_measured_roof,  ///< by more than the roof's and the figure's own spread
  above_cache_roof,     ///< likewise of a cache
  operations_disagree,  ///< sources of a kernel's operations, by more than 5 %
  tensor_only,
  completeness_launches,
  completeness_unknown,
  completeness_dropped,
  completeness_zero_timestamps,
  completeness_truncated,
  rows_lost,  ///< the capture held more when it was made
  run_interrupted,
  run_signal,
  run_exit_status,
  tier_partial,
  tier_refused,
  tier_failed,
  t1_concurrent,
  t1_disagreement,
  t1_tensor_disagreement,
  t2_coverage,
  t2_disagreement,
  missing,  ///< code_word() appends the reason
  clock_spread,
  clock_throttled,
  clock_replay_differs,
  clock_unknown,
  excess_bytes,
  recording_price,   ///< what recording made the step longer by
  gpu_idle,          ///< the GPU has nothing to do for a good part of the step
  saving_held_back,  ///< most of what kernels could save does not reach the step
  communication,     ///< collectives that no other kernel hides take a good part of the step
  collector,         ///< a message of the recording; `detail` holds it
};

/// What can be done about it.
enum class Remedy : std::uint8_t {
  none,
  mark_steps,         ///< an NVTX range round each step
  record_more_steps,  ///< a longer schedule
  name_steps,         ///< of an import: say which ranges of the trace are the steps
  trace_more_steps,   ///< of an import: more steps by the profiler that wrote the trace
  run_doctor,         ///< see what the machine lets be measured
  record_again,       ///< what is missing cannot be made up for
  steady_clocks,      ///< lock clocks, mind power and temperature
  cut_traffic,        ///< keep data on the chip: fuse, reuse, recompute
  launch_less,        ///< give the GPU more to do at a time: graphs, fused kernels, larger batches
};

}  // namespace ridgeline::analyzer

namespace ridgeline {

template <>
struct Vocabulary<analyzer::FindingCode> {
  using Code = analyzer::FindingCode;
  static constexpr std::string_view kName = "code of a finding";
  static constexpr Word<Code> kWords[] = {
      {Code::steps_none, "steps.none"},
      {Code::steps_no_timeline, "steps.no_timeline"},
      {Code::steps_window, "steps.window"},
      {Code::steps_period, "steps.period"},
      {Code::steps_few, "steps.few"},
      {Code::steps_open, "steps.open"},
      {Code::steps_outlier, "steps.outlier"},
      {Code::steps_not_ok, "steps.not_ok"},
      {Code::steps_kinds, "steps.kinds"},
      {Code::peak_fallback, "peak.fallback"},
      {Code::above_peak, "utilisation.above_peak"},
      {Code::above_measured_roof, "utilisation.above_measured_roof"},
      {Code::above_cache_roof, "roofline.above_cache_roof"},
      {Code::operations_disagree, "roofline.operations_disagree"},
      {Code::tensor_only, "pipes.tensor_only"},
      {Code::completeness_launches, "completeness.launches"},
      {Code::completeness_unknown, "completeness.unknown"},
      {Code::completeness_dropped, "completeness.dropped"},
      {Code::completeness_zero_timestamps, "completeness.zero_timestamps"},
      {Code::completeness_truncated, "completeness.truncated"},
      {Code::rows_lost, "completeness.rows_lost"},
      {Code::run_interrupted, "run.interrupted"},
      {Code::run_signal, "run.signal"},
      {Code::run_exit_status, "run.exit_status"},
      {Code::tier_partial, "tier.partial"},
      {Code::tier_refused, "tier.refused"},
      {Code::tier_failed, "tier.failed"},
      {Code::t1_concurrent, "t1.concurrent"},
      {Code::t1_disagreement, "t1.disagreement"},
      {Code::t1_tensor_disagreement, "t1.tensor_disagreement"},
      {Code::t2_coverage, "t2.coverage"},
      {Code::t2_disagreement, "t2.disagreement"},
      {Code::missing, "missing"},
      {Code::clock_spread, "clock.spread"},
      {Code::clock_throttled, "clock.throttled"},
      {Code::clock_replay_differs, "clock.replay_differs"},
      {Code::clock_unknown, "clock.unknown"},
      {Code::excess_bytes, "work.excess_bytes"},
      {Code::recording_price, "pace.recording_price"},
      {Code::gpu_idle, "pace.gpu_idle"},
      {Code::saving_held_back, "pace.saving_held_back"},
      {Code::communication, "pace.communication"},
      {Code::collector, "collector"},
  };
};

template <>
struct Vocabulary<analyzer::Remedy> {
  using Remedy = analyzer::Remedy;
  static constexpr std::string_view kName = "remedy";
  static constexpr Word<Remedy> kWords[] = {
      {Remedy::none, "none"},
      {Remedy::mark_steps, "mark_steps"},
      {Remedy::record_more_steps, "record_more_steps"},
      {Remedy::name_steps, "name_steps"},
      {Remedy::trace_more_steps, "trace_more_steps"},
      {Remedy::run_doctor, "run_doctor"},
      {Remedy::record_again, "record_again"},
      {Remedy::steady_clocks, "steady_clocks"},
      {Remedy::cut_traffic, "cut_traffic"},
      {Remedy::launch_less, "launch_less"},
  };
};

}  // namespace ridgeline

namespace ridgeline::analyzer {

/// A figure behind a finding. The unit is the name's suffix: "_ns", "_ratio" (0 to 1), "_hz", "_bytes"; a count
/// without one.
struct Evidence {
  std::string_view name;  ///< a literal: "median_ns"
  double value = 0;
  std::optional<Tier> tier;
  std::optional<double> error;  ///< standard error, same unit
};

/// Whom or what a finding is about; of several, the worst case.
struct Subject {
  std::string
      name;  ///< kernel (demangled), device, operation or quantity; "" if the finding is of the recording
  std::optional<store::Id> process_id;
  std::optional<store::Id> device_id;
  std::optional<store::Id> kernel_id;
  std::optional<store::Id> launch_id;
  std::vector<std::int64_t> steps;  ///< Step::step_index, ascending; all of them, not of the worst case only
  std::optional<Phase> phase;
  std::optional<StepStatus> status;
  std::optional<Tier> tier;
};

struct Finding {
  Severity severity = Severity::info;
  FindingCode code = FindingCode::collector;
  Subject subject;
  std::int64_t count = 1;  ///< cases (steps, kernels, launches, records …) of which this is the worst
  std::optional<double> magnitude_ns;  ///< of the worst case: what it costs or is off by, in a step
  std::optional<double> step_share;    ///< magnitude ÷ step, 0 to 1
  ScopeKind scope = ScopeKind::step;   ///< what "step" means here
  std::vector<Evidence> evidence;      ///< of the worst case
  Remedy remedy = Remedy::none;
  MissingReason missing = MissingReason::none;  ///< of FindingCode::missing
  std::vector<Absence> why;                     ///< likewise
  Reason detail;                                ///< what the recording says; empty if nothing
  std::vector<std::string> also;                ///< names of the other cases
  /// Of FindingCode::above_measured_roof: the roof. Of FindingCode::peak_fallback: the peak that was taken, and the
  /// source that had none.
  std::optional<Peak> peak;
  std::optional<PeakSource> missing_source;
  std::optional<Roof> roof;  ///< of FindingCode::above_cache_roof

  /// The figure of that name; 0 without it.
  [[nodiscard]] double value(std::string_view evidence_name) const;
  [[nodiscard]] const Evidence* find(std::string_view evidence_name) const;
};

using Findings = std::vector<Finding>;

/// "steps.outlier", "missing.graph_node".
[[nodiscard]] std::string code_word(const Finding& finding);

}  // namespace ridgeline::analyzer
