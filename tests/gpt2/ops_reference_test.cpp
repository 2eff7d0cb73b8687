// The CPU references themselves: every backward against central finite differences, in double; what runs their loops.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gpt2/common/parallel_parts.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/matmul/reference_matmul.h"
#include "gpt2/ops/norm/layernorm.h"
#include "gpt2/ops/optimizer/adamw.h"

namespace ridgeline::gpt2 {
namespace {

using Values = std::vector<double>;

Values values_of_seed(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution;
  Values values(n);
  for (double& value : values) value = distribution(generator);
  return values;
}

double dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// gradient[i] against (f(x + h e_i) - f(x - h e_i)) / 2h for every i.
void expect_gradient(Values& x, const Values& gradient, const std::function<double()>& f,
                     const std::string& what) {
  ASSERT_EQ(x.size(), gradient.size()) << what;
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double saved = x[i];
    x[i] = saved + kStep;
    const double above = f();
    x[i] = saved - kStep;
    const double below = f();
    x[i] = saved;
    const double numeric = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[i], numeric, 1e-7 * (1.0 + std::abs(numeric))) << what << " element " << i;
  }
}

TEST(Reference, EncoderBackward) {
  const int batch = 2, seq = 5, channels = 3, vocab = 4;
  auto wte = values_of_seed(vocab * channels, 1);
  auto wpe = values_of_seed(seq * channels, 2);
  const std::vector<std::int32_t> tokens = {0, 3, 3, 1, 0, 3, 2, 1, 1, 3};
  const auto dout = values_of_seed(batch * seq * channels, 3);
  Values out(dout.size());
  const auto loss = [&] {
    encoder_forward_cpu(out.data(), tokens.data(), wte.data(), wpe.data(), batch, seq, channels);
    return dot(out, dout);
  };
  Values dwte(wte.size(), 0.0), dwpe(wpe.size(), 0.0);
  encoder_backward_cpu(dwte.data(), dwpe.data(), dout.data(), tokens.data(), batch, seq, channels);
  expect_gradient(wte, dwte, loss, "dwte");
  expect_gradient(wpe, dwpe, loss, "dwpe");
}

TEST(Reference, FusedResidualLayernormBackward) {
  const std::int64_t rows = 4;
  const int channels = 6;
  auto a = values_of_seed(24, 4), b = values_of_seed(24, 5), weight = values_of_seed(6, 6),
       bias = values_of_seed(6, 7);
  const auto dnormed = values_of_seed(24, 8), dresidual = values_of_seed(24, 9);
  Values residual(24), normed(24), mean(4), rstd(4);
  const auto loss = [&] {
    residual_layernorm_forward_cpu(residual.data(), normed.data(), mean.data(), rstd.data(), a.data(),
                                   b.data(), weight.data(), bias.data(), rows, channels);
    return dot(normed, dnormed) + dot(residual, dresidual);
  };
  loss();
  Values dinp(24), dweight(6, 0.0), dbias(6, 0.0), colsum(6, 0.0);
  layernorm_backward_cpu(dinp.data(), dresidual.data(), dweight.data(), dbias.data(), colsum.data(),
                         dnormed.data(), residual.data(), weight.data(), mean.data(), rstd.data(), rows,
                         channels);
  Values expected_colsum(6, 0.0);
  bias_gradient_cpu(expected_colsum.data(), dinp.data(), rows, channels);
  for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(colsum[c], expected_colsum[c], 1e-12);
  expect_gradient(a, dinp, loss, "dinp1");
  expect_gradient(b, dinp, loss, "dinp2");
  expect_gradient(weight, dweight, loss, "dweight");
  expect_gradient(bias, dbias, loss, "dbias");
}

TEST(Reference, LayernormBackwardWithoutResidual) {
  auto x = values_of_seed(15, 10), weight = values_of_seed(5, 11), bias = values_of_seed(5, 12);
  const auto dout = values_of_seed(15, 13);
  Values out(15), mean(3), rstd(3);
  const auto loss = [&] {
    layernorm_forward_cpu(out.data(), mean.data(), rstd.data(), x.data(), weight.data(), bias.data(), 3, 5);
    return dot(out, dout);
  };
  loss();
  Values dinp(15), dweight(5, 0.0), dbias(5, 0.0);
  layernorm_backward_cpu<double>(dinp.data(), nullptr, dweight.data(), dbias.data(), nullptr, dout.data(),
                                 x.data(), weight.data(), mean.data(), rstd.data(), 3, 5);
  expect_gradient(x, dinp, loss, "dinp");
}

TEST(Reference, GeluBackward) {
  auto x = values_of_seed(50, 14);
  x[0] = 0.0;
  x[1] = 5.0;
  x[2] = -5.0;
  const auto dout = values_of_seed(50, 15);
  Values out(50);
  const auto loss = [&] {
    gelu_forward_cpu(out.data(), x.data(), 50);
    return dot(out, dout);
  };
  Values dinp(50);
  gelu_backward_cpu(dinp.data(), x.data(), dout.data(), 50);
  expect_gradient(x, dinp, loss, "dinp");
}

TEST(Reference, FusedClassifierGradient) {
  const int rows = 3, vocab = 7, padded = 10;
  auto logits = values_of_seed(rows * padded, 16);
  const std::vector<std::int32_t> targets = {0, 6, 3};
  const double dloss = 0.37;
  Values losses(3);
  const auto loss = [&] {
    classifier_loss_cpu(losses.data(), logits.data(), targets.data(), rows, vocab, padded);
    return dloss * (losses[0] + losses[1] + losses[2]);
  };
  Values dlogits = logits;
  Values fused_losses(3);
  fused_classifier_cpu(dlogits.data(), fused_losses.data(), targets.data(), dloss, rows, vocab, padded);
  loss();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], fused_losses[i], 1e-14);
  // The padding's gradient is 0, and so is its finite difference.
  expect_gradient(logits, dlogits, loss, "dlogits");
}

TEST(Reference, MatmulBackward) {
  const int rows = 4, channels = 3, out_channels = 5;
  auto inp = values_of_seed(12, 17), weight = values_of_seed(15, 18), bias = values_of_seed(5, 19);
  const auto dout = values_of_seed(20, 20);
  Values out(20);
  const auto loss = [&] {
    matmul_forward_cpu(out.data(), inp.data(), weight.data(), bias.data(), rows, channels, out_channels);
    return dot(out, dout);
  };
  Values dinp(12), dweight(15, 0.0), dbias(5, 0.0), column_sums(5, 0.0);
  matmul_backward_cpu(dinp.data(), dweight.data(), dbias.data(), dout.data(), inp.data(), weight.data(), rows,
                      channels, out_channels);
  expect_gradient(inp, dinp, loss, "dinp");
  expect_gradient(weight, dweight, loss, "dweight");
  expect_gradient(bias, dbias, loss, "dbias");
  bias_gradient_cpu(column_sums.data(), dout.data(), rows, out_channels);
  for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(column_sums[c], dbias[c], 1e-14);
}

TEST(Reference, AttentionBackward) {
  const int batch = 2, seq = 5, heads = 2, head_size = 3;
  const std::size_t n = 2 * 5 * 2 * 3;
  auto qkv = values_of_seed(3 * n, 21);
  const auto dout = values_of_seed(n, 22);
  Values out(n), lse(20), dqkv(3 * n);
  const auto loss = [&] {
    attention_forward_cpu(out.data(), lse.data(), qkv.data(), batch, seq, heads, head_size);
    return dot(out, dout);
  };
  loss();
  attention_backward_cpu(dqkv.data(), dout.data(), qkv.data(), out.data(), lse.data(), batch, seq, heads,
                         head_size);
  expect_gradient(qkv, dqkv, loss, "dqkv");
}

// The first query sees one key only, so its output is that key's value.
TEST(Reference, AttentionIsCausal) {
  const auto qkv = values_of_seed(3 * 4 * 2, 23);
  Values out(8), lse(4);
  attention_forward_cpu(out.data(), lse.data(), qkv.data(), 1, 4, 1, 2);
  EXPECT_NEAR(out[0], qkv[4], 1e-14);
  EXPECT_NEAR(out[1], qkv[5], 1e-14);
}

// One update by hand: with m = v = 0 the first step moves by lr * sign(g) whatever g, plus the decay.
TEST(Reference, AdamwFirstStep) {
  Values params = {1.0, 1.0}, m(2, 0.0), v(2, 0.0);
  const Values grads = {0.25, -3.0};
  AdamwConfig config;
  config.learning_rate = 0.5F;
  config.epsilon = 0.0F;
  const std::vector<WeightDecayRange> ranges = {{1, 2, 0.25F}};
  adamw_cpu<double>(params.data(), m.data(), v.data(), grads.data(), 1.0, 2, ranges, config);
  EXPECT_NEAR(params[0], 0.5, 1e-7);
  EXPECT_NEAR(params[1], 1.0 + 0.5 - 0.5 * 0.25, 1e-7);
}

TEST(Reference, ResidualAddsElementwise) {
  const auto a = values_of_seed(9, 24), b = values_of_seed(9, 25);
  Values out(9);
  residual_forward_cpu(out.data(), a.data(), b.data(), 9);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(out[i], a[i] + b[i]);
}

TEST(ForParts, EveryTurnRunsOnceWhateverTheCountAndTheWork) {
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    for (const std::int64_t operations : {1, 1 << 10, 1 << 20}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      for_parts(count, operations, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
      });
      for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(runs[static_cast<std::size_t>(i)], 1) << "turn " << i << " of " << count;
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
