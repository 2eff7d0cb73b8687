// libs_test_support.h: what the tests of the library wrappers share: whether a GPU is there, inputs,
// comparison.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2::testing_support {

/// Skips without a device, unless RIDGELINE_REQUIRE_GPU=1.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const bool present = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    if (present) return;
    cudaGetLastError();
    const char* required = std::getenv("RIDGELINE_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") {
      FAIL() << "RIDGELINE_REQUIRE_GPU=1 and no CUDA device";
    }
    GTEST_SKIP() << "no CUDA device";
  }
};

/// Normal values that T holds exactly, so that a double reference sees the same inputs.
template <class T>
std::vector<T> normal_values(std::int64_t n, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0F, static_cast<float>(scale));
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& value : values) value = from_float<T>(distribution(generator));
  return values;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const T& value : values) result.push_back(static_cast<double>(to_float(value)));
  return result;
}

template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& values) {
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(values.size()));
  buffer.upload(values);
  return buffer;
}

/// NaN everywhere: what a kernel leaves unwritten is seen.
template <class T>
DeviceBuffer<T> poisoned(std::int64_t n) {
  return on_device(
      std::vector<T>(static_cast<std::size_t>(n), from_float<T>(std::numeric_limits<float>::quiet_NaN())));
}

/// Every |got - expected| <= relative * magnitude + absolute; anything not finite fails. magnitude:
/// |expected|, unless given, for results whose parts may cancel and are rounded before they are added.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& expected, double relative,
                  double absolute, const std::string& what, const std::vector<double>& magnitude = {}) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  std::size_t wrong = 0;
  double worst = 0.0;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(to_float(got[i]));
    const double size = magnitude.empty() ? std::abs(expected[i]) : magnitude[i];
    const double excess = std::abs(value - expected[i]) / (relative * size + absolute);
    if (std::isfinite(value) && excess <= 1.0) continue;
    ++wrong;
    if (!std::isfinite(value) || excess > worst) {
      worst = std::isfinite(value) ? excess : std::numeric_limits<double>::infinity();
      worst_at = i;
    }
  }
  EXPECT_EQ(wrong, 0U) << what << ": " << wrong << " of " << got.size() << " wrong, worst at " << worst_at
                       << ": got " << static_cast<double>(to_float(got[worst_at])) << ", expected "
                       << expected[worst_at] << ", " << worst << " times the tolerance";
}

}  // namespace ridgeline::gpt2::testing_support
