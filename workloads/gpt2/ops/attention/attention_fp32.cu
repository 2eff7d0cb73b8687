// attention_fp32.cu: causal flash attention on the FP32 pipe
// shapes  qkv,dqkv (B,T,3,NH,HS) T; out,dout (B,T,NH,HS) T; lse,row_dots (B,NH,T) FP32; any T, 1 <= HS <= 128
// bytes   forward B*T*NH*(4*HS*sizeof(T) + 4), backward B*T*NH*(8*HS*sizeof(T) + 4), were every tile in cache
// flops   forward 2*B*NH*T*(T+1)*HS, backward 5*B*NH*T*(T+1)*HS (seven products are formed)
// check   |gpu-ref| <= 4*eps(T)*scale of the tensor; a non-finite mismatch fails
// bound   FP32 pipe
//
// Tiles of 64 rows x 64 columns in shared memory, as FP32; 256 threads as 16 x 16. Thread (y, x) owns rows
// 4y..4y+3, of a score tile the columns x, x+16, x+32, x+48, of an output tile 4 columns at 4x + 64j. So a
// row of scores lives in half a warp: softmax sums are shuffles, and a score tile passed through shared
// memory is read by the half-warp that wrote it. Backward runs one kernel twice, with blocks that own query tiles (dq)
// and with blocks that own key tiles (dk, dv): scores are formed twice, but nothing is added with atomics.
#include <cmath>

#include "gpt2/common/launch.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/attention/attention_kernels.h"

namespace ridgeline::gpt2::detail {
namespace {

constexpr int kTile = 64;
constexpr int kThreads = 256;
constexpr int kLanes = 16;  // threads that share a row
constexpr int kRows = kTile / kLanes;
constexpr int kScoreStride = kTile + 4;  // words; the pad keeps 16-byte reads of consecutive rows apart

// Head sizes are padded with zeros to kPadded = 64 or 128.
template <int kPadded>
constexpr int kStride = kPadded + 4;
template <int kPadded>
constexpr int kTileFloats = kTile* kStride<kPadded>;
constexpr int kScoreFloats = kTile * kScoreStride;

struct Geometry {
  int seq;
  int heads;
  int head_size;
  float scale;

  // Elements from one position to the next, in qkv and in out.
  __device__ std::int64_t qkv_stride() const { return 3LL * heads * head_size; }
  __device__ std::int64_t out_stride() const { return static_cast<std::int64_t>(heads) * head_size; }
  // First element of q (which = 0), k (1), v (2) of position 0.
  __device__ std::int64_t qkv_base(int b, int h, int which) const {
    return b * seq * qkv_stride() + (static_cast<std::int64_t>(which) * heads + h) * head_size;
  }
  __device__ std::int64_t out_base(int b, int h) const {
    return b * seq * out_stride() + static_cast<std::int64_t>(h) * head_size;
  }
};

// Rows row0.. of a (T, HS) matrix into shared memory; rows >= seq and columns >= HS become 0.
template <typename T, int kPadded>
__device__ inline void load_tile(float* tile, const T* base, std::int64_t stride, int row0,
                                 const Geometry& geometry) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kPadded; i += kThreads) {
    const int row = i / kPadded;
    const int column = i % kPadded;
    const bool live = row0 + row < geometry.seq && column < geometry.head_size;
    tile[row * kStride<kPadded> + column] = live ? to_float(base[(row0 + row) * stride + column]) : 0.0F;
  }
}

// acc[i][j] = a[4y+i] . b[x+16j] over the head dimension.
template <int kPadded>
__device__ inline void dot_rows(float (&acc)[kRows][kRows], const float* a, const float* b, int y, int x) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kRows; ++j) acc[i][j] = 0.0F;
  }
#pragma unroll 4
  for (int d = 0; d < kPadded; d += 4) {
    float4 av[kRows];
    float4 bv[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      av[i] = *reinterpret_cast<const float4*>(a + (kRows * y + i) * kStride<kPadded> + d);
      bv[i] = *reinterpret_cast<const float4*>(b + (x + kLanes * i) * kStride<kPadded> + d);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        acc[i][j] += av[i].x * bv[j].x + av[i].y * bv[j].y + av[i].z * bv[j].z + av[i].w * bv[j].w;
      }
    }
  }
}

// An output tile's share of a thread: rows 4y+i, columns 4x + 64j + e.
template <int kPadded>
using Accumulator = float[kRows][kPadded / kTile][4];

// acc += scores (64 x 64, rows 4y+i) * b (64 x HS).
template <int kPadded>
__device__ inline void add_gemm(Accumulator<kPadded>& acc, const float* scores, const float* b, int y,
                                int x) {
#pragma unroll 2
  for (int k = 0; k < kTile; k += 4) {
    float4 s[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      s[i] = *reinterpret_cast<const float4*>(scores + (kRows * y + i) * kScoreStride + k);
    }
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
#pragma unroll
      for (int j = 0; j < kPadded / kTile; ++j) {
        const float4 bv =
            *reinterpret_cast<const float4*>(b + (k + kk) * kStride<kPadded> + 4 * x + kTile * j);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const float si = kk == 0 ? s[i].x : kk == 1 ? s[i].y : kk == 2 ? s[i].z : s[i].w;
          acc[i][j][0] += si * bv.x;
          acc[i][j][1] += si * bv.y;
          acc[i][j][2] += si * bv.z;
          acc[i][j][3] += si * bv.w;
        }
      }
    }
  }
}

__device__ inline void store_scores(float* scores, const float (&values)[kRows][kRows], int y, int x) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      scores[(kRows * y + i) * kScoreStride + x + kLanes * j] = values[i][j];
    }
  }
}

template <typename T, int kPadded>
__device__ inline void store_tile(T* base, std::int64_t stride, const Accumulator<kPadded>& acc,
                                  const float (&factor)[kRows], int row0, int y, int x,
                                  const Geometry& geometry) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int row = row0 + kRows * y + i;
    if (row >= geometry.seq) continue;
#pragma unroll
    for (int j = 0; j < kPadded / kTile; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = 4 * x + kTile * j + e;
        if (column < geometry.head_size) {
          base[row * stride + column] = from_float<T>(acc[i][j][e] * factor[i]);
        }
      }
    }
  }
}

__device__ inline float half_warp_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullMask, value, offset);
  return value;
}
__device__ inline float half_warp_max(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kFullMask, value, offset));
  }
  return value;
}

template <typename T, int kPadded>
__global__ void __launch_bounds__(kThreads)
    attention_forward_kernel(T* out, float* lse, const T* qkv, Geometry geometry) {
  extern __shared__ float storage[];
  float* q = storage;
  float* k = q + kTileFloats<kPadded>;
  float* v = k + kTileFloats<kPadded>;
  float* scores = v + kTileFloats<kPadded>;
  const int x = static_cast<int>(threadIdx.x) % kLanes;
  const int y = static_cast<int>(threadIdx.x) / kLanes;
  const int b = static_cast<int>(blockIdx.x) / geometry.heads;
  const int h = static_cast<int>(blockIdx.x) % geometry.heads;
  // The longest rows first, so that the grid's tail is short.
  const int tile = static_cast<int>(gridDim.y - 1 - blockIdx.y);
  const int row0 = tile * kTile;

  load_tile<T, kPadded>(q, qkv + geometry.qkv_base(b, h, 0), geometry.qkv_stride(), row0, geometry);
  float largest[kRows];
  float sum[kRows];
  Accumulator<kPadded> acc = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    largest[i] = -INFINITY;
    sum[i] = 0.0F;
  }
  for (int other = 0; other <= tile; ++other) {
    __syncthreads();  // all are done with the previous k and v
    load_tile<T, kPadded>(k, qkv + geometry.qkv_base(b, h, 1), geometry.qkv_stride(), other * kTile,
                          geometry);
    load_tile<T, kPadded>(v, qkv + geometry.qkv_base(b, h, 2), geometry.qkv_stride(), other * kTile,
                          geometry);
    __syncthreads();
    float s[kRows][kRows];
    dot_rows<kPadded>(s, q, k, y, x);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float row_max = largest[i];
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        const bool visible = other * kTile + x + kLanes * j <= row0 + kRows * y + i;
        s[i][j] = visible ? s[i][j] * geometry.scale : -INFINITY;
        row_max = fmaxf(row_max, s[i][j]);
      }
      row_max = half_warp_max(row_max);
      const float correction = expf(largest[i] - row_max);
      largest[i] = row_max;
      float part = 0.0F;
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        s[i][j] = expf(s[i][j] - row_max);
        part += s[i][j];
      }
      sum[i] = sum[i] * correction + half_warp_sum(part);
#pragma unroll
      for (int j = 0; j < kPadded / kTile; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[i][j][e] *= correction;
      }
    }
    __syncwarp();  // the half-warp has read its previous scores
    store_scores(scores, s, y, x);
    __syncwarp();
    add_gemm<kPadded>(acc, scores, v, y, x);
  }
  float factor[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    factor[i] = 1.0F / sum[i];
    const int row = row0 + kRows * y + i;
    if (lse != nullptr && x == 0 && row < geometry.seq) {
      lse[static_cast<std::int64_t>(blockIdx.x) * geometry.seq + row] = largest[i] + logf(sum[i]);
    }
  }
  store_tile<T, kPadded>(out + geometry.out_base(b, h), geometry.out_stride(), acc, factor, row0, y, x,
                         geometry);
}

// dout . out of the rows that a half-warp owns, into dots and row_dots, which is the head's.
template <typename T, int kPadded>
__device__ inline void dot_outputs(float (&dots)[kRows], float* row_dots, const float* d_out, const T* out,
                                   int row0, int y, int x, const Geometry& geometry) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int local = kRows * y + i;
    const int row = row0 + local;
    float part = 0.0F;
    if (row < geometry.seq) {
      for (int c = x; c < geometry.head_size; c += kLanes) {
        part += d_out[local * kStride<kPadded> + c] * to_float(out[row * geometry.out_stride() + c]);
      }
    }
    dots[i] = half_warp_sum(part);
    if (x == 0 && row < geometry.seq) row_dots[row] = dots[i];
  }
}

// From scores to probabilities, and from the gradients of probabilities to those of scores. Statistics are of the rows,
// or of the columns if those are the queries.
template <bool kOfKeys>
__device__ __forceinline__ void gradients_of_scores(float (&s)[kRows][kRows], float (&dp)[kRows][kRows],
                                                    const float (&log_sum)[kRows], const float (&dot)[kRows],
                                                    int row0, int column0, const Geometry& geometry) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const int row = row0 + i;
      const int column = column0 + kLanes * j;
      const bool visible = kOfKeys ? row <= column && column < geometry.seq : column <= row;
      const int query = kOfKeys ? j : i;
      const float p = visible ? expf(s[i][j] * geometry.scale - log_sum[query]) : 0.0F;
      s[i][j] = p;
      dp[i][j] = p * (dp[i][j] - dot[query]);
    }
  }
}

// Owns a tile of queries: dq, and row_dots for the other one. Or (kOfKeys) a tile of keys: dk and dv; rows of scores
// are keys then, and columns queries. Either way a block has two tiles, q and dout or k and v, past which the other
// two stream: scores and the gradients of probabilities are their dot products, first by first and second by second.
template <typename T, int kPadded, bool kOfKeys>
__global__ void __launch_bounds__(kThreads, kPadded == 64 ? 2 : 1)  // as many as shared memory has room for
    attention_gradient_kernel(T* dqkv, float* row_dots, const T* dout, const T* qkv, const T* out,
                              const float* lse, Geometry geometry) {
  extern __shared__ float storage[];
  float* first = storage;
  float* second = first + kTileFloats<kPadded>;
  float* streamed_first = second + kTileFloats<kPadded>;
  float* streamed_second = streamed_first + kTileFloats<kPadded>;
  float* gradients = streamed_second + kTileFloats<kPadded>;
  [[maybe_unused]] float* probabilities = gradients + kScoreFloats;
  const int x = static_cast<int>(threadIdx.x) % kLanes;
  const int y = static_cast<int>(threadIdx.x) / kLanes;
  const int b = static_cast<int>(blockIdx.x) / geometry.heads;
  const int h = static_cast<int>(blockIdx.x) % geometry.heads;
  // The most work first: the last queries see the most keys, the first keys are seen by the most queries.
  const int tiles = static_cast<int>(gridDim.y);
  const int tile = static_cast<int>(kOfKeys ? blockIdx.y : gridDim.y - 1 - blockIdx.y);
  const int row0 = tile * kTile;
  const std::int64_t statistics = static_cast<std::int64_t>(blockIdx.x) * geometry.seq;

  const auto load_part = [&](float* to, int which, int from) {
    load_tile<T, kPadded>(to, qkv + geometry.qkv_base(b, h, which), geometry.qkv_stride(), from, geometry);
  };
  const auto load_queries = [&](float* q, float* d_out, int from) {
    load_part(q, 0, from);
    load_tile<T, kPadded>(d_out, dout + geometry.out_base(b, h), geometry.out_stride(), from, geometry);
  };
  const auto load_keys = [&](float* k, float* v, int from) {
    load_part(k, 1, from);
    load_part(v, 2, from);
  };
  float dot[kRows];  // of the queries 4y + i, or x + 16j
  float log_sum[kRows];
  if constexpr (kOfKeys) {
    load_keys(first, second, row0);
  } else {
    load_queries(first, second, row0);
    __syncthreads();
    dot_outputs<T, kPadded>(dot, row_dots + statistics, second, out + geometry.out_base(b, h), row0, y, x,
                            geometry);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = row0 + kRows * y + i;
      log_sum[i] = row < geometry.seq ? lse[statistics + row] : 0.0F;
    }
  }
  Accumulator<kPadded> of_first = {};  // dq, or dk
  [[maybe_unused]] Accumulator<kPadded> of_second = {};
  for (int other = kOfKeys ? tile : 0; other < (kOfKeys ? tiles : tile + 1); ++other) {
    __syncthreads();
    if constexpr (kOfKeys) {
      load_queries(streamed_first, streamed_second, other * kTile);
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        const int query = other * kTile + x + kLanes * j;
        log_sum[j] = query < geometry.seq ? lse[statistics + query] : 0.0F;
        dot[j] = query < geometry.seq ? row_dots[statistics + query] : 0.0F;
      }
    } else {
      load_keys(streamed_first, streamed_second, other * kTile);
    }
    __syncthreads();
    float s[kRows][kRows];
    float dp[kRows][kRows];
    dot_rows<kPadded>(s, first, streamed_first, y, x);
    dot_rows<kPadded>(dp, second, streamed_second, y, x);
    gradients_of_scores<kOfKeys>(s, dp, log_sum, dot, row0 + kRows * y, other * kTile + x, geometry);
    __syncwarp();
    if constexpr (kOfKeys) store_scores(probabilities, s, y, x);
    store_scores(gradients, dp, y, x);
    __syncwarp();
    if constexpr (kOfKeys) add_gemm<kPadded>(of_second, probabilities, streamed_second, y, x);
    add_gemm<kPadded>(of_first, gradients, streamed_first, y, x);
  }
  const auto store = [&](int which, const Accumulator<kPadded>& acc, float factor) {
    const float factors[kRows] = {factor, factor, factor, factor};
    store_tile<T, kPadded>(dqkv + geometry.qkv_base(b, h, which), geometry.qkv_stride(), acc, factors, row0,
                           y, x, geometry);
  };
  store(kOfKeys ? 1 : 0, of_first, geometry.scale);
  if constexpr (kOfKeys) store(2, of_second, 1.0F);
}

template <typename Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  RIDGELINE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

Geometry geometry_of(const AttentionShape& shape) {
  return {shape.seq, shape.heads, shape.head_size, 1.0F / std::sqrt(static_cast<float>(shape.head_size))};
}

dim3 grid_of(const AttentionShape& shape) {
  return {static_cast<unsigned>(shape.batch * shape.heads),
          static_cast<unsigned>(ceil_div(shape.seq, kTile))};
}

template <typename T, int kPadded>
void forward(T* out, float* lse, const T* qkv, const AttentionShape& shape, cudaStream_t stream) {
  constexpr std::size_t kBytes = (3 * kTileFloats<kPadded> + kScoreFloats) * sizeof(float);
  auto* kernel = attention_forward_kernel<T, kPadded>;
  allow_shared(kernel, kBytes);
  kernel<<<grid_of(shape), kThreads, kBytes, stream>>>(out, lse, qkv, geometry_of(shape));
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <bool kOfKeys, typename T, int kPadded>
void launch_gradient(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse, float* row_dots,
                     const AttentionShape& shape, cudaStream_t stream) {
  constexpr std::size_t kBytes =
      (4 * kTileFloats<kPadded> + (kOfKeys ? 2 : 1) * kScoreFloats) * sizeof(float);
  auto* kernel = attention_gradient_kernel<T, kPadded, kOfKeys>;
  allow_shared(kernel, kBytes);
  kernel<<<grid_of(shape), kThreads, kBytes, stream>>>(dqkv, row_dots, dout, qkv, out, lse,
                                                       geometry_of(shape));
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T, int kPadded>
void backward(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse, float* row_dots,
              const AttentionShape& shape, cudaStream_t stream) {
  launch_gradient<false, T, kPadded>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
  launch_gradient<true, T, kPadded>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
}

}  // namespace

template <typename T>
void attention_forward_fp32(T* out, float* lse, const T* qkv, const AttentionShape& shape,
                            cudaStream_t stream) {
  if (shape.head_size <= 64) {
    forward<T, 64>(out, lse, qkv, shape, stream);
  } else {
    forward<T, 128>(out, lse, qkv, shape, stream);
  }
}

template <typename T>
void attention_backward_fp32(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse,
                             float* row_dots, const AttentionShape& shape, cudaStream_t stream) {
  if (shape.head_size <= 64) {
    backward<T, 64>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
  } else {
    backward<T, 128>(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
  }
}

template void attention_forward_fp32(float*, float*, const float*, const AttentionShape&, cudaStream_t);
template void attention_forward_fp32(bf16*, float*, const bf16*, const AttentionShape&, cudaStream_t);
template void attention_backward_fp32(float*, const float*, const float*, const float*, const float*, float*,
                                      const AttentionShape&, cudaStream_t);
template void attention_backward_fp32(bf16*, const bf16*, const bf16*, const bf16*, const float*, float*,
                                      const AttentionShape&, cudaStream_t);

}  // namespace ridgeline::gpt2::detail
