// layernorm.h: layer normalisation, alone and fused with the residual addition that precedes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

class PartialSums;

/// Added to the variance under the square root.
inline constexpr float kLayernormEpsilon = 1e-5F;

/// References. inp, out (N,C); weight, bias (C); mean, rstd (N). Real is float or double.
template <typename Real>
void layernorm_forward_cpu(Real* out, Real* mean, Real* rstd, const Real* inp, const Real* weight,
                           const Real* bias, std::int64_t rows, int channels);
/// residual = inp1 + inp2; normed = layernorm(residual).
template <typename Real>
void residual_layernorm_forward_cpu(Real* residual, Real* normed, Real* mean, Real* rstd, const Real* inp1,
                                    const Real* inp2, const Real* weight, const Real* bias, std::int64_t rows,
                                    int channels);
/// dinp_out = dresidual_in + d(layernorm)/d(inp); dresidual_in may be null (taken as zero) or equal dinp_out.
/// dweight and dbias accumulate. dinp_colsum (C), if not null, accumulates the column sums of dinp_out.
template <typename Real>
void layernorm_backward_cpu(Real* dinp_out, const Real* dresidual_in, Real* dweight, Real* dbias,
                            Real* dinp_colsum, const Real* dout, const Real* inp, const Real* weight,
                            const Real* mean, const Real* rstd, std::int64_t rows, int channels);

template <typename T>
constexpr std::int64_t layernorm_forward_bytes(std::int64_t rows, std::int64_t channels) {
  return 2 * rows * channels * std::int64_t{sizeof(T)} + 2 * rows * std::int64_t{sizeof(float)} +
         2 * channels * std::int64_t{sizeof(T)};
}
constexpr std::int64_t layernorm_forward_flops(std::int64_t rows, std::int64_t channels) {
  return 8 * rows * channels;
}
template <typename T>
constexpr std::int64_t residual_layernorm_forward_bytes(std::int64_t rows, std::int64_t channels) {
  return layernorm_forward_bytes<T>(rows, channels) + 2 * rows * channels * std::int64_t{sizeof(T)};
}
constexpr std::int64_t residual_layernorm_forward_flops(std::int64_t rows, std::int64_t channels) {
  return 9 * rows * channels;
}
/// With dresidual_in: dout, inp and dresidual_in read, dinp_out written.
template <typename T>
constexpr std::int64_t layernorm_backward_bytes(std::int64_t rows, std::int64_t channels,
                                                bool with_residual = true) {
  return (with_residual ? 4 : 3) * rows * channels * std::int64_t{sizeof(T)} +
         2 * rows * std::int64_t{sizeof(float)} + channels * std::int64_t{sizeof(T)} +
         4 * channels * std::int64_t{sizeof(float)};
}
constexpr std::int64_t layernorm_backward_flops(std::int64_t rows, std::int64_t channels) {
  return 14 * rows * channels;
}

/// mean and rstd (N) FP32 are saved for the backward pass; either may be null when there is none.
template <typename T>
void launch_layernorm_forward(T* out, float* mean, float* rstd, const T* inp, const T* weight, const T* bias,
                              std::int64_t rows, int channels, cudaStream_t stream,
                              KernelWidth width = KernelWidth::packed);

/// residual = inp1 + inp2 rounded to T, normed = layernorm of that rounded residual: bit for bit what
/// launch_residual_forward and launch_layernorm_forward yield one after the other.
/// residual may be inp1 or inp2; normed must not overlap any input.
template <typename T>
void launch_residual_layernorm_forward(T* residual, T* normed, float* mean, float* rstd, const T* inp1,
                                       const T* inp2, const T* weight, const T* bias, std::int64_t rows,
                                       int channels, cudaStream_t stream,
                                       KernelWidth width = KernelWidth::packed);

/// Device bytes of scratch (16-byte aligned, contents irrelevant).
std::int64_t layernorm_backward_scratch_bytes(int channels);

/// dinp_out = dresidual_in + dinp. dresidual_in: null (zero) or the gradient arriving over the residual
/// branch; it may be dinp_out itself (accumulate in place). dinp_out may also be dout.
/// dweight, dbias (C) FP32 accumulate. dinp_colsum: null, or (C) FP32 into which the column sums of dinp_out
/// (before rounding to T) accumulate: that is the bias gradient of the projection that fed this residual.
/// Deterministic for a given device. With PartialSums the three sums wait there; with scratch they are
/// complete.
template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               PartialSums& sums, cudaStream_t stream,
                               KernelWidth width = KernelWidth::packed);
template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               void* scratch, cudaStream_t stream, KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
