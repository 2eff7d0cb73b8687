// interventions_test.cpp: slopes, slack and verdicts of steps that are made with known ones.
#include "ridgeline/analyzer/whatif/interventions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "support/accepted_table.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using store::Intervention;

constexpr std::int64_t kStepNs = 10'000'000;
constexpr std::int64_t kShamNs = 2000;

// A recording of which every step is known: `effect` is what a delay makes of the step, and the next one makes up for
// `made_up` of that.
struct DelayRecording {
  std::function<double(double delay_ns)> effect = [](double delay_ns) { return delay_ns; };
  double made_up = 0;
  double noise_ns = 5000;
  double drift_ns = 0;    // by which each step is longer than the one before it
  int outlier_every = 0;  // drawn steps: one that takes 3 ms longer
  int pairs = 40;
  std::vector<std::int64_t> levels = {100'000, 200'000, 400'000, 800'000};

  std::vector<Intervention> delays;
  std::vector<store::Step> steps;

  void make() {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, noise_ns);
    std::int64_t now = 1'000'000'000;
    double owed = 0;
    const int timeline = 20;
    for (int i = 0; i < timeline + 2 * pairs + 1; ++i) {
      store::Step step;
      step.id = i + 1;
      step.process_id = 1;
      step.step_index = i;
      step.phase = i < timeline ? Phase::timeline : Phase::warmup;
      step.gpu_start_ns = now;
      step.gpu_end_ns = now + kStepNs - 1000;
      double length = kStepNs + noise(random) + drift_ns * i - owed;
      owed = 0;
      if (i >= timeline) {
        const int number = i - timeline;
        const bool drawn = number % 2 == 0;
        const auto kind = static_cast<std::size_t>(number / 2) % (levels.size() + 2);
        const std::int64_t level = drawn && kind < levels.size() ? levels[kind] : 0;
        Intervention delay;
        delay.process_id = 1;
        delay.step_id = step.id;
        delay.kernel_id = 7;
        delay.ordinal = 3;
        delay.drawn = drawn;
        delay.level_ns = level;
        delay.start_ns = now + 1'000'000;
        delay.end_ns = *delay.start_ns + kShamNs + level;
        delay.seed = "5";
        delays.push_back(delay);
        const double longer = effect(static_cast<double>(level));
        length += longer;
        owed = made_up * longer;
        if (drawn && outlier_every > 0 && number / 2 % outlier_every == 1) length += 3'000'000;
      }
      steps.push_back(step);
      now += static_cast<std::int64_t>(length);
    }
  }
  LaunchIntervention launch(const SimulatedDelay& simulate = {}) {
    make();
    InterventionAnalysis all = accepted(analyse_interventions(delays, steps, simulate));
    EXPECT_EQ(all.launches.size(), 1U);
    return all.launches.empty() ? LaunchIntervention{} : all.launches.front();
  }
};

SimulatedDelay simulated(double slope) {
  return [slope](store::Id kernel, std::int64_t ordinal, double delay_ns) -> std::optional<double> {
    EXPECT_EQ(kernel, 7);
    EXPECT_EQ(ordinal, 3);
    return slope * delay_ns;
  };
}

TEST(Interventions, ACriticalLaunchHasASlopeOfOne) {
  DelayRecording recording;
  const LaunchIntervention launch = recording.launch(simulated(1));
  ASSERT_TRUE(launch.slope);
  EXPECT_NEAR(launch.slope->value, 1, 0.02);
  EXPECT_LE(launch.slope->low, 1);
  EXPECT_GE(launch.slope->high, 1);
  EXPECT_LT(launch.slope->high - launch.slope->low, 0.1);
  EXPECT_FALSE(launch.slack) << "it is longer from the first delay on";
  EXPECT_EQ(launch.sham_ns, kShamNs);
  ASSERT_TRUE(launch.simulated_slope);
  EXPECT_NEAR(*launch.simulated_slope, 1, 1e-9);
  EXPECT_EQ(launch.verdict, SlopeVerdict::agree);
  ASSERT_EQ(launch.levels.size(), 4U);
  EXPECT_EQ(launch.levels[0].level_ns, 100'000);
  EXPECT_NEAR(launch.levels[0].delay_ns, 100'000, 1) << "a sham's own time is not part of the delay";
  EXPECT_NEAR(launch.levels[3].longer_ns, 800'000, 20'000);
}

TEST(Interventions, ALaunchWithSlackHasNone) {
  DelayRecording recording;
  recording.effect = [](double) { return 0; };
  const LaunchIntervention launch = recording.launch(simulated(1));
  ASSERT_TRUE(launch.slope);
  EXPECT_NEAR(launch.slope->value, 0, 0.02);
  ASSERT_TRUE(launch.slack);
  EXPECT_FALSE(launch.slack_reached) << "it may bear more than the longest delay";
  EXPECT_NEAR(launch.slack->value, 800'000, 1);
  EXPECT_EQ(launch.verdict, SlopeVerdict::differ) << "the simulation has it on the critical path";
}

TEST(Interventions, SlackEndsWhereTheStepBeginsToGetLonger) {
  DelayRecording recording;
  recording.effect = [](double delay_ns) { return std::max(delay_ns - 300'000, 0.0); };
  const LaunchIntervention launch = recording.launch();
  ASSERT_TRUE(launch.slack);
  EXPECT_TRUE(launch.slack_reached);
  EXPECT_NEAR(launch.slack->value, 300'000, 25'000);
  EXPECT_LE(launch.slack->low, 300'000);
  EXPECT_GE(launch.slack->high, 300'000);
  EXPECT_EQ(launch.verdict, SlopeVerdict::not_simulated);
}

TEST(Interventions, ASimulationWithTheSameSlackHasTheSameSlope) {
  DelayRecording recording;
  recording.levels = {500'000, 1'000'000, 1'500'000, 2'500'000, 3'000'000, 4'000'000};
  recording.pairs = 80;
  recording.effect = [](double delay_ns) { return std::max(delay_ns - 2'000'000, 0.0); };
  const LaunchIntervention launch =
      recording.launch([&](store::Id, std::int64_t, double delay_ns) { return recording.effect(delay_ns); });
  ASSERT_TRUE(launch.slope && launch.simulated_slope && launch.slack);
  EXPECT_GT(launch.slope->value, 0.2);
  EXPECT_LT(launch.slope->value, 0.5);
  EXPECT_NEAR(*launch.simulated_slope, launch.slope->value, 0.01);
  EXPECT_EQ(launch.verdict, SlopeVerdict::agree);
  EXPECT_NEAR(launch.slack->value, 2'000'000, 100'000);
}

TEST(Interventions, WhatTheNextStepMakesUpForIsNoLoss) {
  DelayRecording recording;
  recording.made_up = 1;  // a host that was ahead, or a device that was
  const LaunchIntervention launch = recording.launch(simulated(0));
  ASSERT_TRUE(launch.slope);
  EXPECT_NEAR(launch.slope->value, 0, 0.03);
  EXPECT_EQ(launch.verdict, SlopeVerdict::agree);
}

TEST(Interventions, DriftAndOutliersDoNotMoveTheSlope) {
  DelayRecording recording;
  recording.drift_ns = 5000;
  recording.outlier_every = 7;
  const LaunchIntervention launch = recording.launch();
  ASSERT_TRUE(launch.slope);
  EXPECT_NEAR(launch.slope->value, 1, 0.1);
}

TEST(Interventions, TheIntervalHoldsTheSlopeInNineteenOfTwenty) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 100'000);
  int held = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<DelayedStep> steps;
    for (int i = 0; i < 40; ++i) {
      const double delay_ns = i % 5 * 100'000.0;
      steps.push_back({i, delay_ns, 20e6 + 0.5 * delay_ns + noise(random)});
    }
    const auto slope = delay_slope(steps);
    ASSERT_TRUE(slope);
    held += static_cast<int>(slope->low <= 0.5 && slope->high >= 0.5);
  }
  EXPECT_GE(held, kRuns * 91 / 100);
  EXPECT_LE(held, kRuns * 99 / 100);
}

TEST(Interventions, FewOrNoisyStepsSayNothing) {
  DelayRecording few;
  few.pairs = 6;
  EXPECT_EQ(few.launch(simulated(1)).verdict, SlopeVerdict::too_few_steps);
  DelayRecording noisy;
  noisy.noise_ns = 3'000'000;
  const LaunchIntervention launch = noisy.launch(simulated(1));
  EXPECT_EQ(launch.verdict, SlopeVerdict::too_uncertain);
  EXPECT_FALSE(launch.slack);
}

TEST(Interventions, StepsWithoutTimesOrRecordsDoNotCount) {
  DelayRecording recording;
  recording.make();
  for (Intervention& delay : recording.delays) delay.start_ns = delay.end_ns = std::nullopt;
  const InterventionAnalysis all = accepted(analyse_interventions(recording.delays, recording.steps));
  ASSERT_EQ(all.launches.size(), 1U);
  EXPECT_EQ(all.launches[0].verdict, SlopeVerdict::no_delays);
  EXPECT_EQ(all.launches[0].sham_ns, 0);
  EXPECT_TRUE(accepted(analyse_interventions({}, recording.steps)).launches.empty());
}

TEST(Interventions, ShamsCostWhatTheStepsAreLongerBy) {
  DelayRecording recording;
  recording.effect = [](double delay_ns) { return delay_ns + 30'000; };
  recording.make();
  const InterventionAnalysis all = accepted(analyse_interventions(recording.delays, recording.steps));
  ASSERT_TRUE(all.sham_cost);
  EXPECT_NEAR(all.sham_cost->value, 30'000, 6000);
  EXPECT_LE(all.sham_cost->low, 30'000);
  EXPECT_GE(all.sham_cost->high, 30'000);
  EXPECT_EQ(all.drawn_steps, 41);
  EXPECT_EQ(all.usable_steps, 40) << "the last one has no step after the next";
  EXPECT_EQ(all.seed, "5");
}

std::string estimate_words(const std::optional<InterventionEstimate>& of) {
  return of ? fmt::format("{:.5g} ({:.5g} to {:.5g})", of->value, of->low, of->high) : "-";
}

TEST(AcceptedTable, WhatDelaysDidToSteps) {
  std::string table;
  const auto add = [&](const std::string& what, DelayRecording& recording, const SimulatedDelay& simulate) {
    recording.make();
    const InterventionAnalysis all =
        accepted(analyse_interventions(recording.delays, recording.steps, simulate));
    table += fmt::format("{}: {} drawn, {} usable, sham step {:.6g}, sham cost {}\n", what, all.drawn_steps,
                         all.usable_steps, all.sham_step_ns, estimate_words(all.sham_cost));
    for (const LaunchIntervention& launch : all.launches) {
      table +=
          fmt::format("  {} delayed {} shams of {:.6g}: slope {} slack {} {} simulated {:.5g} verdict {}\n",
                      launch.delayed_steps, launch.sham_steps, launch.sham_ns, estimate_words(launch.slope),
                      estimate_words(launch.slack), launch.slack_reached, launch.simulated_slope.value_or(-1),
                      static_cast<int>(launch.verdict));
      for (const DelayLevel& level : launch.levels)
        table += fmt::format("    {} in {}: {:.7g} longer {:.6g} simulated {:.6g}\n", level.level_ns,
                             level.steps, level.delay_ns, level.longer_ns, level.simulated_ns.value_or(-1));
    }
  };
  const auto slack_of = [](double slack_ns) {
    return [=](double delay_ns) { return std::max(delay_ns - slack_ns, 0.0); };
  };
  for (const double slack_ns : {0.0, 150'000.0, 300'000.0, 900'000.0}) {
    for (const double noise_ns : {1.0, 5000.0, 200'000.0, 900'000.0}) {
      DelayRecording recording;
      recording.effect = slack_of(slack_ns);
      recording.noise_ns = noise_ns;
      add(fmt::format("slack {} noise {}", slack_ns, noise_ns), recording, simulated(slack_ns > 0 ? 0.5 : 1));
    }
  }
  for (const int pairs : {3, 8, 9, 12, 13, 18, 24, 31}) {
    DelayRecording recording;
    recording.pairs = pairs;
    add(fmt::format("{} pairs", pairs), recording, {});
  }
  for (const int every : {3, 5, 9}) {
    DelayRecording recording;
    recording.outlier_every = every;
    recording.drift_ns = 300;
    add(fmt::format("an outlier in {} and drift", every), recording, simulated(1.05));
  }
  for (const double slope : {0.0, 0.5, 0.85, 0.89, 0.92, 1.08, 1.11, 1.3}) {
    DelayRecording recording;
    add(fmt::format("simulated with {}", slope), recording, simulated(slope));
  }
  for (const double made_up : {0.5, 1.0}) {
    DelayRecording recording;
    recording.made_up = made_up;
    add(fmt::format("the next step makes up for {}", made_up), recording, simulated(1));
  }
  DelayRecording one;
  one.levels = {300'000};
  add("one level", one, simulated(1));
  DelayRecording shams;
  shams.levels = {};
  add("shams alone", shams, simulated(1));
  ridgeline::testing::expect_accepted("delays.txt", table);
}

}  // namespace
}  // namespace ridgeline::analyzer
