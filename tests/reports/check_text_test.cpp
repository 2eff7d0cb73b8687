#include "ridgeline/reports/check_text.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

using analyzer::CheckReason;
using analyzer::KernelCheck;
using analyzer::KernelVerdict;
using analyzer::RankingRow;
using analyzer::TargetCheck;

TEST(CheckText, SaysWhyTheStepGotItsVerdict) {
  analyzer::Ranking ranking;
  ranking.rows.resize(2);
  TargetCheck check;
  const auto text = [&](CheckReason reason) {
    check.reason = reason;
    return check_text(ranking, check);
  };
  check.met_count = 1;
  EXPECT_EQ(text(CheckReason::kernels_met), "1 judged kernel meets its target");
  check.stretch_count = 2;
  EXPECT_EQ(text(CheckReason::kernels_met), "3 judged kernels meet their target");
  check.missed_count = 1;
  EXPECT_EQ(text(CheckReason::kernels_missed), "1 of 4 judged kernels misses its target");
  check.missed_count = 2;
  EXPECT_EQ(text(CheckReason::kernels_missed), "2 of 5 judged kernels miss their target");
  EXPECT_EQ(text(CheckReason::nothing_judged), "no kernel could be judged");
  ranking.rows[1].why = {analyzer::Absence{.cause = analyzer::AbsenceCause::tier_refused,
                                           .tier = Tier::t2,
                                           .outcome = TierOutcome::refused,
                                           .detail = "no permission"}};
  EXPECT_EQ(text(CheckReason::nothing_judged), "no kernel could be judged: counters refused: no permission");
  check.unmeasured_share = 0.2;
  EXPECT_EQ(text(CheckReason::too_little_measured),
            "20.0 % of the kernel time is not measured, at most 10.0 % may be");
  EXPECT_EQ(text(CheckReason::rows_lost), "the capture has lost rows (`ridgeline info --verify` lists them)");
  EXPECT_EQ(text(CheckReason::budget_not_measured), "a kernel with a budget is not measured");
  check.options.budgets = {{.kernel = "there"}, {.kernel = "gone"}};
  check.unmatched_budgets = {1};
  EXPECT_EQ(text(CheckReason::budget_unmatched),
            "no kernel matches the budget of 'gone': rename it or drop the budget");
}

TEST(CheckText, SaysTheFiguresBehindTheVerdictOfAKernel) {
  TargetCheck check;
  RankingRow row;
  row.step_share = 0.00123;
  row.nearest_roof_ratio = 0.655;
  row.nearest = analyzer::Roof::kDram;
  row.too_short_calls = 3;
  KernelCheck kernel{
      .row = 0, .verdict = KernelVerdict::below_min_share, .required = {}, .budget = {}, .utilisation = {}};
  EXPECT_EQ(kernel_check_text(check, row, kernel), "0.12 % of the step, below 0.50 %");
  const auto text = [&](KernelVerdict verdict) {
    kernel.verdict = verdict;
    kernel.utilisation = verdict;
    kernel.required = 0.7;
    return kernel_check_text(check, row, kernel);
  };
  EXPECT_EQ(text(KernelVerdict::missed), "65.5 % of its nearest roof (DRAM), 70.0 % asked");
  row.nearest_roof_ratio.reset();
  EXPECT_EQ(text(KernelVerdict::missed), "0.0 % of its nearest roof (DRAM), 70.0 % asked")
      << "what is not known is no share of it";
  EXPECT_EQ(text(KernelVerdict::too_short), "3 calls shorter than the launch floor");
  EXPECT_EQ(text(KernelVerdict::no_roof), "no meaningful roof");
  EXPECT_EQ(text(KernelVerdict::not_measured), "not measured");
  row.why = {analyzer::Absence{.cause = analyzer::AbsenceCause::no_replay_step}};
  EXPECT_EQ(text(KernelVerdict::not_measured), "the recording has no replay step");
}

TEST(CheckText, SaysWhatABudgetAllows) {
  TargetCheck check;
  check.options.budgets = {{.kernel = "k",
                            .min_utilisation_ratio = 0.5,
                            .max_time_ns = 50'000,
                            .max_dram_bytes = 2e9,
                            .reason = "random access"}};
  RankingRow row;
  row.time_ns = 1'234'567;
  row.nearest_roof_ratio = 0.6;
  row.nearest = analyzer::Roof::kTensor;
  row.dram_bytes = 1.5e6;
  const KernelCheck kernel{.row = 0,
                           .verdict = KernelVerdict::missed,
                           .required = 0.5,
                           .budget = 0,
                           .utilisation = KernelVerdict::met};
  EXPECT_EQ(
      kernel_check_text(check, row, kernel),
      "60.0 % of its nearest roof (tensor), 50.0 % asked; 1.235 ms of 50.0 µs allowed; 1.50 MB of 2.00 GB "
      "allowed; random access");
  row.unmeasured_calls = 1;
  EXPECT_NE(kernel_check_text(check, row, kernel).find("DRAM bytes not measured"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::reports
