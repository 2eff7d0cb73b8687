// replay_values.h: what the replay steps (T2) say about one launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
  /// Some of it is of other launches of the kind (launch_kinds.h).
  bool by_kind = false;

  /// `device` may be null.
  ReplayValues(const TierRows& rows, const store::Device* device);
  /// What was not counted of this launch is taken from the launches of its kind, with their spread as error.
  void complete(const ReplayValues& of_kind);
  /// Of a launch that does so many times the work: amounts grow with it, shares and rates stay.
  [[nodiscard]] ReplayValues times(double factor) const;

 private:
  void add(const TierRow& row, const StepCycles& cycles);
};

/// True of bytes, instructions, cycles and times; a percentage, a ratio and a rate are none.
[[nodiscard]] bool is_amount(std::string_view metric);

/// Issued instructions in slots, under the name of the counter that is of active cycles.
inline constexpr std::string_view kIssueSlots = "smsp__issue_active.avg.pct_of_peak_sustained_active";

[[nodiscard]] std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric);

struct Operations {
  Quantity peak_quantity = Quantity::bf16_flops_per_s;
  Measured count;
  bool by_instruction = false;
};

/// Operations of the tensor pipe, by data type as far as counted; none twice.
[[nodiscard]] std::vector<Operations> operations_of(const ReplayValues& values);

}  // namespace ridgeline::analyzer
