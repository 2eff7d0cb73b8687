/// job_capture.h: from the captures of a job's ranks to one.
///
/// 1. ranks_of() asks each capture for what its ranks did: steps, kernels, collectives, on the rank's own clock
/// 2. merged() puts them together, gives a step one number in all ranks as far as it is known, and refuses what does
/// not belong together; whichever way a job is merged, in one go or in parts, the result is the same
/// 3. align_clocks() says how the hosts' clocks stand to each other.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/job.h"

namespace ridgeline::analyzer {

/// Of a capture with processes that have a rank, or of a merged job as it is. `file`: how messages name it. Failures:
/// those of opening it; no_data (no process has a rank, a rank has no timeline step), usage (a rank twice), corrupt.
[[nodiscard]] Result<store::Job> ranks_of(const std::string& file);

/// One job of all: no clocks. Failures: usage, naming both files: a rank twice, another program, a different number of
/// ranks, other communicators. no_data: nothing to merge.
[[nodiscard]] Result<store::Job> merged(std::vector<store::Job> parts);

/// Fills Job::clocks: no rank leaves a collective that all take part in before the last has entered, so that ends and
/// starts bound how far two clocks are apart. The lowest rank's host is the reference.
void align_clocks(store::Job& job);

/// Ranks of the job that are not there; none if the number is not known.
[[nodiscard]] std::vector<std::int64_t> missing_ranks(const store::Job& job);

/// The host whose clock a rank's times are on: its own name, or "rank N" where it is not known.
[[nodiscard]] std::string clock_of(const store::JobRank& rank);

}  // namespace ridgeline::analyzer
