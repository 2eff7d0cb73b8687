// cross_entropy.cu: log-softmax, cross entropy and dlogits as three kernels
// shapes  logits,dlogits (N,Vp) T, log_probs (N,Vp) FP32, targets (N) int32, losses (N) FP32; columns >= V
//         are padding
// bytes   log-softmax N*V*(sizeof(T) + 4); loss 12*N; dlogits N*(4*V + Vp*sizeof(T) + 4)
// flops   5*N*V; N; 3*N*V
// check   log_probs |gpu-ref| <= 1e-5*(|ref|+1); dlogits |gpu-ref| <= (eps(T)/2 + 1e-4)*|ref| + 1e-5*dloss; a
//         non-finite mismatch fails
// bound   DRAM
//
// A block owns a row and walks it three times, for the maximum, the sum and the result: a row of GPT-2 comes
// from L2 the second and third time.
#include <cmath>
#include <limits>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/loss/cross_entropy.h"

namespace ridgeline::gpt2 {

template <typename Real>
void log_softmax_cpu(Real* log_probs, const Real* logits, std::int64_t rows, int vocab, int padded_vocab) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const Real* x = logits + n * padded_vocab;
    Real largest = x[0];
    for (int v = 1; v < vocab; ++v) largest = x[v] > largest ? x[v] : largest;
    Real sum{0};
    for (int v = 0; v < vocab; ++v) sum += std::exp(x[v] - largest);
    for (int v = 0; v < vocab; ++v) log_probs[n * padded_vocab + v] = x[v] - largest - std::log(sum);
  }
}

template <typename Real>
void cross_entropy_cpu(Real* losses, const Real* log_probs, const std::int32_t* targets, std::int64_t rows,
                       int vocab, int padded_vocab) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const bool valid = targets[n] >= 0 && targets[n] < vocab;
    losses[n] = valid ? -log_probs[n * padded_vocab + targets[n]] : std::numeric_limits<Real>::quiet_NaN();
  }
}

template <typename Real>
void cross_entropy_backward_cpu(Real* dlogits, const Real* log_probs, const std::int32_t* targets, Real dloss,
                                std::int64_t rows, int vocab, int padded_vocab) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const bool valid = targets[n] >= 0 && targets[n] < vocab;
    for (int v = 0; v < padded_vocab; ++v) {
      const std::int64_t i = n * padded_vocab + v;
      const Real onehot = v == targets[n] ? Real{1} : Real{0};
      dlogits[i] = v >= vocab ? Real{0}
                   : valid    ? dloss * (std::exp(log_probs[i]) - onehot)
                              : std::numeric_limits<Real>::quiet_NaN();
    }
  }
}

namespace {

constexpr int kRowBlock = 512;
constexpr int kBlock = 256;

// kVector consecutive elements as floats: 16 bytes at a time (aligned), or one element.
template <int kVector, typename T>
__device__ inline void load_values(float (&values)[kVector], const T* address) {
  if constexpr (kVector == 1) {
    values[0] = to_float(*address);
  } else {
    constexpr int kPack = kPackedSize<T>;
    static_assert(kVector % kPack == 0);
#pragma unroll
    for (int part = 0; part < kVector / kPack; ++part) {
      float some[kPack];
      unpack(load128(address + part * kPack), some);
#pragma unroll
      for (int k = 0; k < kPack; ++k) values[part * kPack + k] = some[k];
    }
  }
}
template <int kVector, typename T>
__device__ inline void store_values(T* address, const float (&values)[kVector]) {
  if constexpr (kVector == 1) {
    *address = from_float<T>(values[0]);
  } else {
    constexpr int kPack = kPackedSize<T>;
    static_assert(kVector % kPack == 0);
#pragma unroll
    for (int part = 0; part < kVector / kPack; ++part) {
      float some[kPack];
#pragma unroll
      for (int k = 0; k < kPack; ++k) some[k] = values[part * kPack + k];
      store128(address + part * kPack, pack<T>(some));
    }
  }
}

// kVector elements per access; more than 1 requires 16-byte aligned rows. A vector that reaches into the
// padding is read and written whole (it lies within the row), but its padding does not count.
template <typename T, int kVector>
__global__ void __launch_bounds__(kRowBlock)
    log_softmax_kernel(float* log_probs, const T* logits, int vocab, int padded_vocab) {
  __shared__ float shared_max[kRowBlock / kWarpSize];
  __shared__ float shared_sum[kRowBlock / kWarpSize];
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * padded_vocab;
  const T* row = logits + offset;
  const int first = static_cast<int>(threadIdx.x) * kVector;
  constexpr int kStride = kRowBlock * kVector;

  // The maximum passes over NaN; the sum of exponentials catches it.
  float largest = -INFINITY;
  for (int v = first; v < vocab; v += kStride) {
    float x[kVector];
    load_values<kVector>(x, row + v);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (v + k < vocab) largest = fmaxf(largest, x[k]);
    }
  }
  largest = block_max(largest, shared_max);
  float sum = 0.0F;
  for (int v = first; v < vocab; v += kStride) {
    float x[kVector];
    load_values<kVector>(x, row + v);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (v + k < vocab) sum += expf(x[k] - largest);
    }
  }
  const float log_sum = logf(block_sum(sum, shared_sum));
  for (int v = first; v < vocab; v += kStride) {
    float x[kVector];
    load_values<kVector>(x, row + v);
#pragma unroll
    for (int k = 0; k < kVector; ++k) x[k] = x[k] - largest - log_sum;
    store_values<kVector>(log_probs + offset + v, x);
  }
}

__global__ void __launch_bounds__(kBlock)
    cross_entropy_kernel(float* losses, const float* log_probs, const std::int32_t* targets,
                         std::int64_t rows, int vocab, int padded_vocab) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (n >= rows) return;
  const int target = targets[n];
  const bool valid = target >= 0 && target < vocab;
  losses[n] = valid ? -log_probs[n * padded_vocab + target] : NAN;
}

// Blocks: (row, stretch of columns).
template <typename T, int kVector>
__global__ void __launch_bounds__(kBlock)
    cross_entropy_backward_kernel(T* dlogits, const float* log_probs, const std::int32_t* targets,
                                  float dloss, int vocab, int padded_vocab) {
  const int v = (static_cast<int>(blockIdx.y) * kBlock + static_cast<int>(threadIdx.x)) * kVector;
  if (v >= padded_vocab) return;
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * padded_vocab + v;
  const int target = targets[blockIdx.x];
  const bool valid = target >= 0 && target < vocab;
  float x[kVector];
  load_values<kVector>(x, log_probs + offset);
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const float onehot = v + k == target ? 1.0F : 0.0F;
    const float d = valid ? dloss * (expf(x[k]) - onehot) : NAN;
    x[k] = v + k < vocab ? d : 0.0F;
  }
  store_values<kVector>(dlogits + offset, x);
}

template <typename T>
bool takes_packed(KernelWidth width, const T* narrow, const float* wide, int padded_vocab) {
  return width == KernelWidth::packed && padded_vocab % kPackedSize<T> == 0 && is_aligned_16(narrow) &&
         is_aligned_16(wide);
}

}  // namespace

template <typename T>
void launch_log_softmax(float* log_probs, const T* logits, std::int64_t rows, int vocab, int padded_vocab,
                        cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("log_softmax", {log_softmax_bytes<T>(rows, vocab), log_softmax_flops(rows, vocab)});
  if (rows <= 0) return;
  const auto run = [&](auto* kernel) {
    kernel<<<static_cast<unsigned>(rows), kRowBlock, 0, stream>>>(log_probs, logits, vocab, padded_vocab);
  };
  run(takes_packed(width, logits, log_probs, padded_vocab) ? log_softmax_kernel<T, kPackedSize<T>>
                                                           : log_softmax_kernel<T, 1>);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_cross_entropy(float* losses, const float* log_probs, const std::int32_t* targets,
                          std::int64_t rows, int vocab, int padded_vocab, cudaStream_t stream) {
  const NvtxRange range("cross_entropy", {cross_entropy_bytes(rows), cross_entropy_flops(rows)});
  if (rows <= 0) return;
  cross_entropy_kernel<<<static_cast<unsigned>(ceil_div(rows, kBlock)), kBlock, 0, stream>>>(
      losses, log_probs, targets, rows, vocab, padded_vocab);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_cross_entropy_backward(T* dlogits, const float* log_probs, const std::int32_t* targets,
                                   float dloss, std::int64_t rows, int vocab, int padded_vocab,
                                   cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("cross_entropy_backward", {cross_entropy_backward_bytes<T>(rows, vocab, padded_vocab),
                                                   cross_entropy_backward_flops(rows, vocab)});
  if (rows <= 0) return;
  const bool packed = takes_packed(width, dlogits, log_probs, padded_vocab);
  const int vector = packed ? kPackedSize<T> : 1;
  const dim3 grid(static_cast<unsigned>(rows),
                  static_cast<unsigned>(ceil_div(padded_vocab, std::int64_t{kBlock} * vector)));
  const auto run = [&](auto* kernel) {
    kernel<<<grid, kBlock, 0, stream>>>(dlogits, log_probs, targets, dloss, vocab, padded_vocab);
  };
  run(packed ? cross_entropy_backward_kernel<T, kPackedSize<T>> : cross_entropy_backward_kernel<T, 1>);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

#define RIDGELINE_INSTANTIATE(Real)                                                                          \
  template void log_softmax_cpu(Real*, const Real*, std::int64_t, int, int);                                 \
  template void cross_entropy_cpu(Real*, const Real*, const std::int32_t*, std::int64_t, int, int);          \
  template void cross_entropy_backward_cpu(Real*, const Real*, const std::int32_t*, Real, std::int64_t, int, \
                                           int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                                             \
  template void launch_log_softmax<T>(float*, const T*, std::int64_t, int, int, cudaStream_t, KernelWidth);  \
  template void launch_cross_entropy_backward<T>(T*, const float*, const std::int32_t*, float, std::int64_t, \
                                                 int, int, cudaStream_t, KernelWidth);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
