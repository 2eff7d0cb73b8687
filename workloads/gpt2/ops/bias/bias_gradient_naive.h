// bias_gradient_naive.h: the column sum of dout as it is written first, beside bias_gradient.h's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// FP32 dbias accumulates (reference and work: bias_gradient_cpu, bias_gradient_bytes, bias_gradient_flops).
/// Deterministic.
template <typename T>
void launch_bias_gradient_naive(float* dbias, const T* dout, std::int64_t rows, int channels,
                                cudaStream_t stream);

}  // namespace ridgeline::gpt2
