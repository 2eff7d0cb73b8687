// add_bias.h: the bias of a linear layer as a kernel after the GEMM.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// out[n,c] += bias[c].  out (N,OC), bias (OC). Real is float or double.
template <typename Real>
void add_bias_cpu(Real* out, const Real* bias, std::int64_t rows, int channels);

template <typename T>
constexpr std::int64_t add_bias_bytes(std::int64_t rows, std::int64_t channels) {
  return (2 * rows + 1) * channels * std::int64_t{sizeof(T)};
}
constexpr std::int64_t add_bias_flops(std::int64_t rows, std::int64_t channels) {
  return rows * channels;
}

/// In place. T is float or bf16; any alignment: rows that 128 bits do not divide take the scalar kernel.
template <typename T>
void launch_add_bias(T* out, const T* bias, std::int64_t rows, int channels, KernelWidth width,
                     cudaStream_t stream);

}  // namespace ridgeline::gpt2
