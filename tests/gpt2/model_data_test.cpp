#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "gpt2/model/errors.h"
#include "gpt2/train/schedule.h"
#include "gpt2/train/step_statistics.h"
#include "gpt2/train/synthetic_stream.h"
#include "gpt2/train/token_file.h"
#include "gpt2/train/token_source.h"

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
      const auto source = file_source({path}, vocab, batch_tokens);
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
  const auto source = file_source({shard("a", 0, 20), shard("b", 100, 9)}, 1000, 8);
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
