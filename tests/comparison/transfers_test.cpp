// Copies and memsets of a step, and the parts of its time that are not kernels.
#include "transfers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "made_runs.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using Runs = std::vector<RunProfile>;

// A training step and what it copies beside; times of the copies vary by a thousandth.
Runs copying(const std::vector<TransferSite>& transfers, std::uint64_t seed, std::size_t runs = 3) {
  Runs side = testing::made_side({.kernels = testing::training_step(), .noise = 0.001}, runs, seed);
  for (std::size_t i = 0; i < runs; ++i) {
    for (TransferSite site : transfers) {
      const double factor = 1 + 0.001 * static_cast<double>((i + seed) % 3);
      site.time_ns *= factor;
      site.exposed_ns *= factor;
      side[i].transfers.push_back(site);
      StepParts& parts = side[i].parts;
      (site.kind == TransferKind::copy ? parts.copy_exposed_ns : parts.memset_exposed_ns) += site.exposed_ns;
      parts.copy_hidden_ns += site.time_ns - site.exposed_ns;
      side[i].step.median_ns += site.exposed_ns;
    }
  }
  return side;
}

const StepMetric* part(const Comparison& comparison, PartKind kind) {
  const auto found = std::find_if(comparison.step_metrics.begin(), comparison.step_metrics.end(),
                                  [&](const StepMetric& each) { return each.kind == kind; });
  return found == comparison.step_metrics.end() ? nullptr : &*found;
}

const TransferSite kUpload{"step / forward", TransferKind::copy, CopyKind::host_to_device, 1, 1e6, 40e3, 0};
const TransferSite kMoves{
    "step / forward", TransferKind::copy, CopyKind::device_to_device, 8, 268e6, 200e3, 192e3};

TEST(Transfers, ThatCameAreNamedWithWhatTheyMoveAndCost) {
  const Comparison comparison =
      accepted(compare(copying({kUpload}, 1), copying({kUpload, kMoves}, 50))).value();
  ASSERT_EQ(comparison.transfers.size(), 2U);
  const TransferChange& added = comparison.transfers.front();
  EXPECT_EQ(added.outcome, Outcome::added);
  EXPECT_EQ(added.direction, CopyKind::device_to_device);
  EXPECT_EQ(added.calls_a, 0);
  EXPECT_EQ(added.calls_b, 8);
  EXPECT_EQ(added.bytes_b, 268e6);
  EXPECT_NEAR(added.exposed.delta, 192e3, 1e3);
  EXPECT_EQ(comparison.transfers.back().outcome, Outcome::same) << "nothing waits for the upload";
  EXPECT_FALSE(comparison.transfers.back().other_work());
  ASSERT_NE(part(comparison, PartKind::copies), nullptr);
  EXPECT_NEAR(part(comparison, PartKind::copies)->time.delta, 192e3, 1e3);
}

TEST(Transfers, OfARenamedRangeAreTheSameAndThoseThatDoOtherWorkAreTold) {
  TransferSite moved = kMoves;
  moved.path = "step / prepare";
  const Comparison same = accepted(compare(copying({kMoves}, 1), copying({moved}, 50))).value();
  ASSERT_EQ(same.transfers.size(), 1U);
  EXPECT_EQ(same.transfers.front().outcome, Outcome::same);
  moved.calls = 16;
  EXPECT_EQ(accepted(compare(copying({kMoves}, 1), copying({moved}, 50))).value().transfers.size(), 2U)
      << "another place and other work: one came, one went";
  moved.path = kMoves.path;
  moved.time_ns *= 2;
  moved.exposed_ns *= 2;
  const Comparison more = accepted(compare(copying({kMoves}, 1), copying({moved}, 50))).value();
  ASSERT_EQ(more.transfers.size(), 1U);
  EXPECT_TRUE(more.transfers.front().other_work());
  EXPECT_EQ(more.transfers.front().outcome, Outcome::regressed);
  EXPECT_NE(more.verdict, ComparisonVerdict::same) << "as a kernel that got slower by as much";
}

// The review's case: memsets of 960 µs a step, and kernels and gaps that do not account for them.
TEST(Parts, AddUpToTheStepAndWhatTheyDoNotExplainIsALine) {
  const TransferSite sets{"step / backward", TransferKind::memset, CopyKind::unknown, 16, 1e8, 960e3, 960e3};
  const Comparison comparison = accepted(compare(copying({}, 1), copying({sets}, 50))).value();
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::regressed);
  ASSERT_NE(part(comparison, PartKind::memsets), nullptr);
  EXPECT_EQ(part(comparison, PartKind::memsets)->outcome, Outcome::regressed);
  EXPECT_EQ(part(comparison, PartKind::unexplained), nullptr) << "nothing is left";
  Runs grown = copying({}, 50);
  for (RunProfile& run : grown) run.step.median_ns += 900e3;
  const Comparison left = accepted(compare(copying({}, 1), grown)).value();
  ASSERT_NE(part(left, PartKind::unexplained), nullptr);
  EXPECT_NEAR(part(left, PartKind::unexplained)->time.delta, 900e3, 1e3);
  double explained = 0;
  for (const StepMetric& each : left.step_metrics) {
    const double sign = each.kind == PartKind::overlap ? -1 : 1;
    if (each.kind == PartKind::kernels || each.kind == PartKind::overlap || each.kind == PartKind::copies ||
        each.kind == PartKind::memsets || each.kind == PartKind::gaps || each.kind == PartKind::unexplained)
      explained += sign * each.time.delta;
  }
  EXPECT_NEAR(explained, left.step().time.delta, 200) << "the step's is a geometric mean";
}

TEST(Parts, BelowAFloorInTheStepsTimeAreNotCalledSlower) {
  Runs a = copying({}, 1);
  Runs b = copying({}, 50);
  for (RunProfile& run : b) {
    run.gap_ns *= 1.117;  // 0.2 % of the step, with certainty
    run.step.median_ns += run.gap_ns * (1 - 1 / 1.117);
  }
  const Comparison comparison = accepted(compare(a, b)).value();
  const StepMetric* gaps = part(comparison, PartKind::gaps);
  ASSERT_NE(gaps, nullptr);
  EXPECT_NE(gaps->outcome, Outcome::regressed);
  EXPECT_NEAR(gaps->step_share, 0.0023, 0.0003);
}

// What a reader divides is what is printed.
TEST(Change, DifferencePerCentAndIntervalAreOfOneEstimator) {
  const auto a = testing::made_side({.kernels = testing::training_step(), .noise = 0.01}, 5, 1);
  const auto b = testing::made_side({.kernels = testing::training_step(), .noise = 0.01}, 5, 50);
  const Comparison comparison = accepted(compare(a, b)).value();
  const auto agree = [](const Change& change) {
    EXPECT_NEAR(change.b / change.a - 1, change.ratio, 1e-12);
    EXPECT_DOUBLE_EQ(change.b - change.a, change.delta);
    ASSERT_TRUE(change.interval.has_value());
    EXPECT_LE(change.interval->low, change.ratio);
    EXPECT_GE(change.interval->high, change.ratio);
  };
  for (const StepMetric& each : comparison.step_metrics) {
    if (each.time.a > 0) agree(each.time);
  }
  for (const KernelChange& kernel : comparison.kernels) agree(kernel.time);
}

// A lower clock slows what computes; what waits for memory takes as long, and so seems faster beside it.
TEST(Clock, IsNotBlamedOnKernels) {
  auto slow = testing::training_step();
  const auto a = testing::made_side({.kernels = slow, .noise = 0.001}, 5, 1);
  auto b = testing::made_side({.kernels = slow, .factor = 1.05, .noise = 0.001}, 5, 50);
  for (RunProfile& run : b) {
    KernelSite& memory_bound = run.sites.back();
    memory_bound.time_ns /= 1.045;  // 0.5 % more than in A
    *memory_bound.cycles /= 1.045;
  }
  const Comparison comparison = accepted(compare(a, b)).value();
  EXPECT_EQ(comparison.step().outcome, Outcome::regressed) << "the step is judged as measured";
  for (const KernelChange& change : comparison.kernels) {
    EXPECT_NE(change.outcome, Outcome::improved) << change.family;
    EXPECT_NE(change.outcome, Outcome::regressed) << change.family;
    if (change.kernels_a.front() == "adamw_kernel") {
      EXPECT_EQ(change.reason, OutcomeReason::clock);
    }
  }
}

}  // namespace
}  // namespace ridgeline::comparison
