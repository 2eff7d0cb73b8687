// The bias kernel, packed and scalar, against its reference.
#include "gpt2/ops/bias/add_bias.h"
#include "gpt2/ops/elementwise/fill.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_add_bias_test {
namespace {

using namespace ops_test;

struct Shape {
  std::int64_t rows;
  int channels;
};
// One row or channel; channels that no vector divides; around a block's 32 vectors of 4 or 8; around the 32
// rows that a block takes at once; GPT-2's.
const std::vector<Shape> kShapes = {{1, 1},    {1, 8},     {7, 13},    {31, 128},  {32, 256},
                                    {33, 264}, {257, 136}, {65, 2304}, {1031, 97}, {1000, 3072}};

template <typename T>
class AddBias : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(AddBias, ElementTypes);

TYPED_TEST(AddBias, MatchesReference) {
  const Stream stream;
  for (const Shape& s : kShapes) {
    for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
      const std::string what = "N=" + std::to_string(s.rows) + " OC=" + std::to_string(s.channels) + " " +
                               std::string(name_of(width));
      auto x = random_values<TypeParam>(s.rows * s.channels, 1);
      const auto bias = random_values<TypeParam>(s.channels, 2);
      auto out = to_device<TypeParam>(x);
      const auto device_bias = to_device<TypeParam>(bias);
      add_bias_cpu(x.data(), bias.data(), s.rows, s.channels);
      launch_add_bias(out.data(), device_bias.data(), s.rows, s.channels, width, stream.get());
      expect_close(to_host(out), x, epsilon<TypeParam>() / 2, 0.0, what);
    }
  }
}

TYPED_TEST(AddBias, UnalignedPointersWork) {
  const Stream stream;
  const std::int64_t rows = 5;
  const int channels = 64;
  auto x = random_values<TypeParam>(rows * channels + 1, 3);
  const auto bias = random_values<TypeParam>(channels, 4);
  auto out = to_device<TypeParam>(x);
  const auto device_bias = to_device<TypeParam>(bias);
  add_bias_cpu(x.data() + 1, bias.data(), rows, channels);
  launch_add_bias(out.data() + 1, device_bias.data(), rows, channels, KernelWidth::packed, stream.get());
  expect_close(to_host(out), x, epsilon<TypeParam>() / 2, 0.0, "shifted by one");
}

// More rows than the grid's second dimension holds at once, and more elements than 32 bits count. 9 GB.
TEST_F(GpuTest, AddBiasReachesBeyondTwoToTheThirtyTwoElements) {
  const Stream stream;
  std::size_t free_bytes = 0, total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (free_bytes < (std::size_t{12} << 30)) GTEST_SKIP() << "needs 12 GiB of free device memory";
  const int channels = 1024;
  const std::int64_t rows = (std::int64_t{1} << 32) / channels + 3;
  DeviceBuffer<bf16> out(rows * channels), bias(channels);
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    launch_fill(out.data(), 0.5F, out.size(), stream.get());
    launch_fill(bias.data(), 1.0F, channels, stream.get());
    launch_add_bias(out.data(), bias.data(), rows, channels, width, stream.get());
    stream.synchronize();
    for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
      std::vector<bf16> got(static_cast<std::size_t>(channels));
      RIDGELINE_CUDA_CHECK(cudaMemcpy(got.data(), out.data() + row * channels, got.size() * sizeof(bf16),
                                      cudaMemcpyDeviceToHost));
      for (const bf16 value : got) ASSERT_EQ(to_float(value), 1.5F) << name_of(width) << " row " << row;
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_add_bias_test
