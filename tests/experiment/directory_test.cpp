#include "ridgeline/experiment/directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/base/error.h"
#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

class Directory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text = "x") const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  testing::TemporaryDirectory folder_;
};

TEST_F(Directory, RemovesWhatTheExperimentBeforeRecordedAndNothingElse) {
  {
    ExperimentDirectory first(folder_.path());
    for (const char* name : {"a-one-01", "b-two-01", "a-one-02"}) {
      EXPECT_EQ(first.claim(name), folder_ / name);
      write(std::string(name) + ".ridge");
      write(std::string(name) + ".log");
    }
  }
  EXPECT_EQ(read("captures.txt"), "a-one-01.ridge\nb-two-01.ridge\na-one-02.ridge\n");
  write("mine-01.ridge");
  write("build-one.log");
  ExperimentDirectory second(folder_.path());
  for (const char* name : {"a-one-01.ridge", "b-two-01.log", "a-one-02.ridge", "captures.txt"})
    EXPECT_FALSE(exists(name)) << name;
  EXPECT_TRUE(exists("mine-01.ridge"));
  EXPECT_TRUE(exists("build-one.log"));
  static_cast<void>(second.claim("a-one-01"));
  EXPECT_EQ(read("captures.txt"), "a-one-01.ridge\n");
}

TEST_F(Directory, AClaimedNameIsFreeAndListedOnce) {
  ExperimentDirectory directory(folder_.path());
  static_cast<void>(directory.claim("a-one-01"));
  write("a-one-01.ridge");
  static_cast<void>(directory.claim("a-one-01"));
  EXPECT_FALSE(exists("a-one-01.ridge"));
  EXPECT_EQ(read("captures.txt"), "a-one-01.ridge\n");
}

TEST_F(Directory, AVariantIsForgottenWithoutItsNeighbours) {
  const ExperimentDirectory directory(folder_.path());
  for (const char* name : {"a-one-01.ridge", "a-one-01.log", "a-one-112.ridge", "a-one-01.txt",
                           "a-one-x.ridge", "a-one-.ridge", "a-one-more-01.ridge", "b-one-01.ridge"})
    write(name);
  directory.remove_numbered("a-one-");
  for (const char* name : {"a-one-01.ridge", "a-one-01.log", "a-one-112.ridge"})
    EXPECT_FALSE(exists(name)) << name;
  for (const char* name :
       {"a-one-01.txt", "a-one-x.ridge", "a-one-.ridge", "a-one-more-01.ridge", "b-one-01.ridge"})
    EXPECT_TRUE(exists(name)) << name;
}

TEST_F(Directory, AListThatNamesOthersFilesRemovesNone) {
  std::filesystem::create_directory(folder_ / "out");
  write("kept-01.ridge");
  write("out/notes.ridge");
  write("out/a-one.log");
  write("out/captures.txt", "../kept-01.ridge\n/etc/passwd\nnotes.ridge\na-one.ridge\n..\n\n");
  const ExperimentDirectory directory(folder_ / "out");
  EXPECT_TRUE(exists("kept-01.ridge"));
  EXPECT_TRUE(exists("out/notes.ridge"));
  EXPECT_TRUE(exists("out/a-one.log"));
}

TEST_F(Directory, ThatCannotBeMadeIsAnError) {
  write("file");
  EXPECT_THROW(ExperimentDirectory(folder_ / "file" + "/below"), Error);
}

}  // namespace
}  // namespace ridgeline::experiment
