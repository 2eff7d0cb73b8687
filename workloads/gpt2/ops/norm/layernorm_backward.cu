// layernorm_backward.cu: gradients of layer normalisation, with the residual branch's gradient added
// shapes  dinp_out,dresidual_in,dout,inp (N,C) T; weight (C) T; mean,rstd (N) FP32;
//         dweight,dbias,dinp_colsum (C) FP32
// bytes   4*N*C*sizeof(T) + 8*N; without dresidual_in 3*N*C*sizeof(T) + 8*N
// flops   14*N*C
// check   dinp |gpu-ref| <= 4*eps(T)*(|ref|+1); the sums 1e-5 of the sum of magnitudes
// bound   DRAM
//
// A warp owns a row at a time and a lane the same columns of every row, so that its share of dweight, dbias
// and the column sums stays in registers for the whole launch and no row waits for a block-wide barrier. Rows
// come through a ring in shared memory that the copy engine fills, a row ahead of each warp: the bytes in
// flight do not depend on how long a warp computes, nor on the clock. The grid is one block a multiprocessor;
// each leaves one row of partial sums, which PartialSums adds in a fixed order.
//
// Rows are taken from the last to the first: the end of dout is what the GEMM before this kernel left in
// L2, and the beginning of dinp_out is what the next GEMM reads first.
#include <algorithm>
#include <cmath>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/norm/layernorm.h"
#include "gpt2/ops/norm/layernorm_rows.cuh"
#include "gpt2/ops/norm/warp_sum_two.cuh"

namespace ridgeline::gpt2 {

template <typename Real>
void layernorm_backward_cpu(Real* dinp_out, const Real* dresidual_in, Real* dweight, Real* dbias,
                            Real* dinp_colsum, const Real* dout, const Real* inp, const Real* weight,
                            const Real* mean, const Real* rstd, std::int64_t rows, int channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int64_t offset = n * channels;
    Real mean_g{0};
    Real mean_gx{0};
    for (int c = 0; c < channels; ++c) {
      const Real xhat = (inp[offset + c] - mean[n]) * rstd[n];
      const Real g = dout[offset + c] * weight[c];
      mean_g += g;
      mean_gx += g * xhat;
    }
    mean_g /= static_cast<Real>(channels);
    mean_gx /= static_cast<Real>(channels);
    for (int c = 0; c < channels; ++c) {
      const Real xhat = (inp[offset + c] - mean[n]) * rstd[n];
      const Real d = dout[offset + c];
      dweight[c] += d * xhat;
      dbias[c] += d;
      const Real dinp = (d * weight[c] - mean_g - xhat * mean_gx) * rstd[n];
      const Real value = dinp + (dresidual_in != nullptr ? dresidual_in[offset + c] : Real{0});
      dinp_out[offset + c] = value;
      if (dinp_colsum != nullptr) dinp_colsum[c] += value;
    }
  }
}

namespace {

// The fastest on an H200: 71 us for N = 32768, C = 768 in bf16 with dout just written, 60 us otherwise; 12
// warps with 4 stages take 77 and 65 us.
constexpr int kMaxWarps = 8;
constexpr int kStages = 2;        // one row on its way while the other is used
constexpr int kMaxBlocks = 1024;  // bounds the scratch
// Wider rows would not leave a thread registers for its sums: C <= 1792 for bf16, 1664 for FP32.
template <typename T>
constexpr int kMaxChunks = sizeof(T) == 2 ? 7 : 13;
constexpr std::int64_t kRingBytes = 222 * 1024;  // of the 227 KiB per block may have

// kChunks: 16-byte vectors a lane owns of a row. partials is (blocks, 3, C): dweight, dbias, dinp_colsum.
// Dynamic shared memory: a ring of kStages rows of dout, inp and dresidual_in for each warp; at the end, a
// row of FP32 sums for each warp.
template <typename T, int kChunks, bool kResidual, bool kColumnSum>
__global__ void __launch_bounds__(kMaxWarps* kWarpSize, 1)
    layernorm_backward_kernel(T* dinp_out, const T* dresidual_in, float* partials, const T* dout,
                              const T* inp, const T* weight, const float* mean, const float* rstd,
                              std::int64_t rows, int channels) {
  constexpr int kVector = kPackedSize<T>;
  constexpr int kStreams = kResidual ? 3 : 2;
  constexpr bool kKeepWeights = kChunks * kVector <= kMostLayernormWeights;
  extern __shared__ uint4 storage[];
  __shared__ std::uint64_t barriers[kMaxWarps][kStages];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const float inverse_channels = 1.0F / static_cast<float>(channels);
  const auto row_bytes = static_cast<unsigned>(channels) * static_cast<unsigned>(sizeof(T));
  T* ring = reinterpret_cast<T*>(storage) + static_cast<std::int64_t>(warp) * kStages * kStreams * channels;
  const std::uint64_t read_once = evict_first_policy();

  // dout and inp are dead after this kernel; the residual's gradient is overwritten where it lies.
  const auto request = [&](std::int64_t turn, int stage) {
    const std::int64_t offset = (rows - 1 - turn) * channels;
    T* slot = ring + stage * kStreams * channels;
    std::uint64_t* barrier = &barriers[warp][stage];
    barrier_expect(barrier, kStreams * row_bytes);
    bulk_load(slot, dout + offset, row_bytes, barrier, read_once);
    bulk_load(slot + channels, inp + offset, row_bytes, barrier, read_once);
    if constexpr (kResidual) bulk_load(slot + 2 * channels, dresidual_in + offset, row_bytes, barrier);
  };

  const std::int64_t first = static_cast<std::int64_t>(warp) * gridDim.x + blockIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(warps) * gridDim.x;
  if (lane == 0) {
    for (int stage = 0; stage < kStages; ++stage) barrier_init(&barriers[warp][stage], 1);
    barrier_init_fence();
    for (int stage = 0; stage < kStages; ++stage) {
      if (first + stage * stride < rows) request(first + stage * stride, stage);
    }
  }
  __syncwarp();

  Packed<T> w[kChunks];
  const auto read_weights = [&] { read_layernorm_weights(w, weight, channels, lane); };
  read_weights();
  float sum_dweight[kChunks][kVector] = {};
  float sum_dbias[kChunks][kVector] = {};
  float sum_dinp[kChunks][kVector] = {};

  int stage = 0;
  unsigned parity = 0;
  // A lane holds the statistics of one of the warp's next 32 rows, and of one of the 32 after those: fetched
  // row by row they would cost a trip to memory each.
  const auto read_statistics = [&](std::int64_t first_turn) {
    const std::int64_t turn = first_turn + lane * stride;
    if (turn >= rows) return make_float2(0.0F, 0.0F);
    return make_float2(mean[rows - 1 - turn], rstd[rows - 1 - turn]);
  };
  float2 statistics = read_statistics(first);
  float2 next_statistics = read_statistics(first + kWarpSize * stride);
  int slot = 0;
  for (std::int64_t turn = first; turn < rows; turn += stride) {
    const std::int64_t row = rows - 1 - turn;
    const float m = __shfl_sync(kFullMask, statistics.x, slot);
    const float s = __shfl_sync(kFullMask, statistics.y, slot);
    if (++slot == kWarpSize) {
      slot = 0;
      statistics = next_statistics;
      next_statistics = read_statistics(turn + (kWarpSize + 1) * stride);
    }
    const T* d_row = ring + stage * kStreams * channels;
    const T* x_row = d_row + channels;
    const T* r_row = x_row + channels;
    const float minus_ms = -m * s;
    barrier_wait(&barriers[warp][stage], parity);
    if constexpr (!kKeepWeights) read_weights();
    float sum_g = 0.0F;
    float sum_gx = 0.0F;
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      const int c = (j * kWarpSize + lane) * kVector;
      const bool active = c < channels;  // zeros add nothing to the sums
      float dv[kVector];
      float xv[kVector];
      float wv[kVector];
      unpack(active ? load128(d_row + c) : Packed<T>{}, dv);
      unpack(active ? load128(x_row + c) : Packed<T>{}, xv);
      unpack(w[j], wv);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const float xhat = fmaf(xv[k], s, minus_ms);
        const float g = dv[k] * wv[k];
        sum_g += g;
        sum_gx = fmaf(g, xhat, sum_gx);
        sum_dweight[j][k] = fmaf(dv[k], xhat, sum_dweight[j][k]);
        sum_dbias[j][k] += dv[k];
      }
      forget_conversions(w[j]);
    }
    const float2 sums = warp_sum_two(sum_g, sum_gx, lane);
    const float minus_mean_gs = -sums.x * inverse_channels * s;
    const float minus_mean_gxs = -sums.y * inverse_channels * s;
    // Reading the row again costs less than holding twice its size in registers.
    asm volatile("" ::: "memory");
    if constexpr (!kKeepWeights) read_weights();
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      const int c = (j * kWarpSize + lane) * kVector;
      if (c < channels) {
        float dv[kVector];
        float xv[kVector];
        float wv[kVector];
        float rv[kVector] = {};
        unpack(load128(d_row + c), dv);
        unpack(load128(x_row + c), xv);
        unpack(w[j], wv);
        if constexpr (kResidual) unpack(load128(r_row + c), rv);
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          const float xhat = fmaf(xv[k], s, minus_ms);
          const float centred = fmaf(dv[k] * wv[k], s, minus_mean_gs);
          const float value = fmaf(xhat, minus_mean_gxs, centred) + rv[k];
          if constexpr (kColumnSum) sum_dinp[j][k] += value;
          dv[k] = value;
        }
        store128(dinp_out + row * channels + c, pack<T>(dv));
      }
      forget_conversions(w[j]);
    }
    __syncwarp();  // all lanes have read this slot
    if (lane == 0 && turn + kStages * stride < rows) request(turn + kStages * stride, stage);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }

  // The warps' sums meet in shared memory, one kind after the other, in the order of the warps.
  auto* warp_sums = reinterpret_cast<float*>(storage);
  const auto reduce = [&](const float(&sum)[kChunks][kVector], int which) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      const int c = (j * kWarpSize + lane) * kVector;
      if (c < channels) {
#pragma unroll
        for (int k = 0; k < kVector; k += 4) {
          *reinterpret_cast<float4*>(warp_sums + warp * channels + c + k) =
              make_float4(sum[j][k], sum[j][k + 1], sum[j][k + 2], sum[j][k + 3]);
        }
      }
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x)) {
      float total = 0.0F;
      for (int other = 0; other < warps; ++other) total += warp_sums[other * channels + c];
      partials[(std::int64_t{blockIdx.x} * 3 + which) * channels + c] = total;
    }
  };
  reduce(sum_dweight, 0);
  reduce(sum_dbias, 1);
  if constexpr (kColumnSum) reduce(sum_dinp, 2);
}

// (blocks, 3, C) partial sums
struct Partials {
  float* data;
  int blocks;
};

template <typename T, int kChunks, bool kResidual, bool kColumnSum>
Partials launch_rows(T* dinp_out, const T* dresidual_in, PartialSums& sums, const T* dout, const T* inp,
                     const T* weight, const float* mean, const float* rstd, std::int64_t rows, int channels,
                     cudaStream_t stream) {
  const std::int64_t stage_bytes = std::int64_t{kResidual ? 3 : 2} * channels * std::int64_t{sizeof(T)};
  const auto warps =
      static_cast<int>(std::min<std::int64_t>(kMaxWarps, kRingBytes / (kStages * stage_bytes)));
  const auto blocks =
      static_cast<int>(std::min<std::int64_t>({ceil_div(rows, warps), multiprocessor_count(), kMaxBlocks}));
  float* partials = sums.reserve(std::int64_t{blocks} * 3 * channels, 3, stream);
  auto* kernel = layernorm_backward_kernel<T, kChunks, kResidual, kColumnSum>;
  RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(kRingBytes)));
  kernel<<<blocks, warps * kWarpSize, static_cast<std::size_t>(warps * kStages * stage_bytes), stream>>>(
      dinp_out, dresidual_in, partials, dout, inp, weight, mean, rstd, rows, channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  return {partials, blocks};
}

// Any C, any alignment, one element per access: a block owns a row at a time and keeps its partial sums in
// global scratch, where each thread touches only its own columns.
constexpr int kAnyBlock = 256;
template <typename T>
__global__ void __launch_bounds__(kAnyBlock)
    layernorm_backward_any_kernel(T* dinp_out, const T* dresidual_in, float* partials, const T* dout,
                                  const T* inp, const T* weight, const float* mean, const float* rstd,
                                  std::int64_t rows, int channels) {
  __shared__ float shared[2][2][kAnyBlock / kWarpSize];
  float* sums = partials + static_cast<std::int64_t>(blockIdx.x) * 3 * channels;
  const int thread = static_cast<int>(threadIdx.x);
  for (int c = thread; c < channels; c += kAnyBlock) {
    sums[c] = 0.0F;
    sums[channels + c] = 0.0F;
    sums[2 * channels + c] = 0.0F;
  }
  int buffer = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t offset = row * channels;
    const float m = mean[row];
    const float s = rstd[row];
    float sum_g = 0.0F;
    float sum_gx = 0.0F;
    for (int c = thread; c < channels; c += kAnyBlock) {
      const float g = to_float(dout[offset + c]) * to_float(weight[c]);
      sum_g += g;
      sum_gx += g * (to_float(inp[offset + c]) - m) * s;
    }
    const float mean_g = block_sum(sum_g, shared[buffer][0]) / static_cast<float>(channels);
    const float mean_gx = block_sum(sum_gx, shared[buffer][1]) / static_cast<float>(channels);
    buffer ^= 1;
    for (int c = thread; c < channels; c += kAnyBlock) {
      const float xhat = (to_float(inp[offset + c]) - m) * s;
      const float d = to_float(dout[offset + c]);
      float value = (d * to_float(weight[c]) - mean_g - xhat * mean_gx) * s;
      if (dresidual_in != nullptr) value += to_float(dresidual_in[offset + c]);
      sums[c] += d * xhat;
      sums[channels + c] += d;
      sums[2 * channels + c] += value;
      dinp_out[offset + c] = from_float<T>(value);
    }
  }
}

}  // namespace

std::int64_t layernorm_backward_scratch_bytes(int channels) {
  return std::int64_t{kMaxBlocks} * 3 * channels * std::int64_t{sizeof(float)};
}

template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               PartialSums& sums, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_backward",
                        {layernorm_backward_bytes<T>(rows, channels, dresidual_in != nullptr),
                         layernorm_backward_flops(rows, channels)});
  if (rows <= 0) return;
  const bool aligned = is_aligned_16(dinp_out) && is_aligned_16(dresidual_in) && is_aligned_16(dout) &&
                       is_aligned_16(inp) && is_aligned_16(weight);
  const std::int64_t chunks = ceil_div(channels, kWarpSize * kPackedSize<T>);
  Partials partials{};
  if (width == KernelWidth::packed && channels % kPackedSize<T> == 0 && aligned && chunks <= kMaxChunks<T>) {
    const auto run = [&]<int kChunks>() {
      const auto with = [&]<bool kResidual, bool kColumnSum>() {
        partials = launch_rows<T, kChunks, kResidual, kColumnSum>(dinp_out, dresidual_in, sums, dout, inp,
                                                                  weight, mean, rstd, rows, channels, stream);
      };
      if (dresidual_in != nullptr) {
        if (dinp_colsum != nullptr) {
          with.template operator()<true, true>();
        } else {
          with.template operator()<true, false>();
        }
      } else if (dinp_colsum != nullptr) {
        with.template operator()<false, true>();
      } else {
        with.template operator()<false, false>();
      }
    };
    constexpr int kScale = kPackedSize<bf16> / kPackedSize<T>;
    if (chunks <= kScale) {
      run.template operator()<kScale>();
    } else if (chunks <= 3 * kScale) {  // C = 768
      run.template operator()<3 * kScale>();
    } else if (chunks <= 4 * kScale) {  // C = 1024
      run.template operator()<4 * kScale>();
    } else if (chunks <= 5 * kScale) {  // C = 1280
      run.template operator()<5 * kScale>();
    } else {  // C = 1600
      run.template operator()<kMaxChunks<T>>();
    }
  } else {
    partials.blocks =
        static_cast<int>(std::min<std::int64_t>({rows, 4LL * multiprocessor_count(), kMaxBlocks}));
    partials.data = sums.reserve(std::int64_t{partials.blocks} * 3 * channels, 3, stream);
    layernorm_backward_any_kernel<T><<<partials.blocks, kAnyBlock, 0, stream>>>(
        dinp_out, dresidual_in, partials.data, dout, inp, weight, mean, rstd, rows, channels);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  const std::int64_t stride = std::int64_t{3} * channels;
  sums.add({dweight, partials.data, stride, partials.blocks, channels});
  sums.add({dbias, partials.data + channels, stride, partials.blocks, channels});
  if (dinp_colsum != nullptr) {
    sums.add({dinp_colsum, partials.data + 2 * channels, stride, partials.blocks, channels});
  }
}

template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               void* scratch, cudaStream_t stream, KernelWidth width) {
  PartialSums sums(scratch, layernorm_backward_scratch_bytes(channels));
  launch_layernorm_backward(dinp_out, dresidual_in, dweight, dbias, dinp_colsum, dout, inp, weight, mean,
                            rstd, rows, channels, sums, stream, width);
  sums.flush(stream);
}

#define RIDGELINE_INSTANTIATE(Real)                                                                       \
  template void layernorm_backward_cpu(Real*, const Real*, Real*, Real*, Real*, const Real*, const Real*, \
                                       const Real*, const Real*, const Real*, std::int64_t, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T, Sums)                                                                      \
  template void launch_layernorm_backward<T>(T*, const T*, float*, float*, float*, const T*, const T*,      \
                                             const T*, const float*, const float*, std::int64_t, int, Sums, \
                                             cudaStream_t, KernelWidth);
RIDGELINE_INSTANTIATE(float, void*)
RIDGELINE_INSTANTIATE(bf16, void*)
RIDGELINE_INSTANTIATE(float, PartialSums&)
RIDGELINE_INSTANTIATE(bf16, PartialSums&)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
