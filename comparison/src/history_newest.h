// history_newest.h: how the newest run compares with those before it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comparison/history.h"

namespace ridgeline::comparison {

/// One quantity over the runs of a kind.
struct NewestSeries {
  std::string name;
  std::vector<double> logs;  ///< of each run by time; NaN: none
  std::size_t since = 0;     ///< the run of the last change
};

/// `series.front()` is the step's. `cards`: a number for each run's card. Kind, time and commit are left to the caller.
[[nodiscard]] NewestRun newest_run(std::span<const NewestSeries> series, std::span<const std::size_t> cards);

}  // namespace ridgeline::comparison
