// dram.h: streams through device memory with different shares of reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ceilings/core/machine_file.h"
#include "ceilings/device/bench.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

/// What is moved: read a sum; write out; copy out = a; triad out = a + s·b; three_to_one out = a + b + c.
enum class Mix : std::uint8_t { read, write, copy, triad, three_to_one };

inline constexpr Mix kMixes[] = {Mix::read, Mix::write, Mix::copy, Mix::triad, Mix::three_to_one};
[[nodiscard]] const char* to_string(Mix mix);  // "read", …, "3:1"
/// Arrays read and written, of one size.
[[nodiscard]] constexpr int arrays_read(Mix mix) {
  return mix == Mix::read || mix == Mix::copy ? 1 : mix == Mix::write ? 0 : mix == Mix::triad ? 2 : 3;
}
[[nodiscard]] constexpr int arrays_written(Mix mix) {
  return mix == Mix::read ? 0 : 1;
}

/// How a stream is gone through.
struct StreamConfiguration {
  unsigned threads = 256;
  int unroll = 4;         // loads of 16 bytes under way in each thread, of each array
  int blocks_per_sm = 0;  // that go through it in turns; 0: a block for each tile
};

class Streams {
 public:
  /// Takes four arrays of a power of two of bytes each, 1 GiB or what half the free memory allows, and fills them.
  /// `resident_bytes`: 0, or a fault to plant: the kernels keep to so many bytes of each array, so that L2 serves them.
  Streams(const DeviceFacts& device, std::int64_t resident_bytes, cudaStream_t stream);

  /// With the best configuration by `rate`, which times a benchmark.
  [[nodiscard]] Bench best(Mix mix, const std::function<double(const Bench&)>& rate);
  [[nodiscard]] Bench bench(Mix mix, const StreamConfiguration& configuration);
  [[nodiscard]] std::int64_t array_bytes() const { return vectors_ * 16; }

 private:
  [[nodiscard]] std::string check(Mix mix) const;

  const DeviceFacts& device_;
  std::int64_t vectors_ = 0;  // of 16 bytes in an array
  std::int64_t mask_ = 0;     // of a vector's index
  cudaStream_t stream_;
  std::vector<gpt2::DeviceBuffer<uint4>> arrays_;  // a, b, c, out
  gpt2::DeviceBuffer<std::uint32_t> sums_;
};

}  // namespace ridgeline::ceilings
