// overlap.h: who ran at the same time as whom.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
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
class OverlapSweep {
 public:
  explicit OverlapSweep(Share share) : share_(std::move(share)) {}

  /// In order of group, start and index.
  void add(const Span& span) {
    if (!running_.empty() && running_.front().group != span.group) finish();
    run_until(span.start_ns);
    now_ns_ = span.start_ns;
    running_.push_back(span);
  }
  void finish() { run_until(INT64_MAX); }

 private:
  void run_until(std::int64_t until_ns) {
    // Mostly one launch ends before the next begins.
    if (running_.size() == 1 && running_.front().end_ns <= until_ns) {
      const Span& only = running_.front();
      if (only.end_ns > now_ns_) share_(only.end_ns - now_ns_, std::span(&only.index, 1));
      now_ns_ = only.end_ns;
      running_.clear();
    }
    while (!running_.empty() && now_ns_ < until_ns) {
      const auto first = std::min_element(running_.begin(), running_.end(),
                                          [](const Span& a, const Span& b) { return a.end_ns < b.end_ns; });
      const std::int64_t next_ns = std::min(until_ns, first->end_ns);
      indices_.clear();
      for (const Span& span : running_) indices_.push_back(span.index);
      if (next_ns > now_ns_) share_(next_ns - now_ns_, std::span<const std::size_t>(indices_));
      now_ns_ = next_ns;
      std::erase_if(running_, [&](const Span& span) { return span.end_ns <= now_ns_; });
    }
  }

  Share share_;
  std::vector<Span> running_;
  std::vector<std::size_t> indices_;
  std::int64_t now_ns_ = 0;
};

/// Likewise of spans in any order.
template <typename Share>
void for_each_overlap(std::vector<Span> spans, const Share& share) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.group, a.start_ns, a.index) < std::tie(b.group, b.start_ns, b.index);
  });
  OverlapSweep sweep(share);
  for (const Span& span : spans) sweep.add(span);
  sweep.finish();
}

}  // namespace ridgeline::analyzer
