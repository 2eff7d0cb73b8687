// attention_hopper_consumer_128.cuh: the consumers of the backward kernel at head size 128. For
// attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_consumer.cuh"

namespace ridgeline::gpt2::hopper {

/// dK and dV take 128 registers of a thread, so that the next chunk's scores cannot be under way beside this one's dP:
/// a chunk is scores (with dK of the one before), exponentials, dP and dV, then dS. The other consumer's products run
/// under the exponentials.
__device__ inline void consume(const BackwardMaps& maps, const BackwardProblem& p,
                               const BackwardLayout<128>& layout, unsigned consumer) {
  using Layout = BackwardLayout<128>;
  const std::uint32_t own_rows = consumer * (kPanelBytes / 2);  // of keys, values and dS, in a panel
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float scale_log2 = p.problem.scale_log2;

  unsigned chunk = 0;
  // Waits for the chunk's queries, or for those of the one behind it if they see none of this consumer's keys.
  const auto await_queries = [&](bool on_diagonal) {
    barrier_wait(layout.rows_full(chunk), filled<Layout::kStages>(chunk));
    if (consumer == 1 && on_diagonal) {
      barrier_wait(layout.dout_full(chunk), filled<Layout::kDoutStages>(chunk));
      barrier_wait(layout.ds_empty(chunk), emptied<Layout::kSlots>(chunk));
      if (lane == 0) {
        barrier_arrive(layout.rows_empty(chunk));
        barrier_arrive(layout.dout_empty(chunk));
        barrier_arrive(layout.ds_full(chunk));
      }
      ++chunk;
      barrier_wait(layout.rows_full(chunk), filled<Layout::kStages>(chunk));
    }
    return uniform(load_shared(layout.flags(chunk)));
  };

  float s[32];  // dP too, which begins when the scores have become probabilities
  float dk[64];
  float dv[64];
  std::uint32_t probabilities[16];
  std::uint32_t gradients[16];     // of the scores
  unsigned flags = kDiagonalNext;  // long blocks of keys begin on the diagonal
  for (unsigned block = 0; (flags & kLastOfAll) == 0; ++block) {
    flags = await_queries((flags & kDiagonalNext) != 0);
    barrier_wait(layout.keys_full(block), filled<Layout::kKeyBuffers>(block));
    const std::uint32_t keys = uniform(layout.keys(block) + own_rows);
    const std::uint32_t values = uniform(layout.values(block) + own_rows);
    bool first = true;
    wgmma_fence();
    issue_along_head<128, false>(s, keys, uniform(layout.queries(chunk)));
    wgmma_commit();
    unsigned chunk_before = chunk;
    for (;;) {
      const auto lane_columns = static_cast<std::uint32_t>(thread_now() % 4 * 8);
      const std::uint32_t statistics = layout.statistics(chunk) + lane_columns;
      wgmma_wait<0>();  // scores, and dK of the chunk before
      pin(s);
      pin(dk);
      pin(gradients);
      if (lane == 0 && !first) barrier_arrive(layout.rows_empty(chunk_before));
      form_probabilities(s, statistics, scale_log2);
      if ((flags & kDiagonal) != 0 && chunk % kChunksPerTile == consumer) {
        const int thread = thread_now() % kWarpgroup;
        mask_diagonal(s, thread / 32, thread % 32);
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) probabilities[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
      pin(probabilities);
      load_dots(s, statistics + kChunk * 4 + lane_columns);
      pin(s);
      barrier_wait(layout.dout_full(chunk), filled<Layout::kDoutStages>(chunk));
      if (first) barrier_wait(layout.values_full(block), filled<Layout::kKeyBuffers>(block));
      const std::uint32_t dout = uniform(layout.dout(chunk));
      wgmma_fence();
      issue_along_head<128, true>(s, values, dout);
      issue_gradient<128>(dv, probabilities, dout, !first);
      wgmma_commit();
      wgmma_wait<0>();
      pin(s);
      pin(dv);
      pin(probabilities);
      if (lane == 0) barrier_arrive(layout.dout_empty(chunk));
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        gradients[i] = multiply_bf16(probabilities[i], pack_bf16(s[2 * i], s[2 * i + 1]));
      }
      // In front of the next products, for the collector: it forms dQ of it, and behind a block's last chunk gives the
      // keys' place back.
      barrier_wait(layout.ds_empty(chunk), emptied<Layout::kSlots>(chunk));
      const int thread = thread_now() % kWarpgroup;
      store_ds(layout.ds(chunk) + own_rows + static_cast<std::uint32_t>(thread / 32) * Layout::kWarpBytes,
               gradients, layout.ds_full(chunk), thread % 32);
      pin(gradients);
      const std::uint32_t queries = uniform(layout.queries(chunk));
      if ((flags & kLastOfKeys) != 0) break;
      chunk_before = chunk++;
      flags = await_queries((flags & kDiagonalNext) != 0);
      wgmma_fence();
      issue_gradient<128>(dk, gradients, queries, !first);
      issue_along_head<128, false>(s, keys, uniform(layout.queries(chunk)));
      wgmma_commit();
      first = false;
    }
    wgmma_fence();
    issue_gradient<128>(dk, gradients, uniform(layout.queries(chunk)), !first);
    wgmma_commit();
    // The gradients leave from where this consumer's values were, which its other warps may still have been reading.
    named_barrier_sync(2 + static_cast<int>(consumer), kWarpgroup);
    const uint4 which = load_shared_128(layout.which_keys(block));
    const auto head = static_cast<int>(which.x);
    const auto batch = static_cast<int>(which.y);
    const int thread = thread_now() % kWarpgroup;
    const int own_row = static_cast<int>(consumer) * kConsumerRows + thread / 32 * 16;
    const int position = static_cast<int>(which.z) + own_row;
    const std::uint32_t staging = uniform(layout.values(block)) + static_cast<std::uint32_t>(own_row) * 128;
    store_gradient(maps.dkeys, staging, dv, 1.0F, 2 * p.problem.heads + head, position, batch, thread % 32);
    wgmma_wait<0>();
    pin(dk);
    pin(gradients);
    if (lane == 0) {
      barrier_arrive(layout.rows_empty(chunk));
      bulk_wait_read();
    }
    __syncwarp();
    store_gradient(maps.dkeys, staging, dk, p.scale, p.problem.heads + head, position, batch, thread % 32);
    // Before the next block is waited for: its values need this place.
    if (lane == 0) {
      bulk_wait_read();
      barrier_arrive(layout.values_empty(block));
    }
    ++chunk;
  }
}

}  // namespace ridgeline::gpt2::hopper
