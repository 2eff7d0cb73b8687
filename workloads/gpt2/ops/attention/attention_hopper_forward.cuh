// attention_hopper_forward.cuh: what the warps of the forward kernel share: shared memory, what the consumers have to
// know of a tile, and the warp that fetches. For attention_hopper_forward.cu alone, whose header comment says how.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper.cuh"
#include "gpt2/ops/attention/attention_hopper_fp8.cuh"
#include "gpt2/ops/attention/attention_hopper_tail.h"

namespace ridgeline::gpt2::hopper {

struct ForwardLayout {
  static constexpr int kStages = 4;
  static constexpr int kTileBytes = kPanelBytes;                  // keys or values
  static constexpr int kQueryBytes = kConsumerRows * kPanel * 2;  // of one consumer
  static constexpr int kKeys = 0;
  static constexpr int kValues = kKeys + kStages * kTileBytes;
  static constexpr int kQueries = kValues + kStages * kTileBytes;
  static constexpr int kOut = kQueries + kConsumers * kQueryBytes;  // [warp] 16 rows
  static constexpr int kWarpBytes = 16 * kPanel * 2;
  static constexpr int kWork =
      kOut + kConsumers * kQueryBytes;   // of each tile: flags, head, batch, first row
  static constexpr int kWorkPlaces = 8;  // by when one comes to be written again, all have read it
  static constexpr int kBarriers = kWork + kWorkPlaces * 16;
  static constexpr int kFp8Staging =
      kBarriers + (4 * kStages + 2 * kConsumers) * 8;  // of each consumer, if wanted
  static constexpr int kAllocatedBytes = kFp8Staging + 1024;
  static constexpr int kAllocatedWithFp8Bytes = kAllocatedBytes + kConsumers * kFp8StagingBytes;
  static_assert(kFp8Staging % 16 == 0);
  static_assert(kAllocatedWithFp8Bytes <= 232448, "more than a block of sm_90 may have");

  std::uint32_t base;  // multiple of 1024
  __device__ std::uint32_t fp8(int consumer) const {
    return base + kFp8Staging + consumer * kFp8StagingBytes;
  }
  __device__ std::uint32_t keys(int stage) const { return base + kKeys + stage * kTileBytes; }
  __device__ std::uint32_t values(int stage) const { return base + kValues + stage * kTileBytes; }
  __device__ std::uint32_t queries(int consumer) const { return base + kQueries + consumer * kQueryBytes; }
  __device__ std::uint32_t work(unsigned tile) const { return base + kWork + tile % kWorkPlaces * 16; }
  __device__ std::uint32_t keys_full(int stage) const { return base + kBarriers + 8 * stage; }
  __device__ std::uint32_t keys_empty(int stage) const { return keys_full(kStages + stage); }
  __device__ std::uint32_t values_full(int stage) const { return keys_full(2 * kStages + stage); }
  __device__ std::uint32_t values_empty(int stage) const { return keys_full(3 * kStages + stage); }
  __device__ std::uint32_t queries_full(int consumer) const { return keys_full(4 * kStages + consumer); }
  __device__ std::uint32_t queries_empty(int consumer) const {
    return keys_full(4 * kStages + kConsumers + consumer);
  }
};

/// What the consumers have to know of a tile, so that the producer alone counts them.
enum TileFlags : unsigned { kFirstOfRows = 1, kLastOfRows = 2, kLastTile = 4 };

struct ForwardMaps {
  CUtensorMap queries;  // of qkv, 64 positions
  CUtensorMap keys;     // of qkv, 128 positions; values too
  CUtensorMap out;      // 16 positions
};

__device__ inline void produce(const ForwardMaps& maps, const Problem& problem, const ForwardTail& tail,
                               const ForwardLayout& layout) {
  using Layout = ForwardLayout;
  const auto load = [&](std::uint32_t destination, std::uint32_t full, int which, const ForwardCursor& at) {
    barrier_arrive_expect(full, Layout::kTileBytes);
    tma_load_heads(destination, &maps.keys, full, 0, which * problem.heads + at.head(problem),
                   at.column_block * kTile, at.batch(problem));
  };
  const auto load_values = [&](unsigned tile, const ForwardCursor& at) {
    const int stage = static_cast<int>(tile % Layout::kStages);
    barrier_wait(layout.values_empty(stage), (tile / Layout::kStages & 1U) ^ 1U);
    load(layout.values(stage), layout.values_full(stage), 2, at);
  };

  // In the order of use: the scores of a tile are formed before the output of the one before it.
  ForwardCursor at(problem, tail, static_cast<int>(blockIdx.x));
  ForwardCursor before = at;
  unsigned tile = 0;
  std::uint32_t item_parity = 0;
  for (; at.valid(problem); ++tile) {
    if (at.on_diagonal()) {
      for (int consumer = 0; consumer < kConsumers; ++consumer) {
        barrier_wait(layout.queries_empty(consumer), item_parity ^ 1U);
        const std::uint32_t full = layout.queries_full(consumer);
        barrier_arrive_expect(full, Layout::kQueryBytes);
        tma_load_heads(layout.queries(consumer), &maps.queries, full, 0, at.head(problem),
                       at.row_block * kTile + consumer * kConsumerRows, at.batch(problem));
      }
      item_parity ^= 1U;
    }
    const int stage = static_cast<int>(tile % Layout::kStages);
    barrier_wait(layout.keys_empty(stage), (tile / Layout::kStages & 1U) ^ 1U);
    ForwardCursor next = at;
    next.advance(problem, tail, static_cast<int>(gridDim.x));
    const unsigned flags = (at.on_diagonal() ? kFirstOfRows : 0U) |
                           (at.column_block == 0 ? kLastOfRows : 0U) | (next.valid(problem) ? 0U : kLastTile);
    store_shared_128(layout.work(tile), make_uint4(flags, static_cast<unsigned>(at.head(problem)),
                                                   static_cast<unsigned>(at.batch(problem)),
                                                   static_cast<unsigned>(at.row_block * kTile)));
    load(layout.keys(stage), layout.keys_full(stage), 1, at);
    if (tile > 0) load_values(tile - 1, before);
    before = at;
    at = next;
  }
  if (tile > 0) load_values(tile - 1, before);
}

}  // namespace ridgeline::gpt2::hopper
