// bisect.h: the search for the first of several candidates that is bad.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ridgeline::experiment {

/// What a trial of one candidate said.
enum class Trial { good, bad, untestable };

struct Bisected {
  std::size_t first_bad = 0;
  std::vector<std::size_t>
      untestable;  ///< in the order in which they were tried: one of them may be the first
};

/// Called with a candidate and those that may still be the first, ascending; the last of them is known to be bad.
using TryCandidate = std::function<Trial(std::size_t candidate, const std::vector<std::size_t>& left)>;

/// Candidates 0 to count - 1, of which the last is known to be bad and what precedes the first to be good. count >= 1.
[[nodiscard]] Bisected bisect(std::size_t count, const TryCandidate& try_candidate);

}  // namespace ridgeline::experiment
