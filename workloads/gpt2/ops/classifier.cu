// classifier.cu: softmax, cross entropy and dlogits, in place
// shapes  logits (N,Vp) T, targets (N) int32, losses (N) FP32; columns >= V are padding
// bytes   N*(2*Vp*sizeof(T) + 8); loss only: N*(V*sizeof(T) + 8)
// flops   7*N*V; loss only 4*N*V
// check   losses |gpu-ref| <= 1e-4*(|ref|+1); dlogits |gpu-ref| <= 4*eps(T)*|ref| + 1e-6*dloss
// bound   DRAM
//
// A block brings its row into shared memory once, taking the maximum on the way; the sum and the gradient are
// formed from there, so DRAM sees one read and one write. Rows that do not fit are read from global memory
// again (mostly from L2).
#include <cmath>
#include <limits>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/classifier.h"

namespace ridgeline::gpt2 {

template <typename Real>
void classifier_loss_cpu(Real* losses, const Real* logits, const std::int32_t* targets, std::int64_t rows,
                         int vocab, int padded_vocab) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const Real* x = logits + n * padded_vocab;
    if (targets[n] < 0 || targets[n] >= vocab) {
      losses[n] = std::numeric_limits<Real>::quiet_NaN();
      continue;
    }
    Real largest = x[0];
    for (int v = 1; v < vocab; ++v) largest = x[v] > largest ? x[v] : largest;
    Real sum{0};
    for (int v = 0; v < vocab; ++v) sum += std::exp(x[v] - largest);
    losses[n] = std::log(sum) + largest - x[targets[n]];
  }
}

template <typename Real>
void fused_classifier_cpu(Real* logits, Real* losses, const std::int32_t* targets, Real dloss,
                          std::int64_t rows, int vocab, int padded_vocab) {
  classifier_loss_cpu(losses, logits, targets, rows, vocab, padded_vocab);
  for (std::int64_t n = 0; n < rows; ++n) {
    Real* x = logits + n * padded_vocab;
    // log of the sum of exponentials, from the loss: p = exp(x - lse).
    const bool valid = targets[n] >= 0 && targets[n] < vocab;
    const Real lse = valid ? losses[n] + x[targets[n]] : std::numeric_limits<Real>::quiet_NaN();
    for (int v = 0; v < vocab; ++v) {
      const Real onehot = v == targets[n] ? Real{1} : Real{0};
      x[v] = dloss * (std::exp(x[v] - lse) - onehot);
    }
    for (int v = vocab; v < padded_vocab; ++v) x[v] = Real{0};
  }
}

namespace {

constexpr float kLog2e = 1.4426950408889634F;
constexpr float kLn2 = 0.6931471805599453F;
constexpr int kMaxBlock = 1024;
constexpr int kLoadUnroll = 7;  // vectors a thread has in flight while it fills shared memory

// 2^x in one instruction. Results below 2^-126 become 0; exp2f would spend four instructions to keep them.
__device__ inline float exp2_flushed(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Passes over NaN, as fmaxf does; the sum of exponentials catches it.
__device__ inline float packed_max(const Packed<float>& x) {
  float v[4];
  unpack(x, v);
  return fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3]));
}
__device__ inline float packed_max(const Packed<bf16>& x) {
  __nv_bfloat162 pair[4];
  memcpy(pair, &x, sizeof(pair));
  const __nv_bfloat162 both = __hmax2(__hmax2(pair[0], pair[1]), __hmax2(pair[2], pair[3]));
  return fmaxf(__low2float(both), __high2float(both));
}

// kShared: the row lives in dynamic shared memory between the passes; otherwise it is read from global memory
// three times. Requires Vp % vector == 0 and 16-byte aligned logits. The exponentials wait until the whole
// row is in shared memory: formed while it loads, as in classifier_loss_kernel, they hold the loads of this
// block back, and the other block of the multiprocessor is there to compute meanwhile.
template <typename T, bool kShared, int kBlock>
__global__ void __launch_bounds__(kBlock)
    classifier_kernel(T* logits, float* losses, const std::int32_t* targets, float dloss, int vocab,
                      int padded_vocab) {
  constexpr int kVector = kPackedSize<T>;
  extern __shared__ uint4 row_storage[];
  __shared__ float shared_max[kBlock / kWarpSize];
  __shared__ float shared_sum[kBlock / kWarpSize];
  T* row = logits + static_cast<std::int64_t>(blockIdx.x) * padded_vocab;
  T* cached = kShared ? reinterpret_cast<T*>(row_storage) : row;
  const int thread = static_cast<int>(threadIdx.x);
  const int target = targets[blockIdx.x];
  const int vectors = padded_vocab / kVector;
  const int full_vectors = vocab / kVector;  // vectors without padding

  float largest = -INFINITY;
  for (int base = thread; base < vectors; base += kBlock * kLoadUnroll) {
    Packed<T> x[kLoadUnroll];
#pragma unroll
    for (int u = 0; u < kLoadUnroll; ++u) {
      const int v = base + u * kBlock;
      if (v < vectors) x[u] = kShared ? load128_streaming(row + v * kVector) : load128(row + v * kVector);
    }
#pragma unroll
    for (int u = 0; u < kLoadUnroll; ++u) {
      const int v = base + u * kBlock;
      if (v < vectors) {
        if (v >= full_vectors) {  // padding must win neither the maximum nor weight in the sum
          float values[kVector];
          unpack(x[u], values);
#pragma unroll
          for (int k = 0; k < kVector; ++k) {
            if (v * kVector + k >= vocab) values[k] = -INFINITY;
          }
          x[u] = pack<T>(values);
        }
        largest = fmaxf(largest, packed_max(x[u]));
        if constexpr (kShared) store128(cached + v * kVector, x[u]);
      }
    }
  }
  // The barrier inside also publishes the cached row to the whole block.
  const float max_log2 = block_max(largest, shared_max) * kLog2e;

  float sum = 0.0F;
#pragma unroll 4
  for (int v = thread; v < vectors; v += kBlock) {
    float x[kVector];
    unpack(load128(cached + v * kVector), x);
    float part = 0.0F;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const bool live = kShared || v < full_vectors || v * kVector + k < vocab;
      if (live) part += exp2_flushed(fmaf(x[k], kLog2e, -max_log2));
    }
    sum += part;
  }
  sum = block_sum(sum, shared_sum);
  const float log2_sum = log2f(sum);
  const bool valid = target >= 0 && target < vocab;
  if (thread == 0) {
    losses[blockIdx.x] = valid ? fmaf(kLn2, log2_sum + max_log2, -to_float(cached[target])) : NAN;
  }
  // In the global variant the row is overwritten below; its target was read by thread 0 above.
  if constexpr (!kShared) __syncthreads();
  const float shift = valid ? max_log2 + log2_sum : NAN;
  const int target_vector = target / kVector;
#pragma unroll 4
  for (int v = thread; v < vectors; v += kBlock) {
    float d[kVector];
    unpack(load128(cached + v * kVector), d);
#pragma unroll
    for (int k = 0; k < kVector; ++k) d[k] = exp2_flushed(fmaf(d[k], kLog2e, -shift)) * dloss;
    if (v == target_vector) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        if (v * kVector + k == target) d[k] -= dloss;
      }
    }
    if (v >= full_vectors) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        if (v * kVector + k >= vocab) d[k] = 0.0F;
      }
    }
    store128_streaming(row + v * kVector, pack<T>(d));
  }
}

// The loss alone, in one pass. Each thread keeps the maximum of what it has seen (times log2(e)) and the sum
// of exponentials relative to it. The start is finite, so that columns of -infinity subtract without NaN.
template <typename T, int kBlock>
__global__ void __launch_bounds__(kBlock)
    classifier_loss_kernel(const T* logits, float* losses, const std::int32_t* targets, int vocab,
                           int padded_vocab) {
  constexpr int kVector = kPackedSize<T>;
  __shared__ float shared_max[kBlock / kWarpSize];
  __shared__ float shared_sum[kBlock / kWarpSize];
  const T* row = logits + static_cast<std::int64_t>(blockIdx.x) * padded_vocab;
  const int thread = static_cast<int>(threadIdx.x);
  const int target = targets[blockIdx.x];
  const bool valid = target >= 0 && target < vocab;
  const int vectors = static_cast<int>((vocab + kVector - 1) / kVector);
  const int full_vectors = vocab / kVector;

  float max_log2 = -1e30F;
  float sum = 0.0F;
  for (int base = thread; base < vectors; base += kBlock * kLoadUnroll) {
    Packed<T> x[kLoadUnroll];
#pragma unroll
    for (int u = 0; u < kLoadUnroll; ++u) {
      const int v = base + u * kBlock;
      if (v < vectors) x[u] = load128(row + v * kVector);
    }
#pragma unroll
    for (int u = 0; u < kLoadUnroll; ++u) {
      const int v = base + u * kBlock;
      if (v < vectors) {
        float values[kVector];
        if (v >= full_vectors) {  // padding must win neither the maximum nor weight in the sum
          unpack(x[u], values);
#pragma unroll
          for (int k = 0; k < kVector; ++k) {
            if (v * kVector + k >= vocab) values[k] = -INFINITY;
          }
          x[u] = pack<T>(values);
        }
        const float largest = packed_max(x[u]) * kLog2e;
        if (largest > max_log2) {
          sum *= exp2_flushed(max_log2 - largest);
          max_log2 = largest;
        }
        unpack(x[u], values);
        float part = 0.0F;
#pragma unroll
        for (int k = 0; k < kVector; ++k) part += exp2_flushed(fmaf(values[k], kLog2e, -max_log2));
        sum += part;
      }
    }
  }
  const float row_max_log2 = block_max(max_log2, shared_max);
  sum = block_sum(sum * exp2_flushed(max_log2 - row_max_log2), shared_sum);
  if (thread == 0) {
    losses[blockIdx.x] = valid ? fmaf(kLn2, log2f(sum) + row_max_log2, -to_float(row[target])) : NAN;
  }
}

// Any Vp and alignment, one element an access: three passes over global memory.
template <typename T, bool kGradient, int kBlock>
__global__ void __launch_bounds__(kBlock)
    classifier_any_kernel(T* logits, float* losses, const std::int32_t* targets, float dloss, int vocab,
                          int padded_vocab) {
  __shared__ float shared_max[kBlock / kWarpSize];
  __shared__ float shared_sum[kBlock / kWarpSize];
  T* row = logits + static_cast<std::int64_t>(blockIdx.x) * padded_vocab;
  const int thread = static_cast<int>(threadIdx.x);
  const int target = targets[blockIdx.x];
  float largest = -INFINITY;
  for (int v = thread; v < vocab; v += kBlock) largest = fmaxf(largest, to_float(row[v]));
  const float max_log2 = block_max(largest, shared_max) * kLog2e;
  float sum = 0.0F;
  for (int v = thread; v < vocab; v += kBlock) sum += exp2_flushed(fmaf(to_float(row[v]), kLog2e, -max_log2));
  sum = block_sum(sum, shared_sum);
  const float log2_sum = log2f(sum);
  const bool valid = target >= 0 && target < vocab;
  if (thread == 0) {
    losses[blockIdx.x] = valid ? fmaf(kLn2, log2_sum + max_log2, -to_float(row[target])) : NAN;
  }
  if constexpr (kGradient) {
    __syncthreads();
    const float shift = valid ? max_log2 + log2_sum : NAN;
    for (int v = thread; v < padded_vocab; v += kBlock) {
      float d = 0.0F;
      if (v < vocab) {
        d = exp2_flushed(fmaf(to_float(row[v]), kLog2e, -shift)) * dloss;
        if (v == target) d -= dloss;
      }
      row[v] = from_float<T>(d);
    }
  }
}

template <typename T, bool kGradient>
void dispatch(T* logits, float* losses, const std::int32_t* targets, float dloss, std::int64_t rows,
              int vocab, int padded_vocab, cudaStream_t stream, KernelWidth width) {
  const auto blocks = static_cast<unsigned>(rows);
  if (width == KernelWidth::scalar || padded_vocab % kPackedSize<T> != 0 || !is_aligned_16(logits)) {
    classifier_any_kernel<T, kGradient, 512>
        <<<blocks, 512, 0, stream>>>(logits, losses, targets, dloss, vocab, padded_vocab);
  } else if constexpr (!kGradient) {
    constexpr int kBlock = 512;
    classifier_loss_kernel<T, kBlock>
        <<<blocks, kBlock, 0, stream>>>(logits, losses, targets, vocab, padded_vocab);
  } else {
    constexpr std::int64_t kSharedLimit = 225 * 1024;  // of 227 KiB a block may have; the rest is static
    const std::int64_t row_bytes = std::int64_t{padded_vocab} * std::int64_t{sizeof(T)};
    if (row_bytes > kSharedLimit) {
      classifier_kernel<T, false, kMaxBlock>
          <<<blocks, kMaxBlock, 0, stream>>>(logits, losses, targets, dloss, vocab, padded_vocab);
    } else {
      // Two blocks a multiprocessor when the row leaves room, so that one computes while the other loads.
      constexpr int kBlock = sizeof(T) == 2 ? 512 : kMaxBlock;
      auto* kernel = classifier_kernel<T, true, kBlock>;
      RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(kSharedLimit)));
      kernel<<<blocks, kBlock, static_cast<std::size_t>(row_bytes), stream>>>(logits, losses, targets, dloss,
                                                                              vocab, padded_vocab);
    }
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

template <typename T>
void launch_fused_classifier(T* logits, float* losses, const std::int32_t* targets, float dloss,
                             std::int64_t rows, int vocab, int padded_vocab, cudaStream_t stream,
                             KernelWidth width) {
  const NvtxRange range("fused_classifier",
                        {fused_classifier_bytes<T>(rows, padded_vocab), fused_classifier_flops(rows, vocab)});
  if (rows <= 0) return;
  dispatch<T, true>(logits, losses, targets, dloss, rows, vocab, padded_vocab, stream, width);
}

template <typename T>
void launch_classifier_loss(float* losses, const T* logits, const std::int32_t* targets, std::int64_t rows,
                            int vocab, int padded_vocab, cudaStream_t stream, KernelWidth width) {
  const NvtxRange range("classifier_loss",
                        {classifier_loss_bytes<T>(rows, vocab), classifier_loss_flops(rows, vocab)});
  if (rows <= 0) return;
  // Without the gradient the kernels only read through this pointer.
  dispatch<T, false>(const_cast<T*>(logits), losses, targets, 0.0F, rows, vocab, padded_vocab, stream, width);
}

#define RIDGELINE_INSTANTIATE(Real)                                                                   \
  template void classifier_loss_cpu(Real*, const Real*, const std::int32_t*, std::int64_t, int, int); \
  template void fused_classifier_cpu(Real*, Real*, const std::int32_t*, Real, std::int64_t, int, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                                           \
  template void launch_fused_classifier<T>(T*, float*, const std::int32_t*, float, std::int64_t, int, int, \
                                           cudaStream_t, KernelWidth);                                     \
  template void launch_classifier_loss<T>(float*, const T*, const std::int32_t*, std::int64_t, int, int,   \
                                          cudaStream_t, KernelWidth);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
