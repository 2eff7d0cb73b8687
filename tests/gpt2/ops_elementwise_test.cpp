// Residual addition, GELU and fills against their references.
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/residual.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_elementwise_test {
namespace {

using namespace ops_test;

// 1, a prime, around a block of 256 threads with 4 or 8 elements each, large with a tail.
const std::vector<std::int64_t> kSizes = {1, 7, 255, 257, 1023, 1025, 2047, 2049, 10007, 1'000'003};

template <typename T>
class Elementwise : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Elementwise, ElementTypes);

TYPED_TEST(Elementwise, ResidualMatchesReference) {
  const Stream stream;
  for (const std::int64_t n : kSizes) {
    const auto a = random_values<TypeParam>(n, 1);
    const auto b = random_values<TypeParam>(n, 2);
    std::vector<double> expected(a.size());
    residual_forward_cpu(expected.data(), a.data(), b.data(), n);
    const auto da = to_device<TypeParam>(a);
    const auto db = to_device<TypeParam>(b);
    auto out = poisoned<TypeParam>(n);
    launch_residual_forward(out.data(), da.data(), db.data(), n, stream.get());
    expect_close(to_host(out), expected, epsilon<TypeParam>() / 2, 0.0, "n=" + std::to_string(n));
  }
}

TYPED_TEST(Elementwise, UnalignedPointersWork) {
  const Stream stream;
  const std::int64_t n = 1001;
  const auto a = random_values<TypeParam>(n, 3);
  std::vector<double> shifted(a.size() + 1, 0.0);
  std::copy(a.begin(), a.end(), shifted.begin() + 1);
  std::vector<double> expected(a.size());
  gelu_forward_cpu(expected.data(), a.data(), n);
  const auto inp = to_device<TypeParam>(shifted);
  auto out = poisoned<TypeParam>(n);
  launch_gelu_forward(out.data(), inp.data() + 1, n, stream.get());
  expect_close(to_host(out), expected, 4 * epsilon<TypeParam>(), 4 * epsilon<TypeParam>() * 0.1, "gelu");
}

TYPED_TEST(Elementwise, GeluMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const std::int64_t n : kSizes) {
    auto x = random_values<TypeParam>(n, 4, 3.0);
    if (n > 10) {
      x[0] = 0.0;
      x[1] = 100.0;
      x[2] = -100.0;
      x[3] = -1e4;
    }
    const auto d = random_values<TypeParam>(n, 5);
    std::vector<double> expected(x.size());
    std::vector<double> expected_gradient(x.size());
    gelu_forward_cpu(expected.data(), x.data(), n);
    gelu_backward_cpu(expected_gradient.data(), x.data(), d.data(), n);
    const auto inp = to_device<TypeParam>(x);
    auto dout = to_device<TypeParam>(d);
    auto out = poisoned<TypeParam>(n);
    auto dinp = poisoned<TypeParam>(n);
    launch_gelu_forward(out.data(), inp.data(), n, stream.get());
    launch_gelu_backward(dinp.data(), inp.data(), dout.data(), n, stream.get());
    std::vector<double> tolerance(x.size());
    std::vector<double> tolerance_gradient(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // The error of the gate is relative to the gate; the argument's rounding adds |x| of FP32.
      tolerance[i] = 0x1p-20 * std::min(std::abs(x[i]), 10.0);
      tolerance_gradient[i] = 0x1p-20 * std::abs(d[i]) * (1.0 + std::min(std::abs(x[i]), 10.0));
    }
    expect_close(to_host(out), expected, eps, tolerance, "forward n=" + std::to_string(n));
    expect_close(to_host(dinp), expected_gradient, eps, tolerance_gradient,
                 "backward n=" + std::to_string(n));
    launch_gelu_backward(dout.data(), inp.data(), dout.data(), n, stream.get());
    expect_close(to_host(dout), expected_gradient, eps, tolerance_gradient,
                 "in place n=" + std::to_string(n));
  }
}

TYPED_TEST(Elementwise, GeluPassesNanOn) {
  const Stream stream;
  const auto inp = to_device<TypeParam>(std::vector<double>(64, std::nan("")));
  DeviceBuffer<TypeParam> out(64);
  launch_zero(out.data(), out.size_bytes(), stream.get());
  launch_gelu_forward(out.data(), inp.data(), 64, stream.get());
  for (const double value : to_host(out)) EXPECT_TRUE(std::isnan(value));
}

TYPED_TEST(Elementwise, FillConvertAndZero) {
  const Stream stream;
  for (const std::int64_t n : kSizes) {
    auto out = poisoned<TypeParam>(n);
    launch_fill(out.data(), 1.5F, n, stream.get());
    expect_close(to_host(out), std::vector<double>(static_cast<std::size_t>(n), 1.5), 0.0, 0.0, "fill");
    const auto values = random_values<float>(n, 6);
    const auto inp = to_device<float>(values);
    launch_convert(out.data(), inp.data(), n, stream.get());
    expect_close(to_host(out), values, epsilon<TypeParam>() / 2, 0.0, "convert");
    launch_zero(out.data(), out.size_bytes(), stream.get());
    expect_close(to_host(out), std::vector<double>(static_cast<std::size_t>(n), 0.0), 0.0, 0.0, "zero");
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_elementwise_test
