#include "ridgeline/analyzer/ranking/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fabricated_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::FabricatedModel;
using testing::kDuration;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

struct Ranked {
  StepAnalysis steps;
  UtilisationAnalysis utilisation;
  Ranking ranking;
};

Ranked rank(const Model& model, const RankingOptions& options = {}) {
  Ranked r;
  r.steps = analyze_steps(model).value();
  r.utilisation = analyze_utilisation(model, r.steps);
  r.ranking = rank_kernels(model, r.steps, r.utilisation, testing::exposed(model, r.steps), options);
  return r;
}

struct Spec {
  const char* kernel;
  std::int64_t start_ns, end_ns;
  double dram, tensor;  // utilisation; negative: not replayed
};

// A timeline step of these launches and a replay step that measures what the table says. Peak: 1000 bytes/ns.
FabricatedModel build(const std::vector<Spec>& specs, std::int64_t step_end_ns = 0) {
  FabricatedModel f;
  f.step(Phase::timeline);
  // What was not counted is of a kind of its own, or it had the values of others of its kernel.
  const auto grid = [&](const Spec& s) { return s.dram < 0 ? 1000 + (&s - specs.data()) : 1; };
  for (const Spec& s : specs) f.launch(s.kernel, s.start_ns, s.end_ns).grid.x = grid(s);
  if (step_end_ns > 0) {
    f.step(Phase::timeline);  // closes the first step
    f.launch("closing", step_end_ns, step_end_ns + 10);
  }
  f.step(Phase::replay);
  for (const Spec& s : specs) {
    f.launch(s.kernel, s.start_ns + 1'000'000'000, s.end_ns + 1'000'000'000).grid.x = grid(s);
    const auto t = static_cast<double>(s.end_ns - s.start_ns);
    if (s.dram >= 0) {
      f.counters({{kRead, 0.75 * s.dram * t * 1000},
                  {kWritten, 0.25 * s.dram * t * 1000},
                  {kTensor, s.tensor * 100},
                  {kDuration, t}});
    }
  }
  f.done();
  return f;
}

const RankingRow& row(const Ranking& ranking, std::string_view key) {
  const auto found = std::find_if(ranking.rows.begin(), ranking.rows.end(),
                                  [&](const RankingRow& r) { return r.key == key; });
  if (found == ranking.rows.end()) throw std::runtime_error("no row " + std::string(key));
  return *found;
}

TEST(Ranking, WeightedImpactByHand) {
  // Step of 1000 µs.        t µs  u     saved at 0.70      saved at 0.85
  // bad                     200   0.35  200·(1−.5) = 100   200·(1−.411765) = 117.647
  // mixed, first            100   0.14  100·(1−.2) = 80    100·(1−.164706) = 83.529
  // mixed, second           300   0.77  0                  300·(1−.905882) = 28.235
  // good                    100   0.90  0                  0
  FabricatedModel f = build({{"good", 1'000'000, 1'100'000, 0.90, 0.10},
                             {"mixed", 1'100'000, 1'200'000, 0.14, 0.05},
                             {"mixed", 1'200'000, 1'500'000, 0.20, 0.77},
                             {"bad", 1'500'000, 1'700'000, 0.35, 0.30}},
                            2'000'000);
  const Ranked r = rank(f.model);
  ASSERT_EQ(r.ranking.rows.size(), 3U);
  EXPECT_EQ(r.ranking.rows[0].key, "bad");
  EXPECT_EQ(r.ranking.rows[1].key, "mixed");
  EXPECT_EQ(r.ranking.rows[2].key, "good");

  const RankingRow& bad = r.ranking.rows[0];
  EXPECT_EQ(bad.calls, 1);
  EXPECT_EQ(bad.time_ns, 200'000);
  EXPECT_DOUBLE_EQ(bad.step_share, 0.2);
  EXPECT_NEAR(bad.saved_target_ns, 100'000, 1e-6);
  EXPECT_NEAR(bad.saved_stretch_ns, 117'647.0588, 1e-3);
  EXPECT_NEAR(bad.saved_target_share, 0.1, 1e-12);
  EXPECT_EQ(bad.nearest, Roof::kDram);
  EXPECT_EQ(bad.tier, Tier::t2);
  EXPECT_FALSE(bad.saved_target_error_ns.has_value());  // one replay step: no error known

  const RankingRow& mixed = r.ranking.rows[1];
  EXPECT_EQ(mixed.calls, 2);
  EXPECT_NEAR(mixed.saved_target_ns, 80'000, 1e-6);
  EXPECT_NEAR(mixed.saved_stretch_ns, 83'529.4118 + 28'235.2941, 1e-3);
  EXPECT_NEAR(mixed.dram->value, (0.14 * 100 + 0.20 * 300) / 400, 1e-12);
  EXPECT_NEAR(mixed.compute->value, (0.05 * 100 + 0.77 * 300) / 400, 1e-12);
  EXPECT_NEAR(*mixed.nearest_roof_ratio, (0.14 * 100 + 0.77 * 300) / 400, 1e-12);
  EXPECT_EQ(mixed.nearest, Roof::kTensor);
  EXPECT_EQ(mixed.busiest_pipe, Roof::kTensor);
  EXPECT_NEAR(*mixed.dram_bytes, (0.14 * 100 + 0.20 * 300) * 1e6, 1e-3);
  EXPECT_NEAR(mixed.metrics.of("dram_read_bytes")->value, 0.75 * *mixed.dram_bytes, 1e-3);
  EXPECT_NEAR(mixed.metrics.of("dram_write_bytes")->value, 0.25 * *mixed.dram_bytes, 1e-3);

  const RankingTotals& totals = r.ranking.totals;
  EXPECT_EQ(totals.step_ns, 1'000'000);
  EXPECT_EQ(totals.calls, 4);
  EXPECT_EQ(totals.time_ns, 700'000);
  EXPECT_NEAR(totals.saved_target_ns, 180'000, 1e-6);
  EXPECT_NEAR(totals.saved_target_share, 0.18, 1e-12);
  EXPECT_NEAR(totals.saved_target_exposed_ns, 180'000, 1e-6);
  EXPECT_NEAR(totals.time_share_at_target, 400.0 / 700, 1e-12);
  EXPECT_NEAR(totals.time_share_at_stretch, 100.0 / 700, 1e-12);
  EXPECT_EQ(totals.measured_time_ns, 700'000);
}

TEST(Ranking, UnmeasuredAndLaunchBoundTimeIsShownAndSavesNothing) {
  FabricatedModel f = build({{"unmeasured", 1'000'000, 1'200'000, -1, -1},
                             {"tiny", 1'200'000, 1'202'000, 0.01, 0.01},
                             {"idle", 1'300'000, 1'400'000, 0.0, 0.0},
                             {"slow", 1'400'000, 1'500'000, 0.07, 0.0}});
  const Ranked r = rank(f.model);
  EXPECT_EQ(r.ranking.rows[0].key, "slow");
  const RankingRow& unmeasured = row(r.ranking, "unmeasured");
  EXPECT_EQ(unmeasured.unmeasured_time_ns, 200'000);
  EXPECT_EQ(unmeasured.unmeasured_calls, 1);
  EXPECT_FALSE(unmeasured.metrics.of("dram_read_bytes") || unmeasured.metrics.of("dram_write_bytes"));
  EXPECT_DOUBLE_EQ(unmeasured.saved_target_ns, 0);
  EXPECT_EQ(unmeasured.missing, MissingReason::not_replayed);
  ASSERT_EQ(unmeasured.why.size(), 1U);
  EXPECT_EQ(unmeasured.why[0].cause, AbsenceCause::not_replayed);
  EXPECT_EQ(unmeasured.tier, Tier::t0);
  EXPECT_FALSE(unmeasured.nearest_roof_ratio.has_value());
  EXPECT_EQ(row(r.ranking, "tiny").too_short_time_ns, 2'000);
  EXPECT_DOUBLE_EQ(row(r.ranking, "tiny").saved_target_ns, 0);
  EXPECT_EQ(row(r.ranking, "idle").no_roof_time_ns, 100'000);
  EXPECT_DOUBLE_EQ(row(r.ranking, "idle").saved_target_ns, 0);
  EXPECT_NEAR(r.ranking.totals.saved_target_ns, 90'000, 1e-6);
  EXPECT_EQ(r.ranking.totals.unmeasured_time_ns, 200'000);
  EXPECT_EQ(r.ranking.totals.too_short_time_ns, 2'000);
  EXPECT_EQ(r.ranking.totals.no_roof_time_ns, 100'000);
  EXPECT_EQ(r.ranking.totals.too_short_calls, 1);
  EXPECT_EQ(r.ranking.totals.no_roof_calls, 1);
}

TEST(Ranking, ErrorsAddInQuadrature) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.launch("k", 1'100'000, 1'200'000);
  for (const double bytes : {34e6, 36e6}) {  // mean 35 MB, standard error 1 MB: u = 0.35 ± 0.01
    f.step(Phase::replay);
    for (int i = 0; i < 2; ++i) {
      f.launch("k", 9'000'000, 9'100'000);
      f.counters({{kRead, bytes}, {kWritten, 0}, {kTensor, 0}});
    }
  }
  const RankingRow k = rank(f.done()).ranking.rows.at(0);
  EXPECT_NEAR(k.dram->value, 0.35, 1e-12);
  EXPECT_NEAR(*k.dram->error, 0.01 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(*k.saved_target_error_ns, std::sqrt(2.0) * 100'000 * 0.01 / 0.70, 1e-6);
}

TEST(Ranking, ConcurrentLaunchesShareTheTimeTheyCanSave) {
  // a alone for 100 µs, a and b together for 100 µs: exposed a 150, b 50. Both at 0.35, so half is saved.
  FabricatedModel f = build({{"a", 1'000'000, 1'200'000, 0.35, 0}, {"b", 1'100'000, 1'200'000, 0.35, 0}});
  const Ranked r = rank(f.model);
  EXPECT_NEAR(r.ranking.totals.saved_target_ns, 150'000, 1e-6);
  EXPECT_NEAR(r.ranking.totals.saved_target_exposed_ns, 100'000, 1e-6);
}

TEST(Ranking, ThePipeOfARowIsTheOneThatItsTimeIsSpentOn) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 0 + 1, 300'001);
  f.launch("k", 300'001, 400'001);
  f.step(Phase::replay);
  f.launch("k", 1'000'000, 1'300'000);
  f.counters({{kTensor, 50}, {testing::kFma, 5}, {kRead, 1}, {kWritten, 0}, {kDuration, 300e3}});
  f.launch("k", 1'300'000, 1'400'000);
  f.counters({{kTensor, 5}, {testing::kFma, 50}, {kRead, 1}, {kWritten, 0}, {kDuration, 100e3}});
  const Ranked r = rank(f.done());
  EXPECT_EQ(row(r.ranking, "k").busiest_pipe, Roof::kTensor) << "three quarters of the time";
}

TEST(Ranking, EveryKeyGroupsAsItSays) {
  FabricatedModel f =
      build({{"a<1>", 1'000'000, 1'100'000, 0.5, 0.1}, {"a<2>", 1'100'000, 1'200'000, 0.5, 0.1}});
  for (auto& [id, kernel] : f.model.kernels) {
    kernel.normalised_name = "a";
    kernel.kernel_class = KernelClass::gemm;
  }
  f.model.strings[1] = "step / forward";
  f.launches[0].nvtx_path_id = 1;
  f.launches[1].grid.x = 2;
  f.launches[3].grid.x = 2;
  f.done();
  const std::pair<RankingKey, std::vector<std::string>> expected[] = {
      {RankingKey::kernel, {"a<1>", "a<2>"}},
      {RankingKey::kernel_and_grid, {"a<1> [1,1,1]", "a<2> [2,1,1]"}},
      {RankingKey::family, {"a"}},
      {RankingKey::kernel_class, {"gemm"}},
      {RankingKey::nvtx_path, {"(no range)", "step / forward"}},
      {RankingKey::phase, {"(no range)", "forward"}},
      {RankingKey::layer, {"(no range)"}},
      {RankingKey::launch, {"#0 a<1>", "#1 a<2>"}},
  };
  for (const auto& [key, keys] : expected) {
    const Ranking ranking = rank(f.model, {.key = key}).ranking;
    std::vector<std::string> got;
    for (const RankingRow& r : ranking.rows) got.push_back(r.key);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, keys) << to_string(key);
    EXPECT_EQ(parse_ranking_keys(to_string(key)).value(), key);
  }
}

TEST(Ranking, SeveralKeysMakeARowForEachCombination) {
  FabricatedModel f = build({{"a", 1'000'000, 1'100'000, 0.5, 0.1},
                             {"b", 1'100'000, 1'200'000, 0.5, 0.1},
                             {"c", 1'200'000, 1'300'000, 0.5, 0.1}});
  f.model.strings[1] = "step / forward / layer 3";
  f.model.strings[2] = "step / backward / layer 3";
  f.launches[0].nvtx_path_id = 1;
  f.launches[1].nvtx_path_id = 2;
  f.launches[2].nvtx_path_id = 1;
  f.done();
  const Ranking ranking = rank(f.model, {.key = parse_ranking_keys("layer,phase").value()}).ranking;
  ASSERT_EQ(ranking.rows.size(), 2u);
  EXPECT_EQ(ranking.rows[0].keys, (std::vector<std::string>{"layer 3", "forward"}));
  EXPECT_EQ(ranking.rows[0].key, "layer 3 · forward");
  EXPECT_EQ(ranking.rows[0].calls, 2);
  EXPECT_EQ(ranking.rows[1].key, "layer 3 · backward");
  EXPECT_EQ(ranking.totals.time_ns, 300'000) << "no launch is lost, and none counts twice";
}

TEST(RankingKeys, SayWhatCannotStandTogether) {
  const auto failure = [](std::string_view text) { return parse_ranking_keys(text).failure().message; };
  EXPECT_EQ(to_string(parse_ranking_keys("layer,phase,class").value()), "layer,phase,class");
  EXPECT_EQ(parse_ranking_keys("op").value(), RankingKeys(RankingKey::nvtx_path));
  EXPECT_TRUE(parse_ranking_keys("phase,kernel-grid").ok());
  EXPECT_EQ(failure("layer,layer"), "cannot rank by 'layer,layer': 'layer' is named twice");
  EXPECT_EQ(failure("launch,phase"), "cannot rank by 'launch,phase': 'launch' goes with no other key");
  EXPECT_EQ(failure("class,kernel"), "cannot rank by 'class,kernel': 'kernel' says 'class' already");
  EXPECT_EQ(failure("nvtx,layer"), "cannot rank by 'nvtx,layer': 'nvtx' says 'layer' already");
  EXPECT_EQ(failure("op,nvtx"), "cannot rank by 'op,nvtx': 'nvtx' is named twice");
  EXPECT_EQ(parse_ranking_keys("colour").failure().kind, ErrorKind::usage);
  EXPECT_EQ(
      failure("phase,"),
      "cannot rank by '': use one of kernel, kernel-grid, family, class, nvtx, phase, layer, launch, or "
      "several with commas between");
}

TEST(Ranking, CodesOfOneNameAreRowsOfTheirOwn) {
  FabricatedModel f = build({{"same", 1'000'000, 1'100'000, 0.90, 0.10},
                             {"same, recompiled", 1'100'000, 1'300'000, 0.14, 0.05},
                             {"same, from a graph", 1'300'000, 1'310'000, 0.14, 0.05},
                             {"other", 1'400'000, 1'500'000, 0.14, 0.05}});
  const auto named = [&](const std::string& name) -> store::Kernel& {
    return f.model.kernels.at(f.kernel(name));
  };
  store::Kernel& first = named("same");
  store::Kernel& second = named("same, recompiled");
  store::Kernel& third = named("same, from a graph");
  named("other").code_hash = "00112233445566ff";
  first.code_hash = "abcdef0123456789";
  second.code_hash = "abcdef9923456789";
  second.demangled_name = third.demangled_name = "same";
  const auto keys = [&](RankingKey key) {
    std::vector<std::string> all;
    for (const RankingRow& row : rank(f.model, {.key = key}).ranking.rows) all.push_back(row.key);
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(keys(RankingKey::kernel),
            (std::vector<std::string>{"other", "same #?", "same #abcdef01", "same #abcdef99"}));
  EXPECT_EQ(keys(RankingKey::kernel_and_grid)[2], "same #abcdef01 [1,1,1]");
  EXPECT_EQ(row(rank(f.model).ranking, "same #abcdef99").time_ns, 200'000);
  EXPECT_EQ(row(rank(f.model).ranking, "same #abcdef99").kernel, "same");
}

TEST(Ranking, ReplayDisagreementIsOfTheWholeRow) {
  FabricatedModel f = build({{"k", 1'000'000, 1'100'000, 0.5, 0.1}});
  f.counters({{kDuration, 100e3}});
  for (auto& value : f.model.launch_metrics) {
    if (f.model.metrics[value.metric_id].name == kDuration) value.value = 125e3;
  }
  EXPECT_NEAR(*rank(f.done()).ranking.rows[0].replay_disagreement, 0.25, 1e-12);
}

// Random steps: rows add up to totals, parts to wholes, and the order of launches changes nothing.
TEST(Ranking, RandomStepsAddUpAndDoNotDependOnOrder) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 40; ++round) {
    std::vector<Spec> specs;
    std::int64_t at = 1'000'000;
    static constexpr const char* kNames[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 30; ++i) {
      const auto length = static_cast<std::int64_t>(unit(random) * 50'000) + 1;
      specs.push_back(
          {kNames[random() % 5], at, at + length, unit(random) < 0.2 ? -1 : unit(random), unit(random)});
      at += static_cast<std::int64_t>(unit(random) * 40'000);  // overlaps now and then
    }
    const Ranked r = rank(build(specs).model);
    double saved = 0, stretch = 0;
    std::int64_t time = 0;
    for (const RankingRow& x : r.ranking.rows) {
      saved += x.saved_target_ns;
      stretch += x.saved_stretch_ns;
      time += x.time_ns;
      EXPECT_EQ(x.time_ns,
                x.measured_time_ns + x.too_short_time_ns + x.no_roof_time_ns + x.unmeasured_time_ns);
      EXPECT_EQ(x.calls, x.measured_calls + x.too_short_calls + x.no_roof_calls + x.unmeasured_calls);
      EXPECT_LE(x.saved_target_ns, x.saved_stretch_ns + 1e-6);
      EXPECT_LE(x.saved_stretch_ns, static_cast<double>(x.measured_time_ns) + 1e-6);
    }
    EXPECT_NEAR(saved, r.ranking.totals.saved_target_ns, 1e-3);
    EXPECT_NEAR(stretch, r.ranking.totals.saved_stretch_ns, 1e-3);
    EXPECT_EQ(time, r.ranking.totals.time_ns);
    EXPECT_LE(r.ranking.totals.saved_target_exposed_ns, r.ranking.totals.saved_target_ns + 1e-3);

    // The same launches written into the capture in another order (ordinals and times stay theirs).
    FabricatedModel shuffled = build(specs);
    std::shuffle(shuffled.launches.begin(), shuffled.launches.end(), random);
    std::shuffle(shuffled.model.launch_metrics.begin(), shuffled.model.launch_metrics.end(), random);
    const Ranked s = rank(shuffled.done());
    ASSERT_EQ(s.utilisation.launches.size(), r.utilisation.launches.size());
    for (std::size_t i = 0; i < r.utilisation.launches.size(); ++i) {
      EXPECT_EQ(s.utilisation.launches[i].nearest_roof_ratio, r.utilisation.launches[i].nearest_roof_ratio);
      EXPECT_EQ(s.utilisation.launches[i].status, r.utilisation.launches[i].status);
    }
    EXPECT_DOUBLE_EQ(s.ranking.totals.saved_target_ns, r.ranking.totals.saved_target_ns);
  }
}

// `low` is latency-bound at 35 % of the tensor pipe, `high` compute-bound at 63 %: what the first would save is
// potential.
// Each row against sums that are made launch by launch from what was written down.
TEST(Ranking, TimesBytesAndMeansAreThoseOfTheLaunches) {
  std::mt19937 random(1123);
  std::uniform_real_distribution<double> unit(0.05, 0.95);
  static constexpr const char* kNames[] = {"a", "b", "c"};
  for (int round = 0; round < 30; ++round) {
    std::vector<Spec> specs;
    std::int64_t at = 1'000'000;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t length = 20'000 + static_cast<std::int64_t>(random() % 80'000);
      specs.push_back(
          {kNames[random() % 3], at, at + length, unit(random) < 0.2 ? -1 : unit(random), unit(random)});
      at += length + 1'000;
    }
    const Ranked r = rank(build(specs).model);
    for (const RankingRow& row : r.ranking.rows) {
      std::int64_t calls = 0, time_ns = 0;
      double measured_ns = 0, dram_ns = 0, tensor_ns = 0, bytes = 0;
      for (const Spec& spec : specs) {
        if (row.kernel != spec.kernel) continue;
        ++calls;
        time_ns += spec.end_ns - spec.start_ns;
        if (spec.dram < 0) continue;
        const auto ns = static_cast<double>(spec.end_ns - spec.start_ns);
        measured_ns += ns;
        dram_ns += ns * spec.dram;
        tensor_ns += ns * spec.tensor;
        bytes += ns * spec.dram * 1000;  // of a peak of 1000 bytes/ns
      }
      EXPECT_EQ(row.calls, calls);
      EXPECT_EQ(row.time_ns, time_ns);
      EXPECT_NEAR(row.step_share,
                  static_cast<double>(time_ns) / static_cast<double>(r.ranking.totals.step_ns), 1e-9);
      ASSERT_EQ(row.dram.has_value(), measured_ns > 0);
      if (measured_ns == 0) continue;
      EXPECT_NEAR(row.dram->value, dram_ns / measured_ns, 1e-9);
      EXPECT_NEAR(row.compute.value().value, tensor_ns / measured_ns, 1e-9);
      EXPECT_NEAR(row.dram_bytes.value(), bytes, 1e-6 * bytes);
      EXPECT_NEAR(row.metrics.of("dram_read_bytes")->value, 0.75 * bytes, 1e-6 * bytes);
      EXPECT_NEAR(row.metrics.of("dram_write_bytes")->value, 0.25 * bytes, 1e-6 * bytes);
    }
  }
}

TEST(Ranking, SavingsOfLatencyBoundLaunchesAreKeptApart) {
  const FabricatedModel f =
      build({{"low", 1'000'000, 1'100'000, 0.1, 0.35}, {"high", 1'100'000, 1'200'000, 0.1, 0.63}});
  const Ranking r = rank(f.model).ranking;
  const RankingRow& low = row(r, "low");
  const RankingRow& high = row(r, "high");
  EXPECT_EQ(low.bound, KernelBound::latency);
  EXPECT_FALSE(low.bound_roof.has_value());
  EXPECT_NEAR(low.saved_target_latency_ns, 50'000, 1e-6);
  EXPECT_EQ(high.bound, KernelBound::compute);
  EXPECT_EQ(high.bound_roof, Roof::kTensor);
  EXPECT_DOUBLE_EQ(high.saved_target_latency_ns, 0);
  EXPECT_NEAR(high.saved_target_ns, 10'000, 1e-6);
  EXPECT_NEAR(r.totals.saved_target_latency_ns, 50'000, 1e-6);
  EXPECT_EQ(r.totals.bounds.latency_ns, 100'000);
  EXPECT_EQ(r.totals.bounds.compute_ns, 100'000);
  EXPECT_EQ(r.totals.bounds.total_ns(), r.totals.time_ns);
  EXPECT_NEAR(r.totals.saved_target_ns, 60'000, 1e-6);
}

TEST(Ranking, RoofsThatAreAsNearAreNamed) {
  const FabricatedModel f = build({{"tie", 1'000'000, 1'100'000, 0.50, 0.48},
                                   {"clear", 1'100'000, 1'200'000, 0.50, 0.46},
                                   {"tensor", 1'200'000, 1'300'000, 0.475, 0.50}});
  const Ranking r = rank(f.model).ranking;
  EXPECT_EQ(row(r, "tie").near_roofs, (std::vector<Roof>{Roof::kTensor}));
  EXPECT_TRUE(row(r, "clear").near_roofs.empty());
  EXPECT_EQ(row(r, "tensor").near_roofs, (std::vector<Roof>{Roof::kDram}));
}

// Two launches at once share the time, each row its part.
TEST(Ranking, WhatIsNotHiddenIsKnownOfEachRow) {
  const FabricatedModel f =
      build({{"a", 1'000'000, 1'100'000, 0.35, 0}, {"b", 1'050'000, 1'150'000, 0.35, 0}});
  const Ranking r = rank(f.model).ranking;
  EXPECT_NEAR(row(r, "a").saved_target_ns, 50'000, 1e-6);
  EXPECT_NEAR(row(r, "a").saved_target_exposed_ns, 37'500, 1e-6);
  EXPECT_NEAR(row(r, "b").saved_target_exposed_ns, 37'500, 1e-6);
  EXPECT_NEAR(r.totals.saved_target_exposed_ns, 75'000, 1e-6);
}

// Of a row's launches that were not measured, the reason of most of their time is the row's.
TEST(Ranking, TheReasonOfARowIsThatOfMostOfItsTime) {
  const auto reason = [](std::int64_t excluded_ns, bool measured) {
    FabricatedModel f = build({{"gone", 1'000'000, 1'100'000, -1, -1},
                               {"gone", 1'100'000, 1'200'000, -1, -1},
                               {"excluded", 1'200'000, 1'200'000 + excluded_ns, -1, -1},
                               {"measured", 2'000'000, 2'900'000, measured ? 0.5 : -1, 0.1}});
    f.model.replay_exclusions.push_back({1, f.kernel("excluded"), ExclusionReason::name});
    for (auto& [id, kernel] : f.model.kernels) kernel.kernel_class = KernelClass::gemm;
    const RankingRow row = rank(f.done(), {.key = RankingKey::kernel_class}).ranking.rows.at(0);
    EXPECT_EQ(row.why.size(), 1U);
    EXPECT_EQ(row.missing == MissingReason::excluded, row.why.at(0).cause == AbsenceCause::excluded);
    return row.missing;
  };
  EXPECT_EQ(reason(250'000, true), MissingReason::excluded);
  EXPECT_EQ(reason(150'000, true), MissingReason::not_replayed) << "twice 100 µs are more than 150";
  EXPECT_EQ(reason(900'000, false), MissingReason::not_replayed) << "and 1100 more than 900";
}

}  // namespace
}  // namespace ridgeline::analyzer
