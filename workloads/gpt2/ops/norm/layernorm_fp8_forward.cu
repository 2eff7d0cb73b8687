// layernorm_fp8_forward.cu: out, out^T = fp8((inp - mean) * rstd * weight + bias), alone or after a residual addition
// shapes  inp (N,C), weight,bias (C) bf16; out (N,C), out^T (C,N) of one byte; mean,rstd (N) FP32; N and C multiples of
//         16
// bytes   4*N*C + 8*N, with the residual addition 8*N*C + 8*N
// flops   9*N*C (10*N*C)
// check   each value within half a step of E4M3 of the FP64 reference times the scale, and FP32's rounding; the
//         transposed copy is the same bytes
// bound   DRAM
//
// A warp owns a row at a time and holds it in registers, as in layernorm_forward.cu, and leaves it in a table
// of 32 rows (fp8_rows.cuh). Several blocks share a multiprocessor, so that one stores while another waits
// for its rows.
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/norm/fp8_rows.cuh"
#include "gpt2/ops/norm/layernorm_fp8.h"
#include "gpt2/ops/norm/layernorm_rows.cuh"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / kWarpSize;
constexpr int kVector = kPackedSize<bf16>;

// kChunks: 16-byte vectors a lane holds of a row. Dynamic shared memory: the table.
template <int kChunks, bool kResidual>
__global__ void __launch_bounds__(kBlock, kChunks <= 3 ? 4 : 2)
    layernorm_forward_fp8_kernel(bf16* residual, std::uint8_t* out, std::uint8_t* transposed, float* mean,
                                 float* rstd, const bf16* inp1, const bf16* inp2, const bf16* weight,
                                 const bf16* bias, std::int64_t rows, int channels, const Fp8Scale target) {
  extern __shared__ std::uint32_t table[];
  __shared__ float shared[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int pitch = fp8_table_pitch(channels);
  const float scale = *target.scale;
  // From the last rows to the first: the end of inp1, or of inp2, is what the GEMM before this kernel left in L2.
  const std::int64_t first_row = std::int64_t{gridDim.x - 1 - blockIdx.x} * kFp8TableRows;
  float largest = 0.0F;
#pragma unroll 1
  for (int slot = warp; slot < kFp8TableRows; slot += kWarps) {
    const std::int64_t row = first_row + slot;
    if (row >= rows) break;
    const std::int64_t offset = row * channels;
    Packed<bf16> x[kChunks];
    load_layernorm_row(x, inp1 + offset, channels, lane);
    if constexpr (kResidual) {
      Packed<bf16> y[kChunks];
      load_layernorm_row(y, inp2 + offset, channels, lane);
      add_layernorm_rows(x, y, residual + offset, channels, lane);
    }
    const LayernormStatistics of_row = layernorm_statistics(x, channels, lane);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int c = (i * kWarpSize + lane) * kVector;
      if (c < channels) {
        float v[kVector];
        normalise(v, x[i], weight + c, bias + c, of_row, [&](float& value) {
          largest = fmaxf(largest, fabsf(value));
          value *= scale;
        });
        const std::uint32_t low = fp8_word<Fp8Format::e4m3>(v[0], v[1], v[2], v[3]);
        const std::uint32_t high = fp8_word<Fp8Format::e4m3>(v[4], v[5], v[6], v[7]);
        *reinterpret_cast<uint2*>(out + offset + c) = make_uint2(low, high);
        table[slot * pitch + c / 4] = low;
        table[slot * pitch + c / 4 + 1] = high;
      }
    }
    if (lane == 0) {
      mean[row] = of_row.mean;
      rstd[row] = of_row.rstd;
    }
  }
  __syncthreads();
  store_transposed(transposed, table, first_row, rows, channels, warp, kWarps, lane);
  commit_amax(target.amax, largest, shared);
}

template <bool kResidual>
void dispatch(const char* what, bf16* residual, const Fp8Output& normed, float* mean, float* rstd,
              const bf16* inp1, const bf16* inp2, const bf16* weight, const bf16* bias, std::int64_t rows,
              int channels, cudaStream_t stream) {
  const bool aligned = is_aligned_16(residual) && is_aligned_16(normed.data) &&
                       is_aligned_16(normed.transposed) && is_aligned_16(inp1) && is_aligned_16(inp2) &&
                       is_aligned_16(weight) && is_aligned_16(bias);
  if (!layernorm_fp8_supported(rows, channels) || !aligned) {
    throw std::invalid_argument(
        std::string(what) + " (" + std::to_string(rows) + ", " + std::to_string(channels) + ")" +
        (aligned ? ": sizes are not supported" : ": a tensor is not aligned to 16 bytes"));
  }
  const auto blocks = static_cast<unsigned>(ceil_div(rows, kFp8TableRows));
  const int table_bytes = fp8_table_bytes(channels);
  const auto run = [&]<int kChunks>() {
    auto* kernel = layernorm_forward_fp8_kernel<kChunks, kResidual>;
    RIDGELINE_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, table_bytes));
    kernel<<<blocks, kBlock, static_cast<std::size_t>(table_bytes), stream>>>(
        residual, normed.data, normed.transposed, mean, rstd, inp1, inp2, weight, bias, rows, channels,
        normed.scale);
  };
  const std::int64_t chunks = ceil_div(channels, kWarpSize * kVector);
  if (chunks <= 1) {
    run.template operator()<1>();
  } else if (chunks <= 3) {  // C = 768
    run.template operator()<3>();
  } else if (chunks <= 5) {  // C = 1024 and 1280
    run.template operator()<5>();
  } else {  // C = 1600
    run.template operator()<7>();
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

void launch_layernorm_forward_fp8(const Fp8Output& normed, float* mean, float* rstd, const bf16* inp,
                                  const bf16* weight, const bf16* bias, std::int64_t rows, int channels,
                                  cudaStream_t stream) {
  const NvtxRange range("layernorm_forward", {layernorm_forward_fp8_bytes(rows, channels, false),
                                              layernorm_forward_fp8_flops(rows, channels, false)});
  dispatch<false>("layernorm_forward_fp8", nullptr, normed, mean, rstd, inp, nullptr, weight, bias, rows,
                  channels, stream);
}

void launch_residual_layernorm_forward_fp8(bf16* residual, const Fp8Output& normed, float* mean, float* rstd,
                                           const bf16* inp1, const bf16* inp2, const bf16* weight,
                                           const bf16* bias, std::int64_t rows, int channels,
                                           cudaStream_t stream) {
  const NvtxRange range("residual_layernorm_forward", {layernorm_forward_fp8_bytes(rows, channels, true),
                                                       layernorm_forward_fp8_flops(rows, channels, true)});
  dispatch<true>("residual_layernorm_forward_fp8", residual, normed, mean, rstd, inp1, inp2, weight, bias,
                 rows, channels, stream);
}

}  // namespace ridgeline::gpt2
