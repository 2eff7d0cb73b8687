// attention_graphs.h: causal attention written as cuDNN operation graphs, for its fused flash attention
// engines. The engines recognise these compositions; the operations in between never reach memory.
#pragma once

#include <cstdint>
#include <string>

#include "gpt2/libs/cudnn_graph.h"

namespace ridgeline::gpt2 {

struct AttentionShape {
  std::int64_t b = 0;   // sequences
  std::int64_t t = 0;   // tokens of one
  std::int64_t nh = 0;  // heads
  std::int64_t hs = 0;  // head size
};

/// Numbers of the tensors to bind. scale, minus_infinity and one are FP32 on the host.
struct AttentionForwardPlan {
  CudnnPlan plan;
  std::int64_t q = 0, k = 0, v = 0, out = 0, lse = 0, scale = 0, minus_infinity = 0;
};

/// dq_sum (B, NH, T, HS) FP32 and row_sum (B, NH, T) FP32 are scratch. dq_sum is 0 in the deterministic form,
/// which keeps the score gradients in the plan's workspace (2*B*NH*T*T bytes) instead of adding into dq_sum
/// atomically.
struct AttentionBackwardPlan {
  CudnnPlan plan;
  std::int64_t q = 0, k = 0, v = 0, out = 0, dout = 0, lse = 0, dq = 0, dk = 0, dv = 0;
  std::int64_t dq_sum = 0, row_sum = 0, scale = 0, minus_infinity = 0, one = 0;
};

AttentionForwardPlan build_attention_forward(CudnnGraph graph, const AttentionShape& shape);
AttentionBackwardPlan build_attention_backward(CudnnGraph graph, const AttentionShape& shape,
                                               bool deterministic);

}  // namespace ridgeline::gpt2
