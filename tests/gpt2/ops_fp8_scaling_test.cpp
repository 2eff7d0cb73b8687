// Scales on the device: the history against the same function on the host, bit for bit, and current scales.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "fp8_test_support.h"
#include "gpt2/ops/fp8/scaling.h"

namespace ridgeline::gpt2::ops_fp8_scaling_test {
namespace {

using namespace ops_test;

class Fp8Scaling : public GpuTest {};

TEST_F(Fp8Scaling, DeviceDoesWhatTheHostDoes) {
  Stream stream;
  constexpr std::int64_t kTensors = 301;
  constexpr std::int64_t kE4m3 = 150;
  DeviceBuffer<float> memory(kFp8StateFloats * kTensors);
  const Fp8ScalingState device{memory.data(), kTensors, kE4m3};
  launch_fp8_reset(device, 8.0F, 1024.0F, stream.get());
  stream.synchronize();
  std::vector<float> host = memory.download();
  for (std::int64_t t = 0; t < kTensors; ++t) {
    ASSERT_EQ(host[static_cast<std::size_t>(t * kFp8StateFloats + kFp8ScaleAt)], t < kE4m3 ? 8.0F : 1024.0F);
    ASSERT_EQ(host[static_cast<std::size_t>(t * kFp8StateFloats + kFp8Inverse)],
              t < kE4m3 ? 0.125F : 0x1p-10F);
  }
  const Fp8ScalingState reference{host.data(), kTensors, kE4m3};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int step = 0; step < 2 * kFp8History + 3; ++step) {
    for (std::int64_t t = 0; t < kTensors; ++t) {
      float amax = std::exp2(10.0F * normal(random));
      if (t % 17 == 0) amax = 0.0F;
      if (t % 19 == 0 && step % 3 == 0) amax = std::numeric_limits<float>::infinity();
      if (t % 23 == 0 && step % 5 == 0) amax = std::numeric_limits<float>::quiet_NaN();
      host[static_cast<std::size_t>(t * kFp8StateFloats + kFp8Amax)] = amax;
    }
    memory.upload(host);
    launch_fp8_update(device, stream.get());
    stream.synchronize();
    for (std::int64_t t = 0; t < kTensors; ++t) fp8_update_tensor(reference, t);
    ASSERT_EQ(memory.download(), host) << "step " << step;
  }
}

TEST_F(Fp8Scaling, CurrentScalesFitEachTensor) {
  Stream stream;
  for (const std::int64_t count :
       {std::int64_t{16}, std::int64_t{1000}, std::int64_t{1001}, std::int64_t{768 * 768}}) {
    SCOPED_TRACE(count);
    constexpr std::int64_t kTensors = 3;
    std::vector<double> inp = random_values<float>(kTensors * count, 2, 0.02);
    for (std::int64_t i = 0; i < count; ++i) inp[static_cast<std::size_t>(2 * count + i)] = 0.0;
    inp[static_cast<std::size_t>(2 * count - 1)] = -7.0;  // the last of the second tensor
    const auto device = to_device<float>(inp);
    DeviceBuffer<std::uint32_t> amax(kTensors);
    RIDGELINE_CUDA_CHECK(cudaMemset(amax.data(), 0, static_cast<std::size_t>(amax.size_bytes())));
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    auto scale = poisoned<float>(kTensors);
    auto inverse = poisoned<float>(kTensors * kFp8InverseStride);
    launch_fp8_amax(amax.data(), device.data(), kTensors, count, count, stream.get());
    stream.synchronize();
    const std::vector<double> first(inp.begin(), inp.begin() + count);
    EXPECT_EQ(static_cast<double>(std::bit_cast<float>(amax.download()[0])), largest_magnitude(first));
    launch_fp8_current_scales(scale.data(), inverse.data(), amax.data(), kTensors, stream.get());
    const std::vector<double> scales = to_host(scale);
    EXPECT_EQ(static_cast<float>(scales[0]),
              fp8_scale(static_cast<float>(largest_magnitude(first)), Fp8Format::e4m3));
    EXPECT_EQ(scales[1], 64.0);  // 448 / 7
    EXPECT_EQ(scales[2], 1.0) << "zeros have no scale of their own";
    const std::vector<double> inverses = to_host(inverse);
    for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(inverses[t * kFp8InverseStride] * scales[t], 1.0);
    EXPECT_EQ(amax.download(), std::vector<std::uint32_t>(3));
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_fp8_scaling_test
