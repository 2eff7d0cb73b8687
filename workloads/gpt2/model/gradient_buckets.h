// gradient_buckets.h: the pieces in which ranks add up their gradients, in the order in which the backward pass
// completes them. Host only.
//
// Rule: going down from the last layer, a bucket closes at the first layer at which it has the wanted bytes of FP32
// gradients; all vectors are one more, since their sums are completed together at the end; the embeddings are the last.
// Edges lie at multiples of kBucketAlignment x ranks elements, so that every bucket divides among the ranks: what a
// layer has beyond its last edge goes with the layer below it. So the buckets are a function of model, size and ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "gpt2/model/device_layout.h"

namespace ridgeline::gpt2 {

inline constexpr std::int64_t kBucketAlignment = 128;

struct GradientBucket {
  /// What the backward pass must have completed: the matrices of layer `after`, or one of the two below.
  static constexpr int kVectors = -1;
  static constexpr int kEmbeddings = -2;

  std::int64_t begin = 0;  // elements of the device layout
  std::int64_t end = 0;  // may exceed the layout's total in the bucket of the vectors: see padded_elements()
  int after = 0;

  std::int64_t count() const { return end - begin; }
};

/// Elements that a buffer needs which is cut into buckets: the layout's total, rounded up.
std::int64_t padded_elements(const DeviceLayout& layout, int ranks);

/// Together they are [0, padded_elements()), none is empty. Throws std::invalid_argument unless bucket_bytes and
/// ranks are positive.
std::vector<GradientBucket> gradient_buckets(const DeviceLayout& layout, int layers,
                                             std::int64_t bucket_bytes, int ranks);

}  // namespace ridgeline::gpt2
