// attention_hopper_backward.cuh: what the warps of the backward kernel share: the problem, shared memory, and the
// order of chunks. For attention_hopper_backward*.cu alone and what they are made of.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper.cuh"

namespace ridgeline::gpt2::hopper {

constexpr int kHeadSize = 64;
constexpr int kChunk = kTile / kChunksPerTile;  // queries
constexpr int kPiece = 32;                      // rows whose statistics are formed together
constexpr int kStatisticsFloats = 3 * kChunk;   // of a chunk
constexpr int kStatisticsBytes = kStatisticsFloats * 4;
constexpr int kChunkFloats = kChunk * kHeadSize;  // of dQ

/// Of the multiprocessor's 65,536 registers 512 threads start with 128 each; the four warpgroups share as many.
constexpr int kBackwardThreads = (2 + kConsumers) * kWarpgroup;
constexpr int kBackwardConsumerRegisters = 192;
constexpr int kCollectorRegisters = 96;
constexpr int kHelperRegisters = 32;

struct BackwardMaps {
  CUtensorMap queries;    // of qkv, 64 positions
  CUtensorMap dout;       // 64 positions
  CUtensorMap keys;       // of qkv, 128 positions; values too
  CUtensorMap dqueries;   // of dqkv, 64 positions
  CUtensorMap dkeys;      // of dqkv, 16 positions; dV too
  CUtensorMap dout_rows;  // 32 positions
  CUtensorMap out_rows;   // 32 positions
};

/// Places in shared memory. Chunks and blocks of keys are counted from 0, and take the places of a ring in turn.
struct BackwardLayout : BackwardRings {
  static constexpr unsigned kPieces = 3;  // of rows whose statistics are formed
  static constexpr unsigned kChunkBytes = kChunk * kPanel * 2;
  static constexpr unsigned kSumBytes = kChunkFloats * 4;
  static constexpr unsigned kWarpBytes = 16 * kPanel * 2;
  static constexpr unsigned kPieceBytes = kPiece * kPanel * 2;
  static constexpr unsigned kKeys = 0;  // [buffer][keys, values]
  static constexpr unsigned kQueries = kKeys + kKeyBuffers * 2 * kPanelBytes;
  static constexpr unsigned kDout = kQueries + kStages * kChunkBytes;
  static constexpr unsigned kDs = kDout + kStages * kChunkBytes;
  static constexpr unsigned kDqueries = kDs + kSlots * kPanelBytes;
  static constexpr unsigned kPieceRows = kDqueries + kSlots * kSumBytes;  // [piece][dout, out]
  static constexpr unsigned kStatistics = kPieceRows + kPieces * 2 * kPieceBytes;
  static constexpr unsigned kBlocks =
      kStatistics + kStages * kStatisticsBytes;  // [buffer] of keys: which they are
  static constexpr unsigned kFlagWords = kBlocks + kKeyBuffers * 16;
  static constexpr unsigned kBarriers = kFlagWords + kFlags * 4;
  static constexpr unsigned kBarrierCount = 3 * kKeyBuffers + 2 * kStages + 5 * kSlots + kPieces + 1;
  static constexpr unsigned kAllocatedBytes = kBarriers + kBarrierCount * 8 + 1024;
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");

  std::uint32_t base;  // multiple of 1024
  __device__ std::uint32_t keys(unsigned block) const {
    return base + kKeys + block % kKeyBuffers * (2 * kPanelBytes);
  }
  __device__ std::uint32_t values(unsigned block) const { return keys(block) + kPanelBytes; }
  __device__ std::uint32_t which_keys(unsigned block) const {
    return base + kBlocks + block % kKeyBuffers * 16;
  }
  __device__ std::uint32_t queries(unsigned chunk) const {
    return base + kQueries + chunk % kStages * kChunkBytes;
  }
  __device__ std::uint32_t dout(unsigned chunk) const { return base + kDout + chunk % kStages * kChunkBytes; }
  __device__ std::uint32_t statistics(unsigned chunk) const {
    return base + kStatistics + chunk % kStages * kStatisticsBytes;
  }
  __device__ std::uint32_t flags(unsigned chunk) const { return base + kFlagWords + chunk % kFlags * 4; }
  __device__ std::uint32_t ds(unsigned chunk) const { return base + kDs + chunk % kSlots * kPanelBytes; }
  __device__ std::uint32_t dqueries(unsigned chunk) const {
    return base + kDqueries + chunk % kSlots * kSumBytes;
  }

  __device__ std::uint32_t piece(unsigned count) const {
    return base + kPieceRows + count % kPieces * (2 * kPieceBytes);
  }

  __device__ std::uint32_t keys_full(unsigned block) const {
    return base + kBarriers + block % kKeyBuffers * 8;
  }
  __device__ std::uint32_t keys_taken(unsigned block) const { return keys_full(block) + kKeyBuffers * 8; }
  __device__ std::uint32_t keys_empty(unsigned block) const { return keys_full(block) + kKeyBuffers * 16; }
  __device__ std::uint32_t rows_full(unsigned chunk) const {
    return base + kBarriers + kKeyBuffers * 24 + chunk % kStages * 8;
  }
  __device__ std::uint32_t rows_empty(unsigned chunk) const { return rows_full(chunk) + kStages * 8; }
  __device__ std::uint32_t ds_full(unsigned chunk) const {
    return base + kBarriers + kKeyBuffers * 24 + kStages * 16 + chunk % kSlots * 8;
  }
  __device__ std::uint32_t ds_empty(unsigned chunk) const { return ds_full(chunk) + kSlots * 8; }
  __device__ std::uint32_t dq_full(unsigned chunk) const { return ds_full(chunk) + kSlots * 16; }
  __device__ std::uint32_t dq_empty(unsigned chunk) const { return ds_full(chunk) + kSlots * 24; }
  __device__ std::uint32_t dq_before(unsigned chunk) const { return ds_full(chunk) + kSlots * 32; }
  __device__ std::uint32_t round_begun() const {
    return base + kBarriers + kKeyBuffers * 24 + kStages * 16 + kSlots * 40;
  }
  __device__ std::uint32_t piece_full(unsigned count) const {
    return round_begun() + 8 + count % kPieces * 8;
  }
};

/// Which sum of dQ a chunk is a part of, and how many parts come before it.
struct DqueriesPart {
  float* sum;
  unsigned* added;  // counts parts, through all rounds that use the place
  unsigned begin;   // of this sum
  int before;
  bool first;
  bool last;

  __device__ DqueriesPart(const BackwardProblem& p, const BackwardCursor& at, unsigned of_tile)
      : before(at.parts_before(p)), first(before == 0), last(before == at.query_block) {
    // Both parities of a group's place are used in turn, each by as many parts as the query block has.
    const std::int64_t place =
        ((static_cast<std::int64_t>(at.round & 1) * p.groups + static_cast<int>(blockIdx.x) / p.units) *
             p.problem.blocks +
         at.query_block) *
            kChunksPerTile +
        of_tile;
    sum = p.scratch.sums + place * kChunkFloats;
    added = p.scratch.parts + place;
    begin = static_cast<unsigned>((at.round >> 1) * (at.query_block + 1));
  }
  /// Whether it may be added when so many have been.
  __device__ bool may_follow(unsigned count, bool in_turn) const {
    const auto done = static_cast<int>(count - begin);
    return first || last || in_turn ? done == before : done > 0;
  }
};

}  // namespace ridgeline::gpt2::hopper
