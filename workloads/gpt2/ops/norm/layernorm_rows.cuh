// layernorm_rows.cuh: what a warp does with a row of a layernorm, whatever type its result is stored as.
//
// A lane owns kChunks vectors of 16 bytes of every row: vector i begins at column (i * kWarpSize + lane) *
// kPackedSize<T> and is there where that is less than C. All lanes of a warp make these calls together. The
// kernels are tuned to their registers: a call less or more at this level is other machine code, by which the
// two walks of the backward pass stand in their kernels.
#pragma once

#include <stdexcept>
#include <string>

#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

/// Up to so many columns a lane keeps the weights in registers in the backward pass; of wider rows it reads
/// them again, from the cache.
inline constexpr int kMaxLayernormWeights = 32;

/// x = the row that begins at inp.
template <typename T, int kChunks>
__device__ __forceinline__ void load_layernorm_row(Packed<T> (&x)[kChunks], const T* inp, int channels,
                                                   int lane) {
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const int c = (i * kWarpSize + lane) * kPackedSize<T>;
    if (c < channels) x[i] = load128_streaming(inp + c);
  }
}

/// x += y, rounded and stored in the row that begins at residual.
template <typename T, int kChunks>
__device__ __forceinline__ void add_layernorm_rows(Packed<T> (&x)[kChunks], const Packed<T> (&y)[kChunks],
                                                   T* residual, int channels, int lane) {
  constexpr int kVector = kPackedSize<T>;
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const int c = (i * kWarpSize + lane) * kVector;
    if (c < channels) {
      float a[kVector];
      float b[kVector];
      unpack(x[i], a);
      unpack(y[i], b);
#pragma unroll
      for (int k = 0; k < kVector; ++k) a[k] += b[k];
      x[i] = pack<T>(a);
      store128_streaming(residual + c, x[i]);
    }
  }
}

struct LayernormStatistics {
  float mean;
  float rstd;
};

/// In two passes over the registers.
template <typename T, int kChunks>
__device__ __forceinline__ LayernormStatistics layernorm_statistics(Packed<T> (&x)[kChunks], int channels,
                                                                    int lane) {
  constexpr int kVector = kPackedSize<T>;
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    if ((i * kWarpSize + lane) * kVector < channels) {
      float v[kVector];
      unpack(x[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) sum += v[k];
      forget_conversions(x[i]);
    }
  }
  const float m = warp_sum(sum) / static_cast<float>(channels);
  float squares = 0.0F;
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    if ((i * kWarpSize + lane) * kVector < channels) {
      float v[kVector];
      unpack(x[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) squares += (v[k] - m) * (v[k] - m);
      forget_conversions(x[i]);
    }
  }
  return {m, rsqrtf(warp_sum(squares) / static_cast<float>(channels) + kLayernormEpsilon)};
}

/// v = one vector normalised, each value handed to `then`, which may change it. weight and bias are those of its
/// columns.
template <typename T, class Then>
__device__ __forceinline__ void normalise(float (&v)[kPackedSize<T>], const Packed<T>& x, const T* weight,
                                          const T* bias, const LayernormStatistics& of_row,
                                          const Then& then) {
  float w[kPackedSize<T>];
  float b[kPackedSize<T>];
  unpack(x, v);
  unpack(load128(weight), w);
  unpack(load128(bias), b);
#pragma unroll
  for (int k = 0; k < kPackedSize<T>; ++k) {
    v[k] = (v[k] - of_row.mean) * of_row.rstd * w[k] + b[k];
    then(v[k]);
  }
}

/// w = the weights of the lane's columns, zeros beyond the row.
template <typename T, int kChunks>
__device__ __forceinline__ void read_layernorm_weights(Packed<T> (&w)[kChunks], const T* weight, int channels,
                                                       int lane) {
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    const int c = (j * kWarpSize + lane) * kPackedSize<T>;
    w[j] = c < channels ? load128(weight + c) : Packed<T>{};
  }
}

// --- Host ---

template <class... Pointers>
bool all_aligned_16(const Pointers*... pointers) {
  return (is_aligned_16(pointers) && ...);
}

/// Calls run<n>() with the smallest of the counts, which ascend, that is at least `chunks`.
template <int... kCounts, class Run>
void with_layernorm_chunks(std::int64_t chunks, const Run& run) {
  static_cast<void>(((chunks <= kCounts && (run.template operator()<kCounts>(), true)) || ...));
}

/// What the launchers in FP8 promise to throw; `suitable`: the rest of what they need.
inline void check_layernorm_fp8(const char* what, std::int64_t rows, int channels, bool suitable) {
  if (suitable && layernorm_fp8_supported(rows, channels)) return;
  throw std::invalid_argument(std::string(what) + " (" + std::to_string(rows) + ", " +
                              std::to_string(channels) + "): sizes, alignment or options are not supported");
}

}  // namespace ridgeline::gpt2
