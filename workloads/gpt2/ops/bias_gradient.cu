// bias_gradient.cu: dbias[c] += sum over n of dout[n,c]
// shapes  dout (N,OC) T, dbias (OC) FP32; any N, any OC (tails guarded)
// bytes   N*OC*sizeof(T) + 8*OC
// flops   N*OC
// check   |gpu-ref| <= 1e-6*sum|dout| per column; a non-finite mismatch fails
// bound   DRAM
//
// A block owns a stripe of columns and a range of rows; partial sums go to scratch, and the last block of a
// stripe to finish adds them in a fixed order. So one launch fills the chip and the result is deterministic.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias_gradient.h"

namespace ridgeline::gpt2 {

template <typename Real>
void bias_gradient_cpu(Real* dbias, const Real* dout, std::int64_t rows, int channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (int c = 0; c < channels; ++c) dbias[c] += dout[n * channels + c];
  }
}

namespace {

constexpr int kBlock = 512;
constexpr int kWarps = kBlock / kWarpSize;
constexpr int kUnroll = 8;  // rows a warp has in flight
constexpr int kMaxStripes = 4096;
constexpr int kMaxSplits = 512;
constexpr std::int64_t kTargetBlocks = 264;  // two a multiprocessor of an H200; sizes the scratch, so fixed

struct Plan {
  std::int64_t stripe_columns;
  std::int64_t stripes;
  std::int64_t splits;
};

Plan plan_of(int channels, int vector) {
  Plan plan{};
  plan.stripe_columns = kWarpSize * vector;
  plan.stripes = ceil_div(channels, plan.stripe_columns);
  plan.splits = std::clamp<std::int64_t>(kTargetBlocks / plan.stripes, 1, kMaxSplits);
  return plan;
}

template <typename T>
__device__ inline void add_to(float (&sum)[kPackedSize<T>], const Packed<T>& packed) {
  float values[kPackedSize<T>];
  unpack(packed, values);
#pragma unroll
  for (int k = 0; k < kPackedSize<T>; ++k) sum[k] += values[k];
}

// kVector columns a lane: 16 bytes, or 1 when rows are not 16-byte aligned.
template <typename T, int kVector>
__global__ void __launch_bounds__(kBlock)
    bias_gradient_kernel(float* dbias, const T* dout, std::int64_t rows, int channels, float* partials,
                         unsigned* counters) {
  constexpr int kColumns = kWarpSize * kVector;
  __shared__ float shared[kWarps][kColumns];
  __shared__ bool is_last;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int stripe = static_cast<int>(blockIdx.x);
  const int split = static_cast<int>(blockIdx.y);
  const int splits = static_cast<int>(gridDim.y);
  const std::int64_t column = static_cast<std::int64_t>(stripe) * kColumns + lane * kVector;
  const std::int64_t row_begin = rows * split / splits;
  const std::int64_t row_end = rows * (split + 1) / splits;

  float sum[kVector] = {};
  if (column < channels) {
    const T* base = dout + column;
    std::int64_t row = row_begin + warp;
    if constexpr (kVector > 1) {
      for (; row + (kUnroll - 1) * kWarps < row_end; row += kUnroll * kWarps) {
        Packed<T> packed[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) packed[u] = load128(base + (row + u * kWarps) * channels);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) add_to(sum, packed[u]);
      }
      for (; row < row_end; row += kWarps) add_to(sum, load128(base + row * channels));
    } else {
#pragma unroll 8
      for (; row < row_end; row += kWarps) sum[0] += to_float(base[row * channels]);
    }
  }
  // Lane-major within a vector slot: conflict-free stores.
#pragma unroll
  for (int k = 0; k < kVector; ++k) shared[warp][k * kWarpSize + lane] = sum[k];
  __syncthreads();
  // partials is (splits, stripes*kColumns), in the slot order of `shared`.
  const std::int64_t padded = static_cast<std::int64_t>(gridDim.x) * kColumns;
  const std::int64_t stripe_offset = static_cast<std::int64_t>(stripe) * kColumns;
  for (int slot = static_cast<int>(threadIdx.x); slot < kColumns; slot += kBlock) {
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += shared[w][slot];
    __stcg(partials + split * padded + stripe_offset + slot, total);
  }
  // The partials of every block must be visible before its arrival is counted.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counters + stripe, 1U) == static_cast<unsigned>(splits) - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();

  // One thread a column within a group of rows of partials; groups then meet in shared memory.
  constexpr int kGroups = kBlock / kColumns > 0 ? kBlock / kColumns : 1;
  constexpr int kLane = kColumns < kBlock ? kColumns : kBlock;
  float* group_sums = &shared[0][0];  // kGroups * kColumns <= kWarps * kColumns floats
  for (int slot0 = 0; slot0 < kColumns; slot0 += kLane) {
    const int slot = slot0 + static_cast<int>(threadIdx.x) % kLane;
    const int group = static_cast<int>(threadIdx.x) / kLane;
    float total = 0.0F;
#pragma unroll 16
    for (int s = group; s < splits; s += kGroups) {
      total += __ldcg(partials + s * padded + stripe_offset + slot);
    }
    group_sums[group * kColumns + slot] = total;
  }
  __syncthreads();
  for (int slot = static_cast<int>(threadIdx.x); slot < kColumns; slot += kBlock) {
    float total = 0.0F;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) total += group_sums[g * kColumns + slot];
    const std::int64_t c = stripe_offset + (slot % kWarpSize) * kVector + slot / kWarpSize;
    if (c < channels) dbias[c] += total;
  }
  if (threadIdx.x == 0) counters[stripe] = 0;
}

template <typename T, int kVector>
void launch_planned(float* dbias, const T* dout, std::int64_t rows, int channels, void* scratch,
                    cudaStream_t stream) {
  const Plan plan = plan_of(channels, kVector);
  if (plan.stripes > kMaxStripes) {
    throw std::invalid_argument("launch_bias_gradient: " + std::to_string(channels) +
                                " columns are more than this kernel's scratch counts");
  }
  auto* counters = static_cast<unsigned*>(scratch);
  auto* partials = reinterpret_cast<float*>(counters + kMaxStripes);
  const dim3 grid(static_cast<unsigned>(plan.stripes), static_cast<unsigned>(plan.splits));
  bias_gradient_kernel<T, kVector>
      <<<grid, kBlock, 0, stream>>>(dbias, dout, rows, channels, partials, counters);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

std::int64_t bias_gradient_scratch_bytes(int channels) {
  std::int64_t most = 0;
  for (const int vector : {1, kPackedSize<float>, kPackedSize<bf16>}) {
    // The plan for fewer columns has fewer stripes but more splits: bound the product, not one plan.
    const Plan plan = plan_of(channels, vector);
    most = std::max(most, (plan.stripes + kTargetBlocks) * plan.stripe_columns);
  }
  return kMaxStripes * std::int64_t{sizeof(unsigned)} + most * std::int64_t{sizeof(float)};
}

template <typename T>
void launch_bias_gradient(float* dbias, const T* dout, std::int64_t rows, int channels, void* scratch,
                          cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("bias_gradient",
                        {bias_gradient_bytes<T>(rows, channels), bias_gradient_flops(rows, channels)});
  if (rows <= 0 || channels <= 0) return;
  if (width == KernelWidth::packed && channels % kPackedSize<T> == 0 && is_aligned_16(dout)) {
    launch_planned<T, kPackedSize<T>>(dbias, dout, rows, channels, scratch, stream);
  } else {
    launch_planned<T, 1>(dbias, dout, rows, channels, scratch, stream);
  }
}

template void bias_gradient_cpu(float*, const float*, std::int64_t, int);
template void bias_gradient_cpu(double*, const double*, std::int64_t, int);
template void launch_bias_gradient<float>(float*, const float*, std::int64_t, int, void*, cudaStream_t,
                                          KernelWidth);
template void launch_bias_gradient<bf16>(float*, const bf16*, std::int64_t, int, void*, cudaStream_t,
                                         KernelWidth);

}  // namespace ridgeline::gpt2
