// program_test.cpp: the built program from outside: every verb, every format, every class of error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fabricated_capture.h"
#include "ridgeline/store/database.h"

namespace ridgeline {
namespace {

using nlohmann::json;

struct Outcome {
  int code = -1;  // exit status
  int signal = 0;
  std::string out;
  std::string err;
};

std::string read_file(const std::string& path) {
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
    testing::write_fabricated_capture(file("c.ridge"));
    testing::FabricatedCapture refused;
    refused.tier_refused = true;
    testing::write_fabricated_capture(file("refused.ridge"), refused);
    testing::FabricatedCapture fast;
    fast.fast = true;
    testing::write_fabricated_capture(file("fast.ridge"), fast);
    testing::FabricatedCapture hostile;
    hostile.extra_kernel = "\x1b]0;owned\x07\x1b[2J</td><script>x</script>,\"|`\r\n\xff";
    hostile.command_line = "\x1b[31m./evil \xe2\x80\xae";
    testing::write_fabricated_capture(file("hostile.ridge"), hostile);
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

  // Runs the program in the directory; standard output and error go to files, or `out` to that descriptor.
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

  // Fails with that code, one line on standard error that names the verb, and nothing on standard output.
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

TEST_F(Program, EveryVerbPrintsEveryFormat) {
  const std::vector<std::vector<std::string>> kVerbs = {{"rank", "c.ridge"},
                                                        {"rank", "c.ridge", "--by", "kernel-grid"},
                                                        {"rank", "c.ridge", "--by", "class"},
                                                        {"rank", "c.ridge", "--by", "op"},
                                                        {"rank", "c.ridge", "--by", "launch"},
                                                        {"rank", "c.ridge", "--by", "family"},
                                                        {"steps", "c.ridge"},
                                                        {"info", "c.ridge"},
                                                        {"sql", "c.ridge", "SELECT * FROM v_rank"},
                                                        {"check", "fast.ridge"}};
  for (const auto& verb : kVerbs) {
    for (const char* format : {"text", "json", "csv", "markdown"}) {
      auto arguments = verb;
      arguments.insert(arguments.end(), {"--format", format});
      const Outcome outcome = run(arguments);
      EXPECT_EQ(outcome.code, 0) << verb[0] << " " << format << ": " << outcome.err;
      EXPECT_EQ(outcome.err, "");
      ASSERT_GT(outcome.out.size(), 60u) << verb[0] << " " << format;
      expect_no_control(outcome.out);
      if (std::string(format) == "json") {
        const json document = json::parse(outcome.out);
        EXPECT_EQ(document["format"], "ridgeline." + verb[0]);
        EXPECT_EQ(document["version"], 1);
        EXPECT_GT(document["rows"].size(), 0u);
      } else if (std::string(format) == "csv") {
        EXPECT_NE(outcome.out.find("\r\n"), std::string::npos);
      } else if (std::string(format) == "markdown") {
        EXPECT_NE(outcome.out.find("| --- |"), std::string::npos);
      } else {
        std::istringstream lines(outcome.out);
        for (std::string line; std::getline(lines, line);) {
          std::size_t columns = 0;
          for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
          EXPECT_LE(columns, 100u) << line;
        }
      }
    }
  }
}

TEST_F(Program, CheckExitsWithItsVerdict) {
  EXPECT_EQ(run({"check", "fast.ridge"}).code, 0);
  EXPECT_EQ(run({"check", "c.ridge"}).code, 1);
  EXPECT_EQ(run({"check", "c.ridge", "--target", "1%", "--stretch", "2%"}).code, 0);
  EXPECT_EQ(run({"check", "refused.ridge"}).code, 3);
  EXPECT_EQ(json::parse(run({"check", "c.ridge", "--format", "json"}).out)["verdict"]["exit_code"], 1);
}

TEST_F(Program, CheckTakesABudget) {
  std::ofstream(file("budget.json")) << R"({"format": "ridgeline.budget", "version": 1, "kernels": [
    {"kernel": "*adamw*", "max_time_ns": 1, "reason": "must fail"}, {"kernel": "no_such*", "max_time_ns": 1, "reason": "renamed"}]})";
  const Outcome outcome = run({"check", "fast.ridge", "--budget", "budget.json", "--format", "json"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["verdict"]["missed_count"], 1);
  EXPECT_EQ(document["verdict"]["unmatched_budgets"], json({"no_such*"}));
  EXPECT_EQ(document["rows"][0]["budget_reason"], "must fail");
  std::ofstream(file("bad.json")) << "{";
  expect_error({"check", "fast.ridge", "--budget", "bad.json"}, 2, "bad.json");
  expect_error({"check", "fast.ridge", "--budget", "missing.json"}, 4, "missing.json");
}

TEST_F(Program, ReportWritesAFile) {
  Outcome outcome = run({"report", "c.ridge"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("report.html"), std::string::npos);
  EXPECT_EQ(read_file(file("report.html")).substr(0, 15), "<!DOCTYPE html>");
  outcome = run({"report", "c.ridge", "--format", "markdown", "-o", "r.md"});
  EXPECT_EQ(read_file(file("r.md")).substr(0, 18), "# Ridgeline report");
  outcome = run({"report", "c.ridge", "--format", "json"});
  EXPECT_EQ(json::parse(outcome.out)["format"], "ridgeline.report");
  outcome = run({"report", "c.ridge", "-o", "-"});
  EXPECT_EQ(outcome.out, read_file(file("report.html")));
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << "left behind: " << entry.path();
  }
  expect_error({"report", "c.ridge", "-o", "/nonexistent/r.html"}, 4, "/nonexistent/r.html");
  expect_error({"report", "c.ridge", "-o", "."}, 4, "-o");
  expect_error({"report", "c.ridge", "--format", "csv"}, 2, "--format");
}

TEST_F(Program, BadFilesAreNamed) {
  for (const char* verb : {"rank", "check", "steps", "info", "report"}) {
    expect_error({verb, "missing.ridge"}, 4, "missing.ridge");
    expect_error({verb, "."}, 3, "directory");
    expect_error({verb, "text.ridge"}, 3, "text.ridge");
    expect_error({verb, "empty.ridge"}, 3, "empty.ridge");
    expect_error({verb, "truncated.ridge"}, 3, "truncated.ridge");
    expect_error({verb, "newer.ridge"}, 3, "newer");
    expect_error({verb, "other.ridge"}, 3, "other.ridge");
  }
  expect_error({"sql", "missing.ridge", "SELECT 1"}, 4, "missing.ridge");
  expect_error({"sql", "text.ridge", "SELECT 1"}, 3, "text.ridge");
}

TEST_F(Program, UsageErrorsAreOneLine) {
  expect_error({"bogus"}, 2, "no verb 'bogus'");
  expect_error({"--bogus"}, 2, "--bogus");
  expect_error({"rank"}, 2, "--help");
  expect_error({"rank", "c.ridge", "extra"}, 2, "extra");
  expect_error({"rank", "c.ridge", "--nope"}, 2, "--nope");
  expect_error({"rank", "c.ridge", "--format", "xml"}, 2, "--format");
  expect_error({"rank", "c.ridge", "--by", "colour"}, 2, "colour");
  expect_error({"rank", "c.ridge", "--columns", "colour"}, 2, "colour");
  expect_error({"rank", "c.ridge", "--top", "0"}, 2, "--top");
  expect_error({"rank", "c.ridge", "--top", "many"}, 2, "--top");
  for (const char* ratio : {"0", "-1", "1.1", "101%", "x", "", "nan", "inf", "0.7x", "%"}) {
    expect_error({"rank", "c.ridge", "--target", ratio}, 2, "--target");
  }
  expect_error({"rank", "c.ridge", "--target", "0.9", "--stretch", "0.8"}, 2, "--stretch");
  expect_error({"rank", "c.ridge", "--dram-peak", "guess"}, 2, "guess");
  expect_error({"rank", "c.ridge", "--step", "99"}, 2, "99");
  expect_error({"rank", "c.ridge", "--process", "99"}, 2, "99");
  expect_error({"rank", "c.ridge", "--", "x"}, 2, "--");
  expect_error({"record"}, 2, "PROGRAM");
  expect_error({"record", "--"}, 2, "PROGRAM");
  expect_error({"record", "--schedule", "nap=3", "--", "/bin/true"}, 2, "nap");
  expect_error({"record", "--tiers", "T9", "--", "/bin/true"}, 2, "T9");
  expect_error({"import", "/nonexistent"}, 2, "-o");
  expect_error({"import", "/nonexistent", "-o", "x.ridge"}, 2, "/nonexistent");
}

TEST_F(Program, SqlOnlyReads) {
  const std::string before = read_file(file("c.ridge"));
  for (const char* query : {"DELETE FROM launch", "DROP VIEW v_rank", "UPDATE run SET command_line = 'x'",
                            "VACUUM", "PRAGMA journal_mode = WAL", "ATTACH 'x.db' AS y",
                            "CREATE TEMP TABLE t (a)", "WITH a AS (SELECT 1) DELETE FROM launch"}) {
    expect_error({"sql", "c.ridge", query}, 2, "SELECT");
  }
  expect_error({"sql", "c.ridge", "SELEKT 1"}, 2, "SELEKT");
  expect_error({"sql", "c.ridge", "SELECT nope FROM launch"}, 2, "nope");
  expect_error({"sql", "c.ridge", "SELECT 1; DELETE FROM launch"}, 2, "one statement");
  expect_error({"sql", "c.ridge"}, 2, "--schema");
  EXPECT_EQ(read_file(file("c.ridge")), before);
  EXPECT_FALSE(std::filesystem::exists(file("c.ridge-wal")));
  EXPECT_FALSE(std::filesystem::exists(file("x.db")));

  EXPECT_EQ(run({"sql", "c.ridge", "SELECT count(*) AS n FROM step", "--format", "csv"}).out, "n\r\n14\r\n");
  const Outcome cut =
      run({"sql", "c.ridge", "SELECT launch_id FROM v_launch", "--max-rows", "5", "--format", "json"});
  EXPECT_EQ(json::parse(cut.out)["rows"].size(), 5u);
  EXPECT_EQ(json::parse(cut.out)["truncated"], true);
  EXPECT_NE(cut.err.find("--max-rows"), std::string::npos);
  EXPECT_EQ(json::parse(run({"sql", "c.ridge", "SELECT launch_id FROM v_launch", "--max-rows", "0",
                             "--format", "json"})
                            .out)["rows"]
                .size(),
            3150u);
  const Outcome schema = run({"sql", "--schema"});
  EXPECT_EQ(schema.code, 0);
  EXPECT_NE(schema.out.find("CREATE VIEW v_rank"), std::string::npos);
}

TEST_F(Program, HostileCapturesAreHarmless) {
  const std::vector<std::vector<std::string>> kCommands = {
      {"rank", "hostile.ridge"},
      {"rank", "hostile.ridge", "--by", "launch"},
      {"rank", "hostile.ridge", "--format", "csv"},
      {"rank", "hostile.ridge", "--format", "json"},
      {"rank", "hostile.ridge", "--format", "markdown"},
      {"info", "hostile.ridge"},
      {"steps", "hostile.ridge"},
      {"check", "hostile.ridge", "--all"},
      {"sql", "hostile.ridge", "SELECT kernel FROM v_rank"},
      {"report", "hostile.ridge", "-o", "-"},
      {"report", "hostile.ridge", "--format", "markdown"}};
  for (const auto& command : kCommands) {
    const Outcome outcome = run(command);
    EXPECT_LE(outcome.code, 1) << command[0] << outcome.err;
    expect_no_control(outcome.out);
    expect_no_control(outcome.err);
    const bool html = command[0] == "report" && command.back() == "-";
    if (html) {
      EXPECT_EQ(outcome.out.find("<script"), std::string::npos);
    }
  }
}

TEST_F(Program, ABrokenPipeIsQuiet) {
  for (const auto disposition : {SIG_DFL, SIG_IGN}) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    close(pipe_ends[0]);  // nobody reads
    const auto before = signal(SIGPIPE, disposition);
    const Outcome outcome = run({"rank", "c.ridge"}, pipe_ends[1]);
    signal(SIGPIPE, before);
    close(pipe_ends[1]);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Program, AFullDiskIsAnError) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = run({"rank", "c.ridge"}, full);
  close(full);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos);
}

TEST_F(Program, WidthFollowsColumns) {
  for (const auto& [columns, expected] :
       std::vector<std::pair<std::string, std::size_t>>{{"COLUMNS=80", 80},
                                                        {"COLUMNS=20", 80},
                                                        {"COLUMNS=120", 120},
                                                        {"COLUMNS=nonsense", 100},
                                                        {"COLUMNS=99999", 200}}) {
    std::size_t widest = 0;
    std::istringstream lines(run({"rank", "c.ridge"}, -1, {columns}).out);
    for (std::string line; std::getline(lines, line);) {
      std::size_t width = 0;
      for (const char c : line) width += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
      widest = std::max(widest, width);
    }
    EXPECT_LE(widest, expected) << columns;
    EXPECT_GE(widest, std::min<std::size_t>(expected, 100) - 20) << columns;
  }
}

TEST_F(Program, HelpAndVersion) {
  EXPECT_EQ(run({"--version"}).out.substr(0, 10), "ridgeline ");
  for (const char* verb : {"record", "doctor", "info", "rank", "check", "steps", "report", "import", "sql"}) {
    const Outcome outcome = run({verb, "--help"});
    EXPECT_EQ(outcome.code, 0) << verb;
    EXPECT_NE(outcome.out.find(std::string("ridgeline ") + verb), std::string::npos) << outcome.out;
    EXPECT_NE(run({"--help"}).out.find(verb), std::string::npos);
  }
  EXPECT_EQ(run({}).code, 0);
}

// With or without a GPU doctor answers; the code says whether a recording is possible.
TEST_F(Program, DoctorAnswers) {
  const Outcome outcome = run({"doctor", "--format", "json"});
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["format"], "ridgeline.doctor");
  EXPECT_EQ(outcome.code, document["can_record"] == true ? 0 : 4);
  EXPECT_GT(document["checks"].size(), 3u);
  for (const char* format : {"text", "csv", "markdown"})
    EXPECT_EQ(run({"doctor", "--format", format}).code, outcome.code);
}

}  // namespace
}  // namespace ridgeline
