// trainer.h: runs the training loop.
//
// The host stays ahead of the GPU: a step's loss is copied to pinned memory in stream order and read only
// when the next step has been enqueued. A step's time runs from the end of the one before to its own end on
// the GPU's clock, so it includes every gap the host leaves.
#pragma once

#include "gpt2/ranks/link.h"
#include "gpt2/train/arguments/options.h"

namespace ridgeline::gpt2 {

/// Reads what can be read of arguments and files without a GPU, and writes nothing. Throws InputError.
void check_run(const Options& options, int ranks);

/// Trains as asked; prints progress to stdout. Throws InputError, DivergedError, EnvironmentError, CudaError
/// or what the libraries throw.
void train(const Options& options);

/// The same as one rank of several: rank 0 prints and writes files. When it cannot go on, the link ends the process.
void train_rank(const Options& options, RankLink& link);

}  // namespace ridgeline::gpt2
