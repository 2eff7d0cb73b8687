// attention_kernels.h: the two implementations behind attention.h, for attention.cpp alone.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2::detail {

struct AttentionShape {
  int batch;
  int seq;
  int heads;
  int head_size;
};

/// FP32 pipe: any element type, any head size up to 128.
template <typename T>
void attention_forward_fp32(T* out, float* lse, const T* qkv, const AttentionShape& shape,
                            cudaStream_t stream);
/// row_dots (B,NH,T): scratch for dout . out of each row.
template <typename T>
void attention_backward_fp32(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse,
                             float* row_dots, const AttentionShape& shape, cudaStream_t stream);

/// Tensor cores: bf16, the head sizes for which this is true; 16-byte aligned tensors.
bool attention_tensor_supports(int head_size);
void attention_forward_tensor(bf16* out, float* lse, const bf16* qkv, const AttentionShape& shape,
                              cudaStream_t stream);
void attention_backward_tensor(bf16* dqkv, const bf16* dout, const bf16* qkv, const bf16* out,
                               const float* lse, float* row_dots, const AttentionShape& shape,
                               cudaStream_t stream);

}  // namespace ridgeline::gpt2::detail
