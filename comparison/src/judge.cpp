#include "judge.h"

#include <cmath>

namespace ridgeline::comparison {
namespace {

// Of the difference that was found: so much of it must show again.
constexpr double kConfirmedPart = 0.5;

}  // namespace

void Judge::decide(Outcome& outcome, OutcomeReason& reason, const Change& change, bool significant,
                   bool large, const Series& series) const {
  outcome = Outcome::inconclusive;
  reason = OutcomeReason::noise;
  if (layout_.runs_a < 2 || layout_.runs_b < 2) {
    reason = OutcomeReason::single_run;
  } else if (!enough_pairs()) {
    reason = OutcomeReason::too_few_pairs;
  } else if (significant && large) {
    if (in_blocks_) {
      reason = OutcomeReason::blocks;
    } else if (!confirmed(series)) {
      reason = OutcomeReason::not_confirmed;
    } else {
      outcome = change.delta > 0 ? Outcome::regressed : Outcome::improved;
      reason = OutcomeReason::none;
    }
  } else if (change.same_p && *change.same_p <= options_.equivalence_alpha) {
    outcome = Outcome::same;
    reason = OutcomeReason::none;
  } else if (significant) {
    reason = OutcomeReason::small;
  }
}

bool Judge::confirmed(const Series& series) const {
  const auto again = confirmation_difference(series, layout_);
  if (!again) return true;
  const double found = mean_difference(series, layout_);
  return *again * found > 0 && std::abs(*again) >= kConfirmedPart * std::abs(found);
}

}  // namespace ridgeline::comparison
