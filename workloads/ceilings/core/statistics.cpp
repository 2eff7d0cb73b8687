#include "ceilings/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ridgeline::ceilings {

namespace {
constexpr double kKneeRatio = 0.95;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double disagreement(std::vector<double> values) {
  if (values.size() < 2) return 0;
  const double middle = median(values);
  if (middle == 0) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t left_out = values.size() >= 5 ? 1 : 0;
  return (values[values.size() - 1 - left_out] - values[left_out]) / middle;
}

double slope(std::span<const Point> points) {
  if (points.empty()) return 0;
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0;
  for (const Point& p : points) {
    x += p.x / n;
    y += p.y / n;
  }
  double above = 0, below = 0;
  for (const Point& p : points) {
    above += (p.x - x) * (p.y - y);
    below += (p.x - x) * (p.x - x);
  }
  return below > 0 ? above / below : 0;
}

std::optional<Plateau> find_plateau(std::span<const SweepPoint> sweep, std::int64_t from, std::int64_t to) {
  std::vector<double> inside;
  for (const SweepPoint& p : sweep) {
    if (p.bytes >= from && p.bytes <= to) inside.push_back(p.bytes_per_s);
  }
  if (inside.empty()) return std::nullopt;
  Plateau plateau{.bytes_per_s = median(inside), .knee_bytes = std::nullopt};
  // From the end: a single slow point inside the plateau is no knee.
  for (std::size_t i = sweep.size(); i-- > 0;) {
    if (sweep[i].bytes_per_s < kKneeRatio * plateau.bytes_per_s) continue;
    if (i + 1 < sweep.size()) plateau.knee_bytes = sweep[i].bytes;
    break;
  }
  return plateau;
}

std::vector<std::int64_t> working_sets(std::int64_t first, std::int64_t last, int per_octave,
                                       std::int64_t granule) {
  std::vector<std::int64_t> sets;
  for (int i = 0;; ++i) {
    const double bytes = static_cast<double>(first) * std::exp2(static_cast<double>(i) / per_octave);
    const std::int64_t whole =
        std::max<std::int64_t>(granule, std::llround(bytes / static_cast<double>(granule)) * granule);
    if (whole > last) break;
    if (sets.empty() || sets.back() != whole) sets.push_back(whole);
  }
  return sets;
}

}  // namespace ridgeline::ceilings
