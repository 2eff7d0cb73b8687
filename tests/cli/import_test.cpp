// import from outside: what it says, where it draws how far it is, and what it leaves alone.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "import/import_testing.h"
#include "program_testing.h"

namespace ridgeline {
namespace {

using import::testing::FakeSpool;
using testing::Outcome;

class ImportVerb : public testing::Program {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(spool_);
    FakeSpool(spool_).whole_run();
  }
  void TearDown() override {
    std::filesystem::remove_all(spool_);
    std::filesystem::remove(file("out.ridge"));
  }
  // What the program writes to a terminal that is its standard error.
  static std::string drawn(const std::vector<std::string>& more) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return "no terminal";
    const int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(directory_.c_str()) != 0) _exit(126);
      const int nothing = open("/dev/null", O_WRONLY);
      dup2(nothing, STDOUT_FILENO);
      dup2(slave, STDERR_FILENO);
      std::vector<std::string> arguments = {RIDGELINE_PROGRAM, "import", "x.spool", "-o", "out.ridge", "-f"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(slave);
    // Read while it runs: a terminal holds only so much. When the program ends nobody has it open any more.
    std::string text;
    char piece[4096];
    for (ssize_t count = 0; (count = read(terminal, piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(count));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << text;
    close(terminal);
    return text;
  }
  const std::string spool_ = file("x.spool");
};

TEST_F(ImportVerb, MakesACaptureAndSaysWhatIsInIt) {
  const Outcome made = run({"import", "x.spool", "-o", "out.ridge"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("Imported x.spool.\n")) << made.out;
  EXPECT_NE(made.out.find("out.ridge"), std::string::npos) << made.out;
  const auto launches = nlohmann::json::parse(
      run({"sql", "out.ridge", "SELECT count(*) AS n FROM launch", "--format", "json"}).out);
  EXPECT_EQ(launches["rows"][0]["n"], 30);
  expect_error({"import", "x.spool", "-o", "out.ridge"}, 2, "--force");
  EXPECT_EQ(run({"import", "x.spool", "-o", "out.ridge", "-f"}).code, 0);
  expect_error({"import", "x.spool"}, 2, "give -o FILE");
}

TEST_F(ImportVerb, QuietPrintsNothing) {
  const Outcome quiet = run({"import", "x.spool", "-o", "out.ridge", "-q"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out, "");
  EXPECT_TRUE(std::filesystem::exists(file("out.ridge")));
}

TEST_F(ImportVerb, HowFarItIsIsDrawnOnATerminalUnlessQuiet) {
  const std::string line = drawn({});
  EXPECT_NE(line.find("making the capture, "), std::string::npos) << line;
  EXPECT_NE(line.find("100 %"), std::string::npos) << line;
  EXPECT_EQ(drawn({"-q"}).find("making the capture"), std::string::npos);
  EXPECT_EQ(run({"import", "x.spool", "-o", "out.ridge", "-f"}).err.find("making the capture"),
            std::string::npos)
      << "no terminal";
}

}  // namespace
}  // namespace ridgeline
