#include "ranks/spans.h"

namespace ridgeline::analyzer::ranks {

Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  Spans joined;
  for (const Span& span : spans) {
    if (span.end_ns <= span.start_ns) continue;
    if (!joined.empty() && span.start_ns <= joined.back().end_ns) {
      joined.back().end_ns = std::max(joined.back().end_ns, span.end_ns);
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

Spans clipped(const Spans& spans, Span within) {
  Spans inside;
  auto at = std::partition_point(spans.begin(), spans.end(),
                                 [&](const Span& span) { return span.end_ns <= within.start_ns; });
  for (; at != spans.end() && at->start_ns < within.end_ns; ++at)
    inside.push_back({std::max(at->start_ns, within.start_ns), std::min(at->end_ns, within.end_ns)});
  return inside;
}

Spans difference(const Spans& spans, const Spans& without) {
  Spans left;
  auto cut = without.begin();
  for (const Span& span : spans) {
    std::int64_t from = span.start_ns;
    while (cut != without.end() && cut->end_ns <= from) ++cut;
    for (auto next = cut; next != without.end() && next->start_ns < span.end_ns; ++next) {
      if (next->start_ns > from) left.push_back({from, next->start_ns});
      from = std::max(from, next->end_ns);
    }
    if (from < span.end_ns) left.push_back({from, span.end_ns});
  }
  return left;
}

std::int64_t length_ns(const Spans& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans) sum += span.end_ns - span.start_ns;
  return sum;
}

}  // namespace ridgeline::analyzer::ranks
