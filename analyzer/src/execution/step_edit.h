// step_edit.h: what of a recorded step is done otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "execution/recorded_step.h"

namespace ridgeline::analyzer {

/// What is not named stays as it was recorded. Times in ns.
struct StepEdit {
  struct Work {
    std::optional<std::int64_t> duration_ns;  ///< that it takes instead
    /// Between its predecessor on the stream and itself; a pause that nothing explains stays, whatever is said here.
    std::optional<std::int64_t> max_pause_ns;
  };
  struct Call {
    std::optional<std::int64_t> length_ns;  ///< that it takes instead; of a call that waits: without its wait
    std::optional<std::int64_t>
        max_own_ns;     ///< that the CPU takes for itself between the call before and this one
    bool waits = true;  ///< false: one that waits returns at once
  };
  std::unordered_map<RecordedStep::Index, Work> works;  ///< by place in RecordedStep::works
  std::unordered_map<RecordedStep::Index, Call> calls;  ///< by place in RecordedStep::calls
  /// By which each call that launches is shorter for every piece of work that it launches: of the call first, then of
  /// the CPU's own time before it, as far as both go. A recording adds as much to them.
  double less_per_work_ns = 0;
};

}  // namespace ridgeline::analyzer
