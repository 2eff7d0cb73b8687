// what_if_test.cpp: `ridgeline what-if` of the built program: what it takes, prints and refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "program_testing.h"

namespace ridgeline {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Program;

TEST_F(Program, WhatIfPrintsTheFourFiguresInTheirOrder) {
  const Outcome outcome = run({"what-if", "c.ridge", "*layernorm*=1.5x"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::size_t at = 0;
  for (const char* label : {"Amdahl's bound", "Naive sum", "Simulated ", "After power"}) {
    const std::size_t found = outcome.out.find(label, at);
    ASSERT_NE(found, std::string::npos) << label << "\n" << outcome.out;
    at = found;
  }
}

TEST_F(Program, WhatIfTakesSeveralChangesAndAnswersThemTogether) {
  const Outcome outcome = run({"what-if", "c.ridge", "--at-roof", "85", "*layernorm*=1.5x", "*gemm*=2",
                               "--graph", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["format"], "ridgeline.what_if");
  ASSERT_EQ(document["rows"].size(), 5U) << "four changes, and all together";
  EXPECT_EQ(document["rows"][4]["what"], "together");
  EXPECT_GT(document["together"]["naive_ns"].get<double>(), 0);
  // What each takes goes on from what those before it made: together they take no less than nothing.
  EXPECT_LE(document["together"]["bound_ns"].get<double>(),
            document["replay"]["measured_ns"].get<double>() * 1.0001);
}

TEST_F(Program, WhatIfOfARangeChangesItsLaunchesAlone) {
  const auto changed = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["rows"][0]["launches"].get<std::int64_t>();
  };
  const std::int64_t all = changed({"what-if", "c.ridge", "*=2"});
  const std::int64_t forward = changed({"what-if", "c.ridge", "*=2", "--range", "forward"});
  EXPECT_GT(forward, 0);
  EXPECT_LT(forward, all);
}

TEST_F(Program, WhatIfRefusesWhatItCannotMeanInOneLine) {
  expect_error({"what-if", "c.ridge"}, 2, "nothing is to be different");
  expect_error({"what-if", "c.ridge", "no_such=2x"}, 2, "no kernel of the step is called 'no_such'");
  expect_error({"what-if", "c.ridge", "*layernorm*"}, 2, "attention*=1.5x");
  expect_error({"what-if", "c.ridge", "--fuse", "a"}, 2, "PRODUCER,CONSUMER");
  expect_error({"what-if", "c.ridge", "--fuse-kept", "a"}, 2, "--fuse-kept: 'a'");
  expect_error({"what-if", "c.ridge", "--fuse", "no_such,neither"}, 2, "no launch of the second follows");
  expect_error({"what-if", "c.ridge", "--at-roof", "0"}, 2, "no share of a roof");
  expect_error({"what-if", "c.ridge", "--precision", "*=half"}, 2, "PATTERN=TYPE");
  expect_error({"what-if", "c.ridge", "*=2", "--window", "0s..1s"}, 2, "leave the window out");
  expect_error({"what-if", "missing.ridge", "*=2"}, 4, "missing.ridge");
}

}  // namespace
}  // namespace ridgeline
