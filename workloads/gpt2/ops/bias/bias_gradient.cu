// bias_gradient.cu: dbias[c] += sum over n of dout[n,c]
// shapes  dout (N,OC) T, also of wider rows; dbias (OC) FP32; any N, any OC (tails guarded)
// bytes   N*OC*sizeof(T) + 8*OC
// flops   N*OC
// check   |gpu-ref| <= 1e-6*sum|dout| per column; a non-finite mismatch fails
// bound   DRAM
//
// column_tiles.cuh divides the work.
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/column_tiles.cuh"
#include "gpt2/ops/bias/partial_sums.h"

namespace ridgeline::gpt2 {

template <typename Real>
void bias_gradient_cpu(Real* dbias, const Real* dout, std::int64_t rows, int channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (int c = 0; c < channels; ++c) dbias[c] += dout[n * channels + c];
  }
}

namespace {

constexpr int kUnroll = 8;  // rows in flight per warp

// kVector columns a lane: 16 bytes, or 1 when rows are not 16-byte aligned.
template <typename T, int kVector>
__global__ void __launch_bounds__(kColumnBlock)
    bias_gradient_kernel(float* partials, const T* dout, std::int64_t rows, int channels,
                         std::int64_t pitch) {
  const ColumnTile tile = column_tile<kVector>(rows);
  float sum[kVector] = {};
  if (tile.column < channels) {
    const T* base = dout + tile.column;
    std::int64_t row = tile.row;
    if constexpr (kVector > 1) {
      for (; row + (kUnroll - 1) * kColumnWarps < tile.row_end; row += kUnroll * kColumnWarps) {
        Packed<T> packed[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) packed[u] = load128(base + (row + u * kColumnWarps) * pitch);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) add_to(sum, packed[u]);
      }
      // The last rows are in flight together too: one by one they would cost a trip to memory each.
      Packed<T> rest[kUnroll - 1] = {};
#pragma unroll
      for (int u = 0; u < kUnroll - 1; ++u) {
        if (row + u * kColumnWarps < tile.row_end) rest[u] = load128(base + (row + u * kColumnWarps) * pitch);
      }
#pragma unroll
      for (int u = 0; u < kUnroll - 1; ++u) add_to(sum, rest[u]);
    } else {
#pragma unroll 8
      for (; row < tile.row_end; row += kColumnWarps) sum[0] += to_float(base[row * pitch]);
    }
  }
  leave_column_sums<kVector>(partials, sum, channels);
}

template <typename T, int kVector>
void launch_planned(float* dbias, const T* dout, std::int64_t rows, int channels, std::int64_t pitch,
                    PartialSums& sums, cudaStream_t stream) {
  const ColumnPlan plan = column_plan(channels, kVector);
  float* partials = sums.reserve(plan.splits * channels, 1, stream);
  bias_gradient_kernel<T, kVector>
      <<<plan.grid(), kColumnBlock, 0, stream>>>(partials, dout, rows, channels, pitch);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  sums.add({dbias, partials, channels, static_cast<int>(plan.splits), channels});
}

}  // namespace

std::int64_t bias_gradient_scratch_bytes(int channels) {
  // The plan for fewer columns has fewer stripes but more splits: bound the GEMM, not one plan. A row of
  // partials is rounded up to 16 bytes.
  const std::int64_t widest = std::int64_t{kWarpSize} * kPackedSize<bf16>;
  return (channels + 3 + kColumnBlocks * widest) * std::int64_t{sizeof(float)};
}

template <typename T>
void launch_bias_gradient(float* dbias, const T* dout, std::int64_t rows, int channels, std::int64_t pitch,
                          PartialSums& sums, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("bias_gradient",
                        {bias_gradient_bytes<T>(rows, channels), bias_gradient_flops(rows, channels)});
  if (rows <= 0 || channels <= 0) return;
  if (width == KernelWidth::packed && channels % kPackedSize<T> == 0 && pitch % kPackedSize<T> == 0 &&
      is_aligned_16(dout)) {
    launch_planned<T, kPackedSize<T>>(dbias, dout, rows, channels, pitch, sums, stream);
  } else {
    launch_planned<T, 1>(dbias, dout, rows, channels, pitch, sums, stream);
  }
}

template <typename T>
void launch_bias_gradient(float* dbias, const T* dout, std::int64_t rows, int channels, void* scratch,
                          cudaStream_t stream, KernelWidth width) {
  PartialSums sums(scratch, bias_gradient_scratch_bytes(channels));
  launch_bias_gradient(dbias, dout, rows, channels, channels, sums, stream, width);
  sums.flush(stream);
}

template void bias_gradient_cpu(float*, const float*, std::int64_t, int);
template void bias_gradient_cpu(double*, const double*, std::int64_t, int);
template void launch_bias_gradient<float>(float*, const float*, std::int64_t, int, void*, cudaStream_t,
                                          KernelWidth);
template void launch_bias_gradient<bf16>(float*, const bf16*, std::int64_t, int, void*, cudaStream_t,
                                         KernelWidth);
template void launch_bias_gradient<float>(float*, const float*, std::int64_t, int, std::int64_t, PartialSums&,
                                          cudaStream_t, KernelWidth);
template void launch_bias_gradient<bf16>(float*, const bf16*, std::int64_t, int, std::int64_t, PartialSums&,
                                         cudaStream_t, KernelWidth);

}  // namespace ridgeline::gpt2
