// intervals.h: sets of time as sorted, disjoint, non-empty half-open intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace ridgeline::analyzer {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

using IntervalSet = std::vector<Interval>;

/// The union of any intervals; empty and reversed ones are ignored.
[[nodiscard]] IntervalSet make_union(std::vector<Interval> intervals);
[[nodiscard]] IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] std::int64_t total_ns(const IntervalSet& set);

}  // namespace ridgeline::analyzer
