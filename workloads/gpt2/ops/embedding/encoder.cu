// encoder.cu: out[b,t,:] = wte[tokens[b,t],:] + wpe[t,:], and its gradients
// shapes  out,dout (B,T,C) T; tokens (B,T) int32; wte (Vp,C), wpe (maxT,C) T; dwte,dwpe FP32
// bytes   forward B*T*C*sizeof(T) + C*(distinct tokens + T)*sizeof(T) + 4*B*T
//         backward B*T*C*sizeof(T) + 8*C*(distinct tokens + T) + 4*B*T
// flops   forward B*T*C, backward 2*B*T*C
// check   forward half an ulp of T; gradients 1e-5 of the sum of magnitudes; a non-finite mismatch fails
// bound   DRAM
//
// Backward, atomic: one kernel reads dout once; a thread owns (t, 4 columns), walks the batch, adds to dwte
// with 16-byte FP32 atomics and to its own dwpe elements without any.
// Backward, deterministic: the positions are sorted by token on the device (CUB's radix sort, which is stable), each
// block adds the runs of equal tokens in its tile of the sorted order, and runs that cross a tile's boundary
// are completed from the tiles' partial sums in tile order. No host work, no long serial run for frequent
// tokens.
#define CCCL_DISABLE_NVTX  // CUB's ranges would stand among the model's
#include <cub/device/device_radix_sort.cuh>
#include <stdexcept>
#include <string>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/embedding/encoder.h"

namespace ridgeline::gpt2 {

template <typename Real>
void encoder_forward_cpu(Real* out, const std::int32_t* tokens, const Real* wte, const Real* wpe, int batch,
                         int seq, int channels) {
  for (std::int64_t i = 0; i < std::int64_t{batch} * seq; ++i) {
    const std::int64_t t = i % seq;
    for (int c = 0; c < channels; ++c) {
      out[i * channels + c] = wte[std::int64_t{tokens[i]} * channels + c] + wpe[t * channels + c];
    }
  }
}

template <typename Real>
void encoder_backward_cpu(Real* dwte, Real* dwpe, const Real* dout, const std::int32_t* tokens, int batch,
                          int seq, int channels) {
  for (std::int64_t i = 0; i < std::int64_t{batch} * seq; ++i) {
    const std::int64_t t = i % seq;
    for (int c = 0; c < channels; ++c) {
      dwte[std::int64_t{tokens[i]} * channels + c] += dout[i * channels + c];
      dwpe[t * channels + c] += dout[i * channels + c];
    }
  }
}

namespace {

constexpr int kBlock = 256;

// One thread: kVector columns of one position. kVector is 16 bytes' worth, or 1.
template <typename T, int kVector>
__global__ void __launch_bounds__(kBlock)
    encoder_forward_kernel(T* out, const std::int32_t* tokens, const T* wte, const T* wpe, std::int64_t n,
                           int seq, int vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n * vectors) return;
  const std::int64_t position = i / vectors;
  const std::int64_t column = (i - position * vectors) * kVector;
  const std::int64_t channels = static_cast<std::int64_t>(vectors) * kVector;
  const T* token_row = wte + tokens[position] * channels + column;
  const T* position_row = wpe + (position % seq) * channels + column;
  if constexpr (kVector == 1) {
    out[i] = from_float<T>(to_float(*token_row) + to_float(*position_row));
  } else {
    float a[kVector];
    float b[kVector];
    unpack(load128(token_row), a);
    unpack(load128(position_row), b);
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[k] += b[k];
    store128(out + i * kVector, pack<T>(a));
  }
}

// kVector consecutive columns of T as floats; kVector is 4 or 1.
template <int kVector>
__device__ inline void load_columns(float (&values)[kVector], const float* address) {
  if constexpr (kVector == 4) {
    const float4 v = *reinterpret_cast<const float4*>(address);
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
    values[3] = v.w;
  } else {
    values[0] = *address;
  }
}
template <int kVector>
__device__ inline void load_columns(float (&values)[kVector], const bf16* address) {
  if constexpr (kVector == 4) {
    const uint2 bits = *reinterpret_cast<const uint2*>(address);
    values[0] = __uint_as_float(bits.x << 16);
    values[1] = __uint_as_float(bits.x & 0xffff0000U);
    values[2] = __uint_as_float(bits.y << 16);
    values[3] = __uint_as_float(bits.y & 0xffff0000U);
  } else {
    values[0] = to_float(*address);
  }
}
template <int kVector>
__device__ inline void add_columns(float* address, const float (&values)[kVector]) {
  if constexpr (kVector == 4) {
    float4 v = *reinterpret_cast<float4*>(address);
    v.x += values[0];
    v.y += values[1];
    v.z += values[2];
    v.w += values[3];
    *reinterpret_cast<float4*>(address) = v;
  } else {
    *address += values[0];
  }
}
template <int kVector>
__device__ inline void add_columns_atomic(float* address, const float (&values)[kVector]) {
  if constexpr (kVector == 4) {
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float4*>(address), make_float4(values[0], values[1], values[2], values[3]));
#else
#pragma unroll
    for (int k = 0; k < kVector; ++k) atomicAdd(address + k, values[k]);
#endif
  } else {
    atomicAdd(address, values[0]);
  }
}

// A thread owns (t, kVector columns) and walks the batch: dwpe needs no atomics. kWte: also add to dwte.
constexpr int kBatchUnroll = 8;
template <typename T, int kVector, bool kWte>
__global__ void __launch_bounds__(kBlock)
    position_gradient_kernel(float* dwte, float* dwpe, const T* dout, const std::int32_t* tokens, int batch,
                             int seq, int vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= static_cast<std::int64_t>(seq) * vectors) return;
  const std::int64_t t = i / vectors;
  const std::int64_t column = (i - t * vectors) * kVector;
  const std::int64_t channels = static_cast<std::int64_t>(vectors) * kVector;
  float sum[kVector] = {};
  for (int b0 = 0; b0 < batch; b0 += kBatchUnroll) {
    float values[kBatchUnroll][kVector] = {};
    std::int32_t token[kBatchUnroll];
#pragma unroll
    for (int u = 0; u < kBatchUnroll; ++u) {
      if (b0 + u < batch) {
        const std::int64_t position = static_cast<std::int64_t>(b0 + u) * seq + t;
        load_columns<kVector>(values[u], dout + position * channels + column);
        if constexpr (kWte) token[u] = tokens[position];
      }
    }
#pragma unroll
    for (int u = 0; u < kBatchUnroll; ++u) {
      if (b0 + u < batch) {
#pragma unroll
        for (int k = 0; k < kVector; ++k) sum[k] += values[u][k];
        if constexpr (kWte) add_columns_atomic<kVector>(dwte + token[u] * channels + column, values[u]);
      }
    }
  }
  add_columns<kVector>(dwpe + t * channels + column, sum);
}

// --- Deterministic path: positions sorted by token ---

constexpr int kTokenBits = 16;

__global__ void __launch_bounds__(kBlock) count_kernel(std::int32_t* positions, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < n) positions[i] = static_cast<std::int32_t>(i);
}

// Asked for its bytes, with null, it sorts nothing.
std::size_t sort(void* memory, std::size_t bytes, const std::int32_t* keys, std::int32_t* sorted_keys,
                 const std::int32_t* values, std::int32_t* sorted_values, std::int64_t n,
                 cudaStream_t stream) {
  RIDGELINE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values,
                                                       sorted_values, n, 0, kTokenBits, stream));
  return bytes;
}

constexpr int kRunTile = 32;  // sorted positions a block adds up

// Blocks: (tile of the sorted order, chunk of columns). A run inside the tile goes to dwte; the part of a run
// that crosses the tile's left (right) boundary goes to heads (tails), (tiles, C) each. A run that covers the
// whole tile and crosses both boundaries goes to heads.
template <typename T, int kVector>
__global__ void __launch_bounds__(kBlock)
    run_sum_kernel(float* dwte, float* heads, float* tails, const T* dout, const std::int32_t* keys,
                   const std::int32_t* positions, std::int64_t n, int vectors) {
  const int vector = static_cast<int>(blockIdx.y) * kBlock + static_cast<int>(threadIdx.x);
  if (vector >= vectors) return;
  const std::int64_t channels = static_cast<std::int64_t>(vectors) * kVector;
  const std::int64_t column = static_cast<std::int64_t>(vector) * kVector;
  const std::int64_t tile = blockIdx.x;
  const std::int64_t begin = tile * kRunTile;
  const std::int64_t end = begin + kRunTile < n ? begin + kRunTile : n;
  const bool open_left = begin > 0 && keys[begin - 1] == keys[begin];
  const bool open_right = end < n && keys[end - 1] == keys[end];

  float sum[kVector] = {};
  std::int64_t run_start = begin;
  constexpr int kUnroll = 8;
  for (std::int64_t i0 = begin; i0 < end; i0 += kUnroll) {
    float values[kUnroll][kVector] = {};
    std::int32_t key[kUnroll + 1];
#pragma unroll
    for (int u = 0; u <= kUnroll; ++u) key[u] = i0 + u < end ? keys[i0 + u] : -1;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (i0 + u < end) load_columns<kVector>(values[u], dout + positions[i0 + u] * channels + column);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (i0 + u < end) {
#pragma unroll
        for (int k = 0; k < kVector; ++k) sum[k] += values[u][k];
        if (key[u + 1] != key[u]) {  // the run ends here, or the tile does
          const bool crosses_left = run_start == begin && open_left;
          const bool crosses_right = i0 + u + 1 == end && open_right;
          float* target = dwte + key[u] * channels + column;
          if (crosses_left) {
            target = heads + tile * channels + column;
          } else if (crosses_right) {
            target = tails + tile * channels + column;
          }
          if (crosses_left || crosses_right) {
#pragma unroll
            for (int k = 0; k < kVector; ++k) target[k] = sum[k];
          } else {
            // Nobody else adds to this row, so the result is exact; an atomic only because, unlike a load and
            // a store, nothing waits for it.
            add_columns_atomic<kVector>(target, sum);
          }
#pragma unroll
          for (int k = 0; k < kVector; ++k) sum[k] = 0.0F;
          run_start = i0 + u + 1;
        }
      }
    }
  }
}

// The block of the tile where a crossing run begins completes it: its tail, then the heads of the tiles that
// follow, in order.
template <int kVector>
__global__ void __launch_bounds__(kBlock)
    run_complete_kernel(float* dwte, const float* heads, const float* tails, const std::int32_t* keys,
                        std::int64_t n, int vectors) {
  const int vector = static_cast<int>(blockIdx.y) * kBlock + static_cast<int>(threadIdx.x);
  if (vector >= vectors) return;
  const std::int64_t tile = blockIdx.x;
  const std::int64_t begin = tile * kRunTile;
  const std::int64_t end = begin + kRunTile;
  if (end >= n || keys[end - 1] != keys[end]) return;  // no run crosses the right boundary
  const std::int32_t key = keys[end];
  const bool begins_here = begin == 0 || keys[begin - 1] != key || keys[begin] != key;
  if (!begins_here) return;
  const std::int64_t channels = static_cast<std::int64_t>(vectors) * kVector;
  const std::int64_t column = static_cast<std::int64_t>(vector) * kVector;
  float sum[kVector];
  load_columns<kVector>(sum, tails + tile * channels + column);
  for (std::int64_t next = tile + 1; next * kRunTile < n && keys[next * kRunTile] == key; ++next) {
    float values[kVector];
    load_columns<kVector>(values, heads + next * channels + column);
#pragma unroll
    for (int k = 0; k < kVector; ++k) sum[k] += values[k];
  }
  add_columns<kVector>(dwte + key * channels + column, sum);
}

// The deterministic path's scratch, in this order; every part is a multiple of 16 bytes.
struct SortScratch {
  std::int32_t* counted;    // 0, 1, 2, ...
  std::int32_t* keys;       // sorted
  std::int32_t* positions;  // of the same
  float* heads;
  float* tails;
  char* sort;
  std::size_t sort_bytes;
  std::int64_t bytes;
};

SortScratch carve_scratch(void* base, std::int64_t n, std::int64_t channels) {
  SortScratch scratch{};
  auto* bytes = static_cast<char*>(base);
  const auto take = [&]<typename E>(E*& part, std::int64_t size) {
    if (base != nullptr) part = reinterpret_cast<E*>(bytes + scratch.bytes);
    scratch.bytes += ceil_div(size, 16) * 16;
  };
  const std::int64_t index_bytes = n * std::int64_t{sizeof(std::int32_t)};
  const std::int64_t partial_bytes = ceil_div(n, kRunTile) * channels * std::int64_t{sizeof(float)};
  take(scratch.counted, index_bytes);
  take(scratch.keys, index_bytes);
  take(scratch.positions, index_bytes);
  take(scratch.heads, partial_bytes);
  take(scratch.tails, partial_bytes);
  scratch.sort_bytes = sort(nullptr, 0, nullptr, nullptr, nullptr, nullptr, n, nullptr);
  take(scratch.sort, static_cast<std::int64_t>(scratch.sort_bytes));
  return scratch;
}

void sort_positions(const SortScratch& scratch, const std::int32_t* tokens, std::int64_t n,
                    cudaStream_t stream) {
  count_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(scratch.counted, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  sort(scratch.sort, scratch.sort_bytes, tokens, scratch.keys, scratch.counted, scratch.positions, n, stream);
}

template <typename T, int kVector>
void backward_planned(float* dwte, float* dwpe, const T* dout, const std::int32_t* tokens, int batch, int seq,
                      int channels, EncoderBackward mode, void* scratch, cudaStream_t stream) {
  const int vectors = channels / kVector;
  const std::int64_t n = std::int64_t{batch} * seq;
  const auto position_blocks = static_cast<unsigned>(ceil_div(std::int64_t{seq} * vectors, kBlock));
  if (mode == EncoderBackward::atomic) {
    position_gradient_kernel<T, kVector, true>
        <<<position_blocks, kBlock, 0, stream>>>(dwte, dwpe, dout, tokens, batch, seq, vectors);
    RIDGELINE_CUDA_CHECK_LAUNCH();
    return;
  }
  const SortScratch parts = carve_scratch(scratch, n, channels);
  sort_positions(parts, tokens, n, stream);
  position_gradient_kernel<T, kVector, false>
      <<<position_blocks, kBlock, 0, stream>>>(nullptr, dwpe, dout, nullptr, batch, seq, vectors);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  const dim3 grid(static_cast<unsigned>(ceil_div(n, kRunTile)),
                  static_cast<unsigned>(ceil_div(vectors, kBlock)));
  run_sum_kernel<T, kVector><<<grid, kBlock, 0, stream>>>(dwte, parts.heads, parts.tails, dout, parts.keys,
                                                          parts.positions, n, vectors);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  run_complete_kernel<kVector>
      <<<grid, kBlock, 0, stream>>>(dwte, parts.heads, parts.tails, parts.keys, n, vectors);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

template <typename T>
void launch_encoder_forward(T* out, const std::int32_t* tokens, const T* wte, const T* wpe, int batch,
                            int seq, int channels, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("encoder_forward", {encoder_forward_bytes<T>(batch, seq, channels, 1),
                                            encoder_forward_flops(batch, seq, channels)});
  const std::int64_t n = std::int64_t{batch} * seq;
  if (n <= 0) return;
  constexpr int kVector = kPackedSize<T>;
  if (width == KernelWidth::packed && channels % kVector == 0 && is_aligned_16(out) && is_aligned_16(wte) &&
      is_aligned_16(wpe)) {
    const auto blocks = static_cast<unsigned>(ceil_div(n * (channels / kVector), kBlock));
    encoder_forward_kernel<T, kVector>
        <<<blocks, kBlock, 0, stream>>>(out, tokens, wte, wpe, n, seq, channels / kVector);
  } else {
    const auto blocks = static_cast<unsigned>(ceil_div(n * channels, kBlock));
    encoder_forward_kernel<T, 1><<<blocks, kBlock, 0, stream>>>(out, tokens, wte, wpe, n, seq, channels);
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

std::int64_t encoder_backward_scratch_bytes(int batch, int seq, int channels, EncoderBackward mode) {
  if (mode == EncoderBackward::atomic) return 0;
  return carve_scratch(nullptr, std::int64_t{batch} * seq, channels).bytes;
}

template <typename T>
void launch_encoder_backward(float* dwte, float* dwpe, const T* dout, const std::int32_t* tokens, int batch,
                             int seq, int channels, int vocab, EncoderBackward mode, void* scratch,
                             cudaStream_t stream, KernelWidth width) {
  const std::int64_t n = std::int64_t{batch} * seq;
  const NvtxRange range("encoder_backward", {encoder_backward_bytes<T>(batch, seq, channels, 1),
                                             encoder_backward_flops(batch, seq, channels)});
  if (n <= 0) return;
  if (vocab > 65536) {
    throw std::invalid_argument("launch_encoder_backward: a vocabulary of " + std::to_string(vocab) +
                                " does not fit the 16 bits that tokens are sorted by");
  }
  const bool wide = width == KernelWidth::packed && channels % 4 == 0 && is_aligned_16(dwte) &&
                    is_aligned_16(dwpe) && is_aligned_16(dout);
  if (wide) {
    backward_planned<T, 4>(dwte, dwpe, dout, tokens, batch, seq, channels, mode, scratch, stream);
  } else {
    backward_planned<T, 1>(dwte, dwpe, dout, tokens, batch, seq, channels, mode, scratch, stream);
  }
}

#define RIDGELINE_INSTANTIATE(Real)                                                                       \
  template void encoder_forward_cpu(Real*, const std::int32_t*, const Real*, const Real*, int, int, int); \
  template void encoder_backward_cpu(Real*, Real*, const Real*, const std::int32_t*, int, int, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                                         \
  template void launch_encoder_forward<T>(T*, const std::int32_t*, const T*, const T*, int, int, int,    \
                                          cudaStream_t, KernelWidth);                                    \
  template void launch_encoder_backward<T>(float*, float*, const T*, const std::int32_t*, int, int, int, \
                                           int, EncoderBackward, void*, cudaStream_t, KernelWidth);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
