// hopper_matmul.cuh: the kernel behind hopper_matmul.h and what launches one configuration of it.
//
// D (rows x columns) = A (rows x K) B (K x columns), then an elementwise epilogue, by persistent blocks of
// twelve warps:
//   producer   one thread of warp 0 copies the tiles of A and B into a ring of stages (TMA, swizzled); in the
//              backward product the tile of slopes too that the epilogue will want
//   consumers  warpgroups 1 and 2, 64 of the tile's 128 rows each: wgmma from the ring into registers, then
//              the epilogue on the registers, 64 columns at a time. A warp stages its 16 rows and has the
//              copy engine store them, with no other warp to wait for
//   sums       warps 1 to 3 add up the columns of the staged result (backward), during the next tile's
//              products
// Loads and stores of the epilogue by ordinary instructions would each wait behind what the tensor cores read
// from shared memory; the copy engine's do not keep a warp waiting.
//
// Two blocks form a cluster: tiles one below the other share B, of which each copies half to both. That
// halves the traffic from the L2 cache, which one block alone would saturate.
//
// Barriers, all in shared memory, phases counted from 0:
//   full[s]      stage s holds its tiles: 1 arrival and the bytes of the copies
//   empty[s]     stage s may be overwritten in every block of the cluster: 8 warps of each block
//   slopes_full  the tile's slopes are staged: 1 arrival and their bytes
//   slopes_free  their place may be overwritten: 8 consumer warps, whose results lay there, and 3 that sum
//   staged       the results lie where the slopes were: 256 threads
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/gelu_math.cuh"
#include "gpt2/ops/hopper/hopper_ptx.cuh"
#include "gpt2/ops/hopper/tensor_map.h"

namespace ridgeline::gpt2::hopper {

enum class Product {
  gelu_forward,         // D = A B^T + bias is stored, and GELU(D). B is (columns, K)
  gelu_slope_forward,   // GELU'(D) is stored instead of D
  slope_backward_input  // A B times the stored GELU'(D), and its column sums. B is (K, columns)
};
constexpr bool is_forward(Product product) {
  return product != Product::slope_backward_input;
}

constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kWarpgroup = 128;
constexpr int kThreads = 3 * kWarpgroup;
constexpr int kSwizzledColumns = 64;  // of B in rows along K: 128 bytes
constexpr int kConsumerWarps = 8;
constexpr int kWarpRows = kTileRows / kConsumerWarps;
constexpr int kChunkColumns = 64;  // of the epilogue: 128 bytes
constexpr int kChunks = kTileColumns / kChunkColumns;
constexpr int kWarpChunkBytes = kWarpRows * kChunkColumns * 2;
constexpr int kChunkBytes = kTileRows * kChunkColumns * 2;
constexpr int kSumWarps = 3;
/// Of a thread. The epilogue needs more than the 168 that three warpgroups get each; the first one gives some.
constexpr int kConsumerRegisters = 224;
constexpr int kOtherRegisters = 56;

/// BlockK: depth of a stage, 64 or 32. Cluster: blocks that share B, 1 or 2. Stagger: stages that the
/// second consumer starts a tile behind the first.
template <Product kProduct, int BlockK, int Stages, int Cluster, int Stagger>
struct Config {
  static constexpr int kBlockK = BlockK;
  static constexpr int kStages = Stages;
  static constexpr int kCluster = Cluster;
  static constexpr int kStagger = Stagger;
  static constexpr Swizzle kSwizzle = BlockK == 64 ? Swizzle::bytes_128 : Swizzle::bytes_64;
  static_assert(BlockK == 64 || BlockK == 32);
  static_assert(Cluster == 1 || Cluster == 2);
  static_assert(Stagger >= 0 && Stagger < Stages);

  /// Byte offsets in shared memory. Stages and staged chunks begin at multiples of 1024, as the swizzle
  /// patterns do.
  static constexpr int kABytes = kTileRows * kBlockK * 2;
  static constexpr int kBBytes = kTileColumns * kBlockK * 2;
  static constexpr int kStageBytes = kABytes + kBBytes;
  /// Forward [consumer warp][out, kept], used again for each chunk; backward [chunk][consumer warp].
  static constexpr int kStaging = kStages * kStageBytes;
  static constexpr int kStagingBytes =
      is_forward(kProduct) ? 2 * kConsumerWarps * kWarpChunkBytes : kChunks * kChunkBytes;
  /// [tile parity][warp][columns] float: the next tile's are written while a slow warp still reads.
  static constexpr int kSums = kStaging + kStagingBytes;
  static constexpr int kSumBytes = is_forward(kProduct) ? 0 : 2 * kSumWarps * kTileColumns * 4;
  static constexpr int kBarriers = kSums + kSumBytes;
  static constexpr int kSharedBytes = kBarriers + (2 * kStages + 3) * 8;
  static constexpr int kAllocatedBytes = kSharedBytes + 1024;  // the allocation may begin anywhere
  static_assert(kStageBytes % 1024 == 0);
  static_assert(kAllocatedBytes <= 232448, "more than a block of sm_90 may have");
};

/// As the copy engine sees the matrices; out and kept (D or its slope: written forward, read backward) are
/// (rows, columns).
struct Maps {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap out;
  CUtensorMap kept;
};

struct Arguments {
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
  __device__ std::uint32_t slopes_full() const { return base + 8 * (2 * C::kStages); }
  __device__ std::uint32_t slopes_free() const { return base + 8 * (2 * C::kStages + 1); }
  __device__ std::uint32_t staged() const { return base + 8 * (2 * C::kStages + 2); }
};

/// The block of K before which the place of the slopes is given back, and the later or same one before which
/// the producer fills it again: late enough that it need not wait for the sums, which would stop the ring.
__device__ inline int slopes_freed_before(int k_blocks) {
  return min(1, k_blocks - 1);
}
__device__ inline int slopes_loaded_before(int k_blocks) {
  return max(k_blocks / 2, slopes_freed_before(k_blocks));
}

template <Product kProduct, class C>
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
  std::uint32_t tile_parity = 0;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    for (int block = 0; block < args.k_blocks; ++block) {
      if constexpr (!is_forward(kProduct)) {
        if (block == slopes_loaded_before(args.k_blocks)) {
          barrier_wait(barriers.slopes_free(), tile_parity ^ 1U);
          barrier_arrive_expect(barriers.slopes_full(), kChunks * kChunkBytes);
#pragma unroll
          for (int chunk = 0; chunk < kChunks; ++chunk) {
            tma_load(shared + C::kStaging + chunk * kChunkBytes, &maps.kept, barriers.slopes_full(),
                     tile.column + chunk * kChunkColumns, tile.row, read_once);
          }
        }
      }
      const std::uint32_t a = shared + at.stage * C::kStageBytes;
      const std::uint32_t b = a + C::kABytes;
      const std::uint32_t full = barriers.full(at.stage);
      const int k = block * C::kBlockK;
      barrier_wait(barriers.empty(at.stage), at.parity ^ 1U);
      barrier_arrive_expect(full, C::kStageBytes);
      tma_load(a, &maps.a, full, k, tile.row);
      if constexpr (is_forward(kProduct)) {
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
    tile_parity ^= 1U;
  }
}

__device__ inline void store_chunk(std::uint32_t address, const std::uint32_t (&words)[16]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_matrix_x4(address ^ (i * 32), words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  }
}

/// A thread's two columns of each of the chunk's 8-column blocks.
struct BiasWords {
  std::uint32_t words[8];
};
__device__ inline BiasWords load_bias(const Arguments& args, int column, int lane) {
  BiasWords bias;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int c = column + 8 * j + lane % 4 * 2;
    bias.words[j] = c < args.columns ? __ldg(reinterpret_cast<const unsigned*>(args.bias + c)) : 0U;
  }
  return bias;
}

/// GELU of a warp's 16 rows of the tile from `row` on, and D or its slope.
template <Product kProduct>
__device__ inline void finish_forward(const Maps& maps, const Arguments& args, Accumulators& d,
                                      std::uint32_t warp_staging, int row, int column, int lane,
                                      std::uint64_t read_later) {
  const std::uint32_t out_address = matrix_address(warp_staging, lane);
  const std::uint32_t kept_address = matrix_address(warp_staging + kWarpChunkBytes, lane);
  BiasWords bias = load_bias(args, column, lane);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const BiasWords now = bias;
    if (chunk + 1 < kChunks) bias = load_bias(args, column + (chunk + 1) * kChunkColumns, lane);
    std::uint32_t out[16];
    std::uint32_t kept[16];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float low = __uint_as_float(now.words[j] << 16);
      const float high = __uint_as_float(now.words[j] & 0xffff0000U);
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // 8 rows further on
        const int first = (8 * chunk + j) * 4 + 2 * half;
        const int word = 2 * j + half;
        const float x = d[first] + low;
        const float y = d[first + 1] + high;
        if constexpr (kProduct == Product::gelu_slope_forward) {
          const GeluPoint at_x = gelu_point<bf16>(x);
          const GeluPoint at_y = gelu_point<bf16>(y);
          out[word] = pack_bf16(at_x.value, at_y.value);
          kept[word] = pack_bf16(at_x.slope, at_y.slope);
        } else {
          // Of the rounded argument, from which the backward pass may compute it again.
          kept[word] = pack_bf16(x, y);
          out[word] = pack_bf16(gelu_value<bf16>(__uint_as_float(kept[word] << 16)),
                                gelu_value<bf16>(__uint_as_float(kept[word] & 0xffff0000U)));
        }
      }
    }
    if (lane == 0) bulk_wait_read();  // the chunk before is out of the staging area
    __syncwarp();
    store_chunk(out_address, out);
    store_chunk(kept_address, kept);
    fence_for_copies();
    __syncwarp();
    if (lane == 0) {
      const int x = column + chunk * kChunkColumns;
      tma_store(&maps.out, warp_staging, x, row);
      tma_store(&maps.kept, warp_staging + kWarpChunkBytes, x, row, read_later);
      bulk_commit();
    }
  }
}

/// A warp's 16 rows times their slopes, which lie in its part of each chunk; the result replaces them there.
__device__ inline void finish_backward(const Maps& maps, Accumulators& d, std::uint32_t warp_staging, int row,
                                       int column, int lane) {
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const std::uint32_t staging = warp_staging + chunk * kChunkBytes;
    const std::uint32_t address = matrix_address(staging, lane);
    std::uint32_t words[16];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load_matrix_x4(address ^ (i * 32), words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    }
#pragma unroll
    for (int word = 0; word < 16; ++word) {
      const int first = 32 * chunk + 2 * word;
      words[word] = pack_bf16(d[first] * __uint_as_float(words[word] << 16),
                              d[first + 1] * __uint_as_float(words[word] & 0xffff0000U));
    }
    store_chunk(address, words);
    fence_for_copies();
    __syncwarp();
    if (lane == 0) {
      tma_store(&maps.out, staging, column + chunk * kChunkColumns, row);
      bulk_commit();
    }
  }
}

template <Product kProduct, class C>
__device__ inline void consume(const Maps& maps, const Arguments& args, std::uint32_t shared,
                               const Barriers<C>& barriers, int rank, int consumer) {
  constexpr bool kRowsAlongK = !is_forward(kProduct);
  constexpr std::uint64_t kDescriptorA = matrix_descriptor(C::kSwizzle, 16, 8 * C::kBlockK * 2);
  constexpr std::uint64_t kDescriptorB =
      kRowsAlongK ? matrix_descriptor(Swizzle::bytes_128, kSwizzledColumns * C::kBlockK * 2, 1024)
                  : matrix_descriptor(C::kSwizzle, 16, 8 * C::kBlockK * 2);
  // 16 deeper, in the descriptor's units of 16 bytes: within a swizzled row, or 16 rows on.
  constexpr int kStepA = 16 * 2 / 16;
  constexpr int kStepB = kRowsAlongK ? 16 * kSwizzledColumns * 2 / 16 : kStepA;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = 4 * consumer + static_cast<int>(threadIdx.x) % kWarpgroup / 32;  // of the consumers
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const std::uint32_t warp_staging =
      shared + C::kStaging + warp * (is_forward(kProduct) ? 2 * kWarpChunkBytes : kWarpChunkBytes);
  const std::uint64_t read_later = evict_first_policy();

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
  const int first_unit = static_cast<int>(blockIdx.x) / C::kCluster;
  for (int unit = first_unit; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    // A consumer that is a whole ring ahead would arrive twice; then tiles are too shallow for it to matter.
    const bool stagger = C::kStagger > 0 && args.k_blocks > C::kStages;
    if (stagger && consumer == 1) named_barrier_sync(4, 2 * kWarpgroup);
    int previous = 0;
    for (int block = 0; block < args.k_blocks; ++block) {
      if constexpr (!is_forward(kProduct)) {
        if (unit != first_unit && block == slopes_freed_before(args.k_blocks)) {
          if (lane == 0) {
            bulk_wait_read();
            barrier_arrive(barriers.slopes_free());
          }
          __syncwarp();
        }
      }
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
      if (stagger && consumer == 0 && block == C::kStagger) named_barrier_arrive(4, 2 * kWarpgroup);
      previous = at.stage;
      at.advance();
    }
    wgmma_wait<0>();
    release(previous);
    pin(d);

    const int row = tile.row + warp * kWarpRows;
    if constexpr (is_forward(kProduct)) {
      finish_forward<kProduct>(maps, args, d, warp_staging, row, tile.column, lane, read_later);
    } else {
      barrier_wait(barriers.slopes_full(), tile_parity);
      finish_backward(maps, d, warp_staging, row, tile.column, lane);
      barrier_arrive(barriers.staged());
    }
    tile_parity ^= 1U;
  }
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

/// Column sums of the staged tiles, of stored values, as a kernel that reads them back would form them. A warp
/// has a whole row in its lanes and takes every third one. Rows and columns beyond the matrix are zeros: so
/// were A and the slopes.
template <class C>
__device__ inline void sum_columns(const Arguments& args, std::uint32_t shared, const Barriers<C>& barriers,
                                   int rank, int warp) {
  constexpr int kWidth = kPackedSize<bf16>;
  constexpr int kPieces = kChunkColumns / kWidth;  // of a staged row, in a chunk
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int clusters = static_cast<int>(gridDim.x) / C::kCluster;
  const std::uint32_t chunk = shared + C::kStaging + lane / kPieces * kChunkBytes;
  const int piece = lane % kPieces;
  std::uint32_t tile_parity = 0;
  for (int unit = static_cast<int>(blockIdx.x) / C::kCluster; unit < args.units; unit += clusters) {
    const Tile tile = tile_of<C>(unit, args, rank);
    barrier_wait(barriers.staged(), tile_parity);
    if (args.column_sums != nullptr) {
      float sums[kWidth] = {};
#pragma unroll 4
      for (int row = warp; row < kTileRows; row += kSumWarps) {
        float values[kWidth];
        unpack(Packed<bf16>{load_shared_128(chunk + row * (kChunkColumns * 2) + ((piece ^ (row & 7)) << 4))},
               values);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sums[j] += values[j];
      }
      const std::uint32_t table = shared + C::kSums + tile_parity * (kSumWarps * kTileColumns * 4);
      const std::uint32_t mine = table + (warp * kTileColumns + lane * kWidth) * 4;
      store_shared_128(mine, sums[0], sums[1], sums[2], sums[3]);
      store_shared_128(mine + 16, sums[4], sums[5], sums[6], sums[7]);
      named_barrier_sync(3, 32 * kSumWarps);
      for (int pair = 32 * warp + lane; pair < kTileColumns / 2; pair += 32 * kSumWarps) {
        float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
        for (int w = 0; w < kSumWarps; ++w) {
          const float2 of_warp = load_shared_float2(table + (w * kTileColumns + 2 * pair) * 4);
          total.x += of_warp.x;
          total.y += of_warp.y;
        }
        const int sum_column = tile.column + 2 * pair;
        if (tile.row < args.rows && sum_column < args.columns) {
          *reinterpret_cast<float2*>(args.column_sums +
                                     static_cast<std::int64_t>(tile.row / kTileRows) * args.columns +
                                     sum_column) = total;
        }
      }
    }
    // Behind the sums, which wait for what was read.
    __syncwarp();
    if (lane == 0) barrier_arrive(barriers.slopes_free());
    tile_parity ^= 1U;
  }
}

template <Product kProduct, class C>
__global__ void __cluster_dims__(C::kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    hopper_matmul_kernel(const __grid_constant__ Maps maps, const Arguments args) {
  extern __shared__ unsigned char allocation[];
  const std::uint32_t shared = (shared_address(allocation) + 1023U) & ~1023U;
  const Barriers<C> barriers{shared + C::kBarriers};
  const int rank = C::kCluster == 1 ? 0 : static_cast<int>(cluster_rank());

  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&maps.a, &maps.b, &maps.out, &maps.kept}) tma_prefetch_map(map);
    for (int stage = 0; stage < C::kStages; ++stage) {
      barrier_init(barriers.full(stage), 1);
      barrier_init(barriers.empty(stage), kConsumerWarps * C::kCluster);
    }
    barrier_init(barriers.slopes_full(), 1);
    barrier_init(barriers.slopes_free(), kConsumerWarps + kSumWarps);
    barrier_init(barriers.staged(), 2 * kWarpgroup);
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
    if (threadIdx.x == 0) produce<kProduct, C>(maps, args, shared, barriers, rank);
    if constexpr (!is_forward(kProduct)) {
      if (warp > 0) sum_columns<C>(args, shared, barriers, rank, warp - 1);
    }
  } else {
    take_registers<kConsumerRegisters>();
    consume<kProduct, C>(maps, args, shared, barriers, rank, warpgroup - 1);
  }

  // The other block of the cluster still arrives at barriers of this one.
  __syncwarp();
  if constexpr (C::kCluster > 1) cluster_sync();
}

/// a (rows, k); b (columns, k) forward, (k, columns) backward; out, kept (rows, columns).
template <Product kProduct, class C>
void launch_product(bf16* out, bf16* kept, const bf16* a, const bf16* b, Arguments args, int k,
                    cudaStream_t stream) {
  Maps maps;
  maps.a = tensor_map(a, args.rows, k, kTileRows, C::kBlockK);
  maps.b = is_forward(kProduct) ? tensor_map(b, args.columns, k, kTileColumns / C::kCluster, C::kBlockK)
                                : tensor_map(b, k, args.columns, C::kBlockK, kSwizzledColumns);
  maps.out = tensor_map(out, args.rows, args.columns, kWarpRows, kChunkColumns);
  maps.kept =
      tensor_map(kept, args.rows, args.columns, is_forward(kProduct) ? kWarpRows : kTileRows, kChunkColumns);
  args.k_blocks = static_cast<int>(ceil_div(k, C::kBlockK));
  args.column_tiles = static_cast<int>(ceil_div(args.columns, kTileColumns));
  args.units = static_cast<int>(ceil_div(args.rows, kTileRows * C::kCluster)) * args.column_tiles;
  const auto kernel = hopper_matmul_kernel<kProduct, C>;
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kAllocatedBytes));
  const int clusters = std::min(args.units, std::max(1, multiprocessor_count() / C::kCluster));
  kernel<<<static_cast<unsigned>(clusters * C::kCluster), kThreads, C::kAllocatedBytes, stream>>>(maps, args);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2::hopper
