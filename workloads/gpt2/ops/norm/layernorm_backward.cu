// layernorm_backward.cu: gradients of layer normalisation, with the residual branch's gradient added
// shapes  dinp_out,dresidual_in,dout,inp (N,C) T; weight (C) T; mean,rstd (N) FP32;
//         dweight,dbias,dinp_colsum (C) FP32
//         in FP8 T is bf16; dinp_fp8 (N,C) and (C,N) of one byte as well; N and C multiples of 16
// bytes   4*N*C*sizeof(T) + 8*N; without dresidual_in 3*N*C*sizeof(T) + 8*N; in FP8 2*N*C more
// flops   14*N*C; in FP8 15*N*C
// check   dinp |gpu-ref| <= 4*eps(T)*(|ref|+1); the sums 1e-5 of the sum of magnitudes
//         FP8 within half a step of E5M2 of the FP64 reference times the scale, and FP32's rounding; the
//         transposed copy is the same bytes
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
//
// For FP8 a block takes 32 rows at a time, each of its warps every eighth of them, and stores them transposed when all
// are there (fp8_rows.cuh). The rows of the next 32 are on their way meanwhile, and fill a second table where there is
// room for one, so that a warp waits for the others once every four rows.
#include <algorithm>
#include <cmath>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/norm/fp8_rows.cuh"
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
constexpr std::int64_t kRingBytes = 222 * 1024;   // of the 227 KiB per block may have
constexpr std::int64_t kTableBytes = 226 * 1024;  // in FP8, ring and tables, the rest being declared

template <typename T>
struct Arguments {
  T* dinp_out;
  const T* dresidual_in;
  float* partials;  // (blocks, 3, C): dweight, dbias, dinp_colsum
  const T* dout;
  const T* inp;
  const T* weight;
  const float* mean;
  const float* rstd;
  std::int64_t rows;
  int channels;
};

// What goes on beside dinp_out, and with it which rows belong to a warp: those of turns first, first + stride, ...
// before end. A kernel makes one Walk per thread.

// Nothing: a warp takes every (warps of the grid)-th row.
template <typename T>
struct PlainRows {
  using Element = T;

  class Walk {
   public:
    using Turn = std::int64_t;
    static constexpr bool kWhole = true;
    static __device__ int warps() { return static_cast<int>(blockDim.x) / kWarpSize; }

    __device__ Walk(const PlainRows&, const Arguments<T>& args, int warp, void*)
        : first(static_cast<std::int64_t>(warp) * gridDim.x + blockIdx.x),
          stride(static_cast<std::int64_t>(warps()) * gridDim.x),
          end(args.rows) {}
    __device__ std::int64_t row(Turn turn) const { return end - 1 - turn; }
    // One that exists.
    __device__ std::int64_t row_to_read(Turn turn) const { return row(turn); }
    __device__ void take(float) const {}
    __device__ void store(std::int64_t, Turn, int, float (&)[kPackedSize<T>]) const {}
    __device__ void end_turn(Turn) const {}
    __device__ void finish() const {}

    const Turn first;
    const Turn stride;
    const Turn end;
  };
};

// The gradient, before it is rounded, in E5M2 and transposed. The block's groups of 32 rows, from the last of
// the tensor to the first; the last one may have 16 rows only: the others' turns copy a row that exists and
// use nothing of it.
struct Fp8Rows {
  using Element = bf16;
  static constexpr int kRowsOfWarp = kFp8TableRows / kMaxWarps;
  Fp8Output out;
  int tables;  // 1 or 2

  class Walk {
   public:
    using Turn = int;
    static constexpr bool kWhole = false;
    static constexpr __device__ int warps() { return kMaxWarps; }

    __device__ Walk(const Fp8Rows& rows, const Arguments<bf16>& args, int warp, void* tables)
        : end(static_cast<int>(ceil_div(ceil_div(args.rows, kFp8TableRows) - std::int64_t{blockIdx.x},
                                        std::int64_t{gridDim.x})) *
              kRowsOfWarp),
          rows_(rows),
          count_(args.rows),
          channels_(args.channels),
          warp_(warp),
          tables_(static_cast<std::uint32_t*>(tables)),
          scale_(*rows.out.scale.scale) {}
    __device__ std::int64_t row(Turn turn) const { return first_row(turn) + slot(turn); }
    __device__ std::int64_t row_to_read(Turn turn) const { return min(row(turn), count_ - 1); }
    __device__ void take(float value) { largest_ = fmaxf(largest_, fabsf(value)); }
    __device__ void store(std::int64_t at, Turn turn, int c, float (&v)[kPackedSize<bf16>]) const {
#pragma unroll
      for (float& value : v) value *= scale_;
      store_fp8_vector<Fp8Format::e5m2>(rows_.out.data + at,
                                        table() + slot(turn) * fp8_table_pitch(channels_) + c / 4, v);
    }
    __device__ void end_turn(Turn turn) {
      if (turn % kRowsOfWarp != kRowsOfWarp - 1) return;
      __syncthreads();  // every warp makes as many turns
      store_transposed(rows_.out.transposed, table(), first_row(turn), count_, channels_, warp_, kMaxWarps,
                       static_cast<int>(threadIdx.x) % kWarpSize);
      // With two tables a warp that is ahead fills the other one, and the barrier after that lies after
      // everybody's reads of this one.
      if (rows_.tables == 1) {
        __syncthreads();
      } else {
        table_index_ ^= 1;
      }
    }
    __device__ void finish() const {
      __shared__ float shared[kMaxWarps];
      commit_amax(rows_.out.scale.amax, largest_, shared);
    }

    static constexpr Turn first = 0;
    static constexpr Turn stride = 1;
    const Turn end;

   private:
    __device__ std::int64_t first_row(Turn turn) const {
      const std::int64_t groups = ceil_div(count_, kFp8TableRows);
      const std::int64_t group = std::int64_t{blockIdx.x} + std::int64_t{turn / kRowsOfWarp} * gridDim.x;
      return (groups - 1 - group) * kFp8TableRows;
    }
    __device__ int slot(Turn turn) const {
      return turn % kRowsOfWarp * kMaxWarps + warp_;
    }
    __device__ std::uint32_t* table() const {
      return tables_ + table_index_ * kFp8TableRows * fp8_table_pitch(channels_);
    }

    const Fp8Rows& rows_;
    std::int64_t count_;
    int channels_;
    int warp_;
    std::uint32_t* tables_;
    int table_index_ = 0;
    float scale_;
    float largest_ = 0.0F;
  };
};

// The two sums over a row that its gradient needs; the row's share of dweight and dbias is added to theirs. xhat is
// x * rstd + minus_mean_rstd.
template <typename T, int kChunks, int kVector>
__device__ __forceinline__ float2 row_sums(float (&sum_dweight)[kChunks][kVector],
                                           float (&sum_dbias)[kChunks][kVector], Packed<T> (&w)[kChunks],
                                           const T* d_row, const T* x_row, float rstd, float minus_mean_rstd,
                                           int channels, int lane) {
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
      const float xhat = fmaf(xv[k], rstd, minus_mean_rstd);
      const float g = dv[k] * wv[k];
      sum_g += g;
      sum_gx = fmaf(g, xhat, sum_gx);
      sum_dweight[j][k] = fmaf(dv[k], xhat, sum_dweight[j][k]);
      sum_dbias[j][k] += dv[k];
    }
    forget_conversions(w[j]);
  }
  return warp_sum_two(sum_g, sum_gx, lane);
}

struct RowGradient {
  float rstd;
  float minus_mean_rstd;
  float minus_mean_g_rstd;
  float minus_mean_gx_rstd;
};

// The row's gradient, to dinp and to what goes on beside it; its share of the column sums.
template <bool kResidual, bool kColumnSum, class Walk, typename T, int kChunks, int kVector>
__device__ __forceinline__ void row_gradient(T* dinp, Walk& walk, std::int64_t row, typename Walk::Turn turn,
                                             float (&sum_dinp)[kChunks][kVector], Packed<T> (&w)[kChunks],
                                             const T* d_row, const T* x_row, const RowGradient& r,
                                             int channels, int lane) {
  const T* r_row = x_row + channels;
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
        const float xhat = fmaf(xv[k], r.rstd, r.minus_mean_rstd);
        const float centred = fmaf(dv[k] * wv[k], r.rstd, r.minus_mean_g_rstd);
        const float value = fmaf(xhat, r.minus_mean_gx_rstd, centred) + rv[k];
        if constexpr (kColumnSum) sum_dinp[j][k] += value;
        walk.take(value);
        dv[k] = value;
      }
      store128(dinp + c, pack<T>(dv));
      walk.store(row * channels + c, turn, c, dv);
    }
    forget_conversions(w[j]);
  }
}

// The warps' sums meet in shared memory and are added in the order of the warps.
template <int kChunks, int kVector>
__device__ __forceinline__ void leave_sums(float* partials, const float (&sum)[kChunks][kVector],
                                           float* warp_sums, int channels, int warps, int warp, int lane) {
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
    partials[c] = total;
  }
}

// kChunks: 16-byte vectors a lane owns of a row. Dynamic shared memory: a ring of kStages rows of dout, inp and
// dresidual_in for each warp, then the tables; at the end, in the ring's place, a row of FP32 sums for each warp.
template <class Rows, int kChunks, bool kResidual, bool kColumnSum, typename T = typename Rows::Element>
__global__ void __launch_bounds__(kMaxWarps* kWarpSize, 1)
    layernorm_backward_kernel(const __grid_constant__ Arguments<T> args, const __grid_constant__ Rows to) {
  using Walk = typename Rows::Walk;
  using Turn = typename Walk::Turn;
  constexpr int kVector = kPackedSize<T>;
  constexpr int kStreams = kResidual ? 3 : 2;
  constexpr bool kKeepWeights = kChunks * kVector <= kMaxLayernormWeights;
  extern __shared__ uint4 storage[];
  __shared__ std::uint64_t barriers[kMaxWarps][kStages];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int warps = Walk::warps();
  const int channels = args.channels;
  const float inverse_channels = 1.0F / static_cast<float>(channels);
  const auto row_bytes = static_cast<unsigned>(channels) * static_cast<unsigned>(sizeof(T));
  const std::int64_t ring_of_warp = std::int64_t{kStages} * kStreams * channels;
  T* ring = reinterpret_cast<T*>(storage) + warp * ring_of_warp;
  const std::uint64_t read_once = evict_first_policy();
  Walk walk(to, args, warp, reinterpret_cast<T*>(storage) + warps * ring_of_warp);

  // dout and inp are dead after this kernel; the residual's gradient is overwritten where it lies.
  const auto request = [&](Turn turn, int stage) {
    const std::int64_t offset = walk.row_to_read(turn) * channels;
    T* slot = ring + stage * kStreams * channels;
    std::uint64_t* barrier = &barriers[warp][stage];
    barrier_expect(barrier, kStreams * row_bytes);
    bulk_load(slot, args.dout + offset, row_bytes, barrier, read_once);
    bulk_load(slot + channels, args.inp + offset, row_bytes, barrier, read_once);
    if constexpr (kResidual) bulk_load(slot + 2 * channels, args.dresidual_in + offset, row_bytes, barrier);
  };
  if (lane == 0) {
    for (int stage = 0; stage < kStages; ++stage) barrier_init(&barriers[warp][stage], 1);
    barrier_init_fence();
    for (int stage = 0; stage < kStages; ++stage) {
      if (walk.first + stage * walk.stride < walk.end) request(walk.first + stage * walk.stride, stage);
    }
  }
  __syncwarp();

  Packed<T> w[kChunks];
  const auto read_weights = [&] { read_layernorm_weights(w, args.weight, channels, lane); };
  read_weights();
  float sum_dweight[kChunks][kVector] = {};
  float sum_dbias[kChunks][kVector] = {};
  float sum_dinp[kChunks][kVector] = {};

  int stage = 0;
  unsigned parity = 0;
  // A lane holds the statistics of one of the warp's next 32 rows, and of one of the 32 after those: fetched
  // row by row they would cost a trip to memory each.
  const auto read_statistics = [&](Turn first_turn) {
    const Turn turn = first_turn + lane * walk.stride;
    if (turn >= walk.end) return make_float2(0.0F, 0.0F);
    return make_float2(args.mean[walk.row_to_read(turn)], args.rstd[walk.row_to_read(turn)]);
  };
  float2 statistics = read_statistics(walk.first);
  float2 next_statistics = read_statistics(walk.first + kWarpSize * walk.stride);
  int holder = 0;
  for (Turn turn = walk.first; turn < walk.end; turn += walk.stride) {
    const std::int64_t row = walk.row(turn);
    const float m = __shfl_sync(kFullMask, statistics.x, holder);
    const float s = __shfl_sync(kFullMask, statistics.y, holder);
    if (++holder == kWarpSize) {
      holder = 0;
      statistics = next_statistics;
      next_statistics = read_statistics(turn + (kWarpSize + 1) * walk.stride);
    }
    const T* d_row = ring + stage * kStreams * channels;
    const T* x_row = d_row + channels;
    const float minus_ms = -m * s;
    barrier_wait(&barriers[warp][stage], parity);
    if (Walk::kWhole || row < args.rows) {
      if constexpr (!kKeepWeights) read_weights();
      const float2 sums = row_sums(sum_dweight, sum_dbias, w, d_row, x_row, s, minus_ms, channels, lane);
      const RowGradient of_row{s, minus_ms, -sums.x * inverse_channels * s, -sums.y * inverse_channels * s};
      // Reading the row again costs less than holding twice its size in registers.
      asm volatile("" ::: "memory");
      if constexpr (!kKeepWeights) read_weights();
      row_gradient<kResidual, kColumnSum>(args.dinp_out + row * channels, walk, row, turn, sum_dinp, w, d_row,
                                          x_row, of_row, channels, lane);
    }
    __syncwarp();  // all lanes have read this slot
    if (lane == 0 && turn + kStages * walk.stride < walk.end) request(turn + kStages * walk.stride, stage);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1U;
    }
    walk.end_turn(turn);
  }

  auto* warp_sums = reinterpret_cast<float*>(storage);
  float* partials = args.partials + std::int64_t{blockIdx.x} * 3 * channels;
  leave_sums(partials, sum_dweight, warp_sums, channels, warps, warp, lane);
  leave_sums(partials + channels, sum_dbias, warp_sums, channels, warps, warp, lane);
  if constexpr (kColumnSum) {
    leave_sums(partials + 2 * channels, sum_dinp, warp_sums, channels, warps, warp, lane);
  }
  walk.finish();
}

template <class Rows, int kChunks, bool kResidual, bool kColumnSum, typename T>
void launch_rows(const Arguments<T>& args, const Rows& to, int blocks, int warps, std::int64_t shared_bytes,
                 cudaStream_t stream) {
  auto* kernel = layernorm_backward_kernel<Rows, kChunks, kResidual, kColumnSum>;
  RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared_bytes)));
  kernel<<<blocks, warps * kWarpSize, static_cast<std::size_t>(shared_bytes), stream>>>(args, to);
}

constexpr std::int64_t ring_bytes(int warps, int channels, bool residual, std::size_t element) {
  return std::int64_t{warps} * kStages * (residual ? 3 : 2) * channels * static_cast<std::int64_t>(element);
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

namespace {

// What a launch leaves: (blocks, 3, C) partial sums.
void add_sums(PartialSums& sums, float* dweight, float* dbias, float* dinp_colsum, const float* partials,
              int blocks, int channels) {
  const std::int64_t stride = std::int64_t{3} * channels;
  sums.add({dweight, partials, stride, blocks, channels});
  sums.add({dbias, partials + channels, stride, blocks, channels});
  if (dinp_colsum != nullptr) sums.add({dinp_colsum, partials + 2 * channels, stride, blocks, channels});
}

// Of so many blocks, with room for their sums.
template <typename T>
int reserve(Arguments<T>& args, std::int64_t blocks, PartialSums& sums, cudaStream_t stream) {
  blocks = std::min<std::int64_t>(blocks, kMaxBlocks);
  args.partials = sums.reserve(blocks * 3 * args.channels, 3, stream);
  return static_cast<int>(blocks);
}

// The number of blocks.
template <typename T>
int launch_packed(Arguments<T>& args, bool column_sum, PartialSums& sums, cudaStream_t stream) {
  const bool residual = args.dresidual_in != nullptr;
  const auto warps = static_cast<int>(
      std::min(std::int64_t{kMaxWarps}, kRingBytes / ring_bytes(1, args.channels, residual, sizeof(T))));
  const int blocks =
      reserve(args, std::min<std::int64_t>(ceil_div(args.rows, warps), multiprocessor_count()), sums, stream);
  const std::int64_t bytes = ring_bytes(warps, args.channels, residual, sizeof(T));
  const auto run = [&]<int kChunks>() {
    const auto with = [&]<bool kResidual, bool kColumnSum>() {
      launch_rows<PlainRows<T>, kChunks, kResidual, kColumnSum>(args, {}, blocks, warps, bytes, stream);
    };
    if (residual) {
      column_sum ? with.template operator()<true, true>() : with.template operator()<true, false>();
    } else {
      column_sum ? with.template operator()<false, true>() : with.template operator()<false, false>();
    }
  };
  constexpr int kScale = kPackedSize<bf16> / kPackedSize<T>;  // C = 768, 1024, 1280, 1600
  with_layernorm_chunks<kScale, 3 * kScale, 4 * kScale, 5 * kScale, kMaxChunks<T>>(
      ceil_div(args.channels, kWarpSize * kPackedSize<T>), run);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  return blocks;
}

}  // namespace

template <typename T>
void launch_layernorm_backward(T* dinp_out, const T* dresidual_in, float* dweight, float* dbias,
                               float* dinp_colsum, const T* dout, const T* inp, const T* weight,
                               const float* mean, const float* rstd, std::int64_t rows, int channels,
                               PartialSums& sums, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("layernorm_backward",
                        {layernorm_backward_bytes<T>(rows, channels, dresidual_in != nullptr),
                         layernorm_backward_flops(rows, channels)});
  if (rows <= 0) return;
  Arguments<T> args{dinp_out, dresidual_in, nullptr, dout, inp, weight, mean, rstd, rows, channels};
  int blocks = 0;
  if (width == KernelWidth::packed && channels % kPackedSize<T> == 0 &&
      all_aligned_16(dinp_out, dresidual_in, dout, inp, weight) &&
      channels <= kMaxChunks<T> * kWarpSize * kPackedSize<T>) {
    blocks = launch_packed(args, dinp_colsum != nullptr, sums, stream);
  } else {
    blocks = reserve(args, std::min<std::int64_t>(rows, 4LL * multiprocessor_count()), sums, stream);
    layernorm_backward_any_kernel<T><<<blocks, kAnyBlock, 0, stream>>>(
        dinp_out, dresidual_in, args.partials, dout, inp, weight, mean, rstd, rows, channels);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  add_sums(sums, dweight, dbias, dinp_colsum, args.partials, blocks, channels);
}

void launch_layernorm_backward(bf16* dinp_out, const Fp8Output& dinp_fp8, const bf16* dresidual_in,
                               float* dweight, float* dbias, float* dinp_colsum, const bf16* dout,
                               const bf16* inp, const bf16* weight, const float* mean, const float* rstd,
                               std::int64_t rows, int channels, PartialSums& sums, cudaStream_t stream,
                               KernelWidth width) {
  const bool residual = dresidual_in != nullptr;
  check_layernorm_fp8(
      "layernorm_backward in FP8", rows, channels,
      dinp_colsum != nullptr && width == KernelWidth::packed &&
          all_aligned_16(dinp_out, dinp_fp8.data, dinp_fp8.transposed, dresidual_in, dout, inp, weight));
  const NvtxRange range("layernorm_backward", {layernorm_backward_fp8_bytes(rows, channels, residual),
                                               layernorm_backward_fp8_flops(rows, channels)});
  Arguments<bf16> args{dinp_out, dresidual_in, nullptr, dout, inp, weight, mean, rstd, rows, channels};
  const int blocks = reserve(
      args, std::min<std::int64_t>(ceil_div(rows, kFp8TableRows), multiprocessor_count()), sums, stream);
  const std::int64_t ring = ring_bytes(kMaxWarps, channels, residual, sizeof(bf16));
  const int tables = ring + std::int64_t{2} * fp8_table_bytes(channels) <= kTableBytes ? 2 : 1;
  const std::int64_t bytes = ring + std::int64_t{tables} * fp8_table_bytes(channels);
  const Fp8Rows to{dinp_fp8, tables};
  const auto run = [&]<int kChunks>() {
    if (residual) {
      launch_rows<Fp8Rows, kChunks, true, true>(args, to, blocks, kMaxWarps, bytes, stream);
    } else {
      launch_rows<Fp8Rows, kChunks, false, true>(args, to, blocks, kMaxWarps, bytes, stream);
    }
  };
  with_layernorm_chunks<1, 3, 5, 7>(ceil_div(channels, kWarpSize * kPackedSize<bf16>), run);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  add_sums(sums, dweight, dbias, dinp_colsum, args.partials, blocks, channels);
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
