// attention_hopper_backward.cu: causal flash attention backward on wgmma
// shapes  qkv,dqkv (B,T,3,NH,HS) bf16; out,dout (B,T,NH,HS) bf16; lse (B,NH,T) FP32; HS 64; any T up to 128
//         tiles of 128 for each two multiprocessors. Or dqkv in E5M2, and transposed (3,NH,HS,B,T): T a multiple of 16
// bytes   B*T*NH*(16*HS + 4); dout is read twice, once with out for the row dots
// flops   5*B*NH*T*(T+1)*HS (whole tiles of 128 x 128 are computed)
// check   ||gpu-ref|| <= 2e-2*||ref||, single values within 3e-2 of the largest; a non-finite mismatch fails
// bound   tensor pipe (2560 cycles of a multiprocessor for a tile)
//
// Five products per tile, each formed once. S^T = K Q^T and dP^T = V dO^T come out with keys as rows, so that P^T and
// dS^T are left operands of dV += P^T dO and dK += dS^T Q without leaving the registers. Only dS goes through shared
// memory, for dQ^T = K^T dS^T. Persistent blocks of four warpgroups, which take chunks of 64 queries:
//   consumers  two warpgroups, 64 of a tile's 128 keys each, with dK and dV in registers while the queries pass by.
//              The next chunk's scores are issued in front of this one's dS, its dP after: neither is waited for
//   dQ reducer one warpgroup forms dQ^T, with K^T in registers, and leaves it in shared memory
//   helpers    four warps: one fetches (TMA, swizzled), two have the copy engine add dQ up, one forms the row
//              statistics (dout . out) of the head after this one
//
// dQ of a block of 128 queries gets a part from every block of keys to its left, from several multiprocessors. They
// are added up in FP32 in L2: the first is stored, the others are added, the last fetches the sum and writes bfloat16.
// So there is nothing to clear and no pass after. Deterministic, the others take turns, one at a time. The parts
// of a head are made at the same time by a group of multiprocessors, each of which takes a long block of keys (p)
// and a short one (blocks-1-p): as long a time for all. Long blocks are walked from the diagonal down, so that at
// time t unit p is at query block p + t; short ones from the last query block up. That gives every part its time,
// and the order of parts is the order of their times, two at a time in the second half of the query blocks.
// Waiting needs all blocks of the grid on multiprocessors at once: a cooperative launch.
//
// Barriers, phases counted from 0; a warp arrives once:
//   keys_full[b], keys_taken[b], keys_empty[b]  keys and values of a tile; 4 reducer warps have K^T; 8 consumer
//                              warps have stored dK and dV, which take their places
//   rows_full[s], rows_empty[s]  a chunk's queries, dout and row statistics; 8 consumer warps are done
//   ds_full[s], ds_empty[s]    dS of a chunk: 8 consumer warps have written it, 4 reducer warps have used it
//   dq_full[c], dq_empty[c]    dQ of a tile's chunk c: 4 reducer warps have written it, it has been stored
//   dq_before[c]               the sum of the parts before it is there instead
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_consumer.cuh"
#include "gpt2/ops/attention/attention_hopper_dq_reducer.cuh"
#include "gpt2/ops/attention/attention_hopper_helpers.cuh"
#include "gpt2/ops/hopper/tensor_map.h"

namespace ridgeline::gpt2 {
namespace hopper {
namespace {

template <bool kFp8>
__global__ void __launch_bounds__(kBackwardThreads, 1)
    attention_hopper_backward_kernel(const __grid_constant__ BackwardMaps maps, const BackwardProblem problem,
                                     const float* lse, const Fp8Scale fp8) {
  extern __shared__ __align__(1024) unsigned char allocation[];
  using Layout = BackwardLayout;
  // The allocation is aligned already: this tells the compiler.
  const Layout layout{{}, (shared_address(allocation) + 1023U) & ~1023U};
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map :
         {&maps.queries, &maps.dout, &maps.keys, kFp8 ? &maps.fp8_rows : &maps.dqueries,
          kFp8 ? &maps.fp8_columns : &maps.dkeys, &maps.dout_rows, &maps.out_rows}) {
      tma_prefetch_map(map);
    }
    for (unsigned buffer = 0; buffer < Layout::kKeyBuffers; ++buffer) {
      barrier_init(layout.keys_full(buffer), 1);
      barrier_init(layout.keys_taken(buffer), 4);
      barrier_init(layout.keys_empty(buffer), kConsumerWarps);
    }
    for (unsigned stage = 0; stage < Layout::kStages; ++stage) {
      barrier_init(layout.rows_full(stage), 1);
      barrier_init(layout.rows_empty(stage), kConsumerWarps);
    }
    for (unsigned slot = 0; slot < Layout::kSlots; ++slot) {
      barrier_init(layout.ds_full(slot), kConsumerWarps);
      barrier_init(layout.ds_empty(slot), 4);
    }
    for (unsigned slot = 0; slot < Layout::kDqSlots; ++slot) {
      barrier_init(layout.dq_full(slot), 4);
      barrier_init(layout.dq_empty(slot), 1);
      barrier_init(layout.dq_before(slot), 1);
    }
    barrier_init(layout.round_begun(), 1);
    for (unsigned piece = 0; piece < Layout::kPieces; ++piece) {
      barrier_init(layout.piece_full(piece), 1);
    }
    fence_barrier_init();
  }
  __syncthreads();

  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    release_registers<kHelperRegisters>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (warp == 3) {
      write_statistics(maps, problem, layout, lse, lane);
    } else if (lane == 0) {
      if (warp == 0) {
        fetch(maps, problem, layout);
      } else {
        add_up<kFp8>(maps, problem, layout, static_cast<unsigned>(warp - 1));
      }
    }
  } else if (warpgroup == 1) {
    release_registers<kReducerRegisters>();
    reduce_dq<kFp8>(layout, problem.scale, fp8);
  } else {
    take_registers<kConsumerRegistersBackward>();
    const unsigned consumer = uniform(static_cast<unsigned>(warpgroup - 2));
    consume<kFp8>(maps, problem, layout, fp8, consumer);
  }
}

struct BackwardSizes {
  int blocks;
  int units;
  int groups;
  std::int64_t statistics;  // floats
  std::int64_t sums;        // floats
  std::int64_t counts;      // of parts and of units ready; 0 at the beginning
};
BackwardSizes sizes_of(int batch, int seq, int heads) {
  BackwardSizes sizes{};
  sizes.blocks = static_cast<int>(ceil_div(seq, kTile));
  sizes.units = (sizes.blocks + 1) / 2;
  sizes.groups = std::max(1, std::min(multiprocessor_count() / sizes.units, batch * heads));
  sizes.statistics = std::int64_t{batch} * heads * sizes.blocks * kChunksPerTile * kStatisticsFloats;
  const std::int64_t parts = std::int64_t{sizes.groups} * sizes.blocks * kChunksPerTile;
  sizes.sums = parts * kChunk * kHeadSize;
  sizes.counts = parts + std::int64_t{batch} * heads;
  return sizes;
}

// What dqkv is written as: bfloat16, or in E5M2 both ways.
struct GradientOutput {
  bf16* dqkv = nullptr;
  Fp8Output fp8;
};

template <bool kFp8>
void launch(const GradientOutput& gradient, const bf16* dout, const bf16* qkv, const bf16* out,
            const float* lse, const BackwardProblem& problem, const BackwardSizes& sizes,
            cudaStream_t stream) {
  using Layout = BackwardLayout;
  const auto& [batch, seq, heads, blocks, scale_log2] = problem.problem;
  BackwardMaps maps{};
  maps.queries = heads_map(qkv, batch, seq, 3 * heads, kHeadSize, kChunk);
  maps.dout = heads_map(dout, batch, seq, heads, kHeadSize, kChunk);
  maps.keys = heads_map(qkv, batch, seq, 3 * heads, kHeadSize, kTile);
  if constexpr (kFp8) {
    maps.fp8_rows = heads_map(gradient.fp8.data, batch, seq, 3 * heads, kHeadSize, kChunk);
    maps.fp8_columns = transposed_heads_map(gradient.fp8.transposed, batch, seq, 3 * heads, kHeadSize);
  } else {
    maps.dqueries = heads_map(gradient.dqkv, batch, seq, 3 * heads, kHeadSize, kChunk);
    maps.dkeys = heads_map(gradient.dqkv, batch, seq, 3 * heads, kHeadSize, 16);
  }
  maps.dout_rows = heads_map(dout, batch, seq, heads, kHeadSize, Layout::kPiece);
  maps.out_rows = heads_map(out, batch, seq, heads, kHeadSize, Layout::kPiece);
  const auto kernel = attention_hopper_backward_kernel<kFp8>;
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Layout::kAllocatedBytes));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(sizes.groups * sizes.units));
  config.blockDim = dim3(kBackwardThreads);
  config.dynamicSmemBytes = Layout::kAllocatedBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  RIDGELINE_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, maps, problem, lse, gradient.fp8.scale));
}

}  // namespace
}  // namespace hopper

bool hopper_attention_backward_supported(int batch, int seq, int heads, int head_size) {
  // The blocks of a head wait for one another, so that they have to fit on the GPU together.
  return hopper_attention_supported(batch, seq, heads, head_size) &&
         ceil_div(ceil_div(seq, hopper::kTile), 2) <= multiprocessor_count();
}

std::int64_t hopper_attention_backward_scratch_bytes(int batch, int seq, int heads) {
  const hopper::BackwardSizes sizes = hopper::sizes_of(batch, seq, heads);
  return (sizes.statistics + sizes.sums + sizes.counts) * std::int64_t{sizeof(float)};
}

bool hopper_attention_backward_fp8_supported(int batch, int seq, int heads, int head_size) {
  return hopper_attention_backward_supported(batch, seq, heads, head_size) && seq % 16 == 0;
}

namespace {

void launch_backward(const hopper::GradientOutput& gradient, bool supported, const bf16* dout,
                     const bf16* qkv, const bf16* out, const float* lse, int batch, int seq, int heads,
                     int head_size, void* scratch, bool deterministic, cudaStream_t stream) {
  const NvtxRange range("attention_backward", {attention_backward_bytes<bf16>(batch, seq, heads, head_size),
                                               attention_backward_flops(batch, seq, heads, head_size)});
  if (!supported || !is_aligned_16(gradient.dqkv) || !is_aligned_16(gradient.fp8.data) ||
      !is_aligned_16(gradient.fp8.transposed) || !is_aligned_16(dout) || !is_aligned_16(qkv) ||
      !is_aligned_16(out) || !is_aligned_16(scratch)) {
    throw std::invalid_argument("hopper attention backward: B " + std::to_string(batch) + ", T " +
                                std::to_string(seq) + ", NH " + std::to_string(heads) + ", HS " +
                                std::to_string(head_size) +
                                ": not supported on this GPU, with this size or alignment");
  }
  using namespace hopper;
  const BackwardSizes sizes = sizes_of(batch, seq, heads);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));
  auto* statistics = static_cast<float*>(scratch);
  auto* counts = reinterpret_cast<unsigned*>(statistics + sizes.statistics + sizes.sums);
  const BackwardProblem problem{
      {batch, seq, heads, sizes.blocks, kLog2e * scale},
      sizes.units,
      sizes.groups,
      scale,
      deterministic,
      {statistics, statistics + sizes.statistics, counts + std::int64_t{batch} * heads, counts}};
  RIDGELINE_CUDA_CHECK(
      cudaMemsetAsync(counts, 0, static_cast<std::size_t>(sizes.counts) * sizeof(unsigned), stream));

  if (gradient.fp8.data != nullptr) {
    launch<true>(gradient, dout, qkv, out, lse, problem, sizes, stream);
  } else {
    launch<false>(gradient, dout, qkv, out, lse, problem, sizes, stream);
  }
}

}  // namespace

void launch_hopper_attention_backward(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out,
                                      const float* lse, int batch, int seq, int heads, int head_size,
                                      void* scratch, bool deterministic, cudaStream_t stream) {
  launch_backward({.dqkv = dqkv, .fp8 = {}},
                  hopper_attention_backward_supported(batch, seq, heads, head_size), dout, qkv, out, lse,
                  batch, seq, heads, head_size, scratch, deterministic, stream);
}

void launch_hopper_attention_backward_fp8(const Fp8Output& dqkv, const bf16* dout, const bf16* qkv,
                                          const bf16* out, const float* lse, int batch, int seq, int heads,
                                          int head_size, void* scratch, bool deterministic,
                                          cudaStream_t stream) {
  launch_backward({.dqkv = nullptr, .fp8 = dqkv},
                  hopper_attention_backward_fp8_supported(batch, seq, heads, head_size), dout, qkv, out, lse,
                  batch, seq, heads, head_size, scratch, deterministic, stream);
}

}  // namespace ridgeline::gpt2
