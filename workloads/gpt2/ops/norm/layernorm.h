// layernorm.h: layer normalisation, alone and fused with the residual addition that precedes it. What it
// computes goes on as T, or as FP8 in both orientations: forward the normalised rows, backward the gradient
// of the input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/common/switches.h"
#include "gpt2/ops/fp8/cast_transpose.h"

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

/// As layernorm_forward_bytes of bf16, the normalised rows written twice in one byte instead of once in two.
constexpr std::int64_t layernorm_forward_fp8_bytes(std::int64_t rows, std::int64_t channels, bool residual) {
  return residual ? residual_layernorm_forward_bytes<bf16>(rows, channels)
                  : layernorm_forward_bytes<bf16>(rows, channels);
}
constexpr std::int64_t layernorm_forward_fp8_flops(std::int64_t rows, std::int64_t channels, bool residual) {
  return fp8_cast_flops(rows, channels, false) + (residual ? residual_layernorm_forward_flops(rows, channels)
                                                           : layernorm_forward_flops(rows, channels));
}
/// As layernorm_backward_bytes of bf16, and the gradient twice in one byte.
constexpr std::int64_t layernorm_backward_fp8_bytes(std::int64_t rows, std::int64_t channels,
                                                    bool with_residual) {
  return layernorm_backward_bytes<bf16>(rows, channels, with_residual) + 2 * rows * channels;
}
constexpr std::int64_t layernorm_backward_fp8_flops(std::int64_t rows, std::int64_t channels) {
  return layernorm_backward_flops(rows, channels) + fp8_cast_flops(rows, channels, false);
}

/// Rows and channels are multiples of 16, channels at most 1792. The launchers with an Fp8Output throw
/// std::invalid_argument unless it is so, every tensor is aligned to 16 bytes and width is packed.
constexpr bool layernorm_fp8_supported(std::int64_t rows, int channels) {
  return fp8_size_supported(rows, channels) && channels <= 1792;
}

/// mean and rstd (N) FP32 are saved for the backward pass; either may be null when there is none.
template <typename T>
void launch_layernorm_forward(T* out, float* mean, float* rstd, const T* inp, const T* weight, const T* bias,
                              std::int64_t rows, int channels, cudaStream_t stream,
                              KernelWidth width = KernelWidth::packed);
/// In E4M3, of FP32 values that were rounded to nothing else before.
void launch_layernorm_forward(const Fp8Output& out, float* mean, float* rstd, const bf16* inp,
                              const bf16* weight, const bf16* bias, std::int64_t rows, int channels,
                              cudaStream_t stream, KernelWidth width = KernelWidth::packed);

/// residual = inp1 + inp2 rounded to T, normed = layernorm of that rounded residual: bit for bit what
/// launch_residual_forward and launch_layernorm_forward yield one after the other.
/// residual may be inp1 or inp2; normed must not overlap any input.
template <typename T>
void launch_residual_layernorm_forward(T* residual, T* normed, float* mean, float* rstd, const T* inp1,
                                       const T* inp2, const T* weight, const T* bias, std::int64_t rows,
                                       int channels, cudaStream_t stream,
                                       KernelWidth width = KernelWidth::packed);
void launch_residual_layernorm_forward(bf16* residual, const Fp8Output& normed, float* mean, float* rstd,
                                       const bf16* inp1, const bf16* inp2, const bf16* weight,
                                       const bf16* bias, std::int64_t rows, int channels, cudaStream_t stream,
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
/// The gradient, before it is rounded to bfloat16, in E5M2 as well. dinp_colsum is not null.
void launch_layernorm_backward(bf16* dinp_out, const Fp8Output& dinp_fp8, const bf16* dresidual_in,
                               float* dweight, float* dbias, float* dinp_colsum, const bf16* dout,
                               const bf16* inp, const bf16* weight, const float* mean, const float* rstd,
                               std::int64_t rows, int channels, PartialSums& sums, cudaStream_t stream,
                               KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
