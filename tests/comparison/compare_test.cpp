#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "made_runs.h"
#include "ridgeline/comparison/comparison.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using testing::made;
using testing::made_side;
using testing::MadeKernel;
using testing::MadeRun;
using testing::training_step;

constexpr double kNoise = 0.003;

std::vector<MadeKernel> slower(std::vector<MadeKernel> kernels, const std::string& name, double factor,
                               const std::string& code = "changed") {
  for (MadeKernel& kernel : kernels) {
    if (kernel.kernel != name) continue;
    kernel.time_us *= factor;
    if (!code.empty()) kernel.code = code;
  }
  return kernels;
}

Comparison compare_sides(const std::vector<MadeKernel>& a, const std::vector<MadeKernel>& b, std::size_t runs,
                         const ComparisonOptions& options = {}, double factor_b = 1,
                         std::uint64_t seed = 100) {
  return accepted(compare(made_side({.kernels = a, .noise = kNoise}, runs, seed),
                          made_side({.kernels = b, .factor = factor_b, .noise = kNoise}, runs, seed + 1000),
                          options))
      .value();
}

const KernelChange& kernel(const Comparison& comparison, const std::string& name) {
  for (const KernelChange& change : comparison.kernels) {
    if (!change.kernels_b.empty() && change.kernels_b.front() == name) return change;
    if (!change.kernels_a.empty() && change.kernels_a.front() == name) return change;
  }
  throw std::runtime_error("no kernel " + name);
}

TEST(Compare, AChangedKernelIsBlamedAndItsCauseNamed) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, slower(a, "layernorm_backward", 1.10), 5);
  const KernelChange& change = kernel(comparison, "layernorm_backward");
  EXPECT_EQ(change.outcome, Outcome::regressed);
  EXPECT_EQ(change.cause, ChangeCause::code);
  EXPECT_NEAR(change.adjusted.ratio, 0.10, 0.02);
  ASSERT_TRUE(change.adjusted.interval.has_value());
  EXPECT_LT(change.adjusted.interval->low, 0.10);
  EXPECT_GT(change.adjusted.interval->high, 0.10);
  EXPECT_EQ(comparison.regressed, 1);
  EXPECT_EQ(comparison.improved, 0);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::regressed);
  EXPECT_EQ(exit_code(comparison), 1);
  EXPECT_EQ(comparison.kernels.front().kernels_b.front(), "layernorm_backward");
  // At one clock cycles tell what times do; where one run has none, nothing is said of them.
  ASSERT_TRUE(change.cycles.has_value());
  EXPECT_NEAR(change.cycles->ratio, 0.10, 0.02);
  auto runs_a = made_side({.kernels = a}, 3, 1), runs_b = made_side({.kernels = a}, 3, 9);
  runs_b[1].sites[0].cycles.reset();
  const Comparison partly = accepted(compare(runs_a, runs_b)).value();
  EXPECT_FALSE(kernel(partly, "encoder_forward").cycles.has_value());
  EXPECT_TRUE(kernel(partly, "gelu_forward").cycles.has_value());
}

TEST(Compare, TheSameProgramIsTheSame) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, a, 5);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::same);
  EXPECT_EQ(comparison.step().outcome, Outcome::same);
  EXPECT_EQ(comparison.regressed + comparison.improved, 0);
  EXPECT_EQ(exit_code(comparison), 0);
  EXPECT_EQ(comparison.matched_share, 1);
  // The interval beside it is that of the equivalence test, and so lies within the margin.
  const Change& step = comparison.step().time;
  EXPECT_DOUBLE_EQ(step.interval_level, 0.90);
  EXPECT_GT(step.interval->low, -comparison.options.step_ratio);
  EXPECT_LT(step.interval->high, comparison.options.step_ratio);
  for (const KernelChange& change : comparison.kernels) {
    if (change.outcome != Outcome::same || change.reason != OutcomeReason::none) continue;
    EXPECT_LT(change.adjusted.interval->high, comparison.options.kernel_ratio) << change.family;
  }
}

// What a recording without steps lasts depends on when it was begun and ended.
TEST(Compare, TheLengthOfARecordingIsNoSlowerStep) {
  const auto side = [](double more, double more_calls, std::uint64_t seed, bool with_steps) {
    auto kernels = training_step();
    for (MadeKernel& kernel : kernels) {
      kernel.time_us *= more;
      kernel.calls *= more_calls;
    }
    auto runs = made_side({.kernels = kernels, .noise = 0.002}, 5, seed);
    for (RunProfile& run : runs) run.whole_recording = !with_steps;
    return runs;
  };
  const auto longer = compare(side(1, 1, 1, false), side(2, 2, 100, false)).value();
  EXPECT_EQ(longer.verdict, ComparisonVerdict::inconclusive);
  EXPECT_TRUE(longer.without_steps);
  EXPECT_EQ(exit_code(longer, FailOn{}), 0);
  EXPECT_EQ(compare(side(1, 1, 1, true), side(2, 2, 100, true)).value().verdict,
            ComparisonVerdict::regressed);
  const auto slower = compare(side(1, 1, 1, false), side(1.2, 1, 100, false)).value();
  EXPECT_EQ(slower.verdict, ComparisonVerdict::regressed) << "the same launches take longer";
  const auto mixed = compare(side(1, 1, 1, true), side(1, 1, 100, false));
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.failure().kind, ErrorKind::no_data);
  EXPECT_NE(mixed.failure().message.find("has no steps"), std::string::npos) << mixed.failure().message;
}

// The clock moves every run by per cents: the step is undecided, kernels are judged less what moved them all.
TEST(Compare, AnUndecidedStepIsJudgedByWhatItsKernelsAddUpTo) {
  const std::vector<double> wander = {1.0, 1.04, 0.97, 1.05, 0.96, 1.02, 0.98, 1.06, 0.95, 1.01};
  const auto side = [&](const std::vector<MadeKernel>& kernels, std::size_t first) {
    std::vector<RunProfile> runs;
    for (std::size_t i = 0; i < 5; ++i)
      runs.push_back(
          made({.kernels = kernels, .factor = wander[first + i], .noise = 0.001, .seed = first * 100 + i}));
    return runs;
  };
  const auto a = training_step();
  const auto verdict = [&](const std::vector<MadeKernel>& b) {
    const Comparison comparison = accepted(compare(side(a, 0), side(b, 5))).value();
    EXPECT_EQ(comparison.step().outcome, Outcome::inconclusive);
    EXPECT_EQ(kernel(comparison, "layernorm_backward").outcome, Outcome::regressed);
    return comparison.verdict;
  };
  const auto slow = slower(a, "layernorm_backward", 1.2);
  EXPECT_EQ(verdict(slow), ComparisonVerdict::regressed);
  EXPECT_EQ(verdict(slower(slow, "gelu_backward", 0.8)), ComparisonVerdict::inconclusive)
      << "192 µs less outweigh 108 more";
}

TEST(Compare, AFasterKernelImprovesTheStep) {
  const auto a = training_step();
  const Comparison comparison =
      compare_sides(a, slower(a, "nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_bias_TNT", 0.8), 5);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::improved);
  EXPECT_EQ(comparison.improved, 1);
  EXPECT_EQ(exit_code(comparison), 0);
}

// A slower clock slows the step; no kernel is to blame, and the common mode says by how much.
TEST(Compare, ACommonModeIsTheStepsAndNoKernels) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, a, 5, {}, 1.05);
  EXPECT_EQ(comparison.step().outcome, Outcome::regressed);
  EXPECT_NEAR(comparison.step().time.ratio, 0.05, 0.01);
  ASSERT_TRUE(comparison.common_mode.has_value());
  EXPECT_NEAR(comparison.common_mode->ratio, 0.05, 0.01);
  EXPECT_EQ(comparison.regressed, 0);
  ASSERT_TRUE(comparison.clock.has_value());
  EXPECT_NEAR(comparison.clock->ratio, 1 / 1.05 - 1, 1e-6);
  const auto clock = std::find_if(comparison.environment.begin(), comparison.environment.end(),
                                  [](const auto& difference) { return difference.what == "sm_clock"; });
  ASSERT_NE(clock, comparison.environment.end());
  EXPECT_EQ(clock->weight, EnvironmentWeight::explains);
}

TEST(Compare, OneRunASideProvesNothing) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, slower(a, "layernorm_backward", 1.5), 1);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::inconclusive);
  EXPECT_EQ(comparison.step().reason, OutcomeReason::single_run);
  const KernelChange& change = kernel(comparison, "layernorm_backward");
  EXPECT_EQ(change.outcome, Outcome::inconclusive);
  EXPECT_EQ(change.reason, OutcomeReason::single_run);
  EXPECT_TRUE(change.hint);
  EXPECT_EQ(change.cause, ChangeCause::code);
  EXPECT_EQ(change.code_changed, true);
  EXPECT_FALSE(change.adjusted.p.has_value());
  EXPECT_FALSE(kernel(comparison, "gelu_forward").hint);
  EXPECT_EQ(exit_code(comparison), 3);
}

TEST(Compare, TwoPairsAreTooFew) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, slower(a, "layernorm_backward", 1.5), 2);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::inconclusive);
  EXPECT_EQ(comparison.step().reason, OutcomeReason::too_few_pairs);
  EXPECT_EQ(exit_code(comparison), 3);
}

TEST(Compare, NoiseIsInconclusiveAndSaysWhatWouldSettleIt) {
  const auto a = training_step();
  const Comparison comparison = accepted(compare(made_side({.kernels = a, .noise = 0.10}, 4, 1),
                                                 made_side({.kernels = a, .noise = 0.10}, 4, 50)))
                                    .value();
  EXPECT_EQ(comparison.step().outcome, Outcome::inconclusive);
  EXPECT_EQ(comparison.step().reason, OutcomeReason::noise);
  ASSERT_TRUE(comparison.step().time.detectable_ratio.has_value());
  EXPECT_GT(*comparison.step().time.detectable_ratio, 0.01);
  ASSERT_TRUE(comparison.step().time.pairs_needed.has_value());
  EXPECT_GT(*comparison.step().time.pairs_needed, 4);
  EXPECT_EQ(exit_code(comparison), 0);
  EXPECT_EQ(exit_code(comparison, {.inconclusive = true}), 3);
}

TEST(Compare, TheCauseIsTheLaunchTheShapesOrTheCalls) {
  const auto a = training_step();
  auto b = slower(a, "gelu_forward", 1.3, "");
  for (MadeKernel& kernel : b) {
    if (kernel.kernel == "gelu_forward") kernel.block = 1024;
  }
  EXPECT_EQ(kernel(compare_sides(a, b, 5), "gelu_forward").cause, ChangeCause::launch);
  b = slower(a, "gelu_forward", 1.3, "");
  for (MadeKernel& kernel : b) {
    if (kernel.kernel == "gelu_forward") kernel.grid = 264;
  }
  EXPECT_EQ(kernel(compare_sides(a, b, 5), "gelu_forward").cause, ChangeCause::shapes);
  EXPECT_EQ(kernel(compare_sides(a, training_step(14), 5), "gelu_forward").cause, ChangeCause::calls);
  EXPECT_EQ(kernel(compare_sides(a, slower(a, "gelu_forward", 1.3, ""), 5), "gelu_forward").cause,
            ChangeCause::neighbours);
  // The same code and launch with a third more instructions: a grid-stride loop over more data.
  const auto counted = [&](const std::vector<MadeKernel>& kernels, std::uint64_t seed, double instructions) {
    auto runs = made_side({.kernels = kernels, .noise = kNoise}, 5, seed);
    for (RunProfile& run : runs) {
      for (KernelSite& site : run.sites)
        if (site.kernel == "gelu_forward") site.counts["smsp__inst_executed.sum"] = instructions;
    }
    return runs;
  };
  const auto cause = [&](double instructions) {
    const auto slow = slower(a, "gelu_forward", 1.3, "");
    return kernel(accepted(compare(counted(a, 100, 1e9), counted(slow, 1100, instructions))).value(),
                  "gelu_forward")
        .cause;
  };
  EXPECT_EQ(cause(1.33e9), ChangeCause::data);
  EXPECT_EQ(cause(1.0001e9), ChangeCause::neighbours) << "what predicates add from run to run";
}

TEST(Compare, WithoutCodeHashesTheCauseIsUnknown) {
  auto a = training_step();
  for (MadeKernel& kernel : a) kernel.code.clear();
  const Comparison comparison = compare_sides(a, slower(a, "gelu_forward", 1.3, ""), 5);
  EXPECT_EQ(kernel(comparison, "gelu_forward").cause, ChangeCause::unknown);
  EXPECT_TRUE(comparison.common_mode_of_all);
}

TEST(Compare, AnotherGpuOrDriverInvalidatesTheVerdict) {
  const auto a = training_step();
  auto runs_b = made_side({.kernels = a, .device = "NVIDIA A100"}, 3, 9);
  const auto runs_a = made_side({a}, 3, 1);
  const Comparison other_gpu = accepted(compare(runs_a, runs_b)).value();
  EXPECT_EQ(other_gpu.verdict, ComparisonVerdict::invalid_environment);
  EXPECT_EQ(exit_code(other_gpu), 4);
  EXPECT_TRUE(other_gpu.families_only);
  EXPECT_NE(accepted(compare(runs_a, runs_b, {.any_environment = true})).value().verdict,
            ComparisonVerdict::invalid_environment);
  runs_b = made_side({a}, 3, 9);
  for (RunProfile& run : runs_b) run.versions["driver"] = "590";
  EXPECT_EQ(exit_code(accepted(compare(runs_a, runs_b)).value()), 4);
  runs_b = made_side({a}, 3, 9);
  for (RunProfile& run : runs_b) {
    run.throttled_share = 0.5;
    run.throttle_reasons = {"thermal (hardware)"};
  }
  EXPECT_EQ(exit_code(accepted(compare(runs_a, runs_b)).value()), 4);
  for (RunProfile& run : runs_b) run.throttle_reasons = {"power limit"};
  EXPECT_NE(exit_code(accepted(compare(runs_a, runs_b)).value()), 4);
}

TEST(Compare, UnmatchedTimeLeavesTheVerdictToTheRanges) {
  const auto a = training_step();
  auto b = a;
  for (MadeKernel& kernel : b) {
    if (kernel.path.find("optimizer") != std::string::npos || kernel.path.find("loss") != std::string::npos)
      continue;
    kernel.path = "other";
    kernel.kernel = "k" + kernel.kernel.substr(kernel.kernel.size() / 2);
    kernel.code += "x";
    kernel.calls += 1;
  }
  // Nothing to match on either: the classes are gone with the names.
  const Comparison comparison = compare_sides(a, b, 4);
  EXPECT_LT(comparison.matched_share, 0.9);
  EXPECT_NE(exit_code(comparison), 0);
}

TEST(Compare, UnmatchedTimeIsTooLittleDataUnlessTheStepIsSlowerOrFasterForCertain) {
  Comparison comparison;
  comparison.pairs = 5;
  comparison.matched_share = 0.8;
  const auto code = [&](ComparisonVerdict verdict, const FailOn& fail_on = {}) {
    comparison.verdict = verdict;
    return exit_code(comparison, fail_on);
  };
  EXPECT_EQ(code(ComparisonVerdict::same), 3);
  EXPECT_EQ(code(ComparisonVerdict::inconclusive), 3);
  EXPECT_EQ(code(ComparisonVerdict::improved), 0);
  EXPECT_EQ(code(ComparisonVerdict::regressed), 1);
  EXPECT_EQ(code(ComparisonVerdict::regressed, {.regression = false}), 0);
  comparison.matched_share = 0.95;
  EXPECT_EQ(code(ComparisonVerdict::same), 0);
}

TEST(Compare, AddedAndRemovedKernelsAreCounted) {
  const auto a = training_step();
  auto b = a;
  b.insert(b.begin() + 6, {"step / forward / dropout", "dropout_kernel", 300, 1, "d1"});
  const Comparison comparison = compare_sides(a, b, 4);
  EXPECT_EQ(comparison.added, 1);
  EXPECT_EQ(kernel(comparison, "dropout_kernel").outcome, Outcome::added);
  EXPECT_EQ(exit_code(comparison, {.regression = false, .unmatched = true}), 3);
}

TEST(Compare, AFreshPairThatDisagreesTakesTheBlameAway) {
  const auto a = training_step();
  auto runs_a = made_side({.kernels = a, .noise = kNoise}, 6, 1);
  auto runs_b = made_side({.kernels = slower(a, "layernorm_backward", 1.1), .noise = kNoise}, 6, 50);
  ComparisonOptions options;
  options.confirmation_pairs = 1;
  const Comparison shown = accepted(compare(runs_a, runs_b, options)).value();
  EXPECT_EQ(kernel(shown, "layernorm_backward").outcome, Outcome::regressed);
  EXPECT_TRUE(kernel(shown, "layernorm_backward").confirmed);
  EXPECT_EQ(shown.pairs, 5);
  runs_b.back() = made_side({.kernels = a, .noise = kNoise}, 1, 77).front();
  const Comparison denied = accepted(compare(runs_a, runs_b, options)).value();
  EXPECT_EQ(kernel(denied, "layernorm_backward").outcome, Outcome::inconclusive);
  EXPECT_EQ(kernel(denied, "layernorm_backward").reason, OutcomeReason::not_confirmed);
}

TEST(Compare, ASideInTwoModesIsNoProof) {
  const auto a = training_step();
  auto runs_a = made_side({.kernels = a, .noise = 0.0005}, 6, 1);
  auto runs_b = made_side({.kernels = a, .noise = 0.0005}, 6, 50);
  // Four of six runs of B are in a slow mode that A was in once or never.
  for (const std::size_t i : {1U, 2U, 4U, 5U}) runs_b[i].step.median_ns *= 1.12;
  const Comparison comparison = accepted(compare(runs_a, runs_b)).value();
  EXPECT_TRUE(comparison.b.two_modes);
  EXPECT_FALSE(comparison.a.two_modes);
  EXPECT_EQ(comparison.step().outcome, Outcome::inconclusive);
  EXPECT_EQ(comparison.step().reason, OutcomeReason::two_modes);
}

TEST(Compare, UnpairedSidesMayDifferInNumber) {
  const auto a = training_step();
  const Comparison comparison =
      accepted(compare(made_side({.kernels = a, .noise = kNoise}, 4, 1),
                       made_side(
                           {.kernels = slower(a, "layernorm_backward", 1.1), .factor = 1.03, .noise = kNoise},
                           6, 50)))
          .value();
  EXPECT_FALSE(comparison.paired);
  EXPECT_EQ(kernel(comparison, "layernorm_backward").outcome, Outcome::regressed);
  EXPECT_NEAR(kernel(comparison, "layernorm_backward").adjusted.ratio, 0.10, 0.02);
  EXPECT_NEAR(comparison.common_mode->ratio, 0.03, 0.01);
  EXPECT_EQ(comparison.regressed, 1);
}

TEST(Compare, ChangedCountersAreToldWithoutStatistics) {
  const auto a = training_step();
  auto runs_a = made_side({a}, 1, 1);
  auto runs_b = made_side({a}, 1, 2);
  runs_a[0].sites[3].counts["sm__thread_inst_executed_pipe_fma_pred_on.sum"] = 1e9;
  runs_b[0].sites[3].counts["sm__thread_inst_executed_pipe_fma_pred_on.sum"] = 1.006e9;
  runs_a[0].sites[4].counts["sm__thread_inst_executed_pipe_fma_pred_on.sum"] = 1e9;
  runs_b[0].sites[4].counts["sm__thread_inst_executed_pipe_fma_pred_on.sum"] = 0.996e9;
  runs_b[0].sites[3].shape->registers_per_thread = 168;
  runs_a[0].sites[4].dram_bytes = 1e9;
  runs_b[0].sites[4].dram_bytes = 1.004e9;
  runs_a[0].sites[5].dram_bytes = 1e9;
  runs_b[0].sites[5].dram_bytes = 1.006e9;
  for (const std::size_t site : {4, 5})
    runs_a[0].sites[site].dram_bytes_counted = runs_b[0].sites[site].dram_bytes_counted = true;
  const Comparison comparison = accepted(compare(runs_a, runs_b)).value();
  const auto counts = [&](std::size_t site) { return kernel(comparison, a[site].kernel).counts; };
  ASSERT_EQ(counts(3).size(), 2U);
  EXPECT_EQ(counts(3)[0].name, "registers_per_thread");
  EXPECT_EQ(counts(3)[1].b, 1.006e9);
  EXPECT_TRUE(counts(4).empty());
  ASSERT_EQ(counts(5).size(), 1U);
  EXPECT_EQ(counts(5)[0].name, "dram_bytes");
}

TEST(Compare, AnAutotunersChoicesWithinASideAreOneKernel) {
  const auto a = training_step();
  auto other = a;
  for (MadeKernel& kernel : other) {
    if (kernel.code != "c3") continue;
    kernel.kernel = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT";
    kernel.code = "c3b";
  }
  std::vector<RunProfile> runs_a = {made_side({a}, 1, 1)[0], made_side({other}, 1, 2)[0],
                                    made_side({other}, 1, 3)[0]};
  std::vector<RunProfile> runs_b = {made_side({other}, 1, 4)[0], made_side({a}, 1, 5)[0],
                                    made_side({a}, 1, 6)[0]};
  const Comparison comparison = accepted(compare(runs_a, runs_b)).value();
  EXPECT_EQ(comparison.kernels.size(), a.size());
  EXPECT_EQ(comparison.matched_share, 1);
  // Named as the first run of a side has them.
  const auto product =
      std::find_if(comparison.kernels.begin(), comparison.kernels.end(), [](const KernelChange& k) {
        return !k.kernels_a.empty() && k.kernels_a[0].find("128x160") != std::string::npos;
      });
  ASSERT_NE(product, comparison.kernels.end());
  ASSERT_EQ(product->kernels_b.size(), 1U);
  EXPECT_NE(product->kernels_b[0].find("256x128"), std::string::npos) << product->kernels_b[0];
}

TEST(Compare, ThresholdsMayNotUndercutTheNoiseFloor) {
  const auto a = training_step();
  ComparisonOptions options;
  options.floor =
      NoiseFloor{.pairs = 10, .step_ratio = 0.003, .class_ratio = {{KernelClass::normalisation, 0.05}}};
  const Comparison comparison = compare_sides(a, slower(a, "layernorm_backward", 1.10), 5, options);
  EXPECT_NE(kernel(comparison, "layernorm_backward").outcome, Outcome::regressed);
}

TEST(NoiseFloor, IsTheSpreadOfPairsOfIdenticalCode) {
  const auto a = training_step();
  const Comparison comparison = compare_sides(a, a, 20);
  const NoiseFloor floor = accepted(noise_floor(comparison)).value();
  EXPECT_EQ(floor.pairs, 20);
  EXPECT_NEAR(floor.class_ratio.at(KernelClass::gemm), kNoise * std::sqrt(2.0), 0.0025);
  EXPECT_FALSE(accepted(noise_floor(compare_sides(a, a, 2))).ok());
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  const auto a = made_side({training_step()}, 2, 1);
  EXPECT_EQ(accepted(compare({}, a)).failure().kind, ErrorKind::usage);
  EXPECT_EQ(accepted(compare(a, a, {.confirmation_pairs = 2})).failure().kind, ErrorKind::usage);
  auto empty = a;
  for (RunProfile& run : empty) run.kernel_ns = 0;
  EXPECT_EQ(accepted(compare(a, empty)).failure().kind, ErrorKind::no_data);
}

// 490 kernels as they were and 10 made 3 % slower, 0.5 % noise a run, a drift of 3 % over five interleaved pairs: the
// simulation that the method was chosen by.
TEST(Compare, FindsTheFewAmongTheManyWithHardlyAFalseAlarm) {
  int found = 0;
  int false_alarms = 0;
  constexpr int kTrials = 4;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<MadeKernel> a, b;
    for (int i = 0; i < 500; ++i) {
      MadeKernel kernel{"step / forward", "kernel_" + std::to_string(i), 60.0 + i % 50, 1,
                        "c" + std::to_string(i)};
      a.push_back(kernel);
      if (i % 50 == 7) {
        kernel.time_us *= 1.03;
        kernel.code += "x";
      }
      b.push_back(kernel);
    }
    std::vector<RunProfile> runs_a, runs_b;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const double drift = 1 + 0.03 * static_cast<double>(i) / 5;
      const std::uint64_t seed = static_cast<std::uint64_t>(trial) * 1000 + i * 10;
      runs_a.push_back(testing::made({.kernels = a, .factor = drift, .noise = 0.005, .seed = seed}));
      runs_b.push_back(
          testing::made({.kernels = b, .factor = drift + 0.003, .noise = 0.005, .seed = seed + 5}));
    }
    ComparisonOptions options;
    options.kernel_step_share = 0;
    const Comparison comparison = accepted(compare(runs_a, runs_b, options)).value();
    for (const KernelChange& change : comparison.kernels) {
      if (change.outcome != Outcome::regressed && change.outcome != Outcome::improved) continue;
      (change.cause == ChangeCause::code ? found : false_alarms) += 1;
    }
  }
  EXPECT_GE(found, 35) << "of " << 10 * kTrials;
  EXPECT_LE(false_alarms, 2);
}

// What differs between the sides, and how much it weighs: a driver is no state to compare code in, a directory is news
// of no weight.
TEST(Environment, EveryFactHasItsWeight) {
  struct Case {
    std::function<void(RunProfile&)> change;
    const char* what;
    EnvironmentWeight weight;
    const char* a;
    const char* b;
  };
  const Case cases[] = {
      {[](RunProfile& r) { r.devices[0].name = "NVIDIA A100"; }, "gpu", EnvironmentWeight::invalid,
       "NVIDIA H200", "NVIDIA A100"},
      {[](RunProfile& r) { r.devices.push_back(r.devices[0]); }, "gpu_count", EnvironmentWeight::invalid, "1",
       "2"},
      {[](RunProfile& r) { r.devices[0].uuid = "GPU-2"; }, "gpu_uuid", EnvironmentWeight::explains, "GPU-1",
       "GPU-2"},
      {[](RunProfile& r) { r.versions["driver"] = "590"; }, "version driver", EnvironmentWeight::invalid,
       "580", "590"},
      {[](RunProfile& r) { r.versions["cuda_driver"] = "13"; }, "version cuda_driver",
       EnvironmentWeight::explains, "not set", "13"},
      {[](RunProfile& r) { r.versions["cublas"] = "13"; }, "version cublas", EnvironmentWeight::explains,
       "not set", "13"},
      {[](RunProfile& r) { r.versions["cupti"] = "26"; }, "version cupti", EnvironmentWeight::note, "not set",
       "26"},
      {[](RunProfile& r) { r.versions["agent"] = "0.2"; }, "version agent", EnvironmentWeight::note,
       "not set", "0.2"},
      {[](RunProfile& r) { r.command_line = "/elsewhere/train --fast"; }, "command_line",
       EnvironmentWeight::explains, "train", "train --fast"},
      {[](RunProfile& r) { r.processes = 2; }, "processes", EnvironmentWeight::explains, "1", "2"},
      {[](RunProfile& r) { r.environment["NCCL_ALGO"] = "Ring"; }, "variable NCCL_ALGO",
       EnvironmentWeight::explains, "not set", "Ring"},
      {[](RunProfile& r) { r.environment["CUDA_PATH"] = "/a"; }, "variable CUDA_PATH",
       EnvironmentWeight::note, "not set", "/a"},
      {[](RunProfile& r) { r.environment["CUDA_HOME"] = "/a"; }, "variable CUDA_HOME",
       EnvironmentWeight::note, "not set", "/a"},
      {[](RunProfile& r) { r.environment["CACHE_DIR"] = "/a"; }, "variable CACHE_DIR",
       EnvironmentWeight::note, "not set", "/a"},
      {[](RunProfile& r) { r.host_name = "b"; }, "host", EnvironmentWeight::note, "a", "b"},
      {[](RunProfile& r) { r.sm_clock_hz = 1.5e9; }, "sm_clock", EnvironmentWeight::explains, "1700 MHz",
       "1500 MHz"},
      {[](RunProfile& r) { r.temperature_c = 71; }, "temperature", EnvironmentWeight::note, "60 °C", "71 °C"},
      {[](RunProfile& r) { r.throttled_share = 0.26; }, "clock_held_down", EnvironmentWeight::note, "0 %",
       "26 %"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    auto a = made_side({training_step()}, 3, 1), b = made_side({training_step()}, 3, 9);
    for (auto* side : {&a, &b}) {
      for (RunProfile& run : *side) {
        run.processes = 1;
        run.host_name = "a";
        run.temperature_c = 60;
        run.sm_clock_hz = 1.7e9;
      }
    }
    EXPECT_TRUE(accepted(compare(a, b)).value().environment.empty());
    for (RunProfile& run : b) one.change(run);
    const auto found = accepted(compare(a, b)).value().environment;
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].what, one.what);
    EXPECT_EQ(found[0].weight, one.weight);
    EXPECT_EQ(found[0].a, one.a);
    EXPECT_EQ(found[0].b, one.b);
  }
}

// Up to these differences nothing is said.
TEST(Environment, SmallDifferencesOfStateAreNone) {
  auto a = made_side({training_step()}, 3, 1), b = made_side({training_step()}, 3, 9);
  for (RunProfile& run : a) run.temperature_c = 60, run.sm_clock_hz = 1.7e9;
  for (RunProfile& run : b) {
    run.temperature_c = 70;
    run.sm_clock_hz = 1.7e9;
    run.throttled_share = 0.25;
    run.throttle_reasons = {"power limit"};
  }
  EXPECT_TRUE(accepted(compare(a, b)).value().environment.empty());
  // A moment of heat at the beginning is no state; a tenth of the samples is.
  for (RunProfile& run : b) run.throttle_reasons = {"thermal (hardware)"}, run.throttled_share = 0.09;
  EXPECT_TRUE(accepted(compare(a, b)).value().environment.empty());
  for (RunProfile& run : b) run.throttled_share = 0.10;
  const auto found = accepted(compare(a, b)).value().environment;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "throttled");
  EXPECT_EQ(found[0].a, "none");
  EXPECT_EQ(found[0].b, "thermal (hardware)");
}

// Runs may list their sites in any order: what is said of a kernel is said of it, not of what has its place elsewhere.
TEST(Compare, TheOrderOfSitesMayDifferBetweenRuns) {
  const auto a = training_step();
  auto turned = a;
  std::reverse(turned.begin(), turned.end());
  const std::vector<RunProfile> runs_a = {made_side({a}, 1, 1)[0], made_side({a}, 1, 2)[0],
                                          made_side({turned}, 1, 3)[0]};
  const std::vector<RunProfile> runs_b = {made_side({turned}, 1, 4)[0], made_side({a}, 1, 5)[0],
                                          made_side({a}, 1, 6)[0]};
  const Comparison comparison = accepted(compare(runs_a, runs_b)).value();
  ASSERT_EQ(comparison.kernels.size(), a.size());
  for (const KernelChange& change : comparison.kernels) {
    EXPECT_EQ(change.kernels_a, change.kernels_b);
    EXPECT_EQ(change.level, MatchLevel::exact);
    EXPECT_LT(std::abs(change.time.ratio), 0.01) << change.kernels_a.front();
  }
}

}  // namespace
}  // namespace ridgeline::comparison
