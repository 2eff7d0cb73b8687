#include "gpt2/libs/attention_graphs.h"

namespace ridgeline::gpt2 {
namespace {

using Dims = CudnnGraph::Dims;

// Strides that walk qkv (B, T, 3, NH, HS) as (B, NH, T, HS), and out (B, T, NH, HS) likewise.
Dims qkv_strides(const AttentionShape& s) {
  return {s.t * 3 * s.nh * s.hs, s.hs, 3 * s.nh * s.hs, 1};
}
Dims out_strides(const AttentionShape& s) {
  return {s.t * s.nh * s.hs, s.hs, s.nh * s.hs, 1};
}
Dims rows_by_size(const AttentionShape& s) {
  return {s.b, s.nh, s.t, s.hs};
}
Dims rows_by_rows(const AttentionShape& s) {
  return {s.b, s.nh, s.t, s.t};
}
Dims row_vector(const AttentionShape& s) {
  return {s.b, s.nh, s.t, 1};
}
Dims row_vector_strides(const AttentionShape& s) {
  return {s.nh * s.t, s.t, 1, 1};
}

Dims swapped(Dims dims) {
  std::swap(dims[2], dims[3]);
  return dims;
}

// scores where column <= row, -inf elsewhere
std::int64_t causal_mask(CudnnGraph& g, const AttentionShape& s, std::int64_t scores,
                         std::int64_t minus_infinity) {
  const std::int64_t row = g.index(scores, 2, g.virtual_tensor(CUDNN_DATA_INT32, rows_by_rows(s)));
  const std::int64_t column = g.index(scores, 3, g.virtual_tensor(CUDNN_DATA_INT32, rows_by_rows(s)));
  const std::int64_t keep =
      g.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, g.virtual_tensor(CUDNN_DATA_BOOLEAN, rows_by_rows(s)),
                  CUDNN_DATA_BOOLEAN);
  return g.select(scores, minus_infinity, keep, g.virtual_tensor(CUDNN_DATA_FLOAT, rows_by_rows(s)));
}

}  // namespace

AttentionForwardPlan build_attention_forward(CudnnGraph g, const AttentionShape& s) {
  AttentionForwardPlan p;
  p.q = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.k = g.tensor(CUDNN_DATA_BFLOAT16, swapped(rows_by_size(s)), swapped(qkv_strides(s)));
  p.v = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.out = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), out_strides(s));
  p.lse = g.tensor(CUDNN_DATA_FLOAT, row_vector(s), row_vector_strides(s));
  p.scale = g.scalar(CUDNN_DATA_FLOAT, 4);
  p.minus_infinity = g.scalar(CUDNN_DATA_FLOAT, 4);
  const auto square = [&] { return g.virtual_tensor(CUDNN_DATA_FLOAT, rows_by_rows(s)); };
  const auto vector = [&] {
    return g.virtual_tensor(CUDNN_DATA_FLOAT, row_vector(s), row_vector_strides(s));
  };

  std::int64_t scores = g.matmul(p.q, p.k, square());
  scores = g.pointwise(CUDNN_POINTWISE_MUL, scores, p.scale, square());
  scores = causal_mask(g, s, scores, p.minus_infinity);

  const std::int64_t largest = g.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, vector());
  const std::int64_t shifted = g.pointwise(CUDNN_POINTWISE_SUB, scores, largest, square());
  const std::int64_t exponential = g.pointwise(CUDNN_POINTWISE_EXP, shifted, square());
  const std::int64_t sum = g.reduce(CUDNN_REDUCE_TENSOR_ADD, exponential, vector());
  const std::int64_t log_sum = g.pointwise(CUDNN_POINTWISE_LOG, sum, vector());
  g.pointwise(CUDNN_POINTWISE_ADD, largest, log_sum, p.lse);
  // The second GEMM takes its left operand in the type of V.
  const std::int64_t probabilities = g.pointwise(CUDNN_POINTWISE_DIV, exponential, sum,
                                                 g.virtual_tensor(CUDNN_DATA_BFLOAT16, rows_by_rows(s)));
  g.matmul(probabilities, p.v, p.out);
  p.plan = g.build("attention forward");
  return p;
}

AttentionBackwardPlan build_attention_backward(CudnnGraph g, const AttentionShape& s, bool deterministic) {
  AttentionBackwardPlan p;
  p.q = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.k = g.tensor(CUDNN_DATA_BFLOAT16, swapped(rows_by_size(s)), swapped(qkv_strides(s)));
  p.v = g.tensor(CUDNN_DATA_BFLOAT16, swapped(rows_by_size(s)), swapped(qkv_strides(s)));
  p.out = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), out_strides(s));
  p.dout = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), out_strides(s));
  p.lse = g.tensor(CUDNN_DATA_FLOAT, row_vector(s), row_vector_strides(s));
  p.dq = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.dk = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.dv = g.tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s));
  p.row_sum = g.tensor(CUDNN_DATA_FLOAT, row_vector(s), row_vector_strides(s));
  p.scale = g.scalar(CUDNN_DATA_FLOAT, 4);
  p.minus_infinity = g.scalar(CUDNN_DATA_FLOAT, 4);
  p.one = g.scalar(CUDNN_DATA_FLOAT, 4);
  const auto square = [&] { return g.virtual_tensor(CUDNN_DATA_FLOAT, rows_by_rows(s)); };
  const Dims transposed_strides = {s.nh * s.t * s.t, s.t * s.t, 1, s.t};
  const auto transposed = [&](std::int64_t x) {
    return g.reshape(x, g.virtual_tensor(CUDNN_DATA_BFLOAT16, rows_by_rows(s), transposed_strides));
  };

  // row_sum = sum over the head of dout * out
  const std::int64_t product =
      g.pointwise(CUDNN_POINTWISE_MUL, p.dout, p.out, g.virtual_tensor(CUDNN_DATA_FLOAT, rows_by_size(s)));
  const std::int64_t reduced =
      g.reduce(CUDNN_REDUCE_TENSOR_ADD, product,
               g.virtual_tensor(CUDNN_DATA_FLOAT, row_vector(s), row_vector_strides(s)));
  // The engine expects the dropout factor here; without dropout it is one.
  g.pointwise(CUDNN_POINTWISE_MUL, reduced, p.one, p.row_sum);

  // probabilities again, from the stored log-sum
  std::int64_t scores = g.matmul(p.q, p.k, square());
  scores = g.pointwise(CUDNN_POINTWISE_MUL, scores, p.scale, square());
  scores = g.pointwise(CUDNN_POINTWISE_SUB, scores, p.lse, square());
  scores = causal_mask(g, s, scores, p.minus_infinity);
  const std::int64_t probabilities = g.pointwise(CUDNN_POINTWISE_EXP, scores, square());
  g.matmul(transposed(probabilities), p.dout, p.dv);

  // score gradients
  std::int64_t ds = g.matmul(p.dout, p.v, square());
  ds = g.pointwise(CUDNN_POINTWISE_SUB, ds, p.row_sum, square());
  ds = g.pointwise(CUDNN_POINTWISE_MUL, ds, probabilities, square());
  ds = g.pointwise(CUDNN_POINTWISE_MUL, ds, p.scale, g.virtual_tensor(CUDNN_DATA_BFLOAT16, rows_by_rows(s)));
  g.matmul(transposed(ds), p.q, p.dk);

  const std::int64_t k_rows =
      g.reshape(p.k, g.virtual_tensor(CUDNN_DATA_BFLOAT16, rows_by_size(s), qkv_strides(s)));
  if (deterministic) {
    g.matmul(ds, k_rows, p.dq);
  } else {
    p.dq_sum = g.tensor(CUDNN_DATA_FLOAT, rows_by_size(s), {s.nh * s.t * s.hs, s.t * s.hs, s.hs, 1});
    g.matmul(ds, k_rows, p.dq_sum);
    g.pointwise(CUDNN_POINTWISE_IDENTITY, p.dq_sum, p.dq);
  }
  p.plan = g.build("attention backward");
  return p;
}

}  // namespace ridgeline::gpt2
