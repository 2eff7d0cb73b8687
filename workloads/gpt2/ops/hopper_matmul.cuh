// hopper_matmul.cuh: the kernel behind hopper_matmul.h and what launches one configuration of it.
//
// D (rows x columns) = A (rows x K) B (K x columns), then an elementwise epilogue, by persistent blocks of
// twelve warps with one job each, so that the tensor cores never wait for the epilogue:
//   producer   one thread of warp 0 copies the tiles of A and B into a ring of stages (TMA, swizzled)
//   consumers  warpgroups 1 and 2, 64 of the tile's 128 rows each: wgmma from the ring into registers; when a
//              tile is done they round it to bfloat16 into a staging area, a few hundred cycles, and go on
//              with the next tile. They drift one stage apart, so that one's rounding hides behind the
//              other's products
//   epilogue   warps 1 to 3 take the staged tile through GELU (or its derivative) to device memory, whole
//   rows at a time,
//              while the consumers are at the next tile
// Rounding before the elementwise function is what separate kernels do as well.
//
// Two blocks form a cluster: tiles one below the other share B, of which each copies half to both. That
// halves the traffic from the L2 cache, which one block alone would saturate.
//
// Barriers, all in shared memory, phases counted from 0:
//   full[s]          stage s holds its tiles: 1 arrival and the bytes of the copies
//   empty[s]         stage s may be overwritten in every block of the cluster: 8 warps of each block
//   staging_full[h]  half h of the staged tile is written: 128 threads
//   staging_empty[h] half h has been read: 96 threads
//
// Three warpgroups are what leaves a thread 168 registers, 128 of them accumulators; a fourth would leave
// 128.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/gelu_math.cuh"
#include "gpt2/ops/hopper_ptx.cuh"

namespace ridgeline::gpt2::hopper {

enum class Product {
  gelu_forward,        // D = A B^T + bias is stored, and GELU(D). B is (columns, K)
  gelu_backward_input  // A B times GELU'(stored D), and its column sums. B is (K, columns)
};

constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kWarpgroup = 128;
constexpr int kThreads = 3 * kWarpgroup;
constexpr int kHalfRows = kTileRows / 2;  // of one consumer
constexpr int kSwizzledColumns = 64;      // of B in rows along K: 128 bytes
constexpr int kEpilogueWarps = 3;
constexpr int kEpilogueThreads = 32 * kEpilogueWarps;

// BlockK: depth of a stage, 64 or 32. Cluster: blocks that share B, 1 or 2. Stagger: the second consumer
// starts each tile one stage behind the first.
template <int BlockK, int Stages, int Cluster, bool Stagger>
struct Config {
  static constexpr int kBlockK = BlockK;
  static constexpr int kStages = Stages;
  static constexpr int kCluster = Cluster;
  static constexpr bool kStagger = Stagger;
  static constexpr Swizzle kSwizzle = BlockK == 64 ? Swizzle::bytes_128 : Swizzle::bytes_64;
  static_assert(BlockK == 64 || BlockK == 32);
  static_assert(Cluster == 1 || Cluster == 2);

  // Byte offsets in shared memory. Stages begin at multiples of 1024, as the swizzle patterns do.
  static constexpr int kABytes = kTileRows * kBlockK * 2;
  static constexpr int kBBytes = kTileColumns * kBlockK * 2;
  static constexpr int kStageBytes = kABytes + kBBytes;
  static constexpr int kHalfBytes = kHalfRows * kTileColumns * 2;
  static constexpr int kStaging = kStages * kStageBytes;
  // Two of each: the next tile's is written while a slow warp still reads.
  static constexpr int kBias = kStaging + 2 * kHalfBytes;     // [consumer][tile parity][columns] bfloat16
  static constexpr int kSums = kBias + 4 * kTileColumns * 2;  // [tile parity][warp][columns] float
  static constexpr int kBarriers = kSums + 2 * kEpilogueWarps * kTileColumns * 4;
  static constexpr int kSharedBytes = kBarriers + (2 * kStages + 4) * 8;
  static constexpr int kAllocatedBytes = kSharedBytes + 1024;  // the allocation may begin anywhere
  static_assert(kStageBytes % 1024 == 0);
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");
};

struct Arguments {
  bf16* out = nullptr;           // (rows, columns)
  bf16* pre_gelu = nullptr;      // (rows, columns): written forward, read backward
  const bf16* bias = nullptr;    // (columns), forward
  float* column_sums = nullptr;  // (tiles of rows, columns), backward; null: not wanted
  std::int64_t rows = 0;
  int columns = 0;
  int k_blocks = 0;
  int column_tiles = 0;
  int units = 0;  // tiles of the cluster: kCluster x 1 tiles each
};

struct Tile {
  int row;
  int column;
};

// Neighbouring clusters take the tiles of one band of rows: A is read from device memory once, and all of B
// stays in the L2 cache.
template <class C>
__device__ inline Tile tile_of(int unit, const Arguments& args, int rank) {
  const int band = unit / args.column_tiles;
  return {(band * C::kCluster + rank) * kTileRows, (unit - band * args.column_tiles) * kTileColumns};
}

// Where in the ring a warp is.
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
  __device__ std::uint32_t staging_full(int half) const { return base + 8 * (2 * C::kStages + half); }
  __device__ std::uint32_t staging_empty(int half) const { return base + 8 * (2 * C::kStages + 2 + half); }
};

template <Product kProduct, class C>
__device__ inline void produce(const CUtensorMap& map_a, const CUtensorMap& map_b, const Arguments& args,
                               std::uint32_t shared, const Barriers<C>& barriers, int rank) {
  constexpr std::uint16_t kEveryBlock = (1U << C::kCluster) - 1U;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const auto load_b = [&](std::uint32_t destination, std::uint32_t barrier, int x, int y) {
    if constexpr (C::kCluster == 1) {
      tma_load(destination, &map_b, barrier, x, y);
    } else {
      tma_load_multicast(destination, &map_b, barrier, x, y, kEveryBlock);
    }
  };
  RingPosition<C> at;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    if constexpr (kProduct == Product::gelu_backward_input) {
      // The epilogue reads this tile of pre_gelu after the products, one tile from now.
      const std::uint32_t bytes =
          2U * static_cast<std::uint32_t>(min(kTileColumns, args.columns - tile.column));
      for (int row = tile.row + lane; row < tile.row + kTileRows && row < args.rows; row += 32) {
        prefetch_l2(args.pre_gelu + static_cast<std::int64_t>(row) * args.columns + tile.column, bytes);
      }
    }
    if (lane == 0) {
      for (int block = 0; block < args.k_blocks; ++block) {
        const std::uint32_t a = shared + at.stage * C::kStageBytes;
        const std::uint32_t b = a + C::kABytes;
        const std::uint32_t full = barriers.full(at.stage);
        const int k = block * C::kBlockK;
        barrier_wait(barriers.empty(at.stage), at.parity ^ 1U);
        barrier_arrive_expect(full, C::kStageBytes);
        tma_load(a, &map_a, full, k, tile.row);
        if constexpr (kProduct == Product::gelu_forward) {
          constexpr int kRows = kTileColumns / C::kCluster;
          load_b(b + rank * kRows * C::kBlockK * 2, full, k, tile.column + rank * kRows);
        } else {
          constexpr int kBlocks = kTileColumns / kSwizzledColumns / C::kCluster;
#pragma unroll
          for (int i = 0; i < kBlocks; ++i) {
            const int j = rank * kBlocks + i;
            load_b(b + j * kSwizzledColumns * C::kBlockK * 2, full, tile.column + j * kSwizzledColumns, k);
          }
        }
        at.advance();
      }
    }
    __syncwarp();
  }
}

// Address of row `row` of a staged half; its 16-byte pieces are stored exclusive-or row%8, so that neither
// the columns of 8 rows that stmatrix writes nor the rows that the epilogue reads meet in a bank.
__device__ inline std::uint32_t staged(std::uint32_t half, int row, int piece) {
  return half + row * (kTileColumns * 2) + ((piece ^ (row & 7)) << 4);
}

template <Product kProduct, class C>
__device__ inline void consume(const Arguments& args, std::uint32_t shared, const Barriers<C>& barriers,
                               int rank, int consumer) {
  constexpr bool kRowsAlongK = kProduct == Product::gelu_backward_input;
  constexpr std::uint64_t kDescriptorA = matrix_descriptor(C::kSwizzle, 16, 8 * C::kBlockK * 2);
  constexpr std::uint64_t kDescriptorB =
      kRowsAlongK ? matrix_descriptor(Swizzle::bytes_128, kSwizzledColumns * C::kBlockK * 2, 1024)
                  : matrix_descriptor(C::kSwizzle, 16, 8 * C::kBlockK * 2);
  // 16 deeper, in the descriptor's units of 16 bytes: within a swizzled row, or 16 rows on.
  constexpr int kStepA = 16 * 2 / 16;
  constexpr int kStepB = kRowsAlongK ? 16 * kSwizzledColumns * 2 / 16 : kStepA;

  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const std::uint32_t half = shared + C::kStaging + consumer * C::kHalfBytes;
  // stmatrix: lanes 0..15 address the rows of an 8-column block, lanes 16..31 those of the next.
  const std::uint32_t target = staged(half, 16 * warp + lane % 16, lane / 16);

  const auto release = [&](int stage) {
    if constexpr (C::kCluster == 1) {
      if (lane == 0) barrier_arrive(barriers.empty(stage));
    } else {
      if (lane < C::kCluster) barrier_arrive_cluster(barriers.empty(stage), static_cast<std::uint32_t>(lane));
    }
  };

  Accumulators d;
  RingPosition<C> at;
  std::uint32_t tile_parity = 0;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    std::uint32_t bias_pair = 0;
    if constexpr (kProduct == Product::gelu_forward) {
      const int column = tile.column + 2 * thread;
      if (column < args.columns) bias_pair = __ldg(reinterpret_cast<const unsigned*>(args.bias + column));
    }
    // A consumer that is a whole ring ahead would arrive twice; then tiles are too shallow for it to matter.
    const bool stagger = C::kStagger && args.k_blocks > C::kStages;
    if (stagger && consumer == 1) named_barrier_sync(4, 2 * kWarpgroup);
    int previous = 0;
    for (int block = 0; block < args.k_blocks; ++block) {
      const std::uint32_t stage = shared + at.stage * C::kStageBytes;
      const std::uint64_t a = descriptor_at(kDescriptorA, stage + consumer * (C::kABytes / 2));
      const std::uint64_t b = descriptor_at(kDescriptorB, stage + C::kABytes);
      barrier_wait(barriers.full(at.stage), at.parity);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < C::kBlockK / 16; ++k) {
        wgmma_64x256x16<kRowsAlongK ? 1 : 0>(d, a + k * kStepA, b + k * kStepB, block | k);
      }
      wgmma_commit();
      // The stage before this one is no longer read.
      wgmma_wait<1>();
      if (block > 0) release(previous);
      if (stagger && consumer == 0 && block == 1) named_barrier_arrive(4, 2 * kWarpgroup);
      previous = at.stage;
      at.advance();
    }
    wgmma_wait<0>();
    release(previous);
    pin(d);

    std::uint32_t bias_row = 0;
    if constexpr (kProduct == Product::gelu_forward) {
      // A thread's columns of four neighbouring blocks lie side by side: one 16-byte read.
      const std::uint32_t slot = shared + C::kBias + (2 * consumer + tile_parity) * (kTileColumns * 2);
      const int column_block = thread / 4;
      store_shared_32(slot + (column_block / 4 * 16 + thread % 4 * 4 + column_block % 4) * 4, bias_pair);
      named_barrier_sync(1 + consumer, kWarpgroup);
      bias_row = slot + lane % 4 * 16;
    }
    barrier_wait(barriers.staging_empty(consumer), tile_parity ^ 1U);
    uint4 words = make_uint4(0, 0, 0, 0);
    if constexpr (kProduct == Product::gelu_forward) words = load_shared_128(bias_row);
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      const std::uint32_t bias_words[4] = {words.x, words.y, words.z, words.w};
      // Ahead of its use: a read waits long behind those of the tensor cores.
      if constexpr (kProduct == Product::gelu_forward) {
        if (group < 7) words = load_shared_128(bias_row + (group + 1) * 64);
      }
      std::uint32_t packed[8];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int first = (4 * group + i) * 4;
        float low = 0.0F;
        float high = 0.0F;
        if constexpr (kProduct == Product::gelu_forward) {
          low = __uint_as_float(bias_words[i] << 16);
          high = __uint_as_float(bias_words[i] & 0xffff0000U);
        }
        packed[2 * i] = pack_bf16(d[first] + low, d[first + 1] + high);
        packed[2 * i + 1] = pack_bf16(d[first + 2] + low, d[first + 3] + high);
      }
      // Rows are multiples of 512 bytes, so that 16-byte pieces 2, 4, ... on are an exclusive or away.
      store_matrix_x4(target ^ (group * 64), packed[0], packed[1], packed[2], packed[3]);
      store_matrix_x4(target ^ (group * 64 + 32), packed[4], packed[5], packed[6], packed[7]);
    }
    barrier_arrive(barriers.staging_full(consumer));
    tile_parity ^= 1U;
  }
}

// A warp of the epilogue has a whole row of the tile in its lanes and takes every third row, two at a time:
// with one, it would mostly wait for its own arithmetic. For the same reason a pair is read from the staging
// area while the pair before is computed.
constexpr int kPairRows = 2 * kEpilogueWarps;
constexpr int kPairs = (kTileRows + kPairRows - 1) / kPairRows;
constexpr int kCrossingPair = kHalfRows / kPairRows;  // the first with rows of the second half
static_assert(kHalfRows % kPairRows != 0);            // and the last with rows of the first

struct Pair {
  Packed<bf16> rows[2];
};

// Rows warp + pair*kPairRows and kEpilogueWarps further on; beyond the tile, its last row.
template <class C>
__device__ inline Pair load_pair(std::uint32_t shared, const Barriers<C>& barriers, std::uint32_t tile_parity,
                                 int warp, int lane, int pair) {
  if (pair == 0) barrier_wait(barriers.staging_full(0), tile_parity);
  if (pair == kCrossingPair) barrier_wait(barriers.staging_full(1), tile_parity);
  const int row = warp + pair * kPairRows;
  // The halves are staged one behind the other, so that rows count on.
  return {{{load_shared_128(staged(shared + C::kStaging, min(row, kTileRows - 1), lane))},
           {load_shared_128(staged(shared + C::kStaging, min(row + kEpilogueWarps, kTileRows - 1), lane))}}};
}

// Once this pair has been used.
template <class C>
__device__ inline void release_pair(const Barriers<C>& barriers, int pair) {
  if (pair == kCrossingPair) barrier_arrive(barriers.staging_empty(0));
  if (pair == kPairs - 1) barrier_arrive(barriers.staging_empty(1));
}

// What a lane of the epilogue has of a tile: rows below `rows` of 8 columns from `offset` on.
struct Part {
  std::int64_t offset;
  int rows;
};
__device__ inline Part part_of(const Tile& tile, const Arguments& args, int lane) {
  const int column = tile.column + lane * kPackedSize<bf16>;
  const std::int64_t rows = min(static_cast<std::int64_t>(kTileRows), args.rows - tile.row);
  return {static_cast<std::int64_t>(tile.row) * args.columns + column,
          column < args.columns ? static_cast<int>(rows) : 0};
}

template <class C>
__device__ inline void finish_forward(const Arguments& args, std::uint32_t shared,
                                      const Barriers<C>& barriers, int rank, int warp) {
  constexpr int kWidth = kPackedSize<bf16>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  std::uint32_t tile_parity = 0;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Part part = part_of(tile_of<C>(unit, args, rank), args, lane);
    bf16* const out = args.out + part.offset;
    bf16* const pre_gelu = args.pre_gelu + part.offset;
    Pair next = load_pair(shared, barriers, tile_parity, warp, lane, 0);
#pragma unroll 2
    for (int pair = 0; pair < kPairs; ++pair) {
      const Pair pre = next;
      if (pair + 1 < kPairs) next = load_pair(shared, barriers, tile_parity, warp, lane, pair + 1);
      float values[2][kWidth];
#pragma unroll
      for (int i = 0; i < 2; ++i) unpack(pre.rows[i], values[i]);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) values[i][j] = gelu_value<bf16>(values[i][j]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = warp + pair * kPairRows + i * kEpilogueWarps;
        // Elements within a tile fit 32 bits.
        if (row < part.rows) {
          store128_streaming(pre_gelu + row * args.columns, pre.rows[i]);
          store128(out + row * args.columns, pack<bf16>(values[i]));
        }
      }
      release_pair(barriers, pair);
    }
    tile_parity ^= 1U;
  }
}

template <class C>
__device__ inline void finish_backward(const Arguments& args, std::uint32_t shared,
                                       const Barriers<C>& barriers, int rank, int warp) {
  constexpr int kWidth = kPackedSize<bf16>;
  constexpr int kAhead = 4;  // pairs of pre_gelu under way
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  std::uint32_t tile_parity = 0;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    const Part part = part_of(tile, args, lane);
    bf16* const out = args.out + part.offset;
    const bf16* const pre_gelu = args.pre_gelu + part.offset;
    float sums[kWidth] = {};
    const auto fetch = [&](Pair& pre, int pair) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = warp + pair * kPairRows + i * kEpilogueWarps;
        pre.rows[i].bits = make_uint4(0, 0, 0, 0);
        if (row < part.rows) pre.rows[i] = load128_streaming(pre_gelu + row * args.columns);
      }
    };
    Pair pre[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) fetch(pre[a], a);
    Pair next = load_pair(shared, barriers, tile_parity, warp, lane, 0);
#pragma unroll 1
    for (int pair0 = 0; pair0 < kPairs; pair0 += kAhead) {
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        const int pair = pair0 + a;
        if (pair >= kPairs) break;
        const Pair products = next;
        if (pair + 1 < kPairs) next = load_pair(shared, barriers, tile_parity, warp, lane, pair + 1);
        float values[2][kWidth];
        float arguments[2][kWidth];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          unpack(products.rows[i], values[i]);
          unpack(pre[a].rows[i], arguments[i]);
        }
        fetch(pre[a], pair + kAhead);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
#pragma unroll
          for (int i = 0; i < 2; ++i) values[i][j] *= gelu_slope<bf16>(arguments[i][j]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int row = warp + pair * kPairRows + i * kEpilogueWarps;
          Packed<bf16> result{make_uint4(0, 0, 0, 0)};
          if (row < part.rows) {
            result = pack<bf16>(values[i]);
            store128(out + row * args.columns, result);
          }
          // Of what is stored, as a kernel that reads it back would sum.
          unpack(result, values[i]);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) sums[j] += values[i][j];
        }
        release_pair(barriers, pair);
      }
    }
    if (args.column_sums != nullptr) {
      const std::uint32_t table = shared + C::kSums + tile_parity * (kEpilogueWarps * kTileColumns * 4);
      const std::uint32_t mine = table + (warp * kTileColumns + lane * kWidth) * 4;
      store_shared_128(mine, sums[0], sums[1], sums[2], sums[3]);
      store_shared_128(mine + 16, sums[4], sums[5], sums[6], sums[7]);
      named_barrier_sync(3, kEpilogueThreads);
      for (int pair = 32 * warp + lane; pair < kTileColumns / 2; pair += kEpilogueThreads) {
        float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
        for (int w = 0; w < kEpilogueWarps; ++w) {
          const float2 part = load_shared_float2(table + (w * kTileColumns + 2 * pair) * 4);
          total.x += part.x;
          total.y += part.y;
        }
        const int sum_column = tile.column + 2 * pair;
        if (tile.row < args.rows && sum_column < args.columns) {
          *reinterpret_cast<float2*>(args.column_sums +
                                     static_cast<std::int64_t>(tile.row / kTileRows) * args.columns +
                                     sum_column) = total;
        }
      }
    }
    tile_parity ^= 1U;
  }
}

template <Product kProduct, class C>
__global__ void __cluster_dims__(C::kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    hopper_matmul_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                         const Arguments args) {
  extern __shared__ unsigned char allocation[];
  const std::uint32_t shared = (shared_address(allocation) + 1023U) & ~1023U;
  const Barriers<C> barriers{shared + C::kBarriers};
  const int rank = C::kCluster == 1 ? 0 : static_cast<int>(cluster_rank());

  if (threadIdx.x == 0) {
    tma_prefetch_map(&map_a);
    tma_prefetch_map(&map_b);
    for (int stage = 0; stage < C::kStages; ++stage) {
      barrier_init(barriers.full(stage), 1);
      barrier_init(barriers.empty(stage), 8 * C::kCluster);
    }
    for (int half = 0; half < 2; ++half) {
      barrier_init(barriers.staging_full(half), kWarpgroup);
      barrier_init(barriers.staging_empty(half), kEpilogueThreads);
    }
    fence_barrier_init();
  }
  // No copy into, and no arrival at, a block whose barriers are not ready.
  if constexpr (C::kCluster == 1) {
    __syncthreads();
  } else {
    cluster_sync();
  }

  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    produce<kProduct, C>(map_a, map_b, args, shared, barriers, rank);
  } else if (warp <= kEpilogueWarps) {
    if constexpr (kProduct == Product::gelu_forward) {
      finish_forward<C>(args, shared, barriers, rank, warp - 1);
    } else {
      finish_backward<C>(args, shared, barriers, rank, warp - 1);
    }
  } else {
    consume<kProduct, C>(args, shared, barriers, rank, warp / 4 - 1);
  }

  // The other block of the cluster still arrives at barriers of this one.
  if constexpr (C::kCluster > 1) cluster_sync();
}

// A row-major bfloat16 matrix as the copy engine sees it, in boxes of box_rows x box_columns (128 or 64 bytes
// wide, swizzled to match).
CUtensorMap tensor_map(const bf16* matrix, std::int64_t rows, std::int64_t columns, int box_rows,
                       int box_columns);

// a (rows, k); b (columns, k) forward, (k, columns) backward.
template <Product kProduct, class C>
void launch_product(const bf16* a, const bf16* b, Arguments args, int k, cudaStream_t stream) {
  const CUtensorMap map_a = tensor_map(a, args.rows, k, kTileRows, C::kBlockK);
  const CUtensorMap map_b = kProduct == Product::gelu_forward
                                ? tensor_map(b, args.columns, k, kTileColumns / C::kCluster, C::kBlockK)
                                : tensor_map(b, k, args.columns, C::kBlockK, kSwizzledColumns);
  args.k_blocks = static_cast<int>(ceil_div(k, C::kBlockK));
  args.column_tiles = static_cast<int>(ceil_div(args.columns, kTileColumns));
  args.units = static_cast<int>(ceil_div(args.rows, kTileRows * C::kCluster)) * args.column_tiles;
  const auto kernel = hopper_matmul_kernel<kProduct, C>;
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kAllocatedBytes));
  const int clusters = std::min(args.units, std::max(1, multiprocessor_count() / C::kCluster));
  kernel<<<static_cast<unsigned>(clusters * C::kCluster), kThreads, C::kAllocatedBytes, stream>>>(
      map_a, map_b, args);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2::hopper
