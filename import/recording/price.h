/// price.h: what recording costs a step, from blocks of steps that ran alone and others that were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "recording/launch_cost.h"
#include "recording/steps.h"
#include "ridgeline/base/kept_tracing.h"
#include "ridgeline/base/reason.h"

namespace ridgeline::import {

/// Steps in a row, timed from a device without work to the boundary after the last of them.
struct StepBlock {
  bool alone = false;
  bool by_period = false;
  std::uint32_t first_step = 0;
  std::uint32_t steps = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;       // on the host
  std::int64_t remained_ns = 0;  // what the recorder took of it all the same
  std::int64_t launches = 0;     // of one alone by period: that were counted
};

/// `steps` after the first pass over what was launched: the step behind a block tells how far the device was behind
/// the host at its end. A period may turn out to be a part of the step, or no step at all: blocks whose steps launch
/// otherwise than those of the latest are left out. Five blocks alone and more are each compared with the recorded ones
/// before and behind it, fewer all with all.
///
/// Steps alone still have callbacks and what tracing keeps taking of launches (`kept_tracing`, asked at most once). As
/// much of it is taken off as reaches the step: by the calls of the recorded blocks (launch_cost.h) or, where those are
/// not known or do not explain the difference, all callbacks and, if the host sets the pace, what is kept in proportion
/// to the difference. A reason of code recording_price; empty if there are not two blocks of either kind, or if the
/// error is more than half of a step.
[[nodiscard]] std::optional<Reason> price_of(
    const std::vector<StepBlock>& blocks, const RecordedSteps& steps,
    const std::function<std::optional<KeptTracing>()>& kept_tracing = {},
    const std::function<std::vector<BlockCalls>(const std::vector<StepBlock>&)>& calls_of_blocks = {});

}  // namespace ridgeline::import
