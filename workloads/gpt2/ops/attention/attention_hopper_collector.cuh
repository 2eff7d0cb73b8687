// attention_hopper_collector.cuh: the warpgroup of the backward kernel that fetches what all need, forms dQ^T and adds
// it up over the blocks of keys. For attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"

namespace ridgeline::gpt2::hopper {

__device__ inline unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ inline void store_release(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
__device__ inline void add_in_memory(float* address, const float* values) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(values[0]),
               "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
}

/// What the collector's first thread copies, in the order of use.
struct Fetcher {
  BackwardCursor at;
  int chunk_of_tile = 0;
  unsigned chunk = 0;

  __device__ explicit Fetcher(const BackwardProblem& p) : at(p, static_cast<int>(blockIdx.x)) {}
  __device__ void fetch_rows(const BackwardMaps& maps, const BackwardProblem& p,
                             const BackwardLayout& layout) {
    if (!at.valid(p)) return;
    const int stage = static_cast<int>(chunk % BackwardLayout::kStages);
    const std::uint32_t full = layout.rows_full(stage);
    barrier_wait(layout.rows_empty(stage), (chunk / BackwardLayout::kStages & 1U) ^ 1U);
    barrier_arrive_expect(full, 2 * BackwardLayout::kChunkBytes + kStatisticsBytes);
    const int in_sequence = at.query_block * kChunksPerTile + chunk_of_tile;
    const int batch = at.batch(p);
    const int head = at.head_of_batch(p);
    tma_load_heads(layout.queries(stage), &maps.queries, full, 0, head, in_sequence * kChunk, batch);
    tma_load_heads(layout.dout(stage), &maps.dout, full, 0, head, in_sequence * kChunk, batch);
    bulk_load(layout.statistics(stage),
              p.scratch.statistics +
                  (static_cast<std::int64_t>(at.head) * p.problem.blocks * kChunksPerTile + in_sequence) * 2 *
                      kChunk,
              kStatisticsBytes, full);
    ++chunk;
    if (++chunk_of_tile == kChunksPerTile) {
      chunk_of_tile = 0;
      at.advance(p);
    }
  }
};

/// The keys and values of the block of keys that is the key_blocks-th of this multiprocessor.
__device__ inline void fetch_keys(const BackwardMaps& maps, const BackwardProblem& p,
                                  const BackwardLayout& layout, const BackwardCursor& at,
                                  unsigned key_blocks) {
  const unsigned buffer = key_blocks % BackwardLayout::kKeyBuffers;
  const std::uint32_t full = layout.keys_full(buffer);
  barrier_wait(layout.keys_empty(buffer), (key_blocks / BackwardLayout::kKeyBuffers & 1U) ^ 1U);
  barrier_arrive_expect(full, 2 * kPanelBytes);
  for (int which = 1; which <= 2; ++which) {
    tma_load_heads(which == 1 ? layout.keys(buffer) : layout.values(buffer), &maps.keys, full, 0,
                   which * p.problem.heads + at.head_of_batch(p), at.key_block * kTile, at.batch(p));
  }
}

/// dQ^T of a chunk, written as bfloat16 rows.
__device__ inline void store_dqueries(const BackwardMaps& maps, const BackwardProblem& p,
                                      const BackwardLayout& layout, const BackwardCursor& at,
                                      int chunk_of_tile, const float (&dq)[32], int warp, int lane) {
  const std::uint32_t staging = layout.base + BackwardLayout::kDqueries;
  if (threadIdx.x == 0) bulk_wait_read();
  named_barrier_sync(1, kWarpgroup);
#pragma unroll
  for (int i = 0; i < kChunk / 16; ++i) {
    const int row = 16 * i + lane / 16 * 8 + lane % 8;
    const int piece = 2 * warp + lane / 8 % 2;
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w)
      words[w] = pack_bf16(dq[8 * i + 2 * w] * p.scale, dq[8 * i + 2 * w + 1] * p.scale);
    store_matrix_x4_transposed(staging + row * 128 + ((piece ^ (lane & 7)) << 4), words[0], words[1],
                               words[2], words[3]);
  }
  fence_for_copies();
  named_barrier_sync(1, kWarpgroup);
  if (threadIdx.x == 0) {
    tma_store_heads(&maps.dqueries, staging, 0, at.head_of_batch(p),
                    at.query_block * kTile + chunk_of_tile * kChunk, at.batch(p));
    bulk_commit();
  }
}

__device__ inline void collect(const BackwardMaps& maps, const BackwardProblem& p,
                               const BackwardLayout& layout) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  constexpr std::uint64_t kDescriptor = matrix_descriptor(Swizzle::bytes_128, kPanelBytes, 1024);
  BackwardCursor at(p, static_cast<int>(blockIdx.x));
  Fetcher fetcher(p);
  unsigned key_blocks = 0;  // begun
  if (thread == 0 && at.valid(p)) {
    fetch_keys(maps, p, layout, at, 0);
    for (int i = 0; i < BackwardLayout::kStages - 1; ++i) fetcher.fetch_rows(maps, p, layout);
  }
  __syncwarp();

  std::uint32_t kt[kTile / 4];
  float dq[32];
  for (unsigned chunk = 0; at.valid(p);) {
    if (at.first_of_keys(p)) {
      const unsigned buffer = key_blocks % BackwardLayout::kKeyBuffers;
      barrier_wait(layout.keys_full(buffer), key_blocks / BackwardLayout::kKeyBuffers & 1U);
#pragma unroll
      for (int k = 0; k < kTile / 16; ++k) {
        const int key = 16 * k + lane / 16 * 8 + lane % 8;
        const int piece = 2 * warp + lane / 8 % 2;
        load_matrix_x4_transposed(layout.keys(buffer) + key * 128 + ((piece ^ (lane & 7)) << 4), kt[4 * k],
                                  kt[4 * k + 1], kt[4 * k + 2], kt[4 * k + 3]);
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(layout.keys_empty(buffer));
      ++key_blocks;
    }
    const int before = at.parts_before(p);
    const bool last = before == at.query_block;
    // Both parities of a group's place are used in turn, each by as many parts as the query block has.
    const std::int64_t place =
        (static_cast<std::int64_t>(at.round & 1) * p.groups + static_cast<int>(blockIdx.x) / p.units) *
            p.problem.blocks +
        at.query_block;
    unsigned* const parts = p.scratch.parts + place;
    const unsigned parts_then = static_cast<unsigned>((at.round >> 1) * (at.query_block + 1) + before);

#pragma unroll 1
    for (int of_tile = 0; of_tile < kChunksPerTile; ++of_tile, ++chunk) {
      if (thread == 0) {
        fetcher.fetch_rows(maps, p, layout);
        // By now the consumers are done with the keys before these.
        if (of_tile == 1 && at.first_of_keys(p)) {
          BackwardCursor next = at;
          while (!next.last_of_keys(p)) next.advance(p);
          next.advance(p);
          if (next.valid(p)) fetch_keys(maps, p, layout, next, key_blocks);
        }
      }
      __syncwarp();
      const int slot = static_cast<int>(chunk % BackwardLayout::kSlots);
      barrier_wait(layout.ds_full(slot), chunk / BackwardLayout::kSlots & 1U);
      const std::uint64_t b = descriptor_at(kDescriptor, layout.ds(slot));
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kTile / 16; ++k) wgmma<1>(dq, kt + 4 * k, b + k * (16 * kChunk * 2 / 16), k);
      wgmma_commit();
      wgmma_wait<0>();
      pin(dq);
      if (lane == 0) barrier_arrive(layout.ds_empty(slot));

      if (of_tile == 0) {
        if (thread == 0) {
          while (load_acquire(parts) != parts_then) {
          }
        }
        named_barrier_sync(1, kWarpgroup);
      }
      float* const sums = p.scratch.sums + (place * kChunksPerTile + of_tile) * kChunkFloats + thread * 4;
      if (last) {
        if (before > 0) {
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            const float4 sum = __ldcg(reinterpret_cast<const float4*>(sums + i * (kWarpgroup * 4)));
            dq[4 * i] += sum.x;
            dq[4 * i + 1] += sum.y;
            dq[4 * i + 2] += sum.z;
            dq[4 * i + 3] += sum.w;
          }
        }
        store_dqueries(maps, p, layout, at, of_tile, dq, warp, lane);
      } else if (before == 0) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          __stcg(reinterpret_cast<float4*>(sums + i * (kWarpgroup * 4)),
                 make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]));
        }
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) add_in_memory(sums + i * (kWarpgroup * 4), dq + 4 * i);
      }
    }
    // All threads' parts are in memory before the count says so.
    named_barrier_sync(1, kWarpgroup);
    if (thread == 0) {
      __threadfence();
      store_release(parts, parts_then + 1);
    }
    __syncwarp();
    at.advance(p);
  }
  if (thread == 0) bulk_wait_read();
}

}  // namespace ridgeline::gpt2::hopper
