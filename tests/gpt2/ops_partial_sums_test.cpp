// Column sums that wait for one launch, against the reference.
#include <stdexcept>

#include "gpt2/ops/bias/partial_sums.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_partial_sums_test {
namespace {

using namespace ops_test;

struct Shape {
  int blocks;
  int columns;
};
// Around the kernel's 32 columns and 32 slices; sums of different widths in one launch; a full H200's.
const std::vector<Shape> kShapes = {{1, 1},   {31, 31},   {32, 32},   {33, 33},   {7, 65},
                                    {264, 9}, {132, 768}, {29, 2304}, {997, 257}, {3, 6400}};

// The targets' values afterwards, one sum after the other.
std::vector<float> add_all(std::int64_t memory_floats, const std::vector<std::vector<double>>& rows,
                           const std::vector<double>& before) {
  const Stream stream;
  DeviceBuffer<float> memory(memory_floats);
  PartialSums sums(memory.data(), memory.size_bytes());
  auto targets = to_device<float>(before);
  std::vector<DeviceBuffer<float>> sources;
  std::int64_t column = 0;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const Shape& s = kShapes[i];
    sources.push_back(to_device<float>(rows[i]));
    const std::int64_t count = std::int64_t{s.blocks} * s.columns;
    float* room = sums.reserve(count, 1, stream.get());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % 16, 0U);
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(room, sources.back().data(),
                                         static_cast<std::size_t>(count) * sizeof(float),
                                         cudaMemcpyDeviceToDevice, stream.get()));
    sums.add({targets.data() + column, room, s.columns, s.blocks, s.columns});
    column += s.columns;
  }
  sums.flush(stream.get());
  sums.flush(stream.get());  // nothing waits any more
  stream.synchronize();
  return targets.download();
}

TEST_F(GpuTest, PartialSumsMatchReferenceHoweverTheyAreFlushed) {
  std::int64_t columns = 0;
  std::int64_t floats = 0;
  std::vector<std::vector<double>> rows;
  for (const Shape& s : kShapes) {
    rows.push_back(random_values<float>(std::int64_t{s.blocks} * s.columns, 31 + s.columns));
    columns += s.columns;
    floats += (std::int64_t{s.blocks} * s.columns + 3) / 4 * 4;
  }
  const auto before = random_values<float>(columns, 7);
  auto expected = before;
  std::vector<double> tolerance;
  std::int64_t column = 0;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const Shape& s = kShapes[i];
    add_partials_cpu(expected.data() + column, rows[i].data(), s.blocks, s.columns, s.columns);
    for (int c = 0; c < s.columns; ++c) {
      double magnitude = std::abs(before[static_cast<std::size_t>(column + c)]);
      for (int b = 0; b < s.blocks; ++b) {
        magnitude += std::abs(rows[i][static_cast<std::size_t>(b) * static_cast<std::size_t>(s.columns) +
                                      static_cast<std::size_t>(c)]);
      }
      tolerance.push_back(1e-6 * magnitude);
    }
    column += s.columns;
  }
  const auto together = add_all(floats, rows, before);
  expect_close({together.begin(), together.end()}, expected, 0.0, tolerance, "one launch");
  // Memory for the largest alone: most reservations flush what was there before.
  EXPECT_EQ(add_all(997 * 257 + 3, rows, before), together);
}

TEST_F(GpuTest, PartialSumsFlushWhenTheListIsFull) {
  const Stream stream;
  constexpr int kSums = 2 * PartialSums::kMaxPending + 5;
  DeviceBuffer<float> memory(4 * kSums);
  PartialSums sums(memory.data(), memory.size_bytes());
  auto targets = to_device<float>(std::vector<double>(kSums, 1.0));
  const auto two = to_device<float>({2.0});
  for (int i = 0; i < kSums; ++i) {
    float* room = sums.reserve(1, 1, stream.get());
    RIDGELINE_CUDA_CHECK(
        cudaMemcpyAsync(room, two.data(), sizeof(float), cudaMemcpyDeviceToDevice, stream.get()));
    sums.add({targets.data() + i, room, 1, 1, 1});
  }
  sums.flush(stream.get());
  stream.synchronize();
  EXPECT_EQ(targets.download(), std::vector<float>(kSums, 3.0F));
}

TEST_F(GpuTest, PartialSumsRefuseWhatCanNeverFit) {
  DeviceBuffer<float> memory(64);
  PartialSums sums(memory.data(), memory.size_bytes());
  EXPECT_THROW(sums.reserve(65, 1, nullptr), std::invalid_argument);
  EXPECT_THROW(sums.reserve(1, PartialSums::kMaxPending + 1, nullptr), std::invalid_argument);
  EXPECT_NO_THROW(sums.reserve(64, PartialSums::kMaxPending, nullptr));
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_partial_sums_test
