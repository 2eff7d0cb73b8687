// overlap.h: who ran at the same time as whom.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace ridgeline::analyzer {

/// An interval with the index of what ran in it; `group` keeps devices apart.
struct Span {
  std::int64_t group = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // after start_ns
  std::size_t index = 0;
};

/// Calls share(length_ns, indices that ran all the time) for each stretch between two begins or ends in which
/// anything ran, in order of time within a group.
template <typename Share>
void for_each_overlap(std::vector<Span> spans, const Share& share) {
  const auto by_start = [](const Span& a, const Span& b) {
    return std::tie(a.group, a.start_ns, a.index) < std::tie(b.group, b.start_ns, b.index);
  };
  if (!std::is_sorted(spans.begin(), spans.end(), by_start)) std::sort(spans.begin(), spans.end(), by_start);
  std::vector<Span> running;
  std::vector<std::size_t> indices;
  std::int64_t now_ns = 0;
  const auto run_until = [&](std::int64_t until_ns) {
    while (!running.empty() && now_ns < until_ns) {
      const auto first = std::min_element(running.begin(), running.end(),
                                          [](const Span& a, const Span& b) { return a.end_ns < b.end_ns; });
      const std::int64_t next_ns = std::min(until_ns, first->end_ns);
      indices.clear();
      for (const Span& span : running) indices.push_back(span.index);
      if (next_ns > now_ns) share(next_ns - now_ns, indices);
      now_ns = next_ns;
      std::erase_if(running, [&](const Span& span) { return span.end_ns <= now_ns; });
    }
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0 && spans[i].group != spans[i - 1].group) run_until(INT64_MAX);
    run_until(spans[i].start_ns);
    now_ns = spans[i].start_ns;
    running.push_back(spans[i]);
  }
  run_until(INT64_MAX);
}

}  // namespace ridgeline::analyzer
