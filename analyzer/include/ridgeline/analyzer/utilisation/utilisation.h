// utilisation.h: for every launch of the representative step, how busy it kept DRAM and the compute pipes.
//
// Duration is T0 (in situ, unperturbed). Bytes and pipe cycles are T2 (replay steps), joined on
// (ordinal in step, kernel, grid). T1 (in-situ samples) says the same without any replay: it stands beside T2
// as the check, and in its place where T2 has no value. Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/launch_utilisations.h"
#include "ridgeline/analyzer/utilisation/metrics.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/values/absence.h"
#include "ridgeline/analyzer/values/finding.h"
#include "ridgeline/analyzer/values/measured.h"
#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

/// Operations of the tensor pipe of one data type.
struct TypedOperations {
  Quantity quantity = Quantity::bf16_flops_per_s;  ///< the peak of the type
  double count = 0;
};

/// Floating-point operations by instructions that were counted (T3, `record --sass-flops`), a multiply-add as two;
/// those of tensor instructions are not among them.
struct InstructionOperations {
  double fp16 = 0, fp32 = 0, fp64 = 0;
  [[nodiscard]] double total() const { return fp16 + fp32 + fp64; }
};

/// What one tier says about one launch, with nothing taken from another tier but the duration under T2.
struct TierUtilisation {
  std::optional<Measured> duration;             // ns, of the same launch in that tier's own steps
  std::optional<Measured> dram_bytes;           // read + written
  std::optional<Measured> dram_utilisation;     // 0..1, above 1 possible and reported
  std::optional<Measured> compute_utilisation;  // of the busiest pipe, 0..1
  std::optional<Roof> busiest_pipe;             // that pipe
  std::optional<Measured> tensor_utilisation;   // of the tensor pipe, busiest or not
  RoofRatios pipes;                             // of every pipe; T2: issue slots too
  /// By their cycles, where `pipes` is of measured roofs.
  std::optional<RoofRatios> cycles_of_pipes;
  [[nodiscard]] std::optional<double> cycles_of(Roof roof) const {
    return cycles_of_pipes ? cycles_of_pipes->of(roof) : pipes.of(roof);
  }
  MetricValues metrics;            // all others
  std::optional<double> clock_hz;  // T1: mean GPC clock during the launch
  std::optional<Measured> cycles;  // T1: clock × duration, step by step
  /// Some of it is of other launches of the kind. Its errors are then how far one more of them may be from their
  /// mean, with 95 %, and launches of a kind may all be off the same way.
  bool by_kind = false;
  bool concurrent = false;  // T1: other kernels ran beside it in every sampled step; the values are of all
  MissingReason missing = MissingReason::none;  // not none whenever DRAM or compute utilisation is empty
  Absence why;
};

/// What was measured of a launch. Launches of which nothing was measured, for the same reason, share one.
struct LaunchValues {
  std::vector<Absence> why;  // a value is missing, by T2 and then by T1; empty if none is
  bool blank = false;        ///< no tier measured it: no value below is there

  /// What each tier says. T1 over its own duration in the sampled steps, T2 over the timeline's, cold (T3)
  /// over its own in the cold steps, as Nsight Compute would.
  TierUtilisation t1, t2, cold;

  /// What is shown: T2's value, else T1's, also where T2's is by kind and T1's is surer; Measured::tier says which.
  std::optional<Measured> dram_bytes;         // read + written
  std::optional<Measured> tensor_ops;         // operations of the tensor pipe, all data types
  std::optional<Quantity> tensor_quantity;    // the peak of the type that most of them are of; empty: none
  std::vector<TypedOperations> tensor_types;  // those of tensor_ops that there are any of
  std::optional<InstructionOperations> instruction_ops;
  std::optional<Measured> replay_duration;  // ns, T2: gpu__time_duration.sum
  std::optional<double> replay_clock_hz;    // cycles of the average SM ÷ replay duration
  std::optional<double> timeline_clock_hz;  // in-situ cycles ÷ duration, else the median of the clock samples
  /// T1: clock × duration in the sampled steps. What the launch's pipe cycles are measured against where
  /// known.
  std::optional<Measured> in_situ_cycles;
  RoofRatios
      roofs;  // all that are known: pipes and issue slots of the tier whose compute utilisation is shown
  std::optional<Measured> dram_utilisation;     // 0..1, above 1 possible and reported
  std::optional<Measured> compute_utilisation;  // of the busiest pipe, 0..1
  std::optional<Roof> busiest_pipe;             // that pipe
  MetricValues metrics;                         // all others
};

struct UtilisationOptions {
  PeakPolicy peaks;
  /// A launch costs about 1.6 µs on the GPU however little it does (docs/metrics.md); below 1.6 / (1 − 0.70) ≈
  /// 5 µs even an ideal kernel cannot reach the 70 % target.
  std::int64_t launch_floor_ns = 5000;
  double no_roof_ratio = 0.001;  // DRAM and compute both below: no roof applies
  bool clamp = false;            // cut ratios above 1 to 1
};

struct PipeMetric {
  Roof roof;
  std::string_view metric;  // verbatim, per cent of peak over elapsed cycles
};
/// The pipe metrics known, best first within a pipe.
[[nodiscard]] const std::vector<PipeMetric>& known_pipe_metrics();
/// Likewise those of in-situ samples (T1).
[[nodiscard]] const std::vector<PipeMetric>& known_sampled_pipe_metrics();

struct UtilisationAnalysis {
  LaunchUtilisations launches;  // one for each launch of the representative step, same order
  std::vector<Peak> peaks;      // the roofs used, one for each device and quantity
  /// Median SM clock while the analysed process's timeline steps ran, by device; those that were sampled.
  std::map<store::Id, double> sm_clock_hz;
  std::vector<Pipe> pipes;              // pipes measured anywhere in the replay steps
  std::vector<StepIndex> replay_steps;  // T2: replay steps used
  std::vector<StepIndex> sample_steps;  // T1: sample steps with values
  std::vector<StepIndex> cold_steps;    // T3: cold steps with values
  Findings findings;
  bool sampled = false;  // T1: some launch has values, of its own or of its kind
};

[[nodiscard]] UtilisationAnalysis analyze_utilisation(const Model& model, const StepAnalysis& steps,
                                                      const UtilisationOptions& options = {});

}  // namespace ridgeline::analyzer
