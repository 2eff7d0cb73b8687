#include "ridgeline/analyzer/utilisation/utilisation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;
using testing::kDuration;
using testing::kFma;
using testing::kGpcCycles;
using testing::kOperations;
using testing::kRead;
using testing::kSampledTensor;
using testing::kTensor;
using testing::kWritten;

constexpr const char* kSmActive = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";

UtilisationAnalysis run(const Model& model, const UtilisationOptions& options = {}) {
  return accepted(analyze_utilisation(model, analyze_steps(model).value(), options));
}

bool holds(const Findings& findings, std::string_view code) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return code_word(f) == code; });
}

// A timeline step with one 100 µs launch of k, then one replay step with these counters of it.
FabricatedModel one_launch(const std::map<std::string, double>& counters) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.step(Phase::replay);
  f.launch("k", 9'000'000, 9'110'000);
  f.counters(counters);
  return f;
}

TEST(Utilisation, BytesAndPipeCyclesOfReplayOverTheTimelinesDuration) {
  // 40 MB + 10 MB in 100 µs against 1 TB/s: 50 %. Tensor 60 % of 110 µs = 66 µs of 100 µs.
  FabricatedModel f =
      one_launch({{kRead, 40e6}, {kWritten, 10e6}, {kTensor, 60}, {kFma, 20}, {kDuration, 110e3}});
  const auto u = run(f.done());
  ASSERT_EQ(u.launches.size(), 1U);
  const LaunchUtilisation& k = u.launches[0];
  EXPECT_EQ(k.status, LaunchStatus::measured);
  EXPECT_EQ(k.missing, MissingReason::none);
  EXPECT_DOUBLE_EQ(k.values->dram_bytes->value, 50e6);
  EXPECT_DOUBLE_EQ(k.values->metrics.of("dram_read_bytes")->value, 40e6);
  EXPECT_DOUBLE_EQ(k.values->dram_utilisation->value, 0.5);
  EXPECT_DOUBLE_EQ(k.values->compute_utilisation->value, 0.66);
  EXPECT_EQ(k.values->busiest_pipe, Roof::kTensor);
  EXPECT_EQ(k.nearest, Roof::kTensor);
  EXPECT_DOUBLE_EQ(*k.nearest_roof_ratio, 0.66);
  EXPECT_EQ(k.values->dram_utilisation->tier, Tier::t2);
  EXPECT_EQ(k.values->dram_utilisation->sample_count, 1);
  EXPECT_FALSE(k.values->dram_utilisation->error.has_value());
  EXPECT_DOUBLE_EQ(k.values->replay_duration->value, 110e3);
  ASSERT_EQ(u.peaks.size(), 1U);
  EXPECT_EQ(u.peaks[0].source, PeakSource::spec);
}

TEST(Utilisation, ConfigurationsOfSeveralReplayStepsAreJoined) {
  FabricatedModel f = one_launch({{kRead, 40e6}, {kWritten, 10e6}, {kDuration, 100e3}});
  f.step(Phase::replay);
  f.launch("k", 10'000'000, 10'100'000);
  f.counters({{kTensor, 20}, {kDuration, 100e3}});
  f.step(Phase::replay);
  f.launch("k", 11'000'000, 11'100'000);
  f.counters({{kRead, 44e6}, {kWritten, 10e6}, {kDuration, 100e3}});
  const auto u = run(f.done());
  const LaunchUtilisation& k = u.launches[0];
  EXPECT_DOUBLE_EQ(k.values->dram_bytes->value, 52e6);  // mean of 50 and 54
  EXPECT_EQ(k.values->dram_bytes->sample_count, 2);
  EXPECT_DOUBLE_EQ(*k.values->dram_bytes->error, 2e6);  // s = 2.828e6, ÷ sqrt 2
  EXPECT_NEAR(*k.values->dram_utilisation->error, 0.02, 1e-12);
  EXPECT_EQ(k.values->compute_utilisation->sample_count, 1);
  EXPECT_DOUBLE_EQ(k.values->compute_utilisation->value, 0.2);
  EXPECT_EQ(u.replay_steps.size(), 3U);
}

TEST(Utilisation, TimelineSpreadEntersTheError) {
  FabricatedModel f;
  for (int i = 0; i < 3; ++i) {  // 90, 100, 110 µs: deviation 10 µs; the last step is open
    f.step(Phase::timeline);
    f.launch("k", 1'000'000 * (i + 1), 1'000'000 * (i + 1) + 90'000 + 10'000 * i);
  }
  f.step(Phase::timeline);
  f.launch("k", 4'000'000, 4'100'000);
  for (int i = 0; i < 2; ++i) {
    f.step(Phase::replay);
    f.launch("k", 9'000'000 + 1'000'000 * i, 9'100'000 + 1'000'000 * i);
    f.counters({{kRead, 50e6}, {kWritten, 0}, {kTensor, 0}});
  }
  const auto u = run(f.done());
  const LaunchUtilisation& k = u.launches[0];
  ASSERT_TRUE(k.duration_deviation_ns.has_value());
  EXPECT_NEAR(*k.duration_deviation_ns, 10'000, 1e-6);
  const double ratio = k.values->dram_utilisation->value;
  EXPECT_NEAR(*k.values->dram_utilisation->error, ratio * 10'000 / static_cast<double>(k.duration_ns), 1e-12);
}

// One launch more in the replay step, and one with a different grid, which stands for its kernel, with an error.
TEST(Utilisation, LaunchesOfStepsThatDifferAreAligned) {
  FabricatedModel f;
  f.step(Phase::timeline);
  std::int64_t at = 1'000'000;
  for (const char* name : {"a", "b", "c", "b", "d"}) {
    f.launch(name, at, at + 90'000);
    at += 100'000;
  }
  f.step(Phase::replay);
  at = 9'000'000;
  double bytes = 1e6;
  for (const char* name : {"a", "more", "b", "c", "b", "d"}) {
    f.launch(name, at, at + 90'000).grid.x = name[0] == 'c' ? 7 : 1;
    at += 100'000;
    f.counters({{kRead, bytes}, {kWritten, 0}, {kTensor, 1}});
    bytes += 1e6;
  }
  const auto u = run(f.done());
  const auto read = [&](std::size_t i) { return u.launches[i].values->dram_bytes.value().value; };
  EXPECT_DOUBLE_EQ(read(0), 1e6);
  EXPECT_DOUBLE_EQ(read(1), 3e6);
  EXPECT_DOUBLE_EQ(read(2), 4e6);
  EXPECT_GT(u.launches[2].values->dram_bytes->error.value(), 0.3 * 4e6) << "one of another grid says little";
  EXPECT_DOUBLE_EQ(read(3), 5e6);
  EXPECT_DOUBLE_EQ(read(4), 6e6);
}

// Eight launches of a kind, of which each replay step counted others: what was not counted has what its kind shows.
TEST(Utilisation, LaunchesThatWereNotCountedHaveTheValuesOfTheirKind) {
  FabricatedModel f;
  const auto run_step = [&](Phase phase, std::int64_t at,
                            const std::map<int, std::map<std::string, double>>& counted) {
    f.step(phase);
    for (int i = 0; i < 8; ++i) {
      f.launch(i == 7 ? "other" : "k", at + 100'000 * i, at + 100'000 * i + 100'000);
      if (const auto values = counted.find(i); values != counted.end()) f.counters(values->second);
    }
  };
  run_step(Phase::timeline, 1'000'000, {});
  run_step(Phase::replay, 9'000'000,
           {{1, {{kRead, 40e6}, {kWritten, 0}}},
            {3, {{kRead, 50e6}, {kWritten, 0}}},
            {5, {{kRead, 60e6}, {kWritten, 0}}}});
  run_step(Phase::replay, 19'000'000, {{3, {{kTensor, 30}}}, {6, {{kTensor, 40}}}});
  const auto u = run(f.done());
  ASSERT_EQ(u.launches.size(), 8U);
  EXPECT_DOUBLE_EQ(u.launches[1].values->dram_bytes->value, 40e6) << "its own";
  EXPECT_DOUBLE_EQ(u.launches[3].values->dram_bytes->value, 50e6);
  const Measured of_kind = *u.launches[2].values->dram_bytes;
  EXPECT_DOUBLE_EQ(of_kind.value, 50e6);
  // 95 % of Student's distribution, five degrees of freedom (three launches, and others weigh as three), and a mean
  // of three.
  EXPECT_NEAR(of_kind.error.value(), 2.57 * 10e6 * std::sqrt(4.0 / 3), 0.5e6) << "how far one more may be";
  EXPECT_DOUBLE_EQ(u.launches[2].values->compute_utilisation->value, 0.35);
  EXPECT_EQ(u.launches[2].status, LaunchStatus::measured);
  EXPECT_DOUBLE_EQ(u.launches[6].values->compute_utilisation->value, 0.4) << "its own";
  EXPECT_DOUBLE_EQ(u.launches[6].values->dram_bytes->value, 50e6) << "and its kind's";
  EXPECT_EQ(u.launches[7].missing, MissingReason::not_replayed) << "nothing of its kind was counted";
}

// The launch before it is part of a kind, as far as such launches were counted.
TEST(Utilisation, TheNearestLikenessThatWasCountedCounts) {
  FabricatedModel f;
  const auto run_step = [&](Phase phase, std::int64_t at, bool counted) {
    f.step(phase);
    double bytes = 0;
    for (const char* name : {"a", "k", "b", "k", "c", "k"}) {
      f.launch(name, at, at + 100'000);
      at += 100'000;
      bytes += 1e6;
      if (counted && name[0] == 'k' && bytes < 5e6) f.counters({{kRead, bytes}, {kWritten, 0}, {kTensor, 1}});
    }
  };
  run_step(Phase::replay, 9'000'000, true);
  f.step(Phase::timeline);
  for (const char* name : {"b", "k", "c", "k"}) {
    const std::int64_t at = 1'000'000 + 100'000 * static_cast<std::int64_t>(f.launches.size());
    f.launch(name, at, at + 100'000);
  }
  const auto u = run(f.done());
  ASSERT_EQ(u.launches.size(), 4U);
  // At the same place of a step that launches something else stood a launch of the kind: its own values come first.
  EXPECT_TRUE(u.launches[1].values->dram_bytes.has_value());
  EXPECT_TRUE(u.launches[3].values->dram_bytes.has_value());
}

TEST(Utilisation, RowsOfAnotherKernelOrGridAreNotTaken) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1'000'000, 1'100'000);
  f.launch("b", 1'100'000, 1'200'000);
  f.launch("c", 1'200'000, 1'300'000);
  f.step(Phase::replay);
  f.launch("x", 9'000'000, 9'100'000);
  f.counters({{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 1}});
  f.launch("b", 9'100'000, 9'600'000).grid.x = 5;
  f.counters({{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 1}});
  const auto u = run(f.done());
  EXPECT_EQ(u.launches[0].missing, MissingReason::not_replayed);
  EXPECT_EQ(u.launches[1].missing, MissingReason::mismatch) << "it takes five times as long";
  ASSERT_FALSE(u.launches[1].values->why.empty());
  EXPECT_EQ(u.launches[1].values->why[0].cause, AbsenceCause::another_grid);
  EXPECT_EQ(u.launches[2].missing, MissingReason::not_replayed);
  for (const auto& launch : u.launches) {
    EXPECT_EQ(launch.status, LaunchStatus::unmeasured);
    EXPECT_FALSE(launch.values->dram_utilisation.has_value());
    EXPECT_FALSE(launch.values->why.empty());
  }
}

TEST(Utilisation, EveryMissingValueHasItsReason) {
  struct Case {
    const char* name;
    std::map<std::string, double> counters;
    MissingReason expected;
    void (*change)(FabricatedModel&);
  };
  const Case cases[] = {
      {"no dram", {{kTensor, 50}}, MissingReason::metric_missing, [](FabricatedModel&) {}},
      {"no pipe", {{kRead, 1e6}, {kWritten, 1e6}}, MissingReason::metric_missing, [](FabricatedModel&) {}},
      {"no peak",
       {{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 1}},
       MissingReason::no_peak,
       [](FabricatedModel& f) { f.model.device_peaks.clear(); }},
      {"zero time",
       {{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 1}},
       MissingReason::zero_timestamp,
       [](FabricatedModel& f) {
         f.launches[0].start_ns = f.launches[0].end_ns = 0;
         f.model.memsets.push_back(
             {.id = 1, .process_id = 1, .device_id = 1, .start_ns = 1, .end_ns = 5, .step_id = 1});
       }},
      {"graph node",
       {},
       MissingReason::graph_node,
       [](FabricatedModel& f) { f.launches[0].graph_node_id = 3; }},
      {"not replayed", {}, MissingReason::not_replayed, [](FabricatedModel&) {}},
      {"no replay",
       {},
       MissingReason::no_replay,
       [](FabricatedModel& f) {
         f.model.steps.pop_back();
         f.launches.pop_back();
       }},
      {"failed replay",
       {{kRead, 1e6}, {kWritten, 1e6}, {kTensor, 1}},
       MissingReason::no_replay,
       [](FabricatedModel& f) { f.model.steps[1].step.status = StepStatus::failed; }},
      {"refused", {}, MissingReason::tier_refused, [](FabricatedModel& f) {
         f.model.steps.pop_back();
         f.launches.pop_back();
         f.model.tier_statuses.push_back({1, Tier::t2, TierOutcome::refused, "no permission: run as root"});
       }}};
  for (const Case& c : cases) {
    FabricatedModel f = one_launch(c.counters);
    c.change(f);
    f.done();
    const auto steps = analyze_steps(f.model);
    ASSERT_TRUE(steps.ok()) << c.name;
    const auto u = accepted(analyze_utilisation(f.model, steps.value()));
    ASSERT_EQ(u.launches.size(), 1U) << c.name;
    EXPECT_EQ(to_string(u.launches[0].missing), to_string(c.expected)) << c.name;
    EXPECT_FALSE(u.launches[0].values->why.empty()) << c.name;
    EXPECT_EQ(u.launches[0].status, LaunchStatus::unmeasured) << c.name;
    EXPECT_FALSE(u.launches[0].nearest_roof_ratio.has_value()) << c.name;
  }
}

TEST(Utilisation, RefusalIsGivenInTheCollectorsWords) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.model.tier_statuses.push_back({1, Tier::t2, TierOutcome::refused, "no permission: run as root"});
  const LaunchUtilisation k = run(f.done()).launches[0];
  ASSERT_EQ(k.values->why.size(), 1U);
  EXPECT_EQ(k.values->why[0].cause, AbsenceCause::tier_refused);
  EXPECT_EQ(k.values->why[0].tier, Tier::t2);
  EXPECT_EQ(k.values->why[0].outcome, TierOutcome::refused);
  EXPECT_EQ(k.values->why[0].detail, "no permission: run as root");
}

TEST(Utilisation, ShortLaunchesAreLaunchBoundWhateverTheyMeasure) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("short", 1'000'000, 1'004'999);
  f.launch("long", 1'010'000, 1'015'000);
  f.step(Phase::replay);
  f.launch("short", 9'000'000, 9'005'000);
  f.counters({{kRead, 1e6}, {kWritten, 0}, {kTensor, 0}, {kDuration, 5e3}});
  const auto u = run(f.done());
  EXPECT_EQ(u.launches[0].status, LaunchStatus::too_short);
  EXPECT_TRUE(u.launches[0].values->dram_utilisation.has_value());
  EXPECT_EQ(u.launches[1].status, LaunchStatus::unmeasured);
  const auto lower = run(f.model, {.launch_floor_ns = 3000});
  EXPECT_EQ(lower.launches[0].status, LaunchStatus::measured);
}

TEST(Utilisation, NoBytesAndNoPipeOrCommunicationHasNoRoof) {
  FabricatedModel f = one_launch({{kRead, 100}, {kWritten, 0}, {kTensor, 0}, {kDuration, 100e3}});
  EXPECT_EQ(run(f.done()).launches[0].status, LaunchStatus::no_roof);
  FabricatedModel g = one_launch({{kRead, 40e6}, {kWritten, 0}, {kTensor, 0}, {kDuration, 100e3}});
  g.model.kernels[1].kernel_class = KernelClass::communication;
  EXPECT_EQ(run(g.done()).launches[0].status, LaunchStatus::no_roof);
  EXPECT_FALSE(run(g.model).launches[0].values->why.empty());
  // Neither needs a counter to be known as communication.
  FabricatedModel h = one_launch({});
  h.launches[0].kernel_id = h.kernel("ncclDevKernel_AllReduce");
  h.model.kernels[h.launches[0].kernel_id].kernel_class = KernelClass::communication;
  EXPECT_EQ(run(h.done()).launches[0].status, LaunchStatus::no_roof);
}

TEST(Utilisation, AboveOneIsReportedAndCutOnlyOnRequest) {
  FabricatedModel f = one_launch({{kRead, 120e6}, {kWritten, 0}, {kTensor, 10}, {kDuration, 100e3}});
  const auto u = run(f.done());
  EXPECT_DOUBLE_EQ(u.launches[0].values->dram_utilisation->value, 1.2);
  EXPECT_FALSE(u.launches[0].clamped);
  EXPECT_TRUE(holds(u.findings, "utilisation.above_peak"));
  const auto cut = run(f.model, {.clamp = true});
  EXPECT_DOUBLE_EQ(cut.launches[0].values->dram_utilisation->value, 1.0);
  EXPECT_TRUE(cut.launches[0].clamped);
  EXPECT_TRUE(holds(cut.findings, "utilisation.above_peak"));
}

TEST(Utilisation, BusiestPipeWinsAndTheFirstMetricOfAPipeCounts) {
  FabricatedModel f =
      one_launch({{kRead, 1e6},
                  {kWritten, 0},
                  {kTensor, 10},
                  {kFma, 45},
                  {kDuration, 100e3},
                  {"sm__ops_path_tensor_src_bf16_dst_fp32.avg.pct_of_peak_sustained_elapsed", 99}});
  const auto u = run(f.done());
  EXPECT_EQ(u.launches[0].values->busiest_pipe, Roof::kFma);
  EXPECT_DOUBLE_EQ(u.launches[0].values->compute_utilisation->value, 0.45);
  EXPECT_EQ(u.pipes, (std::vector<Pipe>{Pipe::fma, Pipe::tensor}));
  EXPECT_FALSE(holds(u.findings, "pipes.tensor_only"));
}

// Samples say 60 % of the tensor pipe; of the pipes only fma was replayed, at 20 %.
TEST(Utilisation, TheBusiestOfSomePipesIsNotTheLaunchsIfSamplesShowABusierOne) {
  for (const double tensor : {60.0, 10.0}) {
    FabricatedModel f = one_launch({{kRead, 40e6}, {kWritten, 10e6}, {kFma, 20}, {kDuration, 100e3}});
    f.step(Phase::sample);
    f.launch("k", 5'000'000, 5'100'000);
    f.samples({{kSampledTensor, {tensor, 1}}}, 10);
    const auto u = run(f.done());
    const LaunchValues& k = *u.launches[0].values;
    EXPECT_DOUBLE_EQ(k.dram_utilisation->value, 0.5);
    if (tensor < 20) {
      EXPECT_EQ(k.t2.busiest_pipe, Roof::kFma);
      EXPECT_EQ(k.busiest_pipe, Roof::kFma);
      continue;
    }
    EXPECT_FALSE(k.t2.compute_utilisation.has_value());
    EXPECT_FALSE(k.t2.busiest_pipe.has_value());
    EXPECT_TRUE(k.t2.why.cause == AbsenceCause::replayed_without_busiest);
    EXPECT_EQ(k.busiest_pipe, Roof::kTensor);
    EXPECT_DOUBLE_EQ(k.compute_utilisation->value, 0.6);
    EXPECT_EQ(k.compute_utilisation->tier, Tier::t1);
  }
}

// One GEMM has only its fma pipe counted, where another kernel's tensor pipe was.
TEST(Utilisation, AGemmWhoseTensorPipeWasNotCountedHasNoBusiestPipe) {
  for (const KernelClass kernel_class : {KernelClass::gemm, KernelClass::other}) {
    FabricatedModel f;
    f.kernel("k", kernel_class);
    f.step(Phase::timeline);
    f.launch("k", 1'000'000, 1'100'000);
    f.launch("other", 1'200'000, 1'300'000);
    f.step(Phase::replay);
    f.launch("k", 9'000'000, 9'100'000);
    f.counters({{kRead, 40e6}, {kWritten, 10e6}, {kFma, 3}, {kDuration, 100e3}});
    f.launch("other", 9'200'000, 9'300'000);
    f.counters({{kRead, 1e6}, {kWritten, 0}, {kTensor, 5}, {kFma, 1}, {kDuration, 100e3}});
    const auto u = run(f.done());
    const LaunchValues& k = *u.launches[0].values;
    const bool gemm = kernel_class == KernelClass::gemm;
    EXPECT_EQ(k.compute_utilisation.has_value(), !gemm);
    EXPECT_EQ(k.t2.why.cause == AbsenceCause::replayed_without_busiest, gemm);
    EXPECT_DOUBLE_EQ(k.dram_utilisation->value, 0.5);
    EXPECT_EQ(u.launches[1].values->busiest_pipe, Roof::kTensor);
  }
}

// 45 µs of pipe work at 1.8 GHz are 81,000 cycles; 100 µs of the timeline at 1.5 GHz are 150,000.
TEST(Utilisation, ComputeCountsCyclesAtEachOnesClock) {
  FabricatedModel f = one_launch(
      {{kRead, 1e6}, {kWritten, 0}, {kTensor, 45}, {kDuration, 100e3}, {"gpc__cycles_elapsed.max", 180e3}});
  f.model.clock_samples.push_back({1, 1'000'000, 1'500'000'000, {}, {}, {}, {}});
  const auto u = run(f.done());
  EXPECT_NEAR(u.launches[0].values->compute_utilisation->value, 81.0 / 150.0, 1e-12);
  EXPECT_DOUBLE_EQ(*u.launches[0].values->timeline_clock_hz, 1.5e9);
  EXPECT_DOUBLE_EQ(*u.launches[0].values->replay_clock_hz, 1.8e9);
}

TEST(Utilisation, NoReplayClockIsAboveTheDevices) {
  FabricatedModel f = one_launch(
      {{kRead, 1e6}, {kWritten, 0}, {kTensor, 45}, {kDuration, 100e3}, {"gpc__cycles_elapsed.max", 900e3}});
  f.model.devices[0].max_sm_clock_hz = 2'000'000'000;
  f.model.clock_samples.push_back({1, 1'000'000, 2'000'000'000, {}, {}, {}, {}});
  EXPECT_NEAR(run(f.done()).launches[0].values->compute_utilisation->value, 0.45, 1e-12);
}

// 10 % of a range of 900,000 cycles are 90,000, of the 200,000 that the kernel has in the timeline.
TEST(Utilisation, OfARangeThatIsWiderThanItsKernelPercentagesAreOfTheRange) {
  for (const double gpc_cycles : {900e3, 450e3}) {
    FabricatedModel f = one_launch(
        {{kRead, 40e6}, {kWritten, 10e6}, {kTensor, 90e3 / gpc_cycles * 100}, {kGpcCycles, gpc_cycles}});
    f.model.devices[0].max_sm_clock_hz = 2'000'000'000;
    f.model.clock_samples.push_back({1, 1'000'000, 2'000'000'000, {}, {}, {}, {}});
    const auto u = run(f.done());
    EXPECT_NEAR(u.launches[0].values->compute_utilisation->value, 0.45, 1e-12) << gpc_cycles;
    EXPECT_NEAR(u.launches[0].values->dram_utilisation->value, 0.5, 1e-12);
  }
}

constexpr const char* kSmCycles = "sm__cycles_elapsed.avg";
constexpr const char* kBf16PeakRate =
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained_elapsed.per_second";

// 50 % of one step's 200,000 SM cycles are 100,000, whatever the other step's 220,000; over 250,000 in situ.
TEST(Utilisation, APercentageIsOfTheCyclesOfItsOwnStep) {
  FabricatedModel f = one_launch({{kRead, 1e6},
                                  {kWritten, 0},
                                  {kTensor, 50},
                                  {kDuration, 100e3},
                                  {kGpcCycles, 204e3},
                                  {kSmCycles, 200e3}});
  f.step(Phase::replay);
  f.launch("k", 10'000'000, 10'110'000);
  f.counters({{kRead, 1e6}, {kWritten, 0}, {kDuration, 110e3}, {kGpcCycles, 224e3}, {kSmCycles, 220e3}});
  f.model.clock_samples.push_back({1, 1'000'000, 2'500'000'000, {}, {}, {}, {}});
  const LaunchUtilisation k = run(f.done()).launches[0];
  EXPECT_NEAR(k.values->compute_utilisation->value, 100.0 / 250.0, 1e-12);
  EXPECT_EQ(k.values->compute_utilisation->sample_count, 1);
  // Counted once, but the launch's cycles were counted twice: their spread is known, 14,142 of 210,000.
  ASSERT_TRUE(k.values->compute_utilisation->error.has_value());
  EXPECT_NEAR(*k.values->compute_utilisation->error, 0.4 * 14'142.1356 / 210e3, 1e-5);
  EXPECT_NEAR(*k.values->replay_clock_hz, 2e9, 1);
}

// The slowest cluster's cycles are more than the average SM's, which percentages are of. What the step with the
// pipe does not count itself, another step's ratio of the two gives.
TEST(Utilisation, GpcCyclesAreTurnedIntoSmCycles) {
  struct Case {
    const char* name;
    std::map<std::string, double> other;
    double sm_cycles;  // of the step with the pipe: 204,000 GPC cycles × the ratio
  };
  const Case cases[] = {
      {"nothing", {}, 204e3},
      {"elapsed", {{kSmCycles, 190e3}}, 204e3 * 0.95},
      {"active", {{"sm__cycles_active.avg", 171e3}, {kSmActive, 90}}, 204e3 * 0.95},
      {"peak rate", {{kBf16PeakRate, 132 * 8192 * 1.96e9}}, 204e3 * 0.98},
      {"no power of two", {{kBf16PeakRate, 132 * 6000 * 1.96e9}}, 204e3},
  };
  for (const Case& c : cases) {
    FabricatedModel f =
        one_launch({{kRead, 1e6}, {kWritten, 0}, {kTensor, 50}, {kDuration, 100e3}, {kGpcCycles, 204e3}});
    f.model.devices[0].sm_count = 132;
    f.step(Phase::replay);
    f.launch("k", 10'000'000, 10'100'000);
    f.counters({{kRead, 1e6}, {kWritten, 0}, {kDuration, 100e3}, {kGpcCycles, 200e3}});
    f.counters(c.other);
    f.model.clock_samples.push_back({1, 1'000'000, 2'500'000'000, {}, {}, {}, {}});
    const LaunchUtilisation k = run(f.done()).launches[0];
    EXPECT_NEAR(k.values->compute_utilisation->value, 0.5 * c.sm_cycles / 250e3, 1e-9) << c.name;
  }
}

// 30 % of 180,000 active cycles are 54,000 slots a scheduler; 270,000 cycles passed in the timeline.
TEST(Utilisation, IssueSlotsAreOfTheCyclesThatPassed) {
  FabricatedModel f = one_launch({{kRead, 1e6},
                                  {kWritten, 0},
                                  {kTensor, 10},
                                  {kDuration, 100e3},
                                  {kGpcCycles, 202e3},
                                  {kSmCycles, 200e3},
                                  {"sm__cycles_active.avg", 180e3},
                                  {"smsp__issue_active.avg.pct_of_peak_sustained_active", 30}});
  f.model.clock_samples.push_back({1, 1'000'000, 2'700'000'000, {}, {}, {}, {}});
  const LaunchUtilisation k = run(f.done()).launches[0];
  EXPECT_NEAR(k.values->metrics.of("issue_utilisation_ratio")->value, 54.0 / 270.0, 1e-12);
  EXPECT_NEAR(k.values->metrics.of("sm_active_ratio")->value, 0.9, 1e-12);
  EXPECT_NEAR(*k.values->roofs.of(Roof::kIssue), 0.2, 1e-6);
  EXPECT_NEAR(*k.values->roofs.of(Roof::kTensor), 20.0 / 270.0, 1e-6);
  EXPECT_FALSE(k.values->roofs.of(Roof::kXu).has_value());
  EXPECT_EQ(k.values->busiest_pipe, Roof::kTensor);  // issue slots are no pipe
}

// The counter's peak assumes structured sparsity: 46 % of it is a dense GEMM at 92 % of what the pipe can
// do.
TEST(Utilisation, APercentageOfTheSparsePeakIsNoPipe) {
  FabricatedModel f =
      one_launch({{kRead, 1e6},
                  {kWritten, 0},
                  {kDuration, 100e3},
                  {"sm__ops_path_tensor_src_bf16_dst_fp32.avg.pct_of_peak_sustained_elapsed", 46}});
  const auto u = run(f.done());
  EXPECT_FALSE(u.launches[0].values->compute_utilisation.has_value());
  EXPECT_FALSE(u.launches[0].values->why.empty());
}

TEST(Utilisation, ComputeAgainstAnOperationPeakOnRequest) {
  // 50e9 operations in 100 µs = 500 TFLOP/s of 1000.
  FabricatedModel f =
      one_launch({{kRead, 1e6}, {kWritten, 0}, {kTensor, 90}, {kOperations, 50e9}, {kDuration, 100e3}});
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, {}});
  const UtilisationOptions options{.peaks = {{}, PeakSource::spec}};
  const auto u = run(f.done(), options);
  EXPECT_DOUBLE_EQ(u.launches[0].values->compute_utilisation->value, 0.5);
  EXPECT_DOUBLE_EQ(u.launches[0].values->tensor_ops->value, 50e9);
  EXPECT_EQ(u.peaks.size(), 2U);
}

TEST(Utilisation, OperationsOfAllTypesAddUpAndNoneCountsTwice) {
  const auto operations = [](std::map<std::string, double> counters) {
    counters[kDuration] = 100e3;
    FabricatedModel f = one_launch(counters);
    return run(f.done()).launches[0].values->tensor_ops->value;
  };
  EXPECT_DOUBLE_EQ(operations({{kOperations, 4e9}, {"sm__ops_path_tensor_src_fp8.sum", 2e9}}), 6e9);
  EXPECT_DOUBLE_EQ(operations({{"sm__ops_path_tensor_op_hgmma_src_fp16.sum", 3e9}}), 3e9);
  // Of instructions: warpgroup and warp-wide ones are different operations of one type.
  EXPECT_DOUBLE_EQ(operations({{"sm__ops_path_tensor_op_hgmma_src_fp16.sum", 3e9},
                               {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", 1e9}}),
                   4e9);
  EXPECT_DOUBLE_EQ(operations({{"sm__ops_path_tensor_src_int8.sum", 5e9},
                               {"sm__ops_path_tensor_op_igmma_src_int8.sum", 5e9}}),
                   5e9);
  EXPECT_DOUBLE_EQ(operations({{"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 3e9},
                               {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", 3e9}}),
                   3e9);
}

TEST(Utilisation, ReplayClockFollowsFromCyclesAndDuration) {
  FabricatedModel f =
      one_launch({{kRead, 1e6}, {kWritten, 0}, {kTensor, 1}, {kDuration, 100e3}, {kGpcCycles, 198e3}});
  EXPECT_NEAR(*run(f.done()).launches[0].values->replay_clock_hz, 1.98e9, 1);
}

TEST(Peaks, PolicyThenFallbackThenFailure) {
  FabricatedModel f;
  f.model.device_peaks.push_back({1, Quantity::dram_bytes_per_s, PeakSource::measured, 0.9e12, "copy"});
  f.model.devices[0].memory_bus_bits = 6144;
  f.model.devices[0].max_memory_clock_hz = 3'201'000'000;
  const Model& m = f.done();
  EXPECT_DOUBLE_EQ(accepted(choose_peak(m, 1, Quantity::dram_bytes_per_s, PeakSource::spec)).value().value,
                   1e12);
  EXPECT_DOUBLE_EQ(
      accepted(choose_peak(m, 1, Quantity::dram_bytes_per_s, PeakSource::measured)).value().value, 0.9e12);
  EXPECT_FALSE(
      accepted(choose_peak(m, 1, Quantity::dram_bytes_per_s, PeakSource::measured)).value().fallback);
  EXPECT_NEAR(accepted(choose_peak(m, 1, Quantity::dram_bytes_per_s, PeakSource::clock)).value().value,
              4.916736e12, 1);
  const Peak fallback = accepted(choose_peak(m, 1, Quantity::dram_bytes_per_s, PeakSource::counter)).value();
  EXPECT_TRUE(fallback.fallback);
  EXPECT_EQ(fallback.source, PeakSource::spec);
  EXPECT_EQ(fallback.detail, "test");
  EXPECT_EQ(accepted(choose_peak(m, 1, Quantity::bf16_flops_per_s, PeakSource::spec)).failure().kind,
            ErrorKind::no_data);
  EXPECT_EQ(accepted(choose_peak(m, 7, Quantity::dram_bytes_per_s, PeakSource::spec)).failure().kind,
            ErrorKind::no_data);
  EXPECT_EQ(parse_peak_source("measured").value(), PeakSource::measured);
  EXPECT_EQ(parse_peak_source("best").failure().kind, ErrorKind::usage);
}

// The model has a published DRAM peak and no measured one.
TEST(Utilisation, APeakOfAnotherSourceThanAskedForIsAFinding) {
  FabricatedModel f = one_launch({{kRead, 40e6}, {kWritten, 10e6}, {kDuration, 100e3}});
  const Model& model = f.done();
  EXPECT_FALSE(holds(run(model).findings, "peak.fallback"));
  UtilisationOptions options;
  options.peaks.dram = PeakSource::measured;
  const UtilisationAnalysis u = run(model, options);
  const auto found = std::find_if(u.findings.begin(), u.findings.end(), [](const Finding& finding) {
    return finding.code == FindingCode::peak_fallback;
  });
  ASSERT_NE(found, u.findings.end());
  EXPECT_EQ(found->subject.name, "dram_bytes_per_s");
  EXPECT_EQ(found->subject.device_id, 1);
  EXPECT_EQ(found->missing_source, PeakSource::measured);
  EXPECT_DOUBLE_EQ(u.launches[0].values->dram_utilisation->value, 0.5) << "of the published one";
}

}  // namespace
}  // namespace ridgeline::analyzer
