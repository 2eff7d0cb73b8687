// bias_gradient_fp8.h: the gradient of a bias from a gradient in E5M2 that lies transposed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

constexpr std::int64_t bias_gradient_fp8_bytes(std::int64_t rows, std::int64_t channels) {
  return rows * channels + 2 * channels * std::int64_t{sizeof(float)};
}
constexpr std::int64_t bias_gradient_fp8_flops(std::int64_t rows, std::int64_t channels) {
  return rows * channels;
}

/// dbias[c] += *inverse * sum over n of transposed[c][n].  transposed (OC,N) in E5M2, aligned to 16 bytes, N a multiple
/// of 16 (std::invalid_argument otherwise); dbias (OC) FP32; inverse in device memory. In a fixed order: the
/// same bits in every run. What E5M2 rounded away is not in the sum, as it is not in the weight's gradient.
void launch_bias_gradient_fp8(float* dbias, const std::uint8_t* transposed, const float* inverse,
                              std::int64_t rows, int channels, cudaStream_t stream);

}  // namespace ridgeline::gpt2
