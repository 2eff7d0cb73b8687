// loss_sum.cu: out = scale * sum(losses) (+ out)
// shapes  losses [n] FP32, out [1] FP32; any n >= 0
// bytes   4*n
// flops   n
// check   |gpu-ref| <= 1e-6 * scale * sum(|losses|); a non-finite mismatch fails
// bound   latency: one block; n is the number of positions, so 128 KiB at B=32, T=1024
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/loss/loss_sum.h"

namespace ridgeline::gpt2 {

template <typename Real>
void loss_sum_cpu(Real* out, const Real* losses, std::int64_t n, Real scale, bool accumulate) {
  Real sum{0};
  for (std::int64_t i = 0; i < n; ++i) sum += losses[i];
  *out = scale * sum + (accumulate ? *out : Real{0});
}

namespace {

constexpr int kBlock = 1024;

__global__ void __launch_bounds__(kBlock)
    loss_sum_kernel(float* out, const float* losses, std::int64_t n, float scale, bool accumulate) {
  __shared__ double shared[kBlock / kWarpSize];
  double sum = 0.0;
  constexpr int kUnroll = 8;
  for (std::int64_t base = threadIdx.x; base < n; base += kBlock * kUnroll) {
    float values[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const std::int64_t i = base + static_cast<std::int64_t>(k) * kBlock;
      values[k] = i < n ? losses[i] : 0.0F;
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) sum += values[k];
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) {
    *out = static_cast<float>(sum * scale) + (accumulate ? *out : 0.0F);
  }
}

}  // namespace

void launch_loss_sum(float* out, const float* losses, std::int64_t n, float scale, bool accumulate,
                     cudaStream_t stream) {
  const NvtxRange range("loss_sum", {loss_sum_bytes(n), loss_sum_flops(n)});
  loss_sum_kernel<<<1, kBlock, 0, stream>>>(out, losses, n, scale, accumulate);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void loss_sum_cpu(float*, const float*, std::int64_t, float, bool);
template void loss_sum_cpu(double*, const double*, std::int64_t, double, bool);

}  // namespace ridgeline::gpt2
