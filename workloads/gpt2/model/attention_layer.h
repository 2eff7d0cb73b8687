// attention_layer.h: attention of a layer by whichever kernel or library --attention names.
#pragma once

#include <optional>

#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/libs/attention_unfused.h"
#include "gpt2/libs/cublas_handle.h"
#include "gpt2/model/activations.h"
#include "gpt2/model/gpu_model.h"

namespace ridgeline::gpt2 {

/// T is float or bf16. All work is enqueued on one stream.
template <typename T>
class Attention {
 public:
  /// cublas: of unfused attention, null for the others; it and scratch, of the backward pass, must outlive this.
  Attention(const GpuModelOptions& options, CublasHandle* cublas, std::byte* scratch, cudaStream_t stream);

  /// Writes a.att, and what a keeps for the backward pass, from a layer's queries, keys and values.
  void forward(const LayerActivations<T>& a, const T* qkv, Activations<T>& act);
  /// dqkv (B,T,3,NH,HS) from dout (B,T,NH,HS).
  void backward(T* dqkv, const T* dout, const LayerActivations<T>& a, Activations<T>& act);

 private:
  UnfusedAttentionShape shape() const {
    return {.batch = options_.batch,
            .seq = options_.sequence,
            .heads = options_.config.heads,
            .head_size = options_.config.head_size()};
  }

  GpuModelOptions options_;
  std::byte* scratch_;
  cudaStream_t stream_;
  std::optional<CudnnAttention> cudnn_;
  std::optional<UnfusedAttention> unfused_;
};

}  // namespace ridgeline::gpt2
