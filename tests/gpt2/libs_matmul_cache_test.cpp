// The matmul cache file and the byte and FLOP formulas, without a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpt2/common/dtype.h"
#include "gpt2/libs/matmul_cache.h"
#include "gpt2/libs/matmul_problem.h"

namespace ridgeline::gpt2 {
namespace {

const MatmulCacheIdentity kHere = {130100, "Some GPU"};

class MatmulCacheFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("ridgeline_cache_test_" + std::to_string(::getpid()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "deeper" / "cache.json").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::map<std::string, MatmulSelection> entries() {
    MatmulSelection selection;
    for (std::size_t i = 0; i < 8; ++i) selection.algo.data[i] = 0x0123456789abcdefULL * (i + 1);
    selection.workspace_bytes = 4096;
    selection.candidates = 77;
    selection.time_ns = 1234.5;
    selection.default_time_ns = 2345.75;
    return {{"forward n=1", selection}};
  }

  std::map<std::string, MatmulSelection> load(const MatmulCacheIdentity& identity = kHere) {
    return load_matmul_cache(path_, identity, &ignored_);
  }

  void expect_ignored(const std::string& contents, const std::string& reason) {
    std::ofstream(path_, std::ios::trunc | std::ios::binary) << contents;
    EXPECT_TRUE(load().empty()) << reason;
    EXPECT_NE(ignored_.find(reason), std::string::npos) << ignored_;
    EXPECT_NE(ignored_.find(path_), std::string::npos) << ignored_;
    EXPECT_EQ(ignored_.find('\n'), std::string::npos) << ignored_;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string ignored_;
};

TEST_F(MatmulCacheFile, WhatIsStoredIsLoaded) {
  store_matmul_cache(path_, kHere, entries());
  const auto loaded = load();
  EXPECT_EQ(ignored_, "");
  ASSERT_EQ(loaded.size(), 1U);
  const MatmulSelection expected = entries().at("forward n=1");
  const MatmulSelection& got = loaded.at("forward n=1");
  EXPECT_EQ(std::memcmp(got.algo.data, expected.algo.data, sizeof(expected.algo.data)), 0);
  EXPECT_EQ(got.workspace_bytes, 4096U);
  EXPECT_EQ(got.candidates, 77);
  EXPECT_DOUBLE_EQ(got.time_ns, 1234.5);
  EXPECT_DOUBLE_EQ(got.default_time_ns, 2345.75);
  // Nothing temporary is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "deeper"), {}), 1);
}

TEST_F(MatmulCacheFile, AMissingFileIsNoNews) {
  EXPECT_TRUE(load().empty());
  EXPECT_EQ(ignored_, "");
}

TEST_F(MatmulCacheFile, AnotherMachineOrLibraryIsIgnored) {
  store_matmul_cache(path_, kHere, entries());
  EXPECT_TRUE(load({130100, "Another GPU"}).empty());
  EXPECT_NE(ignored_.find("another GPU"), std::string::npos);
  EXPECT_TRUE(load({130200, "Some GPU"}).empty());
  EXPECT_NE(ignored_.find("another cuBLASLt"), std::string::npos);
}

TEST_F(MatmulCacheFile, DamageIsIgnoredWithOneLine) {
  store_matmul_cache(path_, kHere, entries());
  std::ifstream file(path_);
  const nlohmann::json good = nlohmann::json::parse(file);
  const std::string whole = good.dump(1);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 2}) {
    expect_ignored(whole.substr(0, length), "damaged");
  }
  expect_ignored("\x7f\x45\x4c\x46\x01\n\n\n", "damaged");
  expect_ignored("[]", "damaged");
  const auto changed = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json copy = good;
    copy[nlohmann::json::json_pointer(pointer)] = value;
    return copy.dump();
  };
  expect_ignored(changed("/format", "something"), "not a matmul cache");
  expect_ignored(changed("/version", 2), "another format version");
  expect_ignored(changed("/entries/0/algo", "00"), "wrong length");
  expect_ignored(changed("/entries/0/algo", std::string(128, 'z')), "not hexadecimal");
  expect_ignored(changed("/entries/0/search", "quick"), "quick");
  expect_ignored(changed("/entries/0/time_ns", "soon"), "damaged");
  expect_ignored(changed("/entries", 5), "damaged");
}

// An older trainer had a shorter search beside the full one.
TEST_F(MatmulCacheFile, WhatAShorterSearchFoundIsNotTaken) {
  store_matmul_cache(path_, kHere, entries());
  nlohmann::json document = nlohmann::json::parse(std::ifstream(path_));
  document["entries"][0]["search"] = "fast";
  std::ofstream(path_, std::ios::trunc) << document.dump();
  EXPECT_TRUE(load().empty());
  EXPECT_EQ(ignored_, "");
}

TEST_F(MatmulCacheFile, AFileThatCannotBeWrittenIsNamed) {
  std::ofstream(folder_ / "file") << "x";
  const std::string blocked = (folder_ / "file" / "cache.json").string();
  try {
    store_matmul_cache(blocked, kHere, entries());
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(blocked), std::string::npos) << error.what();
  }
}

TEST(MatmulProblemKey, TellsEveryFieldApart) {
  MatmulProblem base;
  base.rows = 4;
  base.channels = 8;
  base.out_channels = 16;
  base.workspace_bytes = 64;
  std::vector<MatmulProblem> others(14, base);
  others[0].op = MatmulOp::backward_input;
  others[1].precision = MatmulPrecision::tf32;
  others[2].epilogue = LtEpilogue::bias;
  others[3].accumulate = true;
  others[4].rows = 5;
  others[5].channels = 9;
  others[6].out_channels = 17;
  others[7].a_alignment_bytes = 16;
  others[8].d_alignment_bytes = 16;
  others[9].workspace_bytes = 0;
  others[10].b_alignment_bytes = 16;
  others[11].fast_accumulation = true;
  others[12].fp8_result = true;
  others[13].residual = true;
  for (const MatmulProblem& other : others) {
    EXPECT_NE(other.key(), base.key());
    EXPECT_FALSE(other == base);
  }
}

TEST(MatmulFormulas, CountEveryOperandOnce) {
  static_assert(matmul_flops(32768, 768, 2304) == 2LL * 32768 * 768 * 2304);
  EXPECT_EQ(matmul_forward_bytes<bf16>(2, 3, 5, true, false), 2 * (2 * 3 + 5 * 3 + 2 * 5 + 5));
  EXPECT_EQ(matmul_forward_bytes<float>(2, 3, 5, false, true), 4 * (2 * 3 + 5 * 3 + 2 * 2 * 5));
  EXPECT_EQ(matmul_forward_bytes<bf16>(2, 3, 5, true, false, true), 2 * (2 * 3 + 5 * 3 + 2 * 2 * 5 + 5));
  EXPECT_EQ(matmul_backward_input_bytes<bf16>(2, 3, 5, true, false), 2 * (2 * 5 + 5 * 3 + 2 * 2 * 3));
  EXPECT_EQ(matmul_backward_input_bytes<bf16>(2, 3, 5, false, true), 2 * (2 * 5 + 5 * 3 + 2 * 2 * 3));
  EXPECT_EQ(matmul_backward_weight_bytes<bf16>(2, 3, 5, false, false), 2 * (2 * 5 + 2 * 3) + 4 * 15);
  EXPECT_EQ(matmul_backward_weight_bytes<bf16>(2, 3, 5, true, true), 2 * (2 * 5 + 2 * 3) + 4 * (15 + 5) * 2);
  EXPECT_EQ(matmul_fp8_forward_bytes(2, 3, 5, true), 2 * 3 + 5 * 3 + 2 * (2 * 5 + 5));
  EXPECT_EQ(matmul_fp8_forward_bytes(2, 3, 5, true, true), 2 * 3 + 5 * 3 + 2 * 5 + 2 * 5);
  EXPECT_EQ(matmul_fp8_forward_bytes(2, 3, 5, true, false, true), 2 * 3 + 5 * 3 + 2 * (2 * 2 * 5 + 5));
  EXPECT_EQ(matmul_fp8_backward_input_bytes(2, 3, 5), 2 * 5 + 5 * 3 + 2 * 2 * 3);
  EXPECT_EQ(matmul_fp8_backward_input_bytes(2, 3, 5, true), 2 * 5 + 5 * 3 + 2 * 3);
}

}  // namespace
}  // namespace ridgeline::gpt2
