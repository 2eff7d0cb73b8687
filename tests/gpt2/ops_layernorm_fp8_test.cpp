// Layernorm with FP8 results, forward and backward, against the FP64 references.
#include <gtest/gtest.h>

#include <stdexcept>

#include "fp8_test_support.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2::ops_layernorm_fp8_test {
namespace {

using namespace ops_test;

struct Size {
  std::int64_t rows;
  int channels;
};
// 16 rows, half a table; a last table that is half full; more tables than multiprocessors, so that blocks take several;
// every instantiated width and narrower ones; one table of shared memory instead of two (1600 and 1792).
constexpr Size kSizes[] = {{16, 16},    {32, 128},   {48, 768},    {4240, 128}, {9008, 256},
                           {336, 1024}, {336, 1280}, {4272, 1600}, {80, 1792},  {2064, 768}};

class LayernormFp8 : public GpuTest {};

struct Statistics {
  std::vector<double> mean, rstd;
};

TEST_F(LayernormFp8, ForwardAloneAndBehindAResidual) {
  Stream stream;
  for (const Size size : kSizes) {
    for (const bool residual : {false, true}) {
      SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.channels) +
                   (residual ? " residual" : ""));
      const std::int64_t n = size.rows * size.channels;
      const auto inp1 = random_values<bf16>(n, 1);
      const auto inp2 = random_values<bf16>(n, 2, 0.5);
      const auto weight = random_values<bf16>(size.channels, 3);
      const auto bias = random_values<bf16>(size.channels, 4);
      std::vector<double> sum = inp1;
      if (residual) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] = static_cast<double>(to_float(from_float<bf16>(static_cast<float>(inp1[i] + inp2[i]))));
        }
      }
      std::vector<double> expected(sum.size());
      Statistics want{std::vector<double>(static_cast<std::size_t>(size.rows)),
                      std::vector<double>(static_cast<std::size_t>(size.rows))};
      layernorm_forward_cpu(expected.data(), want.mean.data(), want.rstd.data(), sum.data(), weight.data(),
                            bias.data(), size.rows, size.channels);
      const auto a = to_device<bf16>(inp1);
      const auto b = to_device<bf16>(inp2);
      const auto w = to_device<bf16>(weight);
      const auto c = to_device<bf16>(bias);
      auto out_residual = poisoned<bf16>(n);
      auto mean = poisoned<float>(size.rows);
      auto rstd = poisoned<float>(size.rows);
      Fp8Target target(size.rows, size.channels, Fp8Format::e4m3, 32.0F);
      if (residual) {
        launch_residual_layernorm_forward(out_residual.data(), target.output(), mean.data(), rstd.data(),
                                          a.data(), b.data(), w.data(), c.data(), size.rows, size.channels,
                                          stream.get());
        expect_close(to_host(out_residual), sum, 0.0, 0.0, "residual");
      } else {
        launch_layernorm_forward(target.output(), mean.data(), rstd.data(), a.data(), w.data(), c.data(),
                                 size.rows, size.channels, stream.get());
      }
      expect_close(to_host(mean), want.mean, 1e-5, 1e-6, "mean");
      expect_close(to_host(rstd), want.rstd, 1e-5, 0.0, "rstd");
      // Sums that cancel: FP32's error is one of the parts, not of what is left.
      const std::vector<std::uint8_t> bytes = target.bytes_out();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double scaled = std::clamp(expected[i] * 32.0, -448.0, 448.0);
        const double error = std::abs(static_cast<double>(fp8_value(bytes[i], Fp8Format::e4m3)) - scaled);
        if (!(error <= fp8_half_step(scaled, Fp8Format::e4m3) + 32.0 * 1e-5 * (1.0 + std::abs(expected[i]))))
          ++wrong;
      }
      EXPECT_EQ(wrong, 0U) << "of " << expected.size();
      std::vector<double> as_stored;
      for (const std::uint8_t byte : bytes) as_stored.push_back(fp8_value(byte, Fp8Format::e4m3) / 32.0);
      target.expect(as_stored, 0.0, "transposed");
      EXPECT_NEAR(target.amax(), largest_magnitude(expected), 1e-5 * (1 + largest_magnitude(expected)));
    }
  }
}

TEST_F(LayernormFp8, BackwardWithAndWithoutAResidual) {
  Stream stream;
  for (const Size size : kSizes) {
    for (const bool residual : {false, true}) {
      SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.channels) +
                   (residual ? " residual" : ""));
      const std::int64_t n = size.rows * size.channels;
      const auto channels = static_cast<std::size_t>(size.channels);
      const auto inp = random_values<bf16>(n, 5);
      const auto dout = random_values<bf16>(n, 6);
      const auto dres = random_values<bf16>(n, 7);
      const auto weight = random_values<bf16>(size.channels, 8);
      std::vector<double> normed(inp.size());
      Statistics s{std::vector<double>(static_cast<std::size_t>(size.rows)),
                   std::vector<double>(static_cast<std::size_t>(size.rows))};
      const std::vector<double> zeros(channels);
      layernorm_forward_cpu(normed.data(), s.mean.data(), s.rstd.data(), inp.data(), weight.data(),
                            zeros.data(), size.rows, size.channels);
      for (auto* values : {&s.mean, &s.rstd}) {
        for (double& value : *values) value = static_cast<double>(static_cast<float>(value));
      }
      std::vector<double> dinp(inp.size()), dweight(channels), dbias(channels), colsum(channels);
      layernorm_backward_cpu(dinp.data(), residual ? dres.data() : nullptr, dweight.data(), dbias.data(),
                             colsum.data(), dout.data(), inp.data(), weight.data(), s.mean.data(),
                             s.rstd.data(), size.rows, size.channels);

      const auto x = to_device<bf16>(inp);
      const auto d = to_device<bf16>(dout);
      const auto w = to_device<bf16>(weight);
      const auto mean = to_device<float>(s.mean);
      const auto rstd = to_device<float>(s.rstd);
      // In place, as the model has it.
      auto out = residual ? to_device<bf16>(dres) : poisoned<bf16>(n);
      auto got_dweight = to_device<float>(zeros);
      auto got_dbias = to_device<float>(zeros);
      auto got_colsum = to_device<float>(zeros);
      DeviceBuffer<std::byte> memory(layernorm_backward_scratch_bytes(size.channels));
      PartialSums sums(memory.data(), memory.size_bytes());
      Fp8Target target(size.rows, size.channels, Fp8Format::e5m2, 256.0F);
      launch_layernorm_backward(out.data(), target.output(), residual ? out.data() : nullptr,
                                got_dweight.data(), got_dbias.data(), got_colsum.data(), d.data(), x.data(),
                                w.data(), mean.data(), rstd.data(), size.rows, size.channels, sums,
                                stream.get());
      sums.flush(stream.get());
      expect_close(to_host(out), dinp, 4 * epsilon<bf16>(), 4 * epsilon<bf16>(), "dinp");
      const std::vector<std::uint8_t> bytes = target.bytes_out();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < dinp.size(); ++i) {
        const double scaled = dinp[i] * 256.0;
        const double error = std::abs(static_cast<double>(fp8_value(bytes[i], Fp8Format::e5m2)) - scaled);
        if (!(error <= fp8_half_step(scaled, Fp8Format::e5m2) + 256.0 * 1e-4 * (1.0 + std::abs(dinp[i]))))
          ++wrong;
      }
      EXPECT_EQ(wrong, 0U) << "of " << dinp.size();
      std::vector<double> as_stored;
      for (const std::uint8_t byte : bytes) as_stored.push_back(fp8_value(byte, Fp8Format::e5m2) / 256.0);
      target.expect(as_stored, 0.0, "transposed");
      const double largest = largest_magnitude(dinp);
      EXPECT_NEAR(target.amax(), largest, 1e-4 * (1 + largest));
      const double bound = 1e-5 * static_cast<double>(size.rows) * 4.0 + 1e-4;
      expect_close(to_host(got_dweight), dweight, 1e-5, bound, "dweight");
      expect_close(to_host(got_dbias), dbias, 1e-5, bound, "dbias");
      expect_close(to_host(got_colsum), colsum, 1e-5, bound, "colsum");
    }
  }
}

// Groups of rows are stored after a barrier from a table that others fill again: the same bytes, every time.
TEST_F(LayernormFp8, BackwardOfALongBatchRepeatsBitForBit) {
  Stream stream;
  const Size size{32768, 768};
  const std::int64_t n = size.rows * size.channels;
  const auto x = to_device<bf16>(random_values<bf16>(n, 9));
  const auto d = to_device<bf16>(random_values<bf16>(n, 10));
  const auto r = to_device<bf16>(random_values<bf16>(n, 11));
  const auto w = to_device<bf16>(random_values<bf16>(size.channels, 12));
  const auto mean = to_device<float>(std::vector<double>(static_cast<std::size_t>(size.rows), 0.01));
  const auto rstd = to_device<float>(std::vector<double>(static_cast<std::size_t>(size.rows), 1.0));
  DeviceBuffer<std::byte> memory(layernorm_backward_scratch_bytes(size.channels));
  DeviceBuffer<float> sums_out(3 * size.channels);
  std::vector<std::uint8_t> first, first_transposed;
  DeviceBuffer<bf16> out(n);
  DeviceBuffer<std::uint8_t> fp8(n), transposed(n);
  DeviceBuffer<float> scale(1);
  scale.upload({64.0F});
  for (int repeat = 0; repeat < 20; ++repeat) {
    PartialSums sums(memory.data(), memory.size_bytes());
    launch_layernorm_backward(out.data(), {fp8.data(), transposed.data(), {scale.data(), nullptr}}, r.data(),
                              sums_out.data(), sums_out.data() + size.channels,
                              sums_out.data() + 2 * size.channels, d.data(), x.data(), w.data(), mean.data(),
                              rstd.data(), size.rows, size.channels, sums, stream.get());
    stream.synchronize();
    if (repeat == 0) {
      first = fp8.download();
      first_transposed = transposed.download();
      continue;
    }
    ASSERT_TRUE(fp8.download() == first) << "repeat " << repeat;
    ASSERT_TRUE(transposed.download() == first_transposed) << "repeat " << repeat;
  }
}

TEST_F(LayernormFp8, SizesThatAreNotSupportedAreRefused) {
  Stream stream;
  EXPECT_TRUE(layernorm_fp8_supported(16, 1792));
  EXPECT_FALSE(layernorm_fp8_supported(24, 768));
  EXPECT_FALSE(layernorm_fp8_supported(16, 760));
  EXPECT_FALSE(layernorm_fp8_supported(16, 1808));
  DeviceBuffer<bf16> any(64 * 64);
  DeviceBuffer<float> floats(64);
  Fp8Target target(32, 32, Fp8Format::e4m3, 1.0F);
  EXPECT_THROW(launch_layernorm_forward(target.output(), floats.data(), floats.data(), any.data(), any.data(),
                                        any.data(), 24, 32, stream.get()),
               std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_layernorm_fp8_test
