// gains.h: arithmetic that rules share.
#pragma once

#include <algorithm>

#include "advice/rule.h"

namespace ridgeline::analyzer {

/// Parts of what there is at most, ns.
[[nodiscard]] inline AdviceGain gain_of(double max_ns, double low, double mid, double high = 1) {
  return {low * max_ns, mid * max_ns, high * max_ns};
}

/// A mean of launches, weighted by their time.
class TimeMean {
 public:
  void add(double value, double time_ns) {
    sum_ += value * time_ns;
    time_ns_ += time_ns;
  }
  [[nodiscard]] double value() const { return time_ns_ > 0 ? sum_ / time_ns_ : 0; }
  [[nodiscard]] double time_ns() const { return time_ns_; }

 private:
  double sum_ = 0, time_ns_ = 0;
};

/// The time at least that a launch takes by the roofs that it was measured against; 0: not measured.
[[nodiscard]] inline double bounded_ns(const LaunchView& launch) {
  return static_cast<double>(launch.duration_ns) * std::min(launch.limiter().value_or(0), 1.0);
}

}  // namespace ridgeline::analyzer
