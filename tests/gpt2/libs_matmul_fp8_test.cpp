// The FP8 products against FP64: the same bytes widened and multiplied there, for every orientation, scale
// and way of summing.
#include <gtest/gtest.h>

#include <stdexcept>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/ops/fp8/fp8.h"
#include "libs_test_support.h"

namespace ridgeline::gpt2 {
namespace {

using testing_support::GpuTest;
using testing_support::normal_values;
using testing_support::on_device;
using testing_support::poisoned;

class MatmulFp8 : public GpuTest {
 protected:
  static MatmulOptions options_of(MatmulSearch search) {
    MatmulOptions options;
    options.search = search;
    return options;
  }
};

struct Size {
  std::int64_t n, c, oc;
};
// The smallest; no multiples of a tile; tiny's; 124M's qkv and fcproj with fewer rows.
constexpr Size kSizes[] = {{16, 16, 16}, {48, 80, 176}, {256, 128, 512}, {512, 768, 2304}, {256, 3072, 768}};

// A tensor of random FP8 (rows, columns) with a scale of its own: bytes, values, and both on the device.
struct Tensor {
  Tensor(std::int64_t rows_, std::int64_t columns_, Fp8Format format, float inverse, unsigned seed)
      : rows(rows_), columns(columns_), inverse_device(1) {
    for (const float value : normal_values<float>(rows * columns, 4.0, seed)) {
      bytes.push_back(fp8_bits(value, format));
      values.push_back(static_cast<double>(fp8_value(bytes.back(), format)) * static_cast<double>(inverse));
    }
    inverse_device.upload({inverse});
    device = on_device(bytes);
  }
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  Fp8Operand operand() const { return {device.data(), inverse_device.data()}; }

  std::int64_t rows, columns;
  std::vector<std::uint8_t> bytes;
  std::vector<double> values;
  DeviceBuffer<float> inverse_device;
  DeviceBuffer<std::uint8_t> device;
};

// b (n, k) times a (m, k)^T, and the sum of the products' magnitudes.
struct Product {
  std::vector<double> values, magnitudes;
};
Product product_of(const Tensor& b, const Tensor& a) {
  Product product;
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < a.rows; ++j) {
      double sum = 0.0, magnitude = 0.0;
      for (std::int64_t k = 0; k < b.columns; ++k) {
        const double term = b.at(i, k) * a.at(j, k);
        sum += term;
        magnitude += std::abs(term);
      }
      product.values.push_back(sum);
      product.magnitudes.push_back(magnitude);
    }
  }
  return product;
}

// Sums of the tensor cores: 13 bits of the largest term at each step of 32 at worst. A wrong operand or scale is off by
// a good part of the magnitudes.
constexpr double kSumTolerance = 0x1p-8;

template <class T>
void expect_product(const DeviceBuffer<T>& got, const std::vector<double>& expected,
                    const std::vector<double>& magnitudes, double rounding, const std::string& what) {
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<T> values = got.download();
  ASSERT_EQ(values.size(), expected.size()) << what;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(static_cast<double>(to_float(values[i])) - expected[i]);
    if (!(error <= rounding * std::abs(expected[i]) + kSumTolerance * magnitudes[i])) {
      if (wrong++ == 0) first = i;
    }
  }
  EXPECT_EQ(wrong, 0U) << what << ": of " << values.size() << ", the first at " << first << ": got "
                       << to_float(values[first]) << ", expected " << expected[first] << ", of magnitudes "
                       << magnitudes[first];
}

constexpr double kBf16Rounding = 0x1p-8;

TEST_F(MatmulFp8, ForwardWithAndWithoutBias) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for (const Size s : kSizes) {
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(std::to_string(s.n) + " " + std::to_string(s.c) + " " + std::to_string(s.oc) +
                   (fast ? " fast" : ""));
      const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 1);
      const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 2);
      const std::vector<bf16> bias = normal_values<bf16>(s.oc, 0.1, 3);
      const auto bias_device = on_device(bias);
      Product expected = product_of(inp, weight);
      auto out = poisoned<bf16>(s.n * s.oc);
      matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, fast,
                         stream.get());
      expect_product(out, expected.values, expected.magnitudes, kBf16Rounding, "without bias");
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        expected.values[i] += static_cast<double>(to_float(bias[i % bias.size()]));
      }
      matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc,
                         fast, stream.get());
      expect_product(out, expected.values, expected.magnitudes, kBf16Rounding, "with bias");
    }
  }
}

TEST_F(MatmulFp8, BackwardOfTheInput) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for (const Size s : kSizes) {
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(std::to_string(s.n) + " " + std::to_string(s.c) + " " + std::to_string(s.oc) +
                   (fast ? " fast" : ""));
      const Tensor dout(s.n, s.oc, Fp8Format::e5m2, 0x1p-24F, 4);
      const Tensor weight_transposed(s.c, s.oc, Fp8Format::e4m3, 0x1p-8F, 5);
      const Product expected = product_of(dout, weight_transposed);
      auto dinp = poisoned<bf16>(s.n * s.c);
      matmul.backward_input_fp8(dinp.data(), dout.operand(), weight_transposed.operand(), s.n, s.c, s.oc,
                                fast, stream.get());
      expect_product(dinp, expected.values, expected.magnitudes, kBf16Rounding, "dinp");
    }
  }
}

TEST_F(MatmulFp8, BackwardOfTheWeightWritesAndAdds) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for (const Size s : kSizes) {
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(std::to_string(s.n) + " " + std::to_string(s.c) + " " + std::to_string(s.oc) +
                   (fast ? " fast" : ""));
      const Tensor dout_transposed(s.oc, s.n, Fp8Format::e5m2, 0x1p-20F, 6);
      const Tensor inp_transposed(s.c, s.n, Fp8Format::e4m3, 0x1p-4F, 7);
      Product expected = product_of(dout_transposed, inp_transposed);
      auto dweight = poisoned<float>(s.oc * s.c);
      const auto run = [&](bool accumulate) {
        matmul.backward_weight_fp8(dweight.data(), dout_transposed.operand(), inp_transposed.operand(), s.n,
                                   s.c, s.oc, fast, stream.get(), accumulate);
      };
      run(false);
      expect_product(dweight, expected.values, expected.magnitudes, 1e-6, "written");
      run(true);
      for (double& value : expected.values) value *= 2;
      for (double& value : expected.magnitudes) value *= 2;
      expect_product(dweight, expected.values, expected.magnitudes, 1e-6, "added");
    }
  }
}

// One plan serves all layers: what changes between two calls must reach the second.
TEST_F(MatmulFp8, EachCallHasItsOwnScalesAndBias) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  const Size s{64, 128, 256};
  const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-6F, 9);
  for (int call = 0; call < 3; ++call) {
    const Tensor inp(s.n, s.c, Fp8Format::e4m3, std::ldexp(1.0F, -3 * call), 8);
    const std::vector<bf16> bias = normal_values<bf16>(s.oc, 1.0, 20U + static_cast<unsigned>(call));
    const auto bias_device = on_device(bias);
    Product expected = product_of(inp, weight);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      expected.values[i] += static_cast<double>(to_float(bias[i % bias.size()]));
    }
    auto out = poisoned<bf16>(s.n * s.oc);
    matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc, true,
                       stream.get());
    expect_product(out, expected.values, expected.magnitudes, kBf16Rounding, "call " + std::to_string(call));
  }
}

TEST_F(MatmulFp8, ASearchFindsARightAlgorithm) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::fast));
  const Size s{512, 256, 1024};
  const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 10);
  const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 11);
  auto out = poisoned<bf16>(s.n * s.oc);
  matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, true,
                     stream.get());
  const Product forward = product_of(inp, weight);
  expect_product(out, forward.values, forward.magnitudes, kBf16Rounding, "forward");
  const Tensor dout_transposed(s.oc, s.n, Fp8Format::e5m2, 0x1p-20F, 12);
  const Tensor inp_transposed(s.c, s.n, Fp8Format::e4m3, 0x1p-4F, 13);
  auto dweight = poisoned<float>(s.oc * s.c);
  matmul.backward_weight_fp8(dweight.data(), dout_transposed.operand(), inp_transposed.operand(), s.n, s.c,
                             s.oc, false, stream.get(), false);
  const Product backward = product_of(dout_transposed, inp_transposed);
  expect_product(dweight, backward.values, backward.magnitudes, 1e-6, "dweight");
  ASSERT_EQ(matmul.choices().size(), 2U);
  for (const MatmulChoice& choice : matmul.choices()) {
    EXPECT_EQ(choice.precision, "fp8");
    EXPECT_EQ(choice.source, "search");
    EXPECT_GT(choice.candidates, 0);
  }
}

TEST_F(MatmulFp8, SizesThatAreNoMultiplesOf16AreRefused) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  const Tensor any(64, 64, Fp8Format::e4m3, 1.0F, 14);
  DeviceBuffer<bf16> out(64 * 64);
  const auto forward = [&](std::int64_t n, std::int64_t c, std::int64_t oc) {
    matmul.forward_fp8(out.data(), any.operand(), any.operand(), nullptr, n, c, oc, true, stream.get());
  };
  EXPECT_THROW(forward(24, 16, 16), std::invalid_argument);
  EXPECT_THROW(forward(16, 8, 16), std::invalid_argument);
  EXPECT_THROW(forward(16, 16, 40), std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2
