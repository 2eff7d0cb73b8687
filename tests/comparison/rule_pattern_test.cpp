#include "rule_pattern.h"

#include <gtest/gtest.h>

#include <chrono>

#include "made_runs.h"
#include "ridgeline/comparison/match.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

std::string replaced(const std::string& pattern, const std::string& text, const std::string& replacement) {
  return RulePattern::compile(pattern).value().whole(text, replacement).value_or("(no match)");
}

TEST(RulePattern, ReplacesGroupsOfAWholeMatch) {
  EXPECT_EQ(replaced("my_(\\w+)_v1", "my_gemm_v1", "my_$1_v2"), "my_gemm_v2");
  EXPECT_EQ(replaced("my_(\\w+)_v1", "my_gemm_v1x", "y"), "(no match)") << "all of the text";
  EXPECT_EQ(replaced("(a)|(b)", "b", "$1-$2-$3"), "-b-") << "groups that took no part are empty";
  EXPECT_EQ(replaced("a+", "aaa", "$& costs $$1, $x, $"), "aaa costs $1, $x, $");
  EXPECT_EQ(replaced("(?:x|y){2}<float, (\\d+)>", "xy<float, 128>", "$1"), "128");
  EXPECT_EQ(replaced(".*", "\xff\xfe", "any bytes"), "any bytes");
  EXPECT_TRUE(RulePattern::compile("layer \\d").value().found_in("step / layer 7 / mlp"));
  EXPECT_FALSE(RulePattern::compile("^layer").value().found_in("step / layer 7"));
  EXPECT_TRUE(RulePattern::compile("").value().found_in(""));
}

TEST(RulePattern, WhatItCannotDoIsSaid) {
  for (const std::string& pattern :
       {std::string("("), std::string("a**("), std::string("(a)\\1"), std::string("(?=a)a"),
        std::string(5000, 'a'), std::string("((a{100}){100}){100}")}) {
    const auto compiled = RulePattern::compile(pattern);
    ASSERT_FALSE(compiled.ok()) << pattern.substr(0, 40);
    EXPECT_EQ(compiled.failure().kind, ErrorKind::usage);
    EXPECT_FALSE(compiled.failure().message.empty());
  }
}

// What ended a backtracking matcher by its stack, or kept it busy for ever.
TEST(RulePattern, NoNameAndNoPatternTakesLong) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(replaced(".*gemm.*", std::string(30'000, 'x') + "gemm", "y"), "y");
  EXPECT_EQ(replaced("(.*)(.*)(.*)gemm", std::string(60'000, 'g'), "y"), "(no match)");
  EXPECT_EQ(replaced("(a+)+b", std::string(50'000, 'a'), "y"), "(no match)");
  EXPECT_EQ(replaced("(a|aa)+$", std::string(50'000, 'a') + "!", "y"), "(no match)");
  EXPECT_EQ(replaced("(x+x+)+y", std::string(50'000, 'x'), "y"), "(no match)");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << "seconds, not centuries";
}

TEST(RulePattern, RulesOfALongNameMatchKernels) {
  const std::string name = "gemm_" + std::string(30'000, 'x');
  const RunProfile a = testing::made({.kernels = {{"step", name, 100, 1, "c1"}}});
  const RunProfile b = testing::made({.kernels = {{"step", "other", 100, 1, "c2"}}});
  const auto matched = accepted(match_kernels(a, b, {.rules = {{"gemm_.*", "other", "st(e)p"}}}));
  ASSERT_TRUE(matched.ok());
  ASSERT_EQ(matched.value().matches.size(), 1U);
  EXPECT_EQ(matched.value().matches[0].level, MatchLevel::rule);
  EXPECT_EQ(accepted(match_kernels(a, b, {.rules = {{"(", "x", ""}}})).failure().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ridgeline::comparison
