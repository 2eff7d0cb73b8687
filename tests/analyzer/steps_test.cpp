#include "ridgeline/analyzer/steps/steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;

bool has(const Findings& findings, std::string_view code) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return code_word(f) == code; });
}

// One launch per step, half the step long; steps begin at `starts`, the last ends with its launch.
FabricatedModel steps_at(const std::vector<std::pair<Phase, std::int64_t>>& starts) {
  FabricatedModel f;
  for (const auto& [phase, start] : starts) {
    f.step(phase);
    f.launch("k", start, start + 50);
  }
  return f;
}

TEST(Steps, DurationRunsToTheNextStepOfTheSamePhase) {
  //                          0: 100, closed   1: open (phase changes)  2: 300, closed  3: open, the last
  FabricatedModel f = steps_at(
      {{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::replay, 9000}, {Phase::replay, 9300}});
  const auto steps = accepted(summarise_steps(f.done()));
  ASSERT_EQ(steps.size(), 4U);
  const std::pair<std::int64_t, bool> expected[] = {{100, true}, {50, false}, {300, true}, {50, false}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(steps[i].gpu_duration_ns, expected[i].first) << i;
    EXPECT_EQ(steps[i].closed, expected[i].second) << i;
    EXPECT_EQ(steps[i].kernel_time_ns, 50) << i;
    EXPECT_EQ(steps[i].launches, 1) << i;
  }
}

// One process stopped after step 0; another one's step 1 does not close it.
TEST(Steps, AStepOfAnotherProcessClosesNone) {
  FabricatedModel f = steps_at({{Phase::timeline, 1000}, {Phase::timeline, 1100}});
  f.model.processes.push_back({.id = 2, .pid = 200});
  f.model.steps[1].step.process_id = f.launches[1].process_id = 2;
  const auto steps = accepted(summarise_steps(f.done()));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_FALSE(steps[0].closed);
  EXPECT_EQ(steps[0].gpu_duration_ns, 50);
}

TEST(Steps, WhatMarksThemIsSaid) {
  FabricatedModel f = steps_at(
      {{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::timeline, 1200}, {Phase::timeline, 1300}});
  EXPECT_FALSE(has(accepted(analyze_steps(f.done())).value().findings, "steps.period"));
  for (auto& each : f.model.steps) each.step.source = StepSource::period;
  EXPECT_TRUE(has(accepted(analyze_steps(f.model)).value().findings, "steps.period"));
  FabricatedModel one = steps_at({{Phase::timeline, 1000}});
  one.model.steps[0].step.source = StepSource::window;
  const auto analysis = accepted(analyze_steps(one.done()));
  EXPECT_TRUE(has(analysis.value().findings, "steps.window"));
  EXPECT_FALSE(has(analysis.value().findings, "steps.few")) << "there cannot be more";
}

// What a user is told about the steps that an analysis rests on: how much it weighs, how many, what to do.
TEST(Steps, FewOpenOrUnmarkedOnesAreSaidWithTheirNumber) {
  const auto said = [](FabricatedModel f, StepSource source) {
    for (auto& each : f.model.steps) each.step.source = source;
    const StepAnalysis analysis = accepted(analyze_steps(f.done())).value();
    std::string all;
    for (const Finding& finding : analysis.findings) {
      all += std::string(code_word(finding)) + " " + std::string(to_string(finding.severity)) + " " +
             std::to_string(finding.count) + "\n";
      const bool marks =
          finding.code == FindingCode::steps_window || finding.code == FindingCode::steps_period;
      EXPECT_EQ(finding.remedy, marks ? Remedy::mark_steps : Remedy::record_more_steps);
    }
    return all;
  };
  const auto two = steps_at({{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::timeline, 1200}});
  const auto three = steps_at(
      {{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::timeline, 1200}, {Phase::timeline, 1300}});
  const auto alone = steps_at({{Phase::timeline, 1000}});
  EXPECT_EQ(said(three, StepSource::nvtx), "");
  EXPECT_EQ(said(two, StepSource::nvtx), "steps.few info 2\n") << "the third is open and left out";
  EXPECT_EQ(said(alone, StepSource::nvtx), "steps.few info 1\nsteps.open info 1\n");
  EXPECT_EQ(said(three, StepSource::period), "steps.period info 1\n");
  EXPECT_EQ(said(two, StepSource::period), "steps.period info 1\nsteps.few info 2\n");
  EXPECT_EQ(said(alone, StepSource::window), "steps.window warning 1\nsteps.open info 1\n");
}

// The agent cannot be asked for what another profiler did not record.
TEST(Steps, OfAnImportTheRemediesAreOfTheTrace) {
  FabricatedModel f = steps_at({{Phase::timeline, 1000}});
  f.model.steps[0].step.source = StepSource::window;
  f.model.tier_statuses.push_back(
      {.process_id = 1,
       .tier = Tier::t2,
       .status = TierOutcome::not_requested,
       .reason = Reason(ReasonCode::not_asked_for, {{"tier", "T2"}, {"source", "trace"}})});
  EXPECT_TRUE(f.model.imported());
  const StepAnalysis analysis = accepted(analyze_steps(f.done())).value();
  for (const Finding& finding : analysis.findings)
    EXPECT_EQ(finding.remedy,
              finding.code == FindingCode::steps_window ? Remedy::name_steps : Remedy::trace_more_steps);
  f.model.tier_statuses.back().reason = Reason(ReasonCode::not_asked_for, {{"tier", "T2"}});
  EXPECT_FALSE(f.model.imported());
}

TEST(Steps, BeginWithTheirFirstKernelThoughCopiesRunAhead) {
  // The copy of each step's batch runs on another stream while the step before computes.
  FabricatedModel f;
  f.step(Phase::timeline);
  f.copy(900, 950, 8);
  f.launch("k", 1000, 1100);
  f.step(Phase::timeline);
  f.copy(1010, 1020, 8);
  f.launch("k", 1150, 1350);
  f.step(Phase::timeline);
  f.copy(1160, 1170, 8);
  f.launch("k", 1400, 1450);
  f.set(1450, 1500, 8);
  const auto steps = accepted(summarise_steps(f.done()));
  EXPECT_EQ(steps[0].gpu_start_ns, 1000);
  EXPECT_EQ(steps[0].gpu_duration_ns, 150);
  EXPECT_EQ(steps[1].gpu_duration_ns, 250);
  EXPECT_EQ(steps[2].gpu_duration_ns, 100);  // open: to the end of its own work, the set included
}

TEST(Steps, OfNothingButCopiesBeginWithTheFirst) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.copy(900, 950, 8);
  f.set(1100, 1200, 8);
  const auto steps = accepted(summarise_steps(f.done()));
  EXPECT_EQ(steps[0].gpu_start_ns, 900);
  EXPECT_EQ(steps[0].gpu_duration_ns, 300);
}

TEST(Steps, RepresentativeIsTheLowerMedianOfClosedTimelineSteps) {
  // Durations 100, 130, 110, 120 closed; the fifth is open (50) and does not count.
  FabricatedModel f = steps_at({{Phase::timeline, 1000},
                                {Phase::timeline, 1100},
                                {Phase::timeline, 1230},
                                {Phase::timeline, 1340},
                                {Phase::timeline, 1460}});
  const auto analysis = accepted(analyze_steps(f.done()));
  ASSERT_TRUE(analysis.ok());
  const StepAnalysis& a = analysis.value();
  EXPECT_EQ(a.representative.summary.step_index, 2);  // 110: lower median of 100 110 120 130
  EXPECT_EQ(a.representative.window_start_ns, 1230);
  EXPECT_EQ(a.representative.window_end_ns, 1340);
  EXPECT_EQ(a.spread.count, 4);
  EXPECT_DOUBLE_EQ(a.spread.median_ns, 115);
  EXPECT_DOUBLE_EQ(a.spread.p10_ns, 103);
  EXPECT_DOUBLE_EQ(a.spread.p90_ns, 127);
  EXPECT_DOUBLE_EQ(a.spread.mad_ns, 10);
  EXPECT_FALSE(a.representative.whole_recording);
}

TEST(Steps, OtherKindsAndFailedStepsAreLeftOutAndNamed) {
  FabricatedModel f;
  for (int i = 0; i < 6; ++i) {
    f.step(Phase::timeline, i == 4 ? StepStatus::interrupted : StepStatus::ok);
    for (int k = 0; k < (i == 2 ? 5 : 1); ++k)
      f.launch("k", 1000 + 100 * i + 10 * k, 1008 + 100 * i + 10 * k);
  }
  const auto analysis = accepted(analyze_steps(f.done()));
  ASSERT_TRUE(analysis.ok());
  EXPECT_EQ(analysis.value().spread.count, 3);  // 0, 1, 3; 5 is open
  EXPECT_TRUE(has(analysis.value().findings, "steps.kinds"));
  EXPECT_TRUE(has(analysis.value().findings, "steps.not_ok"));
  EXPECT_EQ(analysis.value().steps[2].kind, 1);
  EXPECT_EQ(analysis.value().steps[3].kind, 0);
}

// Ten training steps of 100 launches whose grids differ from step to step, every fifth with an evaluation after it.
FabricatedModel training_with_evaluation() {
  FabricatedModel f;
  std::int64_t at = 1000;
  for (int i = 0; i < 10; ++i) {
    f.step(Phase::timeline);
    for (int k = 0; k < (i % 5 == 4 ? 160 : 100); ++k, at += 10) f.launch("k", at, at + 8).grid.x = i;
  }
  return f;
}

TEST(Steps, KindsAreRankedByTheTimeTheyTake) {
  const auto analysis = accepted(analyze_steps(training_with_evaluation().done()));
  ASSERT_TRUE(analysis.ok());
  const StepAnalysis& a = analysis.value();
  ASSERT_EQ(a.kinds.size(), 2u);
  EXPECT_EQ(a.kinds[0].steps, 8);
  EXPECT_EQ(a.kinds[0].launches, 100);
  EXPECT_EQ(a.kinds[1].steps, 2);
  EXPECT_EQ(a.kinds[1].launches, 160);
  EXPECT_NEAR(a.kinds[0].time_share + a.kinds[1].time_share, 1, 1e-12);
  EXPECT_NEAR(a.kinds[1].time_share, 320.0 / 1120, 0.01);
  EXPECT_EQ(a.spread.count, 8) << "grids that differ make no kind";
  const auto kinds = std::find_if(a.findings.begin(), a.findings.end(),
                                  [](const Finding& f) { return f.code == FindingCode::steps_kinds; });
  ASSERT_NE(kinds, a.findings.end());
  EXPECT_EQ(kinds->count, 2);
  EXPECT_EQ(kinds->subject.phase, Phase::timeline);
  EXPECT_EQ(kinds->subject.process_id, 1);
  EXPECT_NEAR(kinds->step_share.value(), a.kinds[1].time_share, 1e-12);
  const std::pair<const char*, double> values[] = {{"steps", 10},
                                                   {"kinds", 2},
                                                   {"ranked_kind", 1},
                                                   {"ranked_steps", 8},
                                                   {"other_kind", 2},
                                                   {"ranked_median_ns", a.kinds[0].median_ns},
                                                   {"ranked_launches", 100},
                                                   {"other_steps", 2},
                                                   {"other_median_ns", a.kinds[1].median_ns},
                                                   {"other_launches", 160}};
  for (const auto& [name, value] : values) EXPECT_DOUBLE_EQ(kinds->value(name), value) << name;
  EXPECT_EQ(a.representative.summary.launches, 100);
  EXPECT_EQ(a.representative.peers.size(), 1u) << "none launched the very same";
}

TEST(Steps, AnotherKindCanBeAskedFor) {
  FabricatedModel f = training_with_evaluation();
  const Model& model = f.done();
  StepOptions options;
  options.kind = 1;
  const auto analysis = accepted(analyze_steps(model, options));
  ASSERT_TRUE(analysis.ok());
  EXPECT_EQ(analysis.value().kind, 1u);
  EXPECT_EQ(analysis.value().representative.summary.launches, 160);
  options.kind = 7;  // there are two: the last
  EXPECT_EQ(accepted(analyze_steps(model, options)).value().kind, 1u);
}

TEST(Steps, AnotherGridIsAnotherSequence) {
  FabricatedModel f = steps_at({{Phase::timeline, 1000}, {Phase::timeline, 1100}});
  f.launches[1].grid.x = 2;
  const auto steps = accepted(summarise_steps(f.done()));
  EXPECT_NE(steps[0].sequence_hash, steps[1].sequence_hash);
}

TEST(Steps, OutlierIsNamed) {
  FabricatedModel f;
  std::int64_t start = 1000;
  for (int i = 0; i < 9; ++i) {
    f.step(Phase::timeline);
    f.launch("k", start, start + 50);
    start += i == 3 ? 400 : 100;
  }
  const auto analysis = accepted(analyze_steps(f.done()));
  ASSERT_TRUE(has(analysis.value().findings, "steps.outlier"));
  const auto& findings = analysis.value().findings;
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& x) { return x.code == FindingCode::steps_outlier; });
  EXPECT_EQ(found->subject.steps, std::vector<std::int64_t>{3});
  EXPECT_EQ(found->count, 1);
  EXPECT_EQ(found->value("longest_ns"), 400);
  EXPECT_EQ(found->value("median_ns"), 100);
  EXPECT_EQ(found->magnitude_ns, 300);
  EXPECT_EQ(found->step_share, 3);
}

TEST(Steps, AllOutliersAreOneFinding) {
  FabricatedModel f;
  std::int64_t start = 1000;
  for (const int length : {100, 100, 100, 300, 400, 350, 100, 100, 100, 200, 100, 100, 100, 100, 100, 100}) {
    f.step(Phase::timeline);
    f.launch("k", start, start + 50);
    start += length;
  }
  const auto analysis = accepted(analyze_steps(f.done()));
  Findings told;
  for (const Finding& finding : analysis.value().findings) {
    if (finding.code == FindingCode::steps_outlier) told.push_back(finding);
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subject.steps, (std::vector<std::int64_t>{3, 4, 5, 9}));
  EXPECT_EQ(told[0].count, 4);
  EXPECT_EQ(told[0].value("shortest_ns"), 200);
  EXPECT_EQ(told[0].value("longest_ns"), 400);
}

TEST(Steps, StepsThatFailedForOneReasonAreOneFinding) {
  FabricatedModel f;
  std::int64_t start = 1000;
  for (int i = 0; i < 4; ++i, start += 100) {
    f.step(Phase::timeline);
    f.launch("k", start, start + 50);
  }
  for (const char* reason : {"no counters", "no counters", "too late", "no counters"}) {
    store::Step& step = f.step(Phase::replay, StepStatus::failed);
    step.reason = reason;
  }
  f.step(Phase::after, StepStatus::interrupted).reason = "the recording ended inside this step";
  Findings told;
  const auto analysis = accepted(analyze_steps(f.done()));
  for (const Finding& finding : analysis.value().findings) {
    if (finding.code == FindingCode::steps_not_ok) told.push_back(finding);
  }
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].severity, Severity::warning);
  EXPECT_EQ(told[2].severity, Severity::info) << "no figure rests on a step behind the schedule";
  EXPECT_EQ(told[0].detail, "no counters");
  EXPECT_EQ(told[0].count, 3);
  EXPECT_EQ(told[0].subject.steps, (std::vector<std::int64_t>{4, 5, 7}));
  EXPECT_EQ(told[0].subject.phase, Phase::replay);
  EXPECT_EQ(told[1].detail, "too late");
  EXPECT_EQ(told[1].count, 1);
}

TEST(Steps, OtherPhasesStandInForAMissingTimeline) {
  FabricatedModel f =
      steps_at({{Phase::warmup, 1000}, {Phase::warmup, 1100}, {Phase::replay, 9000}, {Phase::replay, 9300}});
  const auto analysis = accepted(analyze_steps(f.done()));
  EXPECT_EQ(analysis.value().representative.summary.phase, Phase::warmup);
  EXPECT_TRUE(has(analysis.value().findings, "steps.no_timeline"));
}

TEST(Steps, WithoutStepsTheRecordingIsOne) {
  FabricatedModel f;
  f.launch("a", 1000, 1100);
  f.launch("b", 1200, 1500);
  f.launch("c", 0, 0);  // the driver gave no time
  f.copy(900, 950, 4);
  const auto analysis = accepted(analyze_steps(f.done()));
  ASSERT_TRUE(analysis.ok());
  EXPECT_EQ(analysis.value().representative.summary.launches_without_time, 1);
  EXPECT_EQ(analysis.value().representative.summary.kernel_time_ns, 400);
  EXPECT_FALSE(has(analysis.value().findings, "steps.open"));
  const RepresentativeStep& step = analysis.value().representative;
  EXPECT_TRUE(step.whole_recording);
  EXPECT_EQ(step.summary.kind, 0);
  EXPECT_EQ(step.launches.size(), 3U);
  EXPECT_EQ(step.window_start_ns, 900);
  EXPECT_EQ(step.window_end_ns, 1500);
  EXPECT_TRUE(has(analysis.value().findings, "steps.none"));
}

TEST(Steps, AStepThatNoneFollowsIsOpen) {
  FabricatedModel one = steps_at({{Phase::timeline, 1000}});
  EXPECT_TRUE(has(accepted(analyze_steps(one.done())).value().findings, "steps.open"));
  FabricatedModel several =
      steps_at({{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::timeline, 1200}});
  EXPECT_FALSE(has(accepted(analyze_steps(several.done())).value().findings, "steps.open"));
}

TEST(Steps, TheBusiestProcessIsTaken) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1000, 1100);
  f.step(Phase::timeline).process_id = 2;
  f.launch("k", 1000, 1900).process_id = 2;
  EXPECT_EQ(accepted(analyze_steps(f.done())).value().process_id, 2);
  EXPECT_EQ(accepted(analyze_steps(f.model, {.process_id = 1})).value().process_id, 1);
}

TEST(Steps, AskedForStepIsTakenAndAMissingOneRefused) {
  FabricatedModel f = steps_at({{Phase::timeline, 1000}, {Phase::timeline, 1100}, {Phase::timeline, 1230}});
  f.done();
  EXPECT_EQ(accepted(analyze_steps(f.model, {.step_index = 1})).value().representative.window_start_ns, 1100);
  EXPECT_EQ(accepted(analyze_steps(f.model, {.step_index = 9})).failure().kind, ErrorKind::usage);
  EXPECT_EQ(accepted(analyze_steps(f.model, {.process_id = 9})).failure().kind, ErrorKind::usage);
}

TEST(Steps, NothingOrNothingWithATimeIsNoData) {
  FabricatedModel f;
  EXPECT_EQ(accepted(analyze_steps(f.done())).failure().kind, ErrorKind::no_data);
  f.step(Phase::timeline);
  f.launch("k", 0, 0);
  EXPECT_EQ(accepted(analyze_steps(f.done())).failure().kind, ErrorKind::no_data);
}

TEST(Steps, LaunchWithoutTimeIsCountedAndAddsNoTime) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1000, 1100);
  f.launch("k", 0, 0);
  const auto steps = accepted(summarise_steps(f.done()));
  EXPECT_EQ(steps[0].launches, 2);
  EXPECT_EQ(steps[0].launches_without_time, 1);
  EXPECT_EQ(steps[0].kernel_time_ns, 100);
  EXPECT_EQ(steps[0].gpu_start_ns, 1000);
}

// The first step after a change of phase begins on an idle GPU, the next one's copies while it computes.
TEST(Steps, TheFirstOfAPhaseIsNoOutlier) {
  for (const bool first : {true, false}) {
    FabricatedModel f;
    std::int64_t at = 1'000'000;
    for (int i = 0; i < 8; ++i) {
      f.step(Phase::timeline);
      f.launch("k", at, at + 90'000);
      at += i == (first ? 0 : 3) ? 10'000'000 : 100'000;
    }
    const StepAnalysis steps = accepted(analyze_steps(f.done())).value();
    const bool told = std::any_of(steps.findings.begin(), steps.findings.end(), [](const Finding& finding) {
      return finding.code == FindingCode::steps_outlier;
    });
    EXPECT_EQ(told, !first);
  }
}

// Kernels of several streams start in another order than they were launched in: a step's launches are in that of their
// launch.
TEST(Steps, LaunchesOfAStepAreInTheOrderOfTheirOrdinals) {
  FabricatedModel f;
  f.step(Phase::timeline);
  std::int64_t at = 1000;
  for (const std::int64_t ordinal : {2, 0, 3, 1}) {
    f.launch("k" + std::to_string(ordinal), at, at + 50).ordinal_in_step = ordinal;
    at += 100;
  }
  const Model& model = f.done();
  std::vector<std::string> kernels;
  for (const LaunchIndex i : model.steps.at(0).launches)
    kernels.push_back(model.kernel(model.launches.site(i).kernel_id)->demangled_name);
  EXPECT_EQ(kernels, (std::vector<std::string>{"k0", "k1", "k2", "k3"}));
}

// Steps are of one kind if they launch the same, or nearly as many launches in nearly the same time: within two or a
// twentieth of the launches and three tenths of the longer time.
TEST(Steps, OfNearlyTheSameLaunchesAndTimeAreOfOneKind) {
  struct Case {
    int launches;
    std::int64_t each_ns;
    bool same;
    int beside = 100;  // launches of 10 us each
  };
  for (const Case& one :
       {Case{102, 10'000, true}, Case{105, 10'000, true}, Case{106, 10'000, false}, Case{95, 10'000, true},
        Case{94, 10'000, false}, Case{101, 7'000, true}, Case{101, 6'900, false}, Case{101, 14'100, true},
        Case{101, 14'200, false}, Case{12, 10'000, true, 10}, Case{13, 9'000, false, 10},
        Case{8, 10'000, true, 10}, Case{7, 12'000, false, 10}, Case{3, 4'000, true, 1},
        Case{4, 2'500, false, 1}, Case{10, 7'000, true, 9}, Case{58, 10'000, true, 60},
        Case{56, 10'000, false, 59}}) {
    FabricatedModel f;
    std::int64_t at = 1'000'000;
    const auto add = [&](int launches, std::int64_t each_ns) {
      f.step(Phase::timeline);
      for (int i = 0; i < launches; ++i, at += each_ns + 100) f.launch("k", at, at + each_ns);
      at += 1'000'000;
    };
    for (int i = 0; i < 3; ++i) add(one.beside, 10'000);
    for (int i = 0; i < 3; ++i) add(one.launches, one.each_ns);
    const StepAnalysis steps = accepted(analyze_steps(f.done())).value();
    EXPECT_EQ(steps.kinds.size(), one.same ? 1u : 2u)
        << one.launches << " of " << one.each_ns << " beside " << one.beside;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
