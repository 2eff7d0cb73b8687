// ladder.h: measures what each rung of a ladder is worth.
//
// Lifecycle of measure_ladder(): 1. checkouts, if commits or patches are rungs, are made and built  2. each sweep is
// decided, the lowest first, in rounds of its own that count for nothing else  3. rounds: every program once, in random
// order, then once more in the mirrored order, each in a process of its own  4. after six rounds and after each
// further two a look, with the error spent over the looks, until every rung is decided, or rounds or time are up
// 5. checkouts go; a capture of each program and its log stay.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/comparison/ladder.h"
#include "ridgeline/experiment/directory.h"
#include "ridgeline/experiment/interruption.h"
#include "ridgeline/experiment/ladder_file.h"

namespace ridgeline::experiment {

/// Indices of the programs in the order in which they run in a round, counted from 0: of each even round a random one,
/// of the odd round after it the same from its end.
[[nodiscard]] std::vector<std::size_t> mirrored_order(std::size_t programs, std::int64_t round,
                                                      std::int64_t order_seed);

struct LadderPlan {
  std::vector<std::string> recorder;
  std::vector<std::string> record;  ///< options; empty: the file's, or the timeline alone
  comparison::LadderQuestions questions;
  std::int64_t rounds = 0;  ///< 0: the file's
  /// No round begins that is not expected to end within it.
  std::optional<std::chrono::milliseconds> budget;
  std::int64_t order_seed = 1;
  bool keep_trees = false, keep_captures = false;
  std::function<void(const std::string&)> tell;  ///< a line about what is done now
  /// What is known so far, after each round.
  std::function<void(const comparison::LadderRecord&)> keep;
  /// Whose time the budget is of. Empty: that of std::chrono::steady_clock.
  std::function<std::chrono::steady_clock::time_point()> now;
};

/// The programs of all arms, before anything runs: arms whose commands are equal share one. Sweeps have their first
/// choice. Failure: usage.
[[nodiscard]] Result<comparison::LadderRecord> planned_ladder(const LadderFile& file,
                                                              const comparison::LadderQuestions& questions);

/// A program that does not run is left out and says why; the bottom must. Failures: usage, no_data (the bottom does not
/// run; or no choice of a sweep does), environment (a build fails), cancelled.
[[nodiscard]] Result<comparison::LadderRecord> measure_ladder(const LadderFile& file, const LadderPlan& plan,
                                                              ExperimentDirectory& directory,
                                                              Interruption* interruption = nullptr);

}  // namespace ridgeline::experiment
