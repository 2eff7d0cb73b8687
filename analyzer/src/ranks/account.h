/// account.h: where the time of the job's steps goes, and of its kernels over ranks.
#pragma once

#include <vector>

#include "ranks/collective_costs.h"
#include "ranks/job_view.h"

namespace ridgeline::analyzer::ranks {

/// Of a rank alone nothing is waited for but its own collectives.
struct Alone {
  const JobView& view;
  const CollectiveCosts& costs;
};

/// `alone`: of a run of one rank, or null.
[[nodiscard]] std::vector<AccountRow> account_of(const JobView& view, const CollectiveCosts& costs,
                                                 const Alone* alone);

/// Adds up to the difference of the steps' durations: all are means over ranks and steps. `account` and `interference`
/// are of `view`.
[[nodiscard]] ScalingLoss scaling_loss(const std::vector<AccountRow>& account,
                                       const InterferenceOfJob& interference, const JobView& view,
                                       const JobView& alone);

/// Most time first.
[[nodiscard]] std::vector<KernelOverRanks> kernels_over_ranks(const JobView& view);

}  // namespace ridgeline::analyzer::ranks
