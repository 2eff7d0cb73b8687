// Kernels over parts of weights against their references on the host, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "fp8_test_support.h"
#include "gpt2/ops/fp8/cast_parts.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2::ops_fp8_parts_test {
namespace {

using namespace ops_test;

class Fp8PartsTest : public GpuTest {};

struct OnDevice {
  explicit OnDevice(const std::vector<Fp8Part>& parts) : memory(static_cast<std::int64_t>(parts.size())) {
    memory.upload(parts);
    all = {memory.data(), memory.size(), 0};
    for (const Fp8Part& part : parts) all.elements += part.count;
  }
  DeviceBuffer<Fp8Part> memory;
  Fp8Parts all;
};

// Parts of some tensors, each where the one before ended or beyond, which leaves gaps; sizes of one thread, of parts of
// a block, of a block, of several.
struct Scene {
  std::vector<Fp8Part> parts;
  std::int64_t values = 0;
  std::int64_t bytes = 0;
};
Scene random_scene(unsigned seed, int tensors) {
  std::mt19937 random(seed);
  Scene scene;
  for (int tensor = 0; tensor < tensors; ++tensor) {
    for (const std::int64_t fours : {1, 7, 64, 256, 257, 2048, 2049, 5000}) {
      scene.values += 4 * static_cast<std::int64_t>(random() % 5);
      scene.bytes += 4 * static_cast<std::int64_t>(random() % 5);
      append_fp8_parts(scene.parts, scene.values, scene.bytes, 4 * fours, tensor);
      scene.values += 4 * fours;
      scene.bytes += 4 * fours;
    }
  }
  return scene;
}

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

TEST_F(Fp8PartsTest, PartsAreCutToWhatABlockTakes) {
  std::vector<Fp8Part> parts;
  append_fp8_parts(parts, 100, 4, 2 * kFp8PartElements + 8, 3);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].from, 100 + kFp8PartElements);
  EXPECT_EQ(parts[2].to, 4 + 2 * kFp8PartElements);
  EXPECT_EQ(parts[2].count, 8);
  EXPECT_EQ(parts[2].tensor, 3);
}

TEST_F(Fp8PartsTest, MagnitudesAndBytesAreThoseOfTheHost) {
  Stream stream;
  constexpr int kTensors = 5;
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    const Scene scene = random_scene(seed, kTensors);
    std::vector<float> values = random_floats(scene.values, seed + 10);
    values[static_cast<std::size_t>(scene.parts.back().from)] = -3.0F;
    values[static_cast<std::size_t>(scene.parts.front().from)] = std::numeric_limits<float>::quiet_NaN();
    DeviceBuffer<float> inp(scene.values);
    inp.upload(values);
    const OnDevice parts(scene.parts);

    std::vector<float> expected(kTensors, 0.0F);
    expected[1] = 5.0F;  // from other parts
    DeviceBuffer<std::uint32_t> amax(kTensors);
    amax.upload({0, std::bit_cast<std::uint32_t>(5.0F), 0, 0, 0});
    fp8_amax_parts_cpu(expected.data(), values.data(), scene.parts);
    launch_fp8_amax_parts(amax.data(), inp.data(), parts.all, stream.get());
    stream.synchronize();
    const std::vector<std::uint32_t> found = amax.download();
    for (std::size_t t = 0; t < kTensors; ++t) EXPECT_EQ(std::bit_cast<float>(found[t]), expected[t]) << t;
    EXPECT_EQ(expected[kTensors - 1], 3.0F);

    const std::vector<float> scales = {4096.0F, 64.0F, 1.0F, 65536.0F, 128.0F};
    DeviceBuffer<float> scale(kTensors);
    scale.upload(scales);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(scene.bytes), 0x5a);
    DeviceBuffer<std::uint8_t> out(scene.bytes);
    out.upload(bytes);
    fp8_cast_parts_cpu(bytes.data(), values.data(), scales.data(), scene.parts);
    launch_fp8_cast_parts(out.data(), inp.data(), scale.data(), parts.all, stream.get());
    stream.synchronize();
    EXPECT_EQ(out.download(), bytes) << "gaps stay as they are";
  }
}

// What one process casts with the kernel that writes both orientations.
TEST_F(Fp8PartsTest, TwoRanksCastTheBytesOfOneProcess) {
  Stream stream;
  constexpr std::int64_t kRows = 144, kColumns = 272, kTensors = 2, kCount = kRows * kColumns;
  const std::vector<float> values = random_floats(kTensors * kCount, 5);
  DeviceBuffer<float> inp(kTensors * kCount);
  inp.upload(values);
  Fp8Target whole(kRows, kColumns, Fp8Format::e4m3, std::vector<float>{4096.0F, 2048.0F});
  launch_fp8_cast_weights(whole.output(false), inp.data(), kTensors, kCount, kRows, kColumns, stream.get());
  DeviceBuffer<std::uint8_t> out(kTensors * kCount);
  constexpr std::int64_t kEdge = kCount + 1000;  // within the second tensor
  std::vector<Fp8Part> first, second;
  append_fp8_parts(first, 0, 0, kCount, 0);
  append_fp8_parts(first, kCount, kCount, kEdge - kCount, 1);
  append_fp8_parts(second, kEdge, kEdge, kTensors * kCount - kEdge, 1);
  const OnDevice one(first), other(second);
  const float* scales = whole.output(false).scale.scale;
  launch_fp8_cast_parts(out.data(), inp.data(), scales, one.all, stream.get());
  launch_fp8_cast_parts(out.data(), inp.data(), scales, other.all, stream.get());
  stream.synchronize();
  EXPECT_EQ(out.download(), whole.bytes_out());
}

TEST_F(Fp8PartsTest, NothingIsNoFault) {
  Stream stream;
  launch_fp8_amax_parts(nullptr, nullptr, {}, stream.get());
  launch_fp8_cast_parts(nullptr, nullptr, nullptr, {}, stream.get());
  stream.synchronize();
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_fp8_parts_test
