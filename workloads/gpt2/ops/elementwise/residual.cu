// residual.cu: out[i] = a[i] + b[i]
// shapes  out,a,b [n] contiguous T; any n (tail guarded)
// bytes   3*n*sizeof(T)  (2 reads + 1 write: the algorithmic minimum)
// flops   n
// check   |gpu-ref| <= half an ulp of T; a non-finite mismatch fails
// bound   DRAM
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/residual.h"

namespace ridgeline::gpt2 {

template <typename Real>
void residual_forward_cpu(Real* out, const Real* a, const Real* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

namespace {

constexpr int kBlock = 256;

// kWide: n vectors of 16 bytes. Otherwise n elements.
template <typename T, bool kWide>
__global__ void residual_kernel(T* out, const T* a, const T* b, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if constexpr (kWide) {
    float x[kPackedSize<T>];
    float y[kPackedSize<T>];
    unpack(load128(a + i * kPackedSize<T>), x);
    unpack(load128(b + i * kPackedSize<T>), y);
#pragma unroll
    for (int k = 0; k < kPackedSize<T>; ++k) x[k] += y[k];
    store128(out + i * kPackedSize<T>, pack<T>(x));
  } else {
    out[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
  }
}

}  // namespace

template <typename T>
void launch_residual_forward(T* out, const T* a, const T* b, std::int64_t n, cudaStream_t stream,
                             KernelWidth width) {
  const NvtxRange range("residual_forward", {residual_forward_bytes<T>(n), residual_forward_flops(n)});
  if (n <= 0) return;
  std::int64_t wide = n / kPackedSize<T>;
  if (width == KernelWidth::scalar || !is_aligned_16(out) || !is_aligned_16(a) || !is_aligned_16(b)) wide = 0;
  const std::int64_t done = wide * kPackedSize<T>;
  if (wide > 0) {
    residual_kernel<T, true>
        <<<static_cast<unsigned>(ceil_div(wide, kBlock)), kBlock, 0, stream>>>(out, a, b, wide);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  if (done < n) {
    residual_kernel<T, false><<<static_cast<unsigned>(ceil_div(n - done, kBlock)), kBlock, 0, stream>>>(
        out + done, a + done, b + done, n - done);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
}

template void residual_forward_cpu(float*, const float*, const float*, std::int64_t);
template void residual_forward_cpu(double*, const double*, const double*, std::int64_t);
template void launch_residual_forward<float>(float*, const float*, const float*, std::int64_t, cudaStream_t,
                                             KernelWidth);
template void launch_residual_forward<bf16>(bf16*, const bf16*, const bf16*, std::int64_t, cudaStream_t,
                                            KernelWidth);

}  // namespace ridgeline::gpt2
