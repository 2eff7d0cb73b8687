// The FP8 GEMMs against FP64: the same bytes widened and multiplied there, for every orientation, scale
// and way of summing.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fp8_half_step.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/parallel_parts.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/ops/fp8/fp8.h"
#include "libs_test_support.h"

namespace ridgeline::gpt2::libs_matmul_fp8_test {
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

// Every size with both ways of summing.
template <class Check>
void for_each_case(const Check& check) {
  for (const Size s : kSizes) {
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(std::to_string(s.n) + " " + std::to_string(s.c) + " " + std::to_string(s.oc) +
                   (fast ? " fast" : ""));
      check(s, fast);
    }
  }
}

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

// b (n, k) times a (m, k)^T, and the sum of the GEMMs' magnitudes.
struct Gemm {
  std::vector<double> values, magnitudes;
};
void add_bias(Gemm& gemm, const std::vector<bf16>& bias) {
  for (std::size_t i = 0; i < gemm.values.size(); ++i) {
    gemm.values[i] += static_cast<double>(to_float(bias[i % bias.size()]));
  }
}
// The GEMM may be rounded before the residual is added to it.
void add_residual(Gemm& gemm, const std::vector<bf16>& residual) {
  for (std::size_t i = 0; i < residual.size(); ++i) {
    gemm.magnitudes[i] += std::abs(gemm.values[i]);
    gemm.values[i] += static_cast<double>(to_float(residual[i]));
  }
}
Gemm product_of(const Tensor& b, const Tensor& a) {
  Gemm gemm;
  gemm.values.resize(static_cast<std::size_t>(b.rows * a.rows));
  gemm.magnitudes.resize(gemm.values.size());
  for_parts(b.rows, a.rows * b.columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t j = 0; j < a.rows; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (std::int64_t k = 0; k < b.columns; ++k) {
          const double term = b.at(i, k) * a.at(j, k);
          sum += term;
          magnitude += std::abs(term);
        }
        gemm.values[static_cast<std::size_t>(i * a.rows + j)] = sum;
        gemm.magnitudes[static_cast<std::size_t>(i * a.rows + j)] = magnitude;
      }
    }
  });
  return gemm;
}

// Sums of the tensor cores: 13 bits of the largest term at each step of 32 at worst. A wrong operand or scale is off by
// a good part of the magnitudes.
constexpr double kSumTolerance = 0x1p-8;

template <class T>
void expect_gemm(const DeviceBuffer<T>& got, const std::vector<double>& expected,
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

// Where a GEMM stores a result in FP8, poisoned, with what it finds of it.
struct Result {
  Result(std::int64_t count, Fp8Format format_, float scale_)
      : format(format_), scale(scale_), data(count), scale_device(1), amax(1) {
    RIDGELINE_CUDA_CHECK(
        cudaMemset(data.data(), 0xff, static_cast<std::size_t>(count)));  // NaN in both formats
    scale_device.upload({scale});
    amax.upload({1e30F});  // a GEMM does not add its magnitude to what is there
  }
  Fp8Result target() { return {data.data(), scale_device.data(), amax.data()}; }

  // Every byte lies within half a step, and what the sum may be off by, of the expected value times the
  // scale, saturated.
  void expect(const Gemm& expected, const std::string& what) const {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<std::uint8_t> bytes = data.download();
    ASSERT_EQ(bytes.size(), expected.values.size()) << what;
    const double largest = fp8_largest(format);
    std::size_t wrong = 0, first = 0;
    double magnitude = 0.0, error_of_it = 0.0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double slack = kSumTolerance * expected.magnitudes[i];
      const double want = std::clamp(expected.values[i] * scale, -largest, largest);
      const double error = std::abs(static_cast<double>(fp8_value(bytes[i], format)) - want);
      // The sum is off before it is rounded, by which its step may be the next larger.
      const double reach = std::min(std::abs(want) + slack * scale, largest);
      if (!(error <= fp8_half_step(reach, format) + slack * scale)) {
        if (wrong++ == 0) first = i;
      }
      magnitude = std::max(magnitude, std::abs(expected.values[i]));
      error_of_it = std::max(error_of_it, slack);
    }
    EXPECT_EQ(wrong, 0U) << what << ": of " << bytes.size() << ", the first at " << first << ": got "
                         << fp8_value(bytes[first], format) << ", expected " << expected.values[first]
                         << " times " << scale << ", of magnitudes " << expected.magnitudes[first];
    EXPECT_NEAR(static_cast<double>(amax.download().front()), magnitude, error_of_it + 1e-6 * magnitude)
        << what << ": before scaling, and of what saturates too";
  }

  Fp8Format format;
  float scale;
  DeviceBuffer<std::uint8_t> data;
  DeviceBuffer<float> scale_device, amax;
};

TEST_F(MatmulFp8, ForwardWithAndWithoutBias) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 1);
    const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 2);
    const std::vector<bf16> bias = normal_values<bf16>(s.oc, 0.1, 3);
    const auto bias_device = on_device(bias);
    Gemm expected = product_of(inp, weight);
    auto out = poisoned<bf16>(s.n * s.oc);
    matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, fast,
                       stream.get());
    expect_gemm(out, expected.values, expected.magnitudes, kBf16Rounding, "without bias");
    add_bias(expected, bias);
    matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc, fast,
                       stream.get());
    expect_gemm(out, expected.values, expected.magnitudes, kBf16Rounding, "with bias");
  });
}

TEST_F(MatmulFp8, ForwardWithAResidual) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 1);
    const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 2);
    const std::vector<bf16> bias = normal_values<bf16>(s.oc, 0.1, 3);
    const std::vector<bf16> residual = normal_values<bf16>(s.n * s.oc, 1.0, 17);
    const auto bias_device = on_device(bias);
    const auto residual_device = on_device(residual);
    for (const bool with_bias : {false, true}) {
      Gemm expected = product_of(inp, weight);
      if (with_bias) add_bias(expected, bias);
      add_residual(expected, residual);
      auto in_place = on_device(residual);
      auto out = poisoned<bf16>(s.n * s.oc);
      const auto launch = [&](bf16* to, const bf16* from) {
        matmul.forward_residual_fp8(to, from, inp.operand(), weight.operand(),
                                    with_bias ? bias_device.data() : nullptr, s.n, s.c, s.oc, fast,
                                    stream.get());
      };
      launch(out.data(), residual_device.data());
      launch(in_place.data(), in_place.data());
      const std::string what = with_bias ? "with bias" : "without bias";
      expect_gemm(out, expected.values, expected.magnitudes, kBf16Rounding, what);
      expect_gemm(in_place, expected.values, expected.magnitudes, kBf16Rounding, what + ", in place");
    }
  });
}

TEST_F(MatmulFp8, BackwardOfTheInput) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor dout(s.n, s.oc, Fp8Format::e5m2, 0x1p-24F, 4);
    const Tensor weight_transposed(s.c, s.oc, Fp8Format::e4m3, 0x1p-8F, 5);
    const Gemm expected = product_of(dout, weight_transposed);
    auto dinp = poisoned<bf16>(s.n * s.c);
    matmul.backward_input_fp8(dinp.data(), dout.operand(), weight_transposed.operand(), s.n, s.c, s.oc, fast,
                              stream.get());
    expect_gemm(dinp, expected.values, expected.magnitudes, kBf16Rounding, "dinp");
  });
}

TEST_F(MatmulFp8, BackwardOfTheWeightWritesAndAdds) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor dout_transposed(s.oc, s.n, Fp8Format::e5m2, 0x1p-20F, 6);
    const Tensor inp_transposed(s.c, s.n, Fp8Format::e4m3, 0x1p-4F, 7);
    Gemm expected = product_of(dout_transposed, inp_transposed);
    auto dweight = poisoned<float>(s.oc * s.c);
    const auto run = [&](bool accumulate) {
      matmul.backward_weight_fp8(dweight.data(), dout_transposed.operand(), inp_transposed.operand(), s.n,
                                 s.c, s.oc, fast, stream.get(), accumulate);
    };
    run(false);
    expect_gemm(dweight, expected.values, expected.magnitudes, 1e-6, "written");
    run(true);
    for (double& value : expected.values) value *= 2;
    for (double& value : expected.magnitudes) value *= 2;
    expect_gemm(dweight, expected.values, expected.magnitudes, 1e-6, "added");
  });
}

// What the format's largest value stands for, in largest magnitudes: all fit, some saturate, most are subnormal.
constexpr double kFits = 3.0, kSaturates = 0.25;
constexpr double kVanishes[] = {1e5, 1e9};  // in E4M3, in E5M2

float scale_for(const Gemm& gemm, Fp8Format format, double reach) {
  double largest = 0.0;
  for (const double value : gemm.values) largest = std::max(largest, std::abs(value));
  return fp8_scale(static_cast<float>(reach * largest), format);
}

TEST_F(MatmulFp8, ForwardStoresE4m3) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 1);
    const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 2);
    const std::vector<bf16> bias = normal_values<bf16>(s.oc, 0.1, 3);
    const auto bias_device = on_device(bias);
    Gemm expected = product_of(inp, weight);
    Result plain(s.n * s.oc, Fp8Format::e4m3, scale_for(expected, Fp8Format::e4m3, kFits));
    matmul.forward_fp8(plain.target(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, fast,
                       stream.get());
    plain.expect(expected, "without bias");
    add_bias(expected, bias);
    for (const double reach : {kFits, kSaturates, kVanishes[0]}) {
      Result out(s.n * s.oc, Fp8Format::e4m3, scale_for(expected, Fp8Format::e4m3, reach));
      matmul.forward_fp8(out.target(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc,
                         fast, stream.get());
      out.expect(expected, "with bias, reach " + std::to_string(reach));
    }
  });
}

TEST_F(MatmulFp8, BackwardOfTheInputStoresE5m2) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  for_each_case([&](const Size s, bool fast) {
    const Tensor dout(s.n, s.oc, Fp8Format::e5m2, 0x1p-24F, 4);
    const Tensor weight_transposed(s.c, s.oc, Fp8Format::e4m3, 0x1p-8F, 5);
    const Gemm expected = product_of(dout, weight_transposed);
    for (const double reach : {kFits, kSaturates, kVanishes[1]}) {
      Result dinp(s.n * s.c, Fp8Format::e5m2, scale_for(expected, Fp8Format::e5m2, reach));
      matmul.backward_input_fp8(dinp.target(), dout.operand(), weight_transposed.operand(), s.n, s.c, s.oc,
                                fast, stream.get());
      dinp.expect(expected, "dinp, reach " + std::to_string(reach));
    }
  });
}

// What went wrong in front of a GEMM must reach the loss.
TEST_F(MatmulFp8, NanStaysNanInAResultInFp8) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  const Size s{64, 128, 256};
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward ? "forward" : "backward of the input");
    const std::int64_t along = forward ? s.c : s.oc;
    const std::int64_t across = forward ? s.oc : s.c;
    const Fp8Format format = forward ? Fp8Format::e4m3 : Fp8Format::e5m2;
    Tensor rows(s.n, along, format, 0x1p-5F, 1);
    const Tensor weight(across, along, Fp8Format::e4m3, 0x1p-5F, 2);
    const std::int64_t bad = 7;
    rows.bytes[static_cast<std::size_t>(bad * along + 11)] = 0x7f;
    rows.device.upload(rows.bytes);
    Result result(s.n * across, format, 1.0F);
    if (forward) {
      matmul.forward_fp8(result.target(), rows.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, true,
                         stream.get());
    } else {
      matmul.backward_input_fp8(result.target(), rows.operand(), weight.operand(), s.n, s.c, s.oc, false,
                                stream.get());
    }
    stream.synchronize();
    const std::vector<std::uint8_t> bytes = result.data.download();
    std::size_t wrong = 0;
    for (std::int64_t i = 0; i < s.n * across; ++i) {
      const float value = fp8_value(bytes[static_cast<std::size_t>(i)], format);
      if (std::isnan(value) != (i / across == bad)) ++wrong;
    }
    EXPECT_EQ(wrong, 0U) << "of " << bytes.size();
  }
}

TEST_F(MatmulFp8, ScalesThatCublasLtWouldRefuseAreRefusedHere) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::off));
  const Tensor any(64, 64, Fp8Format::e4m3, 1.0F, 14);
  DeviceBuffer<std::uint8_t> out(64 * 64);
  DeviceBuffer<float> floats(8);
  const auto forward = [&](const float* scale, float* amax, const float* inverse) {
    matmul.forward_fp8(Fp8Result{out.data(), scale, amax}, any.operand(), {any.device.data(), inverse},
                       nullptr, 64, 64, 64, true, stream.get());
  };
  EXPECT_THROW(forward(floats.data() + 1, floats.data(), floats.data()), LibraryError);
  EXPECT_THROW(forward(floats.data(), floats.data() + 2, floats.data()), LibraryError);
  EXPECT_THROW(forward(floats.data(), floats.data(), floats.data() + 3), LibraryError);
  EXPECT_THROW(forward(nullptr, floats.data(), floats.data()), LibraryError);
  EXPECT_NO_THROW(forward(floats.data() + 4, floats.data(), floats.data() + 4));
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
    Gemm expected = product_of(inp, weight);
    add_bias(expected, bias);
    auto out = poisoned<bf16>(s.n * s.oc);
    matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc, true,
                       stream.get());
    expect_gemm(out, expected.values, expected.magnitudes, kBf16Rounding, "call " + std::to_string(call));
    Result narrow(s.n * s.oc, Fp8Format::e4m3, scale_for(expected, Fp8Format::e4m3, kFits));
    matmul.forward_fp8(narrow.target(), inp.operand(), weight.operand(), bias_device.data(), s.n, s.c, s.oc,
                       true, stream.get());
    narrow.expect(expected, "call " + std::to_string(call) + " to fp8");
  }
}

TEST_F(MatmulFp8, ASearchFindsARightAlgorithm) {
  Stream stream;
  Matmul matmul(options_of(MatmulSearch::full));
  const Size s{512, 256, 1024};
  const Tensor inp(s.n, s.c, Fp8Format::e4m3, 0x1p-5F, 10);
  const Tensor weight(s.oc, s.c, Fp8Format::e4m3, 0x1p-9F, 11);
  auto out = poisoned<bf16>(s.n * s.oc);
  matmul.forward_fp8(out.data(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, true,
                     stream.get());
  const Gemm forward = product_of(inp, weight);
  expect_gemm(out, forward.values, forward.magnitudes, kBf16Rounding, "forward");
  const Tensor dout_transposed(s.oc, s.n, Fp8Format::e5m2, 0x1p-20F, 12);
  const Tensor inp_transposed(s.c, s.n, Fp8Format::e4m3, 0x1p-4F, 13);
  auto dweight = poisoned<float>(s.oc * s.c);
  matmul.backward_weight_fp8(dweight.data(), dout_transposed.operand(), inp_transposed.operand(), s.n, s.c,
                             s.oc, false, stream.get(), false);
  const Gemm backward = product_of(dout_transposed, inp_transposed);
  expect_gemm(dweight, backward.values, backward.magnitudes, 1e-6, "dweight");
  Result narrow(s.n * s.oc, Fp8Format::e4m3, scale_for(forward, Fp8Format::e4m3, kFits));
  matmul.forward_fp8(narrow.target(), inp.operand(), weight.operand(), nullptr, s.n, s.c, s.oc, true,
                     stream.get());
  narrow.expect(forward, "forward to fp8");
  const Tensor dout(s.n, s.oc, Fp8Format::e5m2, 0x1p-20F, 15);
  const Tensor weight_transposed(s.c, s.oc, Fp8Format::e4m3, 0x1p-9F, 16);
  const Gemm dinp = product_of(dout, weight_transposed);
  Result gradient(s.n * s.c, Fp8Format::e5m2, scale_for(dinp, Fp8Format::e5m2, kFits));
  matmul.backward_input_fp8(gradient.target(), dout.operand(), weight_transposed.operand(), s.n, s.c, s.oc,
                            false, stream.get());
  gradient.expect(dinp, "dinp to fp8");
  const std::vector<bf16> residual = normal_values<bf16>(s.n * s.oc, 1.0, 17);
  const auto residual_device = on_device(residual);
  matmul.forward_residual_fp8(out.data(), residual_device.data(), inp.operand(), weight.operand(), nullptr,
                              s.n, s.c, s.oc, true, stream.get());
  Gemm sum = forward;
  add_residual(sum, residual);
  expect_gemm(out, sum.values, sum.magnitudes, kBf16Rounding, "forward with a residual");
  ASSERT_EQ(matmul.choices().size(), 5U);
  EXPECT_EQ(matmul.choices().back().epilogue, "residual");
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
}  // namespace ridgeline::gpt2::libs_matmul_fp8_test
