// layernorm_fp8_backward.cu: gradients of layer normalisation with the residual branch's gradient added, the
// input's also as FP8 and as FP8 transposed shapes  dinp_out,dresidual_in,dout,inp (N,C), weight (C) bf16;
// dinp_fp8 (N,C) and (C,N) of one byte; mean,rstd (N) FP32;
//         dweight,dbias,dinp_colsum (C) FP32; N and C multiples of 16
// bytes   10*N*C + 8*N; without dresidual_in 8*N*C + 8*N
// flops   15*N*C
// check   dinp and the sums as layernorm_backward.cu; FP8 within half a step of E5M2 of the FP64 reference times the
//         scale, and FP32's rounding; the transposed copy is the same bytes
// bound   DRAM
//
// As layernorm_backward.cu, with one difference: a block takes 32 rows at a time, each of its warps every
// eighth of them, and stores them transposed when all are there (fp8_rows.cuh). The rows of the next 32 are
// on their way meanwhile, and fill a second table where there is room for one, so that a warp waits for the
// others once every four rows.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/norm/fp8_rows.cuh"
#include "gpt2/ops/norm/layernorm_fp8.h"
#include "gpt2/ops/norm/layernorm_rows.cuh"
#include "gpt2/ops/norm/warp_sum_two.cuh"

namespace ridgeline::gpt2 {
namespace {

constexpr int kWarps = 8;
constexpr int kStages = 2;  // one row on its way while the other is used
constexpr int kRowsOfWarp = kFp8TableRows / kWarps;
constexpr int kVector = kPackedSize<bf16>;
constexpr int kMostBytes = 226 * 1024;  // of the 227 KiB per block may have, the rest being declared below

struct Arguments {
  bf16* dinp_out;
  std::uint8_t* dinp_fp8;
  std::uint8_t* transposed;
  const bf16* dresidual_in;
  float* partials;  // (blocks, 3, C): dweight, dbias, dinp_colsum
  const bf16* dout;
  const bf16* inp;
  const bf16* weight;
  const float* mean;
  const float* rstd;
  std::int64_t rows;
  int channels;
  int tables;  // 1 or 2
  Fp8Scale target;
};

constexpr std::int64_t ring_bytes(int channels, bool residual) {
  return std::int64_t{kWarps} * kStages * (residual ? 3 : 2) * channels * std::int64_t{sizeof(bf16)};
}

// kChunks: 16-byte vectors a lane owns of a row. Dynamic shared memory: a ring of kStages rows of dout, inp
// and dresidual_in for each warp, then the tables; at the end, in the ring's place, a row of FP32 sums for
// each warp.
template <int kChunks, bool kResidual>
__global__ void __launch_bounds__(kWarps* kWarpSize, 1)
    layernorm_backward_fp8_kernel(const __grid_constant__ Arguments args) {
  constexpr int kStreams = kResidual ? 3 : 2;
  constexpr bool kKeepWeights = kChunks * kVector <= kMostLayernormWeights;
  extern __shared__ uint4 storage[];
  __shared__ std::uint64_t barriers[kWarps][kStages];
  __shared__ float shared[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::int64_t rows = args.rows;
  const int channels = args.channels;
  const int pitch = fp8_table_pitch(channels);
  const float inverse_channels = 1.0F / static_cast<float>(channels);
  const float scale = *args.target.scale;
  const auto row_bytes = static_cast<unsigned>(channels) * static_cast<unsigned>(sizeof(bf16));
  bf16* ring = reinterpret_cast<bf16*>(storage) + std::int64_t{warp} * kStages * kStreams * channels;
  auto* tables = reinterpret_cast<std::uint32_t*>(reinterpret_cast<bf16*>(storage) +
                                                  std::int64_t{kWarps} * kStages * kStreams * channels);
  const std::uint64_t read_once = evict_first_policy();

  // The block's groups of 32 rows, from the last of the tensor to the first. The last one may have 16 rows only:
  // the others' turns copy a row that exists and use nothing of it.
  const std::int64_t groups = ceil_div(rows, kFp8TableRows);
  const auto turns =
      static_cast<int>(ceil_div(groups - std::int64_t{blockIdx.x}, std::int64_t{gridDim.x})) * kRowsOfWarp;
  const auto first_row_of = [&](int turn) {
    const std::int64_t group = std::int64_t{blockIdx.x} + std::int64_t{turn / kRowsOfWarp} * gridDim.x;
    return (groups - 1 - group) * kFp8TableRows;
  };
  const auto slot_of = [&](int turn) { return turn % kRowsOfWarp * kWarps + warp; };

  // dout and inp are dead after this kernel; the residual's gradient is overwritten where it lies.
  const auto request = [&](int turn, int stage) {
    const std::int64_t offset = min(first_row_of(turn) + slot_of(turn), rows - 1) * channels;
    bf16* slot = ring + stage * kStreams * channels;
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
      if (stage < turns) request(stage, stage);
    }
  }
  __syncwarp();

  Packed<bf16> w[kChunks];
  const auto read_weights = [&] { read_layernorm_weights(w, args.weight, channels, lane); };
  read_weights();
  float sum_dweight[kChunks][kVector] = {};
  float sum_dbias[kChunks][kVector] = {};
  float sum_dinp[kChunks][kVector] = {};
  float largest = 0.0F;

  // A lane holds the statistics of one of the warp's next 32 rows, and of one of the 32 after those: fetched
  // row by row they would cost a trip to memory each.
  const auto read_statistics = [&](int first_turn) {
    const int turn = first_turn + lane;
    if (turn >= turns) return make_float2(0.0F, 0.0F);
    const std::int64_t row = min(first_row_of(turn) + slot_of(turn), rows - 1);
    return make_float2(args.mean[row], args.rstd[row]);
  };
  float2 statistics = read_statistics(0);
  float2 next_statistics = read_statistics(kWarpSize);

  int stage = 0;
  unsigned parity = 0;
  int table_index = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const std::int64_t first_row = first_row_of(turn);
    const int slot = slot_of(turn);
    const std::int64_t row = first_row + slot;
    const float m = __shfl_sync(kFullMask, statistics.x, turn % kWarpSize);
    const float s = __shfl_sync(kFullMask, statistics.y, turn % kWarpSize);
    if (turn % kWarpSize == kWarpSize - 1) {
      statistics = next_statistics;
      next_statistics = read_statistics(turn + 1 + kWarpSize);
    }
    std::uint32_t* table = tables + table_index * kFp8TableRows * pitch;
    const bf16* d_row = ring + stage * kStreams * channels;
    const bf16* x_row = d_row + channels;
    const bf16* r_row = x_row + channels;
    const float minus_ms = -m * s;
    barrier_wait(&barriers[warp][stage], parity);
    if (row < rows) {
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
        unpack(active ? load128(d_row + c) : Packed<bf16>{}, dv);
        unpack(active ? load128(x_row + c) : Packed<bf16>{}, xv);
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
            sum_dinp[j][k] += value;
            largest = fmaxf(largest, fabsf(value));
            dv[k] = value;
          }
          store128(args.dinp_out + row * channels + c, pack<bf16>(dv));
#pragma unroll
          for (int k = 0; k < kVector; ++k) dv[k] *= scale;
          const std::uint32_t low = fp8_word<Fp8Format::e5m2>(dv[0], dv[1], dv[2], dv[3]);
          const std::uint32_t high = fp8_word<Fp8Format::e5m2>(dv[4], dv[5], dv[6], dv[7]);
          *reinterpret_cast<uint2*>(args.dinp_fp8 + row * channels + c) = make_uint2(low, high);
          table[slot * pitch + c / 4] = low;
          table[slot * pitch + c / 4 + 1] = high;
        }
        forget_conversions(w[j]);
      }
    }
    __syncwarp();  // all lanes have read this stage
    if (lane == 0 && turn + kStages < turns) request(turn + kStages, stage);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1U;
    }
    if (turn % kRowsOfWarp == kRowsOfWarp - 1) {
      __syncthreads();  // every warp makes as many turns
      store_transposed(args.transposed, table, first_row, rows, channels, warp, kWarps, lane);
      // With two tables a warp that is ahead fills the other one, and the barrier behind that lies behind
      // everybody's reads of this one.
      if (args.tables == 1) {
        __syncthreads();
      } else {
        table_index ^= 1;
      }
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
      for (int other = 0; other < kWarps; ++other) total += warp_sums[other * channels + c];
      args.partials[(std::int64_t{blockIdx.x} * 3 + which) * channels + c] = total;
    }
  };
  reduce(sum_dweight, 0);
  reduce(sum_dbias, 1);
  reduce(sum_dinp, 2);
  commit_amax(args.target.amax, largest, shared);
}

template <int kChunks, bool kResidual>
void launch_kernel(const Arguments& args, int blocks, cudaStream_t stream) {
  const std::int64_t bytes =
      ring_bytes(args.channels, kResidual) + std::int64_t{args.tables} * fp8_table_bytes(args.channels);
  auto* kernel = layernorm_backward_fp8_kernel<kChunks, kResidual>;
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  kernel<<<blocks, kWarps * kWarpSize, static_cast<std::size_t>(bytes), stream>>>(args);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

void launch_layernorm_backward_fp8(bf16* dinp_out, const Fp8Output& dinp_fp8, const bf16* dresidual_in,
                                   float* dweight, float* dbias, float* dinp_colsum, const bf16* dout,
                                   const bf16* inp, const bf16* weight, const float* mean, const float* rstd,
                                   std::int64_t rows, int channels, PartialSums& sums, cudaStream_t stream) {
  const bool residual = dresidual_in != nullptr;
  const bool aligned = is_aligned_16(dinp_out) && is_aligned_16(dinp_fp8.data) &&
                       is_aligned_16(dinp_fp8.transposed) && is_aligned_16(dresidual_in) &&
                       is_aligned_16(dout) && is_aligned_16(inp) && is_aligned_16(weight);
  if (!layernorm_fp8_supported(rows, channels) || !aligned || dinp_colsum == nullptr) {
    throw std::invalid_argument("layernorm_backward_fp8 (" + std::to_string(rows) + ", " +
                                std::to_string(channels) +
                                "): sizes, alignment or column sums are not supported");
  }
  const std::int64_t groups = ceil_div(rows, kFp8TableRows);
  const auto blocks = static_cast<int>(std::min<std::int64_t>(groups, multiprocessor_count()));
  float* partials = sums.reserve(std::int64_t{blocks} * 3 * channels, 3, stream);
  const NvtxRange range("layernorm_backward", {layernorm_backward_fp8_bytes(rows, channels, residual),
                                               layernorm_backward_fp8_flops(rows, channels)});
  const int tables =
      ring_bytes(channels, residual) + std::int64_t{2} * fp8_table_bytes(channels) <= kMostBytes ? 2 : 1;
  const Arguments args{dinp_out,     dinp_fp8.data, dinp_fp8.transposed,
                       dresidual_in, partials,      dout,
                       inp,          weight,        mean,
                       rstd,         rows,          channels,
                       tables,       dinp_fp8.scale};
  const auto run = [&]<int kChunks>() {
    if (residual) {
      launch_kernel<kChunks, true>(args, blocks, stream);
    } else {
      launch_kernel<kChunks, false>(args, blocks, stream);
    }
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
  const std::int64_t stride = std::int64_t{3} * channels;
  sums.add({dweight, partials, stride, blocks, channels});
  sums.add({dbias, partials + channels, stride, blocks, channels});
  sums.add({dinp_colsum, partials + 2 * channels, stride, blocks, channels});
}

}  // namespace ridgeline::gpt2
