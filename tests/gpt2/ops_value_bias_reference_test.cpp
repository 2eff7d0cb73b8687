// What the gradient of qkv's bias in attention is made of, by the references in double.
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/value_bias_gradient.h"
#include "gpt2/ops/matmul/reference_matmul.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2 {
namespace {

using namespace ops_test;

TEST(ValueBiasReference, ColumnsOfKeysSumToZeroAndThoseOfValuesFollowFromTheProjection) {
  const int batch = 2;
  const int seq = 9;
  const int heads = 3;
  const int head_size = 4;
  const int channels = heads * head_size;
  const std::int64_t rows = std::int64_t{batch} * seq;
  const auto qkv = random_values<float>(rows * 3 * channels, 1);
  const auto projw = random_values<float>(std::int64_t{channels} * channels, 2);
  const auto dproj = random_values<float>(rows * channels, 3);
  const auto elements = static_cast<std::size_t>(rows * channels);
  std::vector<double> out(elements), dout(elements), dqkv(3 * elements);
  std::vector<double> lse(static_cast<std::size_t>(rows * heads));
  attention_forward_cpu(out.data(), lse.data(), qkv.data(), batch, seq, heads, head_size);
  matmul_backward_cpu<double>(dout.data(), nullptr, nullptr, dproj.data(), nullptr, projw.data(), rows,
                              channels, channels);
  attention_backward_cpu(dqkv.data(), dout.data(), qkv.data(), out.data(), lse.data(), batch, seq, heads,
                         head_size);
  std::vector<double> summed(3 * static_cast<std::size_t>(channels), 0.0);
  bias_gradient_cpu(summed.data(), dqkv.data(), rows, 3 * channels);
  std::vector<double> dprojb(static_cast<std::size_t>(channels), 0.0);
  bias_gradient_cpu(dprojb.data(), dproj.data(), rows, channels);
  auto formed = summed;
  value_bias_gradient_cpu(formed.data(), dprojb.data(), projw.data(), 1, channels);
  for (int c = 0; c < channels; ++c) {
    const auto key = static_cast<std::size_t>(channels + c);
    const auto value = static_cast<std::size_t>(2 * channels + c);
    EXPECT_NEAR(summed[key], 0.0, 1e-12) << c;
    EXPECT_NEAR(summed[value], formed[value], 1e-12 * (1.0 + std::abs(summed[value]))) << c;
    EXPECT_GT(std::abs(summed[value]), 1e-6) << c;
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
