#include "gpt2/model/gradient_buckets.h"

#include <stdexcept>

namespace ridgeline::gpt2 {
namespace {

std::int64_t rounded_up(std::int64_t elements, std::int64_t multiple) {
  return (elements + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t padded_elements(const DeviceLayout& layout, int ranks) {
  return rounded_up(layout.total(), kBucketAlignment * ranks);
}

std::vector<GradientBucket> gradient_buckets(const DeviceLayout& layout, int layers,
                                             std::int64_t bucket_bytes, int ranks) {
  if (bucket_bytes < 1 || ranks < 1) throw std::invalid_argument("gradient_buckets: no size or no ranks");
  const std::int64_t edge = kBucketAlignment * ranks;
  const std::int64_t wanted = bucket_bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t matrices_end = layout.vectors_start() / edge * edge;

  std::vector<GradientBucket> buckets;
  std::int64_t end = matrices_end;
  for (int layer = layers - 1; layer >= 0; --layer) {
    const std::int64_t begin = rounded_up(layout.offset(Tensor::qkvw, layer), edge);
    if (end - begin < wanted && layer > 0) continue;
    if (begin >= end) continue;
    buckets.push_back({begin, end, layer});
    end = begin;
  }
  buckets.push_back({matrices_end, padded_elements(layout, ranks), GradientBucket::kVectors});
  buckets.push_back({0, end, GradientBucket::kEmbeddings});
  return buckets;
}

}  // namespace ridgeline::gpt2
