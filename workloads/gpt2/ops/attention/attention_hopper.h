// attention_hopper.h: causal self-attention by kernels for GPUs of compute capability 9.0 alone: wgmma products,
// tiles fetched by the copy engine, warps that fetch beside warpgroups that compute. bfloat16, head size 64.
// Tensors as in attention.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2 {

/// Whether the current device and these sizes are supported.
bool hopper_attention_supported(int batch, int seq, int heads, int head_size);

/// Whether the backward pass is supported too: not for the longest sequences, whose blocks would not fit on the GPU
/// together.
bool hopper_attention_backward_supported(int batch, int seq, int heads, int head_size);

/// Pointers aligned to 16 bytes; a supported problem, std::invalid_argument otherwise. lse may be null when there
/// is no backward pass. May be captured in a CUDA graph.
void launch_hopper_attention_forward(bf16* out, float* lse, const bf16* qkv, int batch, int seq, int heads,
                                     int head_size, cudaStream_t stream);

/// Whether the forward pass can write its output in E4M3 as well: a sequence of a multiple of 16.
bool hopper_attention_fp8_supported(int batch, int seq, int heads, int head_size);

/// As in attention.h, and the output in E4M3 both ways.
constexpr std::int64_t hopper_attention_forward_fp8_bytes(std::int64_t batch, std::int64_t seq,
                                                          std::int64_t heads, std::int64_t head_size) {
  return attention_forward_bytes<bf16>(batch, seq, heads, head_size) + 2 * batch * seq * heads * head_size;
}
/// The same, with what launch_fp8_cast would make of out (B*T, NH*HS) in E4M3, to the bit: both tensors are given.
void launch_hopper_attention_forward_fp8(bf16* out, const Fp8Output& fp8, float* lse, const bf16* qkv,
                                         int batch, int seq, int heads, int head_size, cudaStream_t stream);

/// Device bytes of scratch (16-byte aligned, contents irrelevant).
std::int64_t hopper_attention_backward_scratch_bytes(int batch, int seq, int heads);

/// Writes all of dqkv (B,T,3,NH,HS). deterministic: the same bits in every run, since the sums of dq are formed in a
/// fixed order; without it only dk and dv are.
void launch_hopper_attention_backward(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out,
                                      const float* lse, int batch, int seq, int heads, int head_size,
                                      void* scratch, bool deterministic, cudaStream_t stream);

/// Whether the backward pass can write dqkv in E5M2: a sequence of a multiple of 16.
bool hopper_attention_backward_fp8_supported(int batch, int seq, int heads, int head_size);

/// The same with dqkv in E5M2 alone, as (B*T, 3*NH*HS) and transposed: both tensors are given. It is as many bytes.
void launch_hopper_attention_backward_fp8(const Fp8Output& dqkv, const bf16* dout, const bf16* qkv,
                                          const bf16* out, const float* lse, int batch, int seq, int heads,
                                          int head_size, void* scratch, bool deterministic,
                                          cudaStream_t stream);

}  // namespace ridgeline::gpt2
