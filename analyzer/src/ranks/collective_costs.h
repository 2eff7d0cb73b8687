/// collective_costs.h: of each collective wait and transfer apart, and what of them a rank's step waits for.
///
/// A collective that runs with nothing beside it need not be waited for: the host may have nothing else to do yet.
/// Ranks run the same program, so that the kernel after its end waits for it if it never began before the end of the
/// same collective, on whichever rank, in whichever step. Then the time from the last kernel's end to its own is a
/// wait.
#pragma once

#include <vector>

#include "ranks/job_view.h"
#include "ranks/matching.h"

namespace ridgeline::analyzer::ranks {

/// Where a step of a rank goes: with its compute they add up to its duration.
struct StepParts {
  double copies_ns = 0;    ///< a copy runs, nothing computes and no collective is waited for
  double idle_ns = 0;      ///< neither
  double wait_ns = 0;      ///< a collective is waited for that the last rank has not entered
  double transfer_ns = 0;  ///< one that all have entered
  double own_ns = 0;       ///< compute, copies and idle: what other ranks may wait for
};

struct CollectiveCosts {
  std::vector<CollectiveCost> rows;                   ///< by communicator, place
  std::vector<StepParts> parts;                       ///< rank * steps + step, of steps that all ranks have
  std::vector<std::int64_t> times_last;               ///< by rank: collectives in which it entered last
  std::int64_t told = 0;                              ///< collectives of which that could be told
  std::vector<std::optional<double>> clock_error_ns;  ///< by rank
  std::vector<bool> waited_for;  ///< by place in Job::calls: the next kernel waits for it
};

[[nodiscard]] CollectiveCosts collective_costs(const JobView& view, const Matching& matching);

}  // namespace ridgeline::analyzer::ranks
