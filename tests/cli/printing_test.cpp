// printing_test.cpp: how the built program prints: --sort, --all, --verbose, the list of columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "program_testing.h"

namespace ridgeline {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Program;

std::ptrdiff_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST_F(Program, SortTakesAKeyWithAndWithoutItsUnit) {
  const auto first = [&](std::vector<std::string> arguments, const char* key) {
    arguments.insert(arguments.end(), {"--format", "json", "--top", "1"});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["rows"][0][key].get<double>();
  };
  EXPECT_GT(first({"rank", "c.ridge", "--sort", "-time_ns"}, "time_ns"),
            first({"rank", "c.ridge", "--sort", "time"}, "time_ns"));
  EXPECT_GT(first({"rank", "c.ridge", "--sort=-dram_utilisation"}, "dram_utilisation_ratio"),
            first({"rank", "c.ridge", "--sort", "dram_utilisation"}, "dram_utilisation_ratio"));
  EXPECT_GT(first({"check", "fast.ridge", "--all", "--sort", "-time"}, "time_ns"),
            first({"check", "fast.ridge", "--all", "--sort", "time"}, "time_ns"));
  expect_error({"rank", "c.ridge", "--sort", "colour"}, 2, "colour");
  expect_error({"check", "c.ridge", "--sort", "-colour"}, 2, "colour");
}

TEST_F(Program, LongListsAreCutUnlessAllIsAskedFor) {
  const std::string cut = run({"rank", "c.ridge", "--by", "launch"}).out;
  const std::string all = run({"rank", "c.ridge", "--by", "launch", "--all"}).out;
  EXPECT_LT(lines_of(cut), 75);
  EXPECT_NE(cut.find("--all shows them"), std::string::npos);
  EXPECT_GT(lines_of(all), 200);
  EXPECT_EQ(all.find("--all shows"), std::string::npos);
  EXPECT_GT(lines_of(run({"rank", "c.ridge", "--by", "launch", "--format", "csv"}).out), 200);
}

TEST_F(Program, AFileHoldsWhatAPipeGetsHoweverWideTheTerminal) {
  const std::string piped = run({"rank", "c.ridge"}).out;
  const Outcome written = run({"rank", "c.ridge", "-o", "rank.txt"}, -1, {"COLUMNS=160"});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(testing::read_file(file("rank.txt")), piped);
}

TEST_F(Program, TheNameOfAFileChoosesItsFormat) {
  const auto begin = [&](const char* name) { return testing::read_file(file(name)).substr(0, 1); };
  const std::vector<std::vector<std::string>> verbs = {{"rank", "c.ridge"},
                                                       {"steps", "c.ridge"},
                                                       {"info", "c.ridge"},
                                                       {"sql", "c.ridge", "SELECT 1 AS one"},
                                                       {"report", "c.ridge"}};
  for (std::vector<std::string> verb : verbs) {
    verb.insert(verb.end(), {"-o", "out.json"});
    const Outcome as_json = run(verb);
    EXPECT_EQ(as_json.err, "") << verb.front();
    EXPECT_EQ(begin("out.json"), "{") << verb.front();
    verb.back() = "out.md";
    run(verb);
    const std::string markdown = testing::read_file(file("out.md"));
    EXPECT_NE(markdown.find("| "), std::string::npos) << verb.front();
    EXPECT_EQ(markdown.find("<html"), std::string::npos) << verb.front();
  }
  ASSERT_EQ(run({"rank", "c.ridge", "--format", "csv", "-o", "named.json"}).code, 0);
  EXPECT_NE(begin("named.json"), "{") << "what was said counts";
  ASSERT_EQ(run({"rank", "c.ridge", "-o", "rank.svg"}).code, 0);
  EXPECT_EQ(testing::read_file(file("rank.svg")), run({"rank", "c.ridge"}).out) << "it has no pictures";
}

TEST_F(Program, HelpFitsTheScreen) {
  for (const char* verb :
       {"record", "doctor", "info", "rank", "check", "steps", "report", "import", "sql", "columns"}) {
    std::istringstream text(run({verb, "--help"}, -1, {"COLUMNS=80"}).out);
    std::size_t widest = 0;
    for (std::string line; std::getline(text, line);) widest = std::max(widest, line.size());
    EXPECT_LE(widest, 80u) << verb;
    EXPECT_GT(widest, 60u) << verb;
  }
  const std::string help = run({"rank", "--help"}, -1, {"COLUMNS=80"}).out;
  EXPECT_NE(help.find("\n  --step-kind N               Of steps that launch different kernels, analyse\n"
                      "                              this kind"),
            std::string::npos)
      << help;
}

TEST_F(Program, WhatIsNoOptionIsNamed) {
  expect_error({"rank", "c.ridge", "--colour"}, 2, "no option '--colour': see ridgeline rank --help");
  expect_error({"steps", "c.ridge", "--by", "layer"}, 2, "no option '--by': see ridgeline steps --help");
  expect_error({"steps", "c.ridge", "--by=layer"}, 2, "no option '--by'");
  expect_error({"rank", "c.ridge", "d.ridge"}, 2, "one argument too many: 'd.ridge'");
}

TEST_F(Program, VerboseSaysWhatTheFiguresRestOn) {
  EXPECT_EQ(run({"rank", "c.ridge"}).out.find("Roofs:"), std::string::npos);
  for (const char* verb : {"rank", "steps"})
    EXPECT_NE(run({verb, "c.ridge", "--verbose"}).out.find("Roofs: DRAM"), std::string::npos) << verb;
}

TEST_F(Program, ColumnsListsEveryKeyThatAnswersHave) {
  const json row = json::parse(run({"rank", "c.ridge", "--format", "json"}).out)["rows"][0];
  const std::string listed = run({"columns", "rank"}).out;
  for (const auto& [key, value] : row.items())
    EXPECT_NE(("\n" + listed).find("\n" + key + " "), std::string::npos) << key;
  EXPECT_EQ(run({"columns"}).out, listed) << "the ranking's unless told";
  EXPECT_NE(run({"columns", "check", "--markdown"}).out.find("| `verdict` |"), std::string::npos);
  expect_error({"columns", "colours"}, 2, "check, steps");
}

// Kinds count from 1; the first is what goes without saying.
TEST_F(Program, TheFirstKindOfStepsIsTheDefault) {
  const auto rows = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"rank", "c.ridge", "--format", "json"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["rows"];
  };
  EXPECT_EQ(rows({}), rows({"--step-kind", "1"}));
  expect_error({"rank", "c.ridge", "--step-kind", "0"}, 2, "--step-kind");
  expect_error({"rank", "c.ridge", "--step-kind", "2"}, 2, "steps of one kind");
}

}  // namespace
}  // namespace ridgeline
