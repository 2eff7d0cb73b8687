// What a comparison says beside the step's and the kernels' verdicts: phases, budgets, the spread inside one run.
#include <gtest/gtest.h>

#include <algorithm>

#include "comparison/made_runs.h"
#include "ridgeline/analyzer/comparison.h"

namespace ridgeline::analyzer {
namespace {

using testing::made_side;
using testing::training_step;

const Endpoint* endpoint(const Comparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.endpoints.begin(), comparison.endpoints.end(),
                                  [&](const Endpoint& part) { return part.name == name; });
  return found == comparison.endpoints.end() ? nullptr : &*found;
}

const KernelChange& kernel(const Comparison& comparison, const std::string& name) {
  const auto found =
      std::find_if(comparison.kernels.begin(), comparison.kernels.end(),
                   [&](const KernelChange& change) { return change.kernels_a.front() == name; });
  if (found == comparison.kernels.end()) throw std::runtime_error("no kernel " + name);
  return *found;
}

TEST(Phases, AreTheSumsOfTheirKernels) {
  const auto a = made_side({training_step()}, 3, 1);
  const Comparison comparison = compare(a, a).value();
  double phases_ns = 0;
  for (const char* name : {"forward", "backward", "optimizer"}) {
    ASSERT_NE(endpoint(comparison, name), nullptr) << name;
    phases_ns += endpoint(comparison, name)->time.a;
  }
  EXPECT_DOUBLE_EQ(endpoint(comparison, "optimizer")->time.a, 1.2e6);
  EXPECT_DOUBLE_EQ(phases_ns, endpoint(comparison, "kernels")->time.a);
}

TEST(Phases, OneThatALaterRunLacksIsNotMeasured) {
  const auto a = made_side({training_step()}, 3, 1);
  auto b = made_side({training_step()}, 3, 9);
  b.back().sites.pop_back();  // the optimizer
  b.back().order.pop_back();
  const Comparison comparison = compare(b, b).value();
  ASSERT_NE(endpoint(comparison, "optimizer"), nullptr);
  EXPECT_EQ(endpoint(comparison, "optimizer")->outcome, Outcome::not_measured);
  EXPECT_EQ(endpoint(comparison, "forward")->outcome, Outcome::same);
}

TEST(Budgets, OfAKernelThatIsThereAreHeldAndNothingElseIsSaid) {
  const auto runs = made_side({training_step()}, 3, 1);
  ComparisonOptions options;
  options.budgets = {{.kernel = "adamw*", .max_time_ns = 1.3e6}, {.kernel = "adamw*", .max_time_ns = 1.1e6}};
  const Comparison comparison = compare(runs, runs, options).value();
  ASSERT_EQ(comparison.budgets.size(), 2U);
  for (const BudgetCheck& check : comparison.budgets) {
    EXPECT_TRUE(check.measured);
    ASSERT_TRUE(check.kernel.has_value());
    EXPECT_EQ(comparison.kernels[*check.kernel].kernels_b.front(), "adamw_kernel");
  }
  EXPECT_FALSE(comparison.budgets[0].missed);
  EXPECT_TRUE(comparison.budgets[1].missed);
  EXPECT_EQ(exit_code(comparison), 1);
  options.budgets.pop_back();
  EXPECT_EQ(exit_code(compare(runs, runs, options).value()), 0);
  options.budgets[0].kernel = "no such kernel";
  const Comparison none = compare(runs, runs, options).value();
  ASSERT_EQ(none.budgets.size(), 1U);
  EXPECT_FALSE(none.budgets[0].kernel.has_value());
  EXPECT_EQ(exit_code(none), 3);
}

TEST(Budgets, OfBytesAndUtilisationNeedThemMeasured) {
  const auto a = made_side({training_step()}, 3, 1);
  auto b = a;
  const auto checked = [&](const KernelBudget& budget) {
    ComparisonOptions options;
    options.budgets = {budget};
    return compare(a, b, options).value().budgets.at(0);
  };
  const KernelBudget bytes{.kernel = "adamw*", .max_dram_bytes = 1e9};
  const KernelBudget ratio{.kernel = "adamw*", .min_utilisation_ratio = 0.7};
  EXPECT_FALSE(checked(bytes).measured);
  EXPECT_FALSE(checked(ratio).measured);
  const auto measure = [&](double dram_bytes, double dram_ratio, double compute_ratio) {
    for (RunProfile& run : b) {
      run.sites.back().dram_bytes = dram_bytes;
      run.sites.back().dram_ratio = dram_ratio;
      run.sites.back().compute_ratio = compute_ratio;
    }
  };
  measure(1e9, 0.2, 0.7);
  EXPECT_TRUE(checked(bytes).measured);
  EXPECT_FALSE(checked(bytes).missed) << "as much as it may";
  EXPECT_TRUE(checked(ratio).measured);
  EXPECT_FALSE(checked(ratio).missed) << "the nearer roof counts";
  measure(1.1e9, 0.2, 0.6);
  EXPECT_TRUE(checked(bytes).missed);
  EXPECT_TRUE(checked(ratio).missed);
}

// Of one run a side: 2 µs from step to step, over four of them, are 1 µs of the 1.2 ms that their median is.
TEST(WithinRun, TheSpreadIsThatOfTheFirstRunsMedian) {
  auto a = made_side({training_step()}, 2, 1);
  const auto b = [] {
    auto side = made_side({training_step()}, 1, 9);
    for (KernelSite& site : side[0].sites) site.time_deviation_ns = 0;
    return side;
  }();
  for (RunProfile& run : a) run.sites.back().time_deviation_ns = 2'000;
  a.front().step.count = 4;
  a.back().step.count = 400;
  const Comparison comparison = compare(a, b).value();
  const Change& time = kernel(comparison, "adamw_kernel").time;
  ASSERT_TRUE(time.within_run_ratio.has_value());
  EXPECT_DOUBLE_EQ(*time.within_run_ratio, 1e3 / 1.2e6);
}

}  // namespace
}  // namespace ridgeline::analyzer
