/// rebucket.h: the same gradients reduced in other pieces.
#pragma once

#include <cstdint>

#include "ranks/link_fit.h"

namespace ridgeline::analyzer::ranks {

/// Where a bucket that holds several recorded ones ends: between the two a program's own edge lies.
enum class BucketFill {
  evenly,  ///< at the wanted size, as if a recorded bucket had filled evenly since the one before it was ready
  late,    ///< with the recorded bucket that makes it large enough
};

enum class RebucketOutcome {
  done,
  no_buckets,
  ready_unknown,
  finer,  ///< than the recorded ones: which gradients they hold is not known
};

/// Reductions in a row on one communicator (all-reduce or reduce-scatter of 64 KiB or more, none of which
/// must end before the next can be ready) are put together: a bucket closes when it has `bucket_bytes`, less
/// a tenth; what is left is the last. Recorded ones that are larger stay as they are, other collectives too.
/// Whether the chain's steps can be.
[[nodiscard]] RebucketOutcome can_rebucket(const StepChain& chain, std::int64_t bucket_bytes);
/// A step of a chain that can be.
void rebucket(ReplayedStep& step, std::int64_t bucket_bytes, BucketFill fill, const LinkFits& fits);

/// Places in the step's calls of the reductions in a row: [first, last] of each.
struct BucketRun {
  std::vector<std::size_t> calls;
};
[[nodiscard]] std::vector<BucketRun> bucket_runs(const ReplayedStep& step);

/// Collectives that were hidden to their end are waited for there, but for those of a run: what needs one of
/// its gradients needs all, and waits for the last. No capture shows whether that is so: it is the other end
/// of what a slower link costs.
void take_hidden_as_waited(ReplayedStep& step);

}  // namespace ridgeline::analyzer::ranks
