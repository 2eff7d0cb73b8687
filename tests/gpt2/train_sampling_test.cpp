// Tokenizer files, drawing tokens, and the batch that fits.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "gpt2/common/errors.h"
#include "gpt2/train/machine/memory_fit.h"
#include "gpt2/train/text/sampling.h"
#include "gpt2/train/text/tokenizer.h"

namespace ridgeline::gpt2 {
namespace {

class TokenizerTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("ridgeline_tokenizer_" +
              std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
                .string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::vector<std::string>& tokens, int version = 2, int end_of_text = 1,
             int magic = 20240328, const std::string& more = "") const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    std::array<std::int32_t, 256> header = {magic, version, static_cast<std::int32_t>(tokens.size()),
                                            end_of_text};
    out.write(reinterpret_cast<const char*>(header.data()), sizeof(header));
    for (const std::string& token : tokens) out << static_cast<char>(token.size()) << token;
    out << more;
  }
  std::string refusal() const {
    try {
      const Tokenizer tokenizer(path_);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
      return error.what();
    }
    return "read without error";
  }

  std::string path_;
};

TEST_F(TokenizerTest, DecodesAndEncodesTheLongestMatch) {
  std::string every(255, 'q');
  write({"a", "<end>", "ab", "b", "abc", "\xc3\xa9", every, ""});
  const Tokenizer t(path_);
  EXPECT_EQ(t.size(), 8);
  EXPECT_EQ(t.end_of_text(), 1);
  EXPECT_EQ(t.decode(std::vector<std::int32_t>{4, 5, 1, 99, -1, 7}), "abc\xc3\xa9<end>");
  EXPECT_EQ(t.encode("abcab\xc3\xa9"
                     "a"),
            (std::vector<std::int32_t>{4, 2, 5, 0}));
  EXPECT_EQ(t.encode(every + "b"), (std::vector<std::int32_t>{6, 3}));
  EXPECT_TRUE(t.encode("").empty());
  EXPECT_THROW(t.encode("abz"), InputError);
}

TEST_F(TokenizerTest, AVersionOneFileHasNoEndOfText) {
  write({"a", "b", "c"}, 1, 0);
  EXPECT_EQ(Tokenizer(path_).end_of_text(), 2);
}

TEST_F(TokenizerTest, BadFilesAreNamedWithTheirFault) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  write({"a", "b"}, 2, 1, 77);
  EXPECT_NE(refusal().find("magic is 77"), std::string::npos);
  write({"a", "b"}, 3);
  EXPECT_NE(refusal().find("version 3"), std::string::npos);
  write({"a", "b"}, 2, 2);
  EXPECT_NE(refusal().find("end-of-text token 2"), std::string::npos);
  write({"a", "b"}, 2, 1, 20240328, "x");
  EXPECT_NE(refusal().find("bytes follow"), std::string::npos);
  write({"a", "bcd"});
  std::filesystem::resize_file(path_, 1024 + 4);
  EXPECT_NE(refusal().find("ends before its last token"), std::string::npos);
  std::filesystem::resize_file(path_, 50);
  EXPECT_NE(refusal().find("shorter than its"), std::string::npos);
}

TEST(Sampling, FollowsTheProbabilities) {
  // Temperature 2 turns logits 2 ln p into probabilities p.
  const std::vector<double> p = {0.5, 0.25, 0.15, 0.1};
  std::vector<float> logits;
  for (const double each : p) logits.push_back(static_cast<float>(2 * std::log(each)));
  CounterRandom random(1, 2);
  std::array<int, 4> seen{};
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i)
    ++seen[static_cast<std::size_t>(sample_token(logits, {.temperature = 2}, random))];
  for (std::size_t i = 0; i < p.size(); ++i)
    EXPECT_NEAR(static_cast<double>(seen[i]) / kDraws, p[i], 0.005) << i;
  seen = {};
  for (int i = 0; i < kDraws; ++i) {
    ++seen[static_cast<std::size_t>(sample_token(logits, {.temperature = 2, .top_k = 2}, random))];
  }
  EXPECT_EQ(seen[2] + seen[3], 0);
  EXPECT_NEAR(static_cast<double>(seen[0]) / kDraws, 2.0 / 3, 0.005);
}

TEST(Sampling, IsAFunctionOfTheSeed) {
  const std::vector<float> logits(1000, 0.0F);
  const auto draw = [&](std::uint64_t seed, std::uint64_t step) {
    CounterRandom random(seed, step);
    std::vector<std::int32_t> out;
    for (int i = 0; i < 20; ++i) out.push_back(sample_token(logits, {.top_k = 500}, random));
    return out;
  };
  EXPECT_EQ(draw(1, 1), draw(1, 1));
  EXPECT_NE(draw(1, 1), draw(1, 2));
  EXPECT_NE(draw(1, 1), draw(2, 1));
}

TEST(Sampling, GreedyAndExtremes) {
  CounterRandom random(1, 1);
  EXPECT_EQ(sample_token(std::vector<float>{1, 3, 3, 2}, {.temperature = 0}, random), 1);
  EXPECT_EQ(sample_token(std::vector<float>{5}, {}, random), 0);
  EXPECT_EQ(sample_token(std::vector<float>{-3e38F, 3e38F}, {.temperature = 1e-6}, random), 1);
  EXPECT_EQ(sample_token(std::vector<float>{1, 2, 3}, {.top_k = 1}, random), 2);
  EXPECT_THROW(sample_token(std::vector<float>{1, std::nanf("")}, {}, random), DivergedError);
  EXPECT_THROW(sample_token(std::vector<float>{1, INFINITY}, {.temperature = 0}, random), DivergedError);
}

TEST(Sampling, PromptsAreTokenIds) {
  EXPECT_EQ(parse_token_ids("15, 11 995,", 1000), (std::vector<std::int32_t>{15, 11, 995}));
  EXPECT_TRUE(parse_token_ids("", 1000).empty());
  for (const char* bad : {"hello", "1,2x", "1;2", "1000", "-1", "99999999999"}) {
    EXPECT_THROW(parse_token_ids(bad, 1000), InputError) << bad;
  }
  EXPECT_EQ(printable("a\n\x1b[2J\x7f\xc3\xa9"), "a\\n\\x1b[2J\\x7f\xc3\xa9");
}

TEST(CounterRandom, BelowIsUniformAndBounded) {
  CounterRandom random(3, 4);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(HashBytes, SeesEveryChange) {
  std::vector<unsigned char> data(1003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7);
  const std::uint64_t whole = hash_bytes(data.data(), data.size());
  EXPECT_EQ(hash_bytes(data.data() + 64, data.size() - 64, hash_bytes(data.data(), 64)), whole);
  for (const std::size_t at : {std::size_t{0}, std::size_t{500}, std::size_t{1002}}) {
    data[at] ^= 1;
    EXPECT_NE(hash_bytes(data.data(), data.size()), whole) << at;
    data[at] ^= 1;
  }
  EXPECT_NE(hash_bytes(data.data(), data.size() - 1), whole);
}

TEST(MemoryFit, FindsTheLargestBatch) {
  const auto needed = [](int batch) { return 1000 + 10 * std::int64_t{batch}; };
  EXPECT_EQ(largest_batch(needed, 1320, 64), 32);
  EXPECT_EQ(largest_batch(needed, 1319, 64), 31);
  EXPECT_EQ(largest_batch(needed, 1009, 64), 0);
  EXPECT_EQ(largest_batch(needed, 1010, 64), 1);
  EXPECT_EQ(largest_batch(needed, 1000000, 64), 64);
  EXPECT_EQ(largest_batch(needed, 1000000, 1), 1);
}

TEST(MemoryFit, AdviceKeepsTheTokensOfAStep) {
  EXPECT_EQ(batch_advice(32, 1, 21),
            "-B 16 --grad-accum 2 fits and keeps the step's tokens (-B 21 is the largest that fits)");
  EXPECT_EQ(batch_advice(32, 2, 16), "-B 16 --grad-accum 4 fits and keeps the step's tokens");
  EXPECT_EQ(batch_advice(7, 1, 5),
            "-B 1 --grad-accum 7 fits and keeps the step's tokens (-B 5 is the largest that fits)");
  EXPECT_EQ(batch_advice(32, 1, 0), "");
}

}  // namespace
}  // namespace ridgeline::gpt2
