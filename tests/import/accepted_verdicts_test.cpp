// What is judged of a recording drawn by lot: the tiers that a process got, steps, phases, plans, and what recording
// costs. Numbers lie about each limit. All answers are held against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "import/import_testing.h"
#include "recording/price.h"
#include "spool/tier_verdict.h"
#include "support/accepted_cases.h"
#include "support/lots.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

void say_by_lot(Lots& lots, int share, ScannedSpool& seen) {
  for (const spool::Topic topic :
       {spool::Topic::cupti_missing, spool::Topic::subscriber_taken, spool::Topic::timeline_refused,
        spool::Topic::counters_refused, spool::Topic::replay, spool::Topic::nvtx_missing,
        spool::Topic::sampling, spool::Topic::sampling_refused, spool::Topic::stalls,
        spool::Topic::spool_full, spool::Topic::turns}) {
    if (!lots.percent(share)) continue;
    const auto severity = lots.one_of({Severity::info, Severity::warning, Severity::error});
    seen.messages.push_back({.time_ns = 5,
                             .severity = severity,
                             .topic = topic,
                             .what = "about " + std::to_string(static_cast<int>(topic))});
  }
}

TEST(DrawnVerdicts, OfTiers) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 300; ++i) {
        RecordingPlan plan;
        plan.step_range = "step";
        plan.sampling_requested = lots.percent(80);
        plan.replay_requested = lots.percent(80);
        plan.third_tier_requested = lots.percent(80);
        plan.stalls_requested = lots.percent(40);
        plan.first_sample_step = 10;
        plan.first_replay_step = 20;
        plan.first_third_tier_step = 30;
        ScannedSpool seen;
        for (std::int64_t n = lots.below(3); n > 0; --n) {
          const auto index = static_cast<std::uint32_t>(lots.below(9));
          seen.steps[index].index = index;
          seen.steps[index].stretch = lots.percent(30);
        }
        if (lots.percent(15)) seen.steps_found = Reason(ReasonCode::steps_by_period, {{"steps", 3}});
        seen.stall_samples = lots.one_of({0, 0, 1, 5});
        say_by_lot(lots, static_cast<int>(batch % 3) * 8, seen);
        store::Completeness counts;
        counts.launches_seen = lots.one_of({0, 1, 99, 100, 101});
        counts.kernel_records = lots.one_of({0, 100, 100, 1});
        counts.graph_kernel_records = lots.one_of({0, 0, 1});
        for (std::int64_t* lost : {&counts.dropped_records, &counts.lost_spool_records,
                                   &counts.zero_timestamps, &counts.truncated_bytes})
          if (lots.percent(15)) *lost = lots.one_of({1, 2, -1});
        TierOutcomes outcomes;
        outcomes.kernels_of_one_call = lots.one_of({0, 0, 0, 1, 50});
        const auto counted = [&](auto& outcome) {
          outcome.steps = lots.one_of({0, 1, 4});
          outcome.ok = lots.below(outcome.steps + 1);
          if (outcome.ok < outcome.steps && lots.percent(80)) outcome.first_reason = "the first of them";
        };
        counted(outcomes.sampling);
        outcomes.sampling.kernel_time_ns = 1000;
        outcomes.sampling.covered_ns = lots.one_of({0, 0, 1, 949, 950, 951, 1000});
        counted(outcomes.replay);
        outcomes.replay.unjoined_values = lots.one_of({0, 0, 1});
        counted(outcomes.third_tier);
        outcomes.third_tier.unjoined_values = lots.one_of({0, 0, 2});
        for (const store::TierStatus& status : tier_verdicts(seen, plan, counts, outcomes)) {
          all += std::string(to_string(status.status)) + " " +
                 (status.reason ? reports::reason_text(*status.reason) : "") + "\n";
        }
        all +=
            fields(seen.is_empty()) + " " + fields(seen.left_alone()) + " " + fields(seen.has_steps()) + "\n";
      }
      return all;
    });
  }
}

class DrawnJudgements : public ::testing::Test {
 protected:
  DrawnJudgements() : written_(directory_.path()) {
    for (const char* text : {"the buffer was full", "about 11", "about 6"})
      texts_.push_back(written_.text(text));
    for (const char* text :
         {"", "warmup=1,timeline=2", "sample=2,replay=3,cold=1", "timeline=3,stalls=1,flops=2",
          "warmup=2,timeline=4,sample=3,replay=2,cold=2,stalls=1", "no schedule", "replay=1"})
      schedules_.push_back(written_.text(text));
    std::string error;
    reader_ = spool::Reader::open(written_.file(), &error);
    if (!reader_) throw std::runtime_error(error);
  }

  RecordedStep drawn_step(Lots& lots) {
    RecordedStep step;
    step.index = static_cast<std::uint32_t>(lots.between(3, 7));
    step.phase =
        lots.one_of({Phase::warmup, Phase::timeline, Phase::sample, Phase::sample, Phase::sample,
                     Phase::replay, Phase::cold, Phase::flops, Phase::stalls, static_cast<Phase>(77)});
    step.stretch = lots.percent(10);
    step.superseded = lots.percent(15);
    step.position = static_cast<std::uint32_t>(lots.between(9, 12));
    step.unmeasured = lots.percent(10);
    step.deferred = lots.percent(15);
    step.start_ns = 1'000'000;
    if (lots.percent(85)) step.end_ns = 2'000'000;
    if (lots.percent(25)) {
      step.counters = StepCounters{
          .configuration = 1,
          .status = lots.one_of({StepStatus::ok, StepStatus::ok, StepStatus::failed, StepStatus::mismatch}),
          .reason = std::nullopt};
      if (lots.percent(50)) step.counters->reason = Reason(ReasonCode::counters_unread);
    }
    step.launches_seen = lots.one_of({5, 5, 5, 6});
    step.kernel_records = 5;
    if (lots.percent(8)) step.mismatch = Reason(ReasonCode::another_launch, {{"position", 3}});
    if (lots.percent(90)) {
      step.gpu_start_ns = 1'100'000;
      step.gpu_end_ns = 1'900'000;
      step.kernel_end_ns = lots.percent(90) ? 1'900'000 : 0;
    }
    return step;
  }

  TemporaryDirectory directory_;
  FakeSpool written_;
  std::vector<spool::StringId> texts_, schedules_;
  std::optional<spool::Reader> reader_;
};

// The samples end and begin about the places at which they are enough.
TEST_F(DrawnJudgements, OfStepsAndPhases) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 250; ++i) {
        const RecordedStep step = drawn_step(lots);
        ScannedSpool seen;
        if (lots.percent(70)) seen.end = spool::EndRecord{};
        if (lots.percent(10)) seen.steps_found = Reason(ReasonCode::steps_by_period);
        say_by_lot(lots, static_cast<int>(batch % 3) * 10, seen);
        for (std::uint32_t id = 1; id <= static_cast<std::uint32_t>(batch % 3); ++id) {
          ScannedPmWindow window;
          window.samples = lots.one_of({0, 1, 10, 10});
          const std::int64_t span = 800'000;
          window.first_start_ns = 1'100'000;
          window.last_end_ns = window.first_start_ns + span;
          const std::int64_t slack = 20'000 + span / std::max<std::int64_t>(window.samples, 1) * 4;
          const std::int64_t moved =
              lots.one_of<std::int64_t>({0, slack, slack - 1, slack + 1, -slack, -slack - 1, -slack + 1,
                                         799'999, 800'000, -800'000, -799'999});
          window.first_start_ns += moved;
          window.last_end_ns += moved;
          if (lots.percent(85)) {
            spool::PmWindowRecord record{};
            record.first_step = static_cast<std::uint32_t>(lots.between(3, 5));
            record.last_step = record.first_step + static_cast<std::uint32_t>(lots.below(3));
            record.status = lots.one_of(
                {WindowStatus::ok, WindowStatus::ok, WindowStatus::overflow, WindowStatus::failed});
            if (record.status != WindowStatus::ok)
              record.reason = texts_[static_cast<std::size_t>(lots.below(3))];
            window.record = record;
          }
          seen.pm_windows[id] = window;
        }
        RecordingPlan plan;
        plan.total_steps = lots.one_of<std::uint64_t>({0, 10, 11});
        plan.sampling_requested = lots.percent(85);
        plan.replay_requested = lots.percent(85);
        plan.third_tier_requested = lots.percent(85);
        store::Step row;
        judge_step(*reader_, seen, step, plan, row);
        all += std::string(to_string(row.status)) + " " + (row.reason ? fields(*row.reason) : "") + " " +
               fields(phase_of(seen, step, plan)) + "\n";
      }
      return all;
    });
  }
}

TEST_F(DrawnJudgements, OfPlansAndCounts) {
  for (std::uint64_t batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 60; ++i) {
        ScannedSpool seen;
        if (lots.percent(85)) {
          spool::ProcessRecord process{};
          process.schedule = schedules_[static_cast<std::size_t>(lots.below(7))];
          process.step_range = texts_[static_cast<std::size_t>(lots.below(3))];
          if (lots.percent(30)) process.step_range = 0;
          seen.process = process;
        }
        std::optional<spool::LaunchManifest> manifest;
        if (lots.percent(60)) {
          manifest.emplace();
          if (lots.percent(60)) manifest->schedule = "timeline=5,sample=1";
          if (lots.percent(60)) manifest->step_range = "batch";
          if (lots.percent(60)) {
            TierSet tiers(Tier::t0);
            for (const Tier tier : {Tier::t1, Tier::t2, Tier::t3})
              if (lots.percent(50)) tiers = tiers | tier;
            manifest->tiers = tiers;
          }
        }
        const RecordingPlan plan = recording_plan(*reader_, seen, manifest);
        all += fields(plan) + "\n";
        seen.launches_seen = lots.one_of({0, 5, 6});
        seen.kernel_records = lots.one_of({0, 5});
        seen.graph_launches = lots.one_of({0, 1});
        seen.graph_kernel_records = lots.one_of({0, 3});
        seen.zero_timestamps = lots.one_of({0, 2});
        if (lots.percent(70)) {
          spool::CompletenessRecord agent{};
          agent.launches_seen = lots.one_of<std::uint64_t>({0, 5, 7});
          agent.graph_launches_seen = lots.one_of<std::uint64_t>({0, 1, 2});
          agent.spool_records_lost = lots.one_of<std::uint64_t>({0, 3});
          agent.strings_lost = lots.one_of<std::uint64_t>({0, 1});
          agent.nvtx_unbalanced = lots.one_of<std::uint64_t>({0, 2});
          agent.own_kernel_records = lots.one_of<std::uint64_t>({0, 8});
          agent.dropped_records = lots.one_of<std::uint64_t>({0, 9});
          seen.completeness = agent;
        }
        all += fields(completeness_of(*reader_, seen)) + "\n";
        for (std::uint32_t path = 1; path <= 9; ++path) {
          if (lots.percent(40)) seen.ranges_by_path[path] = lots.between(1, 3);
          if (lots.percent(80)) {
            spool::NvtxPathRecord definition{};
            definition.name = texts_[path % 3];
            seen.paths[path] = definition;
          }
        }
        if (lots.percent(40)) seen.windows.push_back({.open_ns = 5});
        if (lots.percent(40)) seen.steps[1].phase = Phase::replay;
        if (lots.percent(40)) seen.steps[2].phase = Phase::timeline;
        all += fields(without_steps(*reader_, seen, plan)) + " " + fields(seen.is_empty()) + "\n";
      }
      return all;
    });
  }
}

// Blocks of either kind, in every order, few and many, with steps behind them that the device is late for.
TEST(DrawnPrices, OfBlocks) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 250; ++i) {
        RecordedSteps steps;
        std::vector<StepBlock> blocks;
        const std::int64_t count = lots.below(batch % 2 == 0 ? 8 : 16);
        const std::int64_t spread = lots.one_of<std::int64_t>({0, 100'000, 2'000'000, 12'000'000});
        for (std::int64_t n = 0; n < count; ++n) {
          StepBlock block;
          block.alone = lots.percent(10) ? n % 2 == 0 : n % 2 == 1;
          block.by_period = batch % 3 == 0 ? lots.percent(70) : batch % 3 == 1;
          block.first_step = static_cast<std::uint32_t>(10 * n);
          block.steps = static_cast<std::uint32_t>(lots.one_of({3, 3, 1, 4, 0}));
          block.start_ns = 1'000'000'000 * (n + 1);
          const std::int64_t step_ns =
              30'000'000 + (block.alone ? 0 : 1'500'000) + (spread == 0 ? 0 : lots.below(spread));
          block.end_ns = block.start_ns + step_ns * block.steps - (lots.percent(3) ? 500'000'000 : 0);
          if (block.alone && lots.percent(50))
            block.remained_ns = lots.one_of<std::int64_t>({0, 300'000, 3'000'000});
          if (block.alone)
            block.launches =
                static_cast<std::int64_t>(block.steps) * lots.one_of({0, 100, 100, 149, 150, 151, 66, 67});
          for (std::uint32_t s = 0; s < block.steps && !block.alone; ++s)
            if (lots.percent(90))
              steps.steps[block.first_step + s].launches_seen = lots.one_of({100, 100, 100, 150, 151, 0});
          if (lots.percent(40)) {
            RecordedStep& next = steps.steps[block.first_step + block.steps];
            next.first_joined_id = lots.percent(80) ? 5 : UINT32_MAX;
            next.first_enter_ns = block.end_ns;
            next.first_start_ns =
                next.first_enter_ns + lots.one_of<std::int64_t>({0, 49'999, 50'000, 50'001, 5'000'000, -5});
            if (lots.percent(50)) block.end_ns -= 1'000'000;
          }
          blocks.push_back(block);
        }
        const auto price = price_of(blocks, steps);
        all += fields(price) + "\n";
      }
      return all;
    });
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
