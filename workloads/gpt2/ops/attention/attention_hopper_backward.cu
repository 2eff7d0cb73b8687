// attention_hopper_backward.cu: causal flash attention backward on wgmma, head size 64
// shapes  qkv,dqkv (B,T,3,NH,HS) bf16; out,dout (B,T,NH,HS) bf16; lse (B,NH,T) FP32; any T up to 128 tiles of 128
//         for each two multiprocessors
// bytes   B*T*NH*(16*HS + 4), and 12*B*T*NH*HS more in the pass over out and dout that forms their row dots
// flops   5*B*NH*T*(T+1)*HS (whole tiles of 128 x 128 are computed)
// check   ||gpu-ref|| <= 2e-2*||ref||, single values within 3e-2 of the largest; a non-finite mismatch fails
// bound   tensor pipe (2560 cycles of a multiprocessor for a tile)
//
// Five products a tile, each formed once. S^T = K Q^T and dP^T = V dO^T come out with keys as rows, so that P^T and
// dS^T are left operands of dV += P^T dO and dK += dS^T Q without leaving the registers. Only dS goes through shared
// memory, for dQ^T = K^T dS^T. Persistent blocks of three warpgroups, which take chunks of 64 queries:
//   consumers  two warpgroups, 64 of a tile's 128 keys each, with dK and dV in registers while the queries pass by
//   collector  one warpgroup forms dQ^T, with K^T in registers, and adds it up over the tiles of a row; one of its
//              threads fetches what all three need (TMA, swizzled)
//
// dQ of a block of 128 queries gets a part from every block of keys to its left, from several multiprocessors. They
// add in a fixed order, one at a time, in FP32 in L2: the first stores, the others add, the last reads the sum and
// writes bfloat16. So there is nothing to clear, no pass behind, and the same bits come out in every run. The parts
// of a head are made at the same time by a group of multiprocessors, each of which takes a long block of keys (p)
// and a short one (blocks-1-p): as long a time for all. Long blocks are walked from the diagonal down, so that at
// time t unit p is at query block p + t; short ones from the last query block up. That gives every part its time,
// and the order of parts is the order of their times: none waits long. Waiting needs all blocks of the grid on
// multiprocessors at once: a cooperative launch.
//
// Barriers, phases counted from 0; a warp arrives once:
//   keys_full[b], keys_empty[b]  keys and values of a tile; 8 consumer warps are done, 4 collector warps have K^T
//   rows_full[s], rows_empty[s]  a chunk's queries, dout and row statistics; 8 consumer warps are done
//   ds_full[s], ds_empty[s]    dS of a chunk: 8 consumer warps have written it, 4 collector warps have used it
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_collector.cuh"
#include "gpt2/ops/hopper/tensor_map.h"

namespace ridgeline::gpt2 {
namespace hopper {
namespace {

__device__ inline void store_gradient(const CUtensorMap& map, std::uint32_t staging, const float (&d)[32],
                                      float factor, int head, int position, int batch, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w)
      words[w] = pack_bf16(d[8 * i + 2 * w] * factor, d[8 * i + 2 * w + 1] * factor);
    store_matrix_x4(matrix_address(staging, lane) ^ (i * 32), words[0], words[1], words[2], words[3]);
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) {
    tma_store_heads(&map, staging, 0, head, position, batch);
    bulk_commit();
  }
}

__device__ inline void consume(const BackwardMaps& maps, const BackwardProblem& p,
                               const BackwardLayout& layout, int consumer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
  const int warp_row = consumer * kConsumerRows + warp * 16;  // of the tile's keys
  constexpr std::uint64_t kAlongHead = matrix_descriptor(Swizzle::bytes_128, 16, 1024);
  constexpr std::uint64_t kAlongRows = matrix_descriptor(Swizzle::bytes_128, kPanelBytes, 1024);
  constexpr int kStep = 16 * kPanel * 2 / 16;  // 16 rows on
  const float scale_log2 = p.problem.scale_log2;

  std::uint32_t probabilities[16];
  std::uint32_t gradients[16];  // of the scores
  float s[32];
  float dp[32];
  float dk[32];
  float dv[32];
#pragma unroll
  for (int i = 0; i < 16; ++i) probabilities[i] = gradients[i] = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) dk[i] = dv[i] = 0.0F;

  unsigned chunk = 0;
  unsigned key_blocks = 0;
  for (BackwardCursor at(p, static_cast<int>(blockIdx.x)); at.valid(p);) {
    const unsigned buffer = key_blocks % BackwardLayout::kKeyBuffers;
    const std::uint64_t keys = descriptor_at(kAlongHead, layout.keys(buffer) + consumer * (kPanelBytes / 2));
    const std::uint64_t values =
        descriptor_at(kAlongHead, layout.values(buffer) + consumer * (kPanelBytes / 2));
    barrier_wait(layout.keys_full(buffer), key_blocks / BackwardLayout::kKeyBuffers & 1U);
    ++key_blocks;
    const int head = at.head_of_batch(p);
    const int batch = at.batch(p);
    const int position = at.key_block * kTile + warp_row;

    int of_tile = 0;
    bool first = true;
    bool more = true;
    while (more) {
      const int stage = static_cast<int>(chunk % BackwardLayout::kStages);
      const int slot = static_cast<int>(chunk % BackwardLayout::kSlots);
      const std::uint32_t queries = layout.queries(stage);
      const std::uint32_t dout = layout.dout(stage);
      barrier_wait(layout.rows_full(stage), chunk / BackwardLayout::kStages & 1U);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) wgmma<0, 0>(s, keys + 2 * k, descriptor_at(kAlongHead, queries) + 2 * k, k);
      wgmma_commit();
#pragma unroll
      for (int k = 0; k < 4; ++k) wgmma<0, 0>(dp, values + 2 * k, descriptor_at(kAlongHead, dout) + 2 * k, k);
      wgmma_commit();
      // The scores are there, and the chunk before this one has been added to dK and dV.
      wgmma_wait<1>();
      pin(s);
      pin(probabilities);
      pin(gradients);
      if (!first && lane == 0)
        barrier_arrive(layout.rows_empty(static_cast<int>((chunk - 1) % BackwardLayout::kStages)));

      const std::uint32_t statistics = layout.statistics(stage) + lane % 4 * 8;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float2 log_sum = load_shared_float2(statistics + 32 * j);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          s[4 * j + e] = exp2_flushed(fmaf(s[4 * j + e], scale_log2, -(e % 2 == 0 ? log_sum.x : log_sum.y)));
        }
      }
      if (at.on_diagonal()) {
        // A key is seen by the queries from its own position on.
        const int limit = warp_row + lane / 4 - of_tile * kChunk - lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (8 * j + e % 2 < limit + e / 2 * 8) s[4 * j + e] = 0.0F;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) probabilities[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        wgmma<1>(dv, probabilities + 4 * k, descriptor_at(kAlongRows, dout) + k * kStep, (first ? 0 : 1) | k);
      }
      wgmma_commit();
      wgmma_wait<1>();
      pin(dp);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float2 dots = load_shared_float2(statistics + kChunk * 4 + 32 * j);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = 4 * j + 2 * half;
          gradients[i / 2] = pack_bf16(s[i] * (dp[i] - dots.x), s[i + 1] * (dp[i + 1] - dots.y));
        }
      }
      barrier_wait(layout.ds_empty(slot), (chunk / BackwardLayout::kSlots & 1U) ^ 1U);
      const std::uint32_t ds = matrix_address(layout.ds(slot) + warp_row * 128, lane);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_matrix_x4(ds ^ (i * 32), gradients[4 * i], gradients[4 * i + 1], gradients[4 * i + 2],
                        gradients[4 * i + 3]);
      }
      fence_for_copies();
      __syncwarp();
      if (lane == 0) barrier_arrive(layout.ds_full(slot));
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        wgmma<1>(dk, gradients + 4 * k, descriptor_at(kAlongRows, queries) + k * kStep, (first ? 0 : 1) | k);
      }
      wgmma_commit();

      first = false;
      ++chunk;
      if (++of_tile == kChunksPerTile) {
        of_tile = 0;
        more = !at.last_of_keys(p);
        at.advance(p);
      }
    }
    wgmma_wait<0>();
    pin(dk);
    pin(dv);
    pin(probabilities);
    pin(gradients);
    const std::uint32_t staging =
        layout.base + BackwardLayout::kOut + (4 * consumer + warp) * (2 * BackwardLayout::kWarpBytes);
    if (lane == 0) {
      barrier_arrive(layout.keys_empty(buffer));
      barrier_arrive(layout.rows_empty(static_cast<int>((chunk - 1) % BackwardLayout::kStages)));
      bulk_wait_read();  // the gradients before are out of the staging area
    }
    __syncwarp();
    store_gradient(maps.dkeys, staging, dk, p.scale, p.problem.heads + head, position, batch, lane);
    store_gradient(maps.dkeys, staging + BackwardLayout::kWarpBytes, dv, 1.0F, 2 * p.problem.heads + head,
                   position, batch, lane);
  }
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

__global__ void __launch_bounds__(kThreads, 1)
    attention_hopper_backward_kernel(const __grid_constant__ BackwardMaps maps,
                                     const BackwardProblem problem) {
  extern __shared__ unsigned char allocation[];
  const BackwardLayout layout{(shared_address(allocation) + 1023U) & ~1023U};
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&maps.queries, &maps.dout, &maps.keys, &maps.dqueries, &maps.dkeys}) {
      tma_prefetch_map(map);
    }
    for (unsigned buffer = 0; buffer < BackwardLayout::kKeyBuffers; ++buffer) {
      barrier_init(layout.keys_full(buffer), 1);
      barrier_init(layout.keys_empty(buffer), kConsumerWarps + 4);
    }
    for (int stage = 0; stage < BackwardLayout::kStages; ++stage) {
      barrier_init(layout.rows_full(stage), 1);
      barrier_init(layout.rows_empty(stage), kConsumerWarps);
    }
    for (int slot = 0; slot < BackwardLayout::kSlots; ++slot) {
      barrier_init(layout.ds_full(slot), kConsumerWarps);
      barrier_init(layout.ds_empty(slot), 4);
    }
    fence_barrier_init();
  }
  __syncthreads();

  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    release_registers<kCollectorRegisters>();
    collect(maps, problem, layout);
  } else {
    take_registers<kBackwardConsumerRegisters>();
    consume(maps, problem, layout, warpgroup - 1);
  }
}

// Row statistics of 64 positions of a head; the first block clears the counts of parts.
__global__ void __launch_bounds__(256)
    attention_hopper_statistics_kernel(const bf16* dout, const bf16* out, const float* lse, Problem problem,
                                       float* statistics, unsigned* parts, int part_count) {
  constexpr int kLanes = kHeadSize / 8;  // of a row
  const int chunk = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  if (chunk == 0 && head == 0) {
    for (int i = static_cast<int>(threadIdx.x); i < part_count; i += 256) parts[i] = 0;
  }
  __shared__ float dots[kChunk];
#pragma unroll
  for (int pass = 0; pass < kChunk * kLanes / 256; ++pass) {
    const int row = (pass * 256 + static_cast<int>(threadIdx.x)) / kLanes;
    const int t = chunk * kChunk + row;
    float dot = 0.0F;
    if (t < problem.seq) {
      const std::int64_t at =
          ((static_cast<std::int64_t>(head / problem.heads) * problem.seq + t) * problem.heads +
           head % problem.heads) *
              kHeadSize +
          threadIdx.x % kLanes * 8;
      float a[8];
      float b[8];
      unpack(load128(dout + at), a);
      unpack(load128(out + at), b);
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += a[i] * b[i];
    }
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) dot += __shfl_xor_sync(0xffffffffU, dot, offset);
    if (threadIdx.x % kLanes == 0) dots[row] = dot;
  }
  __syncthreads();
  float* to = statistics + (static_cast<std::int64_t>(head) * gridDim.x + chunk) * 2 * kChunk;
  const int row = static_cast<int>(threadIdx.x);
  if (row < kChunk) {
    const int t = chunk * kChunk + row;
    to[row] = t < problem.seq ? lse[static_cast<std::int64_t>(head) * problem.seq + t] * kLog2e : INFINITY;
    to[kChunk + row] = dots[row];
  }
}

struct BackwardSizes {
  int blocks;
  int units;
  int groups;
  std::int64_t statistics;  // floats
  std::int64_t sums;        // floats
  int parts;
};
BackwardSizes sizes_of(int batch, int seq, int heads) {
  BackwardSizes sizes{};
  sizes.blocks = static_cast<int>(ceil_div(seq, kTile));
  sizes.units = (sizes.blocks + 1) / 2;
  sizes.groups = std::max(1, std::min(multiprocessor_count() / sizes.units, batch * heads));
  sizes.statistics = std::int64_t{batch} * heads * sizes.blocks * kTile * 2;
  sizes.parts = 2 * sizes.groups * sizes.blocks;
  sizes.sums = std::int64_t{sizes.parts} * kTile * kHeadSize;
  return sizes;
}

}  // namespace
}  // namespace hopper

bool hopper_attention_backward_supported(int batch, int seq, int heads, int head_size) {
  // The blocks of a head wait for one another, so that they have to fit on the GPU together.
  return head_size == hopper::kHeadSize && hopper_attention_supported(batch, seq, heads, head_size) &&
         ceil_div(ceil_div(seq, hopper::kTile), 2) <= multiprocessor_count();
}

std::int64_t hopper_attention_backward_scratch_bytes(int batch, int seq, int heads) {
  const hopper::BackwardSizes sizes = hopper::sizes_of(batch, seq, heads);
  return (sizes.statistics + sizes.sums + sizes.parts) * std::int64_t{sizeof(float)};
}

void launch_hopper_attention_backward(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out,
                                      const float* lse, int batch, int seq, int heads, int head_size,
                                      void* scratch, cudaStream_t stream) {
  const NvtxRange range("attention_backward", {attention_backward_bytes<bf16>(batch, seq, heads, head_size),
                                               attention_backward_flops(batch, seq, heads, head_size)});
  if (!hopper_attention_backward_supported(batch, seq, heads, head_size) || !is_aligned_16(dqkv) ||
      !is_aligned_16(dout) || !is_aligned_16(qkv) || !is_aligned_16(out) || !is_aligned_16(scratch)) {
    throw std::invalid_argument("hopper attention backward: B " + std::to_string(batch) + ", T " +
                                std::to_string(seq) + ", NH " + std::to_string(heads) + ", HS " +
                                std::to_string(head_size) +
                                ": not supported on this GPU, with this size or alignment");
  }
  using namespace hopper;
  const BackwardSizes sizes = sizes_of(batch, seq, heads);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));
  auto* statistics = static_cast<float*>(scratch);
  BackwardProblem problem{{batch, seq, heads, sizes.blocks, kLog2e * scale},
                          sizes.units,
                          sizes.groups,
                          scale,
                          {statistics, statistics + sizes.statistics,
                           reinterpret_cast<unsigned*>(statistics + sizes.statistics + sizes.sums)}};
  attention_hopper_statistics_kernel<<<dim3(static_cast<unsigned>(sizes.blocks * kChunksPerTile),
                                            static_cast<unsigned>(batch * heads)),
                                       256, 0, stream>>>(dout, out, lse, problem.problem, statistics,
                                                         problem.scratch.parts, sizes.parts);
  RIDGELINE_CUDA_CHECK_LAUNCH();

  BackwardMaps maps;
  maps.queries = heads_map(qkv, batch, seq, 3 * heads, head_size, kChunk);
  maps.dout = heads_map(dout, batch, seq, heads, head_size, kChunk);
  maps.keys = heads_map(qkv, batch, seq, 3 * heads, head_size, kTile);
  maps.dqueries = heads_map(dqkv, batch, seq, 3 * heads, head_size, kChunk);
  maps.dkeys = heads_map(dqkv, batch, seq, 3 * heads, head_size, 16);
  const auto kernel = attention_hopper_backward_kernel;
  RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            BackwardLayout::kAllocatedBytes));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(sizes.groups * sizes.units));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = BackwardLayout::kAllocatedBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  RIDGELINE_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, maps, problem));
}

}  // namespace ridgeline::gpt2
