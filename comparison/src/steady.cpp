#include "ridgeline/comparison/steady.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

constexpr std::size_t kMaxSteadyPlaces = 64;  // that are tried

// From its start to its end, as a ratio of the median: the thirds' middles are two thirds of it apart.
double drift(const std::vector<double>& series, std::size_t from) {
  const auto begin = series.begin() + static_cast<std::ptrdiff_t>(from);
  const auto third = (series.end() - begin) / 3;
  const double early = median({begin, begin + third});
  const double late = median({series.end() - third, series.end()});
  const double middle = median({begin, series.end()});
  return middle == 0 ? 0 : 1.5 * (late - early) / middle;
}

}  // namespace

Steady steady_from(const std::vector<double>& series, double max_drift, std::size_t least) {
  if (series.size() < 3) return {};
  const std::size_t last = series.size() < 2 * least ? 0 : std::min(series.size() / 2, series.size() - least);
  const std::size_t stride = std::max<std::size_t>(1, last / kMaxSteadyPlaces);
  for (std::size_t from = 0; from <= last; from += stride) {
    if (std::abs(drift(series, from)) < max_drift) return {from, true};
  }
  return {last, false};
}

}  // namespace ridgeline::comparison
