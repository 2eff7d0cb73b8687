// steady.h: from where on a series of measurements no longer drifts.
#pragma once

#include <cstddef>
#include <vector>

namespace ridgeline::comparison {

struct Steady {
  std::size_t first = 0;  ///< into the series: what comes before is left out
  bool settled = true;    ///< false: it drifts to its end, and `first` is the middle
};

/// The first place in the first half from which on the series rises or falls by less than `max_drift`, a ratio of its
/// median, from there to its end; judged by the medians of the first and the last third. At least `least` values stay.
/// A series shorter than twice `least` is judged whole; one of fewer than three values is settled.
[[nodiscard]] Steady steady_from(const std::vector<double>& series, double max_drift, std::size_t least);

}  // namespace ridgeline::comparison
