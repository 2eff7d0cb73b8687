// residual.h: out = a + b, elementwise.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// Real is float or double. Its backward pass needs no op: both gradients equal dout.
template <typename Real>
void residual_forward_cpu(Real* out, const Real* a, const Real* b, std::int64_t n);

template <typename T>
constexpr std::int64_t residual_forward_bytes(std::int64_t n) {
  return 3 * n * std::int64_t{sizeof(T)};
}
constexpr std::int64_t residual_forward_flops(std::int64_t n) {
  return n;
}

/// out may be a or b. T is float or bf16.
template <typename T>
void launch_residual_forward(T* out, const T* a, const T* b, std::int64_t n, cudaStream_t stream,
                             KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
