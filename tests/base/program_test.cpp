#include "ridgeline/base/program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "ridgeline/base/file.h"
#include "support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::TemporaryDirectory;

TEST(Program, ItsStatusSaysWhetherItSucceeded) {
  EXPECT_EQ(run_program({.words = {"true"}}).kind, ProgramEnd::Kind::succeeded);
  EXPECT_EQ(run_program({.words = {"false"}}).kind, ProgramEnd::Kind::failed);
  EXPECT_EQ(run_program({.words = {"sh", "-c", "kill -9 $$"}}).kind, ProgramEnd::Kind::failed)
      << "a signal is no success";
}

TEST(Program, OneThatIsNotThereIsToldFromOneThatDoesNotStart) {
  const ProgramEnd none = run_program({.words = {"ridgeline-no-such-program"}});
  EXPECT_EQ(none.kind, ProgramEnd::Kind::missing);
  EXPECT_FALSE(none.started());
  EXPECT_FALSE(none.why.empty());
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/program";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  EXPECT_EQ(run_program({.words = {path}}).kind, ProgramEnd::Kind::not_started) << "it may not be executed";
}

TEST(Program, TheThreeStreamsAreWhatIsGiven) {
  const TemporaryDirectory folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out", said = folder.path() + "/said";
  std::FILE* written = std::fopen(in.c_str(), "w");
  ASSERT_NE(written, nullptr);
  std::fputs("words", written);
  std::fclose(written);
  std::FILE* input = std::fopen(in.c_str(), "r");
  std::FILE* messages = std::fopen(said.c_str(), "w");
  ASSERT_TRUE(input != nullptr && messages != nullptr);
  EXPECT_TRUE(run_program({.words = {"sh", "-c", "cat; echo said >&2"},
                           .output_file = out,
                           .input = ::fileno(input),
                           .messages = ::fileno(messages)})
                  .succeeded());
  std::fclose(input);
  std::fclose(messages);
  EXPECT_EQ(read_file(out, 100).value(), "words");
  EXPECT_EQ(read_file(said, 100).value(), "said\n");
  // Of those that are not given nothing is read, and nothing is shown.
  EXPECT_TRUE(run_program({.words = {"sh", "-c", "cat; echo shown"}, .output_file = out}).succeeded());
  EXPECT_EQ(read_file(out, 100).value(), "shown\n");
}

TEST(Program, APlainLocaleIsOfTheProgramAlone) {
  const TemporaryDirectory folder;
  const std::string out = folder.path() + "/out";
  ::setenv("LC_NUMERIC", "de_DE.UTF-8", 1);
  const std::vector<std::string> words = {"sh", "-c", "echo $LC_ALL:$LC_NUMERIC"};
  EXPECT_TRUE(run_program({.words = words, .output_file = out, .plain_locale = true}).succeeded());
  EXPECT_EQ(read_file(out, 100).value(), "C:\n");
  EXPECT_STREQ(std::getenv("LC_NUMERIC"), "de_DE.UTF-8");
  ::unsetenv("LC_NUMERIC");
}

}  // namespace
}  // namespace ridgeline
