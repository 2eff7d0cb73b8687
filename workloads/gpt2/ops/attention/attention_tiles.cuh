// attention_tiles.cuh: what the tensor-core attention kernels are built from: the instructions, shared-memory
// tiles of rows, and register fragments. For attention_tensor.cu alone.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"

namespace ridgeline::gpt2::detail {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = 64;  // rows of a streamed tile
constexpr float kLog2e = 1.4426950408889634F;
constexpr float kLn2 = 0.6931471805599453F;

/// Shared rows are padded by 16 bytes: eight consecutive rows then start in different banks, which makes every
/// ldmatrix free of conflicts for any head size that is a multiple of 16.
template <int kHeadSize>
constexpr int kStride = kHeadSize + 8;

struct Geometry {
  int seq;
  int heads;
  float scale;

  template <int kHeadSize>
  __device__ std::int64_t qkv_stride() const {
    return 3LL * heads * kHeadSize;
  }
  template <int kHeadSize>
  __device__ std::int64_t out_stride() const {
    return static_cast<std::int64_t>(heads) * kHeadSize;
  }
  /// First element of q (which = 0), k (1), v (2) of position 0.
  template <int kHeadSize>
  __device__ std::int64_t qkv_base(int b, int h, int which) const {
    return b * seq * qkv_stride<kHeadSize>() + (static_cast<std::int64_t>(which) * heads + h) * kHeadSize;
  }
  template <int kHeadSize>
  __device__ std::int64_t out_base(int b, int h) const {
    return b * seq * out_stride<kHeadSize>() + static_cast<std::int64_t>(h) * kHeadSize;
  }
};

// --- The instructions ---

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// 16 bytes to shared memory in the background; zeros if not live (the source is then not read).
__device__ inline void copy_async(void* shared, const void* global, bool live) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(live ? 16 : 0)
               : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
}

/// Four 8x8 matrices; lane i gives the address of row i%8 of matrix i/8.
__device__ inline void load_matrices(unsigned (&r)[4], const bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&r)[4], const bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// c (16x8, FP32) += a (16x16) * b (16x8).
__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// 2^x; results below 2^-126 become 0.
__device__ inline float exp2_flushed(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(kFullMask, value, 1);
  return value + __shfl_xor_sync(kFullMask, value, 2);
}
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kFullMask, value, 1));
  return fmaxf(value, __shfl_xor_sync(kFullMask, value, 2));
}

// --- Tiles ---

/// Rows row0..row0+kRows of a (T, HS) matrix; rows >= seq become zeros.
template <int kRows, int kHeadSize>
__device__ inline void fetch_tile(bf16* tile, const bf16* base, std::int64_t stride, int row0, int seq) {
  constexpr int kChunks = kHeadSize / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunks; i += kThreads) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const bool live = row0 + row < seq;
    copy_async(tile + row * kStride<kHeadSize> + chunk * 8,
               base + (live ? row0 + row : 0) * stride + chunk * 8, live);
  }
}

/// The left operand of products over the head dimension: rows row0.. of a shared tile.
template <int kRowTiles, int kHeadSize>
using RowFragments = unsigned[kRowTiles][kHeadSize / 16][4];

template <int kRowTiles, int kHeadSize>
__device__ inline void load_row_fragments(RowFragments<kRowTiles, kHeadSize>& fragments, const bf16* tile,
                                          int row0, int lane) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int k = 0; k < kHeadSize / 16; ++k) {
      load_matrices(fragments[m][k],
                    tile + (row0 + m * 16 + lane % 16) * kStride<kHeadSize> + k * 16 + lane / 16 * 8);
    }
  }
}

/// scores (16*kRowTiles x 16) = rows . tile[column0..column0+16)^T over the head dimension.
template <int kRowTiles, int kHeadSize>
__device__ inline void dot_columns(float (&scores)[kRowTiles][2][4],
                                   const RowFragments<kRowTiles, kHeadSize>& rows, const bf16* tile,
                                   int column0, int lane) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) scores[m][n][e] = 0.0F;
    }
  }
  // Matrices 0 and 1 are the two halves of k for columns 0..7, 2 and 3 for columns 8..15.
  const bf16* address = tile + (column0 + lane % 8 + lane / 16 * 8) * kStride<kHeadSize> + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < kHeadSize / 16; ++k) {
    unsigned b[4];
    load_matrices(b, address + k * 16);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      multiply_add(scores[m][0], rows[m][k], b[0], b[1]);
      multiply_add(scores[m][1], rows[m][k], b[2], b[3]);
    }
  }
}

/// A 16x16 block of results, in place, as the left operand of the next product.
__device__ inline void as_left_operand(unsigned (&a)[4], const float (&block)[2][4]) {
  a[0] = pack_bf16(block[0][0], block[0][1]);
  a[1] = pack_bf16(block[0][2], block[0][3]);
  a[2] = pack_bf16(block[1][0], block[1][1]);
  a[3] = pack_bf16(block[1][2], block[1][3]);
}

template <int kRowTiles, int kHeadSize>
using Accumulator = float[kRowTiles][kHeadSize / 8][4];

/// acc (16*kRowTiles x HS) += left (.. x 16) * tile[row0..row0+16).
template <int kRowTiles, int kHeadSize>
__device__ inline void add_gemm(Accumulator<kRowTiles, kHeadSize>& acc, const unsigned (&left)[kRowTiles][4],
                                const bf16* tile, int row0, int lane) {
  const bf16* address = tile + (row0 + lane % 16) * kStride<kHeadSize> + lane / 16 * 8;
#pragma unroll
  for (int n = 0; n < kHeadSize / 16; ++n) {
    unsigned b[4];
    load_matrices_transposed(b, address + n * 16);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      multiply_add(acc[m][2 * n], left[m], b[0], b[1]);
      multiply_add(acc[m][2 * n + 1], left[m], b[2], b[3]);
    }
  }
}

/// factor[m][half]: of row 16m + 8*half + lane/4.
template <int kRowTiles, int kHeadSize>
__device__ inline void store_rows(bf16* base, std::int64_t stride,
                                  const Accumulator<kRowTiles, kHeadSize>& acc,
                                  const float (&factor)[kRowTiles][2], int row0, int seq, int lane) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row0 + m * 16 + half * 8 + lane / 4;
      if (row >= seq) continue;
      bf16* address = base + row * stride + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < kHeadSize / 8; ++n) {
        *reinterpret_cast<unsigned*>(address + n * 8) =
            pack_bf16(acc[m][n][2 * half] * factor[m][half], acc[m][n][2 * half + 1] * factor[m][half]);
      }
    }
  }
}

}  // namespace ridgeline::gpt2::detail
