// explain_test.cpp: `ridgeline explain` and `ncu-command` of the built program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "program_testing.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Program;

TEST_F(Program, ExplainSaysWhatHoldsAKernelAndWhatToDoIn80Columns) {
  const Outcome outcome = run({"explain", "c.ridge", "1"}, -1, {"COLUMNS=80"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::size_t at = 0;
  for (const char* part :
       {"Number 1 of ", "What holds it", "nearest", "Evidence", "±", "T2", "Launch configurations",
        "A launch takes ", "What to do", "ridgeline ncu-command "}) {
    const std::size_t found = outcome.out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << outcome.out;
    at = found;
  }
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("ridgeline ") == std::string::npos) {
      EXPECT_LE(reports::display_width(line), 80) << line;
    }
  }
}

TEST_F(Program, ExplainTakesEveryFormatAndRefusesInOneLine) {
  for (const char* format : {"json", "markdown", "csv"}) {
    const Outcome outcome = run({"explain", "c.ridge", "adamw", "--format", format});
    EXPECT_EQ(outcome.code, 0) << format << outcome.err;
    EXPECT_FALSE(outcome.out.empty());
  }
  EXPECT_EQ(json::parse(run({"explain", "c.ridge", "adamw", "--format", "json"}).out)["format"],
            "ridgeline.explain");
  EXPECT_EQ(run({"explain", "c.ridge", "1", "--window", "100ms..300ms"}).code, 0)
      << "rows of a window are kernels too";
  expect_error({"explain", "c.ridge"}, 2, "KERNEL");
  expect_error({"explain", "c.ridge", "no_such"}, 2, "no kernel is called 'no_such'");
  expect_error({"explain", "c.ridge", "99999"}, 2, "no kernel number 99999");
  expect_error({"explain", "text.ridge", "1"}, 3, "text.ridge");
  EXPECT_EQ(run({"explain", "hostile.ridge", "1"}).out.find('\x1b'), std::string::npos);
}

TEST_F(Program, NcuCommandIsAScriptWhoseNotesAreComments) {
  const Outcome outcome = run({"ncu-command", "c.ridge", "adamw", "--launches", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("# ")) << outcome.out;
  EXPECT_NE(outcome.out.find("\nncu \\\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("--launch-count 3"), std::string::npos);
  EXPECT_NE(outcome.out.find("./gpt2_train --model 124M"), std::string::npos);
  expect_error({"ncu-command", "c.ridge", "no_such"}, 2, "no kernel is called");
  expect_error({"ncu-command", "c.ridge", "1", "--launches", "0"}, 2, "--launches");
}

}  // namespace
}  // namespace ridgeline
