// The kernels of the unfused attention against their references.
#include <limits>

#include "gpt2/ops/attention/attention_unfused.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_attention_unfused_test {
namespace {

using namespace ops_test;

// 1, primes, around a block of 256 channels, GPT-2's heads.
const std::vector<HeadShape> kHeadShapes = {{1, 1, 1, 1, 1},    {1, 2, 7, 3, 5},   {3, 2, 7, 3, 5},
                                            {3, 1, 31, 1, 85},  {1, 1, 31, 4, 64}, {1, 3, 13, 1, 257},
                                            {3, 2, 129, 12, 64}};

// Rows and columns: 1, primes, around a block of 256 columns, long.
struct Rows {
  std::int64_t rows;
  int columns;
};
const std::vector<Rows> kRows = {{1, 1}, {7, 3}, {5, 255}, {3, 256}, {3, 257}, {1031, 61}, {2, 4099}};

std::string name_of(const Rows& r) {
  return "R=" + std::to_string(r.rows) + " S=" + std::to_string(r.columns) + " ";
}

template <typename T>
class AttentionUnfused : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(AttentionUnfused, ElementTypes);

TYPED_TEST(AttentionUnfused, HeadsAreSplitAndMergedExactly) {
  const Stream stream;
  for (const HeadShape& shape : kHeadShapes) {
    const std::string what = "P=" + std::to_string(shape.parts) + " T=" + std::to_string(shape.seq) +
                             " HS=" + std::to_string(shape.head_size) + " ";
    const auto x = random_values<TypeParam>(shape.elements(), 1);
    std::vector<double> expected(x.size());
    const auto inp = to_device<TypeParam>(x);
    auto out = poisoned<TypeParam>(shape.elements());
    split_heads_cpu(expected.data(), x.data(), shape);
    launch_split_heads(out.data(), inp.data(), shape, stream.get());
    expect_close(to_host(out), expected, 0.0, 0.0, what + "split");
    auto merged = poisoned<TypeParam>(shape.elements());
    merge_heads_cpu(expected.data(), x.data(), shape);
    launch_merge_heads(merged.data(), inp.data(), shape, stream.get());
    expect_close(to_host(merged), expected, 0.0, 0.0, what + "merge");
  }
}

TYPED_TEST(AttentionUnfused, ScalingRoundsOnce) {
  const Stream stream;
  for (const std::int64_t n : {1, 7, 255, 257, 1'000'003}) {
    auto x = random_values<TypeParam>(n, 2, 5.0);
    auto scores = to_device<TypeParam>(x);
    scale_scores_cpu(x.data(), 0.125, n);
    launch_scale_scores(scores.data(), 0.125F, n, stream.get());
    expect_close(to_host(scores), x, epsilon<TypeParam>() / 2, 0.0, "n=" + std::to_string(n));
  }
}

TYPED_TEST(AttentionUnfused, TheMaskHidesTheFutureAndNothingElse) {
  const Stream stream;
  for (const int seq : {1, 2, 61, 255, 257, 513}) {
    const std::int64_t matrices = 3;
    auto x = random_values<TypeParam>(matrices * seq * seq, 3);
    auto scores = to_device<TypeParam>(x);
    causal_mask_cpu(x.data(), matrices, seq);
    launch_causal_mask(scores.data(), matrices, seq, stream.get());
    expect_close(to_host(scores), x, 0.0, 0.0, "T=" + std::to_string(seq));
  }
}

TYPED_TEST(AttentionUnfused, SoftmaxMatchesReferenceInPlaceToo) {
  const Stream stream;
  for (const Rows& r : kRows) {
    for (const double scale : {1.0, 20.0}) {
      auto x = random_values<TypeParam>(r.rows * r.columns, 4, scale);
      // The last columns of the first row are masked, as a causal row has them.
      for (int s = r.columns / 2 + 1; s < r.columns; ++s) {
        x[static_cast<std::size_t>(s)] = -std::numeric_limits<double>::infinity();
      }
      std::vector<double> expected(x.size());
      softmax_cpu(expected.data(), x.data(), r.rows, r.columns);
      auto inp = to_device<TypeParam>(x);
      auto out = poisoned<TypeParam>(r.rows * r.columns);
      launch_softmax(out.data(), inp.data(), r.rows, r.columns, stream.get());
      // The argument of the exponential is rounded to FP32: up to 100 * 2^-24, relative.
      const double relative = epsilon<TypeParam>() / 2 + 2e-5;
      expect_close(to_host(out), expected, relative, 1e-37, name_of(r) + "softmax");
      launch_softmax(inp.data(), inp.data(), r.rows, r.columns, stream.get());
      expect_close(to_host(inp), expected, relative, 1e-37, name_of(r) + "softmax in place");
    }
  }
}

TYPED_TEST(AttentionUnfused, SoftmaxPassesNanOn) {
  const Stream stream;
  std::vector<double> x(3 * 300, 1.0);
  x[310] = std::nan("");
  auto scores = to_device<TypeParam>(x);
  launch_softmax(scores.data(), scores.data(), 3, 300, stream.get());
  const auto got = to_host(scores);
  EXPECT_TRUE(std::isfinite(got[0]));
  EXPECT_TRUE(std::isnan(got[301]));
  EXPECT_TRUE(std::isfinite(got[600]));
}

TYPED_TEST(AttentionUnfused, SoftmaxGradientMatchesReferenceInPlaceToo) {
  const Stream stream;
  for (const Rows& r : kRows) {
    const std::int64_t n = r.rows * r.columns;
    auto p = random_values<TypeParam>(n, 5, 2.0);
    softmax_cpu(p.data(), p.data(), r.rows, r.columns);
    for (double& value : p) value = to_float(from_float<TypeParam>(static_cast<float>(value)));
    const auto d = random_values<TypeParam>(n, 6);
    std::vector<double> expected(p.size());
    softmax_backward_cpu(expected.data(), d.data(), p.data(), r.rows, r.columns);
    const auto device_p = to_device<TypeParam>(p);
    auto dout = to_device<TypeParam>(d);
    auto dinp = poisoned<TypeParam>(n);
    launch_softmax_backward(dinp.data(), dout.data(), device_p.data(), r.rows, r.columns, stream.get());
    // dout - sum cancels; its FP32 error is that of values of size 5, times p.
    std::vector<double> absolute(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) absolute[i] = 1e-5 * p[i] + 1e-37;
    expect_close(to_host(dinp), expected, epsilon<TypeParam>() / 2, absolute, name_of(r) + "gradient");
    launch_softmax_backward(dout.data(), dout.data(), device_p.data(), r.rows, r.columns, stream.get());
    expect_close(to_host(dout), expected, epsilon<TypeParam>() / 2, absolute, name_of(r) + "in place");
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_attention_unfused_test
