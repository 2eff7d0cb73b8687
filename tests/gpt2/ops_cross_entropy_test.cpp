// The classifier in separate steps against its references and against the fused one.
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_cross_entropy_test {
namespace {

using namespace ops_test;

struct Shape {
  std::int64_t rows;
  int vocab;
  int padded;
};
// GPT-2's vocabulary padded and plain; padding of part of a vector and of whole ones; rows around a block of
// 512 threads with 1, 4 and 8 elements each.
const std::vector<Shape> kShapes = {{1, 1, 8},       {1, 1, 1},         {3, 7, 16},        {5, 31, 31},
                                    {2, 511, 512},   {2, 513, 513},     {2, 2049, 2056},   {2, 4095, 4096},
                                    {2, 4097, 4104}, {7, 50257, 50304}, {3, 50257, 50257}, {1031, 97, 128}};

template <typename T>
class CrossEntropy : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(CrossEntropy, ElementTypes);

// The columns below vocab of a (rows, padded) array.
std::vector<double> live_columns(const std::vector<double>& values, const Shape& s) {
  std::vector<double> live;
  for (std::int64_t n = 0; n < s.rows; ++n) {
    const auto row = values.begin() + n * s.padded;
    live.insert(live.end(), row, row + s.vocab);
  }
  return live;
}

TYPED_TEST(CrossEntropy, EveryStepMatchesItsReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  constexpr float kDloss = 1.0F / 64.0F;
  for (const Shape& s : kShapes) {
    for (const double scale : {1.0, 40.0}) {  // at 40 some probabilities underflow FP32; no loss may
      for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
        const std::string what = "N=" + std::to_string(s.rows) + " V=" + std::to_string(s.vocab) +
                                 " Vp=" + std::to_string(s.padded) + " scale " + std::to_string(scale) +
                                 (width == KernelWidth::packed ? " packed " : " scalar ");
        const std::int64_t n = s.rows * s.padded;
        auto x = random_values<TypeParam>(n, 1, scale);
        for (std::int64_t row = 0; row < s.rows; ++row) {
          for (int v = s.vocab; v < s.padded; ++v) x[static_cast<std::size_t>(row * s.padded + v)] = 1000.0;
        }
        std::vector<std::int32_t> targets(static_cast<std::size_t>(s.rows));
        std::mt19937 generator(23);
        for (auto& target : targets) {
          target = static_cast<std::int32_t>(generator() % static_cast<unsigned>(s.vocab));
        }
        targets[0] = s.vocab - 1;
        std::vector<double> log_probs(x.size(), 0.0);
        std::vector<double> losses(targets.size());
        std::vector<double> dlogits(x.size());
        log_softmax_cpu(log_probs.data(), x.data(), s.rows, s.vocab, s.padded);
        cross_entropy_cpu(losses.data(), log_probs.data(), targets.data(), s.rows, s.vocab, s.padded);
        cross_entropy_backward_cpu<double>(dlogits.data(), log_probs.data(), targets.data(), kDloss, s.rows,
                                           s.vocab, s.padded);

        auto logits = to_device<TypeParam>(x);
        const auto device_targets = to_device(targets);
        auto got_log_probs = poisoned<float>(log_probs_size(s.rows, s.padded));
        auto got_losses = poisoned<float>(s.rows);
        launch_log_softmax(got_log_probs.data(), logits.data(), s.rows, s.vocab, s.padded, stream.get(),
                           width);
        launch_cross_entropy(got_losses.data(), got_log_probs.data(), device_targets.data(), s.rows, s.vocab,
                             s.padded, stream.get());
        // The padding's log-probabilities are undefined: the gradient must not look at them.
        launch_cross_entropy_backward(logits.data(), got_log_probs.data(), device_targets.data(), kDloss,
                                      s.rows, s.vocab, s.padded, stream.get(), width);
        expect_close(live_columns(to_host(got_log_probs), s), live_columns(log_probs, s), 1e-5,
                     2e-6 * (1.0 + scale), what + "log-probabilities");
        expect_close(to_host(got_losses), losses, 1e-5, 2e-6 * (1.0 + scale), what + "loss");
        expect_close(to_host(logits), dlogits, eps / 2 + 5e-4, 1e-5 * static_cast<double>(kDloss),
                     what + "dlogits");
      }
    }
  }
}

TYPED_TEST(CrossEntropy, AgreesWithTheFusedClassifier) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  constexpr std::int64_t kRows = 37;
  constexpr int kVocab = 50257;
  constexpr float kDloss = 1.0F / 32.0F;
  for (const int padded : {50304, 50257}) {
    const auto x = random_values<TypeParam>(kRows * padded, 5, 3.0);
    std::vector<std::int32_t> targets(kRows);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int32_t>(i * 1357);
    const auto device_targets = to_device(targets);
    auto fused = to_device<TypeParam>(x);
    auto separate = to_device<TypeParam>(x);
    auto fused_losses = poisoned<float>(kRows);
    auto losses = poisoned<float>(kRows);
    auto log_probs = poisoned<float>(log_probs_size(kRows, padded));
    launch_fused_classifier(fused.data(), fused_losses.data(), device_targets.data(), kDloss, kRows, kVocab,
                            padded, stream.get());
    launch_log_softmax(log_probs.data(), separate.data(), kRows, kVocab, padded, stream.get());
    launch_cross_entropy(losses.data(), log_probs.data(), device_targets.data(), kRows, kVocab, padded,
                         stream.get());
    launch_cross_entropy_backward(separate.data(), log_probs.data(), device_targets.data(), kDloss, kRows,
                                  kVocab, padded, stream.get());
    expect_close(to_host(losses), to_host(fused_losses), 1e-5, 1e-5, "loss");
    expect_close(to_host(separate), to_host(fused), eps + 2e-4, 1e-5 * static_cast<double>(kDloss),
                 "dlogits");
  }
}

TYPED_TEST(CrossEntropy, AWrongTargetGivesNan) {
  const Stream stream;
  for (const int padded : {64, 61}) {
    auto logits = to_device<TypeParam>(random_values<TypeParam>(4 * padded, 2));
    const auto targets = to_device(std::vector<std::int32_t>{0, -1, 61, 60});
    auto log_probs = poisoned<float>(log_probs_size(4, padded));
    auto losses = poisoned<float>(4);
    launch_log_softmax(log_probs.data(), logits.data(), 4, 61, padded, stream.get());
    launch_cross_entropy(losses.data(), log_probs.data(), targets.data(), 4, 61, padded, stream.get());
    launch_cross_entropy_backward(logits.data(), log_probs.data(), targets.data(), 1.0F, 4, 61, padded,
                                  stream.get());
    const auto got = to_host(losses);
    const auto dlogits = to_host(logits);
    for (std::size_t row = 0; row < 4; ++row) {
      const bool valid = row == 0 || row == 3;
      EXPECT_EQ(std::isfinite(got[row]), valid) << row;
      for (std::size_t v = 0; v < 61; ++v) {
        EXPECT_EQ(std::isfinite(dlogits[row * static_cast<std::size_t>(padded) + v]), valid)
            << row << ", " << v;
      }
    }
  }
}

TYPED_TEST(CrossEntropy, ANanLogitGivesANanLoss) {
  const Stream stream;
  for (const int padded : {64, 61}) {
    auto x = random_values<TypeParam>(2 * padded, 3);
    x[5] = std::nan("");
    const auto logits = to_device<TypeParam>(x);
    const auto targets = to_device(std::vector<std::int32_t>{0, 1});
    auto log_probs = poisoned<float>(log_probs_size(2, padded));
    auto losses = poisoned<float>(2);
    launch_log_softmax(log_probs.data(), logits.data(), 2, 61, padded, stream.get());
    launch_cross_entropy(losses.data(), log_probs.data(), targets.data(), 2, 61, padded, stream.get());
    const auto got = to_host(losses);
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_TRUE(std::isfinite(got[1]));
  }
}

// More than 2^31 elements: every row must still be reached through 64-bit offsets. 12.9 GB.
TEST_F(GpuTest, CrossEntropyReachesBeyondTwoToTheThirtyOneElements) {
  const Stream stream;
  const std::int64_t rows = 42700;
  const int vocab = 50257;
  const int padded = 50304;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (free_bytes < (std::size_t{14} << 30)) GTEST_SKIP() << "needs 14 GiB of free device memory";
  DeviceBuffer<bf16> logits(rows * padded);
  DeviceBuffer<float> log_probs(log_probs_size(rows, padded));
  const auto targets = to_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 3));
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    launch_fill(logits.data(), 0.5F, logits.size(), stream.get());
    launch_fill(log_probs.data(), 1.0F, log_probs.size(), stream.get());
    auto losses = poisoned<float>(rows);
    launch_log_softmax(log_probs.data(), logits.data(), rows, vocab, padded, stream.get(), width);
    launch_cross_entropy(losses.data(), log_probs.data(), targets.data(), rows, vocab, padded, stream.get());
    launch_cross_entropy_backward(logits.data(), log_probs.data(), targets.data(), 1.0F, rows, vocab, padded,
                                  stream.get(), width);
    expect_close(to_host(losses), std::vector<double>(static_cast<std::size_t>(rows), std::log(50257.0)),
                 1e-5, 0.0, "losses");
    std::vector<bf16> last(static_cast<std::size_t>(padded));
    RIDGELINE_CUDA_CHECK(cudaMemcpy(last.data(), logits.data() + (rows - 1) * padded,
                                    last.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
    const double p = 1.0 / vocab;
    EXPECT_NEAR(static_cast<double>(to_float(last[0])), p, p / 128);
    EXPECT_NEAR(static_cast<double>(to_float(last[3])), p - 1.0, 1.0 / 128);
    EXPECT_EQ(to_float(last[static_cast<std::size_t>(padded - 1)]), 0.0F);
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_cross_entropy_test
