// replay_values.h: what the replay steps (T2) say about one launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch_kinds.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "sm_cycles.h"
#include "tier_values.h"

namespace ridgeline::analyzer {

/// What the replay steps say about one launch: a value a step.
struct ReplayValues {
  ValuesByMetric values;
  /// Pipe metrics × that step's duration: ns of the pipe at its full rate.
  ValuesByMetric pipe_ns;
  /// Pipe metrics × the SM cycles of that step: cycles of the pipe at its full rate. kIssueSlots too.
  ValuesByMetric pipe_cycles;
  std::vector<double> cycles;     ///< SM cycles, of each step that counts them
  std::vector<double> sm_active;  ///< share of these with a warp resident, of each step that counts both
  Normalisation normalisation;
  std::vector<double> dram_bytes;
  std::vector<double> duration_ns;
  std::vector<double> clock_hz;  ///< of the SMs
  int mismatched = 0;
  Absence mismatch;  // the first

  bool replayed = false;
  /// Some of it is of other launches of the kind (counted_kinds.h).
  bool by_kind = false;

  /// `device` may be null.
  ReplayValues(const TierRows& rows, const store::Device* device);
  /// What was not counted of this launch is taken from launches that are alike, `factor` times where it is an amount.
  /// Its error is how far one more of them may be from their mean.
  void complete(const ReplayValues& of_kind, const LaunchKinds& kinds, const LaunchKinds::Alike& alike,
                double factor);

 private:
  void add(const TierRow& row, const StepCycles& cycles);
};

/// Issued instructions in slots, under the name of the counter that is of active cycles.
inline constexpr std::string_view kIssueSlots = "smsp__issue_active.avg.pct_of_peak_sustained_active";

[[nodiscard]] std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric);

/// Bytes that the launch read of DRAM of those that it moved; empty unless both were counted.
[[nodiscard]] std::optional<double> dram_read_share(const ReplayValues& values);

/// What instructions do: of the rows of steps that count them (T3). Empty unless some were counted.
[[nodiscard]] std::optional<InstructionOperations> instruction_operations(const TierRows& rows);

struct Operations {
  Quantity peak_quantity = Quantity::bf16_flops_per_s;
  Measured count;
  bool by_instruction = false;
};

/// Whether the metric counts operations of the tensor pipe of one data type.
[[nodiscard]] bool counts_tensor_operations(std::string_view metric);
/// Operations of the tensor pipe, by data type as far as counted; none twice.
[[nodiscard]] std::vector<Operations> operations_of(const ReplayValues& values);

}  // namespace ridgeline::analyzer
