// gradient_places.h: where gradients lie in their buffer. Host only.
//
// Without ZeRO-2 they lie as the device layout has them. With it only a rank's own part of each bucket is
// kept; a layer's matrices are written into one of two slots, which its bucket leaves again as soon as its
// sum has been scattered:
//
//   [ embeddings and vectors, whole ][ slot 0 ][ slot 1 ][ the rank's own part of each bucket that has a slot ]
//
// Embeddings and vectors stay: the first and the last operation of the backward pass add to the one, all of them to the
// other. A bucket's edges are not those of its layers (gradient_buckets.h): what a slot holds that belongs to another
// bucket is moved on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/model/device_layout.h"
#include "gpt2/model/gradient_buckets.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {

class GradientPlaces {
 public:
  static constexpr int kNoSlot = -1;
  static constexpr int kSlots = 2;

  /// As the device layout has them, with room for what buckets add at the end.
  GradientPlaces(const DeviceLayout& layout, int layers, std::vector<GradientBucket> buckets, int ranks);
  /// The same with ZeRO-2.
  static GradientPlaces in_slots(const DeviceLayout& layout, int layers, std::vector<GradientBucket> buckets,
                                 int ranks);

  /// Elements that the buffer has.
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// A layer's matrices, and all vectors, lie so many elements behind their place in the device layout; the embeddings
  /// lie at theirs.
  [[nodiscard]] std::int64_t matrices_shift(int layer) const {
    return layer_shift_[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] std::int64_t vectors_shift() const { return vectors_shift_; }
  /// Its matrices are written anew in every micro-step: sums are kept elsewhere.
  [[nodiscard]] bool has_slot(int layer) const {
    return layer_slot_[static_cast<std::size_t>(layer)] != kNoSlot;
  }

  /// Elements that lie in a slot and belong to another bucket.
  struct Move {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t count = 0;
    bool into_slot =
        false;  // they replace what is there; else they are added in all micro-steps but the first
  };
  struct Bucket {
    std::int64_t data = 0;  // where its elements lie when they are added up over the ranks
    std::int64_t count = 0;
    std::int64_t own = 0;  // where a rank's part of that sum is kept; without a slot: in `data`
    int slot = kNoSlot;
    std::vector<Move> moves;  // once its layers are complete
  };
  /// As the buckets.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return placed_; }
  /// Where rank `rank`'s part of a bucket is found when all has been added up.
  [[nodiscard]] std::int64_t own(std::size_t bucket, int rank) const {
    const Bucket& b = placed_[bucket];
    return b.slot == kNoSlot ? b.data + rank * (b.count / ranks_) : b.own;
  }

 private:
  std::int64_t elements_ = 0;
  std::int64_t vectors_shift_ = 0;
  int ranks_ = 1;
  std::vector<std::int64_t> layer_shift_;
  std::vector<int> layer_slot_;
  std::vector<Bucket> placed_;
};

/// Of one layer in the buffer that begins at `base`.
inline LayerTensors<float> gradient_tensors(float* base, const GradientPlaces& places,
                                            const DeviceLayout& layout, int layer) {
  const auto matrix = [&](Tensor t) {
    return base + (layout.offset(t, layer) + places.matrices_shift(layer));
  };
  const auto vector = [&](Tensor t) { return base + (layout.offset(t, layer) + places.vectors_shift()); };
  LayerTensors<float> tensors{};
  tensors.qkvw = matrix(Tensor::qkvw);
  tensors.attprojw = matrix(Tensor::attprojw);
  tensors.fcw = matrix(Tensor::fcw);
  tensors.fcprojw = matrix(Tensor::fcprojw);
  tensors.ln1w = vector(Tensor::ln1w);
  tensors.ln1b = vector(Tensor::ln1b);
  tensors.qkvb = vector(Tensor::qkvb);
  tensors.attprojb = vector(Tensor::attprojb);
  tensors.ln2w = vector(Tensor::ln2w);
  tensors.ln2b = vector(Tensor::ln2b);
  tensors.fcb = vector(Tensor::fcb);
  tensors.fcprojb = vector(Tensor::fcprojb);
  return tensors;
}

}  // namespace ridgeline::gpt2
