// attention_hopper_dq_reducer.cuh: the warpgroup of the backward kernel that forms dQ^T of a chunk. For
// attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_backward_fp8.cuh"

namespace ridgeline::gpt2::hopper {

/// A warp's 16 columns of the keys, transposed, as left operands.
__device__ inline void load_keys_transposed(std::uint32_t (&kt)[kTile / 4], std::uint32_t keys, int warp,
                                            int lane) {
#pragma unroll
  for (int k = 0; k < kTile / 16; ++k) {
    const int key = 16 * k + lane / 16 * 8 + lane % 8;
    const int piece = 2 * warp + lane / 8 % 2;
    load_matrix_x4_transposed(keys + key * 128 + ((piece ^ (lane & 7)) << 4), kt[4 * k], kt[4 * k + 1],
                              kt[4 * k + 2], kt[4 * k + 3]);
  }
}

/// dQ^T of a chunk, written as bfloat16 rows for the copy engine.
__device__ inline void write_rows(std::uint32_t staging, const float (&dq)[32], float scale, int warp,
                                  int lane) {
#pragma unroll
  for (int i = 0; i < kChunk / 16; ++i) {
    const int row = 16 * i + lane / 16 * 8 + lane % 8;
    const int piece = 2 * warp + lane / 8 % 2;
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w)
      words[w] = pack_bf16(dq[8 * i + 2 * w] * scale, dq[8 * i + 2 * w + 1] * scale);
    store_matrix_x4_transposed(staging + row * 128 + ((piece ^ (lane & 7)) << 4), words[0], words[1],
                               words[2], words[3]);
  }
}

/// The accumulators of a product of the head's 64 columns and a chunk's 64 queries go to a place of dQ, where one of
/// the threads that add up finds them: as they are, or, if they complete the sum, as write(place) leaves dQ.
/// Waits until the place is empty: `before` counts the sums that have been fetched to it.
template <class Write>
__device__ inline void leave_part(const BackwardLayout& layout, float (&dq)[32], unsigned flags,
                                  unsigned slot, std::uint32_t empty_parity, unsigned before, int warp,
                                  int lane, const Write& write) {
  const bool add_before = (flags & (kSumFirst | kSumLast)) == kSumLast;
  const std::uint32_t staging = layout.dqueries(slot);
  const std::uint32_t words = staging + static_cast<std::uint32_t>(warp * 32 + lane) * 16;
  barrier_wait(layout.dq_empty(slot), empty_parity);
  if ((flags & kSumLast) == 0) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      store_shared_128(words + i * (kWarpgroup * 16), dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    }
  } else {
    if (add_before) {
      // The sum of the parts before lies where this part would have gone.
      barrier_wait(layout.dq_before(slot), before % 2);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float4 sum = load_shared_float4(words + i * (kWarpgroup * 16));
        dq[4 * i] += sum.x;
        dq[4 * i + 1] += sum.y;
        dq[4 * i + 2] += sum.z;
        dq[4 * i + 3] += sum.w;
      }
      named_barrier_sync(1, kWarpgroup);
    }
    write(staging);
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) barrier_arrive(layout.dq_full(slot));
}

/// K^T stays in registers. dQ as bfloat16 rows or in E5M2 both ways.
template <bool kFp8>
__device__ inline void reduce_dq(const BackwardLayout& layout, float scale, const Fp8Scale& fp8_scale) {
  using Layout = BackwardLayout;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int lane = thread % 32;
  const int warp = thread / 32;
  constexpr std::uint64_t kDescriptor = matrix_descriptor(kPanelBytes, 1024);
  constexpr int kStep = 16 * kChunk * 2 / 16;  // 16 keys on

  std::uint32_t kt[kTile / 4];
  float dq[32];
  Fp8Gradients fp8 = Fp8Gradients::begin<kFp8>(fp8_scale);
  unsigned block = 0;   // of keys, the next
  unsigned before = 0;  // sums fetched, by tiles
  bool taken = true;    // the block's keys, and said so
  unsigned flags = 0;
  for (unsigned chunk = 0; (flags & kLastOfAll) == 0; ++chunk) {
    barrier_wait(layout.ds_full(chunk), filled<Layout::kSlots>(chunk));
    flags = load_shared(layout.flags(chunk));
    if ((flags & kFirstOfKeys) != 0) {
      barrier_wait(layout.keys_full(block), filled<Layout::kKeyBuffers>(block));
      load_keys_transposed(kt, layout.keys(block), warp, lane);
      ++block;
      taken = false;
    }
    const std::uint64_t ds = descriptor_at(kDescriptor, layout.ds(chunk));
    const bool first_of_tile = chunk % kChunksPerTile == 0;
    // On the diagonal the first queries see no key of the second half.
    const bool half = (flags & kDiagonal) != 0 && first_of_tile;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTile / 32; ++k) wgmma<1>(dq, kt + 4 * k, ds + k * kStep, k);
    wgmma_commit();
    if (!half) {
      wgmma_fence();
#pragma unroll
      for (int k = kTile / 32; k < kTile / 16; ++k) wgmma<1>(dq, kt + 4 * k, ds + k * kStep, 1);
      wgmma_commit();
    }
    wgmma_wait<0>();
    pin(dq);
    if (lane == 0) barrier_arrive(layout.ds_empty(chunk));
    // After products that used all of them, and so waited for what was read: right after the reads, the arrival could
    // overtake one of them.
    if (!taken && !half) {
      if (lane == 0) barrier_arrive(layout.keys_taken(block - 1));
      taken = true;
    }
    leave_part(layout, dq, flags, chunk, emptied<Layout::kDqSlots>(chunk), before, warp, lane,
               [&](std::uint32_t place) {
                 if constexpr (kFp8) {
                   stage_fp8(fp8, place + kFp8Bytes, place, dq, scale, warp, lane);
                 } else {
                   write_rows(place, dq, scale, warp, lane);
                 }
               });
    if ((flags & (kSumFirst | kSumLast)) == kSumLast && !first_of_tile) ++before;
  }
  fp8.commit<kFp8>(fp8_scale, lane);
}

}  // namespace ridgeline::gpt2::hopper
