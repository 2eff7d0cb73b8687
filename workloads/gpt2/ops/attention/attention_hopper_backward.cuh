// attention_hopper_backward.cuh: what the warpgroups of the backward kernel share: the problem, shared memory, and the
// order of tiles. For attention_hopper_backward.cu and attention_hopper_collector.cuh alone.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper.cuh"

namespace ridgeline::gpt2::hopper {

constexpr int kHeadSize = 64;
constexpr int kChunk = 64;  // queries
constexpr int kChunksPerTile = kTile / kChunk;
constexpr int kBackwardConsumerRegisters = 192;
constexpr int kCollectorRegisters = 120;
constexpr int kStatisticsBytes = 2 * kChunk * 4;
constexpr int kChunkFloats = kChunk * kHeadSize;  // of dQ

struct BackwardMaps {
  CUtensorMap queries;   // of qkv, 64 positions
  CUtensorMap dout;      // 64 positions
  CUtensorMap keys;      // of qkv, 128 positions; values too
  CUtensorMap dqueries;  // of dqkv, 64 positions
  CUtensorMap dkeys;     // of dqkv, 16 positions; dV too
};

struct BackwardLayout {
  static constexpr int kStages = 4;  // of chunks
  static constexpr int kSlots = 3;   // of dS
  static constexpr int kKeyBuffers = 2;
  static constexpr int kChunkBytes = kChunk * kPanel * 2;
  static constexpr int kWarpBytes = 16 * kPanel * 2;
  static constexpr int kKeys = 0;  // [buffer][keys, values]
  static constexpr int kQueries = kKeys + kKeyBuffers * 2 * kPanelBytes;
  static constexpr int kDout = kQueries + kStages * kChunkBytes;
  static constexpr int kDs = kDout + kStages * kChunkBytes;
  static constexpr int kOut = kDs + kSlots * kPanelBytes;  // [consumer warp][dK, dV]
  static constexpr int kDqueries = kOut + kConsumerWarps * 2 * kWarpBytes;
  static constexpr int kStatistics = kDqueries + kChunkBytes;
  static constexpr int kBarriers = kStatistics + kStages * kStatisticsBytes;
  static constexpr int kAllocatedBytes = kBarriers + 2 * (kKeyBuffers + kStages + kSlots) * 8 + 1024;
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");

  std::uint32_t base;  // multiple of 1024
  __device__ std::uint32_t keys(unsigned buffer) const { return base + kKeys + buffer * (2 * kPanelBytes); }
  __device__ std::uint32_t values(unsigned buffer) const { return keys(buffer) + kPanelBytes; }
  __device__ std::uint32_t queries(int stage) const { return base + kQueries + stage * kChunkBytes; }
  __device__ std::uint32_t dout(int stage) const { return base + kDout + stage * kChunkBytes; }
  __device__ std::uint32_t statistics(int stage) const {
    return base + kStatistics + stage * kStatisticsBytes;
  }
  __device__ std::uint32_t ds(int slot) const { return base + kDs + slot * kPanelBytes; }
  __device__ std::uint32_t keys_full(unsigned buffer) const { return base + kBarriers + 8 * buffer; }
  __device__ std::uint32_t keys_empty(unsigned buffer) const { return keys_full(kKeyBuffers + buffer); }
  __device__ std::uint32_t rows_full(int stage) const {
    return base + kBarriers + 16 * kKeyBuffers + 8 * static_cast<std::uint32_t>(stage);
  }
  __device__ std::uint32_t rows_empty(int stage) const { return rows_full(kStages + stage); }
  __device__ std::uint32_t ds_full(int slot) const { return rows_full(2 * kStages + slot); }
  __device__ std::uint32_t ds_empty(int slot) const { return rows_full(2 * kStages + kSlots + slot); }
};

}  // namespace ridgeline::gpt2::hopper
