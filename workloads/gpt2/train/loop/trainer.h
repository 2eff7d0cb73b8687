// trainer.h: runs the training loop.
//
// The host stays ahead of the GPU: a step's loss is copied to pinned memory in stream order and read only
// when the next step has been enqueued. A step's time runs from the end of the one before to its own end on
// the GPU's clock, so it includes every gap the host leaves.
#pragma once

#include "gpt2/train/arguments/options.h"

namespace ridgeline::gpt2 {

/// Trains as asked; prints progress to stdout. Throws InputError, DivergedError, EnvironmentError, CudaError
/// or what the libraries throw.
void train(const Options& options);

}  // namespace ridgeline::gpt2
