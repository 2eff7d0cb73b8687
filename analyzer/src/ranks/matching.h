/// matching.h: which calls of the ranks are one collective.
///
/// In each step and communicator the sequence that most ranks have is taken for the true one. A rank whose own differs
/// is fitted to it by its longest common subsequence of calls that are alike (function, bytes, ordinal where it is
/// known); what does not fit is listed, never dropped without a word.
#pragma once

#include <cstdint>
#include <vector>

#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"

namespace ridgeline::analyzer::ranks {

inline constexpr std::int64_t kNoCall = -1;

struct MatchedCollective {
  store::Id site_id = 0;
  std::int64_t step_index = 0;
  std::int64_t place = 0;  ///< in the step's sequence of its communicator
  /// By place of the rank: place in Job::calls, or kNoCall.
  std::vector<std::int64_t> calls;
  std::int64_t ranks = 0;  ///< that have a call
};

struct Matching {
  std::vector<MatchedCollective> collectives;  ///< by step, communicator, place
  std::vector<CallMismatch> mismatches;
};

[[nodiscard]] Matching match_calls(const JobView& view);

}  // namespace ridgeline::analyzer::ranks
