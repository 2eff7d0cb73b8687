/// aligned_steps.h: one number for a step in all ranks of a host.
#pragma once

#include "ridgeline/store/job.h"

namespace ridgeline::analyzer::ranks {

/// Steps that a recording finds by their period are counted from where it found them, by each rank for itself. Ranks
/// leave a step's last collective at about the same time: where those of one host do so in steps of other numbers, they
/// take the numbers of the host's lowest rank. Doing it again changes nothing. Throws
/// Error(corrupt).
void align_steps(store::Job& job);

}  // namespace ridgeline::analyzer::ranks
