/// interference_cost.h: what collectives cost the kernels beside them, over the steps and ranks of a job.
#pragma once

#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"

namespace ridgeline::analyzer::ranks {

[[nodiscard]] InterferenceOfJob interference_cost(const JobView& view);

}  // namespace ridgeline::analyzer::ranks
