// hopper_matmul.cu: GELU(x W^T + b) with its slope, and (dy W) * slope with its column sums
// shapes  inp,dout (N,C), weight (H,C) forward and (C,H) backward, out,dpre (N,H) bf16; slope (N,H) of one
//         byte; bias (H) bf16, dbias (H) FP32; any N >= 1, C a multiple of 8, H of 16 (tails: the copy engine
//         fills with zeros, stores are guarded)
// bytes   forward 2*(N*C + H*C + H + N*H) + N*H; backward 2*(N*C + H*C + N*H) + N*H + 8*H
// flops   2*N*C*H, with column sums N*H more
// check   |gpu-ref| <= eps/2*|ref| + FP32 rounding of the sum, times the function's slope; slopes:
//         half a step of their byte; a non-finite mismatch fails
// bound   tensor cores (C = 768: 340 flop/byte forward)
//
// Design: hopper_matmul.cuh. This file is compiled for sm_90a, which alone has the instructions.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/matmul/hopper_matmul.cuh"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "gpt2/ops/matmul/reference_matmul.h"

namespace ridgeline::gpt2 {

template <typename Real>
void hopper_matmul_forward_cpu(Real* out, Real* pre, Real* slope, const Real* inp, const Real* weight,
                               const Real* bias, std::int64_t rows, int channels, int hidden) {
  matmul_forward_cpu(pre, inp, weight, bias, rows, channels, hidden);
  gelu_forward_cpu(out, pre, rows * hidden);
  std::fill_n(slope, rows * hidden, Real{1});
  gelu_backward_cpu(slope, pre, slope, rows * hidden);
}

template <typename Real>
void hopper_matmul_backward_input_cpu(Real* dpre, Real* dbias, const Real* dout, const Real* weight,
                                      const Real* slope, std::int64_t rows, int channels, int hidden) {
  matmul_backward_cpu<Real>(dpre, nullptr, nullptr, dout, nullptr, weight, rows, hidden, channels);
  for (std::int64_t i = 0; i < rows * hidden; ++i) dpre[i] *= slope[i];
  bias_gradient_cpu(dbias, dpre, rows, hidden);
}

namespace {

using hopper::Config;
using hopper::Gemm;

// Of a cluster of two: see bench.
template <Gemm kGemm>
using Fastest = Config<kGemm, 2>;

void check(const char* what, std::int64_t rows, int channels, int hidden, bool aligned) {
  if (hopper_matmul_supported(rows, channels, hidden) && aligned) return;
  throw std::invalid_argument(
      std::string(what) + " N " + std::to_string(rows) + " C " + std::to_string(channels) + " H " +
      std::to_string(hidden) +
      (aligned ? ": not supported on this GPU with these sizes" : ": a tensor is not aligned to 16 bytes"));
}

}  // namespace

bool hopper_matmul_supported(std::int64_t rows, int channels, int hidden) {
  if (rows < 1 || channels < 8 || hidden < 16 || channels % 8 != 0 || hidden % 16 != 0) return false;
  // Rows, elements of a tile's rows and numbers of tiles are counted in 32 bits.
  if (channels > (1 << 23) || hidden > (1 << 23) || rows > (std::int64_t{1} << 30)) return false;
  if (ceil_div(rows, hopper::kTileRows) * ceil_div(hidden, hopper::kTileColumns) > (std::int64_t{1} << 30)) {
    return false;
  }
  int device = 0;
  int major = 0;
  int minor = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return major == 9 && minor == 0;
}

std::int64_t hopper_matmul_partial_sums(std::int64_t rows, int hidden) {
  return ceil_div(rows, hopper::kTileRows) * hidden;
}

void launch_hopper_matmul_forward(bf16* out, std::uint8_t* slope, const bf16* inp, const bf16* weight,
                                  const bf16* bias, std::int64_t rows, int channels, int hidden,
                                  cudaStream_t stream) {
  const NvtxRange range("matmul_forward",
                        {hopper_matmul_forward_bytes(rows, channels, hidden),
                         hopper_matmul_forward_flops(rows, channels, hidden), rows, hidden, channels});
  check("hopper_matmul_forward", rows, channels, hidden,
        is_aligned_16(out) && is_aligned_16(slope) && is_aligned_16(inp) && is_aligned_16(weight) &&
            is_aligned_16(bias));
  hopper::Arguments args;
  args.bias = bias;
  args.rows = rows;
  args.columns = hidden;
  hopper::launch_gemm<Gemm::forward, Fastest<Gemm::forward>>(out, slope, inp, weight, args, channels, stream);
}

void launch_hopper_matmul_backward_input(bf16* dpre, float* dbias, const bf16* dout, const bf16* weight,
                                         const std::uint8_t* slope, std::int64_t rows, int channels,
                                         int hidden, PartialSums& sums, cudaStream_t stream) {
  const bool bias_gradient = dbias != nullptr;
  check("hopper_matmul_backward_input", rows, channels, hidden,
        is_aligned_16(dpre) && is_aligned_16(dout) && is_aligned_16(weight) && is_aligned_16(slope));
  // Before the range opens: a flush is no part of this op.
  float* partials =
      bias_gradient ? sums.reserve(hopper_matmul_partial_sums(rows, hidden), 1, stream) : nullptr;
  const NvtxRange range(
      "matmul_backward_input",
      {hopper_matmul_backward_input_bytes(rows, channels, hidden, bias_gradient),
       hopper_matmul_backward_input_flops(rows, channels, hidden, bias_gradient), rows, hidden, channels});
  hopper::Arguments args;
  args.column_sums = partials;
  args.rows = rows;
  args.columns = hidden;
  constexpr Gemm kGemm = Gemm::backward_input;
  hopper::launch_gemm<kGemm, Fastest<kGemm>>(dpre, const_cast<std::uint8_t*>(slope), dout, weight, args,
                                             channels, stream);
  if (bias_gradient) {
    sums.add({dbias, partials, hidden, static_cast<int>(ceil_div(rows, hopper::kTileRows)), hidden});
  }
}

template void hopper_matmul_forward_cpu(float*, float*, float*, const float*, const float*, const float*,
                                        std::int64_t, int, int);
template void hopper_matmul_forward_cpu(double*, double*, double*, const double*, const double*,
                                        const double*, std::int64_t, int, int);
template void hopper_matmul_backward_input_cpu(float*, float*, const float*, const float*, const float*,
                                               std::int64_t, int, int);
template void hopper_matmul_backward_input_cpu(double*, double*, const double*, const double*, const double*,
                                               std::int64_t, int, int);

}  // namespace ridgeline::gpt2
