// job.h: a run as one process, as ranks that it forks, or as one of the ranks that a launcher has started.
#pragma once

#include "gpt2/train/arguments/options.h"

namespace ridgeline::gpt2 {

/// Returns the program's exit code. Call it before anything has used CUDA. Throws as train() does.
int run_job(const Options& options);

}  // namespace ridgeline::gpt2
