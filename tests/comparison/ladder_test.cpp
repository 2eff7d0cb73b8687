#include "ridgeline/comparison/ladder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "made_ladder.h"
#include "ridgeline/comparison/sequential.h"
#include "support/accepted_cases.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::add_rounds;
using ridgeline::testing::made_record;
using ridgeline::testing::MadeLadder;

constexpr LadderQuestions kClimbOnly{false, false, false};

LadderResult analysed(const LadderRecord& record) {
  auto result = accepted(analyse_ladder(record));
  EXPECT_TRUE(result) << result.failure().message;
  return std::move(result).value();
}

const LadderEstimate& of(const LadderResult& result, std::size_t rung, Contribution kind) {
  const LadderEstimate* estimate = result.steps.at(rung).estimate(kind);
  EXPECT_NE(estimate, nullptr);
  return *estimate;
}

TEST(LadderDesign, AsksForTheClimbEachAloneAndEachLeftOut) {
  const auto design = accepted(ladder_design({0, 0, 0}, {})).value();
  EXPECT_EQ(design.arms, (std::vector<RungSet>{0, 1, 3, 7, 2, 4, 6, 5}));
  EXPECT_EQ(design.quantities.size(), 12U);
  EXPECT_EQ(accepted(ladder_design({0, 0, 0}, kClimbOnly)).value().arms, (std::vector<RungSet>{0, 1, 3, 7}));
  // Ends are shared: at most 3k arms.
  for (std::size_t rungs = 1; rungs < 20; ++rungs)
    EXPECT_LE(accepted(ladder_design(std::vector<RungSet>(rungs), {})).value().arms.size(), 3 * rungs + 1);
}

// The third needs the second: alone it stands on it, and what leaves the second out leaves both out.
TEST(LadderDesign, TakesNeedsAlong) {
  const auto design = accepted(ladder_design({0, 0, 2}, {})).value();
  std::map<Contribution, std::map<std::size_t, std::vector<RungSet>>> sets;
  for (const LadderQuantity& quantity : design.quantities) {
    for (const LadderTerm& term : quantity.terms)
      sets[quantity.kind][quantity.rung].push_back(design.arms[term.arm]);
  }
  EXPECT_EQ(sets[Contribution::alone][2], (std::vector<RungSet>{2, 6}));
  EXPECT_EQ(sets[Contribution::left_out][1], (std::vector<RungSet>{1, 3}));
  EXPECT_EQ(sets[Contribution::left_out][0], (std::vector<RungSet>{6, 7}));
  EXPECT_EQ(with_needs(4, {0, 1, 2}), 7U) << "needs of needs";
}

TEST(LadderDesign, RefusesWhatCannotBeClimbed) {
  EXPECT_FALSE(accepted(ladder_design({}, {})));
  EXPECT_FALSE(accepted(ladder_design({1}, {}))) << "needs itself";
  EXPECT_FALSE(accepted(ladder_design(std::vector<RungSet>(kMaxRungs + 1), {})));
  EXPECT_FALSE(accepted(ladder_design(std::vector<RungSet>(7), {true, true, true})));
  EXPECT_TRUE(accepted(ladder_design(std::vector<RungSet>(6), {true, true, true})));
}

// Identical rungs: of a kind's findings over a ladder at most one in twenty ladders has any.
TEST(Ladders, OfIdenticalRungsFindNothing) {
  std::mt19937_64 random(1);
  std::map<Contribution, int> wrong;
  constexpr int kLadders = 400;
  for (int trial = 0; trial < kLadders; ++trial) {
    const MadeLadder made{.saved = {0, 0, 0, 0, 0, 0}};
    LadderRecord record = made_record(made);
    add_rounds(record, made, 8, random);
    const LadderResult result = analysed(record);
    std::map<Contribution, bool> any;
    for (const LadderStep& step : result.steps) {
      for (const LadderEstimate& estimate : step.estimates)
        any[estimate.kind] |= estimate.outcome == Outcome::improved || estimate.outcome == Outcome::regressed;
    }
    for (const auto& [kind, found] : any) wrong[kind] += found ? 1 : 0;
  }
  // 5 % and what 400 ladders leave to chance (2.5 standard errors).
  for (const auto& [kind, count] : wrong) EXPECT_LE(count, kLadders * 0.05 + 11) << to_string(kind);
  EXPECT_EQ(wrong.size(), 4U);
}

// The same with a look after each pair of rounds, as an experiment has them.
TEST(Ladders, OfIdenticalRungsFindNothingInSeveralLooks) {
  std::mt19937_64 random(2);
  const std::vector<double> fractions = {6 / 14.0, 8 / 14.0, 10 / 14.0, 12 / 14.0, 1};
  const auto alpha = nominal_levels(Spending::obrien_fleming, 0.05, fractions);
  const auto same = nominal_levels(Spending::pocock, 0.05, fractions);
  int wrong = 0, shown_same = 0;
  constexpr int kLadders = 200;
  for (int trial = 0; trial < kLadders; ++trial) {
    const MadeLadder made{.saved = {0, 0, 0, 0, 0}, .questions = kClimbOnly, .noise = 0.002};
    LadderRecord record = made_record(made);
    bool any = false, settled = false;
    for (std::size_t look = 0; look < fractions.size() && !settled; ++look) {
      add_rounds(record, made, look == 0 ? 6 : 2, random);
      record.look_alpha = alpha[look];
      record.look_equivalence_alpha = same[look];
      const LadderResult result = analysed(record);
      settled = is_settled(result);
      if (!settled && look + 1 < fractions.size()) continue;
      for (const LadderStep& step : result.steps) {
        const Outcome outcome = step.estimates.front().outcome;
        any |= outcome == Outcome::improved || outcome == Outcome::regressed;
        shown_same += outcome == Outcome::same ? 1 : 0;
      }
    }
    wrong += any ? 1 : 0;
  }
  EXPECT_LE(wrong, kLadders * 0.05 + 8);
  EXPECT_GE(shown_same, kLadders * 5 * 0.8) << "with 0.2 % of noise 0.3 % of a margin can be shown";
}

struct Planted {
  double saved = 0;
  int found = 0, covered = 0;
};

// 0.2, 0.5 and 1 % between rungs that do nothing.
TEST(Ladders, FindWhatWasPlanted) {
  std::mt19937_64 random(3);
  std::vector<Planted> planted = {{0.002}, {0}, {0.005}, {0.01}, {0}};
  constexpr int kLadders = 200;
  for (int trial = 0; trial < kLadders; ++trial) {
    MadeLadder made{.saved = {}, .questions = kClimbOnly, .noise = 0.0012};
    for (const Planted& one : planted) made.saved.push_back(one.saved);
    LadderRecord record = made_record(made);
    add_rounds(record, made, 14, random);
    const LadderResult result = analysed(record);
    for (std::size_t rung = 0; rung < planted.size(); ++rung) {
      const LadderEstimate& estimate = of(result, rung, Contribution::cumulative);
      planted[rung].found += estimate.outcome == Outcome::improved ? 1 : 0;
      planted[rung].covered +=
          std::abs(estimate.log_ratio - planted[rung].saved) <= *estimate.half_width ? 1 : 0;
    }
  }
  for (const Planted& one : planted) {
    if (one.saved > 0) {
      EXPECT_GE(one.found, kLadders * 0.8) << one.saved;
    }
    if (one.saved == 0) {
      EXPECT_LE(one.found, kLadders * 0.05) << "and a rung beside it is not blamed";
    }
    EXPECT_GE(one.covered, kLadders * 0.90) << one.saved;
    EXPECT_LE(one.covered, kLadders * 0.985) << one.saved;
  }
}

// Noise of 0.4 % and 14 rounds: a margin of 0.3 % is found in four of five; with few rounds intervals hold as well.
TEST(Ladders, IntervalsHoldWithFewRoundsAndArmsThatDiffer) {
  std::mt19937_64 random(4);
  int covered = 0, all = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const MadeLadder made{.saved = {0.1, -0.02, 0.004}};
    LadderRecord record = made_record(made);
    add_rounds(record, made, 4, random);
    // The bottom is noisier than the others.
    std::normal_distribution<double> normal;
    for (LadderRun& run : record.runs) {
      if (record.arms[run.program] == 0) run.step_ns *= std::exp(0.006 * normal(random));
    }
    const LadderResult result = analysed(record);
    for (std::size_t rung = 0; rung < 3; ++rung) {
      for (const Contribution kind :
           {Contribution::cumulative, Contribution::alone, Contribution::left_out}) {
        const LadderEstimate& estimate = of(result, rung, kind);
        covered += std::abs(estimate.log_ratio - made.saved[rung]) <= *estimate.half_width ? 1 : 0;
        ++all;
      }
    }
  }
  EXPECT_GE(covered, all * 0.90);
  EXPECT_LE(covered, all * 0.98);
}

// Either of two rungs saves all that both save.
TEST(Ladders, SeeThatTwoRungsShareTheirEffect) {
  std::mt19937_64 random(5);
  MadeLadder made{.saved = {0.05, 0.05, 0.02}};
  made.together = [](RungSet on) { return ((on & 3) != 0 ? 0.05 : 0.0) + ((on & 4) != 0 ? 0.02 : 0.0); };
  LadderRecord record = made_record(made);
  add_rounds(record, made, 8, random);
  const LadderResult result = analysed(record);
  EXPECT_EQ(of(result, 0, Contribution::cumulative).outcome, Outcome::improved);
  EXPECT_NE(of(result, 1, Contribution::cumulative).outcome, Outcome::improved);
  EXPECT_EQ(of(result, 1, Contribution::alone).outcome, Outcome::improved);
  EXPECT_EQ(of(result, 1, Contribution::interaction).outcome, Outcome::regressed);
  EXPECT_NEAR(of(result, 1, Contribution::interaction).log_ratio, -0.05, 0.01);
  EXPECT_NE(of(result, 2, Contribution::interaction).outcome, Outcome::regressed);
  // Neither is missed at the top, for the other is there.
  EXPECT_NEAR(of(result, 0, Contribution::left_out).log_ratio, 0, 0.01);
}

TEST(Ladders, AddUpExactly) {
  std::mt19937_64 random(6);
  const MadeLadder made{.saved = {0.3, -0.01, 0.07, 0.002}, .questions = {true, true, true}};
  LadderRecord record = made_record(made);
  add_rounds(record, made, 5, random);
  const LadderResult result = analysed(record);
  for (const Contribution kind : {Contribution::cumulative, Contribution::shapley}) {
    double sum = 0;
    for (std::size_t rung = 0; rung < 4; ++rung) sum += of(result, rung, kind).log_ratio;
    EXPECT_NEAR(sum, result.whole.log_ratio, 1e-12) << to_string(kind);
  }
  EXPECT_NEAR(of(result, 0, Contribution::shapley).log_ratio, 0.3, 0.01);
  EXPECT_NEAR(std::exp(result.whole.log_ratio), *result.arms.front().step_ns / *result.arms[4].step_ns, 1e-9);
}

// A machine that gets slower by 0.04 % a run: arms one after the other take it for what the rungs did.
TEST(Ladders, HoldAgainstDriftBecauseTheyAreInterleaved) {
  std::map<bool, int> wrong;
  for (const bool in_order : {false, true}) {
    std::mt19937_64 random(7);
    for (int trial = 0; trial < 100; ++trial) {
      const MadeLadder made{
          .saved = {0, 0, 0}, .questions = kClimbOnly, .noise = 0.002, .drift = 0.0004, .in_order = in_order};
      LadderRecord record = made_record(made);
      add_rounds(record, made, 8, random);
      const LadderResult result = analysed(record);
      for (const LadderStep& step : result.steps) {
        const Outcome outcome = step.estimates.front().outcome;
        wrong[in_order] += outcome == Outcome::improved || outcome == Outcome::regressed ? 1 : 0;
      }
    }
  }
  EXPECT_LE(wrong[false], 15) << "of 300";
  EXPECT_GE(wrong[true], 150) << "of 300";
}

TEST(Ladders, WhoseRungChangesNothingSaySo) {
  std::mt19937_64 random(8);
  const MadeLadder made{.saved = {0.1, 0.2}};
  LadderRecord record = made_record(made);
  // Left out of the top, the first comes to the same program as the top: the second undoes it.
  const auto arm = static_cast<std::size_t>(std::find(record.arms.begin(), record.arms.end(), RungSet{2}) -
                                            record.arms.begin());
  record.program_of_arm[arm] = record.program_of_arm[2];
  add_rounds(record, made, 6, random);
  const LadderResult result = analysed(record);
  const LadderEstimate& estimate = of(result, 0, Contribution::left_out);
  EXPECT_TRUE(estimate.same_program);
  EXPECT_EQ(estimate.outcome, Outcome::same);
  EXPECT_EQ(estimate.log_ratio, 0);
}

TEST(Ladders, GoOnWithoutAProgramThatDoesNotRun) {
  std::mt19937_64 random(9);
  const MadeLadder made{.saved = {0.1, 0.2, 0.1}, .questions = kClimbOnly};
  LadderRecord record = made_record(made);
  add_rounds(record, made, 6, random);
  record.programs[2].failure = "ended with 1: no such kernel";
  std::erase_if(record.runs, [](const LadderRun& run) { return run.program == 2; });
  const LadderResult result = analysed(record);
  EXPECT_EQ(of(result, 0, Contribution::cumulative).outcome, Outcome::improved);
  EXPECT_EQ(of(result, 1, Contribution::cumulative).outcome, Outcome::not_measured);
  EXPECT_EQ(of(result, 2, Contribution::cumulative).outcome, Outcome::not_measured);
  EXPECT_EQ(result.whole.rounds, 6);
  EXPECT_TRUE(is_settled(result)) << "no further round would change that";
  std::erase_if(record.runs, [](const LadderRun& run) { return run.program == 0; });
  EXPECT_EQ(accepted(analyse_ladder(record)).failure().kind, ErrorKind::no_data);
}

LossVerdict loss_verdict(const std::function<double(std::int64_t seed, bool above)>& loss,
                         std::int64_t seeds) {
  std::mt19937_64 random(10);
  const MadeLadder made{.saved = {0.1}, .questions = kClimbOnly};
  LadderRecord record = made_record(made);
  add_rounds(record, made, 6, random);
  for (LadderRun& run : record.runs) {
    run.seed = 1 + run.round % seeds;
    run.loss = loss(run.seed, run.program == 1);
  }
  return analysed(record).steps[0].loss.verdict;
}

TEST(LadderLosses, AreComparedOnEqualSeeds) {
  const auto base = [](std::int64_t seed) { return 3.8 + 0.2 * static_cast<double>(seed); };
  EXPECT_EQ(loss_verdict([&](auto seed, bool) { return base(seed); }, 3), LossVerdict::same_bits);
  const auto near = [&](auto seed, bool above) {
    return base(seed) * (above ? 1 + 1e-4 * static_cast<double>(seed) : 1);
  };
  EXPECT_EQ(loss_verdict(near, 3), LossVerdict::same);
  EXPECT_EQ(loss_verdict(near, 2), LossVerdict::open) << "two seeds are too few";
  const auto far = [&](auto seed, bool above) {
    return base(seed) * (above ? 1.02 + 1e-4 * static_cast<double>(seed) : 1);
  };
  EXPECT_EQ(loss_verdict(far, 3), LossVerdict::differs);
  EXPECT_EQ(loss_verdict(far, 1), LossVerdict::open) << "one seed, however often, is one observation";
}

// torchtitan's published ladder of Llama 3 8B on eight H100 (December 2024): 5,762, 6,667 and 8,532 tokens a second and
// GPU, one reading each. Order and factors come out; one reading says nothing of chance.
TEST(Ladders, GiveTheOrderOfAPublishedOne) {
  const MadeLadder made{.saved = {0, 0}, .questions = kClimbOnly};
  LadderRecord record = made_record(made);
  const double tokens_per_s[] = {5762, 6667, 8532};
  for (std::size_t program = 0; program < 3; ++program) {
    LadderRun run;
    run.program = program;
    run.step_ns = 1e9 * 8192 / tokens_per_s[program];
    record.runs.push_back(run);
  }
  record.rounds = 1;
  const LadderResult result = analysed(record);
  EXPECT_NEAR(std::exp(of(result, 0, Contribution::cumulative).log_ratio), 1.157, 0.0005);
  EXPECT_NEAR(std::exp(of(result, 1, Contribution::cumulative).log_ratio), 1.280, 0.0005);
  EXPECT_GT(of(result, 1, Contribution::cumulative).log_ratio,
            of(result, 0, Contribution::cumulative).log_ratio);
  EXPECT_FALSE(of(result, 0, Contribution::cumulative).half_width);
  EXPECT_EQ(of(result, 0, Contribution::cumulative).outcome, Outcome::inconclusive);
}

LadderRecord full_record() {
  std::mt19937_64 random(11);
  const MadeLadder made{.saved = {0.1, 0.2, 0.1}};
  LadderRecord record = made_record(made);
  add_rounds(record, made, 3, random);
  record.begun = "2026-11-25 20:00:00";
  record.end = LadderEnd::budget;
  record.source = LadderSource::output;
  record.rungs[1].choices = {{"64", {1e6, 2e6}}, {"128", {}}};
  record.rungs[1].chosen = 0;
  record.programs[0].kernels = {{"gemm", 12}, {"gelu", 1.5}};
  record.programs[3].failure = "ended with 2: \"no\"";
  record.runs[0].loss = 3.25;
  record.runs[0].device = "a device";
  record.runs[0].settled = false;
  return record;
}

TEST(LadderRecords, AreReadAsTheyWereWritten) {
  const LadderRecord record = full_record();
  const std::string text = ladder_text(record);
  const auto again = accepted(parse_ladder(text));
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(ladder_text(again.value()), text);
  EXPECT_EQ(again.value().arms, record.arms);
  EXPECT_EQ(again.value().runs.size(), record.runs.size());
  EXPECT_EQ(again.value().rungs[1].chosen, 0U);
  EXPECT_EQ(again.value().runs[0].loss, 3.25);
  EXPECT_EQ(again.value().runs[1].loss, std::nullopt);
  EXPECT_TRUE(accepted(analyse_ladder(again.value())));
  const LadderRecord needing = made_record({.saved = {0.1, 0.2}, .needs = {0, 1}});
  EXPECT_EQ(accepted(parse_ladder(ladder_text(needing))).value().rungs[1].needs, std::vector<std::size_t>{0});
}

TEST(LadderRecords, ThatAreDamagedSayWhere) {
  const std::string text = ladder_text(full_record());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const auto record = accepted(parse_ladder(changed));
    if (!record) return record.failure().message;
    const auto result = accepted(analyse_ladder(record.value()));
    return result ? std::string("accepted") : result.failure().message;
  };
  EXPECT_EQ(refused("ridgeline.ladder-runs", "ridgeline.rank"), "not the runs of a ladder");
  EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"),
            "of another version: use the Ridgeline that wrote it");
  EXPECT_EQ(refused("\"rounds\": 3", "\"rounds\": \"3\""), "'rounds' is not a number");
  EXPECT_EQ(refused("\"budget\"", "\"boredom\""), "'end' is 'boredom', which is not a known end of a ladder");
  EXPECT_EQ(refused("\"chosen\": 0", "\"chosen\": 2"), "'chosen' is none of the choices");
  EXPECT_EQ(refused("\"program\": 1", "\"program\": 99"),
            "a ladder that does not fit together: an arm has no program");
  EXPECT_NE(refused("\"left_out\": true", "\"left_out\": false").find("its arms are not those of its rungs"),
            std::string::npos);
  EXPECT_FALSE(accepted(parse_ladder("[]")));
  EXPECT_FALSE(accepted(parse_ladder("{")));
  const ridgeline::testing::TemporaryDirectory folder;
  EXPECT_EQ(read_ladder(folder / "none").failure().kind, ErrorKind::io);
}

}  // namespace
}  // namespace ridgeline::comparison
