#include "gpt2/model/fp8_shards.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace ridgeline::gpt2 {

Fp8Shards::Fp8Shards(const DeviceLayout& layout, int layers, bool classifier,
                     std::vector<GradientBucket> buckets, int ranks, GatherPlace place)
    : layout_(layout),
      layers_(layers),
      tensors_(kFp8Weights.size() - (classifier ? 0 : 1)),
      shards_(buckets, ranks),
      plan_(fp8_gather_plan(layout, layers, buckets, place, classifier)),
      buckets_(std::move(buckets)) {
  base_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const std::size_t bucket : plan_.order) {
    base_ = std::min(base_, buckets_[bucket].begin);
    end = std::max(end, buckets_[bucket].end);
  }
  bytes_ = end - base_;
  for (GradientBucket& bucket : buckets_) {
    bucket.begin -= base_;
    bucket.end -= base_;
  }
}

std::vector<Fp8Part> Fp8Shards::parts(int rank) const {
  std::vector<Fp8Part> parts;
  for (std::size_t i = 0; i < tensors_; ++i) {
    const Tensor tensor = kFp8Weights[i];
    for (int layer = 0; layer < (tensor == Tensor::wte ? 1 : layers_); ++layer) {
      const std::int64_t begin = layout_.offset(tensor, layer);
      const std::int64_t end = begin + layout_.count(tensor);
      const auto weight = static_cast<std::int32_t>(static_cast<int>(i) * layers_ + layer);
      shards_.for_segments(begin, end, [&](int of_rank, const Shards::Part& segment) {
        if (of_rank != rank) return;
        if (segment.packed % 4 != 0 || segment.begin % 4 != 0 || segment.count() % 4 != 0)
          throw std::invalid_argument("Fp8Shards: a weight that is cut within four elements");
        append_fp8_parts(parts, segment.packed, segment.begin - base_, segment.count(), weight);
      });
    }
  }
  return parts;
}

}  // namespace ridgeline::gpt2
