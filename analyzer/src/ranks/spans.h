/// spans.h: stretches of time, as sorted lists without overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ridgeline::analyzer::ranks {

struct Span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};
using Spans = std::vector<Span>;

/// Sorted, and what overlaps or touches joined.
[[nodiscard]] Spans united(Spans spans);
/// Those parts of `spans` that lie within the time.
[[nodiscard]] Spans clipped(const Spans& spans, Span within);
/// What of `spans` is not in `without`; both united.
[[nodiscard]] Spans difference(const Spans& spans, const Spans& without);
[[nodiscard]] std::int64_t length_ns(const Spans& spans);

}  // namespace ridgeline::analyzer::ranks
