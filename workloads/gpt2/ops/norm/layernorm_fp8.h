// layernorm_fp8.h: layer normalisation whose results go on as FP8, in both orientations: forward the normalised rows,
// backward the gradient of the input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

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

/// Rows and channels are multiples of 16, channels at most 1792.
constexpr bool layernorm_fp8_supported(std::int64_t rows, int channels) {
  return fp8_size_supported(rows, channels) && channels <= 1792;
}

/// normed = layernorm(inp) in E4M3, of FP32 values that were rounded to nothing else before. Both throw
/// std::invalid_argument unless layernorm_fp8_supported and every tensor is aligned to 16 bytes.
void launch_layernorm_forward_fp8(const Fp8Output& normed, float* mean, float* rstd, const bf16* inp,
                                  const bf16* weight, const bf16* bias, std::int64_t rows, int channels,
                                  cudaStream_t stream);
/// residual = inp1 + inp2 rounded to bfloat16, normed = layernorm(residual) in E4M3. residual may be inp1 or inp2.
void launch_residual_layernorm_forward_fp8(bf16* residual, const Fp8Output& normed, float* mean, float* rstd,
                                           const bf16* inp1, const bf16* inp2, const bf16* weight,
                                           const bf16* bias, std::int64_t rows, int channels,
                                           cudaStream_t stream);

/// As launch_layernorm_backward of bf16, and the gradient, before it is rounded to bfloat16, in E5M2 as well.
/// dinp_colsum is not null. Throws as above.
void launch_layernorm_backward_fp8(bf16* dinp_out, const Fp8Output& dinp_fp8, const bf16* dresidual_in,
                                   float* dweight, float* dbias, float* dinp_colsum, const bf16* dout,
                                   const bf16* inp, const bf16* weight, const float* mean, const float* rstd,
                                   std::int64_t rows, int channels, PartialSums& sums, cudaStream_t stream);

}  // namespace ridgeline::gpt2
