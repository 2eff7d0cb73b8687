#include "perfetto/slice_pairs.h"

#include <algorithm>
#include <cstddef>

namespace ridgeline::import {

namespace {

class Stack {
 public:
  explicit Stack(std::vector<std::int64_t>& end_ns) : end_ns_(end_ns) {}
  void begin(std::uint32_t slice) { open_.push_back(slice); }
  void end(std::int64_t time_ns) {
    if (open_.empty()) {
      ++unmatched_;
      return;
    }
    end_ns_[open_.back()] = time_ns;
    open_.pop_back();
  }
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] std::int64_t unmatched() const { return unmatched_; }

 private:
  std::vector<std::int64_t>& end_ns_;
  std::vector<std::uint32_t> open_;
  std::int64_t unmatched_ = 0;
};

}  // namespace

std::int64_t pair_slices(std::vector<SliceEdge>& edges, std::vector<std::int64_t>& end_ns) {
  const auto earlier = [](const SliceEdge& a, const SliceEdge& b) { return a.time_ns < b.time_ns; };
  Stack stack(end_ns);
  if (std::is_sorted(edges.begin(), edges.end(), earlier)) {
    for (const SliceEdge& edge : edges) {
      if (edge.slice == SliceEdge::kEnd) {
        stack.end(edge.time_ns);
      } else {
        stack.begin(edge.slice);
      }
    }
    return stack.unmatched();
  }
  std::stable_sort(edges.begin(), edges.end(), earlier);
  for (auto first = edges.begin(); first != edges.end();) {
    const auto last = std::upper_bound(first, edges.end(), *first, earlier);
    const auto ends = static_cast<std::size_t>(
        std::count_if(first, last, [](const SliceEdge& edge) { return edge.slice == SliceEdge::kEnd; }));
    const std::size_t of_earlier = std::min(ends, stack.depth());
    for (std::size_t i = 0; i < of_earlier; ++i) stack.end(first->time_ns);
    for (auto edge = first; edge != last; ++edge)
      if (edge->slice != SliceEdge::kEnd) stack.begin(edge->slice);
    for (std::size_t i = of_earlier; i < ends; ++i) stack.end(first->time_ns);
    first = last;
  }
  return stack.unmatched();
}

}  // namespace ridgeline::import
