// Arrays of more than 2^31 elements: the last row must be reached through 64-bit offsets, by packed and by
// scalar kernels. Everything before it is a constant, so that a wrapped offset shows in the last row or reads
// something else than it should. Up to 13 GB.
#include <algorithm>
#include <optional>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/norm/layernorm.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_large_offsets_test {
namespace {

using namespace ops_test;

constexpr int kChannels = 1600;
constexpr int kSeq = 1024;
constexpr int kBatch = 1312;
constexpr std::int64_t kRows = std::int64_t{kBatch} * kSeq;
constexpr std::int64_t kCount = kRows * kChannels;  // 2^31 * 1.001
static_assert(kCount > std::int64_t{1} << 31);
constexpr std::int64_t kLast = kCount - kChannels;
constexpr KernelWidth kWidths[] = {KernelWidth::packed, KernelWidth::scalar};
constexpr double kEps = 0x1p-7;

class LargeOffsets : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < (std::size_t{15} << 30)) GTEST_SKIP() << "needs 15 GiB of free device memory";
    stream_.emplace();
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_->get(); }

  // (rows, C) of `value`, with `row` as the last.
  DeviceBuffer<bf16> with_last_row(float value, const std::vector<double>& row) {
    DeviceBuffer<bf16> buffer(kCount);
    launch_fill(buffer.data(), value, kCount, stream());
    stream_->synchronize();
    const auto source = to_device<bf16>(row);
    RIDGELINE_CUDA_CHECK(cudaMemcpy(buffer.data() + kLast, source.data(), row.size() * sizeof(bf16),
                                    cudaMemcpyDeviceToDevice));
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    return buffer;
  }
  std::vector<double> last_row(const DeviceBuffer<bf16>& buffer) {
    stream_->synchronize();
    std::vector<bf16> row(kChannels);
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(row.data(), buffer.data() + kLast, row.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
    std::vector<double> values;
    for (const bf16 value : row) values.push_back(static_cast<double>(to_float(value)));
    return values;
  }

  std::optional<Stream> stream_;  // made where there is a GPU
  std::vector<double> a_ = random_values<bf16>(kChannels, 1);
  std::vector<double> b_ = random_values<bf16>(kChannels, 2);
};

TEST_F(LargeOffsets, ElementwiseOpsReachTheLastRow) {
  const auto a = with_last_row(0.5F, a_);
  const auto b = with_last_row(0.25F, b_);
  DeviceBuffer<bf16> out(kCount);
  std::vector<double> sum(a_.size());
  std::vector<double> gelu(a_.size());
  std::vector<double> gradient(a_.size());
  residual_forward_cpu(sum.data(), a_.data(), b_.data(), kChannels);
  gelu_forward_cpu(gelu.data(), a_.data(), kChannels);
  gelu_backward_cpu(gradient.data(), a_.data(), b_.data(), kChannels);
  for (const KernelWidth width : kWidths) {
    launch_zero(out.data(), out.size_bytes(), stream());
    launch_residual_forward(out.data(), a.data(), b.data(), kCount, stream(), width);
    expect_close(last_row(out), sum, kEps / 2, 0.0, "residual");
    launch_gelu_forward(out.data(), a.data(), kCount, stream(), width);
    expect_close(last_row(out), gelu, kEps, 1e-5, "gelu");
    launch_gelu_backward(out.data(), a.data(), b.data(), kCount, stream(), width);
    expect_close(last_row(out), gradient, kEps, 5e-5, "gelu gradient");
  }
}

TEST_F(LargeOffsets, LayernormReachesTheLastRow) {
  const auto x = with_last_row(0.5F, a_);
  const auto d = with_last_row(0.0F, b_);
  DeviceBuffer<bf16> out(kCount);
  const auto w = random_values<bf16>(kChannels, 3);
  const auto weight = to_device<bf16>(w);
  DeviceBuffer<float> mean(kRows);
  DeviceBuffer<float> rstd(kRows);
  DeviceBuffer<char> scratch(layernorm_backward_scratch_bytes(kChannels));
  std::vector<double> normed(a_.size()), m(1), s(1), dinp(a_.size()), dweight(a_.size()), dbias(a_.size());
  layernorm_forward_cpu(normed.data(), m.data(), s.data(), a_.data(), w.data(), w.data(), 1, kChannels);
  layernorm_backward_cpu<double>(dinp.data(), nullptr, dweight.data(), dbias.data(), nullptr, b_.data(),
                                 a_.data(), w.data(), m.data(), s.data(), 1, kChannels);
  for (const KernelWidth width : kWidths) {
    launch_zero(out.data(), out.size_bytes(), stream());
    launch_layernorm_forward(out.data(), mean.data(), rstd.data(), x.data(), weight.data(), weight.data(),
                             kRows, kChannels, stream(), width);
    expect_close(last_row(out), normed, kEps, 5e-5 + kEps / 4, "layernorm");
    const auto zeros = std::vector<double>(a_.size(), 0.0);
    auto got_dweight = to_device<float>(zeros);
    auto got_dbias = to_device<float>(zeros);
    launch_layernorm_backward<bf16>(out.data(), nullptr, got_dweight.data(), got_dbias.data(), nullptr,
                                    d.data(), x.data(), weight.data(), mean.data(), rstd.data(), kRows,
                                    kChannels, scratch.data(), stream(), width);
    expect_close(last_row(out), dinp, 2 * kEps, kEps + 1e-5, "layernorm gradient");
    // Every other row's gradient is zero, so that the sums are the last row's.
    expect_close(to_host(got_dweight), dweight, 1e-4, 1e-4, "dweight");
    expect_close(to_host(got_dbias), dbias, 1e-6, 0.0, "dbias");
  }
}

TEST_F(LargeOffsets, BiasGradientsReachTheLastRow) {
  const auto dout = with_last_row(0.0F, a_);
  DeviceBuffer<char> scratch(bias_gradient_scratch_bytes(kChannels));
  launch_zero(scratch.data(), scratch.size(), stream());
  const auto zeros = std::vector<double>(a_.size(), 0.0);
  for (const KernelWidth width : kWidths) {
    auto dbias = to_device<float>(zeros);
    launch_bias_gradient(dbias.data(), dout.data(), kRows, kChannels, scratch.data(), stream(), width);
    EXPECT_EQ(to_host(dbias), a_);
  }
  auto dbias = to_device<float>(zeros);
  launch_bias_gradient_naive(dbias.data(), dout.data(), kRows, kChannels, stream());
  EXPECT_EQ(to_host(dbias), a_);
}

TEST_F(LargeOffsets, EncoderReachesTheLastRow) {
  constexpr int kVocab = 7;
  const auto wte = random_values<bf16>(std::int64_t{kVocab} * kChannels, 4);
  const auto wpe = random_values<bf16>(std::int64_t{kSeq} * kChannels, 5);
  const auto device_wte = to_device<bf16>(wte);
  const auto device_wpe = to_device<bf16>(wpe);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(kRows), 1);
  tokens.back() = 6;
  const auto device_tokens = to_device(tokens);
  std::vector<double> expected(a_.size());
  for (std::size_t c = 0; c < expected.size(); ++c) {
    expected[c] = wte[6 * kChannels + c] + wpe[(kSeq - 1) * std::size_t{kChannels} + c];
  }
  {
    DeviceBuffer<bf16> out(kCount);
    for (const KernelWidth width : kWidths) {
      launch_zero(out.data(), out.size_bytes(), stream());
      launch_encoder_forward(out.data(), device_tokens.data(), device_wte.data(), device_wpe.data(), kBatch,
                             kSeq, kChannels, stream(), width);
      expect_close(last_row(out), expected, kEps / 2, 0.0, "encoder forward");
    }
  }
  const auto dout = with_last_row(0.0F, a_);
  for (const auto mode : {EncoderBackward::atomic, EncoderBackward::deterministic}) {
    DeviceBuffer<char> scratch(encoder_backward_scratch_bytes(kBatch, kSeq, kChannels, mode));
    for (const KernelWidth width : kWidths) {
      auto dwte = to_device<float>(std::vector<double>(wte.size(), 0.0));
      auto dwpe = to_device<float>(std::vector<double>(wpe.size(), 0.0));
      launch_encoder_backward(dwte.data(), dwpe.data(), dout.data(), device_tokens.data(), kBatch, kSeq,
                              kChannels, kVocab, mode, scratch.data(), stream(), width);
      auto expected_dwte = std::vector<double>(wte.size(), 0.0);
      auto expected_dwpe = std::vector<double>(wpe.size(), 0.0);
      std::copy(a_.begin(), a_.end(), expected_dwte.begin() + 6 * kChannels);
      std::copy(a_.begin(), a_.end(), expected_dwpe.begin() + std::int64_t{kSeq - 1} * kChannels);
      expect_close(to_host(dwte), expected_dwte, 1e-6, 0.0, "dwte");
      expect_close(to_host(dwpe), expected_dwpe, 1e-6, 0.0, "dwpe");
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_large_offsets_test
