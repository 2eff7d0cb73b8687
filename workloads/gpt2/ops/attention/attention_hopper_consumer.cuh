// attention_hopper_consumer.cuh: the products of the backward kernel's consumers, and how they store dK and dV. For
// attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"

namespace ridgeline::gpt2::hopper {

/// A warp's 16 rows of dK or dV, by way of `staging`, where the panels lie as in a block of keys.
template <int kCount>
__device__ inline void store_gradient(const CUtensorMap& map, std::uint32_t staging, const float (&d)[kCount],
                                      float factor, int head, int position, int batch, int lane) {
  constexpr int kPanels = kCount / 32;
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* const columns = d + 32 * panel + 8 * i;
      std::uint32_t words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = pack_bf16(columns[2 * w] * factor, columns[2 * w + 1] * factor);
      store_matrix_x4((matrix_address(staging, lane) ^ (i * 32)) + panel * kPanelBytes, words[0], words[1],
                      words[2], words[3]);
    }
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) {
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      tma_store_heads(&map, staging + panel * kPanelBytes, panel * kPanel, head, position, batch);
    }
    bulk_commit();
  }
}

/// d (64 keys x 64 queries) = (kAdd ? d : 0) + A (of the keys) B^T (of the queries), along the columns of the head:
/// scores, or dP less the rows' dots, with which the accumulators begin.
template <int kHeadSize, bool kAdd>
__device__ inline void issue_along_head(float (&d)[32], std::uint32_t of_keys, std::uint32_t of_queries) {
  constexpr std::uint64_t kAlongHead = matrix_descriptor(16, 1024);
  constexpr int kKeysPanel = kPanelBytes / 16;
  constexpr int kQueriesPanel = BackwardLayout<kHeadSize>::kChunkPanelBytes / 16;
  const std::uint64_t a = descriptor_at(kAlongHead, of_keys);
  const std::uint64_t b = descriptor_at(kAlongHead, of_queries);
#pragma unroll
  for (int k = 0; k < kHeadSize / 16; ++k) {
    wgmma<0, 0>(d, a + k / 4 * kKeysPanel + k % 4 * 2, b + k / 4 * kQueriesPanel + k % 4 * 2, kAdd ? 1 : k);
  }
}
/// d += A^T (64 keys x 64 queries, in registers) B (64 queries x the head's columns).
template <int kHeadSize>
__device__ inline void issue_gradient(float (&d)[kHeadSize / 2], const std::uint32_t (&a)[16],
                                      std::uint32_t rows, bool add) {
  constexpr std::uint64_t kAlongRows = matrix_descriptor(BackwardLayout<kHeadSize>::kChunkPanelBytes, 1024);
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

}  // namespace ridgeline::gpt2::hopper
