// global_norm.cu: sqrt(sum g^2), the clip scale, and whether everything was finite
// shapes  grads [n] FP32; any n >= 0 (tail guarded)
// bytes   4*n
// flops   2*n
// check   relative error <= 1e-6; a NaN or infinity anywhere must clear `finite`
// bound   DRAM
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/optimizer/global_norm.h"

namespace ridgeline::gpt2 {

template <typename Real>
Real global_norm_cpu(const Real* grads, std::int64_t n) {
  Real sum{0};
  for (std::int64_t i = 0; i < n; ++i) sum += grads[i] * grads[i];
  return std::sqrt(sum);
}

namespace {

constexpr int kBlock = 512;
// A constant, not a multiple of the device's SM count: the order of additions must not depend on the device.
constexpr int kPartials = 528;
constexpr int kUnroll = 8;

// Partial sums of a tensor's own launch: enough blocks for a few elements per thread, no more.
constexpr std::int64_t kElementsPerBlock = std::int64_t{kBlock} * kUnroll;
std::int64_t tensor_partials(const GradientRange& tensor) {
  return std::clamp<std::int64_t>(ceil_div(tensor.end - tensor.begin, kElementsPerBlock), 1, kPartials);
}

// Each thread adds a few hundred squares in FP32 before FP64 takes over.
__global__ void __launch_bounds__(kBlock)
    squared_sum_kernel(double* partials, const float* grads, std::int64_t n, bool wide) {
  __shared__ double shared[kBlock / kWarpSize];
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kBlock;
  double sum = 0.0;
  std::int64_t scalar_start = 0;
  if (wide) {
    const std::int64_t vectors = n / 4;
    scalar_start = vectors * 4;
    std::int64_t i = thread;
    for (; i + (kUnroll - 1) * threads < vectors; i += kUnroll * threads) {
      float4 g[kUnroll];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) g[k] = reinterpret_cast<const float4*>(grads)[i + k * threads];
      float part = 0.0F;
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) {
        part += g[k].x * g[k].x + g[k].y * g[k].y + g[k].z * g[k].z + g[k].w * g[k].w;
      }
      sum += part;
    }
    for (; i < vectors; i += threads) {
      const float4 g = reinterpret_cast<const float4*>(grads)[i];
      sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    }
  }
  for (std::int64_t i = scalar_start + thread; i < n; i += threads) sum += grads[i] * grads[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__device__ GradientNorm norm_of(double squared_sum, float max_norm) {
  GradientNorm result;
  result.norm = static_cast<float>(sqrt(squared_sum));
  result.finite = isfinite(result.norm) ? 1 : 0;
  result.clip_scale = max_norm > 0.0F && result.norm > max_norm ? max_norm / result.norm : 1.0F;
  return result;
}

__global__ void __launch_bounds__(kBlock)
    norm_from_partials_kernel(GradientNorm* out, const double* partials, std::int64_t count, float max_norm) {
  __shared__ double shared[kBlock / kWarpSize];
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sum += partials[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *out = norm_of(sum, max_norm);
}

__global__ void __launch_bounds__(kBlock)
    sum_of_partials_kernel(double* out, const double* partials, std::int64_t count) {
  __shared__ double shared[kBlock / kWarpSize];
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sum += partials[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *out = sum;
}

__global__ void norm_of_squares_kernel(GradientNorm* out, const double* squared_sum, float max_norm) {
  *out = norm_of(*squared_sum, max_norm);
}

}  // namespace

std::int64_t global_norm_scratch_bytes() {
  return kPartials * std::int64_t{sizeof(double)};
}

void launch_global_norm(GradientNorm* out, const float* grads, std::int64_t n, float max_norm, void* scratch,
                        cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("global_norm", {global_norm_bytes(n), global_norm_flops(n)});
  auto* partials = static_cast<double*>(scratch);
  squared_sum_kernel<<<kPartials, kBlock, 0, stream>>>(partials, grads, n,
                                                       width == KernelWidth::packed && is_aligned_16(grads));
  RIDGELINE_CUDA_CHECK_LAUNCH();
  norm_from_partials_kernel<<<1, kBlock, 0, stream>>>(out, partials, kPartials, max_norm);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

std::int64_t global_norm_per_tensor_scratch_bytes(std::span<const GradientRange> tensors) {
  std::int64_t partials = 0;
  for (const GradientRange& tensor : tensors) partials += tensor_partials(tensor);
  return partials * std::int64_t{sizeof(double)};
}

void launch_global_norm_per_tensor(GradientNorm* out, const float* grads,
                                   std::span<const GradientRange> tensors, float max_norm, void* scratch,
                                   cudaStream_t stream) {
  std::int64_t elements = 0;
  for (const GradientRange& tensor : tensors) {
    if (tensor.begin < 0 || tensor.end < tensor.begin) {
      throw std::invalid_argument("launch_global_norm_per_tensor: [" + std::to_string(tensor.begin) + ", " +
                                  std::to_string(tensor.end) + ") is no range");
    }
    elements += tensor.end - tensor.begin;
  }
  const NvtxRange range("global_norm", {global_norm_bytes(elements), global_norm_flops(elements)});
  auto* partials = static_cast<double*>(scratch);
  std::int64_t used = 0;
  for (const GradientRange& tensor : tensors) {
    const std::int64_t blocks = tensor_partials(tensor);
    squared_sum_kernel<<<static_cast<unsigned>(blocks), kBlock, 0, stream>>>(
        partials + used, grads + tensor.begin, tensor.end - tensor.begin, false);
    RIDGELINE_CUDA_CHECK_LAUNCH();
    used += blocks;
  }
  norm_from_partials_kernel<<<1, kBlock, 0, stream>>>(out, partials, used, max_norm);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_squared_sum(double* out, const float* grads, std::span<const GradientRange> ranges, void* scratch,
                        cudaStream_t stream) {
  auto* partials = static_cast<double*>(scratch);
  std::int64_t elements = 0;
  std::int64_t used = 0;
  for (const GradientRange& range : ranges) {
    if (range.begin < 0 || range.end < range.begin) {
      throw std::invalid_argument("launch_squared_sum: [" + std::to_string(range.begin) + ", " +
                                  std::to_string(range.end) + ") is no range");
    }
    elements += range.end - range.begin;
  }
  const NvtxRange nvtx("squared_sum", {global_norm_bytes(elements), global_norm_flops(elements)});
  for (const GradientRange& range : ranges) {
    const std::int64_t blocks = tensor_partials(range);
    const float* begin = grads + range.begin;
    squared_sum_kernel<<<static_cast<unsigned>(blocks), kBlock, 0, stream>>>(
        partials + used, begin, range.end - range.begin, is_aligned_16(begin));
    RIDGELINE_CUDA_CHECK_LAUNCH();
    used += blocks;
  }
  sum_of_partials_kernel<<<1, kBlock, 0, stream>>>(out, partials, used);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_norm_of_squares(GradientNorm* out, const double* squared_sum, float max_norm,
                            cudaStream_t stream) {
  const NvtxRange range("norm_of_squares");
  norm_of_squares_kernel<<<1, 1, 0, stream>>>(out, squared_sum, max_norm);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template float global_norm_cpu(const float*, std::int64_t);
template double global_norm_cpu(const double*, std::int64_t);

}  // namespace ridgeline::gpt2
