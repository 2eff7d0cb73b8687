// block_calls.h: what the host called in the blocks of recorded steps that tell what recording costs, and what the
// device did of it.
#pragma once

#include <vector>

#include "recording/launch_cost.h"
#include "recording/price.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::import {

/// Of the recorded ones among the blocks, as many of the first as have 100,000 launches together; `next` of each is
/// the first launch behind it. Of a copy only a call that waits is recorded: another one is taken to be called right
/// after the launch before it. Throws Error(io) if the spool can no longer be read.
[[nodiscard]] std::vector<BlockCalls> calls_of_blocks(const spool::Reader& reader,
                                                      const std::vector<StepBlock>& blocks);

}  // namespace ridgeline::import
