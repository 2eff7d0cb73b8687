// environment.h: what differed between the sides beside the code.
#pragma once

#include <vector>

#include "ridgeline/analyzer/comparison.h"

namespace ridgeline::analyzer {

/// Weightiest first.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const std::vector<RunProfile>& a,
                                                                         const std::vector<RunProfile>& b);

}  // namespace ridgeline::analyzer
