// attention_tensor.cu: causal flash attention on tensor cores
// shapes  qkv,dqkv (B,T,3,NH,HS) bf16; out,dout (B,T,NH,HS) bf16; lse,row_dots (B,NH,T) FP32; any T
// bytes   forward B*T*NH*(8*HS + 4), backward B*T*NH*(16*HS + 4), were every tile in cache
// flops   forward 2*B*NH*T*(T+1)*HS, backward 5*B*NH*T*(T+1)*HS (seven products are formed)
// check   |gpu-ref| <= 4*eps(bf16)*scale of the tensor; a non-finite mismatch fails
// bound   tensor pipe
//
// Four warps per block; a warp owns 16*kRowTiles rows and keeps their operands and accumulators in registers,
// so that the softmax of a row never leaves four lanes and a product's result becomes the next product's
// operand in place. The other operand's tiles of 64 rows stream through two shared-memory buffers with
// cp.async: one tile is on its way while the other is used, and one barrier a tile suffices. Backward runs
// one kernel twice, with blocks that own query tiles (dq) and with blocks that own key tiles (dk, dv; they form the
// scores transposed): scores are formed twice, but nothing is added with atomics.
#include <cmath>

#include "gpt2/common/launch.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_kernels.h"
#include "gpt2/ops/attention/attention_tiles.cuh"

namespace ridgeline::gpt2::detail {
namespace {

template <int kRowTiles>
using TileScores = float[kTile / 16][kRowTiles][2][4];

template <int kRowTiles>
__device__ __forceinline__ void hide_later_columns(TileScores<kRowTiles>& scores, int row0, int column0,
                                                   int lane) {
#pragma unroll
  for (int c = 0; c < kTile / 16; ++c) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = row0 + m * 16 + e / 2 * 8 + lane / 4;
          const int column = column0 + c * 16 + n * 8 + lane % 4 * 2 + e % 2;
          if (column > row) scores[c][m][n][e] = -INFINITY;
        }
      }
    }
  }
}

// Scores become exponentials, less the rows' largest score so far; what was added up before is corrected to that.
template <int kRowTiles, int kHeadSize>
__device__ __forceinline__ void add_to_softmax(TileScores<kRowTiles>& scores,
                                               Accumulator<kRowTiles, kHeadSize>& acc,
                                               float (&largest)[kRowTiles][2], float (&sum)[kRowTiles][2],
                                               float scale_log2) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float row_max = largest[m][half];
#pragma unroll
      for (int c = 0; c < kTile / 16; ++c) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          row_max = fmaxf(row_max, fmaxf(scores[c][m][n][2 * half], scores[c][m][n][2 * half + 1]));
        }
      }
      row_max = quad_max(row_max);
      // Column 0 is visible to every row, so row_max is finite from the first tile on.
      const float correction = exp2_flushed((largest[m][half] - row_max) * scale_log2);
      largest[m][half] = row_max;
      const float shift = row_max * scale_log2;
      float part = 0.0F;
#pragma unroll
      for (int c = 0; c < kTile / 16; ++c) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            scores[c][m][n][e] = exp2_flushed(fmaf(scores[c][m][n][e], scale_log2, -shift));
            part += scores[c][m][n][e];
          }
        }
      }
      // Each lane keeps its own share of the sum; the quad adds up once at the end.
      sum[m][half] = sum[m][half] * correction + part;
#pragma unroll
      for (int n = 0; n < kHeadSize / 8; ++n) {
        acc[m][n][2 * half] *= correction;
        acc[m][n][2 * half + 1] *= correction;
      }
    }
  }
}

template <int kRowTiles, int kHeadSize, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    attention_forward_kernel(bf16* out, float* lse, const bf16* qkv, Geometry geometry) {
  constexpr int kRows = kWarps * 16 * kRowTiles;
  constexpr int kTileElements = kTile * kStride<kHeadSize>;
  extern __shared__ uint4 storage[];
  bf16* keys = reinterpret_cast<bf16*>(storage);  // two buffers of keys, two of values, then the queries
  bf16* values = keys + 2 * kTileElements;
  bf16* queries = values + 2 * kTileElements;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int b = static_cast<int>(blockIdx.x) / geometry.heads;
  const int h = static_cast<int>(blockIdx.x) % geometry.heads;
  // The longest rows first, so that the grid's tail is short.
  const int row0 = static_cast<int>(gridDim.y - 1 - blockIdx.y) * kRows;
  const int warp_row0 = row0 + warp * 16 * kRowTiles;
  const std::int64_t stride = geometry.qkv_stride<kHeadSize>();
  const bf16* key_base = qkv + geometry.qkv_base<kHeadSize>(b, h, 1);
  const bf16* value_base = qkv + geometry.qkv_base<kHeadSize>(b, h, 2);
  const int last_row = min(row0 + kRows, geometry.seq) - 1;
  const int tiles = last_row / kTile + 1;

  fetch_tile<kRows, kHeadSize>(queries, qkv + geometry.qkv_base<kHeadSize>(b, h, 0), stride, row0,
                               geometry.seq);
  fetch_tile<kTile, kHeadSize>(keys, key_base, stride, 0, geometry.seq);
  fetch_tile<kTile, kHeadSize>(values, value_base, stride, 0, geometry.seq);
  commit_copies();

  RowFragments<kRowTiles, kHeadSize> q;
  Accumulator<kRowTiles, kHeadSize> acc = {};
  float largest[kRowTiles][2];  // of the unscaled scores
  float sum[kRowTiles][2] = {};
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) largest[m][0] = largest[m][1] = -INFINITY;
  const float scale_log2 = geometry.scale * kLog2e;

  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    __syncthreads();  // this tile has arrived, and all warps are done with the other buffer
    if (tile == 0) load_row_fragments<kRowTiles, kHeadSize>(q, queries, warp * 16 * kRowTiles, lane);
    const int buffer = tile % 2;
    if (tile + 1 < tiles) {
      const int other = (1 - buffer) * kTileElements;
      fetch_tile<kTile, kHeadSize>(keys + other, key_base, stride, (tile + 1) * kTile, geometry.seq);
      fetch_tile<kTile, kHeadSize>(values + other, value_base, stride, (tile + 1) * kTile, geometry.seq);
      commit_copies();
    }
    const int column0 = tile * kTile;
    if (column0 > warp_row0 + 16 * kRowTiles - 1) continue;  // all of it lies behind the diagonal
    const bf16* k = keys + buffer * kTileElements;
    const bf16* v = values + buffer * kTileElements;
    TileScores<kRowTiles> scores;
#pragma unroll
    for (int c = 0; c < kTile / 16; ++c) dot_columns<kRowTiles, kHeadSize>(scores[c], q, k, c * 16, lane);
    if (column0 + kTile - 1 > warp_row0) hide_later_columns(scores, warp_row0, column0, lane);
    add_to_softmax<kRowTiles, kHeadSize>(scores, acc, largest, sum, scale_log2);
#pragma unroll
    for (int c = 0; c < kTile / 16; ++c) {
      unsigned p[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) as_left_operand(p[m], scores[c][m]);
      add_gemm<kRowTiles, kHeadSize>(acc, p, v, c * 16, lane);
    }
  }

  float factor[kRowTiles][2];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = quad_sum(sum[m][half]);
      factor[m][half] = 1.0F / total;
      const int row = warp_row0 + m * 16 + half * 8 + lane / 4;
      if (lse != nullptr && lane % 4 == 0 && row < geometry.seq) {
        lse[static_cast<std::int64_t>(blockIdx.x) * geometry.seq + row] =
            largest[m][half] * geometry.scale + kLn2 * log2f(total);
      }
    }
  }
  store_rows<kRowTiles, kHeadSize>(out + geometry.out_base<kHeadSize>(b, h), geometry.out_stride<kHeadSize>(),
                                   acc, factor, warp_row0, geometry.seq, lane);
}

// dout . out, one row per thread, into shared_dots and row_dots; out and row_dots are the head's.
template <int kRows, int kHeadSize>
__device__ inline void dot_outputs(float* shared_dots, float* row_dots, const bf16* gradients,
                                   const bf16* out, std::int64_t out_stride, int row0, int seq) {
  for (int local = static_cast<int>(threadIdx.x); local < kRows; local += kThreads) {
    float dot = 0.0F;
    if (row0 + local < seq) {
      const bf16* out_row = out + (row0 + local) * out_stride;
#pragma unroll
      for (int c = 0; c < kHeadSize; c += 8) {
        float x[8];
        float g[8];
        unpack(load128(out_row + c), x);
        unpack(load128(gradients + local * kStride<kHeadSize> + c), g);
#pragma unroll
        for (int e = 0; e < 8; ++e) dot += x[e] * g[e];
      }
      row_dots[row0 + local] = dot;
    }
    shared_dots[local] = dot;
  }
}

template <int kRowTiles>
struct QueryStatistics {
  float lse_log2[kRowTiles][2];
  float dot[kRowTiles][2];
};

// What a streamed tile adds to the gradients of a warp's rows. Statistics of the queries: those of the rows,
// or those of the tile's columns in shared memory. kMasked: the diagonal runs through the tile.
template <int kRowTiles, int kHeadSize, bool kOfKeys, bool kMasked>
__device__ __forceinline__ void add_gradients(
    Accumulator<kRowTiles, kHeadSize>& of_first, Accumulator<kRowTiles, kHeadSize>& of_second,
    const RowFragments<kRowTiles, kHeadSize>& own_first, const RowFragments<kRowTiles, kHeadSize>& own_second,
    const bf16* first, const bf16* second, const QueryStatistics<kRowTiles>& of_rows, const float* shared_lse,
    const float* shared_dots, float scale_log2, int row0, int column0, int lane) {
#pragma unroll
  for (int c = 0; c < kTile / 16; ++c) {
    float s[kRowTiles][2][4];
    float dp[kRowTiles][2][4];
    dot_columns<kRowTiles, kHeadSize>(s, own_first, first, c * 16, lane);
    dot_columns<kRowTiles, kHeadSize>(dp, own_second, second, c * 16, lane);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int local = c * 16 + n * 8 + lane % 4 * 2;
      float2 lse_pair{};
      float2 dot_pair{};
      if constexpr (kOfKeys) {
        lse_pair = *reinterpret_cast<const float2*>(shared_lse + local);
        dot_pair = *reinterpret_cast<const float2*>(shared_dots + local);
      }
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float lse_of_column = e % 2 == 0 ? lse_pair.x : lse_pair.y;
          const float dot_of_column = e % 2 == 0 ? dot_pair.x : dot_pair.y;
          const float lse_log2 = kOfKeys ? lse_of_column : of_rows.lse_log2[m][e / 2];
          float p = exp2_flushed(fmaf(s[m][n][e], scale_log2, -lse_log2));
          if constexpr (kMasked) {
            const int row = row0 + m * 16 + e / 2 * 8 + lane / 4;
            const int column = column0 + local + e % 2;
            if (kOfKeys ? row > column : column > row) p = 0.0F;
          }
          s[m][n][e] = p;
          dp[m][n][e] = p * (dp[m][n][e] - (kOfKeys ? dot_of_column : of_rows.dot[m][e / 2]));
        }
      }
    }
    unsigned left[kRowTiles][4];
    if constexpr (kOfKeys) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) as_left_operand(left[m], s[m]);
      add_gemm<kRowTiles, kHeadSize>(of_second, left, second, c * 16, lane);
    }
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) as_left_operand(left[m], dp[m]);
    add_gemm<kRowTiles, kHeadSize>(of_first, left, first, c * 16, lane);
  }
}

// Owns a tile of queries: dq, and row_dots for the other one. Or (kOfKeys) a tile of keys: dk and dv; rows of scores
// are keys then, and columns queries. Either way a block has two tiles, q and dout or k and v, past which the other
// two stream: scores and the gradients of probabilities are their dot products, first by first and second by second.
template <int kRowTiles, int kHeadSize, int kBlocks, bool kOfKeys>
__global__ void __launch_bounds__(kThreads, kBlocks)
    attention_gradient_kernel(bf16* dqkv, float* row_dots, const bf16* dout, const bf16* qkv, const bf16* out,
                              const float* lse, Geometry geometry) {
  constexpr int kRows = kWarps * 16 * kRowTiles;
  constexpr int kTileElements = kTile * kStride<kHeadSize>;
  constexpr int kOwnElements = kRows * kStride<kHeadSize>;
  extern __shared__ uint4 storage[];
  // Of the streamed queries, by buffer; of the own ones, dots alone.
  __shared__ alignas(8) float shared_lse[kOfKeys ? 2 * kTile : 1];
  __shared__ alignas(8) float shared_dots[kOfKeys ? 2 * kTile : kRows];
  bf16* streamed_first = reinterpret_cast<bf16*>(storage);  // two buffers each
  bf16* streamed_second = streamed_first + 2 * kTileElements;
  bf16* first = streamed_second + 2 * kTileElements;
  bf16* second = first + kOwnElements;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int b = static_cast<int>(blockIdx.x) / geometry.heads;
  const int h = static_cast<int>(blockIdx.x) % geometry.heads;
  // The most work first: the last queries see the most keys, the first keys are seen by the most queries.
  const int row0 = static_cast<int>(kOfKeys ? blockIdx.y : gridDim.y - 1 - blockIdx.y) * kRows;
  const int warp_row0 = row0 + warp * 16 * kRowTiles;
  const std::int64_t stride = geometry.qkv_stride<kHeadSize>();
  const std::int64_t out_stride = geometry.out_stride<kHeadSize>();
  const bf16* q = qkv + geometry.qkv_base<kHeadSize>(b, h, 0);
  const bf16* k = qkv + geometry.qkv_base<kHeadSize>(b, h, 1);
  const bf16* v = qkv + geometry.qkv_base<kHeadSize>(b, h, 2);
  const bf16* d_out = dout + geometry.out_base<kHeadSize>(b, h);
  const std::int64_t statistics = static_cast<std::int64_t>(blockIdx.x) * geometry.seq;
  const int first_tile = kOfKeys ? row0 / kTile : 0;
  const int end_tile = ((kOfKeys ? geometry.seq : min(row0 + kRows, geometry.seq)) - 1) / kTile + 1;

  const auto fetch_streamed = [&](int tile) {
    const int buffer = tile % 2;
    fetch_tile<kTile, kHeadSize>(streamed_first + buffer * kTileElements, kOfKeys ? q : k, stride,
                                 tile * kTile, geometry.seq);
    fetch_tile<kTile, kHeadSize>(streamed_second + buffer * kTileElements, kOfKeys ? d_out : v,
                                 kOfKeys ? out_stride : stride, tile * kTile, geometry.seq);
    commit_copies();
    if (kOfKeys && threadIdx.x < kTile) {
      const int query = tile * kTile + static_cast<int>(threadIdx.x);
      // Past the end: infinity makes every probability 0.
      const int at = buffer * kTile + static_cast<int>(threadIdx.x);
      shared_lse[at] = query < geometry.seq ? lse[statistics + query] * kLog2e : INFINITY;
      shared_dots[at] = query < geometry.seq ? row_dots[statistics + query] : 0.0F;
    }
  };
  fetch_tile<kRows, kHeadSize>(first, kOfKeys ? k : q, stride, row0, geometry.seq);
  fetch_tile<kRows, kHeadSize>(second, kOfKeys ? v : d_out, kOfKeys ? stride : out_stride, row0,
                               geometry.seq);
  fetch_streamed(first_tile);

  RowFragments<kRowTiles, kHeadSize> own_first;
  RowFragments<kRowTiles, kHeadSize> own_second;
  const auto load_own = [&] {
    load_row_fragments<kRowTiles, kHeadSize>(own_first, first, warp * 16 * kRowTiles, lane);
    load_row_fragments<kRowTiles, kHeadSize>(own_second, second, warp * 16 * kRowTiles, lane);
  };
  QueryStatistics<kRowTiles> statistics_of_rows;  // of the own queries
  if constexpr (!kOfKeys) {
    wait_for_copies();
    __syncthreads();
    dot_outputs<kRows, kHeadSize>(shared_dots, row_dots + statistics, second,
                                  out + geometry.out_base<kHeadSize>(b, h), out_stride, row0, geometry.seq);
    load_own();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp_row0 + m * 16 + half * 8 + lane / 4;
        statistics_of_rows.lse_log2[m][half] = row < geometry.seq ? lse[statistics + row] * kLog2e : 0.0F;
        statistics_of_rows.dot[m][half] = shared_dots[row - row0];
      }
    }
  }
  Accumulator<kRowTiles, kHeadSize> of_first = {};  // dq, or dk
  [[maybe_unused]] Accumulator<kRowTiles, kHeadSize> of_second = {};
  const float scale_log2 = geometry.scale * kLog2e;

  for (int tile = first_tile; tile < end_tile; ++tile) {
    wait_for_copies();
    __syncthreads();
    if (kOfKeys && tile == first_tile) load_own();
    const int buffer = tile % 2;
    if (tile + 1 < end_tile) fetch_streamed(tile + 1);
    const int column0 = tile * kTile;
    const int last_row = warp_row0 + 16 * kRowTiles - 1;
    const int last_column = column0 + kTile - 1;
    if (kOfKeys ? last_column < warp_row0 : column0 > last_row)
      continue;  // all of it lies behind the diagonal
    const auto use_tile = [&]<bool kMasked>() {
      add_gradients<kRowTiles, kHeadSize, kOfKeys, kMasked>(
          of_first, of_second, own_first, own_second, streamed_first + buffer * kTileElements,
          streamed_second + buffer * kTileElements, statistics_of_rows,
          shared_lse + (kOfKeys ? buffer * kTile : 0), shared_dots + (kOfKeys ? buffer * kTile : 0),
          scale_log2, warp_row0, column0, lane);
    };
    // The diagonal is a code path of its own: elsewhere the comparisons would be a good part of the work.
    if (kOfKeys ? column0 < last_row : last_column > warp_row0) {
      use_tile.template operator()<true>();
    } else {
      use_tile.template operator()<false>();
    }
  }
  const auto store = [&](int which, const Accumulator<kRowTiles, kHeadSize>& acc, float value) {
    float factor[kRowTiles][2];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) factor[m][0] = factor[m][1] = value;
    store_rows<kRowTiles, kHeadSize>(dqkv + geometry.qkv_base<kHeadSize>(b, h, which), stride, acc, factor,
                                     warp_row0, geometry.seq, lane);
  };
  store(kOfKeys ? 1 : 0, of_first, geometry.scale);
  if constexpr (kOfKeys) store(2, of_second, 1.0F);
}

// --- Host ---

Geometry geometry_of(const AttentionShape& shape) {
  return {shape.seq, shape.heads, 1.0F / std::sqrt(static_cast<float>(shape.head_size))};
}

// Bytes of shared memory for `own` resident rows and four streamed tiles.
template <int kHeadSize>
constexpr std::size_t shared_bytes(int own) {
  return static_cast<std::size_t>(4 * kTile + own) * kStride<kHeadSize> * sizeof(bf16);
}

template <typename Kernel, typename... Args>
void launch(Kernel* kernel, const AttentionShape& shape, int rows, std::size_t bytes, cudaStream_t stream,
            Args... args) {
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const dim3 grid(static_cast<unsigned>(shape.batch * shape.heads),
                  static_cast<unsigned>(ceil_div(shape.seq, rows)));
  kernel<<<grid, kThreads, bytes, stream>>>(args..., geometry_of(shape));
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <int kRowTiles, int kHeadSize, int kBlocks>
void launch_forward(bf16* out, float* lse, const bf16* qkv, const AttentionShape& shape,
                    cudaStream_t stream) {
  constexpr int kRows = kWarps * 16 * kRowTiles;
  launch(attention_forward_kernel<kRowTiles, kHeadSize, kBlocks>, shape, kRows,
         shared_bytes<kHeadSize>(kRows), stream, out, lse, qkv);
}

template <int kRowTiles, int kHeadSize, int kBlocks, bool kOfKeys>
void launch_gradient(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out, const float* lse,
                     float* row_dots, const AttentionShape& shape, cudaStream_t stream) {
  constexpr int kRows = kWarps * 16 * kRowTiles;
  launch(attention_gradient_kernel<kRowTiles, kHeadSize, kBlocks, kOfKeys>, shape, kRows,
         shared_bytes<kHeadSize>(2 * kRows), stream, dqkv, row_dots, dout, qkv, out, lse);
}

// More rows per warp halve the shared-memory reads per product; registers allow it for small heads only.
// The second figure is the number of blocks a multiprocessor must be able to hold.
template <int kHeadSize>
void forward(bf16* out, float* lse, const bf16* qkv, const AttentionShape& shape, cudaStream_t stream) {
  launch_forward<kHeadSize <= 64 ? 2 : 1, kHeadSize, 2>(out, lse, qkv, shape, stream);
}

template <int kHeadSize>
void backward(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out, const float* lse,
              float* row_dots, const AttentionShape& shape, cudaStream_t stream) {
  launch_gradient<kHeadSize <= 64 ? 2 : 1, kHeadSize, 2, false>(dqkv, dout, qkv, out, lse, row_dots, shape,
                                                                stream);
  launch_gradient<1, kHeadSize, kHeadSize <= 64 ? 3 : 2, true>(dqkv, dout, qkv, out, lse, row_dots, shape,
                                                               stream);
}

}  // namespace

bool attention_tensor_supports(int head_size) {
  return head_size == 32 || head_size == 64 || head_size == 80 || head_size == 128;
}

void attention_forward_tensor(bf16* out, float* lse, const bf16* qkv, const AttentionShape& shape,
                              cudaStream_t stream) {
  switch (shape.head_size) {
    case 32:
      return forward<32>(out, lse, qkv, shape, stream);
    case 64:
      return forward<64>(out, lse, qkv, shape, stream);
    case 80:
      return forward<80>(out, lse, qkv, shape, stream);
    default:
      return forward<128>(out, lse, qkv, shape, stream);
  }
}

void attention_backward_tensor(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out,
                               const float* lse, float* row_dots, const AttentionShape& shape,
                               cudaStream_t stream) {
  switch (shape.head_size) {
    case 32:
      return backward<32>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
    case 64:
      return backward<64>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
    case 80:
      return backward<80>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
    default:
      return backward<128>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
  }
}

}  // namespace ridgeline::gpt2::detail
