// attention_cudnn.h: causal flash attention, forward and backward, through cuDNN's backend graph API.
//
// shapes  qkv, dqkv (B, T, 3, NH, HS) bf16; out, dout (B, T, NH, HS) bf16; lse (B, NH, T) FP32
//         lse[b,h,t] = log(sum over s <= t of exp(scale * q_t . k_s)), natural logarithm; scale = 1 /
//         sqrt(HS)
// bytes, flops: as those of the own kernels, attention_*_bytes and attention_*_flops in ops/attention.h
// bound   compute (tensor and exponential units)
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ridgeline::gpt2 {

/// True when the program was built with cuDNN. Whether this GPU's cuDNN accepts the graphs is known at the
/// first call.
bool cudnn_attention_available() noexcept;

/// The cuDNN that is loaded, as "9.19.0"; empty when built without.
std::string cudnn_version();

/// Owns a cuDNN handle, a workspace and one pair of plans a shape. Calls of one object must be ordered on one
/// stream; one thread at a time. The first call of a shape builds its plans (about a second: kernels are
/// compiled) and allocates: not during stream capture. HS a multiple of 8, at most 128. A refusal by cuDNN
/// throws LibraryError, which names the call and says to use the trainer's own attention.
class CudnnAttention {
 public:
  /// deterministic: the backward pass keeps its score gradients in 2*B*NH*T*T bytes of workspace instead of
  /// adding dq with atomics, whose order differs from run to run. Slower.
  explicit CudnnAttention(bool deterministic = false);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;
  CudnnAttention(CudnnAttention&&) noexcept;
  CudnnAttention& operator=(CudnnAttention&&) noexcept;

  void forward(__nv_bfloat16* out, float* lse, const __nv_bfloat16* qkv, std::int64_t b, std::int64_t t,
               std::int64_t nh, std::int64_t hs, cudaStream_t stream);

  void backward(__nv_bfloat16* dqkv, const __nv_bfloat16* dout, const __nv_bfloat16* qkv,
                const __nv_bfloat16* out, const float* lse, std::int64_t b, std::int64_t t, std::int64_t nh,
                std::int64_t hs, cudaStream_t stream);

  /// Builds the plans of a shape ahead of the first call.
  void prepare(std::int64_t b, std::int64_t t, std::int64_t nh, std::int64_t hs);

  std::size_t workspace_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridgeline::gpt2
