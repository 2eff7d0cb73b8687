// parts.h: the step and where its time goes, side against side.
#pragma once

#include <vector>

#include "judge.h"

namespace ridgeline::comparison {

/// The step first; parts of less than a twentieth of a per cent of it on both sides are left out.
/// `modes_overlap`: a side is in two modes, and the other does not lie beyond both.
[[nodiscard]] std::vector<StepMetric> compare_parts(const std::vector<RunProfile>& a,
                                                    const std::vector<RunProfile>& b, const Judge& judge,
                                                    bool modes_overlap);

}  // namespace ridgeline::comparison
