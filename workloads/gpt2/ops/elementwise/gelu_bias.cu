// gelu_bias.cu: dinp = dout * gelu'(inp); dbias[c] += sum over n of dinp[n,c]
// shapes  inp,dout,dinp (N,C) T, dbias (C) FP32; any N, C a multiple of 16 bytes
// bytes   3*N*C*sizeof(T) + 8*C
// flops   17*N*C (an exponential or division counts 1)
// check   dinp as gelu.cu; dbias as bias_gradient.cu, of the rounded dinp
// bound   DRAM
//
// column_tiles.cuh divides the work.
#include <stdexcept>
#include <string>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/column_tiles.cuh"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/elementwise/gelu_math.cuh"

namespace ridgeline::gpt2 {

template <typename Real>
void gelu_bias_backward_cpu(Real* dinp, Real* dbias, const Real* inp, const Real* dout, std::int64_t rows,
                            int channels) {
  gelu_backward_cpu(dinp, inp, dout, rows * channels);
  bias_gradient_cpu(dbias, static_cast<const Real*>(dinp), rows, channels);
}

namespace {

// Rows a warp has in flight, of both inputs: as many loads as bias_gradient.cu has of its one.
constexpr int kUnroll = 4;

template <typename T>
__device__ inline Packed<T> times_slope(const Packed<T>& dout, const Packed<T>& inp) {
  float d[kPackedSize<T>];
  float x[kPackedSize<T>];
  unpack(dout, d);
  unpack(inp, x);
  // Not `*`: fused with the addition that follows, an FP32 sum would be of GEMMs that were not rounded.
#pragma unroll
  for (int k = 0; k < kPackedSize<T>; ++k) d[k] = __fmul_rn(d[k], gelu_slope<T>(x[k]));
  return pack<T>(d);
}

// No restrict: in place, dinp is dout. A thread reads what it overwrites before it writes, and nobody else
// touches it.
template <typename T>
__global__ void __launch_bounds__(kColumnBlock, 2)
    gelu_bias_backward_kernel(T* dinp, float* partials, const T* inp, const T* dout, std::int64_t rows,
                              int channels) {
  constexpr int kVector = kPackedSize<T>;
  const ColumnTile tile = column_tile<kVector>(rows);
  float sum[kVector] = {};
  if (tile.column < channels) {
    const std::int64_t stride = std::int64_t{kColumnWarps} * channels;
    const T* x_at = inp + tile.row * channels + tile.column;
    const T* d_at = dout + tile.row * channels + tile.column;
    T* out_at = dinp + tile.row * channels + tile.column;
    std::int64_t row = tile.row;
    for (; row + (kUnroll - 1) * kColumnWarps < tile.row_end; row += kUnroll * kColumnWarps) {
      Packed<T> x[kUnroll];
      Packed<T> d[kUnroll];
      // inp is dead after this kernel; dinp is what the next two GEMMs read.
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        d[u] = load128(d_at + u * stride);
        x[u] = load128_streaming(x_at + u * stride);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const Packed<T> out = times_slope(d[u], x[u]);
        store128(out_at + u * stride, out);
        add_to(sum, out);
      }
      x_at += kUnroll * stride;
      d_at += kUnroll * stride;
      out_at += kUnroll * stride;
    }
    // The last rows are in flight together too: one by one they would cost a trip to memory each.
    Packed<T> x[kUnroll - 1] = {};
    Packed<T> d[kUnroll - 1] = {};
#pragma unroll
    for (int u = 0; u < kUnroll - 1; ++u) {
      if (row + u * kColumnWarps < tile.row_end) {
        d[u] = load128(d_at + u * stride);
        x[u] = load128_streaming(x_at + u * stride);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll - 1; ++u) {
      if (row + u * kColumnWarps < tile.row_end) {
        const Packed<T> out = times_slope(d[u], x[u]);
        store128(out_at + u * stride, out);
        add_to(sum, out);
      }
    }
  }
  leave_column_sums<kVector>(partials, sum, channels);
}

}  // namespace

template <typename T>
void launch_gelu_bias_backward(T* dinp, float* dbias, const T* inp, const T* dout, std::int64_t rows,
                               int channels, PartialSums& sums, cudaStream_t stream) {
  const bool aligned = is_aligned_16(dinp) && is_aligned_16(inp) && is_aligned_16(dout);
  if (!gelu_bias_backward_supported<T>(channels) || !aligned) {
    throw std::invalid_argument(
        "gelu_bias_backward C " + std::to_string(channels) +
        (aligned ? ": rows are no multiple of 16 bytes" : ": a tensor is not aligned to 16 bytes"));
  }
  const ColumnPlan plan = column_plan(channels, kPackedSize<T>);
  // Before the range opens: a flush is no part of this op.
  float* partials = rows > 0 ? sums.reserve(plan.splits * channels, 1, stream) : nullptr;
  const NvtxRange range("gelu_bias_backward", {gelu_bias_backward_bytes<T>(rows, channels),
                                               gelu_bias_backward_flops(rows, channels)});
  if (rows <= 0) return;
  gelu_bias_backward_kernel<T>
      <<<plan.grid(), kColumnBlock, 0, stream>>>(dinp, partials, inp, dout, rows, channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  sums.add({dbias, partials, channels, static_cast<int>(plan.splits), channels});
}

template void gelu_bias_backward_cpu(float*, float*, const float*, const float*, std::int64_t, int);
template void gelu_bias_backward_cpu(double*, double*, const double*, const double*, std::int64_t, int);
template void launch_gelu_bias_backward<float>(float*, float*, const float*, const float*, std::int64_t, int,
                                               PartialSums&, cudaStream_t);
template void launch_gelu_bias_backward<bf16>(bf16*, float*, const bf16*, const bf16*, std::int64_t, int,
                                              PartialSums&, cudaStream_t);

}  // namespace ridgeline::gpt2
