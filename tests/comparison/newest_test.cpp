#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "history_newest.h"
#include "history_tails.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

constexpr int kQuantities = 20;  // the step and its kernels

class Scatter {
 public:
  Scatter(int tails, std::uint64_t seed) : tails_(tails), random_(seed), student_(std::max(1, tails)) {}

  // Student's t of so many degrees of freedom; 0: normal.
  double draw() { return tails_ == 0 ? normal_(random_) : student_(random_); }

  // `runs` runs and a newest one whose first kernel is `change` slower; the step is the kernels' sum.
  std::vector<NewestSeries> history(int runs, double change) {
    std::vector<NewestSeries> series(kQuantities);
    for (int run = 0; run <= runs; ++run) {
      const double common = 0.003 * draw();
      double sum = 0;
      for (int k = 1; k < kQuantities; ++k) {
        const double log = common + 0.004 * draw() + (k == 1 && run == runs ? std::log1p(change) : 0);
        series[static_cast<std::size_t>(k)].logs.push_back(log);
        sum += std::exp(log);
      }
      series.front().logs.push_back(std::log(sum));
    }
    return series;
  }

 private:
  int tails_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> student_;
};

struct Called {
  int any = 0;    // the step or a kernel
  int first = 0;  // the first kernel
};

Called called(int tails, int runs, double change, int histories) {
  Called result;
  const std::vector<std::size_t> one_card(static_cast<std::size_t>(runs) + 1, 0);
  Scatter scatter(tails, 20261126);
  for (int i = 0; i < histories; ++i) {
    std::vector<NewestSeries> series = scatter.history(runs, change);
    for (int k = 0; k < kQuantities; ++k) series[static_cast<std::size_t>(k)].name = std::to_string(k);
    const NewestRun run = accepted(newest_run(series, one_card));
    result.any += run.verdict != NewestVerdict::undecided || !run.kernels.empty() ? 1 : 0;
    result.first += !run.kernels.empty() && run.kernels.front().series == "1" ? 1 : 0;
  }
  return result;
}

TEST(NewestRun, IsRarelyCalledWhereRunsHaveHeavyTails) {
  // 1 in 20 is promised: 5 of 100, and three standard deviations of such a count. Uncorrected it is 11 to 32.
  for (const int runs : {10, 20}) EXPECT_LE(called(2, runs, 0, 100).any, 11) << runs;
}

TEST(NewestRun, IsRarelyCalledWhereRunsScatterNormally) {
  for (const int runs : {4, 20}) EXPECT_LE(called(0, runs, 0, 100).any, 8) << runs;
}

TEST(NewestRun, NamesAKernelThatIsFourPercentSlowerAfterTwentyRuns) {
  EXPECT_GE(called(0, 20, 0.04, 40).first, 36);
}

TEST(NewestRun, NamesAKernelThatIsHalfSlowerInSpiteOfHeavyTails) {
  EXPECT_GE(called(2, 20, 0.5, 40).first, 36);
}

TEST(Tails, OfNoRunsChangeNothing) {
  EXPECT_EQ(with_tails(0.03, {}, 10), 0.03);
}

TEST(Tails, NeverMakeARunLessLikelyThanNormalScatterDoes) {
  for (const double p : {0.9, 0.1, 1e-3, 1e-9}) {
    for (const double sum : {0.0, 5.0, 20.0, 300.0}) {
      const double with = with_tails(p, {20, sum}, 1);
      EXPECT_GE(with, p) << p << ' ' << sum;
      EXPECT_LE(with, 1) << p << ' ' << sum;
    }
  }
}

TEST(Tails, OfManyRunsTakeTheRootThatTheirMeanTells) {
  // Where -log p is 3 on average, one in e^6 by normal scatter is one in e^2.
  EXPECT_NEAR(with_tails(std::exp(-6.0), {1e6, 3e6}, 1), std::exp(-2.0), 1e-5);
}

TEST(Tails, AreOneARunOnAverageOfNormalScatter) {
  double runs = 0, sum = 0;
  Scatter scatter(0, 7);
  const std::vector<std::size_t> one_card(21, 0);
  for (int i = 0; i < 20; ++i) {
    // Independent quantities: with what all have in common the least likely of many is less far out.
    std::vector<NewestSeries> series(kQuantities);
    for (NewestSeries& one : series) {
      for (int run = 0; run < 21; ++run) one.logs.push_back(0.01 * scatter.draw());
    }
    const Tails tails = tails_of(series, one_card);
    runs += tails.runs;
    sum += tails.sum;
  }
  EXPECT_EQ(runs, 20 * 20);
  EXPECT_NEAR(sum / runs, 1, 0.25);
}

TEST(Tails, OfHeavyScatterAreFarAboveOne) {
  Scatter scatter(2, 7);
  double runs = 0, sum = 0;
  for (int i = 0; i < 40; ++i) {
    const Tails tails = tails_of(scatter.history(20, 0), std::vector<std::size_t>(21, 0));
    runs += tails.runs;
    sum += tails.sum;
  }
  EXPECT_GT(sum / runs, 3);
}

TEST(Tails, AreNotTakenOfRunsWhoseSpreadIsAGuess) {
  Scatter scatter(2, 7);
  EXPECT_EQ(tails_of(scatter.history(3, 0), std::vector<std::size_t>(4, 0)).runs, 0);
}

}  // namespace
}  // namespace ridgeline::comparison
