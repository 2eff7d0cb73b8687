// value_bias_gradient.cu: dqkvb[l][2][c] = sum over o of dprojb[l][o] * projw[l][o][c]
// shapes  dqkvb (L,3,C), dprojb (L,C) FP32; projw (L,C,C) T; any C (tails guarded)
// bytes   L*C*C*sizeof(T) + 8*L*C
// flops   2*L*C*C
// check   |gpu-ref| <= 1e-6*sum of magnitudes; a non-finite mismatch fails
// bound   DRAM
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/value_bias_gradient.h"

namespace ridgeline::gpt2 {

template <typename Real>
void value_bias_gradient_cpu(Real* dqkvb, const Real* dprojb, const Real* projw, int layers, int channels) {
  for (std::int64_t l = 0; l < layers; ++l) {
    Real* of_values = dqkvb + (3 * l + 2) * channels;
    for (int c = 0; c < channels; ++c) of_values[c] = 0;
    for (int o = 0; o < channels; ++o) {
      const Real* row = projw + (l * channels + o) * channels;
      for (int c = 0; c < channels; ++c) of_values[c] += dprojb[l * channels + o] * row[c];
    }
  }
}

namespace {

// One block: 32 columns of one layer, blockIdx.y. A thread adds every 32nd row, then the slices are added.
constexpr int kSlices = 32;
template <typename T>
__global__ void __launch_bounds__(kWarpSize* kSlices)
    value_bias_gradient_kernel(float* dqkvb, const float* dprojb, const T* projw, const LayerStrides strides,
                               int channels) {
  __shared__ float shared[kSlices][kWarpSize + 1];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const std::int64_t layer = blockIdx.y;
  const int column = static_cast<int>(blockIdx.x) * kWarpSize + x;
  float part = 0.0F;
  if (column < channels) {
    const T* weights = projw + layer * strides.projw + column;
    const float* factors = dprojb + layer * strides.dprojb;
#pragma unroll 8
    for (int o = y; o < channels; o += kSlices) {
      part += factors[o] * to_float(weights[static_cast<std::int64_t>(o) * channels]);
    }
  }
  shared[y][x] = part;
  __syncthreads();
  if (y != 0 || column >= channels) return;
  float total = 0.0F;
#pragma unroll
  for (int slice = 0; slice < kSlices; ++slice) total += shared[slice][x];
  dqkvb[layer * strides.dqkvb + 2 * channels + column] = total;
}

}  // namespace

template <typename T>
void launch_value_bias_gradient(float* dqkvb, const float* dprojb, const T* projw, int layers,
                                const LayerStrides& strides, int channels, cudaStream_t stream) {
  const NvtxRange range("value_bias_gradient", {value_bias_gradient_bytes<T>(layers, channels),
                                                value_bias_gradient_flops(layers, channels)});
  if (layers <= 0 || channels <= 0) return;
  const dim3 grid(static_cast<unsigned>(ceil_div(channels, kWarpSize)), static_cast<unsigned>(layers));
  value_bias_gradient_kernel<<<grid, dim3(kWarpSize, kSlices), 0, stream>>>(dqkvb, dprojb, projw, strides,
                                                                            channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void value_bias_gradient_cpu(float*, const float*, const float*, int, int);
template void value_bias_gradient_cpu(double*, const double*, const double*, int, int);
template void launch_value_bias_gradient<float>(float*, const float*, const float*, int, const LayerStrides&,
                                                int, cudaStream_t);
template void launch_value_bias_gradient<bf16>(float*, const float*, const bf16*, int, const LayerStrides&,
                                               int, cudaStream_t);

}  // namespace ridgeline::gpt2
