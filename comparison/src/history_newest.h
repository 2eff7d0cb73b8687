// history_newest.h: how the newest run compares with those before it.
#pragma once

#include <cstddef>
#include <span>

#include "history_judged.h"
#include "ridgeline/comparison/history.h"

namespace ridgeline::comparison {

/// `series.front()` is the step's. `cards`: a number for each run's card. Kind, time and commit are left to the caller.
[[nodiscard]] NewestRun newest_run(std::span<const NewestSeries> series, std::span<const std::size_t> cards);

}  // namespace ridgeline::comparison
