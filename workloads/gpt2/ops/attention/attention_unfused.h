// attention_unfused.h: the kernels between the products of an attention that writes its scores to memory.
// libs/attention_unfused.h puts them in order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// P tensors interleaved by position, (B,T,P,NH,HS), and the same head by head, (P,B,NH,T,HS). P = 3: q, k, v
/// or their gradients; P = 1: the output or its gradient.
struct HeadShape {
  int parts = 1;
  int batch = 1;
  int seq = 1;
  int heads = 1;
  int head_size = 1;

  std::int64_t positions() const { return std::int64_t{batch} * seq; }
  std::int64_t elements() const { return positions() * parts * heads * head_size; }
};

/// References. Real is float or double.
template <typename Real>
void split_heads_cpu(Real* out, const Real* inp, const HeadShape& shape);  // (B,T,P,NH,HS) -> (P,B,NH,T,HS)
template <typename Real>
void merge_heads_cpu(Real* out, const Real* inp, const HeadShape& shape);  // (P,B,NH,T,HS) -> (B,T,P,NH,HS)
template <typename Real>
void scale_scores_cpu(Real* scores, Real factor, std::int64_t n);
/// scores (M,T,T): keys after the query become -infinity.
template <typename Real>
void causal_mask_cpu(Real* scores, std::int64_t matrices, int seq);
/// Each row of (R,S); out may be inp.
template <typename Real>
void softmax_cpu(Real* out, const Real* inp, std::int64_t rows, int columns);
/// dinp = p * (dout - sum(p * dout)) in each row of (R,S); dinp may be dout.
template <typename Real>
void softmax_backward_cpu(Real* dinp, const Real* dout, const Real* p, std::int64_t rows, int columns);

template <typename T>
constexpr std::int64_t permute_heads_bytes(std::int64_t elements) {
  return 2 * elements * std::int64_t{sizeof(T)};
}
template <typename T>
constexpr std::int64_t scale_scores_bytes(std::int64_t n) {
  return 2 * n * std::int64_t{sizeof(T)};
}
constexpr std::int64_t scale_scores_flops(std::int64_t n) {
  return n;
}
template <typename T>
constexpr std::int64_t causal_mask_bytes(std::int64_t matrices, std::int64_t seq) {
  return matrices * (seq * (seq - 1) / 2) * std::int64_t{sizeof(T)};
}
template <typename T>
constexpr std::int64_t softmax_bytes(std::int64_t rows, std::int64_t columns) {
  return 2 * rows * columns * std::int64_t{sizeof(T)};
}
constexpr std::int64_t softmax_flops(std::int64_t rows, std::int64_t columns) {
  return 5 * rows * columns;
}
template <typename T>
constexpr std::int64_t softmax_backward_bytes(std::int64_t rows, std::int64_t columns) {
  return 3 * rows * columns * std::int64_t{sizeof(T)};
}
constexpr std::int64_t softmax_backward_flops(std::int64_t rows, std::int64_t columns) {
  return 4 * rows * columns;
}

/// T is float or bf16; any alignment. What may overlap is what may in the references.
template <typename T>
void launch_split_heads(T* out, const T* inp, const HeadShape& shape, cudaStream_t stream);
template <typename T>
void launch_merge_heads(T* out, const T* inp, const HeadShape& shape, cudaStream_t stream);
template <typename T>
void launch_scale_scores(T* scores, float factor, std::int64_t n, cudaStream_t stream);
template <typename T>
void launch_causal_mask(T* scores, std::int64_t matrices, int seq, cudaStream_t stream);
template <typename T>
void launch_softmax(T* out, const T* inp, std::int64_t rows, int columns, cudaStream_t stream);
template <typename T>
void launch_softmax_backward(T* dinp, const T* dout, const T* p, std::int64_t rows, int columns,
                             cudaStream_t stream);

}  // namespace ridgeline::gpt2
