#include "scope_options.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

using Words = std::vector<std::string>;

TEST(ScopeOptions, NameThePart) {
  analyzer::Scope scope;
  EXPECT_EQ(scope_options(scope), Words{});
  scope.steps = analyzer::StepSelection::one(12);
  scope.process_id = 3;
  EXPECT_EQ(scope_options(scope), (Words{"--process", "3", "--step", "12"}));
  scope = {};
  scope.steps = analyzer::StepSelection::of_kind(1);
  EXPECT_EQ(scope_options(scope), (Words{"--step-kind", "2"})) << "the second kind";
  scope = analyzer::Scope::of_range("layer *");
  EXPECT_EQ(scope_options(scope), (Words{"--range", "layer *"}));
}

TEST(ScopeOptions, NameAWindowExactly) {
  analyzer::Scope scope;
  scope.window_from_start = true;
  for (const auto& [start_ns, end_ns, word] :
       std::vector<std::tuple<std::int64_t, std::int64_t, std::string>>{
           {0, 2'000'000'000, "0s..2s"},
           {1'500'000'000, 1'500'250'000, "1500ms..1500250us"},
           {1, 1'000'000'001, "1ns..1000000001ns"}}) {
    scope.window = analyzer::TimeWindow{start_ns, end_ns};
    EXPECT_EQ(scope_options(scope), (Words{"--window", word}));
  }
  scope.window_from_start = false;
  EXPECT_EQ(scope_options(scope), Words{}) << "of the recording's clock, which no option has";
}

}  // namespace
}  // namespace ridgeline::reports
