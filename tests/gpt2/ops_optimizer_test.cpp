// AdamW, the global norm and the bias gradient against the references.
#include <algorithm>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/global_norm.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_optimizer_test {
namespace {

using namespace ops_test;

template <typename T>
class Optimizer : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Optimizer, ElementTypes);

DeviceBuffer<GradientNorm> norm_on_device(float norm, float clip_scale, int finite) {
  DeviceBuffer<GradientNorm> buffer(1);
  buffer.upload({GradientNorm{norm, clip_scale, finite}});
  return buffer;
}

TYPED_TEST(Optimizer, AdamwMatchesReferenceOverSteps) {
  const Stream stream;
  constexpr bool kMaster = sizeof(TypeParam) == 2;
  for (const std::int64_t n : {1, 3, 4, 1021, 1024, 1025, 2047, 10007, 1'000'003}) {
    // Boundaries that are multiples of four take the wide kernel, others the narrow one.
    for (const std::int64_t step : {4, 3}) {
      const std::string what = "n=" + std::to_string(n) + " border multiple of " + std::to_string(step) + " ";
      const std::int64_t first = n / 3 / step * step;
      const std::int64_t second = n / 2 / step * step;
      const std::vector<WeightDecayRange> ranges = {{0, first, 0.1F}, {second, n, 0.5F}};
      auto params = random_values<float>(n, 1);
      std::vector<double> m(params.size(), 0.0);
      std::vector<double> v(params.size(), 0.0);
      auto master = to_device<float>(params);
      auto device_m = to_device<float>(m);
      auto device_v = to_device<float>(v);
      auto narrow = poisoned<TypeParam>(n);
      const auto norm = norm_on_device(2.0F, 0.5F, 1);
      for (int t = 1; t <= 3; ++t) {
        AdamwConfig config;
        config.learning_rate = 0.01F;
        config.step = t;
        auto grads = random_values<float>(n, static_cast<unsigned>(10 + t), 0.1);
        if (n > 1) grads[1] = 0.0;  // no gradient yet: m and v stay 0
        adamw_cpu<double>(params.data(), m.data(), v.data(), grads.data(), 0.5, n, ranges, config);
        const auto device_grads = to_device<float>(grads);
        if constexpr (kMaster) {
          launch_adamw<TypeParam>(narrow.data(), master.data(), device_m.data(), device_v.data(),
                                  device_grads.data(), norm.data(), n, ranges, config, stream.get());
        } else {
          launch_adamw<float>(master.data(), nullptr, device_m.data(), device_v.data(), device_grads.data(),
                              norm.data(), n, ranges, config, stream.get());
        }
      }
      expect_close(to_host(device_m), m, 1e-5, 1e-9, what + "m");
      expect_close(to_host(device_v), v, 1e-5, 1e-11, what + "v");
      expect_close(to_host(master), params, 1e-6, 1e-6, what + "params");
      if constexpr (kMaster) {
        // The copy is the rounded master, exactly.
        std::vector<double> rounded;
        for (const double value : to_host(master)) {
          rounded.push_back(static_cast<double>(to_float(from_float<TypeParam>(static_cast<float>(value)))));
        }
        expect_close(to_host(narrow), rounded, 0.0, 0.0, what + "bf16 copy");
      }
    }
  }
}

TYPED_TEST(Optimizer, AdamwSkipsTheStepWhenTheNormIsNotFinite) {
  const Stream stream;
  const auto values = random_values<float>(1000, 2);
  auto master = to_device<float>(values);
  auto m = to_device<float>(values);
  auto v = to_device<float>(values);
  const auto grads = to_device<float>(std::vector<double>(1000, std::nan("")));
  auto narrow = to_device<TypeParam>(values);
  const auto before = to_host(narrow);
  const auto norm = norm_on_device(NAN, 1.0F, 0);
  if constexpr (sizeof(TypeParam) == 2) {
    launch_adamw<TypeParam>(narrow.data(), master.data(), m.data(), v.data(), grads.data(), norm.data(), 1000,
                            {}, {}, stream.get());
  } else {
    launch_adamw<TypeParam>(narrow.data(), nullptr, m.data(), v.data(), grads.data(), norm.data(), 1000, {},
                            {}, stream.get());
  }
  EXPECT_EQ(to_host(narrow), before);
  EXPECT_EQ(to_host(master), values);
  EXPECT_EQ(to_host(m), values);
  EXPECT_EQ(to_host(v), values);
}

TYPED_TEST(Optimizer, AdamwRefusesBadArguments) {
  const Stream stream;
  DeviceBuffer<TypeParam> params(8);
  DeviceBuffer<float> other(8);
  float* master = sizeof(TypeParam) == 2 ? other.data() : nullptr;
  const auto launch = [&](std::vector<WeightDecayRange> ranges, AdamwConfig config, float* use_master) {
    launch_adamw<TypeParam>(params.data(), use_master, other.data(), other.data(), other.data(), nullptr, 8,
                            ranges, config, stream.get());
  };
  EXPECT_THROW(launch({{0, 9, 0.1F}}, {}, master), std::invalid_argument);
  EXPECT_THROW(launch({{-1, 3, 0.1F}}, {}, master), std::invalid_argument);
  EXPECT_THROW(launch({{5, 3, 0.1F}}, {}, master), std::invalid_argument);
  EXPECT_THROW(launch(std::vector<WeightDecayRange>(33), {}, master), std::invalid_argument);
  AdamwConfig zero_step;
  zero_step.step = 0;
  EXPECT_THROW(launch({}, zero_step, master), std::invalid_argument);
  EXPECT_THROW(launch({}, {}, sizeof(TypeParam) == 2 ? nullptr : other.data()), std::invalid_argument);
}

TEST_F(GpuTest, GlobalNormMatchesReferenceAndRepeats) {
  const Stream stream;
  auto scratch = poisoned<char>(global_norm_scratch_bytes());
  for (const std::int64_t n : {0, 1, 3, 511, 513, 270'335, 270'337, 3'000'017, 20'000'003}) {
    const auto grads = random_values<float>(n, 3, 0.01);
    const double expected = global_norm_cpu(grads.data(), n);
    const auto device = to_device<float>(grads);
    auto out = poisoned<char>(sizeof(GradientNorm));
    auto* result = reinterpret_cast<GradientNorm*>(out.data());
    GradientNorm got[2];
    for (GradientNorm& one : got) {
      launch_global_norm(result, device.data(), n, 0.5F, scratch.data(), stream.get());
      stream.synchronize();
      RIDGELINE_CUDA_CHECK(cudaMemcpy(&one, result, sizeof(one), cudaMemcpyDeviceToHost));
    }
    EXPECT_NEAR(static_cast<double>(got[0].norm), expected, 1e-6 * expected) << n;
    EXPECT_EQ(got[0].norm, got[1].norm) << n;
    EXPECT_EQ(got[0].finite, 1);
    EXPECT_NEAR(static_cast<double>(got[0].clip_scale), expected > 0.5 ? 0.5 / expected : 1.0, 1e-6) << n;
    launch_global_norm(result, device.data(), n, 0.0F, scratch.data(), stream.get());
    stream.synchronize();
    RIDGELINE_CUDA_CHECK(cudaMemcpy(&got[0], result, sizeof(got[0]), cudaMemcpyDeviceToHost));
    EXPECT_EQ(got[0].clip_scale, 1.0F) << n;
  }
}

// What ranks do that keep parts: the squares of each, added up, are the whole's.
TEST_F(GpuTest, SquaresOfPartsAddUpToTheNorm) {
  const Stream stream;
  const std::int64_t n = 3'000'017;
  const auto grads = random_values<float>(n, 3, 0.01);
  const double expected = global_norm_cpu(grads.data(), n);
  const auto device = to_device<float>(grads);
  const std::vector<std::vector<GradientRange>> ranks = {{{0, 128}, {256, 1'000'003}},
                                                         {{128, 256}, {1'000'003, n}}};
  double sum = 0;
  for (const auto& parts : ranks) {
    auto scratch = poisoned<char>(global_norm_per_tensor_scratch_bytes(parts));
    DeviceBuffer<double> out(1);
    launch_squared_sum(out.data(), device.data(), parts, scratch.data(), stream.get());
    stream.synchronize();
    sum += out.download()[0];
  }
  EXPECT_NEAR(std::sqrt(sum), expected, 1e-6 * expected);
  DeviceBuffer<double> total(1);
  total.upload({sum});
  DeviceBuffer<GradientNorm> norm(1);
  launch_norm_of_squares(norm.data(), total.data(), 0.5F, stream.get());
  stream.synchronize();
  const GradientNorm got = norm.download()[0];
  EXPECT_NEAR(static_cast<double>(got.norm), expected, 1e-6 * expected);
  EXPECT_NEAR(static_cast<double>(got.clip_scale), 0.5 / expected, 1e-6);
  EXPECT_EQ(got.finite, 1);
  EXPECT_THROW(
      launch_squared_sum(nullptr, nullptr, std::vector<GradientRange>{{3, 2}}, nullptr, stream.get()),
      std::invalid_argument);
}

TEST_F(GpuTest, GlobalNormSeesEveryNonFiniteValue) {
  const Stream stream;
  auto scratch = poisoned<char>(global_norm_scratch_bytes());
  const std::int64_t n = 300'003;
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{270'336}, n - 1}) {
    for (const double bad : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
      auto grads = random_values<float>(n, 4);
      grads[static_cast<std::size_t>(at)] = bad;
      const auto device = to_device<float>(grads);
      DeviceBuffer<GradientNorm> out(1);
      launch_global_norm(out.data(), device.data(), n, 1.0F, scratch.data(), stream.get());
      stream.synchronize();
      EXPECT_EQ(out.download()[0].finite, 0) << "at " << at << " value " << bad;
    }
  }
}

TYPED_TEST(Optimizer, BiasGradientMatchesReferenceAndRepeats) {
  const Stream stream;
  struct Shape {
    std::int64_t rows;
    int channels;
  };
  const std::vector<Shape> shapes = {{1, 1},      {1, 8},      {3, 31},      {127, 255},   {128, 256},
                                     {129, 257},  {1031, 768}, {4099, 2304}, {2048, 3072}, {9001, 40},
                                     {511, 6400}, {33, 50304}, {100'003, 8}};
  int widest = 0;
  for (const Shape& s : shapes) widest = std::max(widest, s.channels);
  auto scratch = poisoned<char>(bias_gradient_scratch_bytes(widest));
  for (const Shape& s : shapes) {
    const std::string what = "N=" + std::to_string(s.rows) + " OC=" + std::to_string(s.channels);
    const auto dout = random_values<TypeParam>(s.rows * s.channels, 5);
    const auto before = random_values<float>(s.channels, 6);
    auto expected = before;
    bias_gradient_cpu(expected.data(), dout.data(), s.rows, s.channels);
    std::vector<double> magnitude(dout.size());
    std::transform(dout.begin(), dout.end(), magnitude.begin(), [](double v) { return std::abs(v); });
    std::vector<double> tolerance(before.size(), 1.0);
    bias_gradient_cpu(tolerance.data(), magnitude.data(), s.rows, s.channels);
    for (double& v : tolerance) v *= 1e-6;
    const auto device = to_device<TypeParam>(dout);
    std::vector<float> first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto dbias = to_device<float>(before);
      launch_bias_gradient(dbias.data(), device.data(), s.rows, s.channels, scratch.data(), stream.get());
      expect_close(to_host(dbias), expected, 1e-6, tolerance, what);
      if (repeat == 0) {
        first = dbias.download();
      } else {
        EXPECT_EQ(first, dbias.download()) << what << ": not bit-identical";
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_optimizer_test
