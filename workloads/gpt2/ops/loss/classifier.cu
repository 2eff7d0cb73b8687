// classifier.cu: softmax, cross entropy and dlogits, in place
// shapes  logits (N,Vp) T, targets (N) int32, losses (N) FP32; columns >= V are padding
// bytes   N*(2*Vp*sizeof(T) + 8); loss only: N*(V*sizeof(T) + 8)
// flops   7*N*V; loss only 4*N*V
// check   losses |gpu-ref| <= 1e-4*(|ref|+1); dlogits |gpu-ref| <= 4*eps(T)*|ref| + 1e-6*dloss
// bound   DRAM
//
// A block keeps a row in shared memory between the pass that forms the maximum and the sum and the pass that
// forms the gradient, so DRAM sees one read and one write. The row arrives in pieces, by the copy engine;
// each piece is refilled from the block's next row as soon as the gradient has read it. So loads are in
// flight while either pass computes, and the first pass meets most of its row already there. Rows that do not
// fit, which no GPT-2 has, take the kernel for any size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "gpt2/common/bulk_copy.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/loss/classifier.h"

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

// The maximum of what a thread has seen, times log2(e), and the sum of exponentials relative to it. The start
// is finite, so that columns of -infinity subtract without NaN.
struct RunningSum {
  float max_log2;
  float sum;
};
__device__ inline RunningSum nothing_yet() {
  return {-1e30F, 0.0F};
}

template <typename T>
__device__ inline void add_vector(RunningSum& running, const Packed<T>& x) {
  constexpr int kVector = kPackedSize<T>;
  const float largest = packed_max(x) * kLog2e;
  if (largest > running.max_log2) {
    running.sum *= exp2_flushed(running.max_log2 - largest);
    running.max_log2 = largest;
  }
  float values[kVector];
  unpack(x, values);
  float part = 0.0F;
#pragma unroll
  for (int k = 0; k < kVector; ++k) part += exp2_flushed(fmaf(values[k], kLog2e, -running.max_log2));
  running.sum += part;
}

// Padding must win neither the maximum nor weight in the sum. v is the vector's index in the row.
template <typename T>
__device__ inline void mask_padding(Packed<T>& x, int v, int vocab) {
  constexpr int kVector = kPackedSize<T>;
  float values[kVector];
  unpack(x, values);
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    if (v * kVector + k >= vocab) values[k] = -INFINITY;
  }
  x = pack<T>(values);
}

// Every lane gets the warp's, and then the block's: the maximum, and the sum relative to it.
__device__ inline RunningSum warp_combine(const RunningSum& running) {
  const float largest = warp_max(running.max_log2);
  return {largest, warp_sum(running.sum * exp2_flushed(running.max_log2 - largest))};
}

// dloss * softmax of a vector into d, less dloss at the target. shift_log2 is log2 of (sum of exponentials / dloss),
// so that the exponential is the whole product.
template <typename T>
__device__ inline void gradient_values(float (&d)[kPackedSize<T>], const Packed<T>& x, int v,
                                       float shift_log2, float dloss, int target, int vocab) {
  constexpr int kVector = kPackedSize<T>;
  unpack(x, d);
#pragma unroll
  for (int k = 0; k < kVector; ++k) d[k] = exp2_flushed(fmaf(d[k], kLog2e, -shift_log2));
  if (v == target / kVector) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (v * kVector + k == target) d[k] -= dloss;
    }
  }
  if (v >= vocab / kVector) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (v * kVector + k >= vocab) d[k] = 0.0F;
    }
  }
}
template <typename T>
__device__ inline Packed<T> gradient_vector(const Packed<T>& x, int v, float shift_log2, float dloss,
                                            int target, int vocab) {
  float d[kPackedSize<T>];
  gradient_values(d, x, v, shift_log2, dloss, target, vocab);
  return pack<T>(d);
}
// In E5M2, eight bytes.
__device__ inline uint2 gradient_vector_fp8(const Packed<bf16>& x, int v, float shift_log2, float dloss,
                                            int target, int vocab, float scale) {
  float d[kPackedSize<bf16>];
  gradient_values(d, x, v, shift_log2, dloss, target, vocab);
#pragma unroll
  for (float& value : d) value *= scale;
  return make_uint2(fp8_word<Fp8Format::e5m2>(d[0], d[1], d[2], d[3]),
                    fp8_word<Fp8Format::e5m2>(d[4], d[5], d[6], d[7]));
}

// Where a kernel stores the gradient beside the logits that it came from.
struct Fp8Gradient {
  std::uint8_t* data;
  float scale;
};

constexpr int kPieceVectors = 2;  // a thread's vectors in a piece of the row
constexpr int kMaxPieces = 16;

// The one lane that asks the copy engine for a block's rows, piece by piece of `piece` vectors.
template <typename T>
__device__ __forceinline__ void fetch_rows(const T* logits, T* cached, std::uint64_t* arrived,
                                           std::uint64_t* drained, std::int64_t rows, int padded_vocab,
                                           int piece) {
  constexpr int kVector = kPackedSize<T>;
  const int vectors = padded_vocab / kVector;
  const int pieces = (vectors + piece - 1) / piece;
  unsigned parity = 0;
  const std::uint64_t read_once = evict_first_policy();
  for (std::int64_t turn = blockIdx.x; turn < rows; turn += gridDim.x) {
    const T* row = logits + (rows - 1 - turn) * padded_vocab;
    for (int p = 0; p < pieces; ++p) {
      if (turn != blockIdx.x) barrier_wait(&drained[p], parity ^ 1U);
      const int begin = p * piece;
      const auto bytes = static_cast<unsigned>(min(piece, vectors - begin)) * 16U;
      barrier_expect(&arrived[p], bytes);
      bulk_load(cached + begin * kVector, row + begin * kVector, bytes, &arrived[p], read_once);
    }
    parity ^= 1U;
  }
}

// kThreads compute; the warp after them asks for the rows. The grid is one wave, and a block takes every
// gridDim.x-th row from the last on: the end of the logits is what the GEMM before left in L2.
// Requires Vp % vector == 0, 16-byte aligned logits and a row in dynamic shared memory.
// kFp8: the gradient goes to `fp8`, and logits stay.
template <typename T, int kThreads, bool kFp8>
__global__ void __launch_bounds__(kThreads + kWarpSize)
    classifier_kernel(T* logits, float* losses, const std::int32_t* targets, float dloss, std::int64_t rows,
                      int vocab, int padded_vocab, const Fp8Gradient fp8) {
  constexpr int kVector = kPackedSize<T>;
  constexpr int kWarps = kThreads / kWarpSize;
  constexpr int kPiece = kThreads * kPieceVectors;
  extern __shared__ uint4 row_storage[];
  __shared__ std::uint64_t arrived[kMaxPieces];
  __shared__ std::uint64_t drained[kMaxPieces];
  __shared__ RunningSum warp_results[2][kWarps];
  T* cached = reinterpret_cast<T*>(row_storage);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpSize;
  const int warp = thread / kWarpSize;
  const int vectors = padded_vocab / kVector;
  const int full_vectors = vocab / kVector;  // vectors without padding
  const int pieces = (vectors + kPiece - 1) / kPiece;
  if (thread == 0) {
    for (int p = 0; p < pieces; ++p) {
      barrier_init(&arrived[p], 1);
      barrier_init(&drained[p], kWarps);
    }
    barrier_init_fence();
  }
  __syncthreads();

  unsigned parity = 0;
  if (warp == kWarps) {
    if (lane == 0) fetch_rows(logits, cached, arrived, drained, rows, padded_vocab, kPiece);
    return;
  }

  const float dloss_log2 = log2f(dloss);
  for (std::int64_t turn = blockIdx.x; turn < rows; turn += gridDim.x) {
    const std::int64_t n = rows - 1 - turn;
    T* row = logits + n * padded_vocab;
    const int target = targets[n];
    const bool valid = target >= 0 && target < vocab;

    RunningSum running = nothing_yet();
    for (int p = 0; p < pieces; ++p) {
      barrier_wait(&arrived[p], parity);
#pragma unroll
      for (int u = 0; u < kPieceVectors; ++u) {
        const int v = p * kPiece + u * kThreads + thread;
        if (v < vectors) {
          Packed<T> x = load128(cached + v * kVector);
          if (v >= full_vectors) mask_padding(x, v, vocab);
          add_vector(running, x);
        }
      }
    }
    running = warp_combine(running);
    // By its next write to a buffer, a warp has passed the other buffer's barrier, which every warp reaches
    // after reading the first.
    if (lane == 0) warp_results[parity][warp] = running;
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");  // all but the warp that asks
    running = warp_combine(lane < kWarps ? warp_results[parity][lane] : nothing_yet());
    const float sum_log2 = running.max_log2 + log2f(running.sum);
    if (thread == 0) losses[n] = valid ? fmaf(kLn2, sum_log2, -to_float(cached[target])) : NAN;

    const float shift_log2 = valid ? sum_log2 - dloss_log2 : NAN;
    for (int p = 0; p < pieces; ++p) {
      Packed<T> x[kPieceVectors];
#pragma unroll
      for (int u = 0; u < kPieceVectors; ++u) {
        const int v = p * kPiece + u * kThreads + thread;
        if (v < vectors) x[u] = load128(cached + v * kVector);
      }
#pragma unroll
      for (int u = 0; u < kPieceVectors; ++u) {
        const int v = p * kPiece + u * kThreads + thread;
        if (v < vectors) {
          if constexpr (kFp8) {
            __stcs(reinterpret_cast<uint2*>(fp8.data + n * padded_vocab) + v,
                   gradient_vector_fp8(x[u], v, shift_log2, dloss, target, vocab, fp8.scale));
          } else {
            store128_streaming(row + v * kVector, gradient_vector(x[u], v, shift_log2, dloss, target, vocab));
          }
        }
      }
      // After the stores, which wait for what was read. Right after the reads, the arrival overtakes one of
      // them now and then, and the copy engine writes the next row over what it is about to read.
      __syncwarp();
      if (lane == 0) barrier_arrive(&drained[p]);
    }
    parity ^= 1U;
  }
}

// The maximum and the sum of exponentials of the row that this block works on, in one pass over global
// memory. The barrier inside orders all reads before what follows.
template <typename T, int kBlock>
__device__ inline RunningSum row_sum(const T* row, int vocab, RunningSum* warp_results) {
  constexpr int kVector = kPackedSize<T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int vectors = (vocab + kVector - 1) / kVector;
  const int full_vectors = vocab / kVector;
  RunningSum running = nothing_yet();
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
        if (v >= full_vectors) mask_padding(x[u], v, vocab);
        add_vector(running, x[u]);
      }
    }
  }
  running = warp_combine(running);
  if (thread % kWarpSize == 0) warp_results[thread / kWarpSize] = running;
  __syncthreads();
  const int lane = thread % kWarpSize;
  return warp_combine(lane < kBlock / kWarpSize ? warp_results[lane] : nothing_yet());
}

// The loss alone. One block per row.
template <typename T, int kBlock>
__global__ void __launch_bounds__(kBlock)
    classifier_loss_kernel(const T* logits, float* losses, const std::int32_t* targets, int vocab,
                           int padded_vocab) {
  __shared__ RunningSum warp_results[kBlock / kWarpSize];
  const T* row = logits + static_cast<std::int64_t>(blockIdx.x) * padded_vocab;
  const int target = targets[blockIdx.x];
  const RunningSum total = row_sum<T, kBlock>(row, vocab, warp_results);
  if (threadIdx.x != 0) return;
  const bool valid = target >= 0 && target < vocab;
  losses[blockIdx.x] = valid ? fmaf(kLn2, total.max_log2 + log2f(total.sum), -to_float(row[target])) : NAN;
}

// Any Vp and alignment, one element per access: three passes over global memory.
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

constexpr std::int64_t kSharedLimit = 225 * 1024;  // of 227 KiB per block may have; the rest is static
// Two blocks a multiprocessor when the row leaves room, so that one computes while the other waits.
template <typename T>
constexpr int kRowThreads = sizeof(T) == 2 ? 512 : 768;

template <typename T, bool kFp8>
void launch_rows(T* logits, float* losses, const std::int32_t* targets, float dloss, std::int64_t rows,
                 int vocab, int padded_vocab, const Fp8Gradient& fp8, cudaStream_t stream) {
  constexpr int kThreads = kRowThreads<T>;
  static_assert(kSharedLimit <= std::int64_t{kThreads} * kPieceVectors * 16 * kMaxPieces);
  const std::int64_t row_bytes = std::int64_t{padded_vocab} * std::int64_t{sizeof(T)};
  auto* kernel = classifier_kernel<T, kThreads, kFp8>;
  RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(kSharedLimit)));
  int resident = 0;
  RIDGELINE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads + kWarpSize,
                                                                     static_cast<std::size_t>(row_bytes)));
  const auto wave = std::int64_t{multiprocessor_count()} * std::max(resident, 1);
  kernel<<<static_cast<unsigned>(std::min(rows, wave)), kThreads + kWarpSize,
           static_cast<std::size_t>(row_bytes), stream>>>(logits, losses, targets, dloss, rows, vocab,
                                                          padded_vocab, fp8);
}

template <typename T, bool kGradient>
void dispatch(T* logits, float* losses, const std::int32_t* targets, float dloss, std::int64_t rows,
              int vocab, int padded_vocab, cudaStream_t stream, KernelWidth width) {
  const auto blocks = static_cast<unsigned>(rows);
  const bool fits = std::int64_t{padded_vocab} * std::int64_t{sizeof(T)} <= kSharedLimit;
  if (width == KernelWidth::scalar || padded_vocab % kPackedSize<T> != 0 || !is_aligned_16(logits) ||
      (kGradient && !fits)) {
    classifier_any_kernel<T, kGradient, 512>
        <<<blocks, 512, 0, stream>>>(logits, losses, targets, dloss, vocab, padded_vocab);
  } else if constexpr (!kGradient) {
    constexpr int kBlock = 512;
    classifier_loss_kernel<T, kBlock>
        <<<blocks, kBlock, 0, stream>>>(logits, losses, targets, vocab, padded_vocab);
  } else {
    launch_rows<T, false>(logits, losses, targets, dloss, rows, vocab, padded_vocab, {}, stream);
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

bool fused_classifier_fp8_supported(int padded_vocab) {
  return padded_vocab > 0 && padded_vocab % 16 == 0 &&
         std::int64_t{padded_vocab} * std::int64_t{sizeof(bf16)} <= kSharedLimit;
}

void launch_fused_classifier_fp8(std::uint8_t* dlogits, float scale, float* losses, const bf16* logits,
                                 const std::int32_t* targets, float dloss, std::int64_t rows, int vocab,
                                 int padded_vocab, cudaStream_t stream) {
  if (!fused_classifier_fp8_supported(padded_vocab) || !is_aligned_16(dlogits) || !is_aligned_16(logits)) {
    throw std::invalid_argument("fused_classifier_fp8 Vp " + std::to_string(padded_vocab) +
                                ": rows or alignment are not supported");
  }
  const NvtxRange range("fused_classifier", {fused_classifier_fp8_bytes(rows, padded_vocab),
                                             fused_classifier_flops(rows, vocab) + rows * padded_vocab});
  if (rows <= 0) return;
  // With FP8 the kernel only reads through this pointer.
  launch_rows<bf16, true>(const_cast<bf16*>(logits), losses, targets, dloss, rows, vocab, padded_vocab,
                          {dlogits, scale}, stream);
  RIDGELINE_CUDA_CHECK_LAUNCH();
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
