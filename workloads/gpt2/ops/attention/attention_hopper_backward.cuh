// attention_hopper_backward.cuh: what the warps of the backward kernel share: the problem, shared memory, and the
// order of chunks. For attention_hopper_backward*.cu alone and what they are made of.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper.cuh"

namespace ridgeline::gpt2::hopper {

constexpr int kChunk = kTile / kChunksPerTile;  // queries
constexpr int kStatisticsFloats = 3 * kChunk;   // of a chunk
constexpr int kStatisticsBytes = kStatisticsFloats * 4;
constexpr int kSlotFloats = kChunk * kPanel;  // of dQ, what the reducer leaves at a time

/// Of the multiprocessor's 65,536 registers 512 threads start with 128 each; the four warpgroups share as many.
constexpr int kBackwardThreads = (2 + kConsumers) * kWarpgroup;
constexpr int kConsumerRegistersBackward = 192;
constexpr int kReducerRegisters = 96;
constexpr int kHelperRegisters = 32;

struct BackwardMaps {
  CUtensorMap queries;      // of qkv, 64 positions
  CUtensorMap dout;         // 64 positions
  CUtensorMap keys;         // of qkv, 128 positions; values too
  CUtensorMap dqueries;     // of dqkv, 64 positions
  CUtensorMap dkeys;        // of dqkv, 16 positions; dV too
  CUtensorMap fp8_rows;     // of dqkv in E5M2, 64 positions
  CUtensorMap fp8_columns;  // the same transposed, 64 columns of a head
  CUtensorMap dout_rows;    // as many positions as a piece has rows
  CUtensorMap out_rows;
};

/// Places in shared memory. Chunks and blocks of keys are counted from 0, and take the places of a ring in turn.
struct BackwardLayout : BackwardRings {
  static constexpr int kPiece = 32;  // rows whose statistics are formed together
  static constexpr unsigned kPieces = 3;
  static constexpr unsigned kTileBytes = kPanelBytes;  // keys or values
  static constexpr unsigned kChunkBytes = kChunk * kPanel * 2;
  static constexpr unsigned kSlotBytes = kSlotFloats * 4;
  static constexpr unsigned kWarpBytes = 16 * kPanel * 2;
  static constexpr unsigned kPieceBytes = kPiece * kPanel * 2;
  static constexpr unsigned kBlockPlaces = 2;  // of which_keys: asked for when the next block's may be known
  static constexpr unsigned kKeys = 0;         // [buffer][keys, values]
  static constexpr unsigned kQueries = kKeys + kKeyBuffers * 2 * kTileBytes;
  static constexpr unsigned kDout = kQueries + kStages * kChunkBytes;
  static constexpr unsigned kDs = kDout + kStages * kChunkBytes;
  static constexpr unsigned kDqueries = kDs + kSlots * kPanelBytes;
  static constexpr unsigned kPieceRows = kDqueries + kDqSlots * kSlotBytes;  // [piece][dout, out]
  static constexpr unsigned kStatistics = kPieceRows + kPieces * 2 * kPieceBytes;
  static constexpr unsigned kBlocks = kStatistics + kStages * kStatisticsBytes;
  static constexpr unsigned kFlagWords = kBlocks + kBlockPlaces * 16;
  static constexpr unsigned kBarriers = kFlagWords + kFlags * 4;
  static constexpr unsigned kDsFull = kBarriers + kKeyBuffers * 24 + kStages * 16;
  static constexpr unsigned kDqFull = kDsFull + kSlots * 16;
  static constexpr unsigned kRoundBegun = kDqFull + kDqSlots * 24;
  static constexpr unsigned kPieceFull = kRoundBegun + 8;
  static constexpr unsigned kAllocatedBytes = kPieceFull + kPieces * 8;  // from a multiple of 1024 on
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");

  std::uint32_t base;  // multiple of 1024
  __device__ std::uint32_t keys(unsigned block) const {
    return base + kKeys + block % kKeyBuffers * (2 * kTileBytes);
  }
  __device__ std::uint32_t values(unsigned block) const { return keys(block) + kTileBytes; }
  __device__ std::uint32_t which_keys(unsigned block) const {
    return base + kBlocks + block % kBlockPlaces * 16;
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
  __device__ std::uint32_t dqueries(unsigned slot) const {
    return base + kDqueries + slot % kDqSlots * kSlotBytes;
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
  __device__ std::uint32_t ds_full(unsigned chunk) const { return base + kDsFull + chunk % kSlots * 8; }
  __device__ std::uint32_t ds_empty(unsigned chunk) const { return ds_full(chunk) + kSlots * 8; }
  __device__ std::uint32_t dq_full(unsigned slot) const { return base + kDqFull + slot % kDqSlots * 8; }
  __device__ std::uint32_t dq_empty(unsigned slot) const { return dq_full(slot) + kDqSlots * 8; }
  __device__ std::uint32_t dq_before(unsigned slot) const { return dq_full(slot) + kDqSlots * 16; }
  __device__ std::uint32_t round_begun() const { return base + kRoundBegun; }
  __device__ std::uint32_t piece_full(unsigned count) const {
    return base + kPieceFull + count % kPieces * 8;
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
    // Every round uses a group's place, for as many parts as the query block has.
    const std::int64_t place =
        (static_cast<std::int64_t>(static_cast<int>(blockIdx.x) / p.units) * p.problem.blocks +
         at.query_block) *
            kChunksPerTile +
        of_tile;
    sum = p.scratch.sums + place * (kChunk * kHeadSize);
    added = p.scratch.parts + place;
    begin = static_cast<unsigned>(at.round * (at.query_block + 1));
  }
  /// Whether it may be added when so many have been.
  __device__ bool may_follow(unsigned count, bool in_turn) const {
    const auto done = static_cast<int>(count - begin);
    return first || last || in_turn ? done == before : done > 0;
  }
};

}  // namespace ridgeline::gpt2::hopper
