// layernorm_forward.cu: out = (inp - mean) * rstd * weight + bias, alone or after a residual addition
// shapes  inp,out (N,C) T; weight,bias (C) T; mean,rstd (N) FP32; any N, any C
//         in FP8 inp, weight, bias bf16; out (N,C) and out^T (C,N) of one byte; N and C multiples of 16
// bytes   2*N*C*sizeof(T) + 8*N, with the residual addition 4*N*C*sizeof(T) + 8*N; in FP8 as bf16
// flops   8*N*C (9*N*C); in FP8 N*C more
// check   |gpu-ref| <= 4*eps(T)*(|ref|+1); statistics 1e-5 relative; a non-finite mismatch fails
//         in FP8 each value within half a step of E4M3 of the FP64 reference times the scale, and FP32's rounding; the
//         transposed copy is the same bytes
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
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/norm/fp8_rows.cuh"
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
constexpr int kWarps = kBlock / kWarpSize;

// Where normalised rows go: with a Writer, which hands a warp its rows, and takes what they become.

// As T: a warp has one row.
template <typename T>
struct PlainRows {
  using Element = T;
  static constexpr int kPerBlock = kWarps;
  static constexpr int resident_blocks(int) { return 0; }  // as many as there is room for
  T* out;

  class Writer {
   public:
    __device__ Writer(const PlainRows& rows, std::int64_t count, int) : out_(rows.out), count_(count) {}
    // row(index of the row, its place among the block's)
    template <class Row>
    __device__ void for_rows(const Row& row) const {
      const std::int64_t turn = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
      if (turn < count_) row(count_ - 1 - turn, 0);
    }
    __device__ void take(float&) const {}
    // The vector of column c, `at` its place in the tensor.
    __device__ void store(std::int64_t at, int, int, const float (&v)[kPackedSize<T>]) const {
      store128(out_ + at, pack<T>(v));
    }
    __device__ void finish() const {}

   private:
    T* out_;
    std::int64_t count_;
  };
};

// In E4M3, of FP32 values that were rounded to nothing else before, and transposed: the block's warps leave 32 rows in
// a table (fp8_rows.cuh), which is the dynamic shared memory. Several blocks share a multiprocessor, so that one stores
// while another waits for its rows.
struct Fp8Rows {
  using Element = bf16;
  static constexpr int kPerBlock = kFp8TableRows;
  static constexpr int resident_blocks(int chunks) { return chunks <= 3 ? 4 : 2; }
  Fp8Output out;

  class Writer {
   public:
    __device__ Writer(const Fp8Rows& rows, std::int64_t count, int channels)
        : out_(rows.out),
          count_(count),
          first_row_(std::int64_t{gridDim.x - 1 - blockIdx.x} * kPerBlock),
          channels_(channels),
          scale_(*rows.out.scale.scale) {}
    template <class Row>
    __device__ void for_rows(const Row& row) const {
#pragma unroll 1
      for (int slot = static_cast<int>(threadIdx.x) / kWarpSize; slot < kPerBlock; slot += kWarps) {
        if (first_row_ + slot >= count_) break;
        row(first_row_ + slot, slot);
      }
    }
    __device__ void take(float& value) {
      largest_ = fmaxf(largest_, fabsf(value));
      value *= scale_;
    }
    __device__ void store(std::int64_t at, int slot, int c, const float (&v)[kPackedSize<bf16>]) const {
      store_fp8_vector<Fp8Format::e4m3>(out_.data + at, table() + slot * fp8_table_pitch(channels_) + c / 4,
                                        v);
    }
    __device__ void finish() const {
      __shared__ float shared[kWarps];
      const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
      const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
      __syncthreads();
      store_transposed(out_.transposed, table(), first_row_, count_, channels_, warp, kWarps, lane);
      commit_amax(out_.scale.amax, largest_, shared);
    }

   private:
    __device__ static std::uint32_t* table() {
      extern __shared__ std::uint32_t storage[];
      return storage;
    }

    const Fp8Output& out_;
    std::int64_t count_;
    std::int64_t first_row_;
    int channels_;
    float scale_;
    float largest_ = 0.0F;
  };
};

// kChunks: 16-byte vectors a lane holds, the smallest instantiated count with kChunks*32*vector >= C.
// inp2 is null without a residual addition.
template <class Rows, int kChunks, bool kResidual, typename T = typename Rows::Element>
__global__ void __launch_bounds__(kBlock, Rows::resident_blocks(kChunks))
    layernorm_forward_kernel(T* residual, const __grid_constant__ Rows to, float* mean, float* rstd,
                             const T* inp1, const T* inp2, const T* weight, const T* bias, std::int64_t rows,
                             int channels) {
  constexpr int kVector = kPackedSize<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  typename Rows::Writer writer(to, rows, channels);
  writer.for_rows([&](std::int64_t row, int slot) {
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
        normalise(v, x[i], weight + c, bias + c, of_row, [&](float& value) { writer.take(value); });
        writer.store(offset + c, slot, c, v);
      }
    }
    if (lane == 0) {
      if (mean != nullptr) mean[row] = of_row.mean;
      if (rstd != nullptr) rstd[row] = of_row.rstd;
    }
  });
  writer.finish();
}

// Any C and any alignment, one element per access: a warp walks the row three times, from cache after the
// first.
template <typename T, bool kResidual>
__global__ void __launch_bounds__(kBlock)
    layernorm_forward_any_kernel(T* residual, T* out, float* mean, float* rstd, const T* inp1, const T* inp2,
                                 const T* weight, const T* bias, std::int64_t rows, int channels) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
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

// What all launchers are given. inp2 and residual are null without a residual addition.
template <typename T>
struct Inputs {
  T* residual;
  float* mean;
  float* rstd;
  const T* inp1;
  const T* inp2;
  const T* weight;
  const T* bias;
  std::int64_t rows;
  int channels;

  bool aligned() const { return all_aligned_16(residual, inp1, inp2, weight, bias); }
};

template <bool kResidual, class Rows, typename T>
void launch_rows(const Rows& to, const Inputs<T>& in, int shared_bytes, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(ceil_div(in.rows, Rows::kPerBlock));
  const auto run = [&]<int kChunks>() {
    auto* kernel = layernorm_forward_kernel<Rows, kChunks, kResidual>;
    if (shared_bytes > 0) {
      RIDGELINE_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    }
    kernel<<<blocks, kBlock, static_cast<std::size_t>(shared_bytes), stream>>>(
        in.residual, to, in.mean, in.rstd, in.inp1, in.inp2, in.weight, in.bias, in.rows, in.channels);
  };
  const std::int64_t chunks = ceil_div(in.channels, kWarpSize * kPackedSize<T>);
  if constexpr (std::is_same_v<Rows, Fp8Rows>) {
    with_layernorm_chunks<1, 3, 5, 7>(chunks, run);  // C = 768; 1024 and 1280; 1600
  } else {
    // bf16: C = 768, 1024, 1280, 1600; FP32: 768; 1024 and 1280; 1600
    with_layernorm_chunks<1, 3, 4, 5, 7, 10, 13>(chunks, run);
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <bool kResidual, typename T>
void launch_plain(T* out, const Inputs<T>& in, cudaStream_t stream, KernelWidth width) {
  if (width == KernelWidth::packed && in.channels % kPackedSize<T> == 0 && in.aligned() &&
      is_aligned_16(out) && in.channels <= 13 * kWarpSize * kPackedSize<T>) {
    launch_rows<kResidual>(PlainRows<T>{out}, in, 0, stream);
    return;
  }
  layernorm_forward_any_kernel<T, kResidual>
      <<<static_cast<unsigned>(ceil_div(in.rows, kWarps)), kBlock, 0, stream>>>(
          in.residual, out, in.mean, in.rstd, in.inp1, in.inp2, in.weight, in.bias, in.rows, in.channels);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <bool kResidual>
void launch_fp8(const char* what, const Fp8Output& out, const Inputs<bf16>& in, cudaStream_t stream,
                KernelWidth width) {
  check_layernorm_fp8(
      what, in.rows, in.channels,
      in.aligned() && all_aligned_16(out.data, out.transposed) && width == KernelWidth::packed);
  launch_rows<kResidual>(Fp8Rows{out}, in, fp8_table_bytes(in.channels), stream);
}

}  // namespace

template <typename T>
void launch_layernorm_forward(T* out, float* mean, float* rstd, const T* inp, const T* weight, const T* bias,
                              std::int64_t rows, int channels, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_forward", {layernorm_forward_bytes<T>(rows, channels),
                                              layernorm_forward_flops(rows, channels)});
  if (rows <= 0) return;
  launch_plain<false, T>(out, {nullptr, mean, rstd, inp, nullptr, weight, bias, rows, channels}, stream,
                         width);
}

void launch_layernorm_forward(const Fp8Output& out, float* mean, float* rstd, const bf16* inp,
                              const bf16* weight, const bf16* bias, std::int64_t rows, int channels,
                              cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_forward", {layernorm_forward_fp8_bytes(rows, channels, false),
                                              layernorm_forward_fp8_flops(rows, channels, false)});
  launch_fp8<false>("layernorm_forward in FP8", out,
                    {nullptr, mean, rstd, inp, nullptr, weight, bias, rows, channels}, stream, width);
}

template <typename T>
void launch_residual_layernorm_forward(T* residual, T* normed, float* mean, float* rstd, const T* inp1,
                                       const T* inp2, const T* weight, const T* bias, std::int64_t rows,
                                       int channels, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("residual_layernorm_forward", {residual_layernorm_forward_bytes<T>(rows, channels),
                                                       residual_layernorm_forward_flops(rows, channels)});
  if (rows <= 0) return;
  launch_plain<true, T>(normed, {residual, mean, rstd, inp1, inp2, weight, bias, rows, channels}, stream,
                        width);
}

void launch_residual_layernorm_forward(bf16* residual, const Fp8Output& normed, float* mean, float* rstd,
                                       const bf16* inp1, const bf16* inp2, const bf16* weight,
                                       const bf16* bias, std::int64_t rows, int channels, cudaStream_t stream,
                                       KernelWidth width) {
  const NvtxRange range("residual_layernorm_forward", {layernorm_forward_fp8_bytes(rows, channels, true),
                                                       layernorm_forward_fp8_flops(rows, channels, true)});
  launch_fp8<true>("residual_layernorm_forward in FP8", normed,
                   {residual, mean, rstd, inp1, inp2, weight, bias, rows, channels}, stream, width);
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
