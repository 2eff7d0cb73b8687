// reach.h: how much of what kernels could save makes the step shorter.
//
// A kernel that gets faster shortens the step only where the step waits for it: not where the CPU is the pace, and not
// beside a longer stream. The step is simulated with the CPU's own times between its calls, the waits of the host, and
// the order of the streams; docs/metrics.md says what is taken from the recording and what is assumed.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/analyzer/values/absence.h"

namespace ridgeline::analyzer {

struct ReachOptions {
  double tolerance_ratio =
      0.01;  ///< the simulated step with the recorded durations may differ from it by this
  std::int64_t launch_latency_ns = 5000;  ///< as in AccountingOptions
  std::int64_t max_works =
      1'000'000;  ///< kernels, copies and memsets of a step; a longer one is not simulated
  std::int64_t max_visits = 60'000'000;  ///< pieces of work gone through to answer for all rows of a ranking
  std::int64_t resolution_ns = 1000;     ///< savings that differ by less rank by what the GPU saves
  bool cut = false;  ///< what is ranked begins or ends in the middle of what the program did: no simulation
};

/// Of the steps of a scope together; one as a rule.
struct StepReach {
  /// Why the step was not simulated; all that follows is then empty.
  std::vector<Absence> why;
  std::int64_t measured_ns = 0;  ///< the step
  double simulated_ns = 0;       ///< with the recorded durations
  double without_gpu_ns =
      0;  ///< if the GPU took no time for anything: what the CPU needs, and what it keeps back
  /// What the step is shorter by if every launch below a goal reached it.
  double target_ns = 0;
  double stretch_ns = 0;
  std::int64_t launches = 0;
  std::int64_t launches_with_call = 0;  ///< the others are assumed to be issued early enough
  std::int64_t streams_joined = 0;  ///< places where one stream waited for another, concluded from the times
  bool order_recorded = false;  ///< all that orders streams was recorded: nothing is concluded from the times
  std::int64_t dependencies = 0;     ///< between pieces of work, recorded
  std::int64_t other_processes = 0;  ///< of the recording, whose work is not simulated
  std::int64_t rows_left_out = 0;    ///< too many to be simulated on their own
  [[nodiscard]] bool known() const { return why.empty(); }
};

}  // namespace ridgeline::analyzer
