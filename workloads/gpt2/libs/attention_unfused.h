// attention_unfused.h: causal attention as it is written first: strided-batched cuBLAS GEMMs and a kernel
// for each step between them, every score in memory.
//
//   forward   q, k, v head by head | scores = q k^T | scale | mask | softmax | p v | heads back
//   backward  dout head by head | dp = dout v^T, dv = p^T dout | softmax' | scale | dq = ds k, dk = ds^T q |
//             dq, dk, dv back
// shapes  qkv, dqkv (B,T,3,NH,HS); out, dout (B,T,NH,HS); heads (3,B,NH,T,HS): q, k, v head by head; p
//         (B,NH,T,T): softmax of the scaled and masked scores; all of type T
// flops   of a GEMM: 2*B*NH*T*T*HS, the masked half included; two forward, four backward
// check   gradients of the model against its double reference; the kernels: ops/attention_unfused.cu
// bound   DRAM: a (B,NH,T,T) matrix is read or written fifteen times forward and backward
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/libs/cublas_handle.h"
#include "gpt2/libs/matmul.h"

namespace ridgeline::gpt2 {

/// Elements of T that one layer keeps for its backward pass: heads and p.
constexpr std::int64_t unfused_attention_heads_elements(std::int64_t b, std::int64_t t, std::int64_t nh,
                                                        std::int64_t hs) {
  return 3 * b * nh * t * hs;
}
constexpr std::int64_t unfused_attention_score_elements(std::int64_t b, std::int64_t t, std::int64_t nh) {
  return b * nh * t * t;
}
/// Elements of T of scratch, shared by all layers: dp, then ds; dq, dk, dv; out or dout head by head. The
/// scores come first, rounded up so that what follows is aligned to 16 bytes.
constexpr std::int64_t unfused_attention_scratch_elements(std::int64_t b, std::int64_t t, std::int64_t nh,
                                                          std::int64_t hs) {
  return (unfused_attention_score_elements(b, t, nh) + 7) / 8 * 8 + (3 * b * nh * t * hs + 7) / 8 * 8 +
         b * nh * t * hs;
}

constexpr std::int64_t attention_gemm_flops(std::int64_t b, std::int64_t t, std::int64_t nh,
                                            std::int64_t hs) {
  return 2 * b * nh * t * t * hs;
}
/// Two (T,HS) operands or results and one (T,T) a head.
template <class T>
constexpr std::int64_t attention_gemm_bytes(std::int64_t b, std::int64_t t, std::int64_t nh,
                                            std::int64_t hs) {
  return b * nh * (2 * t * hs + t * t) * static_cast<std::int64_t>(sizeof(T));
}

/// Sizes of one call.
struct UnfusedAttentionShape {
  int batch = 1;
  int seq = 1;
  int heads = 1;
  int head_size = 1;
};

/// T is float or __nv_bfloat16. `handle` must outlive this; one thread, one stream. Throws LibraryError when
/// cuBLAS refuses.
class UnfusedAttention {
 public:
  /// math: of the GEMMs of float tensors.
  UnfusedAttention(CublasHandle& handle, Fp32Math math) : handle_(handle), math_(math) {}

  /// Writes out, heads and p. scratch: unfused_attention_scratch_elements, aligned to 16 bytes.
  template <class T>
  void forward(T* out, T* heads, T* p, const T* qkv, T* scratch, const UnfusedAttentionShape& shape,
               cudaStream_t stream);

  /// Writes dqkv, from what forward left in heads and p. dqkv may be where qkv was.
  template <class T>
  void backward(T* dqkv, const T* dout, const T* heads, const T* p, T* scratch,
                const UnfusedAttentionShape& shape, cudaStream_t stream);

 private:
  CublasHandle& handle_;
  Fp32Math math_;
};

}  // namespace ridgeline::gpt2
