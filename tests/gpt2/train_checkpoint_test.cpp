#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <vector>

#include "gpt2/common/errors.h"
#include "gpt2/model/model_file.h"
#include "gpt2/model/parameters.h"
#include "gpt2/train/files/checkpoint.h"

namespace ridgeline::gpt2 {
namespace {

namespace fs = std::filesystem;

// A model that is nothing but its state.
class FakeState : public TrainingState {
 public:
  FakeState(const ModelConfig& config, int first, int precision) {
    const bool narrow = precision == 0 || precision == 3;
    const std::int64_t n = ParameterLayout(config).total();
    for (const StatePart part : {StatePart::master, StatePart::moment1, StatePart::moment2}) {
      fill(part, 4 * n, first++);
    }
    fill(StatePart::narrow, narrow ? 2 * n : 0, first++);
    // 10 tensors of each layer and one of the model, each with two scales on 16 bytes, the magnitude after the
    // first, and 16 steps of history.
    fill(StatePart::scaling, precision == 3 ? (std::int64_t{10} * config.layers + 1) * 24 * 4 : 0, first);
  }
  std::int64_t state_bytes(StatePart part) const override {
    return static_cast<std::int64_t>(parts_.at(part).size());
  }
  void download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const override {
    std::memcpy(out.data(), parts_.at(part).data() + begin, out.size());
  }
  void upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) override {
    std::memcpy(parts_.at(part).data() + begin, in.data(), in.size());
  }
  bool operator==(const FakeState& other) const { return parts_ == other.parts_; }

 private:
  void fill(StatePart part, std::int64_t bytes, int first) {
    auto& data = parts_[part];
    for (std::int64_t i = 0; i < bytes; ++i) data.push_back(static_cast<std::byte>(i * i / 7 + first * 31));
  }
  std::map<StatePart, std::vector<std::byte>> parts_;
};

// One whose moments ranks share out; notes what is asked of these.
class SharedState : public FakeState {
 public:
  using FakeState::FakeState;
  bool is_shared_out(StatePart part) const override {
    return part == StatePart::moment1 || part == StatePart::moment2 || part == StatePart::master;
  }
  void download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const override {
    FakeState::download_state(part, begin, out);
    if (is_shared_out(part)) asked.emplace_back(part, begin, out.size());
  }
  mutable std::vector<std::tuple<StatePart, std::int64_t, std::size_t>> asked;
};

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = (fs::temp_directory_path() /
                  ("ridgeline_checkpoint_" +
                   std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
                     .string();
    fs::remove_all(directory_);
    header_.run = {.config = model_config("tiny"),
                   .precision = 0,
                   .batch = 4,
                   .sequence = 64,
                   .grad_accum = 2,
                   .seed = 0xfedcba9876543210ULL,
                   .stochastic_rounding = true,
                   .data = {.synthetic = false, .shuffled = true, .shards = 3, .tokens = 99, .hash = 12345}};
    prepare_checkpoint_directory(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string write(std::int64_t step, const FakeState& state, int keep = 10) {
    header_.steps_done = step;
    write_checkpoint(directory_, keep, header_, position_, state);
    return find_checkpoint(directory_);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::string refusal(const auto& action) {
    try {
      action();
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "no error";
  }
  static void flip(const std::string& path, std::int64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const char byte = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
  }

  std::string directory_;
  CheckpointHeader header_;
  std::vector<std::byte> position_ = {std::byte{1}, std::byte{2}, std::byte{3}};
};

// Each piece is a call that all ranks have to make, in one order.
TEST_F(CheckpointTest, OtherRanksHandOutWhatRankZeroWrites) {
  const SharedState writer(header_.run.config, 1, 0);
  const SharedState follower(header_.run.config, 9, 0);
  (void)write(7, writer);
  follow_checkpoint(follower);
  EXPECT_GE(writer.asked.size(), 3U);
  EXPECT_EQ(follower.asked, writer.asked);
}

TEST_F(CheckpointTest, ComesBackByteForByte) {
  for (const int precision : {0, 2, 3}) {
    header_.run.precision = precision;
    const FakeState state(header_.run.config, 1, precision);
    const std::string checkpoint = write(100 + precision, state);
    const CheckpointHeader read = read_checkpoint_header(checkpoint);
    EXPECT_EQ(read.steps_done, 100 + precision);
    EXPECT_EQ(refusal([&] { require_same_run(checkpoint, read.run, header_.run); }), "no error");
    FakeState loaded(header_.run.config, 50, precision);
    ASSERT_FALSE(loaded == state);
    EXPECT_EQ(load_checkpoint(checkpoint, loaded), position_);
    EXPECT_TRUE(loaded == state);
  }
}

TEST_F(CheckpointTest, ScalesOfFp8ArePartOfIt) {
  header_.run.precision = 3;
  const FakeState state(header_.run.config, 1, 3);
  const std::string checkpoint = write(5, state);
  FakeState without(header_.run.config, 50, 0);
  EXPECT_THROW(load_checkpoint(checkpoint, without), std::invalid_argument);
  RunIdentity now = header_.run;
  now.precision = 0;
  EXPECT_NE(refusal([&] {
              require_same_run(checkpoint, header_.run, now);
            }).find("written with --precision fp8, this run has bf16"),
            std::string::npos);
  const std::string file = checkpoint + "/state.bin";
  // Version 1 is of another order of the scales.
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(8);
  stream.put(1).flush();
  EXPECT_NE(
      refusal([&] { read_checkpoint_header(checkpoint); }).find("version 1, this program reads version 2"),
      std::string::npos);
  stream.seekp(8);
  stream.put(2).flush();
  // One bit of the last scale's history; after it the part is padded.
  flip(file, static_cast<std::int64_t>(fs::file_size(file)) - 8);
  FakeState loaded(header_.run.config, 50, 3);
  EXPECT_NE(refusal([&] { load_checkpoint(checkpoint, loaded); }).find("damaged"), std::string::npos);
  fs::resize_file(file, fs::file_size(file) - 8);
  EXPECT_NE(refusal([&] { read_checkpoint_header(checkpoint); }).find("its header needs"), std::string::npos);
}

TEST_F(CheckpointTest, TheModelIsAPublicModelFile) {
  const FakeState state(header_.run.config, 1, 0);
  const std::string checkpoint = write(1, state);
  const ModelFile model = read_model_file(checkpoint + "/model.bin");
  EXPECT_EQ(model.config, header_.run.config);
  EXPECT_EQ(model.type, ModelFileType::fp32);
  std::vector<std::byte> master(model.parameters.size() * 4);
  state.download_state(StatePart::master, 0, master);
  EXPECT_EQ(std::memcmp(master.data(), model.parameters.data(), master.size()), 0);
}

TEST_F(CheckpointTest, TheLatestAreKept) {
  const FakeState state(header_.run.config, 1, 0);
  for (const int step : {5, 50, 100000000, 500}) write(step, state, 3);
  EXPECT_EQ(names(), (std::vector<std::string>{"step_00000050", "step_00000500", "step_100000000"}));
  EXPECT_EQ(find_checkpoint(directory_), directory_ + "/step_100000000");
  write(7, state, 1);
  EXPECT_EQ(names(), std::vector<std::string>{"step_00000007"});
}

TEST_F(CheckpointTest, TheSameStepIsReplaced) {
  const FakeState first(header_.run.config, 1, 0), second(header_.run.config, 9, 0);
  write(5, first);
  const std::string checkpoint = write(5, second);
  FakeState loaded(header_.run.config, 50, 0);
  load_checkpoint(checkpoint, loaded);
  EXPECT_TRUE(loaded == second);
  EXPECT_EQ(names(), std::vector<std::string>{"step_00000005"});
}

TEST_F(CheckpointTest, AnInterruptedWriteIsNoCheckpointAndIsRemoved) {
  const FakeState state(header_.run.config, 1, 0);
  write(5, state);
  fs::create_directories(directory_ + "/step_00000006.partial");
  fs::copy(directory_ + "/step_00000005/state.bin", directory_ + "/step_00000006.partial/state.bin");
  fs::create_directories(directory_ + "/notes.partial");
  EXPECT_EQ(find_checkpoint(directory_), directory_ + "/step_00000005");
  prepare_checkpoint_directory(directory_);
  EXPECT_EQ(names(), (std::vector<std::string>{"notes.partial", "step_00000005"}));
}

TEST_F(CheckpointTest, ItIsFoundByEveryNameOfIt) {
  const std::string checkpoint = write(5, FakeState(header_.run.config, 1, 0));
  EXPECT_EQ(find_checkpoint(checkpoint), checkpoint);
  EXPECT_EQ(find_checkpoint(checkpoint + "/state.bin"), checkpoint);
  EXPECT_EQ(find_checkpoint(checkpoint + "/model.bin"), checkpoint);
  EXPECT_NE(refusal([&] { (void)find_checkpoint(directory_ + "/none"); }).find("no such file"),
            std::string::npos);
  fs::remove_all(checkpoint);
  EXPECT_NE(refusal([&] { (void)find_checkpoint(directory_); }).find("neither a checkpoint nor"),
            std::string::npos);
}

TEST_F(CheckpointTest, DamageIsRefusedWithItsReason) {
  const FakeState state(header_.run.config, 1, 0);
  const auto load = [&](const std::string& checkpoint) {
    FakeState loaded(header_.run.config, 50, 0);
    return refusal([&] { load_checkpoint(checkpoint, loaded); });
  };
  const std::int64_t n = ParameterLayout(header_.run.config).total();
  const std::int64_t body = 1024 + 8;
  struct Case {
    const char* file;
    std::int64_t at;
    const char* says;
  };
  for (const Case& c :
       {Case{"state.bin", 0, "no state file"}, Case{"state.bin", 8, "version"},
        Case{"state.bin", 9 * 8, "header is damaged"}, Case{"state.bin", 1024, "contents are damaged"},
        Case{"state.bin", body, "contents are damaged"},
        Case{"state.bin", body + 8 * n, "contents are damaged"},
        Case{"state.bin", body + 10 * n - 1, "contents are damaged"},
        Case{"model.bin", 1024 + 4 * n - 1, "contents are damaged"},
        Case{"model.bin", 0, "this is no model file"}}) {
    const std::string checkpoint = write(5, state);
    ASSERT_EQ(load(checkpoint), "no error");
    flip(checkpoint + "/" + c.file, c.at);
    EXPECT_NE(load(checkpoint).find(c.says), std::string::npos)
        << c.file << " " << c.at << ": " << load(checkpoint);
  }
  const std::string checkpoint = write(5, state);
  fs::resize_file(checkpoint + "/state.bin", static_cast<std::uintmax_t>(body + 10 * n - 1));
  EXPECT_NE(load(checkpoint).find("its header needs"), std::string::npos);
  fs::resize_file(checkpoint + "/state.bin", 1000);
  EXPECT_NE(load(checkpoint).find("shorter than its"), std::string::npos);
  fs::remove(checkpoint + "/state.bin");
  EXPECT_NE(load(checkpoint).find("No such file"), std::string::npos);
}

TEST_F(CheckpointTest, AModelFileOfAnotherRunIsRefused) {
  const std::string checkpoint = write(5, FakeState(header_.run.config, 1, 0));
  ModelConfig other = header_.run.config;
  other.layers = 1;
  write_model_file(checkpoint + "/model.bin", other, ModelFileType::fp32, random_parameters(other, 1));
  EXPECT_NE(refusal([&] { (void)read_checkpoint_header(checkpoint); }).find("different models"),
            std::string::npos);
}

TEST_F(CheckpointTest, EveryDifferenceOfTheRunIsNamed) {
  const auto says = [&](auto change) {
    RunIdentity now = header_.run;
    change(now);
    return refusal([&] { require_same_run("x", header_.run, now); });
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"L=2 ", says([](RunIdentity& r) { r.config.layers = 3; })},
      {"with --vocabulary padded, this run has plain",
       says([](RunIdentity& r) { r.config.padded_vocab = r.config.vocab; })},
      {"with --precision bf16, this run has fp32", says([](RunIdentity& r) { r.precision = 2; })},
      {"with -B 4, this run has 5", says([](RunIdentity& r) { r.batch = 5; })},
      {"with -T 64, this run has 32", says([](RunIdentity& r) { r.sequence = 32; })},
      {"with --grad-accum 2, this run has 1", says([](RunIdentity& r) { r.grad_accum = 1; })},
      {"--seed 18364758544493064720, this run has 1", says([](RunIdentity& r) { r.seed = 1; })},
      {"with --stochastic-rounding, this run has not",
       says([](RunIdentity& r) { r.stochastic_rounding = false; })},
      {"with --data token files, this run has synthetic",
       says([](RunIdentity& r) { r.data.synthetic = true; })},
      {"with --shuffle, this run has not", says([](RunIdentity& r) { r.data.shuffled = false; })},
      {"3 token files of 99 tokens, this run has 3 token files of 98",
       says([](RunIdentity& r) { r.data.tokens = 98; })},
      {"in another order", says([](RunIdentity& r) { r.data.hash = 1; })}};
  for (const auto& [want, got] : cases) {
    EXPECT_NE(got.find(want), std::string::npos) << want << " / " << got;
    EXPECT_NE(got.find("--init"), std::string::npos);
  }
}

TEST_F(CheckpointTest, ADirectoryThatCannotBeWrittenIsToldBeforeTheRun) {
  const std::string file = directory_ + "/file";
  std::ofstream(file) << "x";
  EXPECT_THROW(prepare_checkpoint_directory(file), InputError);
  EXPECT_THROW(prepare_checkpoint_directory(file + "/below"), InputError);
  EXPECT_THROW(prepare_checkpoint_directory("/proc/ridgeline"), InputError);
}

}  // namespace
}  // namespace ridgeline::gpt2
