// The gradients of qkv's bias: of the values from that of the projection after attention, of the queries
// from columns of a wider tensor or from bytes.
#include <algorithm>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/bias/value_bias_gradient.h"
#include "gpt2/ops/fp8/fp8.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_value_bias_test {
namespace {

using namespace ops_test;

template <typename T>
class ValueBias : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(ValueBias, ElementTypes);

TYPED_TEST(ValueBias, MatchesReferenceAndRepeats) {
  struct Shape {
    int layers;
    int channels;
  };
  const Stream stream;
  for (const Shape& s : {Shape{1, 1}, Shape{3, 31}, Shape{2, 64}, Shape{12, 768}, Shape{2, 1600}}) {
    const std::string what = "L " + std::to_string(s.layers) + " C " + std::to_string(s.channels) + " ";
    const std::int64_t biases = std::int64_t{s.layers} * s.channels;
    const auto dprojb = random_values<float>(biases, 1);
    const auto projw = random_values<TypeParam>(biases * s.channels, 2);
    auto expected = random_values<float>(3 * biases, 3);  // of queries and keys: stays
    const auto before = expected;
    value_bias_gradient_cpu(expected.data(), dprojb.data(), projw.data(), s.layers, s.channels);
    std::vector<double> sizes(dprojb.size()), weight_sizes(projw.size()), tolerance(expected.size(), 0.0);
    std::transform(dprojb.begin(), dprojb.end(), sizes.begin(), [](double v) { return std::abs(v); });
    std::transform(projw.begin(), projw.end(), weight_sizes.begin(), [](double v) { return std::abs(v); });
    value_bias_gradient_cpu(tolerance.data(), sizes.data(), weight_sizes.data(), s.layers, s.channels);
    for (double& v : tolerance) v *= 1e-6;
    const auto device_dprojb = to_device<float>(dprojb);
    const auto device_projw = to_device<TypeParam>(projw);
    std::vector<double> first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto dqkvb = to_device<float>(before);
      const std::int64_t c = s.channels;
      launch_value_bias_gradient(dqkvb.data(), device_dprojb.data(), device_projw.data(), s.layers,
                                 {3 * c, c, c * c}, s.channels, stream.get());
      const auto got = to_host(dqkvb);
      expect_close(got, expected, 0.0, tolerance, what);
      if (repeat == 0) first = got;
      EXPECT_EQ(got, first) << what << "not bit-identical";
    }
  }
}

// Layers that lie apart, with other tensors between them.
TYPED_TEST(ValueBias, LayersMayLieApart) {
  const Stream stream;
  constexpr int kLayers = 3;
  constexpr std::int64_t kChannels = 40, kVectors = 13 * kChannels, kMatrices = 12 * kChannels * kChannels;
  const auto dprojb = random_values<float>(kLayers * kVectors, 1);
  const auto projw = random_values<TypeParam>(kLayers * kMatrices, 2);
  const auto before = random_values<float>(kLayers * kVectors, 3);
  auto apart = to_device<float>(before);
  launch_value_bias_gradient(apart.data(), to_device<float>(dprojb).data(),
                             to_device<TypeParam>(projw).data(), kLayers, {kVectors, kVectors, kMatrices},
                             kChannels, stream.get());
  const auto got = to_host(apart);
  auto expected = before;
  for (int l = 0; l < kLayers; ++l) {
    value_bias_gradient_cpu(expected.data() + l * kVectors, dprojb.data() + l * kVectors,
                            projw.data() + l * kMatrices, 1, kChannels);
  }
  expect_close(got, expected, 1e-5, 1e-5, "layers apart");
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto of_layer = static_cast<std::int64_t>(i) % kVectors;
    if (of_layer < 2 * kChannels || of_layer >= 3 * kChannels) {
      ASSERT_EQ(got[i], before[i]) << i;
    }
  }
}

TYPED_TEST(ValueBias, ColumnsOfAWiderTensorAreSummedLikeThoseOfANarrowOne) {
  struct Shape {
    std::int64_t rows;
    int channels;
    std::int64_t pitch;
  };
  const Stream stream;
  for (const Shape& s : {Shape{3, 31, 93}, Shape{257, 64, 192}, Shape{1031, 768, 2304}, Shape{100, 40, 41}}) {
    const std::string what = "N " + std::to_string(s.rows) + " OC " + std::to_string(s.channels) + " ";
    const auto wide = random_values<TypeParam>(s.rows * s.pitch, 5);
    std::vector<double> narrow;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const auto begin = wide.begin() + static_cast<std::ptrdiff_t>(row * s.pitch);
      narrow.insert(narrow.end(), begin, begin + s.channels);
    }
    const auto device_wide = to_device<TypeParam>(wide);
    const auto device_narrow = to_device<TypeParam>(narrow);
    auto scratch = poisoned<char>(bias_gradient_scratch_bytes(s.channels));
    const auto before = random_values<float>(s.channels, 6);
    auto expected = to_device<float>(before);
    auto got = to_device<float>(before);
    launch_bias_gradient(expected.data(), device_narrow.data(), s.rows, s.channels, scratch.data(),
                         stream.get(), KernelWidth::scalar);
    PartialSums sums(scratch.data(), scratch.size_bytes());
    launch_bias_gradient(got.data(), device_wide.data(), s.rows, s.channels, s.pitch, sums, stream.get());
    sums.flush(stream.get());
    expect_close(to_host(got), to_host(expected), 1e-5, 1e-4, what);
  }
}

class BiasGradientFp8 : public GpuTest {};

TEST_F(BiasGradientFp8, MatchesTheSumOfTheBytesValuesAndRepeats) {
  const Stream stream;
  for (const auto& [rows, channels] :
       {std::pair{16, 1}, std::pair{4096, 3}, std::pair{4112, 64}, std::pair{32768, 768}}) {
    const std::string what = "N " + std::to_string(rows) + " OC " + std::to_string(channels);
    std::mt19937 generator(9);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(channels));
    for (std::uint8_t& byte : bytes) {
      byte = fp8_bits(std::normal_distribution<float>(0.0F, 8.0F)(generator), Fp8Format::e5m2);
    }
    const auto before = random_values<float>(channels, 6);
    auto expected = before;
    std::vector<double> tolerance(before.size());
    const float inverse = 0x1p-9F;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double value =
          static_cast<double>(fp8_value(bytes[i], Fp8Format::e5m2)) * static_cast<double>(inverse);
      expected[i / static_cast<std::size_t>(rows)] += value;
      tolerance[i / static_cast<std::size_t>(rows)] += 1e-6 * std::abs(value);
    }
    DeviceBuffer<std::uint8_t> device(static_cast<std::int64_t>(bytes.size()));
    device.upload(bytes);
    DeviceBuffer<float> device_inverse(1);
    device_inverse.upload({inverse});
    std::vector<double> first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto dbias = to_device<float>(before);
      launch_bias_gradient_fp8(dbias.data(), device.data(), device_inverse.data(), rows, channels,
                               stream.get());
      const auto got = to_host(dbias);
      expect_close(got, expected, 1e-6, tolerance, what);
      if (repeat == 0) first = got;
      EXPECT_EQ(got, first) << what << ": not bit-identical";
    }
  }
  DeviceBuffer<std::uint8_t> few(24);
  DeviceBuffer<float> floats(1);
  EXPECT_THROW(launch_bias_gradient_fp8(floats.data(), few.data(), floats.data(), 24, 1, stream.get()),
               std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_value_bias_test
