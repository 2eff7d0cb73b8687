// classifier.h: softmax, cross entropy and the gradient of the logits in one pass over the logits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// logits (N,Vp), targets (N), losses (N). Columns >= vocab take no part and get dlogits 0.
/// losses[n] = -log softmax(logits[n])[targets[n]];  logits become dloss * (softmax - onehot).
/// A target outside [0, vocab) gives a NaN loss and NaN dlogits: loud, and no access out of bounds.
/// Real is float or double.
template <typename Real>
void fused_classifier_cpu(Real* logits, Real* losses, const std::int32_t* targets, Real dloss,
                          std::int64_t rows, int vocab, int padded_vocab);
/// Losses only; logits stay.
template <typename Real>
void classifier_loss_cpu(Real* losses, const Real* logits, const std::int32_t* targets, std::int64_t rows,
                         int vocab, int padded_vocab);

template <typename T>
constexpr std::int64_t fused_classifier_bytes(std::int64_t rows, std::int64_t padded_vocab) {
  return rows * (2 * padded_vocab * std::int64_t{sizeof(T)} + std::int64_t{sizeof(std::int32_t)} +
                 std::int64_t{sizeof(float)});
}
/// Per logit: max, subtract, exponential, add; then scale, exponential, subtract.
constexpr std::int64_t fused_classifier_flops(std::int64_t rows, std::int64_t vocab) {
  return 7 * rows * vocab;
}
template <typename T>
constexpr std::int64_t classifier_loss_bytes(std::int64_t rows, std::int64_t vocab) {
  return rows *
         (vocab * std::int64_t{sizeof(T)} + std::int64_t{sizeof(std::int32_t)} + std::int64_t{sizeof(float)});
}
constexpr std::int64_t classifier_loss_flops(std::int64_t rows, std::int64_t vocab) {
  return 4 * rows * vocab;
}

/// In place: logits become dlogits. losses (N) FP32 written. dloss is usually 1 / (tokens of the whole step).
template <typename T>
void launch_fused_classifier(T* logits, float* losses, const std::int32_t* targets, float dloss,
                             std::int64_t rows, int vocab, int padded_vocab, cudaStream_t stream,
                             KernelWidth width = KernelWidth::packed);

/// With the gradient in FP8: as fused_classifier_bytes, one byte per element written.
constexpr std::int64_t fused_classifier_fp8_bytes(std::int64_t rows, std::int64_t padded_vocab) {
  return rows * (padded_vocab * (std::int64_t{sizeof(bf16)} + 1) + std::int64_t{sizeof(std::int32_t)} +
                 std::int64_t{sizeof(float)});
}
/// Rows of whole 16 bytes either way, and one of them fits into shared memory.
bool fused_classifier_fp8_supported(int padded_vocab);
/// dlogits (N,Vp) = E5M2 of the gradient times `scale`; logits stay. Throws std::invalid_argument if not supported, or
/// if a tensor is not aligned to 16 bytes.
void launch_fused_classifier_fp8(std::uint8_t* dlogits, float scale, float* losses, const bf16* logits,
                                 const std::int32_t* targets, float dloss, std::int64_t rows, int vocab,
                                 int padded_vocab, cudaStream_t stream);

/// Validation: losses (N) only, logits untouched.
template <typename T>
void launch_classifier_loss(float* losses, const T* logits, const std::int32_t* targets, std::int64_t rows,
                            int vocab, int padded_vocab, cudaStream_t stream,
                            KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
