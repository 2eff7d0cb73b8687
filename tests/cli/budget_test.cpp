#include "budget.h"

#include <gtest/gtest.h>

namespace ridgeline::cli {
namespace {

TEST(Budget, ReadsEntries) {
  const auto budgets = parse_budget(R"({"format": "ridgeline.budget", "version": 1, "kernels": [
    {"kernel": "*layernorm*", "min_utilisation_ratio": 0.5, "reason": "reads twice by design"},
    {"kernel": "adamw", "max_time_ns": 1e6, "max_dram_bytes": 2000000, "reason": "budget of the step"}]})",
                                    "b.json");
  ASSERT_TRUE(budgets.ok());
  ASSERT_EQ(budgets.value().size(), 2u);
  EXPECT_EQ(budgets.value()[0].kernel, "*layernorm*");
  EXPECT_EQ(budgets.value()[0].min_utilisation_ratio, 0.5);
  EXPECT_EQ(budgets.value()[1].max_time_ns, 1e6);
  EXPECT_EQ(budgets.value()[1].max_dram_bytes, 2e6);
}

TEST(Budget, NamesWhatIsWrong) {
  const std::string open = R"({"format": "ridgeline.budget", "version": 1, "kernels": )";
  const std::pair<std::string, const char*> kCases[] = {
      {"", "JSON"},
      {"{", "JSON"},
      {"[]", "ridgeline.budget"},
      {"null", "ridgeline.budget"},
      {R"({"format": 3})", "ridgeline.budget"},
      {R"({"format": "ridgeline.budget", "version": 2, "kernels": []})", "version"},
      {R"({"format": "ridgeline.budget", "version": 1})", "kernels"},
      {R"({"format": "ridgeline.budget", "version": 1, "kernels": {}})", "kernels"},
      {R"({"format": "ridgeline.budget", "version": 1, "kernels": [], "more": 1})", "\"more\""},
      {open + "[3]}", "kernels[0]"},
      {open + R"([{"kernel": "a", "reason": "b"}]})", "min_utilisation_ratio"},
      {open + R"([{"kernel": "a", "max_time_ns": 1}]})", "reason"},
      {open + R"([{"reason": "a", "max_time_ns": 1}]})", "\"kernel\" is missing"},
      {open + R"([{"kernel": "a", "reason": "b", "max_time_ns": -1}]})", "max_time_ns"},
      {open + R"([{"kernel": "a", "reason": "b", "max_time_ns": "1"}]})", "max_time_ns"},
      {open + R"([{"kernel": "a", "reason": "b", "min_utilisation_ratio": 70}]})", "min_utilisation_ratio"},
      {open + R"([{"kernel": "a", "reason": "b", "max_time": 1}]})", "\"max_time\""},
      {open + R"([{"kernel": "a", "reason": "b", "max_time_ns": 1}, {"kernel": 1}]})", "kernels[1]"},
      {open + R"([{"kernel": "a", "reason": "b", "max_time_ns": 1e999}]})", ""},
  };
  for (const auto& [text, word] : kCases) {
    const auto result = parse_budget(text, "b.json");
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.failure().kind, ErrorKind::usage);
    EXPECT_EQ(result.failure().message.substr(0, 6), "b.json");
    EXPECT_NE(result.failure().message.find(word), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
  }
}

TEST(Budget, MissingFileIsAnIoFailure) {
  EXPECT_EQ(read_budget("/nonexistent/budget.json").failure().kind, ErrorKind::io);
  EXPECT_EQ(read_budget("/").failure().kind, ErrorKind::io);
}

TEST(Budget, TimesAndBytesAreOfAStepAndNotOfManyOfThem) {
  const auto refused = [](const analyzer::KernelBudget& budget, const analyzer::Scope& scope) {
    const Result<void> result =
        check_budget_scope({{.kernel = "a", .min_utilisation_ratio = 0.5}, budget}, scope);
    return result.ok() ? std::string() : result.failure().message;
  };
  const analyzer::KernelBudget ratio{.kernel = "b", .min_utilisation_ratio = 0.5};
  const analyzer::KernelBudget time{.kernel = "b", .max_time_ns = 5e3},
      bytes{.kernel = "b", .max_dram_bytes = 1e6};
  analyzer::Scope window, range, range_of_step;
  window.window = analyzer::TimeWindow{0, 1000};
  range.range = range_of_step.range = "forward";
  range.steps = analyzer::StepSelection::everything();
  range_of_step.steps = analyzer::StepSelection::one(3);
  for (const auto& scope : {analyzer::Scope{}, range_of_step}) {
    EXPECT_EQ(refused(time, scope), "");
    EXPECT_EQ(refused(bytes, scope), "");
  }
  for (const auto& scope : {window, range}) {
    EXPECT_EQ(refused(ratio, scope), "");
    EXPECT_NE(refused(time, scope), "");
    EXPECT_NE(refused(bytes, scope), "");
  }
  EXPECT_NE(refused(time, range).find("name one with --step"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::cli
