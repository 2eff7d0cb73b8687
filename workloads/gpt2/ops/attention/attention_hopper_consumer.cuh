// attention_hopper_consumer.cuh: the consumers of the backward kernel: their products, and how they store dK and dV.
// For attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_backward_fp8.cuh"

namespace ridgeline::gpt2::hopper {

/// A warp's 16 rows of dK or dV, by way of `staging`, where they lie as in a block of keys.
__device__ inline void store_gradient(const CUtensorMap& map, std::uint32_t staging, const float (&d)[32],
                                      float factor, int head, int position, int batch, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* const columns = d + 8 * i;
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = pack_bf16(columns[2 * w] * factor, columns[2 * w + 1] * factor);
    store_matrix_x4(matrix_address(staging, lane) ^ (i * 32), words[0], words[1], words[2], words[3]);
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) {
    tma_store_heads(&map, staging, 0, head, position, batch);
    bulk_commit();
  }
}

/// d (64 keys x 64 queries) = (kAdd ? d : 0) + A (of the keys) B^T (of the queries), along the columns of the head:
/// scores, or dP less the rows' dots, with which the accumulators begin.
template <bool kAdd>
__device__ inline void issue_along_head(float (&d)[32], std::uint32_t of_keys, std::uint32_t of_queries) {
  constexpr std::uint64_t kAlongHead = matrix_descriptor(16, 1024);
  const std::uint64_t a = descriptor_at(kAlongHead, of_keys);
  const std::uint64_t b = descriptor_at(kAlongHead, of_queries);
#pragma unroll
  for (int k = 0; k < kHeadSize / 16; ++k) wgmma<0, 0>(d, a + k * 2, b + k * 2, kAdd ? 1 : k);
}
/// d += A^T (64 keys x 64 queries, in registers) B (64 queries x the head's columns).
__device__ inline void issue_gradient(float (&d)[kHeadSize / 2], const std::uint32_t (&a)[16],
                                      std::uint32_t rows, bool add) {
  constexpr std::uint64_t kAlongRows = matrix_descriptor(BackwardLayout::kChunkBytes, 1024);
  constexpr int kStep = 16 * kPanel * 2 / 16;  // 16 rows on
  const std::uint64_t b = descriptor_at(kAlongRows, rows);
#pragma unroll
  for (int k = 0; k < kChunk / 16; ++k) wgmma<1>(d, a + 4 * k, b + k * kStep, (add ? 1 : 0) | k);
}

/// Turns the scores of a chunk into probabilities; `statistics` is that of the lane's columns.
__device__ inline void form_probabilities(float (&s)[32], std::uint32_t statistics, float scale_log2) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float2 log_sum = load_shared_float2(statistics + 32 * j);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[4 * j + e] = exp2_flushed(fmaf(s[4 * j + e], scale_log2, -(e % 2 == 0 ? log_sum.x : log_sum.y)));
    }
  }
}
/// In the chunk whose queries have the positions of the consumer's keys, a key is seen by the queries from its own
/// position on.
__device__ inline void mask_diagonal(float (&s)[32], int warp, int lane) {
  const int limit = warp * 16 + lane / 4 - lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (8 * j + e % 2 < limit + e / 2 * 8) s[4 * j + e] = 0.0F;
    }
  }
}
/// The accumulators of dP begin with minus the rows' dots; `dots` is where those of the lane's columns are.
__device__ inline void load_dots(float (&dp)[32], std::uint32_t dots) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float4 values = load_shared_float4(dots + 64 * j);
    dp[4 * j] = values.x;
    dp[4 * j + 1] = values.y;
    dp[4 * j + 2] = values.z;
    dp[4 * j + 3] = values.w;
  }
}
/// A warp's 16 rows of dS, and word that they are there.
__device__ inline void store_ds(std::uint32_t rows, const std::uint32_t (&gradients)[16], std::uint32_t full,
                                int lane) {
  const std::uint32_t ds = matrix_address(rows, lane);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_matrix_x4(ds ^ (i * 32), gradients[4 * i], gradients[4 * i + 1], gradients[4 * i + 2],
                    gradients[4 * i + 3]);
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) barrier_arrive(full);
}

/// One code for both consumers: their registers differ, and what the multiprocessor's instruction caches hold is short.
template <bool kFp8>
__device__ inline void consume(const BackwardMaps& maps, const BackwardProblem& p,
                               const BackwardLayout& layout, const Fp8Scale& fp8_scale, unsigned consumer) {
  using Layout = BackwardLayout;
  const std::uint32_t own_rows = consumer * (kPanelBytes / 2);  // of keys, values and dS
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
  const std::uint32_t warp_rows = own_rows + static_cast<std::uint32_t>(warp) * Layout::kWarpBytes;
  const auto lane_columns = static_cast<std::uint32_t>(lane % 4 * 8);
  const float scale_log2 = p.problem.scale_log2;

  unsigned chunk = 0;
  unsigned block = 0;  // of keys
  // Waits for the chunk, or for the one after it if its queries see none of this consumer's keys. What to wait for
  // stands with the chunk before, so that no flags stand between the waiting and the products.
  const auto await_rows = [&](bool first_of_keys, bool on_diagonal) {
    barrier_wait(layout.rows_full(chunk), filled<Layout::kStages>(chunk));
    if (consumer == 1 && on_diagonal) {
      barrier_wait(layout.ds_empty(chunk), emptied<Layout::kSlots>(chunk));
      if (lane == 0) {
        barrier_arrive(layout.rows_empty(chunk));
        barrier_arrive(layout.ds_full(chunk));
      }
      ++chunk;
      barrier_wait(layout.rows_full(chunk), filled<Layout::kStages>(chunk));
    }
    if (first_of_keys) barrier_wait(layout.keys_full(block), filled<Layout::kKeyBuffers>(block));
    return uniform(load_shared(layout.flags(chunk)) | (first_of_keys ? kFirstOfKeys : 0U));
  };

  Fp8Gradients fp8 = Fp8Gradients::begin<kFp8>(fp8_scale);
  float s[32];
  float dp[32];
  float dk[32];
  float dv[32];
  std::uint32_t probabilities[16];
  std::uint32_t gradients[16];  // of the scores
#pragma unroll
  for (int i = 0; i < 16; ++i) probabilities[i] = gradients[i] = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) dk[i] = dv[i] = 0.0F;

  unsigned flags = await_rows(true, true);  // long blocks of keys begin on the diagonal
  wgmma_fence();
  issue_along_head<false>(s, layout.keys(block) + own_rows, layout.queries(chunk));
  wgmma_commit();
  wgmma_wait<0>();
  pin(s);

  // Of the chunk before. In front of the first one a dK is formed that nobody will see.
  unsigned chunk_before = chunk;
  unsigned flags_before = kFirstOfKeys;
  const auto store_gradients = [&] {
    wgmma_wait<0>();
    pin(dk);
    pin(dv);
    // The gradients leave from where the keys and values were.
    const unsigned stored = block - 1;
    barrier_wait(layout.keys_taken(stored), filled<Layout::kKeyBuffers>(stored));
    named_barrier_sync(2 + static_cast<int>(consumer), kWarpgroup);
    const uint4 which = load_shared_128(layout.which_keys(stored));
    const auto head = static_cast<int>(which.x);
    const auto batch = static_cast<int>(which.y);
    const int position = static_cast<int>(which.z) + static_cast<int>(consumer) * kConsumerRows;
    if constexpr (kFp8) {
      const std::uint32_t keys = layout.keys(stored) + own_rows;
      const std::uint32_t values = layout.values(stored) + own_rows;
      stage_fp8(fp8, keys, keys + kFp8Bytes, dk, p.scale, warp, lane);
      stage_fp8(fp8, values, values + kFp8Bytes, dv, 1.0F, warp, lane);
      fence_for_copies();
      named_barrier_sync(2 + static_cast<int>(consumer), kWarpgroup);
      if (warp == 0 && lane == 0) {
        store_fp8_gradient(maps, keys, keys + kFp8Bytes, p.problem.heads + head, position, batch);
        store_fp8_gradient(maps, values, values + kFp8Bytes, 2 * p.problem.heads + head, position, batch);
        bulk_commit();
      }
    } else {
      store_gradient(maps.dkeys, layout.keys(stored) + warp_rows, dk, p.scale, p.problem.heads + head,
                     position + warp * 16, batch, lane);
      store_gradient(maps.dkeys, layout.values(stored) + warp_rows, dv, 1.0F, 2 * p.problem.heads + head,
                     position + warp * 16, batch, lane);
    }
  };
  for (bool more = true; more;) {
    const std::uint32_t statistics = layout.statistics(chunk) + lane_columns;
    wgmma_wait<0>();  // its scores, and dV of the chunk before
    pin(s);
    pin(probabilities);
    load_dots(dp, statistics + kChunk * 4 + lane_columns);
    pin(dp);
    const std::uint32_t queries_before = layout.queries(chunk_before);
    const std::uint32_t values = layout.values(block) + own_rows;
    const std::uint32_t dout = layout.dout(chunk);
    wgmma_fence();
    issue_gradient(dk, gradients, queries_before, (flags_before & kFirstOfKeys) == 0);
    issue_along_head<true>(dp, values, dout);
    wgmma_commit();
    const bool stored = (flags_before & kLastOfKeys) != 0;
    if (stored) store_gradients();

    form_probabilities(s, statistics, scale_log2);
    if ((flags & kDiagonal) != 0 && chunk % kChunksPerTile == consumer) mask_diagonal(s, warp, lane);
#pragma unroll
    for (int i = 0; i < 16; ++i) probabilities[i] = pack_bf16(s[2 * i], s[2 * i + 1]);

    wgmma_wait<0>();  // dP, and dK of the chunk before
    pin(dp);
    pin(gradients);
    // Before the next chunk is waited for: what comes may need these places.
    if (lane == 0) {
      if (chunk != chunk_before) barrier_arrive(layout.rows_empty(chunk_before));
      if (stored) {
        bulk_wait_read();
        barrier_arrive(layout.keys_empty(block - 1));
      }
    }
    const unsigned now = chunk;
    const unsigned flags_now = flags;
    more = (flags & kLastOfAll) == 0;
    ++chunk;
    if ((flags & kLastOfKeys) != 0) ++block;
    // After the last chunk the products for the next are formed of whatever is there, and not used.
    if (more) flags = await_rows((flags_now & kLastOfKeys) != 0, (flags_now & kDiagonalNext) != 0);
    const std::uint32_t now_dout = layout.dout(now);
    const std::uint32_t next_keys = layout.keys(block) + own_rows;
    const std::uint32_t next_queries = layout.queries(chunk);
    wgmma_fence();
    issue_gradient(dv, probabilities, now_dout, (flags_now & kFirstOfKeys) == 0);
    issue_along_head<false>(s, next_keys, next_queries);
    wgmma_commit();
    chunk_before = now;
    flags_before = flags_now;

#pragma unroll
    for (int i = 0; i < 16; ++i) {
      gradients[i] = multiply_bf16(probabilities[i], pack_bf16(dp[2 * i], dp[2 * i + 1]));
    }
    barrier_wait(layout.ds_empty(now), emptied<Layout::kSlots>(now));
    store_ds(layout.ds(now) + warp_rows, gradients, layout.ds_full(now), lane);
  }
  wgmma_wait<0>();
  pin(s);
  pin(probabilities);
  wgmma_fence();
  issue_gradient(dk, gradients, layout.queries(chunk_before), (flags_before & kFirstOfKeys) == 0);
  wgmma_commit();
  store_gradients();
  fp8.commit<kFp8>(fp8_scale, lane);
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

}  // namespace ridgeline::gpt2::hopper
