// The classifier that leaves its gradient in E5M2 against the FP64 reference: losses, gradient, padding,
// targets out of range.
#include <gtest/gtest.h>

#include <stdexcept>

#include "fp8_test_support.h"
#include "gpt2/ops/loss/classifier.h"

namespace ridgeline::gpt2::ops_classifier_fp8_test {
namespace {

using namespace ops_test;

struct Size {
  std::int64_t rows;
  int vocab, padded;
};
// A row shorter than a piece, one of several, 124M's; more rows than blocks that are resident.
constexpr Size kSizes[] = {{7, 13, 16}, {300, 97, 128}, {1200, 5000, 5008}, {600, 50257, 50304}};

class ClassifierFp8 : public GpuTest {};

std::vector<std::int32_t> random_targets(std::int64_t rows, int vocab, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
  for (std::int32_t& target : targets)
    target = static_cast<std::int32_t>(random() % static_cast<unsigned>(vocab));
  return targets;
}

TEST_F(ClassifierFp8, LossAndGradientAreTheReferences) {
  Stream stream;
  for (const Size& s : kSizes) {
    SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.vocab));
    const std::int64_t n = s.rows * s.padded;
    const auto logits = random_values<bf16>(n, 1, 3.0);
    const std::vector<std::int32_t> targets = random_targets(s.rows, s.vocab, 2);
    const float dloss = 1.0F / static_cast<float>(s.rows);
    const float scale = fp8_scale(dloss, Fp8Format::e5m2);
    std::vector<double> gradient = logits;
    std::vector<double> losses(static_cast<std::size_t>(s.rows));
    fused_classifier_cpu<double>(gradient.data(), losses.data(), targets.data(), static_cast<double>(dloss),
                                 s.rows, s.vocab, s.padded);
    const auto device = to_device<bf16>(logits);
    const auto device_targets = to_device(targets);
    auto got_losses = poisoned<float>(s.rows);
    DeviceBuffer<std::uint8_t> out(n);
    RIDGELINE_CUDA_CHECK(cudaMemset(out.data(), 0x5a, static_cast<std::size_t>(n)));
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    launch_fused_classifier_fp8(out.data(), scale, got_losses.data(), device.data(), device_targets.data(),
                                dloss, s.rows, s.vocab, s.padded, stream.get());
    stream.synchronize();
    expect_close(to_host(got_losses), losses, 1e-4, 1e-4, "losses");
    EXPECT_TRUE(to_host(device) == logits) << "logits stay";
    const std::vector<std::uint8_t> bytes = out.download();
    std::size_t wrong = 0, padding = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double want = gradient[i] * static_cast<double>(scale);
      const auto got = static_cast<double>(fp8_value(bytes[i], Fp8Format::e5m2));
      const double slack =
          1e-3 * std::abs(want) + 1e-6 * static_cast<double>(dloss) * static_cast<double>(scale);
      if (!(std::abs(got - want) <= fp8_half_step(want, Fp8Format::e5m2) + slack)) ++wrong;
      if (static_cast<int>(i % static_cast<std::size_t>(s.padded)) >= s.vocab && bytes[i] != 0) ++padding;
    }
    EXPECT_EQ(wrong, 0U) << "of " << bytes.size();
    EXPECT_EQ(padding, 0U) << "of the padding";
  }
}

// The copy engine refills a row's place as soon as its gradient has been stored.
TEST_F(ClassifierFp8, LongRunsGiveTheSameBytesEveryTime) {
  Stream stream;
  const Size s{2048, 50257, 50304};
  const auto logits = to_device<bf16>(random_values<bf16>(s.rows * s.padded, 3, 2.0));
  const auto targets = to_device(random_targets(s.rows, s.vocab, 4));
  DeviceBuffer<float> losses(s.rows);
  DeviceBuffer<std::uint8_t> out(s.rows * s.padded);
  std::vector<std::uint8_t> first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    launch_fused_classifier_fp8(out.data(), 0x1p26F, losses.data(), logits.data(), targets.data(),
                                1.0F / 2048, s.rows, s.vocab, s.padded, stream.get());
    stream.synchronize();
    if (repeat == 0) {
      first = out.download();
    } else {
      ASSERT_TRUE(out.download() == first) << "repeat " << repeat;
    }
  }
}

TEST_F(ClassifierFp8, ATargetOutOfRangeIsLoud) {
  Stream stream;
  const auto logits = to_device<bf16>(random_values<bf16>(3 * 64, 5));
  const auto targets = to_device(std::vector<std::int32_t>{5, -1, 61});
  auto losses = poisoned<float>(3);
  DeviceBuffer<std::uint8_t> out(3 * 64);
  launch_fused_classifier_fp8(out.data(), 1024.0F, losses.data(), logits.data(), targets.data(), 1.0F, 3, 61,
                              64, stream.get());
  const std::vector<double> got = to_host(losses);
  EXPECT_TRUE(std::isfinite(got[0]));
  const std::vector<std::uint8_t> bytes = out.download();
  for (const std::size_t row : {1U, 2U}) {
    EXPECT_TRUE(std::isnan(got[row]));
    EXPECT_TRUE(std::isnan(fp8_value(bytes[64 * row], Fp8Format::e5m2)));
  }
}

TEST_F(ClassifierFp8, RowsThatDoNotFitAreRefused) {
  Stream stream;
  EXPECT_TRUE(fused_classifier_fp8_supported(50304));
  EXPECT_FALSE(fused_classifier_fp8_supported(50257));
  EXPECT_FALSE(fused_classifier_fp8_supported(131072));
  DeviceBuffer<bf16> logits(64);
  DeviceBuffer<std::uint8_t> out(64);
  EXPECT_THROW(launch_fused_classifier_fp8(out.data(), 1.0F, nullptr, logits.data(), nullptr, 1.0F, 1, 23, 24,
                                           stream.get()),
               std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_classifier_fp8_test
