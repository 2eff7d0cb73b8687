// ladder_arms.h: which programs the arms of a ladder come to.
#pragma once

#include <cstddef>
#include <vector>

#include "ridgeline/comparison/ladder.h"
#include "ridgeline/experiment/ladder_file.h"

namespace ridgeline::experiment {

struct PlannedLadder {
  comparison::LadderRecord record;      ///< without a run
  std::vector<LadderCommand> commands;  ///< by program
};

/// With the choices of sweeps as given (first ones if empty). Throws Error(usage).
[[nodiscard]] PlannedLadder plan_ladder(const LadderFile& file, const comparison::LadderQuestions& questions,
                                        const std::vector<std::size_t>& choices);

}  // namespace ridgeline::experiment
