// ops_test_support.h: what the tests of the trainer's own kernels share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2::ops_test {

/// Skips where there is no CUDA device, unless RIDGELINE_REQUIRE_GPU=1 says there must be one.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;
    (void)cudaGetLastError();
    const char* required = std::getenv("RIDGELINE_REQUIRE_GPU");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1")
        << "RIDGELINE_REQUIRE_GPU=1, but there is no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }
};

template <typename T>
class TypedGpuTest : public GpuTest {};
using ElementTypes = ::testing::Types<float, bf16>;

/// Relative spacing of T just above 1.
template <typename T>
constexpr double epsilon() {
  return sizeof(T) == sizeof(float) ? 0x1p-23 : 0x1p-7;
}

/// Normal values that T holds exactly, as doubles, so that the reference sees what the kernel sees.
template <typename T>
std::vector<double> random_values(std::int64_t n, unsigned seed, double scale = 1.0) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0F, static_cast<float>(scale));
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = static_cast<double>(to_float(from_float<T>(distribution(generator))));
  return values;
}

template <typename T>
DeviceBuffer<T> to_device(const std::vector<double>& values) {
  std::vector<T> host;
  host.reserve(values.size());
  for (const double value : values) host.push_back(from_float<T>(static_cast<float>(value)));
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(values.size()));
  buffer.upload(host);
  return buffer;
}
inline DeviceBuffer<std::int32_t> to_device(const std::vector<std::int32_t>& values) {
  DeviceBuffer<std::int32_t> buffer(static_cast<std::int64_t>(values.size()));
  buffer.upload(values);
  return buffer;
}

/// NaN in every element: what a kernel fails to write shows.
template <typename T>
DeviceBuffer<T> poisoned(std::int64_t n) {
  DeviceBuffer<T> buffer(n);
  RIDGELINE_CUDA_CHECK(cudaMemset(buffer.data(), 0xff, static_cast<std::size_t>(buffer.size_bytes())));
  // The tests' streams do not wait for the default stream.
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  return buffer;
}

template <typename T>
std::vector<double> to_host(const DeviceBuffer<T>& buffer) {
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> values;
  for (const T value : buffer.download()) values.push_back(static_cast<double>(to_float(value)));
  return values;
}

/// Every |got - expected| <= relative*|expected| + absolute, where absolute is one number or one a value.
/// A value that is finite on one side only fails; so does NaN on one side.
inline void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double relative,
                         const std::vector<double>& absolute, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  std::size_t wrong = 0;
  std::size_t worst_at = 0;
  double worst = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double excess = 0.0;
    if (std::isfinite(got[i]) && std::isfinite(expected[i])) {
      const double tolerance =
          relative * std::abs(expected[i]) + (absolute.size() == 1 ? absolute[0] : absolute[i]);
      const double error = std::abs(got[i] - expected[i]);
      excess = error == 0.0 ? 0.0 : error / tolerance;
    } else if (!(std::isnan(got[i]) && std::isnan(expected[i])) && got[i] != expected[i]) {
      excess = std::numeric_limits<double>::infinity();
    }
    if (excess <= 1.0) continue;
    ++wrong;
    if (excess > worst) {
      worst = excess;
      worst_at = i;
    }
  }
  EXPECT_EQ(wrong, 0U) << what << ": " << wrong << " of " << got.size() << " wrong; worst at " << worst_at
                       << ": got " << got[worst_at] << ", expected " << expected[worst_at] << ", " << worst
                       << " times the tolerance";
}
inline void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double relative,
                         double absolute, const std::string& what) {
  expect_close(got, expected, relative, std::vector<double>{absolute}, what);
}

/// ||got - expected|| / ||expected||; infinite if anything got is not finite.
inline double relative_norm_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm == 0.0 ? std::sqrt(error) : std::sqrt(error / norm);
}

}  // namespace ridgeline::gpt2::ops_test
