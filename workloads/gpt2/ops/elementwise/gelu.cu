// gelu.cu: tanh-form GELU and its derivative
// shapes  inp,out,dout,dinp [n] contiguous T; any n (tail guarded)
// bytes   forward 2*n*sizeof(T), backward 3*n*sizeof(T)
// flops   forward 8*n, backward 16*n (an exponential or division counts 1)
// check   |gpu-ref| <= 4*eps(T)*(|x|+1) forward, 4*eps(T)*|dout|*(|x|+1) backward; non-finite mismatch fails
// bound   DRAM
#include <cmath>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_math.cuh"

namespace ridgeline::gpt2 {

template <typename Real>
void gelu_forward_cpu(Real* out, const Real* inp, std::int64_t n) {
  const Real scale = std::sqrt(Real(2) / Real(3.14159265358979323846));
  for (std::int64_t i = 0; i < n; ++i) {
    const Real x = inp[i];
    const Real u = scale * (x + Real(0.044715) * x * x * x);
    out[i] = Real(0.5) * x * (Real(1) + std::tanh(u));
  }
}

template <typename Real>
void gelu_backward_cpu(Real* dinp, const Real* inp, const Real* dout, std::int64_t n) {
  const Real scale = std::sqrt(Real(2) / Real(3.14159265358979323846));
  for (std::int64_t i = 0; i < n; ++i) {
    const Real x = inp[i];
    const Real t = std::tanh(scale * (x + Real(0.044715) * x * x * x));
    const Real du = scale * (Real(1) + Real(3 * 0.044715) * x * x);
    dinp[i] = dout[i] * (Real(0.5) * (Real(1) + t) + Real(0.5) * x * (Real(1) - t * t) * du);
  }
}

namespace {

constexpr int kBlock = 256;

// kWide: n vectors of 16 bytes. Otherwise n elements.
template <typename T, bool kWide>
__global__ void gelu_forward_kernel(T* out, const T* inp, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if constexpr (kWide) {
    float x[kPackedSize<T>];
    unpack(load128(inp + i * kPackedSize<T>), x);
#pragma unroll
    for (int k = 0; k < kPackedSize<T>; ++k) x[k] = gelu_value<T>(x[k]);
    store128(out + i * kPackedSize<T>, pack<T>(x));
  } else {
    out[i] = from_float<T>(gelu_value<T>(to_float(inp[i])));
  }
}

template <typename T, bool kWide>
__global__ void gelu_backward_kernel(T* dinp, const T* inp, const T* dout, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if constexpr (kWide) {
    float x[kPackedSize<T>];
    float d[kPackedSize<T>];
    unpack(load128_streaming(inp + i * kPackedSize<T>), x);
    unpack(load128(dout + i * kPackedSize<T>), d);
#pragma unroll
    for (int k = 0; k < kPackedSize<T>; ++k) d[k] *= gelu_slope<T>(x[k]);
    store128(dinp + i * kPackedSize<T>, pack<T>(d));
  } else {
    dinp[i] = from_float<T>(to_float(dout[i]) * gelu_slope<T>(to_float(inp[i])));
  }
}

}  // namespace

template <typename T>
void launch_gelu_forward(T* out, const T* inp, std::int64_t n, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("gelu_forward", {gelu_forward_bytes<T>(n), gelu_forward_flops(n)});
  if (n <= 0) return;
  const bool packed = width == KernelWidth::packed && is_aligned_16(out) && is_aligned_16(inp);
  const std::int64_t wide = packed ? n / kPackedSize<T> : 0;
  const std::int64_t done = wide * kPackedSize<T>;
  if (wide > 0) {
    gelu_forward_kernel<T, true>
        <<<static_cast<unsigned>(ceil_div(wide, kBlock)), kBlock, 0, stream>>>(out, inp, wide);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  if (done < n) {
    gelu_forward_kernel<T, false><<<static_cast<unsigned>(ceil_div(n - done, kBlock)), kBlock, 0, stream>>>(
        out + done, inp + done, n - done);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
}

template <typename T>
void launch_gelu_backward(T* dinp, const T* inp, const T* dout, std::int64_t n, cudaStream_t stream,
                          KernelWidth width) {
  const NvtxRange range("gelu_backward", {gelu_backward_bytes<T>(n), gelu_backward_flops(n)});
  if (n <= 0) return;
  const bool packed =
      width == KernelWidth::packed && is_aligned_16(dinp) && is_aligned_16(inp) && is_aligned_16(dout);
  const std::int64_t wide = packed ? n / kPackedSize<T> : 0;
  const std::int64_t done = wide * kPackedSize<T>;
  if (wide > 0) {
    gelu_backward_kernel<T, true>
        <<<static_cast<unsigned>(ceil_div(wide, kBlock)), kBlock, 0, stream>>>(dinp, inp, dout, wide);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  if (done < n) {
    gelu_backward_kernel<T, false><<<static_cast<unsigned>(ceil_div(n - done, kBlock)), kBlock, 0, stream>>>(
        dinp + done, inp + done, dout + done, n - done);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
}

template void gelu_forward_cpu(float*, const float*, std::int64_t);
template void gelu_forward_cpu(double*, const double*, std::int64_t);
template void gelu_backward_cpu(float*, const float*, const float*, std::int64_t);
template void gelu_backward_cpu(double*, const double*, const double*, std::int64_t);
template void launch_gelu_forward<float>(float*, const float*, std::int64_t, cudaStream_t, KernelWidth);
template void launch_gelu_forward<bf16>(bf16*, const bf16*, std::int64_t, cudaStream_t, KernelWidth);
template void launch_gelu_backward<float>(float*, const float*, const float*, std::int64_t, cudaStream_t,
                                          KernelWidth);
template void launch_gelu_backward<bf16>(bf16*, const bf16*, const bf16*, std::int64_t, cudaStream_t,
                                         KernelWidth);

}  // namespace ridgeline::gpt2
