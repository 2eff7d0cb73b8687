// batch_slice.h: a rank's sequences of the batches that all ranks train on together. Host only, no CUDA.
#pragma once

#include <memory>

#include "gpt2/ranks/place.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {

/// Batches of `batch` x T tokens are read from `whole`, and of each the slice's sequences are handed on. Position and
/// identity are those of the whole, so that they do not depend on the number of ranks.
std::unique_ptr<TokenSource> sliced_source(std::unique_ptr<TokenSource> whole, int batch,
                                           const BatchSlice& slice);

}  // namespace ridgeline::gpt2
