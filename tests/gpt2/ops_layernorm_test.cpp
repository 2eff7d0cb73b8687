// Layer normalisation, forward, fused with the residual addition, and backward, against the references.
#include <algorithm>
#include <optional>

#include "gpt2/ops/norm/layernorm.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_layernorm_test {
namespace {

using namespace ops_test;

struct Shape {
  std::int64_t rows;
  int channels;
};
// GPT-2's widths, widths that are no multiple of a vector, of a warp's share, or too wide for registers. The
// last ones have several rows for each warp of a full H200, and more than its ring holds.
const std::vector<Shape> kShapes = {{1, 2},     {1, 768},    {7, 33},     {8, 8},       {9, 255},
                                    {31, 256},  {33, 257},   {5, 768},    {1031, 768},  {257, 1024},
                                    {67, 1280}, {129, 1600}, {13, 2304},  {11, 2312},   {5, 3201},
                                    {3, 4096},  {20011, 64}, {8209, 768}, {2503, 1600}, {105019, 8}};

std::string name_of(const Shape& s) {
  return "N=" + std::to_string(s.rows) + " C=" + std::to_string(s.channels) + " ";
}

template <typename T>
class Layernorm : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Layernorm, ElementTypes);

TYPED_TEST(Layernorm, ForwardMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const Shape& s : kShapes) {
    const std::int64_t n = s.rows * s.channels;
    auto x = random_values<TypeParam>(n, 1);
    // An offset of a few deviations: a one-pass variance would lose digits here.
    for (double& v : x) v = static_cast<double>(to_float(from_float<TypeParam>(static_cast<float>(v + 4.0))));
    const auto w = random_values<TypeParam>(s.channels, 2);
    const auto b = random_values<TypeParam>(s.channels, 3);
    std::vector<double> expected(x.size());
    std::vector<double> mean(static_cast<std::size_t>(s.rows));
    std::vector<double> rstd(static_cast<std::size_t>(s.rows));
    layernorm_forward_cpu(expected.data(), mean.data(), rstd.data(), x.data(), w.data(), b.data(), s.rows,
                          s.channels);
    const auto inp = to_device<TypeParam>(x);
    const auto weight = to_device<TypeParam>(w);
    const auto bias = to_device<TypeParam>(b);
    auto out = poisoned<TypeParam>(n);
    auto got_mean = poisoned<float>(s.rows);
    auto got_rstd = poisoned<float>(s.rows);
    launch_layernorm_forward(out.data(), got_mean.data(), got_rstd.data(), inp.data(), weight.data(),
                             bias.data(), s.rows, s.channels, stream.get());
    expect_close(to_host(got_mean), mean, 2e-6, 1e-6, name_of(s) + "mean");
    expect_close(to_host(got_rstd), rstd, 1e-4, 0.0, name_of(s) + "rstd");
    expect_close(to_host(out), expected, eps, 5e-5 + eps / 4, name_of(s) + "out");
    auto without = poisoned<TypeParam>(n);
    launch_layernorm_forward<TypeParam>(without.data(), nullptr, nullptr, inp.data(), weight.data(),
                                        bias.data(), s.rows, s.channels, stream.get());
    EXPECT_EQ(to_host(out), to_host(without)) << name_of(s);
  }
}

TYPED_TEST(Layernorm, FusedResidualMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const Shape& s : kShapes) {
    const std::int64_t n = s.rows * s.channels;
    const auto a = random_values<TypeParam>(n, 4);
    const auto b = random_values<TypeParam>(n, 5);
    const auto w = random_values<TypeParam>(s.channels, 6);
    const auto c = random_values<TypeParam>(s.channels, 7);
    std::vector<double> residual(a.size());
    std::vector<double> normed(a.size());
    std::vector<double> mean(static_cast<std::size_t>(s.rows));
    std::vector<double> rstd(static_cast<std::size_t>(s.rows));
    residual_layernorm_forward_cpu(residual.data(), normed.data(), mean.data(), rstd.data(), a.data(),
                                   b.data(), w.data(), c.data(), s.rows, s.channels);
    // The kernel normalises the rounded sum: so must the reference.
    std::vector<double> rounded(a.size());
    std::transform(residual.begin(), residual.end(), rounded.begin(), [](double v) {
      return static_cast<double>(to_float(from_float<TypeParam>(static_cast<float>(v))));
    });
    layernorm_forward_cpu(normed.data(), mean.data(), rstd.data(), rounded.data(), w.data(), c.data(), s.rows,
                          s.channels);
    auto inp1 = to_device<TypeParam>(a);
    const auto inp2 = to_device<TypeParam>(b);
    const auto weight = to_device<TypeParam>(w);
    const auto bias = to_device<TypeParam>(c);
    auto got_residual = poisoned<TypeParam>(n);
    auto got_normed = poisoned<TypeParam>(n);
    auto got_mean = poisoned<float>(s.rows);
    auto got_rstd = poisoned<float>(s.rows);
    launch_residual_layernorm_forward(got_residual.data(), got_normed.data(), got_mean.data(),
                                      got_rstd.data(), inp1.data(), inp2.data(), weight.data(), bias.data(),
                                      s.rows, s.channels, stream.get());
    expect_close(to_host(got_residual), rounded, sizeof(TypeParam) == 2 ? 0.0 : 1e-7, 1e-7,
                 name_of(s) + "residual");
    expect_close(to_host(got_mean), mean, 2e-6, 1e-6, name_of(s) + "mean");
    // With two columns the variance can be tiny and rstd large: relative to it, FP32 has few digits.
    expect_close(to_host(got_rstd), rstd, s.channels < 8 ? 1e-2 : 1e-4, 0.0, name_of(s) + "rstd");
    expect_close(to_host(got_normed), normed, eps, 5e-5 + eps / 4, name_of(s) + "normed");
    // The sum may overwrite its first input.
    launch_residual_layernorm_forward(inp1.data(), got_normed.data(), got_mean.data(), got_rstd.data(),
                                      inp1.data(), inp2.data(), weight.data(), bias.data(), s.rows,
                                      s.channels, stream.get());
    EXPECT_EQ(to_host(inp1), to_host(got_residual)) << name_of(s) << "in place";
  }
}

// Sums of magnitudes, what FP32 rounding is relative to: the error that each value of the gradients may have.
struct BackwardScale {
  using Values = std::vector<double>;
  Values dinp, dweight, dbias, colsum;

  BackwardScale(const Shape& s, const Values& x, const Values& d, const Values& w, const Values& mean,
                const Values& rstd, const Values& dinp_expected)
      : dinp(x.size()), dweight(w.size()), dbias(w.size()), colsum(w.size()) {
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      double largest = 0.0;
      for (int c = 0; c < s.channels; ++c) {
        const auto i = static_cast<std::size_t>(row * s.channels + c);
        const auto k = static_cast<std::size_t>(c);
        const double xhat = std::abs(x[i] - mean[at]) * rstd[at];
        largest = std::max(largest, std::abs(d[i] * w[k]) * (1.0 + xhat * xhat));
        dweight[k] += std::abs(d[i]) * xhat;
        dbias[k] += std::abs(d[i]);
      }
      for (int c = 0; c < s.channels; ++c) {
        const auto i = static_cast<std::size_t>(row * s.channels + c);
        dinp[i] = 2e-5 * (1.0 + largest * rstd[at]);
        colsum[static_cast<std::size_t>(c)] += std::abs(dinp_expected[i]) + dinp[i] / 1e-5;
      }
    }
    for (auto* sums : {&dweight, &dbias, &colsum}) {
      for (double& v : *sums) v = 1e-5 * (v + 3.0);
    }
  }
};

TYPED_TEST(Layernorm, BackwardMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const Shape& s : kShapes) {
    const std::int64_t n = s.rows * s.channels;
    const auto x = random_values<TypeParam>(n, 8);
    const auto d = random_values<TypeParam>(n, 9);
    const auto r = random_values<TypeParam>(n, 10);
    const auto w = random_values<TypeParam>(s.channels, 11);
    const auto zero = std::vector<double>(static_cast<std::size_t>(s.channels), 0.0);
    const auto before = random_values<float>(s.channels, 12);
    std::vector<double> unused(x.size());
    std::vector<double> mean(static_cast<std::size_t>(s.rows));
    std::vector<double> rstd(static_cast<std::size_t>(s.rows));
    layernorm_forward_cpu(unused.data(), mean.data(), rstd.data(), x.data(), w.data(), zero.data(), s.rows,
                          s.channels);
    const auto inp = to_device<TypeParam>(x);
    const auto dout = to_device<TypeParam>(d);
    const auto weight = to_device<TypeParam>(w);
    const auto device_mean = to_device<float>(mean);
    const auto device_rstd = to_device<float>(rstd);
    auto scratch = poisoned<char>(layernorm_backward_scratch_bytes(s.channels));
    for (int variant = 0; variant < 4; ++variant) {
      const bool with_residual = variant % 2 == 1;
      const bool with_sum = variant / 2 == 1;
      const std::string what = name_of(s) + "variant " + std::to_string(variant) + " ";
      std::vector<double> dinp(x.size());
      auto dweight = before;
      auto dbias = before;
      auto colsum = before;
      layernorm_backward_cpu(dinp.data(), with_residual ? r.data() : nullptr, dweight.data(), dbias.data(),
                             colsum.data(), d.data(), x.data(), w.data(), mean.data(), rstd.data(), s.rows,
                             s.channels);
      const BackwardScale scale(s, x, d, w, mean, rstd, dinp);
      std::vector<float> first;
      for (int repeat = 0; repeat < 2; ++repeat) {
        // The residual gradient is accumulated in place, as the trainer does; without one, dinp is poisoned.
        auto got_dinp = with_residual ? to_device<TypeParam>(r) : poisoned<TypeParam>(n);
        auto got_dweight = to_device<float>(before);
        auto got_dbias = to_device<float>(before);
        auto got_sum = to_device<float>(before);
        launch_layernorm_backward<TypeParam>(
            got_dinp.data(), with_residual ? got_dinp.data() : nullptr, got_dweight.data(), got_dbias.data(),
            with_sum ? got_sum.data() : nullptr, dout.data(), inp.data(), weight.data(), device_mean.data(),
            device_rstd.data(), s.rows, s.channels, scratch.data(), stream.get());
        expect_close(to_host(got_dinp), dinp, eps, scale.dinp, what + "dinp");
        expect_close(to_host(got_dweight), dweight, 1e-6, scale.dweight, what + "dweight");
        expect_close(to_host(got_dbias), dbias, 1e-6, scale.dbias, what + "dbias");
        if (with_sum) {
          expect_close(to_host(got_sum), colsum, 1e-6, scale.colsum, what + "colsum");
        } else {
          expect_close(to_host(got_sum), before, 0.0, 0.0, what + "colsum untouched");
        }
        auto sums = got_dweight.download();
        for (const auto* more : {&got_dbias, &got_sum}) {
          const auto values = more->download();
          sums.insert(sums.end(), values.begin(), values.end());
        }
        if (repeat == 0) {
          first = sums;
        } else {
          EXPECT_EQ(first, sums) << what << "not bit-identical";
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_layernorm_test
