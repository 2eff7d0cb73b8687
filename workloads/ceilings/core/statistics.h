// statistics.h: what rounds, series and sweeps say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ridgeline::ceilings {

/// Of an even number the mean of the middle two. `values` must not be empty.
[[nodiscard]] double median(std::vector<double> values);

/// How far rounds are apart, of their median: (largest − smallest) ÷ median; of five or more without the
/// largest and the smallest. 0 of fewer than two, or if the median is 0.
[[nodiscard]] double disagreement(std::vector<double> values);

struct Point {
  double x = 0;
  double y = 0;
};

/// Of the straight line through the points by least squares; 0 if all have one x.
[[nodiscard]] double slope(std::span<const Point> points);

/// A sweep over working sets, by size.
struct SweepPoint {
  std::int64_t bytes = 0;  // working set
  double bytes_per_s = 0;
};

struct Plateau {
  double bytes_per_s = 0;
  /// The largest working set from which on, going up, the rate is below 95 % of the plateau's; empty: no such
  /// set was tried.
  std::optional<std::int64_t> knee_bytes;
};

/// The plateau is the median over working sets of `from` to `to` bytes. Empty: none of them was measured.
[[nodiscard]] std::optional<Plateau> find_plateau(std::span<const SweepPoint> sweep, std::int64_t from,
                                                  std::int64_t to);

/// Working sets from `first` to `last`, `per_octave` to each doubling, multiples of `granule`, each once.
[[nodiscard]] std::vector<std::int64_t> working_sets(std::int64_t first, std::int64_t last, int per_octave,
                                                     std::int64_t granule);

}  // namespace ridgeline::ceilings
