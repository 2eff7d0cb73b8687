#include "gpt2/model/model_file.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gpt2/common/errors.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {
namespace {

class ModelFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("ridgeline_model_file_" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(directory_);
    path_ = (directory_ / "model.bin").string();
    config_ = model_config("tiny");
    parameters_ = random_parameters(config_, 3);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void patch(int word, std::int32_t value) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4 * word);
    file.write(reinterpret_cast<const char*>(&value), 4);
  }
  // The one line of the error that reading raises.
  std::string refusal() const {
    try {
      read_model_file(path_);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
      return error.what();
    }
    return "read without error";
  }

  std::filesystem::path directory_;
  std::string path_;
  ModelConfig config_;
  std::vector<float> parameters_;
};

TEST_F(ModelFileTest, Fp32ComesBackExactly) {
  write_model_file(path_, config_, ModelFileType::fp32, parameters_);
  const ModelFile file = read_model_file(path_);
  EXPECT_EQ(file.config, config_);
  EXPECT_EQ(file.type, ModelFileType::fp32);
  EXPECT_EQ(file.parameters, parameters_);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
}

TEST_F(ModelFileTest, TheBytesAreThePublicFormat) {
  write_model_file(path_, config_, ModelFileType::fp32, parameters_);
  std::ifstream in(path_, std::ios::binary);
  std::array<std::int32_t, 256> header{};
  in.read(reinterpret_cast<char*>(header.data()), sizeof(header));
  const std::array<std::int32_t, 8> want = {20240326, 3, 256, 97, 2, 2, 128, 128};
  EXPECT_TRUE(std::equal(want.begin(), want.end(), header.begin()));
  float first = 0;
  in.read(reinterpret_cast<char*>(&first), 4);
  EXPECT_EQ(first, parameters_[0]);
}

TEST_F(ModelFileTest, Bf16RoundsToNearest) {
  write_model_file(path_, config_, ModelFileType::bf16, parameters_);
  EXPECT_EQ(std::filesystem::file_size(path_), 1024 + 2 * parameters_.size());
  const ModelFile file = read_model_file(path_);
  EXPECT_EQ(file.type, ModelFileType::bf16);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    ASSERT_LE(std::abs(file.parameters[i] - parameters_[i]), std::abs(parameters_[i]) * 0x1p-8f) << i;
  }
}

TEST_F(ModelFileTest, AMissingFileIsNamed) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
}

TEST_F(ModelFileTest, DamageIsRefusedWithItsReason) {
  write_model_file(path_, config_, ModelFileType::fp32, parameters_);
  patch(0, 1234);
  EXPECT_NE(refusal().find("magic is 1234"), std::string::npos);
  patch(0, 20240326);
  patch(1, 4);
  EXPECT_NE(refusal().find("version 4"), std::string::npos);
  patch(1, 3);
  patch(5, 0);
  EXPECT_NE(refusal().find("NH=0"), std::string::npos);
  patch(5, 2);
  patch(4, 1 << 30);  // would ask for petabytes
  EXPECT_NE(refusal().find("its header needs"), std::string::npos);
  patch(4, 2);
  std::filesystem::resize_file(path_, 1024 + 100);
  EXPECT_NE(refusal().find("1124 bytes"), std::string::npos);
  std::filesystem::resize_file(path_, 12);
  EXPECT_NE(refusal().find("shorter than its"), std::string::npos);
}

TEST_F(ModelFileTest, WritingIntoAMissingDirectoryIsAnError) {
  EXPECT_THROW(
      write_model_file((directory_ / "no" / "model.bin").string(), config_, ModelFileType::fp32, parameters_),
      InputError);
}

}  // namespace
}  // namespace ridgeline::gpt2
