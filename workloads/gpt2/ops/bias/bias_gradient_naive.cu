// bias_gradient_naive.cu: dbias[c] += sum over n of dout[n,c], one block per column
// shapes  dout (N,OC) T, dbias (OC) FP32; any N, any OC
// bytes   N*OC*sizeof(T) + 8*OC
// flops   N*OC
// check   |gpu-ref| <= 1e-6*sum|dout| per column; a non-finite mismatch fails
// bound   L2: neighbouring threads read neighbouring rows, so that every element costs a sector of 32 bytes.
//         That is the point: the slow side that bias_gradient.cu is measured against.
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 512;

template <typename T>
__global__ void __launch_bounds__(kBlock)
    bias_gradient_naive_kernel(float* dbias, const T* dout, std::int64_t rows, int channels) {
  __shared__ float shared[kBlock / kWarpSize];
  const T* column = dout + blockIdx.x;
  float sum = 0.0F;
  for (std::int64_t n = threadIdx.x; n < rows; n += kBlock) sum += to_float(column[n * channels]);
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) dbias[blockIdx.x] += sum;
}

}  // namespace

template <typename T>
void launch_bias_gradient_naive(float* dbias, const T* dout, std::int64_t rows, int channels,
                                cudaStream_t stream) {
  const NvtxRange range("bias_gradient",
                        {bias_gradient_bytes<T>(rows, channels), bias_gradient_flops(rows, channels)});
  if (rows <= 0 || channels <= 0) return;
  bias_gradient_naive_kernel<<<static_cast<unsigned>(channels), kBlock, 0, stream>>>(dbias, dout, rows,
                                                                                     channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void launch_bias_gradient_naive<float>(float*, const float*, std::int64_t, int, cudaStream_t);
template void launch_bias_gradient_naive<bf16>(float*, const bf16*, std::int64_t, int, cudaStream_t);

}  // namespace ridgeline::gpt2
