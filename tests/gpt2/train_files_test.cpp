// Files that are whole or absent, and the log of a run that is resumed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gpt2/common/durable_file.h"
#include "gpt2/common/errors.h"
#include "gpt2/train/files/run_log.h"

namespace ridgeline::gpt2 {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::temp_directory_path() /
        ("ridgeline_files_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string contents(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  static std::string refusal(const auto& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path directory_;
};

TEST_F(FilesTest, ADurableFileHoldsWhatWasWritten) {
  DurableFile file("test file", path("a"));
  file.write("0123", 4);
  file.write("", 0);
  file.write("4567", 4);
  file.rewrite(2, "ab", 2);
  file.close();
  EXPECT_EQ(contents("a"), "01ab4567");
}

TEST_F(FilesTest, WhatIsNotClosedIsGone) {
  {
    DurableFile file("test file", path("a"));
    file.write("0123", 4);
    EXPECT_TRUE(fs::exists(path("a")));
  }
  EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(FilesTest, FaultsNameTheFileAndTheReason) {
  EXPECT_EQ(refusal([&] { DurableFile("test file", path("no/a")); }),
            "test file " + path("no/a") + ": No such file or directory");
  EXPECT_NE(refusal([&] { durable_rename("test file", path("a"), path("b")); }).find("No such file"),
            std::string::npos);
  // A device that is always full.
  EXPECT_EQ(refusal([] {
              DurableFile file("test file", "/dev/full");
              file.write("0123", 4);
            }),
            "test file /dev/full: No space left on device");
  EXPECT_TRUE(fs::exists("/dev/full"));  // only regular files are removed
}

TEST_F(FilesTest, ARenamedFileReplacesTheOther) {
  write("a", "new");
  write("b", "old");
  durable_rename("test file", path("a"), path("b"));
  EXPECT_EQ(contents("b"), "new");
  EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(FilesTest, TheLogLosesTheStepsThatComeAgain) {
  const std::string before =
      "{\"step\":0,\"loss\":1}\n{\"step\":1,\"loss\":2}\n{\"step\":1,\"val_loss\":3}\n{\"note\":7}\n";
  write("log", before + "{\"step\":2,\"loss\":4}\n{\"step\":3,\"val_loss\":5}\n{\"step\":4,\"lo");
  cut_run_log(path("log"), 2);
  EXPECT_EQ(contents("log"), before);
  cut_run_log(path("log"), 2);
  EXPECT_EQ(contents("log"), before);
  EXPECT_FALSE(fs::exists(path("log.partial")));
  cut_run_log(path("none"), 2);
  EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(FilesTest, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_EQ(refusal([&] { require_writable("log file", path("new")); }), "no error");
  write("old", "x");
  EXPECT_EQ(refusal([&] { require_writable("log file", path("old")); }), "no error");
  EXPECT_EQ(contents("old"), "x");
  EXPECT_EQ(refusal([&] { require_writable("log file", directory_.string()); }),
            "log file " + directory_.string() + ": is a directory");
  EXPECT_EQ(refusal([&] { require_writable("log file", path("no/new")); }),
            "log file " + path("no/new") + ": its directory does not exist");
  EXPECT_FALSE(fs::exists(path("new")));
  EXPECT_EQ(refusal([] { require_writable("log file", "/dev/null"); }), "no error");
  EXPECT_EQ(refusal([] { require_replaceable("model file", "/dev/null"); }),
            "model file /dev/null: is no regular file");
  EXPECT_EQ(refusal([&] { require_replaceable("model file", path("old")); }), "no error");
}

}  // namespace
}  // namespace ridgeline::gpt2
