#include "gpt2/model/gradient_places.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ridgeline::gpt2 {

GradientPlaces::GradientPlaces(const DeviceLayout& layout, int layers, std::vector<GradientBucket> buckets,
                               int ranks)
    : elements_(padded_elements(layout, ranks)),
      ranks_(ranks),
      layer_shift_(static_cast<std::size_t>(layers), 0),
      layer_slot_(static_cast<std::size_t>(layers), kNoSlot) {
  for (const GradientBucket& bucket : buckets)
    placed_.push_back(
        {.data = bucket.begin, .count = bucket.count(), .own = bucket.begin, .slot = kNoSlot, .moves = {}});
}

GradientPlaces GradientPlaces::in_slots(const DeviceLayout& layout, int layers,
                                        std::vector<GradientBucket> buckets, int ranks) {
  GradientPlaces places(layout, layers, buckets, ranks);
  const std::size_t slotted = buckets.size() - 2;  // the vectors' and the embeddings' come last
  const GradientBucket& vectors = buckets[slotted];
  const GradientBucket& embeddings = buckets[slotted + 1];
  const auto layer_begin = [&](int layer) { return layout.offset(Tensor::qkvw, layer); };
  const auto layer_end = [&](int layer) {
    return layer + 1 < layers ? layer_begin(layer + 1) : layout.vectors_start();
  };

  // What each slot has to hold: a bucket's layers whole, and what the bucket has of the layer above them. Its beginning
  // keeps the alignment that it has in the layout.
  struct Span {
    std::int64_t from = 0, to = 0;
    int lowest = 0, highest = 0;
  };
  std::vector<Span> spans(slotted);
  std::array<std::int64_t, kSlots> slot_elements{};
  int highest = layers - 1;
  for (std::size_t k = 0; k < slotted; ++k) {
    const int lowest = buckets[k].after;
    spans[k] = {layer_begin(lowest) / kBucketAlignment * kBucketAlignment,
                std::max(layer_end(highest), buckets[k].end), lowest, highest};
    std::int64_t& room = slot_elements[k % kSlots];
    room = std::max(room, spans[k].to - spans[k].from);
    highest = lowest - 1;
  }

  places.vectors_shift_ = embeddings.end - vectors.begin;
  std::int64_t next = embeddings.end + vectors.count();
  std::array<std::int64_t, kSlots> slots{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] = next;
    next += (slot_elements[i] + kBucketAlignment - 1) / kBucketAlignment * kBucketAlignment;
  }
  for (std::size_t k = 0; k < slotted; ++k) {
    Bucket& bucket = places.placed_[k];
    const Span& span = spans[k];
    bucket.slot = static_cast<int>(k % kSlots);
    const std::int64_t shift = slots[k % kSlots] - span.from;
    bucket.data = buckets[k].begin + shift;
    bucket.own = next;
    next += bucket.count / ranks;
    for (int layer = span.lowest; layer <= span.highest; ++layer) {
      places.layer_shift_[static_cast<std::size_t>(layer)] = shift;
      places.layer_slot_[static_cast<std::size_t>(layer)] = bucket.slot;
    }
    // Below its first edge: the next bucket's, or the embeddings'.
    const std::int64_t below = layer_begin(span.lowest);
    if (const std::int64_t count = buckets[k].begin - below; count > 0) {
      const bool into_slot = k + 1 < slotted;
      const std::int64_t to = into_slot ? slots[(k + 1) % kSlots] + below - spans[k + 1].from : below;
      bucket.moves.push_back({below + shift, to, count, into_slot});
    }
    // Beyond the last edge of all matrices: the vectors'.
    if (const std::int64_t count = layer_end(span.highest) - buckets[k].end; k == 0 && count > 0)
      bucket.moves.push_back({buckets[k].end + shift, buckets[k].end + places.vectors_shift_, count, false});
  }
  places.placed_[slotted].data = places.placed_[slotted].own = embeddings.end;
  places.elements_ = next;
  return places;
}

}  // namespace ridgeline::gpt2
