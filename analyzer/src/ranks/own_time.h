/// own_time.h: a rank's own time: its clock without what it waits, and without what its work takes longer for
/// collectives beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "ranks/spans.h"

namespace ridgeline::analyzer::ranks {

/// So much of its pace a rank's own time loses then, 0..1.
struct SlowedSpan {
  Span time;
  double lost = 0;
};

class OwnTime {
 public:
  /// `pauses`: disjoint and in order; own time stands still in them. `slowed`: where several are at once, the one that
  /// loses most counts.
  OwnTime(std::int64_t origin_ns, const Spans& pauses, const std::vector<SlowedSpan>& slowed);

  /// From the origin on, in nanoseconds.
  [[nodiscard]] double at(std::int64_t time_ns) const;

 private:
  std::int64_t origin_ns_;
  std::vector<SlowedSpan> taken_out_;  // disjoint, in order
  std::vector<double> before_;         // what is taken out before each
  double all_ = 0;
};

}  // namespace ridgeline::analyzer::ranks
