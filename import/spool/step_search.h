// step_search.h: the steps of a process in whose recording the agent found none in time: a program that was over before
// it looked twice. The same search as the agent's, over all launches.
#pragma once

#include "spool/spool_scan.h"

namespace ridgeline::import {

/// After scan_definitions() and before scan_launches(). Where no step of the agent's counts, and the launches have a
/// period, `spool` has its steps then, on the timeline only, and launches, ranges and waits are placed in them.
void find_steps(const spool::Reader& reader, ScannedSpool& spool);

}  // namespace ridgeline::import
