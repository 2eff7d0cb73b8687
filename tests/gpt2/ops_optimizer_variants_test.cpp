// The optimizer's variants: scalar and one launch per tensor against one packed launch, stochastic rounding, the
// global norm by tensors, the naive bias gradient.
#include <algorithm>
#include <bit>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/global_norm.h"
#include "gpt2/ops/optimizer/stochastic_rounding.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_optimizer_variants_test {
namespace {

using namespace ops_test;

template <typename T>
class OptimizerVariants : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(OptimizerVariants, ElementTypes);

// Tensors of a small model in layout order: boundaries at multiples of four and not, one without elements.
const std::vector<WeightDecayRange> kTensors = {
    {0, 4000, 0.1F},      {4000, 4001, 0.0F},  {4001, 4001, 0.3F},  {4001, 5024, 0.0F},
    {5024, 6048, 0.1F},   {6048, 7073, 0.5F},  {7073, 50000, 0.1F}, {50000, 50003, 0.0F},
    {50003, 50264, 0.2F}, {50264, 60007, 0.0F}};
constexpr std::int64_t kElements = 60007;

// Parameters, moments and gradients of one optimizer run on the device.
template <typename T>
struct State {
  DeviceBuffer<float> master = to_device<float>(random_values<float>(kElements, 1));
  DeviceBuffer<T> params = to_device<T>(random_values<float>(kElements, 1));
  DeviceBuffer<float> m = to_device<float>(random_values<float>(kElements, 2, 1e-2));
  DeviceBuffer<float> v = to_device<float>(std::vector<double>(kElements, 1e-4));
  DeviceBuffer<float> grads = to_device<float>(random_values<float>(kElements, 3, 0.1));

  float* master_of() { return sizeof(T) == 2 ? master.data() : nullptr; }
  // Bit patterns of everything an update writes.
  std::vector<std::vector<std::uint32_t>> bits() {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<std::vector<std::uint32_t>> all;
    for (const DeviceBuffer<float>* buffer : {&master, &m, &v}) {
      all.emplace_back();
      for (const float value : buffer->download()) all.back().push_back(std::bit_cast<std::uint32_t>(value));
    }
    all.emplace_back();
    for (const T value : params.download()) {
      all.back().push_back(std::bit_cast<std::uint32_t>(to_float(value)));
    }
    return all;
  }
};

DeviceBuffer<GradientNorm> norm_on_device(float clip_scale, int finite) {
  DeviceBuffer<GradientNorm> buffer(1);
  buffer.upload({GradientNorm{2.0F, clip_scale, finite}});
  return buffer;
}

AdamwConfig config_at(int step) {
  AdamwConfig config;
  config.learning_rate = 0.01F / static_cast<float>(step);
  config.step = step;
  return config;
}

constexpr StochasticRounding kStochastic{true, 0x1234567890abcdefU};
constexpr StochasticRounding kNearest{};

TYPED_TEST(OptimizerVariants, EveryVariantUpdatesToTheSameBits) {
  const Stream stream;
  const auto norm = norm_on_device(0.7F, 1);
  // Boundaries that are no multiples of four keep launch_adamw off its wide path; the wide one needs others.
  const std::vector<WeightDecayRange> aligned = {
      {0, 4000, 0.1F}, {6048, 50000, 0.3F}, {50264, kElements, 0.2F}};
  for (const auto& ranges : {kTensors, aligned}) {
    for (const StochasticRounding& rounding : {kNearest, kStochastic}) {
      if (rounding.enabled && sizeof(TypeParam) == 4) continue;
      State<TypeParam> packed;
      State<TypeParam> scalar;
      State<TypeParam> per_tensor;
      State<TypeParam> from_device;
      for (int step = 1; step <= 3; ++step) {
        const AdamwConfig config = config_at(step);
        const auto update = [&](State<TypeParam>& s, KernelWidth width) {
          launch_adamw<TypeParam>(s.params.data(), s.master_of(), s.m.data(), s.v.data(), s.grads.data(),
                                  norm.data(), kElements, ranges, config, stream.get(), nullptr,
                                  {width, rounding, 0});
        };
        update(packed, KernelWidth::packed);
        update(scalar, KernelWidth::scalar);
        // A captured step's arguments are stale: learning rate and step come from device memory.
        DeviceBuffer<AdamwStepFactors> factors(1);
        factors.upload({adamw_step_factors(config)});
        launch_adamw<TypeParam>(from_device.params.data(), from_device.master_of(), from_device.m.data(),
                                from_device.v.data(), from_device.grads.data(), norm.data(), kElements,
                                ranges, config_at(77), stream.get(), factors.data(),
                                {KernelWidth::packed, rounding, 0});
        if (ranges.size() == kTensors.size()) {
          launch_adamw_per_tensor<TypeParam>(
              per_tensor.params.data(), per_tensor.master_of(), per_tensor.m.data(), per_tensor.v.data(),
              per_tensor.grads.data(), norm.data(), ranges, config, stream.get(), nullptr, rounding);
        }
        stream.synchronize();  // `factors` is freed here
      }
      const auto expected = packed.bits();
      EXPECT_EQ(scalar.bits(), expected) << "scalar, stochastic " << rounding.enabled;
      EXPECT_EQ(from_device.bits(), expected) << "factors on the device, stochastic " << rounding.enabled;
      if (ranges.size() == kTensors.size()) {
        EXPECT_EQ(per_tensor.bits(), expected) << "per tensor, stochastic " << rounding.enabled;
      }
      EXPECT_NE(expected, State<TypeParam>().bits());
    }
  }
}

TYPED_TEST(OptimizerVariants, PerTensorLeavesWhatNoTensorCovers) {
  const Stream stream;
  State<TypeParam> state;
  const auto before = state.bits();
  const std::vector<WeightDecayRange> tensors = {{100, 201, 0.1F}};
  launch_adamw_per_tensor<TypeParam>(state.params.data(), state.master_of(), state.m.data(), state.v.data(),
                                     state.grads.data(), nullptr, tensors, config_at(1), stream.get());
  const auto after = state.bits();
  for (std::size_t array = 0; array < before.size(); ++array) {
    if (sizeof(TypeParam) == 4 && array == 0) continue;  // FP32 parameters are their own master
    for (std::size_t i = 0; i < before[array].size(); ++i) {
      if (i >= 100 && i < 201) continue;
      ASSERT_EQ(after[array][i], before[array][i]) << array << " at " << i;
    }
  }
  EXPECT_NE(after[1], before[1]);
}

TYPED_TEST(OptimizerVariants, BadArgumentsAreRefused) {
  const Stream stream;
  State<TypeParam> s;
  const auto per_tensor = [&](std::vector<WeightDecayRange> tensors) {
    launch_adamw_per_tensor<TypeParam>(s.params.data(), s.master_of(), s.m.data(), s.v.data(), s.grads.data(),
                                       nullptr, tensors, {}, stream.get());
  };
  EXPECT_THROW(per_tensor({{-1, 3, 0.0F}}), std::invalid_argument);
  EXPECT_THROW(per_tensor({{5, 3, 0.0F}}), std::invalid_argument);
  if (sizeof(TypeParam) == 4) {
    EXPECT_THROW(launch_adamw<TypeParam>(s.params.data(), nullptr, s.m.data(), s.v.data(), s.grads.data(),
                                         nullptr, kElements, {}, {}, stream.get(), nullptr,
                                         {KernelWidth::packed, kStochastic, 0}),
                 std::invalid_argument);
  }
}

TEST_F(GpuTest, StochasticCopyIsTheReferenceOfTheMaster) {
  const Stream stream;
  const auto norm = norm_on_device(1.0F, 1);
  State<bf16> state;
  for (int step = 1; step <= 3; ++step) {
    launch_adamw<bf16>(state.params.data(), state.master.data(), state.m.data(), state.v.data(),
                       state.grads.data(), norm.data(), kElements, {}, config_at(step), stream.get(), nullptr,
                       {KernelWidth::packed, kStochastic, 0});
    const auto got = to_host(state.params);
    const std::vector<float> master = state.master.download();
    std::vector<bf16> expected(master.size());
    stochastic_convert_cpu(expected.data(), master.data(), kElements, kStochastic.seed, step);
    std::size_t not_nearest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(got[i], static_cast<double>(to_float(expected[i]))) << "step " << step << " at " << i;
      if (to_float(expected[i]) != to_float(from_float<bf16>(master[i]))) ++not_nearest;
    }
    // A quarter of all values goes to the farther neighbour.
    EXPECT_NEAR(static_cast<double>(not_nearest) / kElements, 0.25, 0.02);
  }
}

// With a learning rate of 0 the master stays, and the mean of its copies must come to it.
TEST_F(GpuTest, StochasticCopiesAverageToTheMaster) {
  const Stream stream;
  constexpr std::int64_t kCount = 1027;
  constexpr int kSteps = 800;
  auto values = random_values<float>(kCount, 9);
  for (std::size_t i = 0; i < values.size(); i += 3) {
    values[i] = static_cast<double>(to_float(from_float<bf16>(static_cast<float>(values[i]))));
  }
  auto master = to_device<float>(values);
  auto params = poisoned<bf16>(kCount);
  auto m = to_device<float>(std::vector<double>(kCount, 0.0));
  auto v = to_device<float>(std::vector<double>(kCount, 0.0));
  const auto grads = to_device<float>(random_values<float>(kCount, 10));
  std::vector<double> sum(values.size(), 0.0);
  double all_sum = 0.0;
  double all_variance = 0.0;
  for (int step = 1; step <= kSteps; ++step) {
    AdamwConfig config;
    config.learning_rate = 0.0F;
    config.step = step;
    launch_adamw<bf16>(params.data(), master.data(), m.data(), v.data(), grads.data(), nullptr, kCount, {},
                       config, stream.get(), nullptr, {KernelWidth::packed, kStochastic, 0});
    const auto copy = to_host(params);
    for (std::size_t i = 0; i < copy.size(); ++i) sum[i] += copy[i];
  }
  EXPECT_EQ(to_host(master), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mean = sum[i] / kSteps;
    if (i % 3 == 0) {
      EXPECT_EQ(mean, values[i]) << "bf16 holds it: no step may move it";
      continue;
    }
    int exponent = 0;
    std::frexp(values[i], &exponent);
    const double spacing = std::ldexp(1.0, exponent - 8);
    const double deviation = spacing / 2.0 / std::sqrt(static_cast<double>(kSteps));  // at most
    EXPECT_NEAR(mean, values[i], 5.5 * deviation) << i;
    all_sum += (mean - values[i]) / spacing;
    all_variance += 0.25 / kSteps;
  }
  EXPECT_NEAR(all_sum, 0.0, 5.0 * std::sqrt(all_variance));
}

TEST_F(GpuTest, StochasticRoundingLeavesASkippedStepAlone) {
  const Stream stream;
  const auto norm = norm_on_device(1.0F, 0);
  State<bf16> state;
  const auto before = state.bits();
  launch_adamw<bf16>(state.params.data(), state.master.data(), state.m.data(), state.v.data(),
                     state.grads.data(), norm.data(), kElements, {}, config_at(1), stream.get(), nullptr,
                     {KernelWidth::packed, kStochastic, 0});
  EXPECT_EQ(state.bits(), before);
}

std::vector<GradientRange> gradient_ranges() {
  std::vector<GradientRange> ranges;
  for (const WeightDecayRange& tensor : kTensors) ranges.push_back({tensor.begin, tensor.end});
  return ranges;
}

TEST_F(GpuTest, NormByTensorsMatchesReferenceAndRepeats) {
  const Stream stream;
  // The last: more elements than the largest grid has threads.
  for (const auto& ranges : {gradient_ranges(), std::vector<GradientRange>{{0, 1}},
                             std::vector<GradientRange>{{0, 3'000'017}, {3'000'017, 3'000'020}}}) {
    const std::int64_t n = ranges.back().end;
    const auto values = random_values<float>(n, 3, 0.01);
    const double expected = global_norm_cpu(values.data(), n);
    const auto grads = to_device<float>(values);
    auto scratch = poisoned<char>(global_norm_per_tensor_scratch_bytes(ranges));
    DeviceBuffer<GradientNorm> out(1);
    float first = 0.0F;
    for (int repeat = 0; repeat < 2; ++repeat) {
      launch_global_norm_per_tensor(out.data(), grads.data(), ranges, 0.5F, scratch.data(), stream.get());
      stream.synchronize();
      const GradientNorm got = out.download()[0];
      EXPECT_NEAR(static_cast<double>(got.norm), expected, 1e-6 * expected) << n;
      EXPECT_NEAR(static_cast<double>(got.clip_scale), expected > 0.5 ? 0.5 / expected : 1.0, 1e-6) << n;
      EXPECT_EQ(got.finite, 1);
      if (repeat == 0) first = got.norm;
      EXPECT_EQ(got.norm, first);
    }
  }
  EXPECT_THROW(launch_global_norm_per_tensor(nullptr, nullptr, std::vector<GradientRange>{{3, 2}}, 1.0F,
                                             nullptr, stream.get()),
               std::invalid_argument);
}

TEST_F(GpuTest, NormByTensorsSeesANanInEveryTensor) {
  const Stream stream;
  const auto ranges = gradient_ranges();
  auto scratch = poisoned<char>(global_norm_per_tensor_scratch_bytes(ranges));
  for (const GradientRange& range : ranges) {
    if (range.begin == range.end) continue;
    auto values = random_values<float>(kElements, 4);
    values[static_cast<std::size_t>(range.end - 1)] = std::nan("");
    const auto grads = to_device<float>(values);
    DeviceBuffer<GradientNorm> out(1);
    launch_global_norm_per_tensor(out.data(), grads.data(), ranges, 1.0F, scratch.data(), stream.get());
    stream.synchronize();
    EXPECT_EQ(out.download()[0].finite, 0) << range.end - 1;
  }
}

TEST_F(GpuTest, ScalarNormMatchesReference) {
  const Stream stream;
  auto scratch = poisoned<char>(global_norm_scratch_bytes());
  for (const std::int64_t n : {0, 1, 513, 270'337, 3'000'017}) {
    const auto values = random_values<float>(n, 3, 0.01);
    const double expected = global_norm_cpu(values.data(), n);
    const auto grads = to_device<float>(values);
    DeviceBuffer<GradientNorm> out(1);
    launch_global_norm(out.data(), grads.data(), n, 0.0F, scratch.data(), stream.get(), KernelWidth::scalar);
    stream.synchronize();
    EXPECT_NEAR(static_cast<double>(out.download()[0].norm), expected, 1e-6 * expected) << n;
  }
}

TYPED_TEST(OptimizerVariants, NaiveBiasGradientMatchesReferenceAndRepeats) {
  const Stream stream;
  struct Shape {
    std::int64_t rows;
    int channels;
  };
  for (const Shape& s : {Shape{1, 1}, Shape{3, 31}, Shape{127, 255}, Shape{128, 256}, Shape{129, 257},
                         Shape{1031, 768}, Shape{4099, 2304}, Shape{100'003, 8}}) {
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
      launch_bias_gradient_naive(dbias.data(), device.data(), s.rows, s.channels, stream.get());
      expect_close(to_host(dbias), expected, 1e-6, tolerance, what);
      if (repeat == 0) first = dbias.download();
      EXPECT_EQ(first, dbias.download()) << what;
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_optimizer_variants_test
