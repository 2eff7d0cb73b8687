// chosen_steps.h: which steps of a run a comparison reads.
#pragma once

#include <vector>

#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

struct ChosenSteps {
  std::vector<store::Id> ids;  ///< the representative first; empty: the recording has no steps
  store::Id representative = 0;
};

/// The representative step and those that launch the same, as many as ProfileOptions::max_launches allows and three
/// at least.
[[nodiscard]] ChosenSteps choose_steps(const analyzer::StepAnalysis& steps, const ProfileOptions& options);

}  // namespace ridgeline::comparison
