#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gpt2/common/parallel_parts.h"
#include "gpt2/ops/attention/attention.h"

namespace ridgeline::gpt2 {

namespace {

// First element of q (which = 0), k (1) or v (2) of one position and head.
std::int64_t qkv_offset(int b, int t, int which, int h, int seq, int heads, int head_size) {
  return (((std::int64_t{b} * seq + t) * 3 + which) * heads + h) * head_size;
}

}  // namespace

template <typename Real>
void attention_forward_cpu(Real* out, Real* lse, const Real* qkv, int batch, int seq, int heads,
                           int head_size) {
  const Real scale = Real(1) / std::sqrt(static_cast<Real>(head_size));
  const std::int64_t operations = std::int64_t{seq} * seq * head_size;
  for_parts(std::int64_t{batch} * heads, operations, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> scores(static_cast<std::size_t>(seq));
    for (std::int64_t of_batch = begin; of_batch < end; ++of_batch) {
      const auto b = static_cast<int>(of_batch / heads);
      const auto h = static_cast<int>(of_batch % heads);
      for (int t = 0; t < seq; ++t) {
        const Real* q = qkv + qkv_offset(b, t, 0, h, seq, heads, head_size);
        Real largest = -std::numeric_limits<Real>::infinity();
        for (int s = 0; s <= t; ++s) {
          const Real* k = qkv + qkv_offset(b, s, 1, h, seq, heads, head_size);
          Real dot{0};
          for (int d = 0; d < head_size; ++d) dot += q[d] * k[d];
          scores[static_cast<std::size_t>(s)] = dot * scale;
          largest = std::max(largest, dot * scale);
        }
        Real sum{0};
        for (int s = 0; s <= t; ++s) sum += std::exp(scores[static_cast<std::size_t>(s)] - largest);
        const Real log_sum = largest + std::log(sum);
        Real* o = out + ((std::int64_t{b} * seq + t) * heads + h) * head_size;
        for (int d = 0; d < head_size; ++d) o[d] = Real{0};
        for (int s = 0; s <= t; ++s) {
          const Real p = std::exp(scores[static_cast<std::size_t>(s)] - log_sum);
          const Real* v = qkv + qkv_offset(b, s, 2, h, seq, heads, head_size);
          for (int d = 0; d < head_size; ++d) o[d] += p * v[d];
        }
        if (lse != nullptr) lse[of_batch * seq + t] = log_sum;
      }
    }
  });
}

template <typename Real>
void attention_backward_cpu(Real* dqkv, const Real* dout, const Real* qkv, const Real* out, const Real* lse,
                            int batch, int seq, int heads, int head_size) {
  const Real scale = Real(1) / std::sqrt(static_cast<Real>(head_size));
  const std::int64_t n = std::int64_t{batch} * seq * 3 * heads * head_size;
  for (std::int64_t i = 0; i < n; ++i) dqkv[i] = Real{0};
  const std::int64_t operations = std::int64_t{2} * seq * seq * head_size;
  for_parts(std::int64_t{batch} * heads, operations, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t of_batch = begin; of_batch < end; ++of_batch) {
      const auto b = static_cast<int>(of_batch / heads);
      const auto h = static_cast<int>(of_batch % heads);
      for (int t = 0; t < seq; ++t) {
        const std::int64_t position = ((std::int64_t{b} * seq + t) * heads + h) * head_size;
        const Real* dout_row = dout + position;
        const Real* q = qkv + qkv_offset(b, t, 0, h, seq, heads, head_size);
        Real* dq = dqkv + qkv_offset(b, t, 0, h, seq, heads, head_size);
        const Real log_sum = lse[of_batch * seq + t];
        // The softmax's Jacobian needs sum_s p_s dp_s, which equals dout . out.
        Real mean_dp{0};
        for (int d = 0; d < head_size; ++d) mean_dp += dout_row[d] * out[position + d];
        for (int s = 0; s <= t; ++s) {
          const Real* k = qkv + qkv_offset(b, s, 1, h, seq, heads, head_size);
          const Real* v = qkv + qkv_offset(b, s, 2, h, seq, heads, head_size);
          Real* dk = dqkv + qkv_offset(b, s, 1, h, seq, heads, head_size);
          Real* dv = dqkv + qkv_offset(b, s, 2, h, seq, heads, head_size);
          Real dot{0};
          Real dp{0};
          for (int d = 0; d < head_size; ++d) {
            dot += q[d] * k[d];
            dp += dout_row[d] * v[d];
          }
          const Real p = std::exp(dot * scale - log_sum);
          const Real ds = p * (dp - mean_dp) * scale;
          for (int d = 0; d < head_size; ++d) {
            dq[d] += ds * k[d];
            dk[d] += ds * q[d];
            dv[d] += p * dout_row[d];
          }
        }
      }
    }
  });
}

template void attention_forward_cpu(float*, float*, const float*, int, int, int, int);
template void attention_forward_cpu(double*, double*, const double*, int, int, int, int);
template void attention_backward_cpu(float*, const float*, const float*, const float*, const float*, int, int,
                                     int, int);
template void attention_backward_cpu(double*, const double*, const double*, const double*, const double*, int,
                                     int, int, int);

}  // namespace ridgeline::gpt2
