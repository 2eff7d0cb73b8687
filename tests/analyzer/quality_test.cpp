#include "ridgeline/analyzer/findings/quality.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;
using testing::kDuration;
using testing::kGpcCycles;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

Quality assess(FabricatedModel& f) {
  f.done();
  const StepAnalysis steps = analyze_steps(f.model).value();
  return accepted(assess_quality(f.model, steps, analyze_utilisation(f.model, steps)));
}

const Finding* find(const Quality& quality, std::string_view code) {
  const auto found = std::find_if(quality.findings.begin(), quality.findings.end(),
                                  [&](const Finding& f) { return code_word(f) == code; });
  return found == quality.findings.end() ? nullptr : &*found;
}

// Two timeline launches of 100 µs and 300 µs; the first replayed with the given duration.
FabricatedModel sample(double replay_ns) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1'000'000, 1'100'000);
  f.launch("b", 1'100'000, 1'400'000);
  f.step(Phase::replay);
  f.launch("a", 9'000'000, 9'100'000);
  f.counters(
      {{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 5}, {kDuration, replay_ns}, {kGpcCycles, replay_ns * 1.8}});
  return f;
}

TEST(Quality, CoverageIsOfKernelTimeAndEveryLaunchIsExplained) {
  FabricatedModel f = sample(100e3);
  const Quality q = assess(f);
  EXPECT_DOUBLE_EQ(q.dram_coverage, 0.25);
  EXPECT_DOUBLE_EQ(q.compute_coverage, 0.25);
  EXPECT_DOUBLE_EQ(q.coverage, 0.25);
  EXPECT_DOUBLE_EQ(q.explained_share, 1.0);
  ASSERT_NE(find(q, "t2.coverage"), nullptr);
  EXPECT_NE(find(q, "missing.not_replayed"), nullptr);
}

TEST(Quality, CompleteOnlyIfNothingIsMissing) {
  struct Case {
    const char* name;
    store::Completeness row;
    const char* code;  // nullptr: complete
  };
  const Case cases[] = {
      {"fine", {.process_id = 1, .launches_seen = 3, .kernel_records = 3, .profiler_records = 8}, nullptr},
      {"missing record", {.process_id = 1, .launches_seen = 3, .kernel_records = 2}, "completeness.launches"},
      {"dropped", {.process_id = 1, .dropped_records = 1}, "completeness.dropped"},
      {"spool full", {.process_id = 1, .lost_spool_records = 4}, "completeness.dropped"},
      {"no time", {.process_id = 1, .zero_timestamps = 1}, "completeness.zero_timestamps"},
      {"cut", {.process_id = 1, .truncated_bytes = 9}, "completeness.truncated"},
  };
  for (const Case& c : cases) {
    FabricatedModel f = sample(100e3);
    f.model.completeness = {c.row};
    const Quality q = assess(f);
    EXPECT_EQ(q.complete, c.code == nullptr) << c.name;
    std::vector<std::string> said;
    for (const Finding& finding : q.findings) {
      const std::string code(code_word(finding));
      if (code.starts_with("completeness.")) said.push_back(code);
    }
    EXPECT_EQ(said, c.code == nullptr ? std::vector<std::string>{} : std::vector<std::string>{c.code})
        << c.name;
  }
  FabricatedModel f = sample(100e3);
  f.model.completeness.clear();
  EXPECT_FALSE(assess(f).complete);
  EXPECT_NE(find(assess(f), "completeness.unknown"), nullptr);
}

store::Message price_message(std::int64_t alone_ns, std::int64_t recorded_ns, std::int64_t error_ns) {
  return {.process_id = 1,
          .severity = Severity::info,
          .what = Reason(ReasonCode::recording_price, {{"alone_ns", alone_ns},
                                                       {"recorded_ns", recorded_ns},
                                                       {"error_ns", error_ns},
                                                       {"steps_alone", 9},
                                                       {"steps_recorded", 12},
                                                       {"launches", 4302},
                                                       {"remained_ns", 0},
                                                       {"by_period", 0}})};
}

TEST(Quality, WhatRecordingCostsIsAWarningIfItIsCertainAndMatters) {
  struct Case {
    std::int64_t alone_ns, recorded_ns, error_ns;
    Severity severity;
    bool certain;
  };
  for (const Case& c : {Case{35'400'000, 38'480'000, 200'000, Severity::warning, true},
                        Case{35'400'000, 35'700'000, 200'000, Severity::info, true},  // 0.8 %
                        Case{35'400'000, 38'480'000, 3'200'000, Severity::info, false},
                        Case{35'400'000, 34'000'000, 200'000, Severity::info, false}}) {
    FabricatedModel f = sample(100e3);
    f.model.messages.push_back(price_message(c.alone_ns, c.recorded_ns, c.error_ns));
    const Quality q = assess(f);
    const Finding* price = find(q, "pace.recording_price");
    ASSERT_NE(price, nullptr);
    EXPECT_EQ(price->severity, c.severity) << c.recorded_ns;
    EXPECT_EQ(price->magnitude_ns.has_value(), c.certain) << c.recorded_ns;
    EXPECT_DOUBLE_EQ(price->value("alone_ns"), static_cast<double>(c.alone_ns));
    EXPECT_EQ(find(q, "collector"), nullptr) << "said once";
  }
  FabricatedModel f = sample(100e3);
  f.model.messages.push_back(price_message(0, 38'480'000, 1));
  EXPECT_EQ(find(assess(f), "pace.recording_price"), nullptr) << "of another version, or damaged";
}

TEST(Quality, ThatNothingIsKeptIsToldFromNotKnown) {
  const auto evidence = [](std::int64_t kept_ns, std::int64_t kept_known) -> std::optional<double> {
    FabricatedModel f = sample(100e3);
    f.model.messages.push_back(price_message(35'400'000, 38'480'000, 200'000));
    f.model.messages.back().what.values.push_back({"kept_ns", kept_ns});
    f.model.messages.back().what.values.push_back({"kept_known", kept_known});
    const Quality q = assess(f);
    const Finding* price = find(q, "pace.recording_price");
    const Evidence* kept = price == nullptr ? nullptr : price->find("kept_ns");
    return kept == nullptr ? std::nullopt : std::optional(kept->value);
  };
  EXPECT_EQ(evidence(0, 0), std::nullopt);
  EXPECT_EQ(evidence(0, 1), 0) << "the device hides it";
  EXPECT_EQ(evidence(3'000'000, 1), 3e6);
  EXPECT_EQ(evidence(3'000'000, 0), 3e6) << "of an older import";
}

TEST(Quality, ThatThereAreNoStepsIsSaidOnce) {
  FabricatedModel f = sample(100e3);
  f.done();
  StepAnalysis steps = analyze_steps(f.model).value();
  steps.findings = {{.severity = Severity::warning, .code = FindingCode::steps_window}};
  const auto assessed = [&] {
    return accepted(assess_quality(f.model, steps, analyze_utilisation(f.model, steps)));
  };
  EXPECT_NE(find(assessed(), "steps.window"), nullptr);
  f.model.messages.push_back({.process_id = 1,
                              .severity = Severity::warning,
                              .what = Reason(ReasonCode::no_steps, {{"step_range", "step"}})});
  const Quality q = assessed();
  EXPECT_EQ(find(q, "steps.window"), nullptr);
  EXPECT_NE(find(q, "collector"), nullptr);
}

// The importer's message says what is lost and what to do; that its tier is partial for it is the same once more.
TEST(Quality, HiddenGraphsOfAnImportAreSaidOnce) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 2000);
  const Reason hidden(ReasonCode::import_hidden_graphs, {{"launches", 2}, {"duration_ns", 3100}});
  f.model.tier_statuses.push_back(
      {.process_id = 1, .tier = Tier::t0, .status = TierOutcome::partial, .reason = hidden});
  const auto count = [&] {
    const StepAnalysis steps = analyze_steps(f.done()).value();
    const Quality quality = accepted(assess_quality(f.model, steps, analyze_utilisation(f.model, steps)));
    return std::count_if(quality.findings.begin(), quality.findings.end(), [](const Finding& finding) {
      return finding.detail.code == ReasonCode::import_hidden_graphs;
    });
  };
  EXPECT_EQ(count(), 1) << "the tier's";
  f.model.messages.push_back({.process_id = 1, .severity = Severity::error, .what = hidden});
  EXPECT_EQ(count(), 1) << "the message";
}

TEST(Quality, EachLossSaysHowMuch) {
  FabricatedModel f = sample(100e3);
  f.model.completeness = {{.process_id = 1,
                           .launches_seen = 3,
                           .kernel_records = 2,
                           .dropped_records = 5,
                           .zero_timestamps = 6,
                           .truncated_bytes = 9}};
  const Quality q = assess(f);
  EXPECT_EQ(find(q, "completeness.launches")->value("launches_seen"), 3);
  EXPECT_EQ(find(q, "completeness.dropped")->count, 5);
  EXPECT_EQ(find(q, "completeness.zero_timestamps")->count, 6);
  EXPECT_EQ(find(q, "completeness.truncated")->value("truncated_bytes"), 9);
}

TEST(Quality, ADisagreementIsOfOneLaunchOnAverage) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1'000'000, 1'100'000);
  f.launch("a", 1'100'000, 1'400'000);
  f.step(Phase::replay);
  for (const std::int64_t start : {9'000'000, 10'000'000}) {
    f.launch("a", start, start + 600'000);
    f.counters({{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 5}, {kDuration, 600e3}, {kGpcCycles, 600e3 * 1.8}});
  }
  const Quality q = assess(f);
  ASSERT_EQ(q.disagreements.size(), 1u);
  EXPECT_EQ(q.disagreements[0].calls, 2);
  EXPECT_DOUBLE_EQ(q.disagreements[0].timeline_ns, 200e3);
  EXPECT_DOUBLE_EQ(q.disagreements[0].replay_ns, 600e3);
}

TEST(Quality, RowsThatAreGoneAreAnErrorWithTheWorstTable) {
  FabricatedModel f = sample(100e3);
  f.model.completeness = {{.process_id = 1, .launches_seen = 9, .kernel_records = 8}};  // an error before it
  f.model.lost_rows = {{"kernel", 9, 10}, {"launch of step 3", 50, 100}, {"string", 1, 2}};
  const Quality q = assess(f);
  const Finding* lost = find(q, "completeness.rows_lost");
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->severity, Severity::error);
  EXPECT_EQ(lost->subject.name, "launch of step 3");
  EXPECT_EQ(lost->count, 3);
  EXPECT_EQ(lost->value("rows"), 50);
  EXPECT_EQ(lost->value("rows_written"), 100);
  EXPECT_FALSE(q.complete);
}

TEST(Quality, WhatRanAloneIsNotSaidToHaveRunBesideOthers) {
  FabricatedModel f = sample(100e3);
  f.step(Phase::sample);
  f.launch("a", 20'000'000, 20'100'000);
  f.samples({{kRead, {1e6, 1e4}}, {kWritten, {1e6, 1e4}}}, 10);
  const Quality q = assess(f);
  EXPECT_FALSE(q.reach.empty());
  EXPECT_EQ(find(q, "t1.concurrent"), nullptr);
}

TEST(Quality, DisagreementOfReplayAndTimelineIsFlagged) {
  for (const auto& [replay_ns, flagged] :
       {std::pair(109e3, false), {111e3, true}, {89e3, true}, {91e3, false}}) {
    FabricatedModel f = sample(replay_ns);
    const Quality q = assess(f);
    EXPECT_EQ(q.disagreements.size(), flagged ? 1U : 0U) << replay_ns;
    if (flagged) {
      EXPECT_NEAR(q.disagreements[0].ratio, replay_ns / 100e3 - 1, 1e-12);
      EXPECT_NE(find(q, "t2.disagreement"), nullptr);
    }
  }
  FabricatedModel f;  // 19 µs: below the floor
  f.step(Phase::timeline);
  f.launch("a", 1'000'000, 1'019'000);
  f.step(Phase::replay);
  f.launch("a", 9'000'000, 9'019'000);
  f.counters({{kDuration, 40e3}});
  EXPECT_TRUE(assess(f).disagreements.empty());
}

TEST(Quality, ClocksOfTheTimelineAreSummarised) {
  FabricatedModel f = sample(100e3);
  const auto clock = [&](std::int64_t time, std::int64_t mhz, std::int64_t watt, std::int64_t reasons) {
    f.model.clock_samples.push_back({1, time, mhz * 1'000'000, 3'201'000'000, watt * 1000, 60, reasons});
  };
  clock(500'000, 300, 80, 1);  // before the timeline
  clock(1'000'000, 1980, 500, 0);
  clock(1'200'000, 1700, 700, 0x4);
  clock(1'400'000, 1800, 690, 0x4 | 0x20);
  clock(8'000'000, 345, 80, 1);  // after it
  const Quality q = assess(f);
  ASSERT_EQ(q.clocks.size(), 1U);
  const ClockSummary& c = q.clocks[0];
  EXPECT_EQ(c.samples, 3);
  EXPECT_DOUBLE_EQ(*c.sm_clock_min_hz, 1.70e9);
  EXPECT_DOUBLE_EQ(*c.sm_clock_median_hz, 1.80e9);
  EXPECT_DOUBLE_EQ(*c.sm_clock_max_hz, 1.98e9);
  EXPECT_DOUBLE_EQ(*c.power_median_w, 690);
  EXPECT_DOUBLE_EQ(*c.power_max_w, 700);
  EXPECT_EQ(c.throttle_reasons, (std::vector<std::string>{"power limit", "thermal (software)"}));
  EXPECT_NEAR(c.throttled_share, 2.0 / 3, 1e-12);
  EXPECT_NE(find(q, "clock.spread"), nullptr);
  EXPECT_NE(find(q, "clock.throttled"), nullptr);
  EXPECT_EQ(find(q, "clock.replay_differs"), nullptr);  // replay ran at 1.8 GHz too
  EXPECT_DOUBLE_EQ(*c.memory_clock_median_hz, 3.201e9);
  EXPECT_EQ(c.temperature_max_c, 60);
  EXPECT_EQ(find(q, "clock.spread")->value("least_hz"), 1.70e9);
  EXPECT_EQ(find(q, "clock.spread")->value("most_hz"), 1.98e9);
  EXPECT_EQ(find(q, "clock.spread")->subject.name, "Test GPU");
  EXPECT_NEAR(find(q, "clock.throttled")->value("samples_ratio"), 2.0 / 3, 1e-12);
  EXPECT_EQ(find(q, "clock.throttled")->detail, "power limit, thermal (software)");
  EXPECT_EQ(find(q, "clock.unknown"), nullptr);
}

TEST(Quality, SteadyClocksAreNoFinding) {
  FabricatedModel f = sample(100e3);
  const auto clock = [&](std::int64_t time, std::int64_t mhz, std::int64_t celsius, std::int64_t reasons) {
    f.model.clock_samples.push_back({1, time, mhz * 1'000'000, {}, {}, celsius, reasons});
  };
  clock(1'000'000, 1800, -5, 1);  // idle, and a clock that the user set, are no throttling
  clock(1'300'000, 1790, -3, 2 | 0x100);
  const Quality q = assess(f);
  ASSERT_EQ(q.clocks.size(), 1U);
  EXPECT_EQ(q.clocks[0].temperature_max_c, -3);
  EXPECT_DOUBLE_EQ(q.clocks[0].throttled_share, 0);
  EXPECT_TRUE(q.clocks[0].throttle_reasons.empty());
  EXPECT_FALSE(q.clocks[0].power_median_w.has_value());
  EXPECT_FALSE(q.clocks[0].memory_clock_median_hz.has_value());
  EXPECT_EQ(find(q, "clock.spread"), nullptr);
  EXPECT_EQ(find(q, "clock.throttled"), nullptr);
}

// Samples of the whole recording stand in where none lies in the timeline; each device has its own.
TEST(Quality, ClocksOfEachDeviceAreThoseThatThereAre) {
  FabricatedModel f = sample(100e3);
  f.model.devices.push_back({.id = 2, .name = "Second GPU"});
  f.model.devices.push_back({.id = 3, .name = "Third GPU"});
  f.model.clock_samples.push_back({1, 1'100'000, 1'800'000'000, {}, {}, {}, {}});
  f.model.clock_samples.push_back({2, 400'000, 1'500'000'000, {}, {}, {}, {}});
  f.model.clock_samples.push_back({2, 9'000'000, 1'510'000'000, {}, {}, {}, {}});
  const Quality q = assess(f);
  ASSERT_EQ(q.clocks.size(), 2U) << "nothing is known of the third";
  EXPECT_EQ(q.clocks[0].samples, 1);
  EXPECT_EQ(q.clocks[1].device_id, 2);
  EXPECT_EQ(q.clocks[1].samples, 2);
  EXPECT_DOUBLE_EQ(*q.clocks[1].sm_clock_max_hz, 1.51e9);
}

TEST(Quality, TheClockIsUnknownWithoutAnySampleOfIt) {
  FabricatedModel nothing = sample(100e3);
  ASSERT_NE(find(assess(nothing), "clock.unknown"), nullptr);
  EXPECT_EQ(find(assess(nothing), "clock.unknown")->severity, Severity::info);
  nothing.model.clock_samples.push_back({1, 1'100'000, 1'800'000'000, {}, {}, {}, {}});
  EXPECT_EQ(find(assess(nothing), "clock.unknown"), nullptr);
  FabricatedModel in_situ = sample(100e3);
  in_situ.step(Phase::sample);
  in_situ.launch("a", 20'000'000, 20'100'000);
  in_situ.samples({{"gpc__cycles_elapsed.avg.per_second", {1.8e9, 1e6}}}, 10);
  EXPECT_EQ(find(assess(in_situ), "clock.unknown"), nullptr) << "the samples counted its cycles";
}

TEST(Quality, HowTheProgramEndedIsSaid) {
  const auto codes = [](std::optional<std::int64_t> end_ns, std::optional<std::int64_t> status,
                        std::optional<std::int64_t> signal) {
    FabricatedModel f = sample(100e3);
    f.model.run->end_ns = end_ns;
    f.model.run->exit_status = status;
    f.model.run->exit_signal = signal;
    std::vector<std::string> said;
    for (const Finding& finding : assess(f).findings) {
      const std::string code(code_word(finding));
      if (!code.starts_with("run.")) continue;
      EXPECT_EQ(finding.severity, Severity::warning) << code;
      said.push_back(code);
      for (const char* value : {"signal", "exit_status"}) {
        if (finding.find(value) != nullptr)
          said.push_back(value + std::string(" ") + std::to_string(static_cast<int>(finding.value(value))));
      }
    }
    return said;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(codes(1, 0, {}), Words{});
  EXPECT_EQ(codes(1, {}, {}), Words{});
  EXPECT_EQ(codes({}, {}, {}), Words{"run.interrupted"});
  EXPECT_EQ(codes(1, 3, {}), (Words{"run.exit_status", "exit_status 3"}));
  EXPECT_EQ(codes(1, 3, 9), (Words{"run.signal", "signal 9"})) << "the signal says it all";
}

// Six timeline steps of 1 ms, of which the fourth takes 1.3.
FabricatedModel slow_step() {
  FabricatedModel f;
  std::int64_t at = 1'000'000;
  for (int i = 0; i < 7; ++i) {
    f.step(Phase::timeline);
    f.launch("a", at, at + 900'000);
    at += i == 3 ? 1'300'000 : 1'000'000;
  }
  return f;
}

TEST(Quality, ALowerClockExplainsStepsThatTookLonger) {
  const auto clock = [](FabricatedModel& f, std::int64_t time, std::int64_t mhz, std::int64_t reasons) {
    f.model.clock_samples.push_back({1, time, mhz * 1'000'000, {}, {}, {}, reasons});
  };
  FabricatedModel f = slow_step();
  clock(f, 500'000, 1200, 0x20);  // before the timeline
  for (const std::int64_t time : {1'500'000, 2'500'000, 3'500'000}) clock(f, time, 1650, 0);
  clock(f, 4'100'000, 1600, 0x4);
  clock(f, 5'200'000, 1290, 0x4);
  clock(f, 5'400'000, 1650, 0x40);  // in the step after it
  const Quality explained = assess(f);
  const Finding* slow = find(explained, "steps.outlier");
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->subject.steps, std::vector<std::int64_t>{3});
  EXPECT_DOUBLE_EQ(slow->value("lowest_hz"), 1.29e9);
  EXPECT_DOUBLE_EQ(slow->value("others_hz"), 1.65e9);
  EXPECT_EQ(slow->detail, "power limit");
  EXPECT_EQ(find(explained, "clock.spread")->severity, Severity::info) << "said once";

  FabricatedModel steady = slow_step();  // 2 % lower explains nothing
  for (const std::int64_t time : {1'500'000, 2'500'000, 3'500'000}) clock(steady, time, 1650, 0);
  clock(steady, 5'200'000, 1620, 0x4);
  const Quality unexplained = assess(steady);
  EXPECT_EQ(find(unexplained, "steps.outlier")->find("lowest_hz"), nullptr);
  EXPECT_EQ(find(unexplained, "steps.outlier")->detail, "");
  clock(steady, 3'600'000, 1400, 0);  // low in another step
  EXPECT_EQ(find(assess(steady), "clock.spread")->severity, Severity::warning);
}

// 80 µs at 1.8 GHz in replay are as many cycles as 100 µs at 1.44 GHz: the clock explains the difference.
TEST(Quality, ADurationThatTheClockExplainsIsNoDisagreement) {
  FabricatedModel f = sample(80e3);
  ASSERT_EQ(assess(f).disagreements.size(), 1U);
  f.model.clock_samples.push_back({1, 1'000'000, 1'440'000'000, {}, {}, {}, {}});
  EXPECT_TRUE(assess(f).disagreements.empty());
}

// 80 us at 1.8 GHz are 144,000 cycles, 100 us at 1.2 GHz 120,000: shorter in time and longer in cycles is a matter
// of what the clock was taken to be, not of replay.
TEST(Quality, ShorterInTimeAndLongerInCyclesIsNoDisagreement) {
  FabricatedModel f = sample(80e3);
  f.model.clock_samples.push_back({1, 1'000'000, 1'200'000'000, {}, {}, {}, {}});
  EXPECT_TRUE(assess(f).disagreements.empty());
}

TEST(Quality, ReplayAtAnotherClockIsNamed) {
  FabricatedModel f = sample(100e3);
  f.model.clock_samples.push_back({1, 1'000'000, 1'400'000'000, {}, {}, {}, {}});
  const Quality q = assess(f);
  const Finding* finding = find(q, "clock.replay_differs");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->subject.device_id, 1);
  EXPECT_NEAR(finding->value("replay_hz"), 1.8e9, 1);
  EXPECT_NEAR(finding->value("timeline_hz"), 1.4e9, 1);
}

// Which range was taken for steps, and that steps do not launch alike, is reported as information.
TEST(Quality, StepsThatTheImportFoundAreTold) {
  FabricatedModel f = sample(100e3);
  const auto told = [&](Reason said) {
    f.model.messages = {{.id = 1, .severity = Severity::info, .what = std::move(said)}};
    const Quality q = assess(f);
    const Finding* finding = find(q, "collector");
    if (finding != nullptr) {
      EXPECT_EQ(finding->severity, Severity::info);
    }
    return finding != nullptr;
  };
  EXPECT_TRUE(told(Reason(ReasonCode::steps_by_range, {{"name", "Train step #"}})));
  EXPECT_TRUE(told(Reason(ReasonCode::steps_by_period, {{"varies", 1}})));
  EXPECT_FALSE(told(Reason(ReasonCode::steps_by_period, {{"varies", 0}}))) << "the step's finding says it";
  EXPECT_FALSE(told("schedule finished"));
}

TEST(Quality, ErrorsComeFirstAndNothingIsLost) {
  FabricatedModel f = sample(100e3);
  f.model.completeness = {{.process_id = 1, .launches_seen = 9, .kernel_records = 8}};
  f.model.tier_statuses = {{1, Tier::t0, TierOutcome::ok, {}},
                           {1, Tier::t2, TierOutcome::partial, "2 of 4 steps"},
                           {1, Tier::t1, TierOutcome::refused, "no"}};
  f.model.messages = {{.id = 1, .severity = Severity::warning, .what = "careful"},
                      {.id = 2, .severity = Severity::info, .what = "hm"}};
  f.model.run->end_ns.reset();
  f.model.run->exit_status = 2;
  const Quality q = assess(f);
  EXPECT_EQ(q.tiers.size(), 3U);
  EXPECT_EQ(q.findings.front().severity, Severity::error);
  for (std::size_t i = 1; i < q.findings.size(); ++i) {
    EXPECT_GE(q.findings[i - 1].severity, q.findings[i].severity);
  }
  for (const char* code :
       {"tier.partial", "tier.refused", "collector", "run.interrupted", "run.exit_status"}) {
    EXPECT_NE(find(q, code), nullptr) << code;
  }
  EXPECT_EQ(find(q, "tier.partial")->detail, "2 of 4 steps");
  EXPECT_EQ(find(q, "tier.partial")->find("processes"), nullptr) << "there is but one";
  f.model.processes.push_back({.id = 2, .pid = 200});
  f.model.messages[0].process_id = 2;
  const Quality two = assess(f);
  EXPECT_DOUBLE_EQ(find(two, "tier.partial")->value("processes"), 2);
  EXPECT_EQ(find(two, "collector")->subject.process_id, 2);
  EXPECT_DOUBLE_EQ(find(two, "collector")->value("processes"), 2);
}

// 100 us twice and 300 us once in the timeline, 40 and 200 us in replay.
TEST(Quality, DisagreementsSayWhatTheyComeToTheLargestKernelFirst) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("short", 1'000'000, 1'100'000);
  f.launch("short", 1'100'000, 1'200'000);
  f.launch("long", 1'200'000, 1'500'000);
  for (int s = 0; s < 2; ++s) {
    f.step(Phase::replay);
    std::int64_t at = 9'000'000 + 1'000'000 * s;
    for (const auto& [name, ns] :
         {std::pair("short", 40e3), std::pair("short", 40e3), std::pair("long", 200e3)}) {
      f.launch(name, at, at + static_cast<std::int64_t>(ns));
      at += static_cast<std::int64_t>(ns);
      f.counters({{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 5}, {kDuration, ns}, {kGpcCycles, ns * 1.8}});
    }
  }
  const Quality q = assess(f);
  ASSERT_EQ(q.disagreements.size(), 2u);
  EXPECT_EQ(q.disagreements[0].kernel, "long");
  EXPECT_EQ(q.disagreements[1].kernel, "short");
  EXPECT_EQ(q.disagreements[1].calls, 2);
  EXPECT_NEAR(q.disagreements[1].ratio, -0.6, 1e-12);
  // One finding of both, with the worst: 60 us of each of two calls.
  const Finding* finding = find(q, "t2.disagreement");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 2);
  EXPECT_EQ(finding->subject.name, "short");
  EXPECT_NEAR(*finding->magnitude_ns, 120e3, 1e-6);
  EXPECT_NEAR(*finding->step_share, 0.24, 1e-12);
}

}  // namespace
}  // namespace ridgeline::analyzer
