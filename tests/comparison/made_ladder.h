// made_ladder.h: ladders whose truth is known: what each rung takes off, how much runs differ, how the machine drifts.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ridgeline/comparison/ladder.h"

namespace ridgeline::testing {

struct MadeLadder {
  std::vector<double> saved;  // of each rung: ln of the time before less ln of the time after
  std::vector<comparison::RungSet> needs = {};  // empty: none
  comparison::LadderQuestions questions = {};
  double noise = 0.004;   // standard deviation of ln of a run's time
  double drift = 0;       // of ln of the time, from each run to the next
  bool in_order = false;  // arms one after the other, all rounds of each: what nobody should do
  /// ln of what these rungs take off together; empty: the sum of `saved`.
  std::function<double(comparison::RungSet)> together = {};
};

inline comparison::LadderRecord made_record(const MadeLadder& made) {
  comparison::LadderRecord record;
  record.name = "made";
  record.questions = made.questions;
  const std::size_t rungs = made.saved.size();
  std::vector<comparison::RungSet> needs = made.needs;
  needs.resize(rungs);
  for (std::size_t i = 0; i < rungs; ++i) {
    comparison::LadderRungFacts facts{"rung " + std::to_string(i + 1), "", {}, {}, {}};
    for (std::size_t j = 0; j < i; ++j) {
      if ((needs[i] >> j & 1) != 0) facts.needs.push_back(j);
    }
    record.rungs.push_back(facts);
  }
  record.arms = comparison::ladder_design(needs, made.questions).value().arms;
  for (std::size_t arm = 0; arm < record.arms.size(); ++arm) {
    record.program_of_arm.push_back(arm);
    record.programs.push_back({"./program " + std::to_string(arm), "", {}});
  }
  return record;
}

/// Adds rounds in random order and its mirror.
inline void add_rounds(comparison::LadderRecord& record, const MadeLadder& made, std::int64_t rounds,
                       std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const std::size_t programs = record.programs.size();
  std::vector<std::size_t> order(programs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::int64_t begin = record.rounds;
  for (std::int64_t round = begin; round < begin + rounds; ++round) {
    if (round % 2 == 0)
      std::shuffle(order.begin(), order.end(), random);
    else
      std::reverse(order.begin(), order.end());
    const double day = 0.01 * normal(random);  // what all runs of a round have in common
    for (std::size_t place = 0; place < programs; ++place) {
      const std::size_t program = order[place];
      const comparison::RungSet on = record.arms[program];
      double saved = 0;
      for (std::size_t i = 0; i < made.saved.size(); ++i) saved += (on >> i & 1) != 0 ? made.saved[i] : 0;
      if (made.together) saved = made.together(on);
      const auto at =
          made.in_order
              ? static_cast<double>(program) * static_cast<double>(rounds) + static_cast<double>(round)
              : static_cast<double>(round) * static_cast<double>(programs) + static_cast<double>(place);
      comparison::LadderRun run;
      run.program = program;
      run.round = round + 1;
      run.seed = 1 + round % 3;
      run.steps = 30;
      run.step_ns =
          50e6 * std::exp(-saved + made.noise * normal(random) + (made.in_order ? 0 : day) + made.drift * at);
      record.runs.push_back(run);
    }
  }
  record.rounds += rounds;
}

}  // namespace ridgeline::testing
