// layernorm_forward.cu: out = (inp - mean) * rstd * weight + bias, alone or after a residual addition
// shapes  inp,out (N,C) T; weight,bias (C) T; mean,rstd (N) FP32; any N, any C
// bytes   2*N*C*sizeof(T) + 8*N, with the residual addition 4*N*C*sizeof(T) + 8*N
// flops   8*N*C (9*N*C)
// check   |gpu-ref| <= 4*eps(T)*(|ref|+1); statistics 1e-5 relative; a non-finite mismatch fails
// bound   DRAM
//
// A warp owns a row and holds it in registers, so the two-pass variance costs no second read. Rows are taken
// from the last to the first: the end of inp, or of inp2, is what the GEMM before this kernel left in L2,
// and the beginning of out is what the next GEMM reads first.
#include <cmath>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/norm/layernorm.h"
#include "gpt2/ops/norm/layernorm_rows.cuh"

namespace ridgeline::gpt2 {

template <typename Real>
void layernorm_forward_cpu(Real* out, Real* mean, Real* rstd, const Real* inp, const Real* weight,
                           const Real* bias, std::int64_t rows, int channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const Real* x = inp + n * channels;
    Real m{0};
    for (int c = 0; c < channels; ++c) m += x[c];
    m /= static_cast<Real>(channels);
    Real variance{0};
    for (int c = 0; c < channels; ++c) variance += (x[c] - m) * (x[c] - m);
    variance /= static_cast<Real>(channels);
    const Real s = Real(1) / std::sqrt(variance + Real(kLayernormEpsilon));
    for (int c = 0; c < channels; ++c) out[n * channels + c] = (x[c] - m) * s * weight[c] + bias[c];
    mean[n] = m;
    rstd[n] = s;
  }
}

template <typename Real>
void residual_layernorm_forward_cpu(Real* residual, Real* normed, Real* mean, Real* rstd, const Real* inp1,
                                    const Real* inp2, const Real* weight, const Real* bias, std::int64_t rows,
                                    int channels) {
  for (std::int64_t i = 0; i < rows * channels; ++i) residual[i] = inp1[i] + inp2[i];
  layernorm_forward_cpu(normed, mean, rstd, residual, weight, bias, rows, channels);
}

namespace {

constexpr int kBlock = 256;
constexpr int kRowsPerBlock = kBlock / kWarpSize;

// kChunks: 16-byte vectors a lane holds, the smallest instantiated count with kChunks*32*vector >= C.
// inp2 is null without a residual addition.
template <typename T, int kChunks, bool kResidual>
__global__ void __launch_bounds__(kBlock)
    layernorm_forward_kernel(T* residual, T* out, float* mean, float* rstd, const T* inp1, const T* inp2,
                             const T* weight, const T* bias, std::int64_t rows, int channels) {
  const std::int64_t turn = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarpSize;
  if (turn >= rows) return;
  const std::int64_t row = rows - 1 - turn;
  constexpr int kVector = kPackedSize<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::int64_t offset = row * channels;

  Packed<T> x[kChunks];
  load_layernorm_row(x, inp1 + offset, channels, lane);
  if constexpr (kResidual) {
    Packed<T> y[kChunks];
    load_layernorm_row(y, inp2 + offset, channels, lane);
    add_layernorm_rows(x, y, residual + offset, channels, lane);
  }
  const LayernormStatistics of_row = layernorm_statistics(x, channels, lane);
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const int c = (i * kWarpSize + lane) * kVector;
    if (c < channels) {
      float v[kVector];
      normalise(v, x[i], weight + c, bias + c, of_row, [](float&) {});
      store128(out + offset + c, pack<T>(v));
    }
  }
  if (lane == 0) {
    if (mean != nullptr) mean[row] = of_row.mean;
    if (rstd != nullptr) rstd[row] = of_row.rstd;
  }
}

// Any C and any alignment, one element per access: a warp walks the row three times, from cache after the
// first.
template <typename T, bool kResidual>
__global__ void __launch_bounds__(kBlock)
    layernorm_forward_any_kernel(T* residual, T* out, float* mean, float* rstd, const T* inp1, const T* inp2,
                                 const T* weight, const T* bias, std::int64_t rows, int channels) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarpSize;
  if (row >= rows) return;
  const std::int64_t offset = row * channels;
  // Each lane reads back only what it wrote itself, so no fence is needed.
  const T* x = kResidual ? residual : inp1;
  float sum = 0.0F;
  for (int c = lane; c < channels; c += kWarpSize) {
    if constexpr (kResidual) {
      residual[offset + c] = from_float<T>(to_float(inp1[offset + c]) + to_float(inp2[offset + c]));
    }
    sum += to_float(x[offset + c]);
  }
  const float m = warp_sum(sum) / static_cast<float>(channels);
  float squares = 0.0F;
  for (int c = lane; c < channels; c += kWarpSize) {
    const float d = to_float(x[offset + c]) - m;
    squares += d * d;
  }
  const float s = rsqrtf(warp_sum(squares) / static_cast<float>(channels) + kLayernormEpsilon);
  for (int c = lane; c < channels; c += kWarpSize) {
    out[offset + c] =
        from_float<T>((to_float(x[offset + c]) - m) * s * to_float(weight[c]) + to_float(bias[c]));
  }
  if (lane == 0) {
    if (mean != nullptr) mean[row] = m;
    if (rstd != nullptr) rstd[row] = s;
  }
}

template <typename T, bool kResidual>
void dispatch(T* residual, T* out, float* mean, float* rstd, const T* inp1, const T* inp2, const T* weight,
              const T* bias, std::int64_t rows, int channels, cudaStream_t stream, KernelWidth width) {
  const auto blocks = static_cast<unsigned>(ceil_div(rows, kRowsPerBlock));
  const bool aligned = is_aligned_16(residual) && is_aligned_16(out) && is_aligned_16(inp1) &&
                       is_aligned_16(inp2) && is_aligned_16(weight) && is_aligned_16(bias);
  const auto run = [&]<int kChunks>() {
    layernorm_forward_kernel<T, kChunks, kResidual>
        <<<blocks, kBlock, 0, stream>>>(residual, out, mean, rstd, inp1, inp2, weight, bias, rows, channels);
  };
  const std::int64_t chunks = ceil_div(channels, kWarpSize * kPackedSize<T>);
  if (width == KernelWidth::scalar || channels % kPackedSize<T> != 0 || !aligned || chunks > 13) {
    layernorm_forward_any_kernel<T, kResidual>
        <<<blocks, kBlock, 0, stream>>>(residual, out, mean, rstd, inp1, inp2, weight, bias, rows, channels);
  } else if (chunks <= 1) {
    run.template operator()<1>();
  } else if (chunks <= 3) {  // bf16, C = 768
    run.template operator()<3>();
  } else if (chunks <= 4) {  // bf16, C = 1024
    run.template operator()<4>();
  } else if (chunks <= 5) {  // bf16, C = 1280
    run.template operator()<5>();
  } else if (chunks <= 7) {  // bf16, C = 1600; FP32, C = 768
    run.template operator()<7>();
  } else if (chunks <= 10) {  // FP32, C = 1024 and 1280
    run.template operator()<10>();
  } else {  // FP32, C = 1600
    run.template operator()<13>();
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

template <typename T>
void launch_layernorm_forward(T* out, float* mean, float* rstd, const T* inp, const T* weight, const T* bias,
                              std::int64_t rows, int channels, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_forward", {layernorm_forward_bytes<T>(rows, channels),
                                              layernorm_forward_flops(rows, channels)});
  if (rows <= 0) return;
  dispatch<T, false>(nullptr, out, mean, rstd, inp, nullptr, weight, bias, rows, channels, stream, width);
}

template <typename T>
void launch_residual_layernorm_forward(T* residual, T* normed, float* mean, float* rstd, const T* inp1,
                                       const T* inp2, const T* weight, const T* bias, std::int64_t rows,
                                       int channels, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("residual_layernorm_forward", {residual_layernorm_forward_bytes<T>(rows, channels),
                                                       residual_layernorm_forward_flops(rows, channels)});
  if (rows <= 0) return;
  dispatch<T, true>(residual, normed, mean, rstd, inp1, inp2, weight, bias, rows, channels, stream, width);
}

#define RIDGELINE_INSTANTIATE(Real)                                                                  \
  template void layernorm_forward_cpu(Real*, Real*, Real*, const Real*, const Real*, const Real*,    \
                                      std::int64_t, int);                                            \
  template void residual_layernorm_forward_cpu(Real*, Real*, Real*, Real*, const Real*, const Real*, \
                                               const Real*, const Real*, std::int64_t, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                                            \
  template void launch_layernorm_forward<T>(T*, float*, float*, const T*, const T*, const T*, std::int64_t, \
                                            int, cudaStream_t, KernelWidth);                                \
  template void launch_residual_layernorm_forward<T>(T*, T*, float*, float*, const T*, const T*, const T*,  \
                                                     const T*, std::int64_t, int, cudaStream_t,             \
                                                     KernelWidth);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
