// cast_kernel.cuh: the kernel behind cast_transpose.h and what launches one form of it.
#pragma once

#include <type_traits>

#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/gelu_math.cuh"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/fp8/transpose_tile.h"

namespace ridgeline::gpt2 {

/// What is stored of inp (and dout).
enum class CastFunction { identity, gelu, gelu_backward };

/// How a kernel is built. Rows: of every input that a thread has in flight. Blocks: that a multiprocessor has
/// room for at least. Together: all of those rows are asked for before the first is used; left alone the
/// compiler puts the loads wherever they need the fewest registers, of bytes one or two at a time.
template <int Rows, int Blocks, bool Together = false>
struct CastForm {
  static constexpr int kRows = Rows;
  static constexpr int kBlocks = Blocks;
  static constexpr bool kTogether = Together;
};

/// What a kernel reads: of T, or bytes of FP8.
template <typename T>
struct CastInput {
  const T* data = nullptr;
};
template <>
struct CastInput<std::uint8_t> : Fp8Input {};
/// Weights: several at once, so many elements apart.
template <>
struct CastInput<float> {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

/// Eight neighbouring values, as they lie in memory.
template <typename T>
struct Eight {
  Packed<T> parts[8 / kPackedSize<T>];
};
template <>
struct Eight<std::uint8_t> {
  uint2 bits;
};
template <typename T>
__device__ inline Eight<T> load_eight(const T* at) {
  Eight<T> eight;
#pragma unroll
  for (int i = 0; i < 8 / kPackedSize<T>; ++i) eight.parts[i] = load128_streaming(at + i * kPackedSize<T>);
  return eight;
}
template <>
__device__ inline Eight<std::uint8_t> load_eight(const std::uint8_t* at) {
  return {__ldcs(reinterpret_cast<const uint2*>(at))};
}
template <typename T>
__device__ inline void unpack(const Eight<T>& eight, float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 8 / kPackedSize<T>; ++i) {
    float part[kPackedSize<T>];
    unpack(eight.parts[i], part);
#pragma unroll
    for (int k = 0; k < kPackedSize<T>; ++k) values[i * kPackedSize<T> + k] = part[k];
  }
}
/// Of E5M2.
__device__ inline void unpack(const Eight<std::uint8_t>& eight, float (&values)[8]) {
  float low[4];
  float high[4];
  fp8_values<Fp8Format::e5m2>(eight.bits.x, low);
  fp8_values<Fp8Format::e5m2>(eight.bits.y, high);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    values[k] = low[k];
    values[4 + k] = high[k];
  }
}

/// A function of a byte of E4M3, times a factor, has 256 values: looking one up takes fewer instructions than
/// forming it. Each lane has a copy in a bank of its own, so that no two wait for each other.
class ByteTable {
 public:
  static constexpr int kFloats = 256 * kWarpSize;

  /// All threads per block of 256 call it, and pass a barrier before anybody looks up.
  template <CastFunction kFunction>
  __device__ static void fill(float* table, float inverse, float factor) {
    static_assert(kTransposeBlock == 256, "a thread forms the value of one byte");
    const auto byte = static_cast<int>(threadIdx.x);
    const float x = fp8_value(static_cast<std::uint8_t>(byte), Fp8Format::e4m3) * inverse;
    const float y = factor * (kFunction == CastFunction::gelu ? gelu_value<bf16>(x) : gelu_slope<bf16>(x));
    for (int copy = 0; copy < kWarpSize; ++copy) {
      table[byte * kWarpSize + (byte + copy) % kWarpSize] = y;
    }
  }

  __device__ explicit ByteTable(const float* table) : of_lane_(table + threadIdx.x % kWarpSize) {}
  __device__ void look_up(const Eight<std::uint8_t>& eight, float (&values)[8]) const {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const std::uint32_t word = k < 4 ? eight.bits.x : eight.bits.y;
      values[k] = of_lane_[(word >> k % 4 * 8 & 0xffU) * kWarpSize];
    }
  }

 private:
  const float* of_lane_;
};

/// The fastest of the benchmark's forms (bench fp8) on an H200: GELU's kernels issue a thread's loads
/// together, except where two BF16 tensors of them do not fit into the registers of two blocks.
template <typename T, CastFunction kFunction>
struct UsualFormOf {
  using Form = CastForm<sizeof(T) == 4 ? 4 : 8, 2>;
};
template <>
struct UsualFormOf<bf16, CastFunction::gelu> {
  using Form = CastForm<8, 2, true>;
};
template <>
struct UsualFormOf<std::uint8_t, CastFunction::gelu> {
  using Form = CastForm<8, 3, true>;
};
template <>
struct UsualFormOf<std::uint8_t, CastFunction::gelu_backward> {
  using Form = CastForm<8, 2, true>;
};
template <typename T, CastFunction kFunction>
using UsualForm = typename UsualFormOf<T, kFunction>::Form;

/// The eight columns of a thread's rows.
template <bool kStreaming>
__device__ __forceinline__ void store_turned(std::uint8_t* column,
                                             const std::uint32_t (&turned)[8][kTransposeRows / 4],
                                             std::int64_t rows) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const uint4 bytes = make_uint4(turned[k][0], turned[k][1], turned[k][2], turned[k][3]);
    auto* to = reinterpret_cast<uint4*>(column + k * rows);
    if constexpr (kStreaming) {
      __stcs(to, bytes);
    } else {
      *to = bytes;
    }
  }
}

/// Sums over the warp's rows of eight columns, scaled by `unit` if they are to be. All lanes call it.
template <bool kScaled>
__device__ __forceinline__ void leave_column_sums(float* partials, const TransposeTile& tile,
                                                  std::int64_t columns, float (&sum)[8], float unit) {
  // The eight threads of a warp with the same columns are four lanes apart.
#pragma unroll
  for (int k = 0; k < 8; ++k) {
#pragma unroll
    for (int apart = 4; apart < kWarpSize; apart *= 2) sum[k] += __shfl_xor_sync(kFullMask, sum[k], apart);
  }
  if (threadIdx.x % kWarpSize < 4 && tile.column < columns) {
    if constexpr (kScaled) {
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k] *= unit;
    }
    float* target_row = partials + tile.row_tile * columns + tile.column;
    *reinterpret_cast<float4*>(target_row) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    *reinterpret_cast<float4*>(target_row + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
  }
}

/// blockIdx.y: the tensor; results lie one behind the other. partials (tiles of rows, columns). Of
/// bytes, inp is in E4M3 and dout in E5M2.
template <class Form, typename T, Fp8Format kFormat, CastFunction kFunction, bool kSums>
__global__ void __launch_bounds__(kTransposeBlock, Form::kBlocks)
    fp8_cast_kernel(std::uint8_t* out, std::uint8_t* transposed, float* partials, const CastInput<T> inp,
                    const CastInput<T> dout, std::int64_t rows, std::int64_t columns,
                    std::int64_t column_tiles, const Fp8Scale target) {
  constexpr int kBatch = Form::kRows;
  constexpr bool kBytes = std::is_same_v<T, std::uint8_t>;
  __shared__ float shared[kTransposeBlock / kWarpSize];
  __shared__ float table[kBytes ? ByteTable::kFloats : 1];
  const std::int64_t tensor = std::int64_t{blockIdx.y} * rows * columns;
  // From the last rows to the first: the end of inp, or of dout, is what the GEMM before this kernel left in L2, and
  // the beginning of out is what the next one reads first. GELU's transposed bytes wait for the backward pass.
  const TransposeTile tile =
      transpose_tile(gridDim.x - 1 - blockIdx.x, static_cast<int>(threadIdx.x), column_tiles);
  float scale = target.scale[blockIdx.y];
  float largest = 0.0F;
  float sum[8] = {};
  // Values of bytes are looked up with their scale in them, and with that of a gradient in FP8. Scales are
  // powers of two: what sums and magnitudes must not have of them is taken out at the end.
  float unit = 1.0F;
  if constexpr (kBytes) {
    const float of_dout = kFunction == CastFunction::gelu_backward ? *dout.inverse : 1.0F;
    ByteTable::fill<kFunction>(table, *inp.inverse, scale * of_dout);
    unit = 1.0F / scale;
    scale = 1.0F;
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      commit_found_amax(inp.amax, inp.found);
      if (kFunction == CastFunction::gelu_backward) commit_found_amax(dout.amax, dout.found);
    }
  }
  // Both sizes are multiples of 16: what a thread owns is whole or nothing.
  const bool owner = tile.row < rows && tile.column < columns;
  unsigned owners = 0;
  if constexpr (Form::kTogether) owners = __ballot_sync(kFullMask, owner);
  if (owner) {
    const std::int64_t offset = tensor + tile.row * columns + tile.column;
    std::int64_t from = offset;
    if constexpr (std::is_same_v<T, float>) from += blockIdx.y * inp.stride - tensor;
    std::uint32_t turned[8][kTransposeRows / 4];  // of each column, four rows per word
#pragma unroll
    for (int first = 0; first < kTransposeRows; first += kBatch) {
      Eight<T> x[kBatch];
      Eight<T> d[kFunction == CastFunction::gelu_backward ? kBatch : 1];
#pragma unroll
      for (int r = 0; r < kBatch; ++r) {
        x[r] = load_eight(inp.data + from + (first + r) * columns);
        if constexpr (kFunction == CastFunction::gelu_backward) {
          d[r] = load_eight(dout.data + offset + (first + r) * columns);
        }
      }
      // A barrier that no load may pass.
      if constexpr (Form::kTogether) __syncwarp(owners);
#pragma unroll
      for (int four = 0; four < kBatch; four += 4) {
        std::uint32_t low[4];
        std::uint32_t high[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          float v[8];
          if constexpr (kBytes) {
            ByteTable(table).look_up(x[four + r], v);
          } else {
            unpack(x[four + r], v);
#pragma unroll
            for (int k = 0; k < 8; ++k) {
              if constexpr (kFunction == CastFunction::gelu) v[k] = gelu_value<bf16>(v[k]);
              if constexpr (kFunction == CastFunction::gelu_backward) v[k] = gelu_slope<bf16>(v[k]);
            }
          }
          if constexpr (kFunction == CastFunction::gelu_backward) {
            float upstream[8];
            unpack(d[four + r], upstream);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] *= upstream[k];
          }
#pragma unroll
          for (int k = 0; k < 8; ++k) {
            largest = fmaxf(largest, fabsf(v[k]));
            if constexpr (kSums) sum[k] += v[k];
            v[k] *= scale;
          }
          low[r] = fp8_word<kFormat>(v[0], v[1], v[2], v[3]);
          high[r] = fp8_word<kFormat>(v[4], v[5], v[6], v[7]);
          *reinterpret_cast<uint2*>(out + offset + (first + four + r) * columns) =
              make_uint2(low[r], high[r]);
        }
        transpose_bytes(low);
        transpose_bytes(high);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          turned[k][(first + four) / 4] = low[k];
          turned[4 + k][(first + four) / 4] = high[k];
        }
      }
    }
    if (transposed != nullptr) {
      store_turned<kFunction == CastFunction::gelu>(transposed + tensor + tile.column * rows + tile.row,
                                                    turned, rows);
    }
  }
  if constexpr (kSums) {
    leave_column_sums<kBytes>(partials, tile, columns, sum, unit);
  }
  if constexpr (kBytes) largest *= unit;
  commit_amax(target.amax, largest, shared);
}

template <class Form, typename T, Fp8Format kFormat, CastFunction kFunction, bool kSums>
void launch_cast(const Fp8Output& out, float* partials, const CastInput<T>& inp, const CastInput<T>& dout,
                 std::int64_t tensors, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  const std::int64_t column_tiles = transpose_column_tiles(columns);
  const dim3 grid(static_cast<unsigned>(column_tiles * transpose_row_tiles(rows)),
                  static_cast<unsigned>(tensors));
  fp8_cast_kernel<Form, T, kFormat, kFunction, kSums><<<grid, kTransposeBlock, 0, stream>>>(
      out.data, out.transposed, partials, inp, dout, rows, columns, column_tiles, out.scale);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2
