#include "gpt2/libs/attention_unfused.h"

#include <cmath>

#include "gpt2/common/dtype.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/cublas_types.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/ops/attention/attention_unfused.h"

namespace ridgeline::gpt2 {
namespace {

// The GEMMs of one pass, for all heads at once. cuBLAS counts in columns: a row-major (R,S) matrix is its
// (S,R) matrix with leading dimension S, so that D = A B is computed as D^T = B^T A^T.
template <class T>
class Gemms {
 public:
  Gemms(cublasHandle_t handle, Fp32Math math, const UnfusedAttentionShape& s)
      : handle_(handle), math_(math), s_(s) {}

  // scores (T,T) = x (T,HS) y (T,HS)^T
  void scores(const char* name, T* scores, const T* x, const T* y) const {
    run(name, CUBLAS_OP_T, CUBLAS_OP_N, s_.seq, s_.seq, s_.head_size, y, rows(), x, rows(), scores, square());
  }
  // y (T,HS) = scores (T,T) x (T,HS)
  void apply(const char* name, T* y, const T* scores, const T* x) const {
    run(name, CUBLAS_OP_N, CUBLAS_OP_N, s_.head_size, s_.seq, s_.seq, x, rows(), scores, square(), y, rows());
  }
  // y (T,HS) = scores (T,T)^T x (T,HS)
  void apply_transposed(const char* name, T* y, const T* scores, const T* x) const {
    run(name, CUBLAS_OP_N, CUBLAS_OP_T, s_.head_size, s_.seq, s_.seq, x, rows(), scores, square(), y, rows());
  }

 private:
  struct Layout {
    std::int64_t leading;
    std::int64_t stride;  // elements from head to head
  };
  Layout rows() const { return {s_.head_size, std::int64_t{s_.seq} * s_.head_size}; }
  Layout square() const { return {s_.seq, std::int64_t{s_.seq} * s_.seq}; }

  void run(const char* name, cublasOperation_t transpose_a, cublasOperation_t transpose_b, std::int64_t m,
           std::int64_t n, std::int64_t k, const T* a, Layout a_layout, const T* b, Layout b_layout, T* d,
           Layout d_layout) const {
    const NvtxRange range(name, {attention_gemm_bytes<T>(s_.batch, s_.seq, s_.heads, s_.head_size),
                                 attention_gemm_flops(s_.batch, s_.seq, s_.heads, s_.head_size)});
    const float alpha = 1.0F;
    const float beta = 0.0F;
    constexpr cudaDataType_t kType = cublas_type<T>();
    const cublasStatus_t status = cublasGemmStridedBatchedEx_64(
        handle_, transpose_a, transpose_b, m, n, k, &alpha, a, kType, a_layout.leading, a_layout.stride, b,
        kType, b_layout.leading, b_layout.stride, &beta, d, kType, d_layout.leading, d_layout.stride,
        std::int64_t{s_.batch} * s_.heads, cublas_compute_type<T>(math_), CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) {
      throw LibraryError(std::string("cublasGemmStridedBatchedEx, ") + name, cublasGetStatusString(status),
                         __FILE__, __LINE__);
    }
  }

  cublasHandle_t handle_;
  Fp32Math math_;
  UnfusedAttentionShape s_;
};

// The scratch in its parts, and the three parts of a head-by-head tensor.
template <class T>
struct Scratch {
  Scratch(T* base, const UnfusedAttentionShape& s)
      : part(std::int64_t{s.batch} * s.heads * s.seq * s.head_size),
        dscores(base),
        dheads(base + round_up(unfused_attention_score_elements(s.batch, s.seq, s.heads))),
        out(dheads + round_up(3 * part)) {}
  static std::int64_t round_up(std::int64_t elements) { return (elements + 7) / 8 * 8; }

  std::int64_t part;  // elements of q, k or v
  T* dscores;
  T* dheads;
  T* out;
};

HeadShape head_shape(int parts, const UnfusedAttentionShape& s) {
  return {.parts = parts, .batch = s.batch, .seq = s.seq, .heads = s.heads, .head_size = s.head_size};
}

float score_scale(const UnfusedAttentionShape& s) {
  return 1.0F / std::sqrt(static_cast<float>(s.head_size));
}

}  // namespace

template <class T>
void UnfusedAttention::forward(T* out, T* heads, T* p, const T* qkv, T* scratch,
                               const UnfusedAttentionShape& s, cudaStream_t stream) {
  const NvtxRange range("attention_forward");
  const Scratch<T> parts(scratch, s);
  const Gemms<T> gemms(handle_.on(stream), math_, s);
  const std::int64_t matrices = std::int64_t{s.batch} * s.heads;
  const T* q = heads;
  const T* k = heads + parts.part;
  const T* v = heads + 2 * parts.part;
  launch_split_heads(heads, qkv, head_shape(3, s), stream);
  gemms.scores("attention_scores", p, q, k);
  launch_scale_scores(p, score_scale(s), matrices * s.seq * s.seq, stream);
  launch_causal_mask(p, matrices, s.seq, stream);
  launch_softmax(p, static_cast<const T*>(p), matrices * s.seq, s.seq, stream);
  gemms.apply("attention_values", parts.out, p, v);
  launch_merge_heads(out, static_cast<const T*>(parts.out), head_shape(1, s), stream);
}

template <class T>
void UnfusedAttention::backward(T* dqkv, const T* dout, const T* heads, const T* p, T* scratch,
                                const UnfusedAttentionShape& s, cudaStream_t stream) {
  const NvtxRange range("attention_backward");
  const Scratch<T> parts(scratch, s);
  const Gemms<T> gemms(handle_.on(stream), math_, s);
  const std::int64_t rows = std::int64_t{s.batch} * s.heads * s.seq;
  const T* q = heads;
  const T* k = heads + parts.part;
  const T* v = heads + 2 * parts.part;
  T* dq = parts.dheads;
  T* dk = parts.dheads + parts.part;
  T* dv = parts.dheads + 2 * parts.part;
  launch_split_heads(parts.out, dout, head_shape(1, s), stream);
  gemms.scores("attention_dprobabilities", parts.dscores, parts.out, v);
  gemms.apply_transposed("attention_dvalues", dv, p, parts.out);
  launch_softmax_backward(parts.dscores, static_cast<const T*>(parts.dscores), p, rows, s.seq, stream);
  launch_scale_scores(parts.dscores, score_scale(s), rows * s.seq, stream);
  gemms.apply("attention_dqueries", dq, parts.dscores, k);
  gemms.apply_transposed("attention_dkeys", dk, parts.dscores, q);
  launch_merge_heads(dqkv, static_cast<const T*>(parts.dheads), head_shape(3, s), stream);
}

#define RIDGELINE_INSTANTIATE(T)                                                                     \
  template void UnfusedAttention::forward<T>(T*, T*, T*, const T*, T*, const UnfusedAttentionShape&, \
                                             cudaStream_t);                                          \
  template void UnfusedAttention::backward<T>(T*, const T*, const T*, const T*, T*,                  \
                                              const UnfusedAttentionShape&, cudaStream_t);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
