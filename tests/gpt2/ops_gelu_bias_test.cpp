// GELU's derivative and the bias gradient in one pass, against the reference and the two kernels it replaces.
#include <stdexcept>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_gelu_bias_test {
namespace {

using namespace ops_test;

struct Shape {
  std::int64_t rows;
  int channels;
};
// One; primes; around a warp's columns (128 and 256), a block's 16 warps, the rows it has in flight, and
// those of all blocks at 3072 channels (22 or 11 ranges of 64 rows); as wide as GPT-2's layers, large.
const std::vector<Shape> kShapes = {{1, 8},      {1, 3072},   {7, 248},     {13, 264},    {17, 256},
                                    {65, 128},   {997, 136},  {703, 3072},  {705, 3072},  {1407, 3072},
                                    {1408, 512}, {1409, 768}, {4099, 3072}, {16'895, 24}, {16'897, 8}};

template <typename T>
class GeluBias : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(GeluBias, ElementTypes);

struct Result {
  std::vector<double> dinp, dbias;
  bool operator==(const Result&) const = default;
};

// dinp lies after dout's values if it is not they: with a margin of NaN on both sides of what is written.
template <typename T>
Result run(const std::vector<double>& inp, const std::vector<double>& dout, const std::vector<double>& before,
           const Shape& shape, bool in_place) {
  constexpr std::int64_t kMargin = 64;
  const Stream stream;
  const std::int64_t n = shape.rows * shape.channels;
  DeviceBuffer<char> scratch(bias_gradient_scratch_bytes(shape.channels));
  PartialSums sums(scratch.data(), scratch.size_bytes());
  const auto x = to_device<T>(inp);
  auto d = to_device<T>(dout);
  auto dbias = to_device<float>(before);
  auto room = poisoned<T>(n + 2 * kMargin);
  T* dinp = in_place ? d.data() : room.data() + kMargin;
  launch_gelu_bias_backward(dinp, dbias.data(), x.data(), static_cast<const T*>(d.data()), shape.rows,
                            shape.channels, sums, stream.get());
  sums.flush(stream.get());
  if (in_place) return {to_host(d), to_host(dbias)};
  std::vector<double> written = to_host(room);
  for (std::int64_t i = 0; i < kMargin; ++i) {
    EXPECT_TRUE(std::isnan(written[static_cast<std::size_t>(i)]));
    EXPECT_TRUE(std::isnan(written[static_cast<std::size_t>(kMargin + n + i)]));
  }
  return {{written.begin() + kMargin, written.begin() + kMargin + n}, to_host(dbias)};
}

template <typename T>
Result run_two_kernels(const std::vector<double>& inp, const std::vector<double>& dout,
                       const std::vector<double>& before, const Shape& shape) {
  const Stream stream;
  DeviceBuffer<char> scratch(bias_gradient_scratch_bytes(shape.channels));
  const auto x = to_device<T>(inp);
  auto d = to_device<T>(dout);
  auto dbias = to_device<float>(before);
  const T* dinp = d.data();
  launch_gelu_backward(d.data(), x.data(), dinp, shape.rows * shape.channels, stream.get());
  launch_bias_gradient(dbias.data(), dinp, shape.rows, shape.channels, scratch.data(), stream.get());
  return {to_host(d), to_host(dbias)};
}

TYPED_TEST(GeluBias, MatchesTheReferenceAndTheTwoKernels) {
  for (const Shape& shape : kShapes) {
    const std::string what = "N=" + std::to_string(shape.rows) + " C=" + std::to_string(shape.channels);
    SCOPED_TRACE(what);
    const std::int64_t n = shape.rows * shape.channels;
    auto inp = random_values<TypeParam>(n, 1, 3.0);
    inp[0] = -100.0;
    inp[1] = 100.0;
    inp[2] = 0.0;
    const auto dout = random_values<TypeParam>(n, 2);
    const auto before = random_values<float>(shape.channels, 3);
    std::vector<double> expected(inp.size());
    std::vector<double> unused(before);
    gelu_bias_backward_cpu(expected.data(), unused.data(), inp.data(), dout.data(), shape.rows,
                           shape.channels);
    std::vector<double> tolerance(inp.size());
    for (std::size_t i = 0; i < inp.size(); ++i) {
      // The error of the gate is relative to the gate; the argument's rounding adds |x| of FP32.
      tolerance[i] = 0x1p-20 * std::abs(dout[i]) * (1.0 + std::min(std::abs(inp[i]), 10.0));
    }
    const Result got = run<TypeParam>(inp, dout, before, shape, false);
    expect_close(got.dinp, expected, epsilon<TypeParam>(), tolerance, "dinp");

    // The sums are those of what was rounded and stored.
    std::vector<double> sums(before);
    bias_gradient_cpu(sums.data(), got.dinp.data(), shape.rows, shape.channels);
    std::vector<double> magnitude(before.size());
    for (std::size_t c = 0; c < before.size(); ++c) magnitude[c] = std::abs(before[c]);
    for (std::size_t i = 0; i < got.dinp.size(); ++i) magnitude[i % before.size()] += std::abs(got.dinp[i]);
    for (double& value : magnitude) value *= 1e-6;
    expect_close(got.dbias, sums, 0.0, magnitude, "dbias");

    EXPECT_TRUE(got == run<TypeParam>(inp, dout, before, shape, false)) << "not repeatable";
    EXPECT_TRUE(got == run<TypeParam>(inp, dout, before, shape, true)) << "in place";
    const Result apart = run_two_kernels<TypeParam>(inp, dout, before, shape);
    EXPECT_TRUE(got.dinp == apart.dinp) << "other bits than gelu_backward's";
    EXPECT_TRUE(got.dbias == apart.dbias) << "other bits than bias_gradient's";
  }
}

TYPED_TEST(GeluBias, PassesNanOn) {
  const Shape shape{33, 64};
  std::vector<double> inp(33 * 64, 1.0);
  inp[5 * 64 + 7] = std::nan("");
  const std::vector<double> ones(inp.size(), 1.0);
  const Result got = run<TypeParam>(inp, ones, std::vector<double>(64, 0.0), shape, true);
  for (std::size_t i = 0; i < inp.size(); ++i) EXPECT_EQ(std::isnan(got.dinp[i]), i == 5 * 64 + 7) << i;
  for (std::size_t c = 0; c < 64; ++c) EXPECT_EQ(std::isnan(got.dbias[c]), c == 7) << c;
}

TYPED_TEST(GeluBias, NoRowsChangeNothing) {
  const Stream stream;
  DeviceBuffer<char> scratch(bias_gradient_scratch_bytes(8));
  PartialSums sums(scratch.data(), scratch.size_bytes());
  auto dbias = to_device<float>(std::vector<double>(8, 2.0));
  TypeParam* none = nullptr;
  launch_gelu_bias_backward<TypeParam>(none, dbias.data(), none, none, 0, 8, sums, stream.get());
  sums.flush(stream.get());
  EXPECT_EQ(to_host(dbias), std::vector<double>(8, 2.0));
}

TYPED_TEST(GeluBias, RowsThatAreNotWholeVectorsAreRefused) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(TypeParam));
  EXPECT_TRUE(gelu_bias_backward_supported<TypeParam>(kVector));
  EXPECT_FALSE(gelu_bias_backward_supported<TypeParam>(kVector + 1));
  EXPECT_FALSE(gelu_bias_backward_supported<TypeParam>(0));
  DeviceBuffer<TypeParam> data(64);
  DeviceBuffer<float> dbias(64);
  DeviceBuffer<char> scratch(bias_gradient_scratch_bytes(64));
  PartialSums sums(scratch.data(), scratch.size_bytes());
  TypeParam* at = data.data();
  const auto launch = [&](TypeParam* dinp, const TypeParam* inp, int channels) {
    launch_gelu_bias_backward<TypeParam>(dinp, dbias.data(), inp, at, 1, channels, sums, nullptr);
  };
  EXPECT_THROW(launch(at, at, kVector + 1), std::invalid_argument);
  EXPECT_THROW(launch(at + 1, at, kVector), std::invalid_argument);
  EXPECT_THROW(launch(at, at + 1, kVector), std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_gelu_bias_test
