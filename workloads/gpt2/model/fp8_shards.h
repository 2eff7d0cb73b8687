// fp8_shards.h: how the weights in FP8 lie and travel where each rank casts the part of them whose master weights it
// keeps (ZeRO-1, ZeRO-2). Host only.
//
// Bytes lie in the device layout's order, one an element, so that a bucket's are one piece of memory and each rank has
// cast the part that it updates. Buckets that hold no weight have no bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/model/device_layout.h"
#include "gpt2/model/gather_plan.h"
#include "gpt2/model/gradient_buckets.h"
#include "gpt2/model/shards.h"
#include "gpt2/ops/fp8/cast_parts.h"

namespace ridgeline::gpt2 {

/// What may be stored as FP8: the layers' matrices, then wte. A weight's number is that of its tensor here times the
/// layers, plus its layer.
inline constexpr std::array kFp8Weights = {Tensor::qkvw, Tensor::attprojw, Tensor::fcw, Tensor::fcprojw,
                                           Tensor::wte};

class Fp8Shards {
 public:
  /// classifier: with wte. Throws std::invalid_argument unless all weights begin and end at multiples of 4 elements.
  Fp8Shards(const DeviceLayout& layout, int layers, bool classifier, std::vector<GradientBucket> buckets,
            int ranks, GatherPlace place);

  /// Of the buffer.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Where a weight begins in it.
  [[nodiscard]] std::int64_t at(Tensor tensor, int layer) const {
    return layout_.offset(tensor, layer) - base_;
  }

  /// The buckets, in bytes of the buffer; those that its plan does not name lie outside of it. Reads: the layers, then
  /// the classifier.
  [[nodiscard]] const std::vector<GradientBucket>& buckets() const { return buckets_; }
  [[nodiscard]] const GatherPlan& plan() const { return plan_; }

  /// What a rank casts, from its packed master weights.
  [[nodiscard]] std::vector<Fp8Part> parts(int rank) const;

 private:
  DeviceLayout layout_;
  int layers_;
  std::size_t tensors_;  // of kFp8Weights
  Shards shards_;
  GatherPlan plan_;
  std::vector<GradientBucket> buckets_;
  std::int64_t base_ = 0;  // the first element that has a byte
  std::int64_t bytes_ = 0;
};

}  // namespace ridgeline::gpt2
