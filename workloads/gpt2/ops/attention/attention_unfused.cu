// attention_unfused.cu: what an attention with scores in memory does between its products: the heads' layout,
// scale, causal mask, softmax and its gradient, a kernel each, one element per access
// shapes  (B,T,P,NH,HS) and (P,B,NH,T,HS); scores (M,T,T), M = B*NH; rows (R,S); any sizes
// bytes   permute and scale 2*n*sizeof(T); mask M*T*(T-1)/2*sizeof(T); softmax 2*R*S*sizeof(T), backward
//         3*R*S*sizeof(T)
// flops   scale n; softmax 5*R*S, backward 4*R*S (an exponential counts 1)
// check   permute and mask exact; scale half an ulp of T; softmax |gpu-ref| <= eps(T)*|ref| + 1e-7, backward
//         |gpu-ref| <= eps(T)*|ref| + 1e-5*p*max|dout|
// bound   DRAM: the traffic that a fused attention saves
#include <cmath>
#include <limits>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/attention/attention_unfused.h"

namespace ridgeline::gpt2 {
namespace {

// Where channel `c` of the P*NH*HS of position (b, t) lies head by head.
__host__ __device__ inline std::int64_t head_offset(const HeadShape& s, std::int64_t b, std::int64_t t,
                                                    int c) {
  const int d = c % s.head_size;
  const int h = c / s.head_size % s.heads;
  const int p = c / s.head_size / s.heads;
  return (((std::int64_t{p} * s.batch + b) * s.heads + h) * s.seq + t) * s.head_size + d;
}

}  // namespace

template <typename Real>
void split_heads_cpu(Real* out, const Real* inp, const HeadShape& shape) {
  const int channels = shape.parts * shape.heads * shape.head_size;
  for (std::int64_t row = 0; row < shape.positions(); ++row) {
    for (int c = 0; c < channels; ++c) {
      out[head_offset(shape, row / shape.seq, row % shape.seq, c)] = inp[row * channels + c];
    }
  }
}

template <typename Real>
void merge_heads_cpu(Real* out, const Real* inp, const HeadShape& shape) {
  const int channels = shape.parts * shape.heads * shape.head_size;
  for (std::int64_t row = 0; row < shape.positions(); ++row) {
    for (int c = 0; c < channels; ++c) {
      out[row * channels + c] = inp[head_offset(shape, row / shape.seq, row % shape.seq, c)];
    }
  }
}

template <typename Real>
void scale_scores_cpu(Real* scores, Real factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) scores[i] *= factor;
}

template <typename Real>
void causal_mask_cpu(Real* scores, std::int64_t matrices, int seq) {
  for (std::int64_t row = 0; row < matrices * seq; ++row) {
    for (std::int64_t s = row % seq + 1; s < seq; ++s) {
      scores[row * seq + s] = -std::numeric_limits<Real>::infinity();
    }
  }
}

template <typename Real>
void softmax_cpu(Real* out, const Real* inp, std::int64_t rows, int columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const Real* x = inp + row * columns;
    Real* y = out + row * columns;
    Real largest = x[0];
    for (int s = 1; s < columns; ++s) largest = x[s] > largest ? x[s] : largest;
    Real sum{0};
    for (int s = 0; s < columns; ++s) sum += std::exp(x[s] - largest);
    for (int s = 0; s < columns; ++s) y[s] = std::exp(x[s] - largest) / sum;
  }
}

template <typename Real>
void softmax_backward_cpu(Real* dinp, const Real* dout, const Real* p, std::int64_t rows, int columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = row * columns;
    Real sum{0};
    for (int s = 0; s < columns; ++s) sum += p[begin + s] * dout[begin + s];
    for (int s = 0; s < columns; ++s) dinp[begin + s] = p[begin + s] * (dout[begin + s] - sum);
  }
}

namespace {

constexpr int kBlock = 256;

// A block for each position: its channels are contiguous on the interleaved side.
template <typename T, bool kSplit>
__global__ void __launch_bounds__(kBlock) permute_heads_kernel(T* out, const T* inp, HeadShape shape) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t b = row / shape.seq;
  const std::int64_t t = row % shape.seq;
  const int channels = shape.parts * shape.heads * shape.head_size;
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += kBlock) {
    const std::int64_t interleaved = row * channels + c;
    const std::int64_t by_head = head_offset(shape, b, t, c);
    if constexpr (kSplit) {
      out[by_head] = inp[interleaved];
    } else {
      out[interleaved] = inp[by_head];
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlock) scale_scores_kernel(T* scores, float factor, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= n) return;
  scores[i] = from_float<T>(to_float(scores[i]) * factor);
}

// A block for each row of scores.
template <typename T>
__global__ void __launch_bounds__(kBlock) causal_mask_kernel(T* scores, int seq) {
  const std::int64_t row = blockIdx.x;
  const int query = static_cast<int>(row % seq);
  const T masked = from_float<T>(-INFINITY);
  for (int s = query + 1 + static_cast<int>(threadIdx.x); s < seq; s += kBlock) {
    scores[row * seq + s] = masked;
  }
}

// A block for each row, which it reads three times. The maximum passes over NaN; the sum does not.
template <typename T>
__global__ void __launch_bounds__(kBlock) softmax_kernel(T* out, const T* inp, int columns) {
  __shared__ float shared_max[kBlock / kWarpSize];
  __shared__ float shared_sum[kBlock / kWarpSize];
  const T* x = inp + static_cast<std::int64_t>(blockIdx.x) * columns;
  T* y = out + static_cast<std::int64_t>(blockIdx.x) * columns;
  const int thread = static_cast<int>(threadIdx.x);
  float largest = -INFINITY;
  for (int s = thread; s < columns; s += kBlock) largest = fmaxf(largest, to_float(x[s]));
  largest = block_max(largest, shared_max);
  float sum = 0.0F;
  for (int s = thread; s < columns; s += kBlock) sum += expf(to_float(x[s]) - largest);
  sum = block_sum(sum, shared_sum);
  // In place: each thread overwrites only what it alone reads.
  for (int s = thread; s < columns; s += kBlock) y[s] = from_float<T>(expf(to_float(x[s]) - largest) / sum);
}

template <typename T>
__global__ void __launch_bounds__(kBlock)
    softmax_backward_kernel(T* dinp, const T* dout, const T* p, int columns) {
  __shared__ float shared[kBlock / kWarpSize];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * columns;
  float sum = 0.0F;
  for (int s = static_cast<int>(threadIdx.x); s < columns; s += kBlock) {
    sum += to_float(p[begin + s]) * to_float(dout[begin + s]);
  }
  sum = block_sum(sum, shared);
  for (int s = static_cast<int>(threadIdx.x); s < columns; s += kBlock) {
    dinp[begin + s] = from_float<T>(to_float(p[begin + s]) * (to_float(dout[begin + s]) - sum));
  }
}

template <bool kSplit, typename T>
void permute_heads(T* out, const T* inp, const HeadShape& shape, cudaStream_t stream) {
  if (shape.elements() <= 0) return;
  permute_heads_kernel<T, kSplit>
      <<<static_cast<unsigned>(shape.positions()), kBlock, 0, stream>>>(out, inp, shape);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace

template <typename T>
void launch_split_heads(T* out, const T* inp, const HeadShape& shape, cudaStream_t stream) {
  const NvtxRange range("split_heads", {permute_heads_bytes<T>(shape.elements()), 0});
  permute_heads<true>(out, inp, shape, stream);
}

template <typename T>
void launch_merge_heads(T* out, const T* inp, const HeadShape& shape, cudaStream_t stream) {
  const NvtxRange range("merge_heads", {permute_heads_bytes<T>(shape.elements()), 0});
  permute_heads<false>(out, inp, shape, stream);
}

template <typename T>
void launch_scale_scores(T* scores, float factor, std::int64_t n, cudaStream_t stream) {
  const NvtxRange range("scale_scores", {scale_scores_bytes<T>(n), scale_scores_flops(n)});
  if (n <= 0) return;
  scale_scores_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(scores, factor, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_causal_mask(T* scores, std::int64_t matrices, int seq, cudaStream_t stream) {
  const NvtxRange range("causal_mask", {causal_mask_bytes<T>(matrices, seq), 0});
  if (matrices <= 0 || seq <= 0) return;
  causal_mask_kernel<<<static_cast<unsigned>(matrices * seq), kBlock, 0, stream>>>(scores, seq);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_softmax(T* out, const T* inp, std::int64_t rows, int columns, cudaStream_t stream) {
  const NvtxRange range("softmax", {softmax_bytes<T>(rows, columns), softmax_flops(rows, columns)});
  if (rows <= 0 || columns <= 0) return;
  softmax_kernel<<<static_cast<unsigned>(rows), kBlock, 0, stream>>>(out, inp, columns);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_softmax_backward(T* dinp, const T* dout, const T* p, std::int64_t rows, int columns,
                             cudaStream_t stream) {
  const NvtxRange range("softmax_backward",
                        {softmax_backward_bytes<T>(rows, columns), softmax_backward_flops(rows, columns)});
  if (rows <= 0 || columns <= 0) return;
  softmax_backward_kernel<<<static_cast<unsigned>(rows), kBlock, 0, stream>>>(dinp, dout, p, columns);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

#define RIDGELINE_INSTANTIATE(Real)                                    \
  template void split_heads_cpu(Real*, const Real*, const HeadShape&); \
  template void merge_heads_cpu(Real*, const Real*, const HeadShape&); \
  template void scale_scores_cpu(Real*, Real, std::int64_t);           \
  template void causal_mask_cpu(Real*, std::int64_t, int);             \
  template void softmax_cpu(Real*, const Real*, std::int64_t, int);    \
  template void softmax_backward_cpu(Real*, const Real*, const Real*, std::int64_t, int);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

#define RIDGELINE_INSTANTIATE(T)                                                     \
  template void launch_split_heads<T>(T*, const T*, const HeadShape&, cudaStream_t); \
  template void launch_merge_heads<T>(T*, const T*, const HeadShape&, cudaStream_t); \
  template void launch_scale_scores<T>(T*, float, std::int64_t, cudaStream_t);       \
  template void launch_causal_mask<T>(T*, std::int64_t, int, cudaStream_t);          \
  template void launch_softmax<T>(T*, const T*, std::int64_t, int, cudaStream_t);    \
  template void launch_softmax_backward<T>(T*, const T*, const T*, std::int64_t, int, cudaStream_t);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
