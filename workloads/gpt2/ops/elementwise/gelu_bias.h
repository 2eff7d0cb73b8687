// gelu_bias.h: GELU's derivative after a GEMM, and the gradient of the bias before the GELU, in one pass.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

class PartialSums;

/// dinp = dout * gelu'(inp); dbias[c] += sum over n of dinp[n,c].  inp, dout, dinp (N,C), dbias (C); dinp may
/// be dout. Real is float or double.
template <typename Real>
void gelu_bias_backward_cpu(Real* dinp, Real* dbias, const Real* inp, const Real* dout, std::int64_t rows,
                            int channels);

template <typename T>
constexpr std::int64_t gelu_bias_backward_bytes(std::int64_t rows, std::int64_t channels) {
  return 3 * rows * channels * std::int64_t{sizeof(T)} + 2 * channels * std::int64_t{sizeof(float)};
}
constexpr std::int64_t gelu_bias_backward_flops(std::int64_t rows, std::int64_t channels) {
  return 17 * rows * channels;
}

/// Rows are a multiple of 16 bytes. If not: launch_gelu_backward, then launch_bias_gradient.
template <typename T>
constexpr bool gelu_bias_backward_supported(int channels) {
  return channels > 0 && channels % (16 / static_cast<int>(sizeof(T))) == 0;
}

/// As launch_gelu_backward followed by launch_bias_gradient: the sums are those of the rounded dinp, in the
/// same order. dbias is complete when `sums`, which needs bias_gradient_scratch_bytes(channels), has been
/// flushed. dinp may be dout (in place). T is float or bf16. Throws std::invalid_argument if not supported, or
/// if a tensor is not aligned to 16 bytes.
template <typename T>
void launch_gelu_bias_backward(T* dinp, float* dbias, const T* inp, const T* dout, std::int64_t rows,
                               int channels, PartialSums& sums, cudaStream_t stream);

}  // namespace ridgeline::gpt2
