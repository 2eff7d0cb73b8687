// bias_gradient_fp8.cu: dbias[c] += *inverse * sum over n of transposed[c][n]
// shapes  transposed (OC,N) in E5M2, N a multiple of 16; dbias (OC) FP32
// bytes   N*OC + 8*OC
// flops   N*OC
// check   |gpu-ref| <= 1e-6*sum of magnitudes; a non-finite mismatch fails
// bound   DRAM
//
// A block sums a column of the gradient, which lies in one piece.
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/fp8/fp8.cuh"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;
constexpr int kVector = 16;  // bytes of an access

__global__ void __launch_bounds__(kBlock)
    bias_gradient_fp8_kernel(float* dbias, const std::uint8_t* transposed, const float* inverse,
                             std::int64_t vectors) {
  __shared__ float shared[kBlock / kWarpSize];
  const auto* column = reinterpret_cast<const uint4*>(transposed) + std::int64_t{blockIdx.x} * vectors;
  float sum = 0.0F;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < vectors; i += kBlock) {
    const uint4 bytes = __ldg(column + i);
    for (const std::uint32_t word : {bytes.x, bytes.y, bytes.z, bytes.w}) {
      float values[4];
      fp8_values<Fp8Format::e5m2>(word, values);
      sum += (values[0] + values[1]) + (values[2] + values[3]);
    }
  }
  const float total = block_sum(sum, shared);
  if (threadIdx.x == 0) dbias[blockIdx.x] += total * *inverse;
}

}  // namespace

void launch_bias_gradient_fp8(float* dbias, const std::uint8_t* transposed, const float* inverse,
                              std::int64_t rows, int channels, cudaStream_t stream) {
  if (rows % kVector != 0 || !is_aligned_16(transposed)) {
    throw std::invalid_argument(
        "bias_gradient_fp8 of " + std::to_string(rows) +
        " rows: " + (rows % kVector != 0 ? "not a multiple of 16" : "the tensor is not aligned to 16 bytes"));
  }
  const NvtxRange range("bias_gradient",
                        {bias_gradient_fp8_bytes(rows, channels), bias_gradient_fp8_flops(rows, channels)});
  if (rows <= 0 || channels <= 0) return;
  bias_gradient_fp8_kernel<<<static_cast<unsigned>(channels), kBlock, 0, stream>>>(dbias, transposed, inverse,
                                                                                   rows / kVector);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2
