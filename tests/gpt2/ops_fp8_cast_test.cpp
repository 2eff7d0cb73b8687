// The kernels that cast to FP8 in both orientations against FP64: plain, GELU, its derivative with a bias
// gradient, weights.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "fp8_test_support.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu.h"

namespace ridgeline::gpt2::ops_fp8_cast_test {
namespace {

using namespace ops_test;

struct Size {
  std::int64_t rows, columns;
};
// One thread's piece; parts of warps and of blocks; whole tiles; several; the widths of 124M.
constexpr Size kSizes[] = {{16, 16}, {48, 144}, {128, 256}, {144, 272}, {400, 768}, {272, 3072}};
// FP32 rounds the value before the scale; GELU's fast exponential and reciprocal are off by a few 2^-22.
constexpr double kCastSlack = 1e-6;
constexpr double kGeluSlack = 4e-6;

class Fp8Cast : public GpuTest {};

// Sums with room for one bias gradient.
struct Sums {
  Sums(std::int64_t rows, std::int64_t columns)
      : memory(fp8_partial_sums(rows, columns) * std::int64_t{sizeof(float)}),
        sums(memory.data(), memory.size_bytes()) {}
  DeviceBuffer<std::byte> memory;
  PartialSums sums;
};

std::vector<double> column_sums(const std::vector<double>& values, std::int64_t columns, bool of_magnitudes) {
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i % static_cast<std::size_t>(columns)] += of_magnitudes ? std::abs(values[i]) : values[i];
  }
  return sums;
}

// Near its zeros the slope is a difference of numbers of about one: its error is that of 2^-21 or so, times dout.
void expect_slope_times(const Fp8Target& target, double scale, const std::vector<double>& expected,
                        const std::vector<double>& dout) {
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<std::uint8_t> bytes = target.bytes_out();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double want = expected[i] * scale;
    const double error = std::abs(static_cast<double>(fp8_value(bytes[i], Fp8Format::e5m2)) - want);
    ASSERT_LE(error,
              fp8_half_step(want, Fp8Format::e5m2) + 2e-6 * std::abs(want) + 2e-6 * std::abs(dout[i]) * scale)
        << "at " << i << ": expected " << want << ", dout " << dout[i];
  }
}

TEST_F(Fp8Cast, RoundsScaledValuesInBothOrientations) {
  Stream stream;
  for (const Size size : kSizes) {
    for (const Fp8Format format : {Fp8Format::e4m3, Fp8Format::e5m2}) {
      SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
      const auto inp = random_values<bf16>(size.rows * size.columns, 1, 3.0);
      const auto device = to_device<bf16>(inp);
      // One that fits, one that saturates, one that loses most to subnormal numbers.
      for (const float scale : {16.0F, 65536.0F, 0x1p-12F}) {
        Fp8Target target(size.rows, size.columns, format, scale);
        launch_fp8_cast(target.output(), format, nullptr, device.data(), size.rows, size.columns, nullptr,
                        stream.get());
        target.expect(inp, kCastSlack, "cast");
        EXPECT_EQ(static_cast<double>(target.amax()), largest_magnitude(inp));
      }
    }
  }
}

TEST_F(Fp8Cast, AddsUpTheColumnsOfWhatItCasts) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    const auto inp = random_values<bf16>(size.rows * size.columns, 2);
    const auto device = to_device<bf16>(inp);
    Sums sums(size.rows, size.columns);
    Fp8Target target(size.rows, size.columns, Fp8Format::e5m2, 512.0F);
    const std::vector<double> before = random_values<float>(size.columns, 3);
    auto dbias = to_device<float>(before);
    launch_fp8_cast(target.output(), Fp8Format::e5m2, dbias.data(), device.data(), size.rows, size.columns,
                    &sums.sums, stream.get());
    sums.sums.flush(stream.get());
    target.expect(inp, kCastSlack, "cast");
    std::vector<double> expected = column_sums(inp, size.columns, false);
    std::vector<double> tolerance = column_sums(inp, size.columns, true);
    for (std::size_t c = 0; c < expected.size(); ++c) {
      expected[c] += before[c];
      tolerance[c] = 1e-6 * (tolerance[c] + std::abs(before[c]));
    }
    expect_close(to_host(dbias), expected, 0.0, tolerance, "dbias");
  }
}

TEST_F(Fp8Cast, GeluIsRoundedOnce) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    const auto inp = random_values<bf16>(size.rows * size.columns, 4, 2.0);
    const auto device = to_device<bf16>(inp);
    std::vector<double> expected(inp.size());
    gelu_forward_cpu(expected.data(), inp.data(), size.rows * size.columns);
    Fp8Target target(size.rows, size.columns, Fp8Format::e4m3, 32.0F);
    launch_fp8_gelu(target.output(), device.data(), size.rows, size.columns, stream.get());
    target.expect(expected, kGeluSlack, "gelu");
    const double largest = largest_magnitude(expected);
    EXPECT_NEAR(target.amax(), largest, 4e-6 * largest);
  }
}

TEST_F(Fp8Cast, GeluBackwardMultipliesByTheSlopeAndAddsItUp) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    const std::int64_t n = size.rows * size.columns;
    const auto inp = random_values<bf16>(n, 5, 2.0);
    const auto dout = random_values<bf16>(n, 6, 1e-4);
    std::vector<double> expected(inp.size());
    gelu_backward_cpu(expected.data(), inp.data(), dout.data(), n);
    const auto inp_device = to_device<bf16>(inp);
    const auto dout_device = to_device<bf16>(dout);
    Sums sums(size.rows, size.columns);
    auto dbias = to_device<float>(std::vector<double>(static_cast<std::size_t>(size.columns)));
    Fp8Target target(size.rows, size.columns, Fp8Format::e5m2, 0x1p24F);
    launch_fp8_gelu_backward(target.output(), dbias.data(), inp_device.data(), dout_device.data(), size.rows,
                             size.columns, sums.sums, stream.get());
    sums.sums.flush(stream.get());
    expect_slope_times(target, 0x1p24, expected, dout);
    std::vector<double> tolerance = column_sums(dout, size.columns, true);
    for (double& value : tolerance) value *= 4e-6;
    expect_close(to_host(dbias), column_sums(expected, size.columns, false), 0.0, tolerance, "dbias");
    EXPECT_NEAR(target.amax(), largest_magnitude(expected), 4e-6 * largest_magnitude(dout));
  }
}

// What a GEMM left in FP8: random bytes, their values, and what it found to be the largest magnitude.
struct Product {
  Product(std::int64_t count, unsigned seed, Fp8Format format, float inverse_, float found_ = 0.0F)
      : data(count), inverse(1), found(1), amax(1) {
    std::vector<std::uint8_t> bytes;
    for (const double value : random_values<float>(count, seed, 2.0)) {
      bytes.push_back(fp8_bits(static_cast<float>(value) / inverse_, format));
      values.push_back(static_cast<double>(fp8_value(bytes.back(), format)) * static_cast<double>(inverse_));
    }
    data.upload(bytes);
    inverse.upload({inverse_});
    set_found(found_);
    amax.upload({0U});
  }
  void set_found(float value) { found.upload({value}); }
  Fp8Input input(bool fresh = true) {
    return {data.data(), inverse.data(), found.data(), fresh ? amax.data() : nullptr};
  }
  float noted() const {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    return std::bit_cast<float>(amax.download().front());
  }

  std::vector<double> values;
  DeviceBuffer<std::uint8_t> data;
  DeviceBuffer<float> inverse, found;
  DeviceBuffer<std::uint32_t> amax;
};

TEST_F(Fp8Cast, GeluOfBytes) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    const std::int64_t n = size.rows * size.columns;
    Product inp(n, 15, Fp8Format::e4m3, 0x1p-4F, 7.5F);
    std::vector<double> expected(inp.values.size());
    gelu_forward_cpu(expected.data(), inp.values.data(), n);
    Fp8Target target(size.rows, size.columns, Fp8Format::e4m3, 32.0F);
    launch_fp8_gelu(target.output(), inp.input(), size.rows, size.columns, stream.get());
    target.expect(expected, kGeluSlack, "gelu");
    const double largest = largest_magnitude(expected);
    EXPECT_NEAR(target.amax(), largest, 4e-6 * largest);
    EXPECT_EQ(inp.noted(), 7.5F) << "of the product's own word, not of the bytes";
  }
}

TEST_F(Fp8Cast, GeluBackwardOfBytes) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    const std::int64_t n = size.rows * size.columns;
    Product inp(n, 16, Fp8Format::e4m3, 0x1p-5F, 3.0F);
    Product dout(n, 17, Fp8Format::e5m2, 0x1p-12F, 11.0F);
    std::vector<double> expected(inp.values.size());
    gelu_backward_cpu(expected.data(), inp.values.data(), dout.values.data(), n);
    Sums sums(size.rows, size.columns);
    auto dbias = to_device<float>(std::vector<double>(static_cast<std::size_t>(size.columns)));
    Fp8Target target(size.rows, size.columns, Fp8Format::e5m2, 0x1p11F);
    launch_fp8_gelu_backward(target.output(), dbias.data(), inp.input(false), dout.input(), size.rows,
                             size.columns, sums.sums, stream.get());
    sums.sums.flush(stream.get());
    expect_slope_times(target, 0x1p11, expected, dout.values);
    std::vector<double> tolerance = column_sums(dout.values, size.columns, true);
    for (double& value : tolerance) value *= 4e-6;
    expect_close(to_host(dbias), column_sums(expected, size.columns, false), 0.0, tolerance, "dbias");
    EXPECT_NEAR(target.amax(), largest_magnitude(expected), 4e-6 * largest_magnitude(dout.values));
    EXPECT_EQ(inp.noted(), 0.0F);
    EXPECT_EQ(dout.noted(), 11.0F);
  }
}

// The largest of several micro-batches: a GEMM keeps only its own.
TEST_F(Fp8Cast, WhatProductsFoundIsJoined) {
  Stream stream;
  Product inp(16 * 16, 18, Fp8Format::e4m3, 1.0F);
  Fp8Target target(16, 16, Fp8Format::e4m3, 1.0F);
  const auto note = [&](float found) {
    inp.set_found(found);
    launch_fp8_gelu(target.output(), inp.input(), 16, 16, stream.get());
    return inp.noted();
  };
  EXPECT_EQ(note(0.0F), 0.0F);
  EXPECT_EQ(note(2.0F), 2.0F);
  EXPECT_EQ(note(1.5F), 2.0F);
  EXPECT_EQ(note(std::numeric_limits<float>::quiet_NaN()), 2.0F);
  EXPECT_EQ(note(96.0F), 96.0F);
}

TEST_F(Fp8Cast, NanAmongBytesStaysNan) {
  Stream stream;
  const std::int64_t n = 128 * 256;
  Product inp(n, 19, Fp8Format::e4m3, 0x1p-4F), dout(n, 20, Fp8Format::e5m2, 0x1p-12F);
  std::vector<std::uint8_t> bytes = inp.data.download();
  bytes[777] = 0x7f;
  inp.data.upload(bytes);
  Fp8Target forward(128, 256, Fp8Format::e4m3, 16.0F), backward(128, 256, Fp8Format::e5m2, 0x1p11F);
  launch_fp8_gelu(forward.output(), inp.input(), 128, 256, stream.get());
  Sums sums(128, 256);
  auto dbias = to_device<float>(std::vector<double>(256));
  launch_fp8_gelu_backward(backward.output(), dbias.data(), inp.input(), dout.input(), 128, 256, sums.sums,
                           stream.get());
  sums.sums.flush(stream.get());
  stream.synchronize();
  EXPECT_TRUE(std::isnan(fp8_value(forward.bytes_out()[777], Fp8Format::e4m3)));
  EXPECT_TRUE(std::isnan(fp8_value(backward.bytes_out()[777], Fp8Format::e5m2)));
  const std::vector<double> gradient = to_host(dbias);
  for (std::size_t c = 0; c < gradient.size(); ++c) {
    EXPECT_EQ(std::isnan(gradient[c]), c == 777 % 256) << "the gradient's norm must see it, column " << c;
  }
}

TEST_F(Fp8Cast, TransposedGradientsHaveTheSameBytes) {
  Stream stream;
  const Size size{272, 3072};
  const std::int64_t n = size.rows * size.columns;
  const auto inp = to_device<bf16>(random_values<bf16>(n, 7));
  const auto dout = to_device<bf16>(random_values<bf16>(n, 8));
  Sums sums(size.rows, size.columns);
  DeviceBuffer<float> dbias(size.columns);
  Fp8Target target(size.rows, size.columns, Fp8Format::e5m2, 256.0F);
  launch_fp8_gelu_backward(target.output(), dbias.data(), inp.data(), dout.data(), size.rows, size.columns,
                           sums.sums, stream.get());
  // Expected of the row-major bytes themselves: what is left to compare is the transposition.
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> values;
  for (const std::uint8_t byte : target.bytes_out())
    values.push_back(fp8_value(byte, Fp8Format::e5m2) / 256.0);
  target.expect(values, 0.0, "gelu backward");
}

TEST_F(Fp8Cast, BytesAreTransposedAsTheyAre) {
  Stream stream;
  for (const Size size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns));
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size.rows * size.columns));
    std::mt19937 random(13);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    DeviceBuffer<std::uint8_t> inp(size.rows * size.columns), out(size.rows * size.columns);
    inp.upload(bytes);
    launch_fp8_transpose(out.data(), inp.data(), size.rows, size.columns, stream.get());
    stream.synchronize();
    const std::vector<std::uint8_t> got = out.download();
    std::size_t wrong = 0;
    for (std::int64_t r = 0; r < size.rows; ++r) {
      for (std::int64_t c = 0; c < size.columns; ++c) {
        if (got[static_cast<std::size_t>(c * size.rows + r)] !=
            bytes[static_cast<std::size_t>(r * size.columns + c)]) {
          ++wrong;
        }
      }
    }
    EXPECT_EQ(wrong, 0U);
  }
}

TEST_F(Fp8Cast, SeveralAreTransposedInOneLaunch) {
  Stream stream;
  std::mt19937 random(21);
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, kFp8TransposesAtOnce}) {
    std::vector<DeviceBuffer<std::uint8_t>> inputs, expected, outputs;
    std::vector<Fp8Transpose> tensors;
    for (std::size_t i = 0; i < count; ++i) {
      const Size size = kSizes[(i + count) % std::size(kSizes)];
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size.rows * size.columns));
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
      for (auto* buffers : {&inputs, &expected, &outputs}) buffers->emplace_back(size.rows * size.columns);
      inputs.back().upload(bytes);
      launch_fp8_transpose(expected.back().data(), inputs.back().data(), size.rows, size.columns,
                           stream.get());
      tensors.push_back({outputs.back().data(), inputs.back().data(), size.rows, size.columns});
    }
    launch_fp8_transpose(tensors, stream.get());
    stream.synchronize();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(outputs[i].download(), expected[i].download()) << i;
  }
  const std::vector<Fp8Transpose> many(kFp8TransposesAtOnce + 1);
  EXPECT_THROW(launch_fp8_transpose(many, stream.get()), std::invalid_argument);
}

TEST_F(Fp8Cast, ATransposedTensorThatNobodyWantsIsLeftOut) {
  Stream stream;
  const auto inp = random_values<bf16>(144 * 272, 14);
  const auto device = to_device<bf16>(inp);
  Fp8Target both(144, 272, Fp8Format::e4m3, 32.0F), one(144, 272, Fp8Format::e4m3, 32.0F);
  Fp8Output output = one.output();
  output.transposed = nullptr;
  launch_fp8_cast(both.output(), Fp8Format::e4m3, nullptr, device.data(), 144, 272, nullptr, stream.get());
  launch_fp8_cast(output, Fp8Format::e4m3, nullptr, device.data(), 144, 272, nullptr, stream.get());
  stream.synchronize();
  EXPECT_EQ(one.bytes_out(), both.bytes_out());
  EXPECT_EQ(one.amax(), both.amax());
}

TEST_F(Fp8Cast, WeightsOfEveryLayerHaveTheirOwnScale) {
  Stream stream;
  const Size size{144, 272};
  const std::vector<float> scales = {256.0F, 4096.0F, 1.0F};
  const auto inp = random_values<float>(3 * size.rows * size.columns, 9, 0.5);
  const auto device = to_device<float>(inp);
  Fp8Target target(size.rows, size.columns, Fp8Format::e4m3, scales);
  launch_fp8_cast_weights(target.output(false), device.data(), 3, size.rows * size.columns, size.rows,
                          size.columns, stream.get());
  target.expect(inp, kCastSlack, "weights");
}

TEST_F(Fp8Cast, AmaxIsTheLargestOfAllLaunchesAndPassesOverNan) {
  Stream stream;
  const std::int64_t n = 128 * 256;
  std::vector<double> inp = random_values<bf16>(n, 10);
  inp[777] = std::numeric_limits<double>::quiet_NaN();
  inp[4711] = -96.0;
  const auto device = to_device<bf16>(inp);
  Fp8Target target(128, 256, Fp8Format::e4m3, 1.0F);
  launch_fp8_cast(target.output(), Fp8Format::e4m3, nullptr, device.data(), 128, 256, nullptr, stream.get());
  EXPECT_EQ(target.amax(), 96.0F);
  EXPECT_TRUE(std::isnan(fp8_value(target.bytes_out()[777], Fp8Format::e4m3)))
      << "a NaN must reach the gradient's norm";
  const auto smaller = to_device<bf16>(random_values<bf16>(n, 11));
  launch_fp8_cast(target.output(), Fp8Format::e4m3, nullptr, smaller.data(), 128, 256, nullptr, stream.get());
  EXPECT_EQ(target.amax(), 96.0F);
  Fp8Target untouched(128, 256, Fp8Format::e4m3, 1.0F);
  launch_fp8_cast(untouched.output(false), Fp8Format::e4m3, nullptr, smaller.data(), 128, 256, nullptr,
                  stream.get());
  EXPECT_EQ(untouched.amax(), 0.0F);
}

TEST_F(Fp8Cast, SizesThatCublasLtWouldRefuseAreRefusedHere) {
  Stream stream;
  const auto device = to_device<bf16>(random_values<bf16>(64 * 64, 12));
  Fp8Target target(64, 64, Fp8Format::e4m3, 1.0F);
  const auto cast = [&](std::int64_t rows, std::int64_t columns, std::int64_t offset) {
    launch_fp8_cast(target.output(), Fp8Format::e4m3, nullptr, device.data() + offset, rows, columns, nullptr,
                    stream.get());
  };
  EXPECT_THROW(cast(24, 16, 0), std::invalid_argument);
  EXPECT_THROW(cast(16, 24, 0), std::invalid_argument);
  EXPECT_THROW(cast(16, 16, 1), std::invalid_argument);
  EXPECT_NO_THROW(cast(16, 16, 8));
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_fp8_cast_test
