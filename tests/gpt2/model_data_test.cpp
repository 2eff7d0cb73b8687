#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "gpt2/common/errors.h"
#include "gpt2/train/data/synthetic_stream.h"
#include "gpt2/train/data/token_file.h"
#include "gpt2/train/data/token_source.h"
#include "gpt2/train/loop/schedule.h"
#include "gpt2/train/loop/step_statistics.h"

namespace ridgeline::gpt2 {
namespace {

TEST(SyntheticStream, IsAFunctionOfItsSeedAndSplit) {
  const auto first = [](std::uint64_t seed, std::uint64_t split) {
    SyntheticStream stream(50257, seed, split);
    std::vector<std::int32_t> out(2000);
    for (std::int32_t& token : out) token = stream.next();
    return out;
  };
  EXPECT_EQ(first(1, 0), first(1, 0));
  EXPECT_NE(first(1, 0), first(2, 0));
  EXPECT_NE(first(1, 0), first(1, 1));
}

TEST(SyntheticStream, TokensStayInsideTheVocabulary) {
  for (int vocab : {64, 97, 50257, 65536}) {
    SyntheticStream stream(vocab, 9, 0);
    for (int i = 0; i < 20000; ++i) {
      const std::int32_t token = stream.next();
      ASSERT_GE(token, 0);
      ASSERT_LT(token, vocab);
    }
  }
  EXPECT_THROW(SyntheticStream(63, 1, 0), InputError);
  EXPECT_THROW(SyntheticStream(65537, 1, 0), InputError);
}

// If the floor's probabilities did not describe the draws, exp(-surprise) would not average to one over what
// could have come instead; the cheap check of that: the probabilities of bracket tokens agree with their
// frequency.
TEST(SyntheticStream, StatedProbabilitiesMatchFrequencies) {
  SyntheticStream stream(50257, 3, 0);
  int brackets = 0, certain = 0;
  constexpr int kTokens = 200000;
  double entropy = 0;
  for (int i = 0; i < kTokens; ++i) {
    double p = 0;
    const std::int32_t token = stream.next(&p);
    ASSERT_GT(p, 0.0);
    ASSERT_LE(p, 1.0);
    certain += p == 1.0;
    brackets += p < 1.0 && token < 32;
    entropy -= std::log(p);
  }
  // Copies run 19.5 tokens on average, 18.5 of them certain, and start at 2 % of the other positions.
  const double want_certain = 0.02 * 18.5 / (1 + 0.02 * 18.5);
  EXPECT_NEAR(static_cast<double>(certain) / kTokens, want_certain, 0.02);
  // Opening stops at depth 6 and closing at 0, so between 3 % and 7 % of the drawn tokens are brackets.
  const double share = static_cast<double>(brackets) / (kTokens - certain);
  EXPECT_GT(share, 0.03);
  EXPECT_LT(share, 0.09);
  EXPECT_NEAR(entropy / kTokens, SyntheticStream::entropy_floor(50257, 3), 0.1);
}

TEST(SyntheticStream, FloorLeavesMuchToLearn) {
  const double floor = SyntheticStream::entropy_floor(50257, 1337);
  EXPECT_GT(floor, 1.0);
  EXPECT_LT(floor, 0.4 * std::log(50257.0));
}

TEST(SyntheticSource, TargetsAreTheInputsShiftedAcrossBatches) {
  const auto source = synthetic_source(97, 1, 0);
  std::vector<std::int32_t> x(64), y(64), x2(64), y2(64);
  source->next(x, y);
  source->next(x2, y2);
  EXPECT_TRUE(std::equal(x.begin() + 1, x.end(), y.begin()));
  EXPECT_EQ(y.back(), x2.front());
  source->rewind();
  source->next(x2, y2);
  EXPECT_EQ(x, x2);
}

class TokenFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() /
        ("ridgeline_tokens_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string shard(const std::string& name, int begin, int count) const {
    std::vector<std::uint16_t> data(static_cast<std::size_t>(count));
    std::iota(data.begin(), data.end(), static_cast<std::uint16_t>(begin));
    const std::string path = (directory_ / name).string();
    write_token_file(path, data);
    return path;
  }
  static std::string refusal(const std::string& path, int vocab = 1000, std::int64_t batch_tokens = 8) {
    try {
      const auto source =
          file_source({.paths = {path}, .vocab = vocab, .batch = 1, .sequence = batch_tokens});
      std::vector<std::int32_t> x(static_cast<std::size_t>(batch_tokens)), y(x.size());
      source->next(x, y);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
      return error.what();
    }
    return "read without error";
  }

  std::filesystem::path directory_;
};

TEST_F(TokenFileTest, ShardsAreReadInOrderAndWrapAround) {
  const auto source = file_source(
      {.paths = {shard("a", 0, 20), shard("b", 100, 9)}, .vocab = 1000, .batch = 2, .sequence = 4});
  std::vector<std::int32_t> x(8), y(8);
  std::vector<int> firsts;
  for (int i = 0; i < 4; ++i) {
    source->next(x, y);
    firsts.push_back(x.front());
    EXPECT_EQ(y.back(), x.front() + 8);
  }
  EXPECT_EQ(firsts, (std::vector<int>{0, 8, 100, 0}));
}

TEST_F(TokenFileTest, BadFilesAreNamedWithTheirFault) {
  EXPECT_NE(refusal((directory_ / "none").string()).find("No such file"), std::string::npos);
  const std::string path = shard("t", 0, 20);
  EXPECT_NE(refusal(path, 1000, 20).find("one batch of B*T needs 21"), std::string::npos);
  EXPECT_NE(refusal(path, 5).find("token 5 at 5 is outside"), std::string::npos);
  EXPECT_EQ(refusal(path, 1000, 19), "read without error");
  std::filesystem::resize_file(path, 1024 + 30);
  EXPECT_NE(refusal(path).find("its header counts 20 tokens"), std::string::npos);
  std::filesystem::resize_file(path, 100);
  EXPECT_NE(refusal(path).find("shorter than its"), std::string::npos);
  std::ofstream(path, std::ios::binary) << std::string(2000, 'x');
  EXPECT_NE(refusal(path).find("magic"), std::string::npos);
}

TEST_F(TokenFileTest, ATokenOutsideTheVocabularyIsFoundBeforeTheRunReachesIt) {
  // 1000 tokens of which only the last is too large: the first batch does not hold it.
  const std::string path = shard("late", 0, 1000);
  EXPECT_NE(refusal(path, 999).find("token 999 at 999 is outside"), std::string::npos);
}

TEST_F(TokenFileTest, PatternsNameFilesInTheOrderOfTheirNames) {
  const std::string b = shard("train_1.bin", 0, 9), a = shard("train_0.bin", 0, 9);
  const std::string bracket = shard("odd[1].bin", 0, 9);
  EXPECT_EQ(expand_shards({(directory_ / "train_*.bin").string(), b}), (std::vector<std::string>{a, b, b}));
  EXPECT_EQ(expand_shards({bracket}), std::vector<std::string>{bracket});
  EXPECT_THROW(expand_shards({(directory_ / "val_*.bin").string()}), InputError);
}

// Shards of 41, 25 and 33 tokens: 10, 6 and 8 sequences of 4 tokens, so 5, 3 and 4 batches of two.
class ShuffleTest : public TokenFileTest {
 protected:
  static constexpr std::int64_t kBatches = 12;
  std::unique_ptr<TokenSource> source(bool shuffle, std::uint64_t seed = 7) {
    return file_source({.paths = {shard("a", 0, 41), shard("b", 100, 25), shard("c", 200, 33)},
                        .vocab = 1000,
                        .batch = 2,
                        .sequence = 4,
                        .shuffle = shuffle,
                        .seed = seed});
  }
  // First tokens of the sequences of `batches` batches.
  static std::vector<int> firsts(TokenSource& source, std::int64_t batches) {
    std::vector<int> out;
    std::vector<std::int32_t> x(8), y(8);
    for (std::int64_t i = 0; i < batches; ++i) {
      source.next(x, y);
      for (const std::size_t b : {std::size_t{0}, std::size_t{4}}) {
        for (std::size_t t = b; t < b + 4; ++t) EXPECT_EQ(y[t], x[b] + static_cast<int>(t - b) + 1);
        out.push_back(x[b]);
      }
    }
    return out;
  }
  static std::vector<int> sorted(std::vector<int> values) {
    std::sort(values.begin(), values.end());
    return values;
  }
};

TEST_F(ShuffleTest, AnEpochHoldsEverySequenceOnceInAnotherOrderEachTime) {
  const auto plain = source(false);
  const std::vector<int> all = firsts(*plain, kBatches);
  ASSERT_TRUE(std::is_sorted(all.begin(), all.end()));
  const auto shuffled = source(true);
  EXPECT_EQ(shuffled->identity().epoch_batches, kBatches);
  EXPECT_EQ(shuffled->identity().tokens, 99);
  const std::vector<int> first = firsts(*shuffled, kBatches), second = firsts(*shuffled, kBatches);
  EXPECT_EQ(sorted(first), all);
  EXPECT_EQ(sorted(second), all);
  EXPECT_NE(first, all);
  EXPECT_NE(first, second);
  EXPECT_EQ(firsts(*source(true), kBatches), first);
  EXPECT_NE(firsts(*source(true, 8), kBatches), first);
  shuffled->rewind();
  EXPECT_EQ(firsts(*shuffled, kBatches), first);
}

TEST_F(ShuffleTest, APositionContinuesWithTheSameBatches) {
  for (const bool shuffle : {false, true}) {
    for (std::int64_t read = 0; read <= 2 * kBatches; ++read) {
      const auto straight = source(shuffle);
      firsts(*straight, read);
      const std::vector<std::byte> position = straight->position();
      const auto resumed = source(shuffle);
      resumed->restore(position);
      ASSERT_EQ(firsts(*resumed, kBatches + 3), firsts(*straight, kBatches + 3)) << read;
    }
  }
}

TEST_F(ShuffleTest, APositionOfOtherDataIsRefused) {
  const auto files = source(true);
  const auto other =
      file_source({.paths = {shard("d", 0, 41)}, .vocab = 1000, .batch = 2, .sequence = 4, .shuffle = true});
  EXPECT_THROW(other->restore(files->position()), InputError);
  EXPECT_THROW(files->restore(synthetic_source(97, 1, 0)->position()), InputError);
  EXPECT_THROW(synthetic_source(97, 1, 0)->restore(files->position()), InputError);
  EXPECT_NE(other->identity().hash, files->identity().hash);
}

TEST(SyntheticSource, APositionContinuesWithTheSameText) {
  // Enough batches that phrases are being copied and brackets are open at some of the stops.
  for (int read = 0; read < 40; ++read) {
    const auto straight = synthetic_source(97, 5, 0), resumed = synthetic_source(97, 5, 0);
    std::vector<std::int32_t> x(33), y(33), x2(33), y2(33);
    for (int i = 0; i < read; ++i) straight->next(x, y);
    resumed->restore(straight->position());
    for (int i = 0; i < 30; ++i) {
      straight->next(x, y);
      resumed->next(x2, y2);
      ASSERT_EQ(x, x2);
      ASSERT_EQ(y, y2);
    }
  }
  const auto wide = synthetic_source(50257, 5, 0);
  EXPECT_THROW(synthetic_source(97, 5, 0)->restore(wide->position()), InputError);
}

TEST(Schedule, StaysAtThePeakAndThenDecays) {
  const Schedule wsd{
      .kind = ScheduleKind::wsd, .peak = 1.0, .floor = 0.2, .warmup = 2, .decay = 4, .total = 10};
  const std::vector<double> want = {0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2};
  for (int step = 0; step < 10; ++step)
    EXPECT_DOUBLE_EQ(wsd.at(step), want[static_cast<std::size_t>(step)]) << step;
  Schedule all = wsd;
  all.warmup = 0;
  all.decay = 10;
  EXPECT_DOUBLE_EQ(all.at(0), 0.92);
  EXPECT_DOUBLE_EQ(all.at(9), 0.2);
  Schedule none = wsd;
  none.decay = 0;
  EXPECT_DOUBLE_EQ(none.at(9), 1.0);
}

TEST(Schedule, WarmsUpAndFallsToTheFloor) {
  const Schedule cosine{.kind = ScheduleKind::cosine, .peak = 1.0, .floor = 0.1, .warmup = 4, .total = 25};
  EXPECT_DOUBLE_EQ(cosine.at(0), 0.25);
  EXPECT_DOUBLE_EQ(cosine.at(3), 1.0);
  EXPECT_DOUBLE_EQ(cosine.at(4), 1.0);
  EXPECT_DOUBLE_EQ(cosine.at(14), 0.55);
  EXPECT_DOUBLE_EQ(cosine.at(24), 0.1);
  Schedule linear = cosine;
  linear.kind = ScheduleKind::linear;
  EXPECT_DOUBLE_EQ(linear.at(9), 0.775);
  EXPECT_DOUBLE_EQ(linear.at(24), 0.1);
  Schedule constant = cosine;
  constant.kind = ScheduleKind::constant;
  EXPECT_DOUBLE_EQ(constant.at(24), 1.0);
  EXPECT_DOUBLE_EQ((Schedule{.peak = 1.0, .floor = 0.5, .total = 1}.at(0)), 1.0);
}

TEST(Quantile, InterpolatesAndKnowsNothingOfNothing) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0.25), 1.25);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7.0);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace ridgeline::gpt2
