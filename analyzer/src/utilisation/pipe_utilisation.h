// pipe_utilisation.h: how busy a launch kept the pipes in the timeline, from cycles counted in replay.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "replay_values.h"

namespace ridgeline::analyzer {

/// What is known of a launch in the timeline.
struct InSitu {
  double duration_ns = 0;                       ///< T0
  std::optional<double> duration_deviation_ns;  ///< over the timeline steps
  std::optional<Measured> sampled_cycles;       ///< T1
  std::optional<double> clock_hz;               ///< of the timeline
};

/// Sets what counters say of pipes, issue slots and active SMs: of `out.t2`. Adds the names of
/// the pipes that were counted; without any it returns false.
///
/// Cycles that a pipe works do not depend on when they are counted: those of the replay step, over the SM cycles
/// that passed in the timeline, are the in-situ utilisation. The two run at different clocks when power is the
/// limit. Where one side has no cycles both clocks are taken to be equal.
[[nodiscard]] bool fill_pipes(const ReplayValues& values, const InSitu& in_situ, LaunchValues& out,
                              std::set<Pipe>& pipes);

}  // namespace ridgeline::analyzer
