/// job_query.h: many ranks for a client that shows them: what a job says, one of its steps rank by rank, and where one
/// rank's own capture is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_step.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/job.h"

namespace ridgeline::queries {

/// Never null.
struct JobAnswer {
  std::string path;     ///< of the merged job, or of the capture with several ranks
  bool merged = false;  ///< a merged job, which has no launches of its own
  std::shared_ptr<const store::Job> job;
  std::shared_ptr<const analyzer::JobAnalysis> analysis;
};

/// Whether the file is a merged job, of which there is no timeline. Failures: those of opening it.
[[nodiscard]] Result<bool> is_merged_job(const std::string& path);
/// Failures: as ask_ranks().
[[nodiscard]] Result<JobAnswer> ask_job(const std::string& path);
/// Failures: as analyzer::job_step_rows().
[[nodiscard]] Result<analyzer::JobStepRows> ask_job_step(const JobAnswer& answer, std::int64_t step_index);
/// The capture with the rank's launches: the answer's own, or the one that was merged, as it was named then, seen from
/// there or from the merged job's folder. Failures: no_data (no such rank), io (it is at neither place).
[[nodiscard]] Result<std::string> capture_of_rank(const JobAnswer& answer, std::int64_t rank);

}  // namespace ridgeline::queries
