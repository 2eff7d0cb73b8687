// time_origin.h: times of a source whose clock may count from its first event, or from later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "recording/events.h"

namespace ridgeline::import {

/// Keeps times above zero while a file is read, for in a capture a time of zero is none. Order: 1. at() for each time
/// 2. shift_ns() to add to what at() gave, once all are read.
class TimeOrigin {
 public:
  /// A time of the source, moved. What lies more than 13 days before its zero stays below zero: no time.
  [[nodiscard]] std::int64_t at(std::int64_t time_ns) {
    if (time_ns > -kBeforeZeroNs && time_ns < kLatestNs) earliest_ns_ = std::min(earliest_ns_, time_ns);
    return time_ns + kBeforeZeroNs;
  }
  /// `base_ns`: what the source says its zero is on the clock of the capture; 0: nothing.
  [[nodiscard]] std::int64_t shift_ns(std::int64_t base_ns) const {
    return base_ns - kBeforeZeroNs + later_s(base_ns) * kSecondNs;
  }
  /// By how many whole seconds times of the capture are later than base and time say, so that none is zero or below.
  [[nodiscard]] std::int64_t later_s(std::int64_t base_ns) const {
    if (earliest_ns_ == INT64_MAX || base_ns + earliest_ns_ > 0) return 0;
    return -(base_ns + earliest_ns_) / kSecondNs + 1;
  }

 private:
  static constexpr std::int64_t kBeforeZeroNs = std::int64_t{1} << 50;  // 13 days
  static constexpr std::int64_t kSecondNs = 1'000'000'000;
  std::int64_t earliest_ns_ = INT64_MAX;
};

}  // namespace ridgeline::import
