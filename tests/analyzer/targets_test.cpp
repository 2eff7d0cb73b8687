#include "ridgeline/analyzer/ranking/targets.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

constexpr std::int64_t kStep = 1'000'000;

// A row of one measured launch; u < 0: not measured.
void add(Ranking& ranking, UtilisationAnalysis& utilisation, const std::string& kernel, std::int64_t time_ns,
         double u, LaunchStatus status = LaunchStatus::measured) {
  if (u < 0) status = LaunchStatus::unmeasured;
  RankingRow row;
  row.key = row.kernel = row.normalised_name = kernel;
  row.calls = 1;
  row.time_ns = time_ns;
  row.step_share = static_cast<double>(time_ns) / kStep;
  LaunchUtilisation launch;
  launch.duration_ns = time_ns;
  launch.status = status;
  switch (status) {
    case LaunchStatus::measured:
      row.nearest_roof_ratio = launch.nearest_roof_ratio = u;
      row.nearest = Roof::kDram;
      row.measured_time_ns = time_ns;
      row.measured_calls = 1;
      row.dram_bytes = 1000;
      break;
    case LaunchStatus::unmeasured:
      row.unmeasured_time_ns = time_ns;
      row.unmeasured_calls = 1;
      row.why = {Absence{.cause = AbsenceCause::no_replay_step}};
      ranking.totals.unmeasured_time_ns += time_ns;
      break;
    case LaunchStatus::too_short:
      row.too_short_time_ns = time_ns;
      break;
    case LaunchStatus::no_roof:
      row.no_roof_time_ns = time_ns;
      break;
  }
  ranking.totals.time_ns += time_ns;
  ranking.rows.push_back(row);
  utilisation.launches.push_back(launch);
}

struct TargetRow {
  const char* kernel;
  std::int64_t time_ns;
  double u;
  LaunchStatus status = LaunchStatus::measured;
};

TargetCheck check(const std::vector<TargetRow>& rows, const TargetOptions& options = {}) {
  Ranking ranking;
  UtilisationAnalysis utilisation;
  for (const TargetRow& r : rows) add(ranking, utilisation, r.kernel, r.time_ns, r.u, r.status);
  return accepted(check_targets(utilisation, ranking, options)).value();
}

TEST(Targets, VerdictOfEachKernel) {
  const TargetCheck c = check({{"stretch", 100'000, 0.85},
                               {"met", 100'000, 0.70},
                               {"missed", 100'000, 0.6999},
                               {"small", 4'999, 0.1},
                               {"edge", 5'000, 0.9},
                               {"unmeasured", 10'000, -1},
                               {"tiny", 100'000, 0.1, LaunchStatus::too_short},
                               {"idle", 100'000, 0.0, LaunchStatus::no_roof}});
  const KernelVerdict expected[] = {KernelVerdict::stretch,   KernelVerdict::met,
                                    KernelVerdict::missed,    KernelVerdict::below_min_share,
                                    KernelVerdict::stretch,   KernelVerdict::not_measured,
                                    KernelVerdict::too_short, KernelVerdict::no_roof};
  ASSERT_EQ(c.kernels.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(to_string(c.kernels[i].verdict), to_string(expected[i])) << i;
  }
  EXPECT_EQ(c.overall, OverallVerdict::missed);
  EXPECT_EQ(exit_code(c.overall), 1);
  EXPECT_EQ(c.missed_count, 1);
  EXPECT_EQ(c.stretch_count, 2);
  const double total = 100'000 * 5 + 4'999 + 5'000 + 10'000;
  EXPECT_NEAR(c.time_share_at_target, 205'000 / total, 1e-12);
  EXPECT_NEAR(c.time_share_at_stretch, 105'000 / total, 1e-12);
}

TEST(Targets, OverallVerdicts) {
  struct Case {
    const char* name;
    std::vector<TargetRow> rows;
    OverallVerdict expected;
    int exit;
    CheckReason reason;
  };
  const Case cases[] = {
      {"all met",
       {{"a", 100'000, 0.8}, {"b", 100'000, 0.9}},
       OverallVerdict::met,
       0,
       CheckReason::kernels_met},
      {"one missed",
       {{"a", 100'000, 0.8}, {"b", 100'000, 0.5}},
       OverallVerdict::missed,
       1,
       CheckReason::kernels_missed},
      {"small ones do not matter",
       {{"a", 100'000, 0.8}, {"b", 1'000, 0.1}},
       OverallVerdict::met,
       0,
       CheckReason::kernels_met},
      {"nothing ran", {}, OverallVerdict::not_enough_data, 3, CheckReason::nothing_judged},
      {"nothing measured",
       {{"a", 100'000, -1}},
       OverallVerdict::not_enough_data,
       3,
       CheckReason::nothing_judged},
      {"too little measured",
       {{"a", 80'000, 0.9}, {"b", 20'000, -1}},
       OverallVerdict::not_enough_data,
       3,
       CheckReason::too_little_measured},
      {"enough measured",
       {{"a", 95'000, 0.9}, {"b", 5'000, -1}},
       OverallVerdict::met,
       0,
       CheckReason::kernels_met},
      {"a miss outweighs missing data",
       {{"a", 50'000, 0.1}, {"b", 50'000, -1}},
       OverallVerdict::missed,
       1,
       CheckReason::kernels_missed},
      {"only launch-bound",
       {{"a", 50'000, 0.1, LaunchStatus::too_short}},
       OverallVerdict::not_enough_data,
       3,
       CheckReason::nothing_judged},
      {"only small ones",
       {{"a", 1'000, 0.9}},
       OverallVerdict::not_enough_data,
       3,
       CheckReason::nothing_judged},
  };
  for (const Case& c : cases) {
    const TargetCheck result = check(c.rows);
    EXPECT_EQ(to_string(result.overall), to_string(c.expected)) << c.name;
    EXPECT_EQ(exit_code(result.overall), c.exit) << c.name;
    EXPECT_EQ(result.reason, c.reason) << c.name;
  }
  EXPECT_NEAR(check({{"a", 80'000, 0.9}, {"b", 20'000, -1}}).unmeasured_share, 0.2, 1e-12);
  EXPECT_EQ(check({}).unmeasured_share, 1);
}

TEST(Targets, BudgetReplacesTheGeneralTarget) {
  TargetOptions options;
  options.budgets = {{.kernel = "gather*", .min_utilisation_ratio = 0.3, .reason = "random access"}};
  EXPECT_EQ(check({{"gather_rows", 100'000, 0.35}}, options).overall, OverallVerdict::met);
  EXPECT_EQ(check({{"gather_rows", 100'000, 0.25}}, options).overall, OverallVerdict::missed);
  EXPECT_EQ(check({{"gather_rows", 1'000, 0.25}}, options).overall,
            OverallVerdict::missed);  // whatever its share
  EXPECT_EQ(check({{"gather_rows", 1'000, -1}, {"a", 100'000, 0.9}}, options).overall,
            OverallVerdict::not_enough_data);
  const TargetCheck met = check({{"gather_rows", 100'000, 0.35}}, options);
  EXPECT_EQ(met.kernels[0].budget, 0U);
  EXPECT_EQ(met.kernels[0].utilisation, KernelVerdict::met);
  EXPECT_EQ(check({{"gather_rows", 1'000, -1}, {"a", 100'000, 0.9}}, options).reason,
            CheckReason::budget_not_measured);
}

// A budget above the stretch goal is not met by reaching the stretch goal.
TEST(Targets, BudgetAboveTheStretchGoalHasToBeReached) {
  TargetOptions options;
  options.budgets = {{.kernel = "k", .min_utilisation_ratio = 0.95}};
  EXPECT_EQ(check({{"k", 100'000, 0.90}}, options).kernels[0].verdict, KernelVerdict::missed);
  EXPECT_EQ(exit_code(check({{"k", 100'000, 0.90}}, options).overall), 1);
  EXPECT_EQ(check({{"k", 100'000, 0.95}}, options).kernels[0].verdict, KernelVerdict::stretch);
  options.budgets[0].min_utilisation_ratio = 0.75;
  EXPECT_EQ(check({{"k", 100'000, 0.84}}, options).kernels[0].verdict, KernelVerdict::met);
  EXPECT_EQ(check({{"k", 100'000, 0.85}}, options).kernels[0].verdict, KernelVerdict::stretch);
}

TEST(Targets, BudgetOfTimeAndBytes) {
  const auto verdict = [](KernelBudget budget, TargetRow row) {
    budget.kernel = "k";
    return check({row}, {.budgets = {budget}}).kernels[0].verdict;
  };
  EXPECT_EQ(verdict({.max_time_ns = 100'000}, {"k", 100'000, 0.1}), KernelVerdict::met);
  EXPECT_EQ(verdict({.max_time_ns = 99'999}, {"k", 100'000, 0.9}), KernelVerdict::missed);
  EXPECT_EQ(verdict({.max_dram_bytes = 1000}, {"k", 100'000, 0.1}), KernelVerdict::met);
  EXPECT_EQ(verdict({.max_dram_bytes = 999}, {"k", 100'000, 0.1}), KernelVerdict::missed);
  EXPECT_EQ(verdict({.max_dram_bytes = 999}, {"k", 100'000, -1}), KernelVerdict::not_measured);
  EXPECT_EQ(verdict({.max_time_ns = 10, .max_dram_bytes = 999}, {"k", 100'000, -1}), KernelVerdict::missed);
}

// What the utilisation alone says is kept where a budget of something else is missed, and absent where none was asked.
TEST(Targets, TheVerdictOfTheUtilisationIsKept) {
  const auto kernel = [](KernelBudget budget, TargetRow row) {
    budget.kernel = "k";
    return check({row}, {.budgets = {budget}}).kernels[0];
  };
  const KernelCheck slow = kernel({.min_utilisation_ratio = 0.5, .max_time_ns = 10}, {"k", 100'000, 0.6});
  EXPECT_EQ(slow.verdict, KernelVerdict::missed);
  EXPECT_EQ(slow.utilisation, KernelVerdict::met);
  EXPECT_FALSE(kernel({.max_time_ns = 10}, {"k", 100'000, 0.6}).utilisation.has_value());
  EXPECT_FALSE(check({{"small", 1'000, 0.6}}).kernels[0].utilisation.has_value());
}

TEST(Targets, BudgetThatMatchesNothingDoesNotPass) {
  const TargetCheck c = check({{"a", 100'000, 0.9}}, {.budgets = {{.kernel = "gone", .max_time_ns = 5}}});
  EXPECT_EQ(c.overall, OverallVerdict::not_enough_data);
  EXPECT_EQ(c.unmatched_budgets, std::vector<std::size_t>{0});
  EXPECT_EQ(c.reason, CheckReason::budget_unmatched);
}

TEST(Targets, StarsMatchAnyText) {
  const auto matched = [](const char* pattern, const char* kernel) {
    return check({{kernel, 100'000, 0.9}}, {.budgets = {{.kernel = pattern, .max_time_ns = 1e9}}})
        .kernels[0]
        .budget.has_value();
  };
  EXPECT_TRUE(matched("*", "anything"));
  EXPECT_TRUE(matched("a*c*e", "abcde"));
  EXPECT_TRUE(matched("a*c*e", "acceece"));
  EXPECT_FALSE(matched("a*c*e", "abcd"));
  EXPECT_FALSE(matched("ab", "abc"));
  EXPECT_TRUE(matched("abc**", "abc"));
}

TEST(Targets, BadOptionsAreRefused) {
  const TargetOptions bad[] = {{.target = 0},
                               {.target = 1.5},
                               {.target = 0.9, .stretch = 0.8},
                               {.min_share = -0.1},
                               {.max_unmeasured_share = 2},
                               {.target = std::nan("")},
                               {.budgets = {{.kernel = "", .max_time_ns = 1}}},
                               {.budgets = {{.kernel = "k"}}},
                               {.budgets = {{.kernel = "k", .min_utilisation_ratio = 7}}},
                               {.budgets = {{.kernel = "k", .max_time_ns = -1}}}};
  for (const TargetOptions& options : bad) {
    const auto result = accepted(check_targets({}, {}, options));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().kind, ErrorKind::usage);
  }
}

TEST(Targets, VerdictsHaveTheirWords) {
  EXPECT_EQ(to_string(KernelVerdict::stretch), "stretch");
  EXPECT_EQ(to_string(KernelVerdict::met), "met");
  EXPECT_EQ(to_string(KernelVerdict::missed), "missed");
  EXPECT_EQ(to_string(KernelVerdict::below_min_share), "below_min_share");
  EXPECT_EQ(to_string(KernelVerdict::too_short), "launch_bound");
  EXPECT_EQ(to_string(KernelVerdict::no_roof), "no_roof");
  EXPECT_EQ(to_string(KernelVerdict::not_measured), "not_measured");
}

// Launches of a row may be of all kinds: it is judged by the kind of most of its time, measured ones first.
TEST(Targets, ARowIsJudgedByTheKindOfMostOfItsTime) {
  const auto verdict = [](std::int64_t measured, std::int64_t unmeasured, std::int64_t brief,
                          std::int64_t no_roof) {
    Ranking ranking;
    UtilisationAnalysis utilisation;
    add(ranking, utilisation, "mixed", measured + unmeasured + brief + no_roof, 0.75);
    RankingRow& row = ranking.rows.back();
    row.measured_time_ns = measured;
    row.unmeasured_time_ns = unmeasured;
    row.too_short_time_ns = brief;
    row.no_roof_time_ns = no_roof;
    return accepted(check_targets(utilisation, ranking, TargetOptions{})).value().kernels.at(0).verdict;
  };
  EXPECT_EQ(verdict(101'000, 100'000, 100'000, 100'000), KernelVerdict::met);
  EXPECT_EQ(verdict(100'000, 101'000, 100'000, 100'000), KernelVerdict::not_measured);
  EXPECT_EQ(verdict(100'000, 100'000, 101'000, 100'000), KernelVerdict::too_short);
  EXPECT_EQ(verdict(100'000, 100'000, 100'000, 101'000), KernelVerdict::no_roof);
  EXPECT_EQ(verdict(100'000, 100'000, 100'000, 100'000), KernelVerdict::met);
  EXPECT_EQ(verdict(90'000, 100'000, 100'000, 100'000), KernelVerdict::not_measured);
}

}  // namespace
}  // namespace ridgeline::analyzer
