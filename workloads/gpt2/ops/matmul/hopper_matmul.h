// hopper_matmul.h: the two GEMMs of the MLP that have GELU beside them, by kernels of our own for
// GPUs of compute capability 9.0.
//
// All tensors are row-major, dense, bfloat16; sums are FP32. C channels, H hidden (4C in GPT-2):
//   forward         pre (N, H) = inp (N, C) x weight (H, C)^T + bias (H);  out (N, H) = GELU(pre);
//                   slope (N, H) = GELU'(pre) in a byte (gelu_slope.h)
//   backward_input  dpre (N, H) = dout (N, C) x weight (C, H), each element times slope (N, H);
//                   dbias (H) += column sums of dpre
// Everything is rounded once, when it is stored. With the slope kept the backward pass is left one multiplication an
// element, where GELU' of a kept pre costs two special-function operations and more; and half the bytes. Column
// sums are those of the rounded dpre, added in a fixed order: the same bits in every run.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu_slope.h"

namespace ridgeline::gpt2 {

constexpr std::int64_t hopper_matmul_forward_bytes(std::int64_t rows, std::int64_t channels,
                                                   std::int64_t hidden) {
  return std::int64_t{sizeof(bf16)} * (rows * channels + hidden * channels + hidden + rows * hidden) +
         rows * hidden;
}
constexpr std::int64_t hopper_matmul_forward_flops(std::int64_t rows, std::int64_t channels,
                                                   std::int64_t hidden) {
  return 2 * rows * channels * hidden;
}
constexpr std::int64_t hopper_matmul_backward_input_bytes(std::int64_t rows, std::int64_t channels,
                                                          std::int64_t hidden, bool bias_gradient) {
  return std::int64_t{sizeof(bf16)} * (rows * channels + hidden * channels + rows * hidden) + rows * hidden +
         (bias_gradient ? 2 * hidden * std::int64_t{sizeof(float)} : 0);
}
constexpr std::int64_t hopper_matmul_backward_input_flops(std::int64_t rows, std::int64_t channels,
                                                          std::int64_t hidden, bool bias_gradient) {
  return 2 * rows * channels * hidden + (bias_gradient ? rows * hidden : 0);
}

/// Real is float or double. Nothing is rounded between GEMM and GELU. slope is in the order of the columns.
template <typename Real>
void hopper_matmul_forward_cpu(Real* out, Real* pre, Real* slope, const Real* inp, const Real* weight,
                               const Real* bias, std::int64_t rows, int channels, int hidden);
/// dpre is written, dbias accumulates; slope is in the order of the columns.
template <typename Real>
void hopper_matmul_backward_input_cpu(Real* dpre, Real* dbias, const Real* dout, const Real* weight,
                                      const Real* slope, std::int64_t rows, int channels, int hidden);

/// Whether the kernels can run on the current device (compute capability 9.0) with these sizes: channels a multiple of
/// 8, hidden of 16. Best with rows a multiple of 128, hidden of 192, and channels of 768 or more: fewer take as
/// long as 768.
bool hopper_matmul_supported(std::int64_t rows, int channels, int hidden);

/// Floats of partial sums that backward_input leaves for one bias gradient.
std::int64_t hopper_matmul_partial_sums(std::int64_t rows, int hidden);

/// Pointers are aligned to 16 bytes, and the problem is supported; std::invalid_argument otherwise. Both may
/// be captured in a CUDA graph.
void launch_hopper_matmul_forward(bf16* out, std::uint8_t* slope, const bf16* inp, const bf16* weight,
                                  const bf16* bias, std::int64_t rows, int channels, int hidden,
                                  cudaStream_t stream);
/// dbias is complete when `sums` has been flushed; null: no bias gradient, and sums stays as it is.
void launch_hopper_matmul_backward_input(bf16* dpre, float* dbias, const bf16* dout, const bf16* weight,
                                         const std::uint8_t* slope, std::int64_t rows, int channels,
                                         int hidden, PartialSums& sums, cudaStream_t stream);

}  // namespace ridgeline::gpt2
