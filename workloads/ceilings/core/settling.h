// settling.h: when a load has come to rest, and what it drew meanwhile.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ceilings/core/statistics.h"

namespace ridgeline::ceilings {

struct SettlingRule {
  double min_s = 0;          // never before
  double look_s = 1;         // the stretch before now that is looked at
  double max_change = 0.01;  // of the fitted line over that stretch, of its mean
};

/// Whether the clock has come to rest. `clocks`: seconds since the load began, and Hz, in order. The stretch
/// must have been seen as a whole, by five readings at least.
[[nodiscard]] bool settled(std::span<const Point> clocks, const SettlingRule& rule);

/// Of batches that are the same work, seconds of each: those that took kMaxOfMedian times the median, for which the GPU
/// waited for the CPU (another process held the driver, or the thread was not run). None if they are more than
/// kMaxWaited of all: then it is the load that varies.
[[nodiscard]] std::vector<bool> waited(std::span<const double> seconds);

/// Readings of an energy counter that is brought up to date now and then: the joules between its first and its
/// last change.
class EnergyTrace {
 public:
  /// At `seconds` of a steady clock, in order.
  void add(double seconds, double joules);

  struct Use {
    double seconds = 0;
    double joules = 0;
    [[nodiscard]] double watts() const { return joules / seconds; }
  };
  /// Empty unless the counter changed at two moments `min_s` apart.
  [[nodiscard]] std::optional<Use> use(double min_s) const;

 private:
  std::vector<Point> changes_;  // when, and to what
  std::optional<double> last_;
};

}  // namespace ridgeline::ceilings
