// add_bias.cu: out[n,c] += bias[c]
// shapes  out (N,OC), bias (OC) contiguous T; any sizes (tails guarded)
// bytes   (2*N + 1)*OC*sizeof(T)  (out read and written, bias read once: the algorithmic minimum)
// flops   N*OC
// check   |gpu-ref| <= half an ulp of T; a non-finite mismatch fails
// bound   DRAM
#include <algorithm>
#include <limits>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/bias/add_bias.h"

namespace ridgeline::gpt2 {

template <typename Real>
void add_bias_cpu(Real* out, const Real* bias, std::int64_t rows, int channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (int c = 0; c < channels; ++c) out[n * channels + c] += bias[c];
  }
}

namespace {

constexpr int kBlock = 256;
constexpr int kVectorsPerBlock = 32;  // along a row: 512 contiguous bytes per warp
constexpr int kRowsPerBlock = kBlock / kVectorsPerBlock;
constexpr int kRowsPerThread = 4;
constexpr std::int64_t kMaxGridY = 65535;

// A thread keeps its vector of the bias and walks down the rows with several loads in flight. blockDim is
// (kVectorsPerBlock, kRowsPerBlock). Requires OC % vector == 0 and 16-byte aligned pointers.
template <typename T>
__global__ void __launch_bounds__(kBlock)
    add_bias_packed_kernel(T* out, const T* bias, std::int64_t rows, int channels) {
  constexpr int kVector = kPackedSize<T>;
  const int c = static_cast<int>(blockIdx.x * kVectorsPerBlock + threadIdx.x) * kVector;
  if (c >= channels) return;
  float b[kVector];
  unpack(load128(bias + c), b);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * kRowsPerBlock;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kRowsPerBlock + threadIdx.y;
  for (std::int64_t base = first; base < rows; base += kRowsPerThread * stride) {
    Packed<T> x[kRowsPerThread];
#pragma unroll
    for (int u = 0; u < kRowsPerThread; ++u) {
      const std::int64_t row = base + u * stride;
      if (row < rows) x[u] = load128(out + row * channels + c);
    }
#pragma unroll
    for (int u = 0; u < kRowsPerThread; ++u) {
      const std::int64_t row = base + u * stride;
      if (row < rows) {
        float v[kVector];
        unpack(x[u], v);
#pragma unroll
        for (int k = 0; k < kVector; ++k) v[k] += b[k];
        store128(out + row * channels + c, pack<T>(v));
      }
    }
  }
}

// One element per thread, its channel by a division: the first version everybody writes. Index is 32 bits wide
// where that is enough, for the division's sake.
template <typename T, typename Index>
__global__ void __launch_bounds__(kBlock)
    add_bias_scalar_kernel(T* out, const T* bias, Index n, Index channels) {
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n) return;
  out[i] = from_float<T>(to_float(out[i]) + to_float(bias[i % channels]));
}

}  // namespace

template <typename T>
void launch_add_bias(T* out, const T* bias, std::int64_t rows, int channels, KernelWidth width,
                     cudaStream_t stream) {
  const NvtxRange range("add_bias", {add_bias_bytes<T>(rows, channels), add_bias_flops(rows, channels)});
  if (rows <= 0 || channels <= 0) return;
  const bool vectors = channels % kPackedSize<T> == 0 && is_aligned_16(out) && is_aligned_16(bias);
  if (width == KernelWidth::packed && vectors) {
    const std::int64_t row_blocks = ceil_div(rows, kRowsPerBlock * kRowsPerThread);
    const dim3 grid(static_cast<unsigned>(ceil_div(channels / kPackedSize<T>, kVectorsPerBlock)),
                    static_cast<unsigned>(std::min(row_blocks, kMaxGridY)));
    add_bias_packed_kernel<<<grid, dim3(kVectorsPerBlock, kRowsPerBlock), 0, stream>>>(out, bias, rows,
                                                                                       channels);
  } else {
    const std::int64_t n = rows * channels;
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    // The last block's threads count past n: their index must not wrap either.
    if (n <= std::numeric_limits<std::uint32_t>::max() - kBlock) {
      add_bias_scalar_kernel<T, std::uint32_t><<<blocks, kBlock, 0, stream>>>(
          out, bias, static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(channels));
    } else {
      add_bias_scalar_kernel<T, std::uint64_t><<<blocks, kBlock, 0, stream>>>(
          out, bias, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(channels));
    }
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void add_bias_cpu(float*, const float*, std::int64_t, int);
template void add_bias_cpu(double*, const double*, std::int64_t, int);
template void launch_add_bias<float>(float*, const float*, std::int64_t, int, KernelWidth, cudaStream_t);
template void launch_add_bias<bf16>(bf16*, const bf16*, std::int64_t, int, KernelWidth, cudaStream_t);

}  // namespace ridgeline::gpt2
