#include "intervals.h"

#include <algorithm>

namespace ridgeline::analyzer {

IntervalSet make_union(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end_ns <= i.start_ns; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  IntervalSet set;
  for (const Interval& interval : intervals) {
    if (!set.empty() && interval.start_ns <= set.back().end_ns) {
      set.back().end_ns = std::max(set.back().end_ns, interval.end_ns);
    } else {
      set.push_back(interval);
    }
  }
  return set;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet both = a;
  both.insert(both.end(), b.begin(), b.end());
  return make_union(std::move(both));
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet rest;
  std::size_t next = 0;
  for (const Interval& interval : a) {
    std::int64_t start = interval.start_ns;
    while (next < b.size() && b[next].end_ns <= start) ++next;
    for (std::size_t i = next; i < b.size() && b[i].start_ns < interval.end_ns; ++i) {
      if (b[i].start_ns > start) rest.push_back({start, b[i].start_ns});
      start = std::max(start, b[i].end_ns);
    }
    if (start < interval.end_ns) rest.push_back({start, interval.end_ns});
  }
  return rest;
}

std::int64_t total_ns(const IntervalSet& set) {
  std::int64_t total = 0;
  for (const Interval& interval : set) total += interval.end_ns - interval.start_ns;
  return total;
}

}  // namespace ridgeline::analyzer
