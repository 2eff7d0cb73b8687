// transfers.h: copies and memsets of one side against those of the other.
#pragma once

#include <vector>

#include "judge.h"

namespace ridgeline::comparison {

/// By place, kind and direction; what has no counterpart at its place is held against the same work at another. Largest
/// difference first. `step_ns`: of A.
[[nodiscard]] std::vector<TransferChange> compare_transfers(const std::vector<RunProfile>& a,
                                                            const std::vector<RunProfile>& b,
                                                            const Judge& judge, double step_ns);

}  // namespace ridgeline::comparison
