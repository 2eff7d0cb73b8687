/// aligned_steps.h: one number for a step in all ranks.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/store/job.h"

namespace ridgeline::analyzer::ranks {

/// Steps that a recording finds by their period are counted from where it found them, by each rank for itself. The
/// same call on the same communicator is in the same step: ranks whose calls have ordinals take the numbers of the
/// lowest such rank, on whatever host. Others are compared by time, within their host alone: ranks leave a step's last
/// collective at about the same time, and where they do so in steps of other numbers, they take those of the host's
/// lowest rank. Doing it again changes nothing. Throws Error(corrupt).
void align_steps(store::Job& job);

/// Hosts whose steps are joined to those of the others by their numbers, though a recording counts at least some of
/// them from where it found their period: no ordinals show that they are the same. In order. Throws Error(corrupt).
[[nodiscard]] std::vector<std::string> joined_by_numbers(const store::Job& job);

}  // namespace ridgeline::analyzer::ranks
