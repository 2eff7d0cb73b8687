// gelu.h: GELU in its tanh form, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), forward and backward.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// Real is float or double.
template <typename Real>
void gelu_forward_cpu(Real* out, const Real* inp, std::int64_t n);
/// dinp = dout * gelu'(inp); dinp may be dout.
template <typename Real>
void gelu_backward_cpu(Real* dinp, const Real* inp, const Real* dout, std::int64_t n);

template <typename T>
constexpr std::int64_t gelu_forward_bytes(std::int64_t n) {
  return 2 * n * std::int64_t{sizeof(T)};
}
constexpr std::int64_t gelu_forward_flops(std::int64_t n) {
  return 8 * n;
}
template <typename T>
constexpr std::int64_t gelu_backward_bytes(std::int64_t n) {
  return 3 * n * std::int64_t{sizeof(T)};
}
constexpr std::int64_t gelu_backward_flops(std::int64_t n) {
  return 16 * n;
}

/// out may be inp. T is float or bf16.
template <typename T>
void launch_gelu_forward(T* out, const T* inp, std::int64_t n, cudaStream_t stream,
                         KernelWidth width = KernelWidth::packed);
/// dinp = dout * gelu'(inp). dinp may be dout (in place) or inp.
template <typename T>
void launch_gelu_backward(T* dinp, const T* inp, const T* dout, std::int64_t n, cudaStream_t stream,
                          KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
