// job_capture_query.h: the job in a file.
#pragma once

#include <string>

#include "ridgeline/base/error.h"
#include "ridgeline/store/job.h"

namespace ridgeline::queries {

/// A merged job as it is, or the ranks of a capture: those of one host have one clock. Failures: those of ranks_of().
[[nodiscard]] Result<store::Job> job_of(const std::string& path);

}  // namespace ridgeline::queries
