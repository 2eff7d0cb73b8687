// The pieces in which gradients are added up and parameters cast and handed on, and each rank's sequences of a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpt2/model/config.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/fp8_shards.h"
#include "gpt2/model/gather_plan.h"
#include "gpt2/model/gradient_buckets.h"
#include "gpt2/model/gradient_places.h"
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

// ZeRO-2 on the host: ranks write their gradients layer by layer as the backward pass does, buckets are added up and
// cut among them when they are complete, and what a slot has left is lost.
class SlottedGradients {
 public:
  SlottedGradients(const ModelConfig& config, std::int64_t bucket_bytes, int ranks)
      : config_(config),
        layout_(config),
        buckets_(gradient_buckets(layout_, config.layers, bucket_bytes, ranks)),
        places_(GradientPlaces::in_slots(layout_, config.layers, buckets_, ranks)),
        ranks_(ranks),
        buffers_(static_cast<std::size_t>(ranks),
                 std::vector<double>(static_cast<std::size_t>(places_.elements()), kLost)) {
    for (auto& buffer : buffers_)
      for (std::int64_t e = layout_.total(); e < padded_elements(layout_, ranks); ++e)
        buffer[index(e + places_.vectors_shift())] = 0;
  }

  void micro_step(int micro, bool last) {
    const bool first = micro == 0;
    add(0, layout_.embeddings_end(), 0, micro, first);
    std::size_t next = 0;
    for (int layer = config_.layers - 1; layer >= 0; --layer) {
      const std::int64_t begin = layout_.offset(Tensor::qkvw, layer);
      const std::int64_t end =
          layer + 1 < config_.layers ? layout_.offset(Tensor::qkvw, layer + 1) : layout_.vectors_start();
      add(begin, end, places_.matrices_shift(layer), micro, first || places_.has_slot(layer));
      // The tail of the last layer may be the vectors' already, which come below.
      if (next < buckets_.size() && buckets_[next].after == layer) empty(next++, first);
    }
    add(layout_.vectors_start(), layout_.total(), places_.vectors_shift(), micro, first);
    if (!last) return;
    for (; next < buckets_.size(); ++next) sum(next);
  }

  // Each rank's part of each bucket is the sum of what all ranks wrote in all micro-steps.
  void expect_sums(int micros) const {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      const std::int64_t share = buckets_[bucket].count() / ranks_;
      for (int rank = 0; rank < ranks_; ++rank) {
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < share; ++i) {
          const std::int64_t e = buckets_[bucket].begin + rank * share + i;
          double expected = 0;
          for (int r = 0; e < layout_.total() && r < ranks_; ++r)
            for (int micro = 0; micro < micros; ++micro) expected += value(e, r, micro);
          const double got = buffers_[static_cast<std::size_t>(rank)][index(places_.own(bucket, rank) + i)];
          if (got != expected) ++wrong;
        }
        EXPECT_EQ(wrong, 0) << "bucket " << bucket << " of rank " << rank << " of " << ranks_;
      }
    }
  }

 private:
  static constexpr double kLost = -1e30;  // whatever is added to it stays far from any gradient
  static std::size_t index(std::int64_t at) { return static_cast<std::size_t>(at); }
  static double value(std::int64_t element, int rank, int micro) {
    return static_cast<double>((element * 7 + rank * 1001 + micro * 333) % 4099);
  }
  void add(std::int64_t begin, std::int64_t end, std::int64_t shift, int micro, bool replaces) {
    for (int rank = 0; rank < ranks_; ++rank) {
      auto& buffer = buffers_[static_cast<std::size_t>(rank)];
      for (std::int64_t e = begin; e < end; ++e) {
        double& at = buffer.at(index(e + shift));
        at = (replaces ? 0 : at) + value(e, rank, micro);
      }
    }
  }
  std::vector<double> summed(std::size_t bucket) const {
    const GradientPlaces::Bucket& place = places_.buckets()[bucket];
    std::vector<double> sums(index(place.count), 0);
    for (const auto& buffer : buffers_)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += buffer.at(index(place.data) + i);
    return sums;
  }
  void sum(std::size_t bucket) {
    const std::vector<double> sums = summed(bucket);
    for (auto& buffer : buffers_)
      std::copy(sums.begin(), sums.end(), buffer.begin() + places_.buckets()[bucket].data);
  }
  void empty(std::size_t bucket, bool first) {
    const GradientPlaces::Bucket& place = places_.buckets()[bucket];
    ASSERT_NE(place.slot, GradientPlaces::kNoSlot);
    const std::vector<double> sums = summed(bucket);
    const std::int64_t share = place.count / ranks_;
    for (int rank = 0; rank < ranks_; ++rank) {
      auto& buffer = buffers_[static_cast<std::size_t>(rank)];
      std::fill_n(buffer.begin() + place.data, place.count, kLost);
      for (std::int64_t i = 0; i < share; ++i) {
        double& at = buffer.at(index(place.own + i));
        at = (first ? 0 : at) + sums[index(rank * share + i)];
      }
      for (const GradientPlaces::Move& move : place.moves) {
        for (std::int64_t i = 0; i < move.count; ++i) {
          double& to = buffer.at(index(move.to + i));
          to = (first || move.into_slot ? 0 : to) + buffer.at(index(move.from + i));
        }
      }
    }
  }

  ModelConfig config_;
  DeviceLayout layout_;
  std::vector<GradientBucket> buckets_;
  GradientPlaces places_;
  int ranks_;
  std::vector<std::vector<double>> buffers_;
};

ModelConfig uneven_config() {
  ModelConfig config = model_config("tiny");
  config.layers = 5;
  config.channels = 36;  // a layer's matrices are 15,552 elements: no multiple of an edge
  config.heads = 2;
  config.vocab = 61;
  config.padded_vocab = 61;
  config.max_t = 16;
  return config;
}

TEST(GradientPlaces, InSlotsEveryPartIsTheSumOfAllRanksAndMicroSteps) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{100'000}, kMib}) {
      for (const int micros : {1, 3}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, buckets of " + std::to_string(bytes));
        SlottedGradients gradients(uneven_config(), bytes, ranks);
        for (int micro = 0; micro < micros; ++micro) gradients.micro_step(micro, micro + 1 == micros);
        gradients.expect_sums(micros);
      }
    }
  }
}

TEST(GradientPlaces, WithoutSlotsAreThoseOfTheLayout) {
  const ModelConfig config = uneven_config();
  const DeviceLayout layout(config);
  const std::vector<GradientBucket> buckets = gradient_buckets(layout, config.layers, 1, 2);
  const GradientPlaces places(layout, config.layers, buckets, 2);
  EXPECT_EQ(places.elements(), padded_elements(layout, 2));
  EXPECT_EQ(places.vectors_shift(), 0);
  for (int layer = 0; layer < config.layers; ++layer) {
    EXPECT_EQ(places.matrices_shift(layer), 0);
    EXPECT_FALSE(places.has_slot(layer));
  }
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(places.buckets()[i].data, buckets[i].begin);
    EXPECT_EQ(places.own(i, 1), buckets[i].begin + buckets[i].count() / 2);
  }
}

// FP32 gradients of 774M at buckets of 40 MiB: 3.10 GB as the layout has them.
TEST(GradientPlaces, InSlotsTakeTheEmbeddingsTwoBucketsAndAPart) {
  const ModelConfig config = model_config("774M");
  const DeviceLayout layout(config);
  const auto bytes = [&](int ranks) {
    const GradientPlaces places = GradientPlaces::in_slots(
        layout, config.layers, gradient_buckets(layout, config.layers, 40 * kMib, ranks), ranks);
    return 4 * places.elements();
  };
  const std::int64_t embeddings = 4 * layout.embeddings_end();
  const std::int64_t matrices = 4 * (layout.vectors_start() - layout.embeddings_end());
  for (const int ranks : {2, 8}) {
    const std::int64_t expected = embeddings + 2 * matrices / config.layers + matrices / ranks;
    EXPECT_GE(bytes(ranks), expected);
    EXPECT_LE(bytes(ranks), expected + expected / 100) << "vectors and edges are small";
  }
  EXPECT_LT(bytes(2), 1'850'000'000);
  EXPECT_LT(bytes(8), 790'000'000);
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

constexpr GatherPlace kPlaces[] = {GatherPlace::update, GatherPlace::forward};

// Where a layer's matrices end.
std::int64_t matrices_end(const DeviceLayout& layout, int layers, int layer) {
  return layer + 1 < layers ? layout.offset(Tensor::qkvw, layer + 1) : layout.vectors_start();
}

// Steps of several ranks on the host, in which each element is the number of the step that has updated it. A gather
// arrives as late as it may: when it is waited for.
class GatheredParameters {
 public:
  GatheredParameters(const ModelConfig& config, std::int64_t bucket_bytes, int ranks, GatherPlace place)
      : config_(config),
        layout_(config),
        buckets_(gradient_buckets(layout_, config.layers, bucket_bytes, ranks)),
        plan_(gather_plan(layout_, config.layers, buckets_, place)),
        shards_(buckets_, ranks),
        ranks_(ranks),
        updated_(static_cast<std::size_t>(ranks),
                 std::vector<int>(static_cast<std::size_t>(padded_elements(layout_, ranks)), 0)),
        gathers_(buckets_.size(), 0) {}

  void step() {
    gathers_.assign(buckets_.size(), 0);
    forward();
    ++step_;
    update();
    for (const int gathers : gathers_) EXPECT_EQ(gathers, 1) << "in a step";
  }
  void complete() {
    for (const std::size_t bucket : plan_.order)
      if (!plan_.at_once[bucket]) gather(bucket);
    expect_read(0, layout_.total());
  }

 private:
  void forward() {
    expect_read(0, layout_.embeddings_end());
    expect_read(layout_.vectors_start(), layout_.total());
    auto next = plan_.order.begin();
    for (int layer = 0; layer < config_.layers; ++layer) {
      if (const auto& until = plan_.before_layer[static_cast<std::size_t>(layer)]) {
        for (bool reached = false; !reached; ++next) {
          ASSERT_NE(next, plan_.order.end())
              << "layer " << layer << " waits for what has come, or never comes";
          reached = *next == *until;
          if (!plan_.at_once[*next]) gather(*next);
        }
      }
      expect_read(layout_.offset(Tensor::qkvw, layer), matrices_end(layout_, config_.layers, layer));
    }
  }
  void update() {
    for (const std::size_t bucket : plan_.order) {
      for (int rank = 0; rank < ranks_; ++rank) {
        const Shards::Part part = shards_.parts(rank)[bucket];
        std::fill_n(updated_[static_cast<std::size_t>(rank)].begin() + part.begin, part.count(), step_);
      }
      if (plan_.at_once[bucket]) gather(bucket);
    }
  }
  void gather(std::size_t bucket) {
    for (int rank = 0; rank < ranks_; ++rank) {
      const Shards::Part part = shards_.parts(rank)[bucket];
      const auto own = updated_[static_cast<std::size_t>(rank)].begin() + part.begin;
      for (auto& of_rank : updated_) std::copy_n(own, part.count(), of_rank.begin() + part.begin);
    }
    ++gathers_[bucket];
  }
  void expect_read(std::int64_t begin, std::int64_t end) const {
    for (const auto& of_rank : updated_)
      EXPECT_EQ(std::count(of_rank.begin() + begin, of_rank.begin() + end, step_), end - begin)
          << "of elements " << begin << " to " << end << " in step " << step_;
  }

  ModelConfig config_;
  DeviceLayout layout_;
  std::vector<GradientBucket> buckets_;
  GatherPlan plan_;
  Shards shards_;
  int ranks_;
  std::vector<std::vector<int>> updated_;  // of each rank
  std::vector<int> gathers_;               // of each bucket, since a step began
  int step_ = 0;
};

TEST(GatherPlan, EveryElementIsGatheredOnceAStepBeforeItIsRead) {
  for (const GatherPlace place : kPlaces) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{100'000}, kMib}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, buckets of " + std::to_string(bytes) + " under the " +
                     (place == GatherPlace::update ? "update" : "forward pass"));
        GatheredParameters parameters(uneven_config(), bytes, ranks, place);
        for (int step = 0; step < 3; ++step) parameters.step();
        parameters.complete();
        parameters.step();
      }
    }
  }
}

// Every bucket once, the first ones where no layer waits for them, and layers in the order of what they wait for.
TEST(GatherPlan, ALayerWaitsForWhatItReadsAndNoMore) {
  for (const std::string& model : model_names()) {
    const ModelConfig config = model_config(model);
    const DeviceLayout layout(config);
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const std::int64_t mib : {1, 25, 40, 100, 10000}) {
        SCOPED_TRACE(model + ", " + std::to_string(ranks) + " ranks, " + std::to_string(mib) + " MiB");
        const std::vector<GradientBucket> buckets = buckets_of(model, mib * kMib, ranks);
        const GatherPlan plan = gather_plan(layout, config.layers, buckets, GatherPlace::forward);
        std::vector<std::size_t> sorted = plan.order;
        std::sort(sorted.begin(), sorted.end());
        std::vector<std::size_t> each(buckets.size());
        std::iota(each.begin(), each.end(), std::size_t{0});
        EXPECT_EQ(sorted, each);
        std::int64_t gathered = layout.embeddings_end();
        bool may_be_at_once = true;
        for (const std::size_t bucket : plan.order) {
          if (!plan.at_once[bucket]) may_be_at_once = false;
          EXPECT_EQ(plan.at_once[bucket], may_be_at_once) << "those that are come first";
        }
        for (int layer = 0; layer < config.layers; ++layer) {
          const auto& bucket = plan.before_layer[static_cast<std::size_t>(layer)];
          if (bucket) {
            EXPECT_LT(buckets[*bucket].begin, matrices_end(layout, config.layers, layer))
                << "layer " << layer;
            EXPECT_GT(buckets[*bucket].end, gathered) << "layer " << layer << " waits again";
            gathered = buckets[*bucket].end;
          }
        }
      }
    }
  }
}

TEST(GatherPlan, UnderTheUpdateNothingIsLeftForTheForwardPass) {
  const ModelConfig config = model_config("124M");
  const GatherPlan plan =
      gather_plan(DeviceLayout(config), config.layers, buckets_of("124M", 40 * kMib, 2), GatherPlace::update);
  EXPECT_EQ(std::count(plan.at_once.begin(), plan.at_once.end(), true), 6 + 2);
  for (const auto& bucket : plan.before_layer) EXPECT_FALSE(bucket.has_value());
}

// Two layers of 124M are a bucket: the first of each two waits, and the embeddings and vectors are apart.
TEST(GatherPlan, UnderTheForwardPassTheFirstLayerOfABucketWaits) {
  const ModelConfig config = model_config("124M");
  const std::vector<GradientBucket> buckets = buckets_of("124M", 40 * kMib, 2);
  const GatherPlan plan = gather_plan(DeviceLayout(config), config.layers, buckets, GatherPlace::forward);
  EXPECT_EQ(plan.order, (std::vector<std::size_t>{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(std::count(plan.at_once.begin(), plan.at_once.end(), true), 2);
  for (int layer = 0; layer < config.layers; ++layer) {
    const auto& bucket = plan.before_layer[static_cast<std::size_t>(layer)];
    EXPECT_EQ(bucket.has_value(), layer % 2 == 0) << layer;
    if (bucket) {
      EXPECT_EQ(*bucket, static_cast<std::size_t>(5 - layer / 2));
    }
  }
}

// Sizes that FP8 takes; edges of buckets lie beside those of layers with three and five ranks.
ModelConfig fp8_config() {
  ModelConfig config = model_config("tiny");
  config.layers = 3;
  config.channels = 48;
  config.heads = 3;
  config.vocab = 61;
  config.padded_vocab = 64;
  config.max_t = 16;
  return config;
}

// Weights in FP8 on the host, each rank its part, from masters that all could see.
class CastWeights {
 public:
  CastWeights(bool classifier, std::int64_t bucket_bytes, int ranks, GatherPlace place)
      : config_(fp8_config()),
        layout_(config_),
        buckets_(gradient_buckets(layout_, config_.layers, bucket_bytes, ranks)),
        shards_(buckets_, ranks),
        fp8_(layout_, config_.layers, classifier, buckets_, ranks, place),
        classifier_(classifier),
        ranks_(ranks),
        master_(static_cast<std::size_t>(padded_elements(layout_, ranks))) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.02F);
    for (float& value : master_) value = normal(random);
  }

  // As Fp8Layers does in each rank, with the maximum and the gathers of the communicator.
  void cast() {
    std::vector<float> amax(kFp8Weights.size() * static_cast<std::size_t>(config_.layers));
    for (int rank = 0; rank < ranks_; ++rank)
      fp8_amax_parts_cpu(amax.data(), packed(rank).data(), fp8_.parts(rank));
    scales_.clear();
    for (const float largest : amax) {
      const float scale = fp8_scale(largest, Fp8Format::e4m3);
      scales_.push_back(scale == 0 ? 1 : scale);
    }
    gathered_.assign(static_cast<std::size_t>(fp8_.bytes()), 0);
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<std::uint8_t> own(gathered_.size(), 0);
      fp8_cast_parts_cpu(own.data(), packed(rank).data(), scales_.data(), fp8_.parts(rank));
      for (const std::size_t bucket : fp8_.plan().order) {
        const GradientBucket& bytes = fp8_.buckets()[bucket];
        const std::int64_t share = bytes.count() / ranks_;
        const std::int64_t begin = bytes.begin + rank * share;
        ASSERT_GE(begin, 0);
        ASSERT_LE(begin + share, fp8_.bytes());
        std::copy_n(own.begin() + begin, share, gathered_.begin() + begin);
      }
    }
  }

  // Every weight by itself, of all its master weights.
  void expect_those_of_one_process() const {
    for (std::size_t i = 0; i < kFp8Weights.size() - (classifier_ ? 0 : 1); ++i) {
      const Tensor tensor = kFp8Weights[i];
      for (int layer = 0; layer < (tensor == Tensor::wte ? 1 : config_.layers); ++layer) {
        const auto begin = master_.begin() + layout_.offset(tensor, layer);
        float largest = 0;
        for (std::int64_t e = 0; e < layout_.count(tensor); ++e)
          largest = std::max(largest, std::fabs(begin[e]));
        const float scale = fp8_scale(largest, Fp8Format::e4m3);
        EXPECT_EQ(scales_[i * static_cast<std::size_t>(config_.layers) + static_cast<std::size_t>(layer)],
                  scale);
        std::int64_t wrong = 0;
        for (std::int64_t e = 0; e < layout_.count(tensor); ++e) {
          const std::uint8_t got = gathered_.at(static_cast<std::size_t>(fp8_.at(tensor, layer) + e));
          if (got != fp8_bits(begin[e] * scale, Fp8Format::e4m3)) ++wrong;
        }
        EXPECT_EQ(wrong, 0) << "tensor " << i << " of layer " << layer;
      }
    }
  }

 private:
  std::vector<float> packed(int rank) const {
    std::vector<float> values(static_cast<std::size_t>(shards_.packed_elements()));
    for (const Shards::Part& part : shards_.parts(rank))
      std::copy_n(master_.begin() + part.begin, part.count(), values.begin() + part.packed);
    return values;
  }

  ModelConfig config_;
  DeviceLayout layout_;
  std::vector<GradientBucket> buckets_;
  Shards shards_;
  Fp8Shards fp8_;
  bool classifier_;
  int ranks_;
  std::vector<float> master_;  // in the device layout's order
  std::vector<float> scales_;
  std::vector<std::uint8_t> gathered_;
};

TEST(Fp8Shards, RanksTogetherCastWhatOneProcessCasts) {
  for (const bool classifier : {false, true}) {
    for (const GatherPlace place : kPlaces) {
      for (const int ranks : {1, 2, 3, 4, 5}) {
        for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{200'000}, kMib}) {
          SCOPED_TRACE(std::to_string(ranks) + " ranks, buckets of " + std::to_string(bytes));
          CastWeights weights(classifier, bytes, ranks, place);
          weights.cast();
          weights.expect_those_of_one_process();
        }
      }
    }
  }
}

// A layer's bytes, and the classifier's, have all been gathered when they are read, bucket by bucket in one order.
TEST(Fp8Shards, BytesAreGatheredBeforeTheyAreRead) {
  const ModelConfig config = fp8_config();
  const DeviceLayout layout(config);
  for (const bool classifier : {false, true}) {
    for (const int ranks : {1, 2, 3, 5}) {
      for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{200'000}, kMib}) {
        const auto buckets = gradient_buckets(layout, config.layers, bytes, ranks);
        const GatherPlan plan =
            fp8_gather_plan(layout, config.layers, buckets, GatherPlace::forward, classifier);
        std::vector<bool> gathered(static_cast<std::size_t>(padded_elements(layout, ranks)));
        auto next = plan.order.begin();
        const auto read = [&](std::size_t place, std::int64_t begin, std::int64_t end) {
          if (const auto& until = plan.before_layer.at(place)) {
            for (bool reached = false; !reached; ++next) {
              ASSERT_NE(next, plan.order.end());
              reached = *next == *until;
              std::fill(gathered.begin() + buckets[*next].begin, gathered.begin() + buckets[*next].end, true);
            }
          }
          EXPECT_EQ(std::count(gathered.begin() + begin, gathered.begin() + end, false), 0)
              << place << " of " << ranks << " ranks, buckets of " << bytes;
        };
        for (int layer = 0; layer < config.layers; ++layer)
          read(static_cast<std::size_t>(layer), layout.offset(Tensor::qkvw, layer),
               matrices_end(layout, config.layers, layer));
        if (classifier) read(plan.before_layer.size() - 1, 0, layout.count(Tensor::wte));
        EXPECT_EQ(next, plan.order.end()) << "what nobody reads is not sent";
      }
    }
  }
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
