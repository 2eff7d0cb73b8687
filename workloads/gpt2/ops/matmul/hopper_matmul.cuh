// hopper_matmul.cuh: the kernel behind hopper_matmul.h and what launches one configuration of it.
//
// D (rows x columns) = A (rows x K) B (K x columns), then an elementwise epilogue, by persistent blocks of
// twelve warps:
//   producer   one thread of warp 0 copies the tiles of A and B into a ring of stages (TMA, swizzled), with the first
//              of a tile its bias
//   consumers  warpgroups 1 and 2, 64 of the tile's 128 rows each: wgmma from the ring into registers. A tile's
//              epilogue runs under the next tile's products: each of the next tile's first twelve stages has a
//              twelfth of it, half after the issue of its first two products and half after the others, so that
//              the tensor cores have work in their queue while the same warps compute. So a thread holds two tiles,
//              and a tile has 192 columns, not 256. A warp stages its 16 rows and has the copy engine store them,
//              with no other warp to wait for
//   slopes     warps 1 to 3 in the backward product: fetch the slopes that an epilogue will want (TMA), and add up
//              the columns of what it staged, 64 columns at a time. Slopes are bytes (gelu_slope.h), in the order in
//              which a thread has the columns
// Loads and stores of the epilogue by ordinary instructions would each wait behind what the tensor cores read
// from shared memory; the copy engine's do not keep a warp waiting.
//
// Two blocks form a cluster: tiles one below the other share B, of which each copies half to both. That
// halves the traffic of B from the L2 cache, which one block alone would saturate.
//
// Barriers, all in shared memory, phases counted from 0:
//   full[s]         stage s holds its tiles: 1 arrival and the bytes of the copies
//   empty[s]        stage s may be overwritten in every block of the cluster: 8 warps of each block
//   slopes_full[c]  slopes of the tile's 64-column chunk c are there: 1 arrival and their bytes
//   staged[c]       they have been used, and the results staged: 256 threads
//   summed[c]       and their columns added up: 3 warps
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/gelu_math.cuh"
#include "gpt2/ops/hopper/hopper_ptx.cuh"
#include "gpt2/ops/hopper/tensor_map.h"

namespace ridgeline::gpt2::hopper {

enum class Gemm {
  forward,        // GELU(D) is stored, and GELU'(D), where D = A B^T + bias. B is (columns, K)
  backward_input  // A B times the stored GELU'(D), and its column sums. B is (K, columns)
};
constexpr bool is_forward(Gemm gemm) {
  return gemm == Gemm::forward;
}

constexpr int kTileRows = 128;
constexpr int kTileColumns = 192;
constexpr int kBlockK = 64;  // depth of a stage: 128 bytes
constexpr int kWarpgroup = 128;
constexpr int kThreads = 3 * kWarpgroup;
constexpr int kSwizzledColumns = 64;  // of B in rows along K: 128 bytes
constexpr int kConsumerWarps = 8;
constexpr int kWarpRows = kTileRows / kConsumerWarps;
constexpr int kChunkColumns = 64;  // of the epilogue: 128 bytes
constexpr int kChunks = kTileColumns / kChunkColumns;
static_assert(kBlockK == kBoxColumns && kSwizzledColumns == kBoxColumns && kChunkColumns == kBoxColumns);
constexpr int kPartColumns = 16;  // of the epilogue between the products of two stages
constexpr int kPartsOfChunk = kChunkColumns / kPartColumns;
constexpr int kParts = kChunks * kPartsOfChunk;
constexpr int kHalfGemms = kBlockK / 16 / 2;  // of a stage, issued together
constexpr int kWarpChunkBytes = kWarpRows * kChunkColumns * 2;
constexpr int kChunkBytes = kTileRows * kChunkColumns * 2;
constexpr int kWarpSlopeBytes = kWarpRows * kChunkColumns;
constexpr int kSlopeBytes = kTileRows * kChunkColumns;  // of a chunk
constexpr int kResultPlaces = 2;                        // backward: for staged chunks, in turn
constexpr int kSlopeWarps = 3;
constexpr int kSumRows =
    4 * kSlopeWarps;  // partial sums of a column in a chunk: a warp reads four rows at once
/// Of a thread. Two tiles need more than the 168 that three warpgroups get each; the first one gives some.
constexpr int kConsumerRegisters = 224;
constexpr int kOtherRegisters = 56;

/// Cluster: blocks that share B, 1 or 2.
template <Gemm kGemm, int Cluster>
struct Config {
  static constexpr int kCluster = Cluster;
  static constexpr int kStages = 4;
  static_assert(Cluster == 1 || Cluster == 2);

  /// Byte offsets in shared memory. Stages and staged chunks begin at multiples of 1024, as the swizzle
  /// patterns do.
  static constexpr int kABytes = kTileRows * kBlockK * 2;
  static constexpr int kBBytes = kTileColumns * kBlockK * 2;
  static constexpr int kStageBytes = kABytes + kBBytes;
  /// Forward [consumer warp][out, slope], used again for each chunk; backward [place][consumer warp].
  static constexpr int kStaging = kStages * kStageBytes;
  static constexpr int kWarpStagingBytes =
      is_forward(kGemm) ? kWarpChunkBytes + kWarpSlopeBytes : kWarpChunkBytes;
  static constexpr int kStagingBytes =
      is_forward(kGemm) ? kConsumerWarps * kWarpStagingBytes : kResultPlaces * kChunkBytes;
  /// Backward [chunk][consumer warp].
  static constexpr int kSlopes = kStaging + kStagingBytes;
  static constexpr int kSlopesBytes = is_forward(kGemm) ? 0 : kChunks * kSlopeBytes;
  /// [chunk parity][kSumRows][columns of a chunk] float: the next chunk's are written while a slow warp still reads.
  static constexpr int kSums = kSlopes + kSlopesBytes;
  static constexpr int kSumTableBytes = kSumRows * kChunkColumns * 4;
  static constexpr int kSumBytes = is_forward(kGemm) ? 0 : 2 * kSumTableBytes;
  /// [tile parity][columns] bfloat16: the next tile's comes with its first stage.
  static constexpr int kBias = kSums + kSumBytes;
  static constexpr int kTileBiasBytes = kTileColumns * 2;
  static constexpr int kBiasBytes = is_forward(kGemm) ? 2 * kTileBiasBytes : 0;
  static constexpr int kBarriers = kBias + kBiasBytes;
  static constexpr int kSharedBytes = kBarriers + (2 * kStages + 3 * kChunks) * 8;
  static constexpr int kAllocatedBytes = kSharedBytes + 1024;  // the allocation may begin anywhere
  static_assert(kStageBytes % 1024 == 0);
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");
};

/// As the copy engine sees the matrices; out and slope (written forward, read backward) are (rows, columns).
struct Maps {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap out;
  CUtensorMap slope;
};

struct Arguments {
  const bf16* bias = nullptr;    // (columns), forward
  float* column_sums = nullptr;  // (tiles of rows, columns), backward; null: not wanted
  std::int64_t rows = 0;
  int columns = 0;
  int k_blocks = 0;  // kParts at least: after K come zeros
  int column_tiles = 0;
  int units = 0;  // tiles of the cluster: kCluster x 1 tiles each
};

struct Tile {
  int row;
  int column;
};

/// Neighbouring clusters take the tiles of one band of rows: A is read from device memory once, and all of B
/// stays in the L2 cache.
template <class C>
__device__ inline Tile tile_of(int unit, const Arguments& args, int rank) {
  const int band = unit / args.column_tiles;
  return {(band * C::kCluster + rank) * kTileRows, (unit - band * args.column_tiles) * kTileColumns};
}

/// Where in the ring a warp is.
template <class C>
struct RingPosition {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == C::kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

template <class C>
struct Barriers {
  std::uint32_t base;
  __device__ std::uint32_t full(int stage) const { return base + 8 * stage; }
  __device__ std::uint32_t empty(int stage) const { return base + 8 * (C::kStages + stage); }
  __device__ std::uint32_t slopes_full(int chunk) const { return base + 8 * (2 * C::kStages + chunk); }
  __device__ std::uint32_t staged(int chunk) const { return slopes_full(chunk) + 8 * kChunks; }
  __device__ std::uint32_t summed(int chunk) const { return slopes_full(chunk) + 16 * kChunks; }
};

template <Gemm kGemm, class C>
__device__ inline void produce(const Maps& maps, const Arguments& args, std::uint32_t shared,
                               const Barriers<C>& barriers, int rank) {
  constexpr std::uint16_t kEveryBlock = (1U << C::kCluster) - 1U;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const std::uint64_t read_once = evict_first_policy();
  const auto load_b = [&](std::uint32_t destination, std::uint32_t barrier, int x, int y) {
    if constexpr (C::kCluster == 1) {
      tma_load(destination, &maps.b, barrier, x, y);
    } else {
      tma_load_multicast(destination, &maps.b, barrier, x, y, kEveryBlock);
    }
  };
  RingPosition<C> at;
  std::uint32_t parity = 0;  // of the tile
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    for (int block = 0; block < args.k_blocks; ++block) {
      const std::uint32_t a = shared + at.stage * C::kStageBytes;
      const std::uint32_t b = a + C::kABytes;
      const std::uint32_t full = barriers.full(at.stage);
      const int k = block * kBlockK;
      barrier_wait(barriers.empty(at.stage), at.parity ^ 1U);
      if (is_forward(kGemm) && block == 0) {
        const auto bias_bytes = static_cast<std::uint32_t>(min(kTileColumns, args.columns - tile.column)) * 2;
        barrier_arrive_expect(full, C::kStageBytes + bias_bytes);
        bulk_load(shared + C::kBias + parity * C::kTileBiasBytes, args.bias + tile.column, bias_bytes, full);
      } else {
        barrier_arrive_expect(full, C::kStageBytes);
      }
      tma_load(a, &maps.a, full, k, tile.row);
      if constexpr (is_forward(kGemm)) {
        constexpr int kRows = kTileColumns / C::kCluster;
        load_b(b + rank * kRows * kBlockK * 2, full, k, tile.column + rank * kRows);
      } else {
        constexpr int kRows = kBlockK / C::kCluster;
#pragma unroll
        for (int j = 0; j < kTileColumns / kSwizzledColumns; ++j) {
          load_b(b + (j * kBlockK + rank * kRows) * kSwizzledColumns * 2, full,
                 tile.column + j * kSwizzledColumns, k + rank * kRows);
        }
      }
      at.advance();
    }
    parity ^= 1U;
  }
}

/// A thread's two columns of each of the tile's 8-column blocks.
struct BiasWords {
  std::uint32_t words[kTileColumns / 8];
};
/// `tile_bias` is the bias of the tile, of which columns beyond the matrix were not copied.
__device__ inline BiasWords load_bias(std::uint32_t tile_bias, int columns_left, int lane) {
  BiasWords bias;
#pragma unroll
  for (int j = 0; j < kTileColumns / 8; ++j) {
    const int c = 8 * j + lane % 4 * 2;
    const std::uint32_t word = load_shared(tile_bias + static_cast<std::uint32_t>(c) * 2);
    bias.words[j] = c < columns_left ? word : 0U;
  }
  return bias;
}

/// What the epilogue of a consumer's warp needs to know of its tile.
struct FinishedTile {
  Tile tile;             // its first row and column
  std::uint32_t parity;  // of the slopes' barriers
};

/// What a thread has of 16 columns of a warp's 16 rows, packed. A word of slopes has four columns of a row: the words
/// are of the first row and of the row 8 below, and the same of the next 16 columns.
struct PartWords {
  std::uint32_t out[4];
  std::uint32_t slope[4];
};

/// One half of them, 8 columns: GELU and its slope.
__device__ inline void form_words(PartWords& words, const Accumulators& d, int part, int half) {
#pragma unroll
  for (int word = 2 * half; word < 2 * half + 2; ++word) {
    const float x = d[8 * part + 2 * word];
    const float y = d[8 * part + 2 * word + 1];
    const GeluPoint at_x = gelu_point<bf16>(x);
    const GeluPoint at_y = gelu_point<bf16>(y);
    words.out[word] = pack_bf16(at_x.value, at_y.value);
    std::uint32_t& of_row = words.slope[part % 2 * 2 + word % 2];
    const std::uint32_t two = gelu_slope_bytes(at_x.slope, at_y.slope);
    of_row = half == 0 ? two : join_gelu_slopes(of_row, two);
  }
}

/// Stages them; after a chunk's last part the copy engine stores it.
__device__ inline void store_words(const Maps& maps, const PartWords& words, int part, const FinishedTile& of,
                                   std::uint32_t warp_staging, int warp, int lane, std::uint64_t read_later) {
  const int of_chunk = part % kPartsOfChunk;
  const std::uint32_t address = matrix_address(warp_staging, lane) ^ (of_chunk * 32);
  if (of_chunk == 0) {
    if (lane == 0) bulk_wait_read();  // the chunk before is out of the staging area
    __syncwarp();
  }
  store_matrix_x4(address, words.out[0], words.out[1], words.out[2], words.out[3]);
  if (of_chunk % 2 == 1) {
    store_matrix_x4(byte_matrix_address(warp_staging + kWarpChunkBytes, lane) ^ (of_chunk / 2 * 32),
                    words.slope[0], words.slope[1], words.slope[2], words.slope[3]);
  }
  if (of_chunk == kPartsOfChunk - 1) {
    fence_for_copies();
    __syncwarp();
    if (lane == 0) {
      const int column = of.tile.column + part / kPartsOfChunk * kChunkColumns;
      const int row = of.tile.row + warp * kWarpRows;
      tma_store(&maps.out, warp_staging, column, row);
      tma_store(&maps.slope, warp_staging + kWarpChunkBytes, column, row, read_later);
      bulk_commit();
    }
  }
}

/// Which place a tile's chunk is staged in. A tile has an odd number of chunks.
__device__ inline std::uint32_t result_place(std::uint32_t tile_parity, int chunk) {
  static_assert(kResultPlaces == 2 && kChunks % 2 == 1);
  return ((tile_parity ^ static_cast<std::uint32_t>(chunk)) & 1U) * kChunkBytes;
}

/// Slopes of a thread's columns of two parts, as PartWords has them.
using SlopeWords = std::uint32_t[4];

/// The same columns times their slopes, staged and stored.
template <class C>
__device__ inline void finish_backward(const Maps& maps, const Barriers<C>& barriers, const Accumulators& d,
                                       SlopeWords& slopes, int part, const FinishedTile& of,
                                       std::uint32_t shared, int warp, int lane) {
  const int chunk = part / kPartsOfChunk;
  const int of_chunk = part % kPartsOfChunk;
  const std::uint32_t staging =
      shared + C::kStaging + result_place(of.parity, chunk) + warp * kWarpChunkBytes;
  if (of_chunk == 0) {
    // The chunk before the last has been stored from this place, and its columns added up.
    if (lane == 0) bulk_wait_read_but_one();
    __syncwarp();
    if (chunk + 1 < kChunks) {
      barrier_wait(barriers.summed(chunk + 1), of.parity ^ 1U);  // of the tile before
    } else {
      barrier_wait(barriers.summed(0), of.parity);
    }
    barrier_wait(barriers.slopes_full(chunk), of.parity);
  }
  if (of_chunk % 2 == 0) {
    const std::uint32_t rows = shared + C::kSlopes + chunk * kSlopeBytes + warp * kWarpSlopeBytes;
    load_matrix_x4(byte_matrix_address(rows, lane) ^ (of_chunk / 2 * 32), slopes[0], slopes[1], slopes[2],
                   slopes[3]);
  }
  std::uint32_t words[4];
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const std::uint32_t of_row = slopes[part % 2 * 2 + word % 2];
    const unsigned byte = word / 2 * 2;
    words[word] = pack_bf16(d[8 * part + 2 * word] * gelu_slope_of_byte(of_row, byte),
                            d[8 * part + 2 * word + 1] * gelu_slope_of_byte(of_row, byte + 1));
  }
  store_matrix_x4(matrix_address(staging, lane) ^ (of_chunk * 32), words[0], words[1], words[2], words[3]);
  if (of_chunk == kPartsOfChunk - 1) {
    fence_for_copies();
    __syncwarp();
    if (lane == 0) {
      tma_store(&maps.out, staging, of.tile.column + chunk * kChunkColumns, of.tile.row + warp * kWarpRows);
      bulk_commit();
    }
    barrier_arrive(barriers.staged(chunk));
  }
}

template <Gemm kGemm, class C>
__device__ inline void consume(const Maps& maps, const Arguments& args, std::uint32_t shared,
                               const Barriers<C>& barriers, int rank, int consumer) {
  constexpr bool kRowsAlongK = !is_forward(kGemm);
  constexpr std::uint64_t kDescriptorA = matrix_descriptor(16, 8 * kBlockK * 2);
  constexpr std::uint64_t kDescriptorB = kRowsAlongK ? matrix_descriptor(kSwizzledColumns * kBlockK * 2, 1024)
                                                     : matrix_descriptor(16, 8 * kBlockK * 2);
  // 16 deeper, in the descriptor's units of 16 bytes: within a swizzled row, or 16 rows on.
  constexpr int kStepA = 16 * 2 / 16;
  constexpr int kStepB = kRowsAlongK ? 16 * kSwizzledColumns * 2 / 16 : kStepA;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = 4 * consumer + static_cast<int>(threadIdx.x) % kWarpgroup / 32;  // of the consumers
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const std::uint32_t warp_staging = shared + C::kStaging + warp * C::kWarpStagingBytes;
  const std::uint64_t read_later = evict_first_policy();

  const auto release = [&](int stage) {
    if constexpr (C::kCluster == 1) {
      if (lane == 0) barrier_arrive(barriers.empty(stage));
    } else {
      if (lane < C::kCluster) barrier_arrive_cluster(barriers.empty(stage), static_cast<std::uint32_t>(lane));
    }
  };

  Accumulators d;         // of the tile that is multiplied
  Accumulators finished;  // of the one before it, with its bias
  FinishedTile of{{}, 1U};
  RingPosition<C> at;
  int previous = 0;
  const std::uint32_t own_rows = uniform(shared + consumer * (C::kABytes / 2));
  // The products of the next stage, and `behind(half)` behind the issue of each half of them.
  const auto multiply = [&](bool first_of_tile, const auto& behind) {
    const std::uint32_t offset = at.stage * C::kStageBytes;
    const std::uint64_t a = descriptor_at(kDescriptorA, own_rows + offset);
    const std::uint64_t b = descriptor_at(kDescriptorB, shared + offset + C::kABytes);
    barrier_wait(barriers.full(at.stage), at.parity);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      wgmma_fence();
#pragma unroll
      for (int k = half * kHalfGemms; k < (half + 1) * kHalfGemms; ++k) {
        wgmma_64x192x16<kRowsAlongK ? 1 : 0>(d, a + k * kStepA, b + k * kStepB, first_of_tile ? k : 1);
      }
      wgmma_commit();
      behind(half);
    }
    wgmma_wait<2>();  // the stage before this one is no longer read
    if (!first_of_tile) release(previous);
    previous = at.stage;
    at.advance();
  };
  PartWords words{};
  SlopeWords slopes{};
  const auto finish = [&](int part, int half) {
    if constexpr (is_forward(kGemm)) {
      form_words(words, finished, part, half);
      if (half == 1) store_words(maps, words, part, of, warp_staging, warp, lane, read_later);
    } else {
      if (half == 1) finish_backward<C>(maps, barriers, finished, slopes, part, of, shared, warp, lane);
    }
  };

  // Of the tile whose products have all been issued: from here on its epilogue may run.
  const auto complete = [&](int unit) {
    of = {tile_of<C>(unit, args, rank), of.parity ^ 1U};
    BiasWords bias;
    if constexpr (is_forward(kGemm)) {
      bias =
          load_bias(shared + C::kBias + of.parity * C::kTileBiasBytes, args.columns - of.tile.column, lane);
    }
    wgmma_wait<0>();
    release(previous);
    pin(d);
#pragma unroll
    for (int i = 0; i < kTileColumns / 2; ++i) {
      finished[i] = d[i];
      if constexpr (is_forward(kGemm)) {
        const std::uint32_t word = bias.words[i / 4];
        finished[i] += __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000U);
      }
    }
    pin(finished);
  };

  // A branch around a part of the epilogue keeps it where it stands: the compiler would rather issue products later.
  bool finishing = false;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      multiply(part == 0, [&](int half) {
        if (finishing) finish(part, half);
      });
    }
    for (int block = kParts; block < args.k_blocks; ++block) multiply(false, [](int) {});
    complete(unit);
    finishing = true;
  }
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    for (int half = 0; half < 2; ++half) finish(part, half);
  }
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

/// The slopes' way in, and the column sums of the staged chunks: of stored values, as a kernel that reads them back
/// would form them. A warp reads four rows at once, and takes every third four. Rows and columns beyond the matrix
/// are zeros: so were A and the slopes.
template <class C>
__device__ inline void attend_slopes(const Maps& maps, const Arguments& args, std::uint32_t shared,
                                     const Barriers<C>& barriers, int rank, int warp) {
  constexpr int kWidth = kPackedSize<bf16>;
  constexpr int kPieces = kChunkColumns / kWidth;  // of a staged row
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const int piece = lane % kPieces;
  const int first_row = 4 * warp + lane / kPieces;
  // No policy: a line of 128 bytes holds two chunks' slopes, and asked to go first it has left L2 when the second
  // chunk is fetched.
  const auto load = [&](const Tile& tile, int chunk) {
    barrier_arrive_expect(barriers.slopes_full(chunk), kSlopeBytes);
    tma_load(shared + C::kSlopes + chunk * kSlopeBytes, &maps.slope, barriers.slopes_full(chunk),
             tile.column + chunk * kChunkColumns, tile.row);
  };
  int unit = static_cast<int>(blockIdx.x) / C::kCluster;
  Tile tile = tile_of<C>(unit, args, rank);
  if (warp == 0 && lane == 0) {
    for (int chunk = 0; chunk < kChunks; ++chunk) load(tile, chunk);
  }
  std::uint32_t parity = 0;
  std::uint32_t table_parity = 0;
  for (; unit < args.units; unit += clusters) {
    const Tile next = tile_of<C>(unit + clusters, args, rank);
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      barrier_wait(barriers.staged(chunk), parity);
      if (warp == 0 && lane == 0 && unit + clusters < args.units) load(next, chunk);
      if (args.column_sums != nullptr) {
        const std::uint32_t rows = shared + C::kStaging + result_place(parity, chunk);
        float sums[kWidth] = {};
        for (int row = first_row; row < kTileRows; row += kSumRows) {
          float values[kWidth];
          unpack(Packed<bf16>{load_shared_128(rows + row * (kChunkColumns * 2) + ((piece ^ (row & 7)) << 4))},
                 values);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) sums[j] += values[j];
        }
        const std::uint32_t table = shared + C::kSums + table_parity * C::kSumTableBytes;
        table_parity ^= 1U;
        const std::uint32_t mine = table + (first_row * kChunkColumns + piece * kWidth) * 4;
        store_shared_128(mine, sums[0], sums[1], sums[2], sums[3]);
        store_shared_128(mine + 16, sums[4], sums[5], sums[6], sums[7]);
        named_barrier_sync(3, 32 * kSlopeWarps);
        const int pair = 32 * warp + lane;
        const int column = tile.column + chunk * kChunkColumns + 2 * pair;
        if (pair < kChunkColumns / 2) {
          float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
          for (int row = 0; row < kSumRows; ++row) {
            const float2 of_row = load_shared_float2(table + (row * kChunkColumns + 2 * pair) * 4);
            total.x += of_row.x;
            total.y += of_row.y;
          }
          if (tile.row < args.rows && column < args.columns) {
            *reinterpret_cast<float2*>(
                args.column_sums + static_cast<std::int64_t>(tile.row / kTileRows) * args.columns + column) =
                total;
          }
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(barriers.summed(chunk));
    }
    tile = next;
    parity ^= 1U;
  }
}

template <Gemm kGemm, class C>
__global__ void __cluster_dims__(C::kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    hopper_matmul_kernel(const __grid_constant__ Maps maps, const Arguments args) {
  extern __shared__ unsigned char allocation[];
  const std::uint32_t shared = (shared_address(allocation) + 1023U) & ~1023U;
  const Barriers<C> barriers{shared + C::kBarriers};
  const int rank = C::kCluster == 1 ? 0 : static_cast<int>(cluster_rank());

  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&maps.a, &maps.b, &maps.out, &maps.slope}) tma_prefetch_map(map);
    for (int stage = 0; stage < C::kStages; ++stage) {
      barrier_init(barriers.full(stage), 1);
      barrier_init(barriers.empty(stage), kConsumerWarps * C::kCluster);
    }
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      barrier_init(barriers.slopes_full(chunk), 1);
      barrier_init(barriers.staged(chunk), 2 * kWarpgroup);
      barrier_init(barriers.summed(chunk), kSlopeWarps);
    }
    fence_barrier_init();
  }
  // No copy into, and no arrival at, a block whose barriers are not ready.
  if constexpr (C::kCluster == 1) {
    __syncthreads();
  } else {
    cluster_sync();
  }

  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    release_registers<kOtherRegisters>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x == 0) produce<kGemm, C>(maps, args, shared, barriers, rank);
    if constexpr (!is_forward(kGemm)) {
      if (warp > 0) attend_slopes<C>(maps, args, shared, barriers, rank, warp - 1);
    }
  } else {
    take_registers<kConsumerRegisters>();
    consume<kGemm, C>(maps, args, shared, barriers, rank, warpgroup - 1);
  }

  // The other block of the cluster still arrives at barriers of this one.
  __syncwarp();
  if constexpr (C::kCluster > 1) cluster_sync();
}

/// a (rows, k); b (columns, k) forward, (k, columns) backward; out, slope (rows, columns).
template <Gemm kGemm, class C>
void launch_gemm(bf16* out, std::uint8_t* slope, const bf16* a, const bf16* b, Arguments args, int k,
                 cudaStream_t stream) {
  Maps maps;
  maps.a = tensor_map(a, args.rows, k, kTileRows);
  maps.b = is_forward(kGemm) ? tensor_map(b, args.columns, k, kTileColumns / C::kCluster)
                             : tensor_map(b, k, args.columns, kBlockK / C::kCluster);
  maps.out = tensor_map(out, args.rows, args.columns, kWarpRows);
  maps.slope = tensor_map(slope, args.rows, args.columns, is_forward(kGemm) ? kWarpRows : kTileRows);
  args.k_blocks = std::max(kParts, static_cast<int>(ceil_div(k, kBlockK)));
  args.column_tiles = static_cast<int>(ceil_div(args.columns, kTileColumns));
  args.units = static_cast<int>(ceil_div(args.rows, kTileRows * C::kCluster)) * args.column_tiles;
  const auto kernel = hopper_matmul_kernel<kGemm, C>;
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kAllocatedBytes));
  const int clusters = std::min(args.units, std::max(1, multiprocessor_count() / C::kCluster));
  kernel<<<static_cast<unsigned>(clusters * C::kCluster), kThreads, C::kAllocatedBytes, stream>>>(maps, args);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2::hopper
