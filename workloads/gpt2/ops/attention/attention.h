// attention.h: causal self-attention with online softmax, forward and backward; needs no cuDNN.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// qkv (B,T,3,NH,HS), the output of the QKV matmul as it lies; out (B,T,NH,HS) = (B,T,C); lse (B,NH,T) is the
/// natural log of the sum of exp(scaled scores), kept for the backward pass. Scores are scaled by 1/sqrt(HS).
/// Query t attends to keys 0..t. Real is float or double.
template <typename Real>
void attention_forward_cpu(Real* out, Real* lse, const Real* qkv, int batch, int seq, int heads,
                           int head_size);
/// dqkv is written, not accumulated.
template <typename Real>
void attention_backward_cpu(Real* dqkv, const Real* dout, const Real* qkv, const Real* out, const Real* lse,
                            int batch, int seq, int heads, int head_size);

/// qkv read once, out and lse written once.
template <typename T>
constexpr std::int64_t attention_forward_bytes(std::int64_t batch, std::int64_t seq, std::int64_t heads,
                                               std::int64_t head_size) {
  return batch * seq * heads * (4 * head_size * std::int64_t{sizeof(T)} + std::int64_t{sizeof(float)});
}
/// Matrix products over the causal half only: QK^T and PV, each 2*T*(T+1)/2*HS per head.
constexpr std::int64_t attention_forward_flops(std::int64_t batch, std::int64_t seq, std::int64_t heads,
                                               std::int64_t head_size) {
  return 2 * batch * heads * seq * (seq + 1) * head_size;
}
/// qkv, out, dout, lse read once; dqkv written once.
template <typename T>
constexpr std::int64_t attention_backward_bytes(std::int64_t batch, std::int64_t seq, std::int64_t heads,
                                                std::int64_t head_size) {
  return batch * seq * heads * (8 * head_size * std::int64_t{sizeof(T)} + std::int64_t{sizeof(float)});
}
/// Five products: QK^T again, dO V^T, P^T dO, dS K, dS^T Q. (These kernels do seven: they form the first two
/// twice rather than add dq with atomics.)
constexpr std::int64_t attention_backward_flops(std::int64_t batch, std::int64_t seq, std::int64_t heads,
                                                std::int64_t head_size) {
  return 5 * batch * heads * seq * (seq + 1) * head_size;
}

/// 1 <= head_size <= 128. bf16 with head_size 32, 64, 80 or 128 runs on tensor cores (FP32 accumulation);
/// everything else on the FP32 pipe. lse may be null when there is no backward pass.
/// Throws std::invalid_argument for a head size outside that range.
template <typename T>
void launch_attention_forward(T* out, float* lse, const T* qkv, int batch, int seq, int heads, int head_size,
                              cudaStream_t stream);

/// Device bytes of scratch (16-byte aligned, contents irrelevant).
std::int64_t attention_backward_scratch_bytes(int batch, int seq, int heads);

/// Writes all of dqkv (B,T,3,NH,HS). Deterministic: no atomics.
template <typename T>
void launch_attention_backward(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse,
                               int batch, int seq, int heads, int head_size, void* scratch,
                               cudaStream_t stream);

}  // namespace ridgeline::gpt2
