// Launches that were neither counted nor sampled have the values of their kind: on simulated programs whose launches
// all have a known utilisation, what is said of a launch lies within its stated error, and the errors say something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fabricated_model.h"
#include "ridgeline/analyzer/findings/quality.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;
namespace of_kinds {

using testing::FabricatedModel;
using testing::kRead;
using testing::kSampledTensor;
using testing::kTensor;
using testing::kWritten;

// A launch as it is: of a peak of 1000 bytes a ns, and a tensor pipe busy for part of the time.
struct Truth {
  std::string kernel;
  std::int64_t grid = 1;
  double ns = 0, dram = 0, tensor = 0;
};
using Step = std::vector<Truth>;

struct Program {
  explicit Program(unsigned seed) : random(seed) {}
  // A product on as many blocks as the chip has multiprocessors, whatever its size.
  Truth product(const std::string& name, double work, double dram, double tensor) {
    return around({name, 132, 2000 + work * 1500, dram * bend(work), tensor * bend(work)});
  }
  // Memory-bound, a block for so much of it.
  Truth elementwise(const std::string& name, double mega, double dram) {
    return around({name, std::max<std::int64_t>(std::llround(mega * 400), 1), 1500 + mega * 600 / dram,
                   dram * mega / (mega + 3), 0});
  }
  double bend(double work) const { return work / (work + 2); }
  // Caches and neighbours make launches of a kind differ a little.
  Truth around(Truth launch) {
    std::normal_distribution<double> noise(0, 0.02);
    launch.dram *= 1 + noise(random);
    launch.tensor *= 1 + noise(random) / 4;
    return launch;
  }

  std::mt19937 random;
};

// Twelve layers, forward and backward, and an optimizer: products of 9.7, 29, 38.7 and 633 G under one kernel and grid.
Step transformer(Program& p) {
  Step step;
  for (int layer = 0; layer < 24; ++layer) {
    step.push_back(p.elementwise("layernorm", 50, 0.77));
    step.push_back(p.product("nvjet", 29, 0.25, 0.8));
    step.push_back(p.elementwise("attention", 70, 0.35));
    step.push_back(p.product("nvjet", 9.7, 0.33, 0.7));
    step.push_back(p.elementwise("layernorm", 50, 0.77));
    step.push_back(p.product("nvjet", 38.7, 0.3, 0.83));
    step.push_back(p.elementwise("gelu", 200, 0.85));
    step.push_back(p.product("nvjet", 38.7, 0.28, 0.8));
  }
  step.push_back(p.product("nvjet", 633, 0.05, 0.9));
  step.push_back(p.elementwise("classifier", 900, 0.74));
  for (int i = 0; i < 20; ++i) step.push_back(p.elementwise("adamw", 40 * (1 + i % 4), 0.82));
  return step;
}

// A batch of so many tokens: products, whose kernel is another for small and for large ones, and what is between them.
Step batch(Program& p, double tokens, bool many_tiles = false) {
  Step step;
  const std::string tile = many_tiles     ? "nvjet_" + std::to_string(std::lround(16 * tokens))
                           : tokens < 2.5 ? "nvjet_64"
                                          : "nvjet_128";
  for (int layer = 0; layer < 8; ++layer) {
    step.push_back(p.elementwise("layernorm", 10 * tokens, 0.7));
    step.push_back(p.product(tile, 6 * tokens, 0.3, 0.7));
    step.push_back(p.elementwise("softmax", 4 * tokens * tokens, 0.6));
    step.push_back(p.product(tile, 2 * tokens, 0.35, 0.6));
    step.push_back(p.product(tile, 8 * tokens, 0.3, 0.75));
    step.push_back(p.elementwise("gelu", 40 * tokens, 0.8));
  }
  step.push_back(p.elementwise("argmax", tokens, 0.5));
  return step;
}

class Recording {
 public:
  explicit Recording(unsigned seed) : random_(seed) {}

  // `counted(i)`: launch i of the step is. The tensor pipe is in one set of counters of two.
  template <typename Counted>
  void add(Phase phase, const Step& launches, Counted&& counted, bool tensor = true) {
    f.step(phase);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Truth& truth = launches[i];
      // Run alone, at a higher clock, it is a little faster.
      const double took = truth.ns * (phase == Phase::replay ? 0.96 : 1) * (1 + 0.01 * noise_(random_));
      store::Launch& launch = f.launch(truth.kernel, at_, at_ + std::llround(took));
      launch.grid.x = truth.grid;
      at_ += std::llround(took) + 1000;
      if (phase == Phase::replay && counted(i)) {
        std::map<std::string, double> values = {{kRead, 700 * truth.dram * truth.ns},
                                                {kWritten, 300 * truth.dram * truth.ns}};
        if (tensor)
          values[kTensor] =
              100 * truth.tensor * truth.ns / static_cast<double>(launch.end_ns - launch.start_ns);
        f.counters(values);
      } else if (phase == Phase::sample && counted(i)) {
        f.samples({{kRead, {700 * truth.dram * took, 7 * truth.dram * took}},
                   {kWritten, {300 * truth.dram * took, 3 * truth.dram * took}},
                   {kSampledTensor, {100 * truth.tensor, 0.5}}},
                  static_cast<std::int64_t>(took / 5000) + 1);
      }
    }
  }

  FabricatedModel f;

 private:
  std::mt19937 random_;
  std::normal_distribution<double> noise_{0, 1};
  std::int64_t at_ = 1'000'000;
};

struct Judged {
  double time = 0, with_value = 0, within = 0, error = 0, off = 0;
  void add(double ns, double truth, const std::optional<Measured>& value) {
    time += ns;
    if (!value) return;
    with_value += ns;
    const double distance = std::fabs(value->value - truth);
    // A value of the launch itself has no spread if it was counted once.
    const double stated = value->error.value_or(0.02);
    off += ns * distance;
    error += ns * stated;
    if (distance <= stated + 0.005) within += ns;
  }
  double coverage() const { return with_value / time; }
  double kept() const { return within / with_value; }
  double mean_error() const { return error / with_value; }
  double mean_off() const { return off / with_value; }
};

struct Verdicts {
  Judged dram_t2, tensor_t2, dram_t1, tensor_t1;
  Judged dram, tensor;  // what is shown
};

void judge(const UtilisationAnalysis& found, const Step& truth, Verdicts& v) {
  for (std::size_t i = 0; i < found.launches.size(); ++i) {
    const LaunchUtilisation launch = found.launches[i];
    const auto ns = static_cast<double>(launch.duration_ns);
    const double dram = truth[i].dram * truth[i].ns / ns, tensor = truth[i].tensor * truth[i].ns / ns;
    v.dram_t2.add(ns, dram, launch.values->t2.dram_utilisation);
    v.tensor_t2.add(ns, tensor, launch.values->t2.tensor_utilisation);
    v.dram_t1.add(ns, dram, launch.values->t1.dram_utilisation);
    v.tensor_t1.add(ns, tensor, launch.values->t1.tensor_utilisation);
    v.dram.add(ns, dram, launch.values->dram_utilisation);
    if (launch.values->busiest_pipe == Roof::kTensor)
      v.tensor.add(ns, tensor, launch.values->compute_utilisation);
  }
}

void expect_true(const Judged& judged, double coverage, double max_error, const std::string& what) {
  EXPECT_GE(judged.coverage(), coverage) << what;
  EXPECT_GE(judged.kept(), 0.95) << what << ": mean error " << judged.mean_error() << ", off by "
                                 << judged.mean_off();
  EXPECT_LE(judged.mean_error(), max_error) << what;
}

// Of a kind in both tiers the one with the smaller error is shown, and comes nearer than T2's alone would.
void expect_shown_is_the_surer(const Verdicts& v) {
  EXPECT_GE(v.dram.kept(), 0.95);
  EXPECT_GE(v.tensor.kept(), 0.95);
  EXPECT_LE(v.dram.mean_error(), std::min(v.dram_t1.mean_error(), v.dram_t2.mean_error()));
  EXPECT_LE(v.tensor.mean_error(), std::min(v.tensor_t1.mean_error(), v.tensor_t2.mean_error()));
  EXPECT_LT(v.dram.mean_off(), 0.9 * v.dram_t2.mean_off());
  EXPECT_LT(v.tensor.mean_off(), 0.9 * v.tensor_t2.mean_off());
}

constexpr unsigned kPrograms = 8;

// One launch of each kernel, grid and duration is counted in a step, another one in the next step.
TEST(LaunchKinds, OfStepsThatAreAlikeTheStatedErrorsHold) {
  Verdicts v;
  int rows = 0, true_rows = 0;
  for (unsigned seed = 1; seed <= kPrograms; ++seed) {
    Program p(seed);
    const Step truth = transformer(p);
    Recording r(seed + 100);
    for (int i = 0; i < 3; ++i) r.add(Phase::timeline, truth, [](std::size_t) { return false; });
    for (int set = 0; set < 4; ++set) {
      std::map<std::pair<std::string, std::int64_t>, int> due;
      r.add(
          Phase::replay, truth,
          [&](std::size_t i) {
            const auto kind = std::pair(truth[i].kernel, std::llround(2 * std::log(truth[i].ns)));
            const int number = due[kind]++;
            return number == 0 || number == 3 * (set % 2);
          },
          set % 2 == 1);
    }
    const Model& model = r.f.done();
    const StepAnalysis steps = analyze_steps(model).value();
    const UtilisationAnalysis found = accepted(analyze_utilisation(model, steps));
    ASSERT_EQ(found.launches.size(), truth.size());
    judge(found, truth, v);
    // A row of several launches of a kind is no surer than they are.
    std::map<std::string, std::pair<double, double>> sums;  // ns, busy ns
    for (const Truth& launch : truth) {
      sums[launch.kernel].first += launch.ns;
      sums[launch.kernel].second += launch.ns * launch.dram;
    }
    const Ranking ranking = accepted(rank_kernels(model, steps, found, testing::exposed(model, steps)));
    ASSERT_EQ(ranking.rows.size(), sums.size());
    for (const RankingRow& row : ranking.rows) {
      ASSERT_TRUE(row.dram && row.dram->error) << row.kernel;
      const auto& [ns, busy] = sums.at(row.kernel);
      ++rows;
      if (std::fabs(busy / ns - row.dram->value) <= *row.dram->error + 0.005) ++true_rows;
    }
  }
  expect_true(v.dram_t2, 0.99, 0.1, "DRAM");
  expect_true(v.tensor_t2, 0.99, 0.15, "tensor pipe");
  EXPECT_LE(v.dram_t2.mean_off(), 0.02);
  EXPECT_LE(v.tensor_t2.mean_off(), 0.02) << "products of another size are not taken for it";
  EXPECT_GE(true_rows, 0.95 * rows) << rows;
}

// Batches of every length: no step launches what another does.
TEST(LaunchKinds, OfStepsThatVaryNearlyAllIsKnownInBothTiers) {
  Verdicts v;
  for (unsigned seed = 1; seed <= kPrograms; ++seed) {
    Program p(seed);
    std::uniform_real_distribution<double> any(0.5, 8);
    Recording r(seed + 200);
    std::vector<Step> steps;
    const auto all = [](std::size_t) { return true; };
    for (int i = 0; i < 9; ++i) {
      steps.push_back(batch(p, any(p.random)));
      r.add(Phase::timeline, steps.back(), [](std::size_t) { return false; });
    }
    // Of every size some, in any order.
    const auto sizes = [&](int count) {
      std::vector<double> tokens;
      for (int i = 0; i < count; ++i)
        tokens.push_back(0.5 + 7.5 * (i + std::uniform_real_distribution<double>()(p.random)) / count);
      std::shuffle(tokens.begin(), tokens.end(), p.random);
      return tokens;
    };
    for (const double tokens : sizes(10)) r.add(Phase::sample, batch(p, tokens), all);
    for (const bool tensor : {true, false})
      for (const double tokens : sizes(10)) r.add(Phase::replay, batch(p, tokens), all, tensor);
    const Model& model = r.f.done();
    for (std::int64_t index = 1; index < 8; ++index) {
      StepOptions one;
      one.step_index = index;
      const UtilisationAnalysis found =
          accepted(analyze_utilisation(model, analyze_steps(model, one).value()));
      ASSERT_EQ(found.launches.size(), steps[static_cast<std::size_t>(index)].size());
      judge(found, steps[static_cast<std::size_t>(index)], v);
    }
  }
  expect_true(v.dram_t2, 0.95, 0.2, "DRAM of T2");
  expect_true(v.tensor_t2, 0.9, 0.2, "tensor pipe of T2");
  expect_true(v.dram_t1, 0.95, 0.2, "DRAM of T1");
  expect_true(v.tensor_t1, 0.95, 0.2, "tensor pipe of T1");
  for (const Judged* judged : {&v.dram_t2, &v.tensor_t2, &v.dram_t1, &v.tensor_t1})
    EXPECT_LE(judged->mean_off(), 0.04);
  expect_shown_is_the_surer(v);
}

// A library has a GEMM kernel for each tile and layout of the result, and most that a step launches were in no step
// with values.
TEST(LaunchKinds, OfMatrixProductsTheOtherTilesOfTheFamilyStandForOne) {
  Verdicts of_a_family, of_nothing;
  for (const bool family : {true, false}) {
    Verdicts& v = family ? of_a_family : of_nothing;
    for (unsigned seed = 1; seed <= kPrograms; ++seed) {
      Program p(seed);
      std::uniform_real_distribution<double> any(0.5, 8);
      Recording r(seed + 300);
      std::vector<Step> steps;
      for (int i = 0; i < 5; ++i) {
        steps.push_back(batch(p, any(p.random), true));
        r.add(Phase::timeline, steps.back(), [](std::size_t) { return false; });
      }
      for (const Phase phase : {Phase::sample, Phase::replay})
        for (int i = 0; i < 8; ++i) r.add(phase, batch(p, 0.6 + i, true), [](std::size_t) { return true; });
      for (auto& [id, kernel] : r.f.model.kernels) {
        if (!family || !kernel.demangled_name.starts_with("nvjet_")) continue;
        kernel.kernel_class = KernelClass::gemm;
        kernel.normalised_name = id % 2 == 0 ? "nvjet_sm90_tst_TNT" : "nvjet_sm90_tst_TNN";
      }
      const Model& model = r.f.done();
      for (std::int64_t index = 1; index < 4; ++index) {
        StepOptions one;
        one.step_index = index;
        judge(accepted(analyze_utilisation(model, analyze_steps(model, one).value())),
              steps[static_cast<std::size_t>(index)], v);
      }
    }
  }
  expect_true(of_a_family.dram_t2, 0.95, 0.25, "DRAM of T2");
  expect_true(of_a_family.tensor_t2, 0.95, 0.25, "tensor pipe of T2");
  expect_true(of_a_family.dram_t1, 0.95, 0.25, "DRAM of T1");
  expect_true(of_a_family.tensor_t1, 0.95, 0.25, "tensor pipe of T1");
  expect_shown_is_the_surer(of_a_family);
  EXPECT_LT(of_nothing.tensor_t1.coverage(), 0.9) << "the tiles with values would do alone";
}

// Of a launch that was not counted its kind says 60 % of the alu pipe, or 10 %, and 20 % of fma; its own samples say
// 20 % of fma, and have no alu.
TEST(LaunchKinds, SamplesAreNotTheSurerOfAPipeThatIsNotSampled) {
  for (const double alu : {60.0, 10.0}) {
    FabricatedModel f;
    const auto step = [&](Phase phase, std::int64_t at) {
      f.step(phase);
      for (int i = 0; i < 3; ++i, at += 100'000) {
        f.launch("k", at, at + 100'000);
        if (phase == Phase::replay && i < 2) {
          const double beside = i == 0 ? 0.9 : 1.1;
          f.counters({{kRead, 1e6 * beside},
                      {kWritten, 0},
                      {testing::kFma, 20 * beside},
                      {"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", alu * beside},
                      {testing::kDuration, 100e3}});
        } else if (phase == Phase::sample && i == 2) {
          f.samples(
              {{"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
                {20.5, 0.1}}},
              20);
        }
      }
    };
    step(Phase::timeline, 1'000'000);
    step(Phase::sample, 2'000'000);
    step(Phase::replay, 3'000'000);
    const Model& model = f.done();
    const UtilisationAnalysis found = accepted(analyze_utilisation(model, analyze_steps(model).value()));
    const LaunchValues& third = *found.launches[2].values;
    ASSERT_TRUE(third.t2.by_kind && third.t2.compute_utilisation && third.t1.compute_utilisation);
    EXPECT_LT(*third.t1.compute_utilisation->error, *third.t2.compute_utilisation->error);
    ASSERT_TRUE(third.compute_utilisation);
    EXPECT_EQ(third.compute_utilisation->tier, alu > 20 ? Tier::t2 : Tier::t1);
    EXPECT_EQ(third.busiest_pipe, alu > 20 ? Roof::kAlu : Roof::kFma);
    EXPECT_NEAR(third.compute_utilisation->value, alu > 20 ? 0.6 : 0.205, 1e-9);
  }
}

// Two launches of a kernel in a step that no other is like, and one of it in a sampled and in a counted step: what
// is said of both is of their kind, and the saving of a latency-bound launch is by samples until it is counted.
TEST(LaunchKinds, AreSaidToBeByTierAndInTheSaving) {
  for (const bool counted : {false, true}) {
    FabricatedModel f;
    f.step(Phase::timeline);
    f.launch("k", 1'000'000, 1'100'000);
    f.launch("k", 1'100'000, 1'200'000);
    f.step(Phase::sample);
    f.launch("other", 2'000'000, 2'100'000);
    f.launch("k", 2'100'000, 2'200'000);
    f.samples({{kRead, {10e6, 1e5}}, {kWritten, {0, 0}}, {kSampledTensor, {5, 0.1}}}, 20);
    if (counted) {
      f.step(Phase::replay);
      f.launch("third", 3'000'000, 3'100'000);
      f.launch("k", 3'100'000, 3'200'000);
      f.counters({{kRead, 10e6}, {kWritten, 0}, {kTensor, 5}, {testing::kDuration, 100e3}});
    }
    const Model& model = f.done();
    const StepAnalysis steps = analyze_steps(model).value();
    const UtilisationAnalysis found = accepted(analyze_utilisation(model, steps));
    EXPECT_TRUE(found.sampled);
    EXPECT_TRUE(found.sample_steps.empty()) << "none is like the step";
    const Quality quality = assess_quality(model, steps, found);
    ASSERT_EQ(quality.reach.size(), counted ? 2u : 1u);
    for (const TierShare& tier : quality.reach) {
      EXPECT_EQ(tier.launches, 2) << to_string(tier.tier);
      EXPECT_EQ(tier.kind_share, 1) << to_string(tier.tier);
    }
    const Ranking ranking = rank_kernels(model, steps, found, testing::exposed(model, steps));
    EXPECT_GT(ranking.totals.saved_target_latency_ns, 0);
    EXPECT_EQ(ranking.totals.saved_target_sampled_ns, counted ? 0 : ranking.totals.saved_target_latency_ns);
    EXPECT_EQ(ranking.rows.at(0).saved_target_sampled_ns, ranking.totals.saved_target_sampled_ns);
  }
}

}  // namespace of_kinds
}  // namespace
}  // namespace ridgeline::analyzer
