// attention_hopper_consumer_64.cuh: the consumers of the backward kernel at head size 64. For
// attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_backward_fp8.cuh"
#include "gpt2/ops/attention/attention_hopper_consumer.cuh"

namespace ridgeline::gpt2::hopper {

/// One code for both consumers: their registers differ, and what the multiprocessor's instruction caches hold is short.
template <bool kFp8>
__device__ inline void consume(const BackwardMaps& maps, const BackwardProblem& p,
                               const BackwardLayout<64>& layout, const Fp8Scale& fp8_scale,
                               unsigned consumer) {
  using Layout = BackwardLayout<64>;
  const std::uint32_t own_rows = consumer * (kPanelBytes / 2);  // of keys, values and dS
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
  const std::uint32_t warp_rows = own_rows + static_cast<std::uint32_t>(warp) * Layout::kWarpBytes;
  const auto lane_columns = static_cast<std::uint32_t>(lane % 4 * 8);
  const float scale_log2 = p.problem.scale_log2;

  unsigned chunk = 0;
  unsigned block = 0;  // of keys
  // Waits for the chunk, or for the one behind it if its queries see none of this consumer's keys. What to wait for
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
  issue_along_head<64, false>(s, layout.keys(block) + own_rows, layout.queries(chunk));
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
    issue_gradient<64>(dk, gradients, queries_before, (flags_before & kFirstOfKeys) == 0);
    issue_along_head<64, true>(dp, values, dout);
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
    // Behind the last chunk the products for the next are formed of whatever is there, and not used.
    if (more) flags = await_rows((flags_now & kLastOfKeys) != 0, (flags_now & kDiagonalNext) != 0);
    const std::uint32_t now_dout = layout.dout(now);
    const std::uint32_t next_keys = layout.keys(block) + own_rows;
    const std::uint32_t next_queries = layout.queries(chunk);
    wgmma_fence();
    issue_gradient<64>(dv, probabilities, now_dout, (flags_now & kFirstOfKeys) == 0);
    issue_along_head<64, false>(s, next_keys, next_queries);
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
  issue_gradient<64>(dk, gradients, layout.queries(chunk_before), (flags_before & kFirstOfKeys) == 0);
  wgmma_commit();
  store_gradients();
  fp8.commit<kFp8>(fp8_scale, lane);
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

}  // namespace ridgeline::gpt2::hopper
