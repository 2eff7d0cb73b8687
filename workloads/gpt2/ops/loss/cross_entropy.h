// cross_entropy.h: the classifier in separate steps, as it is written first: log-softmax, loss, gradient.
//
// classifier.h does the same in one pass over the logits and keeps nothing between forward and backward.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// logits, log_probs and dlogits are (N,Vp); columns >= vocab are padding: they take no part, their log_probs
/// are undefined and their dlogits are 0. Real is float or double.
///
/// log_probs[n,v] = logits[n,v] - log(sum over u of exp(logits[n,u])).
template <typename Real>
void log_softmax_cpu(Real* log_probs, const Real* logits, std::int64_t rows, int vocab, int padded_vocab);
/// losses[n] = -log_probs[n,targets[n]]; NaN for a target outside [0, vocab).
template <typename Real>
void cross_entropy_cpu(Real* losses, const Real* log_probs, const std::int32_t* targets, std::int64_t rows,
                       int vocab, int padded_vocab);
/// dlogits = dloss * (exp(log_probs) - onehot); NaN in rows whose target is outside [0, vocab).
template <typename Real>
void cross_entropy_backward_cpu(Real* dlogits, const Real* log_probs, const std::int32_t* targets, Real dloss,
                                std::int64_t rows, int vocab, int padded_vocab);

/// Log-probabilities are FP32 whatever T is, as frameworks keep them under mixed precision: in bf16 a loss of
/// 10 nats would be off by 0.03, and a gradient near a sure prediction by its own size.
template <typename T>
constexpr std::int64_t log_softmax_bytes(std::int64_t rows, std::int64_t vocab) {
  return rows * vocab * std::int64_t{sizeof(T) + sizeof(float)};
}
constexpr std::int64_t log_softmax_flops(std::int64_t rows, std::int64_t vocab) {
  return 5 * rows * vocab;  // maximum, subtract, exponential, add, subtract
}
constexpr std::int64_t cross_entropy_bytes(std::int64_t rows) {
  return rows * std::int64_t{2 * sizeof(float) + sizeof(std::int32_t)};
}
constexpr std::int64_t cross_entropy_flops(std::int64_t rows) {
  return rows;
}
template <typename T>
constexpr std::int64_t cross_entropy_backward_bytes(std::int64_t rows, std::int64_t vocab,
                                                    std::int64_t padded_vocab) {
  return rows * (vocab * std::int64_t{sizeof(float)} + padded_vocab * std::int64_t{sizeof(T)} +
                 std::int64_t{sizeof(std::int32_t)});
}
constexpr std::int64_t cross_entropy_backward_flops(std::int64_t rows, std::int64_t vocab) {
  return 3 * rows * vocab;  // exponential, subtract, scale
}

/// Elements of the log-probabilities that forward leaves for backward.
constexpr std::int64_t log_probs_size(std::int64_t rows, std::int64_t padded_vocab) {
  return rows * padded_vocab;
}

/// T is float or bf16. Any stride Vp and any alignment: those that 16 bytes do not divide take one element an
/// access. rows < 2^31.
template <typename T>
void launch_log_softmax(float* log_probs, const T* logits, std::int64_t rows, int vocab, int padded_vocab,
                        cudaStream_t stream, KernelWidth width = KernelWidth::packed);
void launch_cross_entropy(float* losses, const float* log_probs, const std::int32_t* targets,
                          std::int64_t rows, int vocab, int padded_vocab, cudaStream_t stream);
template <typename T>
void launch_cross_entropy_backward(T* dlogits, const float* log_probs, const std::int32_t* targets,
                                   float dloss, std::int64_t rows, int vocab, int padded_vocab,
                                   cudaStream_t stream, KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
