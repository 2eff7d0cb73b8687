// Fused classifier, validation loss and the sum of losses against the references.
#include <algorithm>
#include <cstring>

#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_classifier_test {
namespace {

using namespace ops_test;

struct Shape {
  std::int64_t rows;
  int vocab;
  int padded;
};
// GPT-2's padded vocabulary; padding of a whole vector; no padding; rows that no vector divides; rows too
// long for shared memory; several rows of several pieces for each block of a full H200.
const std::vector<Shape> kShapes = {{1, 1, 8},           {3, 7, 16},        {5, 31, 31},
                                    {2, 4095, 4096},     {2, 4097, 4104},   {3, 8191, 8192},
                                    {7, 50257, 50304},   {2, 50257, 50257}, {2, 57600, 57600},
                                    {2, 120000, 120008}, {1031, 97, 128},   {1301, 9001, 9008}};

std::vector<std::int32_t> targets_of(const Shape& s) {
  std::vector<std::int32_t> targets(static_cast<std::size_t>(s.rows));
  std::mt19937 generator(23);
  for (auto& target : targets)
    target = static_cast<std::int32_t>(generator() % static_cast<unsigned>(s.vocab));
  targets[0] = s.vocab - 1;
  return targets;
}

template <typename T>
class Classifier : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Classifier, ElementTypes);

TYPED_TEST(Classifier, MatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const Shape& s : kShapes) {
    for (const double scale : {1.0, 20.0}) {
      const std::string what = "N=" + std::to_string(s.rows) + " V=" + std::to_string(s.vocab) +
                               " Vp=" + std::to_string(s.padded) + " scale " + std::to_string(scale) + " ";
      const std::int64_t n = s.rows * s.padded;
      auto x = random_values<TypeParam>(n, 1, scale);
      // Padding columns hold large values: they must not count.
      for (std::int64_t row = 0; row < s.rows; ++row) {
        for (int v = s.vocab; v < s.padded; ++v) x[static_cast<std::size_t>(row * s.padded + v)] = 1000.0;
      }
      const auto targets = targets_of(s);
      const auto logits_in = x;
      const float dloss = 1.0F / 64.0F;
      std::vector<double> losses(static_cast<std::size_t>(s.rows));
      fused_classifier_cpu<double>(x.data(), losses.data(), targets.data(), dloss, s.rows, s.vocab, s.padded);
      auto logits = to_device<TypeParam>(logits_in);
      const auto device_targets = to_device(targets);
      auto got = poisoned<float>(s.rows);
      launch_classifier_loss(got.data(), logits.data(), device_targets.data(), s.rows, s.vocab, s.padded,
                             stream.get());
      expect_close(to_host(got), losses, 2e-5, 2e-5 * (1.0 + scale), what + "validation loss");
      expect_close(to_host(logits), logits_in, 0.0, 0.0, what + "logits after validation");
      auto got_fused = poisoned<float>(s.rows);
      launch_fused_classifier(logits.data(), got_fused.data(), device_targets.data(), dloss, s.rows, s.vocab,
                              s.padded, stream.get());
      auto again = to_device<TypeParam>(logits_in);
      auto got_again = poisoned<float>(s.rows);
      launch_fused_classifier(again.data(), got_again.data(), device_targets.data(), dloss, s.rows, s.vocab,
                              s.padded, stream.get());
      EXPECT_EQ(to_host(got_again), to_host(got_fused)) << what << "losses not bit-identical";
      EXPECT_EQ(to_host(again), to_host(logits)) << what << "dlogits not bit-identical";
      expect_close(to_host(got_fused), losses, 2e-5, 2e-5 * (1.0 + scale), what + "loss");
      expect_close(to_host(logits), x, eps / 2 + 1e-4, 1e-5 * static_cast<double>(dloss), what + "dlogits");
    }
  }
}

// Many rows for each block, again and again: the copy engine refills a row's place while the row is still in
// use, and what it does too early shows in a few elements of a few runs only.
TEST_F(GpuTest, ClassifierGivesTheSameBitsInEveryRun) {
  const Stream stream;
  const std::int64_t rows = 4096;
  const int vocab = 50257;
  const int padded = 50304;
  const auto pattern = to_device<bf16>(random_values<bf16>(1'000'003, 5, 3.0));  // no two rows alike
  DeviceBuffer<bf16> logits(rows * padded);
  const auto targets = to_device(targets_of({rows, vocab, padded}));
  auto losses = poisoned<float>(rows);
  const auto run = [&] {
    for (std::int64_t at = 0; at < logits.size(); at += pattern.size()) {
      const std::int64_t count = std::min(pattern.size(), logits.size() - at);
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(logits.data() + at, pattern.data(),
                                           static_cast<std::size_t>(count) * sizeof(bf16),
                                           cudaMemcpyDeviceToDevice, stream.get()));
    }
    launch_fused_classifier(logits.data(), losses.data(), targets.data(), 1.0F / 64.0F, rows, vocab, padded,
                            stream.get());
    stream.synchronize();
    return logits.download();
  };
  const std::vector<bf16> first = run();
  for (int repeat = 1; repeat <= 40; ++repeat) {
    const std::vector<bf16> again = run();
    ASSERT_EQ(std::memcmp(again.data(), first.data(), first.size() * sizeof(bf16)), 0) << "repeat " << repeat;
  }
}

TYPED_TEST(Classifier, AWrongTargetGivesNan) {
  const Stream stream;
  for (const int padded : {64, 61}) {
    auto logits = to_device<TypeParam>(random_values<TypeParam>(4 * padded, 2));
    const auto targets = to_device(std::vector<std::int32_t>{0, -1, 61, 60});
    auto losses = poisoned<float>(4);
    launch_fused_classifier(logits.data(), losses.data(), targets.data(), 1.0F, 4, 61, padded, stream.get());
    const auto got = to_host(losses);
    EXPECT_TRUE(std::isfinite(got[0]));
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_TRUE(std::isfinite(got[3]));
    EXPECT_TRUE(std::isnan(to_host(logits)[static_cast<std::size_t>(padded)]));
  }
}

TYPED_TEST(Classifier, ANanLogitGivesANanLoss) {
  const Stream stream;
  for (const int padded : {64, 61}) {
    auto x = random_values<TypeParam>(2 * padded, 3);
    x[5] = std::nan("");
    auto logits = to_device<TypeParam>(x);
    const auto targets = to_device(std::vector<std::int32_t>{0, 1});
    auto losses = poisoned<float>(2);
    launch_fused_classifier(logits.data(), losses.data(), targets.data(), 1.0F, 2, 61, padded, stream.get());
    const auto got = to_host(losses);
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_TRUE(std::isfinite(got[1]));
  }
}

// More than 2^31 elements: every row must still be reached through 64-bit offsets. 4.3 GB.
TEST_F(GpuTest, ClassifierReachesBeyondTwoToTheThirtyOneElements) {
  const Stream stream;
  const std::int64_t rows = 42700;
  const int vocab = 50257;
  const int padded = 50304;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (free_bytes < (std::size_t{6} << 30)) GTEST_SKIP() << "needs 6 GiB of free device memory";
  DeviceBuffer<bf16> logits(rows * padded);
  launch_fill(logits.data(), 0.5F, logits.size(), stream.get());
  const auto targets = to_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 3));
  auto losses = poisoned<float>(rows);
  launch_fused_classifier(logits.data(), losses.data(), targets.data(), 1.0F, rows, vocab, padded,
                          stream.get());
  expect_close(to_host(losses), std::vector<double>(static_cast<std::size_t>(rows), std::log(50257.0)), 1e-5,
               0.0, "losses");
  std::vector<bf16> last(static_cast<std::size_t>(padded));
  RIDGELINE_CUDA_CHECK(cudaMemcpy(last.data(), logits.data() + (rows - 1) * padded,
                                  last.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
  const double p = 1.0 / vocab;
  EXPECT_NEAR(static_cast<double>(to_float(last[0])), p, p / 128);
  EXPECT_NEAR(static_cast<double>(to_float(last[3])), p - 1.0, 1.0 / 128);
  EXPECT_EQ(to_float(last[static_cast<std::size_t>(padded - 1)]), 0.0F);
}

TEST_F(GpuTest, LossSumMatchesReferenceAndAccumulates) {
  const Stream stream;
  for (const std::int64_t n : {0, 1, 1023, 1024, 1025, 8191, 8193, 32768, 1'000'003}) {
    const auto losses = random_values<float>(n, 4, 3.0);
    double expected = 0.0;
    loss_sum_cpu(&expected, losses.data(), n, 0.25, false);
    const auto device_losses = to_device<float>(losses);
    auto out = poisoned<float>(1);
    const double tolerance = 1e-6 * (1.0 + static_cast<double>(n));
    launch_loss_sum(out.data(), device_losses.data(), n, 0.25F, false, stream.get());
    expect_close(to_host(out), {expected}, 1e-6, tolerance, "n=" + std::to_string(n));
    launch_loss_sum(out.data(), device_losses.data(), n, 0.25F, true, stream.get());
    expect_close(to_host(out), {2 * expected}, 1e-6, 2 * tolerance, "accumulated n=" + std::to_string(n));
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_classifier_test
