// range_nesting.h: which range is round which, and round which call: from times alone.
#pragma once

#include <cstdint>
#include <vector>

#include "recording/events.h"
#include "traces/foreign_process.h"

namespace ridgeline::import {

/// Sorts the ranges by thread and start, and sets path, parent and depth of each and the path of each call.
/// Returns the nodes of the tree of paths: that of path p is at p - 1. Of more than 65,536 nestings the rest have
/// the path of the range round them.
[[nodiscard]] std::vector<Path> nest(ForeignProcess& process);

/// Positions of the ranges in the order in which they end, inner ones first.
[[nodiscard]] std::vector<std::uint32_t> by_end(const std::vector<ForeignRange>& ranges);

}  // namespace ridgeline::import
