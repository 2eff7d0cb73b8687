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

#include "program_testing.h"

namespace ridgeline {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Program;
using testing::read_file;

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
  EXPECT_EQ(run({"check", "fast.ridge", "--stretch", "100%"}).code, 0);
  EXPECT_EQ(run({"check", "fast.ridge", "--target", "1", "--stretch", "1"}).code, 1);
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
  EXPECT_NE(outcome.err.find("this JSON, with max_time_ns, is still read"), std::string::npos) << outcome.err;
  std::ofstream(file("budget.toml"))
      << "[[budget]]\nkernel = '*adamw*'\nmax_time_us = 0.001\nreason = 'must fail'\n";
  const Outcome toml = run({"check", "fast.ridge", "--budget", "budget.toml"});
  EXPECT_EQ(toml.code, 1);
  EXPECT_EQ(toml.err, "");
  EXPECT_NE(toml.out.find("Budget missed: "), std::string::npos) << toml.out;
  EXPECT_NE(toml.out.find(" of 1 ns allowed;"), std::string::npos) << toml.out;
  std::ofstream(file("none.toml")) << "[compare]\npairs = 3\n";
  expect_error({"check", "fast.ridge", "--budget", "none.toml"}, 2, "[[budget]]");
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
  expect_error({"report", "c.ridge", "--format", "xml"}, 2, "junit");
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
  EXPECT_EQ(run({"--"}).code, 2);
  expect_error({"--bogus"}, 2, "--bogus");
  expect_error({"rank"}, 2, "--help");
  expect_error({"rank", "c.ridge", "extra"}, 2, "extra");
  expect_error({"rank", "c.ridge", "--nope"}, 2, "--nope");
  expect_error({"rank", "c.ridge", "--format", "xml"}, 2, "--format");
  expect_error({"rank", "c.ridge", "--by", "colour"}, 2, "colour");
  expect_error({"rank", "c.ridge", "--columns", "colour"}, 2, "colour");
  expect_error({"rank", "c.ridge", "--top", "0"}, 2, "--top");
  expect_error({"rank", "c.ridge", "--top", "many"}, 2, "--top");
  for (const std::vector<std::string>& negative : {std::vector<std::string>{"rank", "c.ridge", "--top=-1"},
                                                   {"rank", "c.ridge", "--step=-1"},
                                                   {"sql", "c.ridge", "SELECT 1", "--max-rows=-1"},
                                                   {"rank", "c.ridge", "--process=1.5"}}) {
    expect_error(negative, 2, "is not a whole number of");
    EXPECT_LT(run(negative).err.size(), 200u) << run(negative).err;
  }
  for (const std::vector<std::string>& empty : {std::vector<std::string>{"check", "c.ridge", "--budget", ""},
                                                {"rank", "c.ridge", "-o", ""},
                                                {"report", "c.ridge", "--output", ""},
                                                {"record", "--step-range", "", "--", "/bin/true"},
                                                {"record", "-o", "", "--", "/bin/true"}})
    expect_error(empty, 2, "the value is empty: give one, or leave the option out");
  for (const char* interval : {"nan", "inf", "0.5", "2e6", "5us"})
    expect_error({"record", "--sample-interval", interval, "--", "/bin/true"}, 2,
                 "is not a number of microseconds");
  expect_error({"record", "--agent", file("text.ridge"), "--", "/bin/true"}, 2, "is no shared library");
  expect_error({"record", "-o", "-", "--agent", RIDGELINE_PROGRAM, "--", "/bin/true"}, 2, "standard output");
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
  expect_error({"import", "nosuch"}, 2, "nosuch: no such directory");
  std::filesystem::create_directory(file("folder"));
  expect_error({"import", "folder", "-o", "x.ridge"}, 2, "folder is no spool directory");
  expect_error({"import", "/nonexistent", "-o", "x.ridge"}, 2, "/nonexistent");
}

// A target above the usual stretch goal is no contradiction of what nobody has said.
TEST_F(Program, TheStretchGoalIsAtLeastTheTarget) {
  const Outcome outcome = run({"check", "c.ridge", "--target", "0.9"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(run({"check", "fast.ridge", "--target", "0.9"}).code, 1);
}

TEST_F(Program, NoOutputReplacesACapture) {
  const std::string before = read_file(file("c.ridge"));
  std::filesystem::copy_file(file("c.ridge"), file("other-capture.ridge"));
  std::filesystem::create_symlink(file("c.ridge"), file("link.ridge"));
  std::filesystem::create_hard_link(file("c.ridge"), file("hard.ridge"));
  for (const char* output : {"c.ridge", "./c.ridge", "other-capture.ridge", "link.ridge", "hard.ridge"}) {
    for (const char* verb : {"rank", "check", "steps", "info", "report"})
      expect_error({verb, "c.ridge", "-o", output}, 2, "is a capture, which is not written over");
    expect_error({"sql", "c.ridge", "SELECT 1", "-o", output}, 2, "is a capture, which is not written over");
  }
  EXPECT_EQ(read_file(file("c.ridge")), before);
  EXPECT_EQ(read_file(file("other-capture.ridge")), before);
  for (const char* name : {"other-capture.ridge", "link.ridge", "hard.ridge"})
    std::filesystem::remove(file(name));
}

TEST_F(Program, AFileThatIsReplacedKeepsItsMode) {
  std::ofstream(file("private.txt")) << "old";
  std::filesystem::permissions(file("private.txt"), std::filesystem::perms(0600));
  ASSERT_EQ(run({"rank", "c.ridge", "-o", "private.txt"}).code, 0);
  EXPECT_NE(read_file(file("private.txt")), "old");
  EXPECT_EQ(std::filesystem::status(file("private.txt")).permissions(), std::filesystem::perms(0600));
}

// Past such a limit the system ends a program without a word.
TEST_F(Program, ALimitOnFileSizesIsAnErrorAndLeavesNothing) {
  const std::string command = "cd '" + directory_.string() + "' && ulimit -f 8 && '" + RIDGELINE_PROGRAM +
                              "' report c.ridge -o limited.html 2>limited.txt";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_NE(read_file(file("limited.txt")).find("cannot write limited.html"), std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    EXPECT_EQ(entry.path().string().find("limited.html"), std::string::npos)
        << "left behind: " << entry.path();
}

TEST_F(Program, LostRowsAreSaidAndJudgedByNobody) {
  const auto damaged = [](const std::string& name, const std::string& sql) {
    std::filesystem::copy_file(file("c.ridge"), file(name),
                               std::filesystem::copy_options::overwrite_existing);
    store::Database(file(name), store::OpenMode::read_write).execute(sql);
  };
  EXPECT_EQ(run({"info", "c.ridge", "--verify"}).code, 0);
  EXPECT_NE(run({"info", "c.ridge", "--verify"}).out.find("c.ridge is whole"), std::string::npos);
  EXPECT_EQ(run({"rank", "c.ridge"}).out.find("lost rows"), std::string::npos);
  // Every second launch of the timeline: nothing else tells that they are gone.
  damaged("half.ridge",
          "DELETE FROM launch_row WHERE id IN (SELECT launch_id FROM v_launch WHERE launch_id % 2 = 0 AND"
          " phase = 'timeline')");
  EXPECT_NE(run({"rank", "half.ridge"})
                .out.find("the capture has lost rows since it was made: launch holds 2,363 of"),
            std::string::npos)
      << run({"rank", "half.ridge"}).out;
  EXPECT_EQ(run({"rank", "half.ridge"}).out.find("none lost"), std::string::npos);
  EXPECT_EQ(run({"check", "half.ridge"}).code, 3);
  const Outcome verified = run({"info", "half.ridge", "--verify"});
  EXPECT_EQ(verified.code, 3);
  EXPECT_NE(verified.out.find("table launch_row holds"), std::string::npos) << verified.out;
  EXPECT_NE(verified.out.find("step id"), std::string::npos) << verified.out;
  damaged("half.ridge", "DELETE FROM kernel WHERE id = 1");
  EXPECT_NE(run({"rank", "half.ridge"}).out.find("kernel holds"), std::string::npos);
  damaged("half.ridge", "DROP TABLE launch_metric");
  for (const char* verb : {"rank", "check", "steps", "info", "report"})
    expect_error({verb, "half.ridge"}, 3, "half.ridge is damaged");
  damaged("half.ridge", "ALTER TABLE run DROP COLUMN host_name");
  for (const char* verb : {"rank", "check", "steps", "info", "report"})
    expect_error({verb, "half.ridge"}, 3, "half.ridge is damaged");
}

// One of them made the report's axes endless.
TEST_F(Program, PeaksOfAnySizeEndInAReport) {
  for (const char* peak : {"9e999", "1e-310", "1.8e308", "0", "-1"}) {
    std::filesystem::copy_file(file("c.ridge"), file("peak.ridge"),
                               std::filesystem::copy_options::overwrite_existing);
    store::Database(file("peak.ridge"), store::OpenMode::read_write)
        .execute(std::string("UPDATE device_peak SET value = ") + peak);
    const Outcome outcome = run({"report", "peak.ridge", "-o", "peak.html"});
    EXPECT_EQ(outcome.signal, 0) << peak;
    EXPECT_LT(outcome.code, 5) << peak << outcome.err;
    EXPECT_LT(read_file(file("peak.html")).size(), 1'000'000u) << peak;
  }
}

TEST_F(Program, SqlWithoutALimitWritesRowsAsTheyCome) {
  const std::string query =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000) SELECT i, 'x' AS t "
      "FROM n";
  const std::string csv = run({"sql", "c.ridge", query, "--max-rows", "0", "--format", "csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 25'001);
  EXPECT_EQ(csv.substr(0, 10), "i,t\r\n1,x\r\n");
  const auto document =
      json::parse(run({"sql", "c.ridge", query, "--max-rows", "0", "--format", "json"}).out);
  EXPECT_EQ(document["rows"].size(), 25'000u);
  EXPECT_EQ(document["rows"][24'999]["i"], 25'000);
  EXPECT_EQ(document["truncated"], false);
  EXPECT_NE(run({"sql", "c.ridge", query, "--max-rows", "0"}).out.find("25,000 rows"), std::string::npos);
  const auto empty = json::parse(
      run({"sql", "c.ridge", "SELECT 1 AS a WHERE 0", "--max-rows", "0", "--format", "json"}).out);
  EXPECT_EQ(empty["rows"].size(), 0u);
  expect_error({"sql", "c.ridge", "SELEKT", "--max-rows", "0"}, 2, "syntax error");
}

TEST_F(Program, ASpoolsOwnWordReplacesNothingButACapture) {
  std::filesystem::create_directory(file("hostile.spool"));
  std::ofstream(file("hostile.spool/launch.json"))
      << R"({"manifest_version": 1, "output": ")" << file("letter.txt") << R"(", "program": ["x"]})";
  std::ofstream(file("letter.txt")) << "precious";
  expect_error({"import", "hostile.spool", "-f"}, 2, "is no capture and is not replaced");
  EXPECT_EQ(read_file(file("letter.txt")), "precious");
  std::filesystem::remove_all(file("hostile.spool"));
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
  const Outcome whole =
      run({"sql", "c.ridge", "SELECT step_id FROM v_step", "--max-rows", "14", "--format", "json"});
  EXPECT_EQ(json::parse(whole.out)["rows"].size(), 14u);
  EXPECT_EQ(json::parse(whole.out)["truncated"], false) << "as many rows as asked for are all of them";
  EXPECT_EQ(whole.err, "");
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

TEST_F(Program, MeaningsOfColumnsWrapBehindTheirKeys) {
  const std::string text = run({"columns", "rank"}, -1, {"COLUMNS=80"}).out;
  std::istringstream lines(text);
  bool wrapped = false;
  for (std::string line; std::getline(lines, line);) {
    const auto columns =
        std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xc0u) != 0x80u; });
    EXPECT_LE(columns, 80) << line;
    wrapped = wrapped || line.starts_with("          ");
  }
  EXPECT_TRUE(wrapped) << text;
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
  // In text what each check found stands below the other, after the longest name.
  std::size_t widest = 0;
  for (const json& check : document["checks"])
    widest = std::max(widest, check["name"].get<std::string>().size());
  const std::string text = run({"doctor"}, -1, {"COLUMNS=200"}).out;
  for (const json& check : document["checks"]) {
    const auto name = check["name"].get<std::string>(), detail = check["detail"].get<std::string>();
    const std::size_t at =
        text.find(" " + name + std::string(widest + 2 - name.size(), ' ') + detail.substr(0, 8));
    ASSERT_NE(at, std::string::npos) << name << " in\n" << text;
    EXPECT_EQ(at - (text.rfind('\n', at) + 1), 5U) << "behind the status";
  }
}

}  // namespace
}  // namespace ridgeline
