// The references of the unfused attention's steps, put together, are the attention of attention.h.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_unfused.h"

namespace ridgeline::gpt2 {
namespace {

std::vector<double> normal_values(std::int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = normal(generator);
  return values;
}

// d[m] (R,S) = a[m] (R,K) b[m], b read as (K,S) or, transposed, as (S,K); `from_columns` reads a as (K,R).
struct Product {
  std::int64_t r, s, k;
  bool transpose_b = false;
  bool from_columns = false;
};
void multiply(double* d, const double* a, const double* b, std::int64_t matrices, const Product& p) {
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t r = 0; r < p.r; ++r) {
      for (std::int64_t s = 0; s < p.s; ++s) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double x = a[m * p.r * p.k + (p.from_columns ? k * p.r + r : r * p.k + k)];
          sum += x * b[m * p.k * p.s + (p.transpose_b ? s * p.k + k : k * p.s + s)];
        }
        d[(m * p.r + r) * p.s + s] = sum;
      }
    }
  }
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-12) << what << ' ' << i;
}

TEST(UnfusedAttentionReference, ItsStepsAreTheAttention) {
  const int b = 2, t = 7, nh = 3, hs = 4;
  const std::int64_t n = std::int64_t{b} * t * nh * hs, matrices = b * nh, scores = matrices * t * t;
  const auto at = [](std::int64_t size) { return std::vector<double>(static_cast<std::size_t>(size)); };
  const auto qkv = normal_values(3 * n, 1);
  const auto dout = normal_values(n, 2);
  auto out = at(n), lse = at(matrices * t), dqkv = at(3 * n);
  attention_forward_cpu(out.data(), lse.data(), qkv.data(), b, t, nh, hs);
  attention_backward_cpu(dqkv.data(), dout.data(), qkv.data(), out.data(), lse.data(), b, t, nh, hs);

  const HeadShape three{.parts = 3, .batch = b, .seq = t, .heads = nh, .head_size = hs};
  const HeadShape one{.parts = 1, .batch = b, .seq = t, .heads = nh, .head_size = hs};
  const double scale = 1.0 / std::sqrt(static_cast<double>(hs));
  auto heads = at(3 * n), p = at(scores), by_head = at(n), got = at(n);
  split_heads_cpu(heads.data(), qkv.data(), three);
  const double *q = heads.data(), *k = q + n, *v = q + 2 * n;
  multiply(p.data(), q, k, matrices, {.r = t, .s = t, .k = hs, .transpose_b = true});
  scale_scores_cpu(p.data(), scale, scores);
  causal_mask_cpu(p.data(), matrices, t);
  softmax_cpu(p.data(), p.data(), matrices * t, t);
  multiply(by_head.data(), p.data(), v, matrices, {.r = t, .s = hs, .k = t});
  merge_heads_cpu(got.data(), by_head.data(), one);
  expect_near(got, out, "out");

  auto dby_head = at(n), dp = at(scores), dheads = at(3 * n), got_dqkv = at(3 * n);
  split_heads_cpu(dby_head.data(), dout.data(), one);
  multiply(dp.data(), dby_head.data(), v, matrices, {.r = t, .s = t, .k = hs, .transpose_b = true});
  multiply(dheads.data() + 2 * n, p.data(), dby_head.data(), matrices,
           {.r = t, .s = hs, .k = t, .from_columns = true});
  softmax_backward_cpu(dp.data(), dp.data(), p.data(), matrices * t, t);
  scale_scores_cpu(dp.data(), scale, scores);
  multiply(dheads.data(), dp.data(), k, matrices, {.r = t, .s = hs, .k = t});
  multiply(dheads.data() + n, dp.data(), q, matrices, {.r = t, .s = hs, .k = t, .from_columns = true});
  merge_heads_cpu(got_dqkv.data(), dheads.data(), three);
  expect_near(got_dqkv, dqkv, "dqkv");
}

TEST(UnfusedAttentionReference, MergingUndoesSplitting) {
  for (const int parts : {1, 3}) {
    const HeadShape shape{.parts = parts, .batch = 2, .seq = 5, .heads = 3, .head_size = 7};
    const auto x = normal_values(shape.elements(), 3);
    std::vector<double> split(x.size()), merged(x.size());
    split_heads_cpu(split.data(), x.data(), shape);
    merge_heads_cpu(merged.data(), split.data(), shape);
    EXPECT_NE(split, x);
    EXPECT_EQ(merged, x);
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
