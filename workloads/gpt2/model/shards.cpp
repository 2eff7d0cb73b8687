#include "gpt2/model/shards.h"

#include <stdexcept>
#include <utility>

namespace ridgeline::gpt2 {

Shards::Shards(std::vector<GradientBucket> buckets, int ranks)
    : buckets_(std::move(buckets)), ranks_(ranks), parts_(static_cast<std::size_t>(ranks)) {
  for (const GradientBucket& bucket : buckets_) {
    const std::int64_t count = bucket.count() / ranks;
    if (count * ranks != bucket.count()) throw std::invalid_argument("Shards: a bucket that does not divide");
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t begin = bucket.begin + rank * count;
      parts_[static_cast<std::size_t>(rank)].push_back({begin, begin + count, packed_elements_});
    }
    packed_elements_ += count;
  }
}

std::vector<Shards::Part> Shards::parts(int rank) const {
  return parts_.at(static_cast<std::size_t>(rank));
}

}  // namespace ridgeline::gpt2
