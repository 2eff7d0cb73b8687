// Which tiers a process got and why not more, asked directly: each case is one plan, what was seen, and the verdict.
#include "spool/tier_verdict.h"

#include <gtest/gtest.h>

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

// A plan that asks for everything, what came of it all sound; a case spoils what it is about.
class Verdicts : public ::testing::Test {
 protected:
  Verdicts() {
    plan_.step_range = "step";
    plan_.sampling_requested = plan_.replay_requested = plan_.third_tier_requested = true;
    plan_.total_steps = 40;
    plan_.first_sample_step = 10;
    plan_.first_replay_step = 20;
    plan_.first_third_tier_step = 30;
    seen_.steps[7].index = 7;
    counts_.launches_seen = counts_.kernel_records = 100;
    outcomes_.sampling = {.steps = 4, .ok = 4, .kernel_time_ns = 1000, .covered_ns = 990};
    outcomes_.replay = {.steps = 8, .ok = 8};
    outcomes_.third_tier = {.steps = 2, .ok = 2};
  }
  // "status: reason" of a tier, 0 to 3.
  [[nodiscard]] std::string of(std::size_t tier) const {
    const auto verdicts = tier_verdicts(seen_, plan_, counts_, outcomes_);
    EXPECT_EQ(verdicts.size(), 4u);
    const auto& verdict = verdicts.at(tier);
    return std::string(to_string(verdict.status)) +
           (verdict.reason ? ": " + reports::reason_text(*verdict.reason) : "");
  }
  void say(spool::Topic topic, const std::string& text) {
    seen_.messages.push_back({.severity = Severity::warning, .topic = topic, .what = text});
  }

  RecordingPlan plan_;
  ScannedSpool seen_;
  store::Completeness counts_;
  TierOutcomes outcomes_;
};

TEST_F(Verdicts, EverythingSound) {
  for (std::size_t tier = 0; tier < 4; ++tier) EXPECT_EQ(of(tier), "ok") << tier;
}

TEST_F(Verdicts, KernelsOfOneCallAreAGapOfTheTimeline) {
  outcomes_.kernels_of_one_call = 50'856;
  EXPECT_EQ(
      of(0),
      "partial: CUPTI says of 50,856 kernels that one call launched them: which call and step they are of is "
      "not known");
}

TEST_F(Verdicts, AWindowThatWasGivenUpIsTheReasonAndNotTheNumberOfSteps) {
  outcomes_.sampling = {};
  say(spool::Topic::sampling, "starting it took 107 ms; the program ended");
  EXPECT_EQ(of(1), "failed: starting it took 107 ms; the program ended");
}

TEST_F(Verdicts, EachGapOfTheTimelineIsCounted) {
  counts_.launches_seen = 103;
  counts_.dropped_records = 4;
  counts_.lost_spool_records = 5;
  counts_.zero_timestamps = 6;
  counts_.truncated_bytes = 7;
  EXPECT_EQ(
      of(0),
      "partial: 3 launches without a kernel record; 4 records dropped by the driver; 5 records that found no "
      "room in the spool; 6 kernel records without a time; 7 bytes of the spool unreadable");
  counts_ = {.launches_seen = 10, .kernel_records = 10, .truncated_bytes = 1};
  EXPECT_EQ(of(0), "partial: 1 bytes of the spool unreadable");
}

TEST_F(Verdicts, MoreKernelsThanLaunchesAreOfNobodyKnowsWhich) {
  counts_.launches_seen = 3;
  EXPECT_EQ(of(0),
            "partial: 97 kernels ran of whose launch CUPTI did not tell: which call and step they are of is "
            "not known");
}

TEST_F(Verdicts, WithoutAnyKernelTheCauseIsNamed) {
  counts_ = {};
  say(spool::Topic::timeline_refused, "the driver refused");
  EXPECT_EQ(of(0), "refused: the driver refused");
  say(spool::Topic::cupti_missing, "no CUPTI");
  EXPECT_EQ(of(0), "failed: no CUPTI");
  counts_.graph_kernel_records = 1;
  EXPECT_EQ(of(0), "partial: the driver refused; no CUPTI") << "a kernel of a graph is a kernel";
}

TEST_F(Verdicts, SamplesThatCoverNineteenTwentiethsAreEnough) {
  outcomes_.sampling.covered_ns = 950;
  EXPECT_EQ(of(1), "ok");
  outcomes_.sampling.covered_ns = 949;
  EXPECT_EQ(of(1).substr(0, 53), "partial: values for 94.9 % of the kernel time only: a");
  outcomes_.sampling.covered_ns = 500;
  outcomes_.sampling.ok = 3;
  outcomes_.sampling.first_reason = "buffer full";
  EXPECT_EQ(
      of(1).substr(0, 100),
      "partial: 3 of 4 sample steps are whole; the first that is not: buffer full; values for 50.0 % of the");
}

TEST_F(Verdicts, SamplingThatGaveNothingSaysWhy) {
  outcomes_.sampling.covered_ns = 0;
  EXPECT_EQ(
      of(1),
      "failed: none of 4 sample steps gave values: no kernel in them could be told from its neighbours");
  outcomes_.sampling.first_reason = "no samples";
  EXPECT_EQ(of(1), "failed: none of 4 sample steps gave values: no samples");
  outcomes_.sampling.steps = 0;
  EXPECT_EQ(of(1),
            "failed: the program ended after 8 steps and sampling begins with step 10: run more steps or "
            "shorten the "
            "schedule");
  say(spool::Topic::sampling_refused, "no permission");
  EXPECT_EQ(of(1), "refused: no permission");
  plan_.sampling_requested = false;
  EXPECT_EQ(of(1), "not_requested: the schedule or the tiers leave samples (T1) out");
}

TEST_F(Verdicts, ReplayStepsThatFailMakeTheTierPartialOrWorse) {
  outcomes_.replay.unjoined_values = 3;
  EXPECT_EQ(of(2), "partial: 3 counter values belong to launches without a kernel record and were left out");
  outcomes_.replay = {.steps = 8, .ok = 7, .first_reason = "time-out"};
  EXPECT_EQ(of(2), "partial: 7 of 8 replay steps gave counters; the first that did not: time-out");
  outcomes_.replay.ok = 0;
  EXPECT_EQ(of(2), "failed: none of 8 replay steps gave counters: time-out");
  outcomes_.replay = {};
  EXPECT_EQ(of(2).substr(0, 69), "failed: the program ended after 8 steps and replay begins with step 2");
  say(spool::Topic::counters_refused, "no permission");
  EXPECT_EQ(of(2), "refused: no permission");
  plan_.replay_requested = false;
  EXPECT_EQ(of(2), "not_requested: the schedule or the tiers leave step replay out");
}

TEST_F(Verdicts, WithoutStepsTheRangeIsNamed) {
  seen_.steps.clear();
  outcomes_.replay = {};
  EXPECT_EQ(of(2),
            "failed: no NVTX range named \"step\" was seen: name the program's step range with --step-range");
  say(spool::Topic::nvtx_missing, "the program has no NVTX");
  EXPECT_EQ(of(2), "failed: the program has no NVTX");
}

TEST_F(Verdicts, TheThirdTierCountsColdStepsAndStalls) {
  outcomes_.third_tier.unjoined_values = 2;
  EXPECT_EQ(of(3), "partial: 2 counter values belong to launches without a kernel record and were left out");
  outcomes_.third_tier = {.steps = 2, .ok = 1, .first_reason = "mismatch"};
  EXPECT_EQ(of(3),
            "partial: 1 of 2 cold and instrumented steps gave counters; the first that did not: mismatch");
  outcomes_.third_tier.ok = 0;
  EXPECT_EQ(of(3), "failed: none of 2 cold and instrumented steps gave counters: mismatch");
  outcomes_.third_tier = {.steps = 2, .ok = 2};
  plan_.stalls_requested = true;
  EXPECT_EQ(of(3), "partial: no sample of stalls arrived");
  seen_.stall_samples = 1;
  EXPECT_EQ(of(3), "ok");
  outcomes_.third_tier = {};
  EXPECT_EQ(of(3), "ok") << "stalls alone";
  say(spool::Topic::stalls, "some were dropped");
  EXPECT_EQ(of(3), "partial: some were dropped");
  seen_.stall_samples = 0;
  EXPECT_EQ(of(3), "failed: some were dropped");
  say(spool::Topic::counters_refused, "no permission");
  EXPECT_EQ(of(3), "refused: no permission");
  plan_.third_tier_requested = false;
  EXPECT_EQ(of(3), "not_requested: ask for it with --cold, --stalls or --sass-flops");
}

// What was asked for, by the schedule and by the tiers of the launch manifest.
TEST(RecordingPlanTest, TiersOfTheManifestLimitTheSchedule) {
  TemporaryDirectory directory;
  FakeSpool written(directory.path());
  written.process(4242, "warmup=1,timeline=2,sample=3,replay=4,cold=5,stalls=6");
  std::string error;
  const auto reader = spool::Reader::open(written.file(), &error);
  ASSERT_TRUE(reader.has_value()) << error;
  const ScannedSpool scanned = scan_definitions(*reader, {});
  const auto plan_with = [&](TierSet tiers) {
    spool::LaunchManifest manifest;
    manifest.tiers = tiers;
    return recording_plan(*reader, scanned, manifest);
  };
  const RecordingPlan all = recording_plan(*reader, scanned, std::nullopt);
  EXPECT_EQ(all.total_steps, 21u);
  EXPECT_EQ(all.first_sample_step, 3u);
  EXPECT_EQ(all.first_replay_step, 6u);
  EXPECT_EQ(all.first_third_tier_step, 10u);
  EXPECT_TRUE(all.sampling_requested && all.replay_requested && all.third_tier_requested &&
              all.stalls_requested);
  const RecordingPlan second = plan_with(TierSet(Tier::t0) | Tier::t2);
  EXPECT_TRUE(second.replay_requested);
  EXPECT_FALSE(second.sampling_requested || second.third_tier_requested || second.stalls_requested);
  const RecordingPlan third = plan_with(TierSet(Tier::t0) | Tier::t3);
  EXPECT_TRUE(third.third_tier_requested && third.stalls_requested);
  EXPECT_FALSE(third.sampling_requested || third.replay_requested);
  const RecordingPlan first = plan_with(TierSet(Tier::t0) | Tier::t1);
  EXPECT_TRUE(first.sampling_requested);
  EXPECT_FALSE(first.replay_requested || first.third_tier_requested || first.stalls_requested);
}

// The tiers allow phases; they add none that the schedule has not.
TEST(RecordingPlanTest, TiersOfTheManifestAddNothingToTheSchedule) {
  for (const std::string schedule : {"timeline=2", "timeline=2,cold=3", "timeline=2,stalls=3",
                                     "timeline=2,sample=1", "timeline=2,replay=4"}) {
    TemporaryDirectory directory;
    FakeSpool written(directory.path());
    written.process(4242, schedule);
    std::string error;
    const auto reader = spool::Reader::open(written.file(), &error);
    ASSERT_TRUE(reader.has_value()) << error;
    spool::LaunchManifest manifest;
    manifest.tiers = TierSet(Tier::t0) | Tier::t1 | Tier::t2 | Tier::t3;
    const RecordingPlan plan = recording_plan(*reader, scan_definitions(*reader, {}), manifest);
    const auto has = [&](const char* phase) { return schedule.find(phase) != std::string::npos; };
    EXPECT_EQ(plan.sampling_requested, has("sample")) << schedule;
    EXPECT_EQ(plan.replay_requested, has("replay")) << schedule;
    EXPECT_EQ(plan.third_tier_requested, has("cold") || has("stalls")) << schedule;
    EXPECT_EQ(plan.stalls_requested, has("stalls")) << schedule;
  }
}

TEST(RecordingPlanTest, OfAScheduleThatCannotBeReadReplayAloneIsTakenAsAskedFor) {
  TemporaryDirectory directory;
  FakeSpool written(directory.path());
  written.process(4242, "what the agent understood");
  std::string error;
  const auto reader = spool::Reader::open(written.file(), &error);
  ASSERT_TRUE(reader.has_value()) << error;
  const RecordingPlan plan = recording_plan(*reader, scan_definitions(*reader, {}), std::nullopt);
  EXPECT_EQ(plan.total_steps, 0u);
  EXPECT_TRUE(plan.replay_requested);
  EXPECT_FALSE(plan.sampling_requested || plan.third_tier_requested || plan.stalls_requested);
}

// The program's own word comes first, then the launcher's, then the default.
TEST(RecordingPlanTest, TheScheduleThatTheProgramDoesNotSayTheManifestDoes) {
  TemporaryDirectory directory;
  FakeSpool written(directory.path());
  std::string error;
  const auto schedule = [&](const std::optional<spool::LaunchManifest>& manifest) {
    const auto reader = spool::Reader::open(written.file(), &error);
    return recording_plan(*reader, scan_definitions(*reader, {}), manifest).schedule;
  };
  spool::LaunchManifest manifest;
  written.process(4242, "");
  const std::string by_default = schedule(std::nullopt);
  EXPECT_NE(by_default.find("timeline="), std::string::npos) << by_default;
  EXPECT_EQ(schedule(manifest), by_default) << "an empty word is none";
  manifest.schedule = "warmup=7,timeline=9";
  EXPECT_EQ(schedule(manifest), "warmup=7,timeline=9");
  written.process(4242, "warmup=1,timeline=2");
  EXPECT_EQ(schedule(manifest), "warmup=1,timeline=2");
}

}  // namespace
}  // namespace ridgeline::import::testing
