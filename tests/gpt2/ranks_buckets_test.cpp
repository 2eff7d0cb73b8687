// The pieces in which gradients are added up, and each rank's sequences of a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpt2/model/config.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/gradient_buckets.h"
#include "gpt2/model/shards.h"
#include "gpt2/train/data/batch_slice.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {
namespace {

constexpr std::int64_t kMib = 1 << 20;

std::vector<GradientBucket> buckets_of(const std::string& model, std::int64_t bytes, int ranks) {
  const ModelConfig config = model_config(model);
  return gradient_buckets(DeviceLayout(config), config.layers, bytes, ranks);
}

TEST(GradientBuckets, CoverEverythingOnceAndDivideAmongRanks) {
  for (const std::string& model : model_names()) {
    const DeviceLayout layout(model_config(model));
    for (const int ranks : {1, 2, 3, 5, 8, 16}) {
      for (const std::int64_t mib : {1, 25, 40, 100, 10000}) {
        auto buckets = buckets_of(model, mib * kMib, ranks);
        std::sort(buckets.begin(), buckets.end(),
                  [](const auto& a, const auto& b) { return a.begin < b.begin; });
        std::int64_t next = 0;
        for (const GradientBucket& bucket : buckets) {
          EXPECT_EQ(bucket.begin, next) << model << " " << ranks << " " << mib;
          EXPECT_GT(bucket.count(), 0);
          EXPECT_EQ(bucket.count() % (kBucketAlignment * ranks), 0);
          next = bucket.end;
        }
        EXPECT_EQ(next, padded_elements(layout, ranks));
        EXPECT_GE(next, layout.total());
        EXPECT_LT(next, layout.total() + kBucketAlignment * ranks);
      }
    }
  }
}

// What the backward pass has completed after a layer, the vectors, the embeddings: nothing of a bucket may come later.
TEST(GradientBuckets, AreCompleteWhenTheyAreSent) {
  for (const std::string& model : model_names()) {
    const ModelConfig config = model_config(model);
    const DeviceLayout layout(config);
    for (const int ranks : {1, 3, 8}) {
      int before = config.layers;
      for (const GradientBucket& bucket : buckets_of(model, 40 * kMib, ranks)) {
        EXPECT_LT(bucket.after, before) << "in the backward pass's order";
        before = bucket.after;
        if (bucket.after >= 0) {
          EXPECT_GE(bucket.begin, layout.offset(Tensor::qkvw, bucket.after));
          EXPECT_LE(bucket.end, layout.vectors_start());
        } else if (bucket.after == GradientBucket::kVectors) {
          EXPECT_GE(bucket.begin, layout.embeddings_end());
        }
      }
      EXPECT_EQ(before, GradientBucket::kEmbeddings);
    }
  }
}

TEST(GradientBuckets, SizeDecidesHowManyLayersGoTogether) {
  // A layer's matrices of 124M are 28.3 MB, so that two reach 40 MiB; of 355M they are 50.3 MB.
  EXPECT_EQ(buckets_of("124M", 40 * kMib, 2).size(), 6U + 2U);
  EXPECT_EQ(buckets_of("355M", 40 * kMib, 2).size(), 24U + 2U);
  EXPECT_EQ(buckets_of("124M", 1, 2).size(), 12U + 2U);
  EXPECT_EQ(buckets_of("124M", 10000 * kMib, 2).size(), 1U + 2U);
  EXPECT_THROW(buckets_of("124M", 0, 2), std::invalid_argument);
  EXPECT_THROW(buckets_of("124M", 1, 0), std::invalid_argument);
}

TEST(Shards, EveryElementIsKeptOnceAndFound) {
  for (const char* model : {"tiny", "124M"}) {
    const ModelConfig config = model_config(model);
    const DeviceLayout layout(config);
    for (const int ranks : {1, 2, 3, 8}) {
      const Shards shards(buckets_of(model, kMib, ranks), ranks);
      EXPECT_FALSE(shards.empty());
      EXPECT_EQ(shards.packed_elements() * ranks, padded_elements(layout, ranks));
      std::int64_t kept = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        std::int64_t packed = 0;
        for (const Shards::Part& part : shards.parts(rank)) {
          EXPECT_EQ(part.packed, packed) << "one behind the other";
          packed += part.count();
        }
        EXPECT_EQ(packed, shards.packed_elements());
        kept += packed;
      }
      EXPECT_EQ(kept, padded_elements(layout, ranks));
    }
  }
}

TEST(Shards, ARangeIsCutWhereItsKeepersChange) {
  // Two buckets of 12 elements among three ranks: 4 each.
  const Shards shards({{12, 24, 0}, {0, 12, GradientBucket::kEmbeddings}}, 3);
  struct Piece {
    int rank;
    std::int64_t begin, end, packed;
    bool operator==(const Piece&) const = default;
  };
  const auto cut = [&](std::int64_t begin, std::int64_t end) {
    std::vector<Piece> pieces;
    shards.for_segments(begin, end, [&](int rank, const Shards::Part& part) {
      pieces.push_back({rank, part.begin, part.end, part.packed});
    });
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    return pieces;
  };
  EXPECT_EQ(cut(5, 7), (std::vector<Piece>{{1, 5, 7, 5}}));
  EXPECT_EQ(cut(10, 18), (std::vector<Piece>{{2, 10, 12, 6}, {0, 12, 16, 0}, {1, 16, 18, 0}}));
  EXPECT_TRUE(cut(7, 7).empty());
  EXPECT_THROW(Shards({{0, 10, 0}}, 3), std::invalid_argument);
}

TEST(BatchSlice, RanksTogetherReadWhatOneProcessReads) {
  constexpr int kBatch = 6;
  constexpr std::size_t kLength = 16;
  const auto whole = synthetic_source(97, 5, 0);
  std::vector<std::unique_ptr<TokenSource>> parts;
  for (int rank = 0; rank < 3; ++rank) {
    parts.push_back(sliced_source(synthetic_source(97, 5, 0), kBatch, slice_of_batch(kBatch, rank, 3)));
  }
  for (int step = 0; step < 3; ++step) {
    std::vector<std::int32_t> inputs(kBatch * kLength);
    std::vector<std::int32_t> targets(inputs.size());
    whole->next(inputs, targets);
    std::vector<std::int32_t> joined_inputs(inputs.size());
    std::vector<std::int32_t> joined_targets(inputs.size());
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      const std::size_t share = inputs.size() / parts.size();
      parts[rank]->next(std::span(joined_inputs).subspan(rank * share, share),
                        std::span(joined_targets).subspan(rank * share, share));
      EXPECT_EQ(parts[rank]->position(), whole->position()) << "no rank count is in it";
    }
    EXPECT_EQ(joined_inputs, inputs);
    EXPECT_EQ(joined_targets, targets);
  }
}

TEST(BatchSlice, ARestoredPartGoesOnWithTheWholesNextBatch) {
  constexpr std::size_t kLength = 8;
  const auto whole = synthetic_source(97, 5, 0);
  std::vector<std::int32_t> inputs(4 * kLength);
  std::vector<std::int32_t> targets(inputs.size());
  whole->next(inputs, targets);
  const auto part = sliced_source(synthetic_source(97, 5, 0), 4, slice_of_batch(4, 1, 2));
  part->restore(whole->position());
  whole->next(inputs, targets);
  std::vector<std::int32_t> mine(2 * kLength);
  std::vector<std::int32_t> ignored(mine.size());
  part->next(mine, ignored);
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), inputs.begin() + 2 * kLength));
  EXPECT_THROW(part->next(std::span(mine).first(3), std::span(ignored).first(3)), std::invalid_argument);
  EXPECT_THROW(sliced_source(synthetic_source(97, 5, 0), 4, {3, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2
