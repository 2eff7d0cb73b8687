// attention.cpp: checks the shape and picks the implementation.
#include "gpt2/ops/attention/attention.h"

#include <stdexcept>
#include <string>
#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/attention/attention_kernels.h"

namespace ridgeline::gpt2 {

namespace {

constexpr int kMaxHeadSize = 128;

void check_shape(const char* what, const detail::AttentionShape& shape) {
  if (shape.head_size < 1 || shape.head_size > kMaxHeadSize) {
    throw std::invalid_argument(std::string(what) + ": head size " + std::to_string(shape.head_size) +
                                " is not within 1.." + std::to_string(kMaxHeadSize));
  }
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace

template <typename T>
void launch_attention_forward(T* out, float* lse, const T* qkv, int batch, int seq, int heads, int head_size,
                              cudaStream_t stream) {
  const NvtxRange range("attention_forward", {attention_forward_bytes<T>(batch, seq, heads, head_size),
                                              attention_forward_flops(batch, seq, heads, head_size)});
  const detail::AttentionShape shape{batch, seq, heads, head_size};
  check_shape("launch_attention_forward", shape);
  if (batch <= 0 || seq <= 0 || heads <= 0) return;
  if constexpr (std::is_same_v<T, bf16>) {
    if (detail::attention_tensor_supports(head_size) && is_aligned(out) && is_aligned(qkv)) {
      detail::attention_forward_tensor(out, lse, qkv, shape, stream);
      return;
    }
  }
  detail::attention_forward_fp32(out, lse, qkv, shape, stream);
}

std::int64_t attention_backward_scratch_bytes(int batch, int seq, int heads) {
  return std::int64_t{batch} * seq * heads * std::int64_t{sizeof(float)};
}

template <typename T>
void launch_attention_backward(T* dqkv, const T* dout, const T* qkv, const T* out, const float* lse,
                               int batch, int seq, int heads, int head_size, void* scratch,
                               cudaStream_t stream) {
  const NvtxRange range("attention_backward", {attention_backward_bytes<T>(batch, seq, heads, head_size),
                                               attention_backward_flops(batch, seq, heads, head_size)});
  const detail::AttentionShape shape{batch, seq, heads, head_size};
  check_shape("launch_attention_backward", shape);
  if (batch <= 0 || seq <= 0 || heads <= 0) return;
  auto* row_dots = static_cast<float*>(scratch);
  if constexpr (std::is_same_v<T, bf16>) {
    if (detail::attention_tensor_supports(head_size) && is_aligned(dqkv) && is_aligned(dout) &&
        is_aligned(qkv) && is_aligned(out)) {
      detail::attention_backward_tensor(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
      return;
    }
  }
  detail::attention_backward_fp32(dqkv, dout, qkv, out, lse, row_dots, shape, stream);
}

template void launch_attention_forward<float>(float*, float*, const float*, int, int, int, int, cudaStream_t);
template void launch_attention_forward<bf16>(bf16*, float*, const bf16*, int, int, int, int, cudaStream_t);
template void launch_attention_backward<float>(float*, const float*, const float*, const float*, const float*,
                                               int, int, int, int, void*, cudaStream_t);
template void launch_attention_backward<bf16>(bf16*, const bf16*, const bf16*, const bf16*, const float*, int,
                                              int, int, int, void*, cudaStream_t);

}  // namespace ridgeline::gpt2
