#include "ranks/own_time.h"

#include <algorithm>
#include <set>

namespace ridgeline::analyzer::ranks {

namespace {

// Disjoint, in order; where several are at once, the one that loses most.
std::vector<SlowedSpan> disjoint(const std::vector<SlowedSpan>& spans) {
  struct Edge {
    std::int64_t time_ns;
    bool begins;
    double lost;
  };
  std::vector<Edge> edges;
  for (const SlowedSpan& span : spans) {
    if (span.time.end_ns <= span.time.start_ns || span.lost <= 0) continue;
    edges.push_back({span.time.start_ns, true, span.lost});
    edges.push_back({span.time.end_ns, false, span.lost});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time_ns < b.time_ns; });
  std::vector<SlowedSpan> out;
  std::multiset<double> now;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].begins)
      now.insert(edges[i].lost);
    else
      now.erase(now.find(edges[i].lost));
    if (now.empty() || edges[i + 1].time_ns == edges[i].time_ns) continue;
    out.push_back({{edges[i].time_ns, edges[i + 1].time_ns}, *now.rbegin()});
  }
  return out;
}

// Both in order. A rank that waits loses all of its pace, once.
std::vector<SlowedSpan> without(const std::vector<SlowedSpan>& slowed, const Spans& pauses) {
  std::vector<SlowedSpan> out;
  auto pause = pauses.begin();
  for (const SlowedSpan& span : slowed) {
    while (pause != pauses.end() && pause->end_ns <= span.time.start_ns) ++pause;
    std::int64_t at = span.time.start_ns;
    for (auto cut = pause; cut != pauses.end() && cut->start_ns < span.time.end_ns; ++cut) {
      if (cut->start_ns > at) out.push_back({{at, cut->start_ns}, span.lost});
      at = std::max(at, cut->end_ns);
    }
    if (at < span.time.end_ns) out.push_back({{at, span.time.end_ns}, span.lost});
  }
  return out;
}

}  // namespace

OwnTime::OwnTime(std::int64_t origin_ns, const Spans& pauses, const std::vector<SlowedSpan>& slowed)
    : origin_ns_(origin_ns) {
  std::vector<SlowedSpan> all = without(disjoint(slowed), pauses);
  for (const Span& pause : pauses) all.push_back({pause, 1});
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; });
  for (const SlowedSpan& span : all) {
    taken_out_.push_back(span);
    before_.push_back(all_);
    all_ += span.lost * static_cast<double>(span.time.end_ns - span.time.start_ns);
  }
}

double OwnTime::at(std::int64_t time_ns) const {
  const auto after = std::partition_point(taken_out_.begin(), taken_out_.end(), [&](const SlowedSpan& span) {
    return span.time.end_ns <= time_ns;
  });
  double out = all_;
  if (after != taken_out_.end()) {
    out = before_[static_cast<std::size_t>(after - taken_out_.begin())];
    if (time_ns > after->time.start_ns)
      out += after->lost * static_cast<double>(time_ns - after->time.start_ns);
  }
  return static_cast<double>(time_ns - origin_ns_) - out;
}

}  // namespace ridgeline::analyzer::ranks
