// advise_test.cpp: the verb, and the command lines that advice gives.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program_testing.h"
#include "ridgeline/reports/advice_text.h"

namespace ridgeline {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Program;

TEST_F(Program, EveryCommandThatAdviceGivesIsOne) {
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords) {
    std::istringstream words(reports::look_command(word.value, "c.ridge"));
    std::vector<std::string> arguments;
    for (std::string argument; words >> argument;) arguments.push_back(argument);
    ASSERT_EQ(arguments.front(), "ridgeline");
    arguments.erase(arguments.begin());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << word.text << ": " << outcome.err;
  }
}

TEST_F(Program, AdviseOfOneRuleSaysWhateverItIs) {
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords) {
    const Outcome outcome = run({"advise", "c.ridge", "--rule", std::string(word.text)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(word.text), std::string::npos) << outcome.out;
  }
  expect_error({"advise", "c.ridge", "--rule", "colour"}, 2, "colour");
  expect_error({"advise", "text.ridge"}, 3, "text.ridge");
}

TEST_F(Program, AdviseTakesScopesAndFormats) {
  const Outcome all = run({"advise", "c.ridge", "--all", "--format", "json"});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_GE(json::parse(all.out)["rows"].size(), 22U);
  EXPECT_EQ(run({"advise", "c.ridge", "--range", "forward"}).code, 0);
  EXPECT_EQ(run({"advise", "c.ridge", "--window", "100ms..160ms"}).code, 0);
  EXPECT_EQ(run({"advise", "refused.ridge", "--format", "markdown"}).code, 0);
  EXPECT_EQ(run({"advise", "hostile.ridge", "--all"}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ridgeline
