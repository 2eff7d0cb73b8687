// layernorm_backward.cu: gradients of layer normalisation, with the residual branch's gradient added
// shapes  dinp_out,dresidual_in,dout,inp (N,C) T; weight (C) T; mean,rstd (N), dweight,dbias,dinp_colsum (C)
// FP32 bytes   4*N*C*sizeof(T) (3*N*C*sizeof(T) without dresidual_in) + 8*N flops   14*N*C check   dinp
// |gpu-ref| <= 4*eps(T)*(|ref|+1); dweight, dbias 1e-5 of the sum of magnitudes bound   DRAM
//
// A block owns two rows at a time, a thread 16 bytes of each, so that a thread's share of dweight and dbias
// is 16 to 24 registers for the whole launch. The grid is one wave; each block leaves one row of partial
// sums, and a second kernel adds those in a fixed order.
#include <algorithm>
#include <cmath>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/layernorm.h"

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

constexpr int kRows = 2;  // rows a block has in flight
// A block is at most this wide: C <= 2304 for bf16, 2048 for FP32.
template <typename T>
constexpr int kMaxThreads = sizeof(T) == 2 ? 288 : 512;
constexpr int kMaxWarps = 16;
constexpr int kMaxBlocks = 1024;  // bounds the scratch

// Sums four values over the warp at once, in 6 shuffles instead of 20: a lane hands half of its values to its
// partner and takes over the other half's sums. Lane 8*i returns the sum of values[i]; other lanes' results
// are the same as that of the multiple of 8 below.
__device__ inline float warp_sum_four(const float (&values)[4], int lane) {
  const bool high = (lane & 16) != 0;
  const bool middle = (lane & 8) != 0;
  const float first =
      (high ? values[2] : values[0]) + __shfl_xor_sync(kFullMask, high ? values[0] : values[2], 16);
  const float second =
      (high ? values[3] : values[1]) + __shfl_xor_sync(kFullMask, high ? values[1] : values[3], 16);
  float sum = (middle ? second : first) + __shfl_xor_sync(kFullMask, middle ? first : second, 8);
#pragma unroll
  for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  return sum;
}

// partials is (blocks, 3, C): dweight, dbias, dinp_colsum. The bound of two blocks of the greatest width
// holds the bf16 kernel to 112 registers, so that several narrow blocks share a multiprocessor.
template <typename T, bool kResidual, bool kColumnSum>
__global__ void __launch_bounds__(kMaxThreads<T>, sizeof(T) == 2 ? 2 : 1)
    layernorm_backward_kernel(T* dinp_out, const T* dresidual_in, float* partials, const T* dout,
                              const T* inp, const T* weight, const float* mean, const float* rstd,
                              std::int64_t rows, int channels) {
  constexpr int kVector = kPackedSize<T>;
  // Two buffers make one barrier an iteration enough: by its next write to a buffer, a warp has passed the
  // barrier of the other one, which every warp reaches after reading the first.
  __shared__ float2 shared[2][kMaxWarps][kRows];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const int c = static_cast<int>(threadIdx.x) * kVector;
  const bool active = c < channels;
  const float inverse_channels = 1.0F / static_cast<float>(channels);

  Packed<T> w{};
  if (active) w = load128(weight + c);
  float sum_dweight[kVector] = {};
  float sum_dbias[kVector] = {};
  float sum_dinp[kVector] = {};

  int buffer = 0;
  for (std::int64_t row0 = std::int64_t{blockIdx.x} * kRows; row0 < rows;
       row0 += std::int64_t{gridDim.x} * kRows) {
    Packed<T> d[kRows];
    Packed<T> x[kRows];
    Packed<T> r[kRows];
    float m[kRows];
    float s[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const bool live = active && row0 + i < rows;
      const std::int64_t offset = (row0 + i) * channels + c;
      d[i] = live ? load128(dout + offset) : Packed<T>{};
      x[i] = live ? load128_streaming(inp + offset) : Packed<T>{};
      if constexpr (kResidual) r[i] = live ? load128(dresidual_in + offset) : Packed<T>{};
      m[i] = row0 + i < rows ? mean[row0 + i] : 0.0F;
      s[i] = row0 + i < rows ? rstd[row0 + i] : 0.0F;
    }
    float part[2 * kRows] = {};  // for each row, the sums of g and of g * xhat
    float weights[kVector];
    unpack(w, weights);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float dv[kVector];
      float xv[kVector];
      unpack(d[i], dv);
      unpack(x[i], xv);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const float xhat = (xv[k] - m[i]) * s[i];
        const float g = dv[k] * weights[k];
        part[2 * i] += g;
        part[2 * i + 1] += g * xhat;
        sum_dweight[k] += dv[k] * xhat;
        sum_dbias[k] += dv[k];
      }
      forget_conversions(d[i]);
      forget_conversions(x[i]);
    }
    forget_conversions(w);
    const float warp_part = warp_sum_four(part, lane);
    if (lane % 8 == 0) reinterpret_cast<float*>(&shared[buffer][warp][0])[lane / 8] = warp_part;
    __syncthreads();
    unpack(w, weights);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float mean_g = 0.0F;
      float mean_gx = 0.0F;
      for (int j = 0; j < warps; ++j) {
        const float2 other = shared[buffer][j][i];
        mean_g += other.x;
        mean_gx += other.y;
      }
      mean_g *= inverse_channels;
      mean_gx *= inverse_channels;
      if (active && row0 + i < rows) {
        float dv[kVector];
        float xv[kVector];
        float rv[kVector] = {};
        unpack(d[i], dv);
        unpack(x[i], xv);
        if constexpr (kResidual) unpack(r[i], rv);
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          const float xhat = (xv[k] - m[i]) * s[i];
          const float value = (dv[k] * weights[k] - mean_g - xhat * mean_gx) * s[i] + rv[k];
          if constexpr (kColumnSum) sum_dinp[k] += value;
          dv[k] = value;
        }
        store128(dinp_out + (row0 + i) * channels + c, pack<T>(dv));
      }
    }
    buffer ^= 1;
  }

  if (!active) return;
  float* target = partials + std::int64_t{blockIdx.x} * 3 * channels + c;
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    target[k] = sum_dweight[k];
    target[channels + k] = sum_dbias[k];
    if constexpr (kColumnSum) target[2 * channels + k] = sum_dinp[k];
  }
}

// Any C, any alignment, one element an access: a block owns a row at a time and keeps its partial sums in
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

// Columns of a (blocks, 3, C) array of partials, added in row order within each of 32 slices, then over the
// slices.
constexpr int kReduceColumns = 32;
constexpr int kReduceSlices = 32;
__global__ void __launch_bounds__(kReduceColumns* kReduceSlices)
    add_partials_kernel(float* dweight, float* dbias, float* dinp_colsum, const float* partials, int blocks,
                        int channels) {
  __shared__ float shared[kReduceSlices][kReduceColumns + 1];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int which = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kReduceColumns + x;
  float sum = 0.0F;
  if (column < channels) {
    const float* base = partials + static_cast<std::int64_t>(which) * channels + column;
#pragma unroll 16
    for (int b = y; b < blocks; b += kReduceSlices) sum += base[static_cast<std::int64_t>(b) * 3 * channels];
  }
  shared[y][x] = sum;
  __syncthreads();
  if (y != 0 || column >= channels) return;
  float total = 0.0F;
#pragma unroll
  for (int slice = 0; slice < kReduceSlices; ++slice) total += shared[slice][x];
  float* target = which == 0 ? dweight : which == 1 ? dbias : dinp_colsum;
  target[column] += total;
}

}  // namespace

std::int64_t layernorm_backward_scratch_bytes(int channels) {
  return std::int64_t{kMaxBlocks} * 3 * channels * std::int64_t{sizeof(float)};
}

template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               void* scratch, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_backward",
                        {layernorm_backward_bytes<T>(rows, channels, dresidual_in != nullptr),
                         layernorm_backward_flops(rows, channels)});
  if (rows <= 0) return;
  auto* partials = static_cast<float*>(scratch);
  constexpr int kVector = kPackedSize<T>;
  const int threads = static_cast<int>(ceil_div(ceil_div(channels, kVector), kWarpSize)) * kWarpSize;
  const bool aligned = is_aligned_16(dinp_out) && is_aligned_16(dresidual_in) && is_aligned_16(dout) &&
                       is_aligned_16(inp) && is_aligned_16(weight);
  int blocks = 0;
  if (width == KernelWidth::packed && channels % kVector == 0 && aligned && threads <= kMaxThreads<T>) {
    const auto run = [&]<bool kResidual, bool kColumnSum>() {
      auto* kernel = layernorm_backward_kernel<T, kResidual, kColumnSum>;
      int resident = 0;
      RIDGELINE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, 0));
      blocks = static_cast<int>(std::min<std::int64_t>(
          {ceil_div(rows, kRows), std::int64_t{multiprocessor_count()} * std::max(resident, 1), kMaxBlocks}));
      kernel<<<blocks, threads, 0, stream>>>(dinp_out, dresidual_in, partials, dout, inp, weight, mean, rstd,
                                             rows, channels);
    };
    if (dresidual_in != nullptr) {
      if (dinp_colsum != nullptr) {
        run.template operator()<true, true>();
      } else {
        run.template operator()<true, false>();
      }
    } else if (dinp_colsum != nullptr) {
      run.template operator()<false, true>();
    } else {
      run.template operator()<false, false>();
    }
  } else {
    blocks = static_cast<int>(std::min<std::int64_t>({rows, 4LL * multiprocessor_count(), kMaxBlocks}));
    layernorm_backward_any_kernel<T><<<blocks, kAnyBlock, 0, stream>>>(
        dinp_out, dresidual_in, partials, dout, inp, weight, mean, rstd, rows, channels);
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
  const dim3 grid(static_cast<unsigned>(ceil_div(channels, kReduceColumns)), dinp_colsum != nullptr ? 3 : 2);
  add_partials_kernel<<<grid, dim3(kReduceColumns, kReduceSlices), 0, stream>>>(dweight, dbias, dinp_colsum,
                                                                                partials, blocks, channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

#define RIDGELINE_INSTANTIATE(Real)                                                                       \
  template void layernorm_backward_cpu(Real*, const Real*, Real*, Real*, Real*, const Real*, const Real*, \
                                       const Real*, const Real*, const Real*, std::int64_t, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                                             \
  template void launch_layernorm_backward<T>(T*, const T*, float*, float*, float*, const T*, const T*,       \
                                             const T*, const float*, const float*, std::int64_t, int, void*, \
                                             cudaStream_t, KernelWidth);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
