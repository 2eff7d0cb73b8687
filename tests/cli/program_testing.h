// The built program from outside: what the tests of verbs share.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fabricated_capture.h"
#include "ridgeline/store/database.h"

namespace ridgeline::testing {

struct Outcome {
  int code = -1;  // exit status
  int signal = 0;
  std::string out;
  std::string err;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Program : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    write_fabricated_capture(file("c.ridge"));
    FabricatedCapture refused;
    refused.tier_refused = true;
    write_fabricated_capture(file("refused.ridge"), refused);
    FabricatedCapture fast;
    fast.fast = true;
    write_fabricated_capture(file("fast.ridge"), fast);
    FabricatedCapture hostile;
    hostile.extra_kernel = "\x1b]0;owned\x07\x1b[2J</td><script>x</script>,\"|`\r\n\xff";
    hostile.command_line = "\x1b[31m./evil \xe2\x80\xae";
    write_fabricated_capture(file("hostile.ridge"), hostile);
    std::ofstream(file("text.ridge")) << "this is no capture\n";
    std::ofstream(file("empty.ridge"));
    const std::string whole = read_file(file("c.ridge"));
    std::ofstream(file("truncated.ridge"), std::ios::binary) << whole.substr(0, whole.size() / 3);
    std::filesystem::copy_file(file("c.ridge"), file("newer.ridge"));
    store::Database(file("newer.ridge"), store::OpenMode::read_write).execute("PRAGMA user_version = 9999");
    { store::Database(file("other.ridge"), store::OpenMode::create).execute("CREATE TABLE t (a)"); }
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  static std::string file(const std::string& name) { return (directory_ / name).string(); }

  /// Runs the program in the directory; standard output and error go to files, or `out` to that descriptor.
  static Outcome run(std::vector<std::string> arguments, int out = -1,
                     const std::vector<std::string>& environment = {}) {
    arguments.insert(arguments.begin(), RIDGELINE_PROGRAM);
    const std::string out_path = file("stdout.txt");
    const std::string err_path = file("stderr.txt");
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(directory_.c_str()) != 0) _exit(126);
      const int out_file = out >= 0 ? out : open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      const int err_file = open(err_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(out_file, STDOUT_FILENO);
      dup2(err_file, STDERR_FILENO);
      unsetenv("COLUMNS");
      for (const std::string& assignment : environment) putenv(strdup(assignment.c_str()));
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    if (out < 0) outcome.out = read_file(out_path);
    outcome.err = read_file(err_path);
    return outcome;
  }

  /// Fails with that code, one line on standard error that names the verb, and nothing on standard output.
  static void expect_error(const std::vector<std::string>& arguments, int code, const std::string& word) {
    std::string shown;
    for (const std::string& argument : arguments) shown += argument + " ";
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << shown << outcome.err;
    EXPECT_EQ(outcome.out, "") << shown;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << shown << outcome.err;
    EXPECT_EQ(outcome.err.substr(0, 9), "ridgeline") << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << shown << outcome.err;
  }

  static void expect_no_control(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      EXPECT_FALSE((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
          << "byte " << i << ": " << int{c};
    }
  }

  inline static std::filesystem::path directory_;
};

}  // namespace ridgeline::testing
