// memory_fit.h: which batch fits the GPU's memory. Host only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ridgeline::gpt2 {

/// What the libraries take beside the plan once they run: code that is loaded with the first call of a kernel,
/// handles, cuDNN's plans. Nothing reports it in advance; this is a bound for one GPU model's worth of them.
inline constexpr std::int64_t kLibraryBytes = std::int64_t{512} << 20;
/// What NCCL takes besides for its channels.
inline constexpr std::int64_t kNcclBytes = std::int64_t{512} << 20;

/// The largest batch of [1, largest] that needs at most `available_bytes`; 0 if not even one sequence does.
/// needed_bytes(batch) must not fall with the batch.
int largest_batch(const std::function<std::int64_t(int batch)>& needed_bytes, std::int64_t available_bytes,
                  int largest);

/// The batch and the micro-batches to ask for instead of (batch, grad_accum), so that a step keeps its tokens:
/// the largest divisor of batch*grad_accum that fits. Empty when `fitting` is 0. "-B 16 --grad-accum 2 fits
/// and keeps the step's tokens (-B 21 is the largest that fits)". Batches are those of one rank, and -B counts those of
/// all `ranks`.
std::string batch_advice(int batch, int grad_accum, int fitting, int ranks = 1);

}  // namespace ridgeline::gpt2
