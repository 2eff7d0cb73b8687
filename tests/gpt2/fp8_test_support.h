// fp8_test_support.h: what the tests of FP8 kernels share: the tensor on the device with its scale, and comparison with
// values before rounding.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fp8_half_step.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_test {

/// A tensor that a kernel is to write, poisoned, with a scale and an amax of its own.
class Fp8Target {
 public:
  Fp8Target(std::int64_t rows, std::int64_t columns, Fp8Format format, std::vector<float> scales)
      : rows_(rows),
        columns_(columns),
        format_(format),
        scales_(std::move(scales)),
        out_(bytes()),
        transposed_(bytes()),
        scale_(static_cast<std::int64_t>(scales_.size())),
        amax_(1) {
    RIDGELINE_CUDA_CHECK(cudaMemset(out_.data(), 0x5a, static_cast<std::size_t>(bytes())));
    RIDGELINE_CUDA_CHECK(cudaMemset(transposed_.data(), 0xa5, static_cast<std::size_t>(bytes())));
    RIDGELINE_CUDA_CHECK(cudaMemset(amax_.data(), 0, sizeof(std::uint32_t)));
    scale_.upload(scales_);
  }
  Fp8Target(std::int64_t rows, std::int64_t columns, Fp8Format format, float scale)
      : Fp8Target(rows, columns, format, std::vector<float>{scale}) {}

  Fp8Output output(bool with_amax = true) {
    return {out_.data(), transposed_.data(), {scale_.data(), with_amax ? amax_.data() : nullptr}};
  }

  /// Bytes as they lie.
  std::vector<std::uint8_t> bytes_out() const { return out_.download(); }
  float amax() const {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    return std::bit_cast<float>(amax_.download().front());
  }

  /// Every value lies within half a step of its format of the expected one times the scale, and `slack` times
  /// that, saturated; the transposed tensor has the same bytes.
  void expect(const std::vector<double>& expected, double slack, const std::string& what) const {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<std::uint8_t> out = out_.download();
    const std::vector<std::uint8_t> transposed = transposed_.download();
    ASSERT_EQ(out.size(), expected.size()) << what;
    const auto per_tensor = static_cast<std::size_t>(rows_ * columns_);
    const double largest = fp8_largest(format_);
    std::size_t wrong = 0, turned_wrong = 0, first_wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t tensor = i / per_tensor;
      const auto row = static_cast<std::int64_t>(i % per_tensor) / columns_;
      const std::int64_t column = static_cast<std::int64_t>(i % per_tensor) % columns_;
      const double want = std::clamp(expected[i] * static_cast<double>(scales_[tensor]), -largest, largest);
      const auto got = static_cast<double>(fp8_value(out[i], format_));
      if (!(std::abs(got - want) <= fp8_half_step(want, format_) + slack * std::abs(want) + 1e-30)) {
        if (wrong++ == 0) first_wrong = i;
      }
      const std::size_t there = tensor * per_tensor + static_cast<std::size_t>(column * rows_ + row);
      if (transposed[there] != out[i]) ++turned_wrong;
    }
    EXPECT_EQ(wrong, 0U) << what << ": of " << out.size() << ", the first at " << first_wrong << ": got "
                         << fp8_value(out[first_wrong], format_) << ", before scaling "
                         << expected[first_wrong];
    EXPECT_EQ(turned_wrong, 0U) << what << ": bytes of the transposed tensor, of " << out.size();
  }

 private:
  std::int64_t bytes() const { return rows_ * columns_ * static_cast<std::int64_t>(scales_.size()); }

  std::int64_t rows_;
  std::int64_t columns_;
  Fp8Format format_;
  std::vector<float> scales_;
  DeviceBuffer<std::uint8_t> out_, transposed_;
  DeviceBuffer<float> scale_;
  DeviceBuffer<std::uint32_t> amax_;
};

inline double largest_magnitude(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace ridgeline::gpt2::ops_test
