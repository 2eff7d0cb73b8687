// partial_sums.h: column sums whose last additions wait, so that those of many kernels share one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace ridgeline::gpt2 {

/// target[c] += sum over b of partials[b * stride + c], for c < columns.
struct PartialSum {
  float* target;
  const float* partials;
  std::int64_t stride;
  int blocks;
  int columns;
};

template <typename Real>
void add_partials_cpu(Real* target, const Real* partials, int blocks, std::int64_t stride, int columns);

constexpr std::int64_t partial_sum_bytes(std::int64_t blocks, std::int64_t columns) {
  return (blocks + 2) * columns * std::int64_t{sizeof(float)};
}
constexpr std::int64_t partial_sum_flops(std::int64_t blocks, std::int64_t columns) {
  return blocks * columns;
}

/// A kernel that sums over more rows than one block can walk leaves a row of partial sums for each block.
/// Their addition is a launch of a few microseconds with little to do; put off to the end of the backward
/// pass, all of them are one launch.
///
/// Lifecycle: 1 construct over device memory; 2 for each kernel: reserve, launch it, add; 3 flush before
/// anybody reads the targets. All on one stream, from one thread. Additions run in the order of the blocks
/// within fixed slices of them, so results do not change from run to run on one device.
class PartialSums {
 public:
  static constexpr int kMaxPending = 96;

  /// The memory must outlive the last flush.
  PartialSums(void* device_memory, std::int64_t bytes);
  PartialSums(const PartialSums&) = delete;
  PartialSums& operator=(const PartialSums&) = delete;

  /// Room for `count` floats, 16-byte aligned, until the next flush, and for up to `sums` calls of add.
  /// Flushes first if either is short. Throws std::invalid_argument if the memory could never hold that many.
  float* reserve(std::int64_t count, int sums, cudaStream_t stream);
  void add(const PartialSum& sum) { pending_.push_back(sum); }
  void flush(cudaStream_t stream);

 private:
  float* memory_;
  std::int64_t capacity_;  // floats
  std::int64_t used_ = 0;
  std::vector<PartialSum> pending_;
};

}  // namespace ridgeline::gpt2
