// shards.h: which rank keeps which elements of master weights and moments, where each keeps its own part only
// (ZeRO-1, ZeRO-2). Host only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpt2/model/gradient_buckets.h"

namespace ridgeline::gpt2 {

/// Of each bucket rank r has the r-th of as many equal parts as there are ranks. A rank's parts lie one behind the
/// other in its own buffers, in the buckets' order: their "packed" places.
class Shards {
 public:
  /// Nothing is shared out: one rank keeps everything, at the places of the device layout.
  Shards() = default;
  Shards(std::vector<GradientBucket> buckets, int ranks);

  [[nodiscard]] bool empty() const { return buckets_.empty(); }
  /// Elements that each rank keeps.
  [[nodiscard]] std::int64_t packed_elements() const { return packed_elements_; }

  struct Part {
    std::int64_t begin = 0;  // elements of the device layout
    std::int64_t end = 0;
    std::int64_t packed = 0;  // where `begin` is kept
    std::int64_t count() const { return end - begin; }
  };
  /// A rank's part of each bucket.
  [[nodiscard]] std::vector<Part> parts(int rank) const;

  /// Calls segment(rank, Part) for the pieces that elements [begin, end) of the device layout are kept in, each once.
  template <class Segment>
  void for_segments(std::int64_t begin, std::int64_t end, const Segment& segment) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      for (const Part& part : parts_[static_cast<std::size_t>(rank)]) {
        const std::int64_t first = std::max(begin, part.begin);
        const std::int64_t last = std::min(end, part.end);
        if (first < last) segment(rank, Part{first, last, part.packed + (first - part.begin)});
      }
    }
  }

 private:
  std::vector<GradientBucket> buckets_;
  int ranks_ = 1;
  std::int64_t packed_elements_ = 0;
  std::vector<std::vector<Part>> parts_;  // of each rank
};

}  // namespace ridgeline::gpt2
