// environment.h: what differed between the sides beside the code.
#pragma once

#include <vector>

#include "ridgeline/comparison/comparison.h"

namespace ridgeline::comparison {

/// Weightiest first.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const std::vector<RunProfile>& a,
                                                                         const std::vector<RunProfile>& b);

}  // namespace ridgeline::comparison
