// caches.h: reads of working sets that fit into L2, into L1, into shared memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ceilings/core/machine_file.h"
#include "ceilings/device/bench.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

class CacheReads {
 public:
  /// Takes `max_bytes` of device memory and fills them.
  CacheReads(const DeviceFacts& device, std::int64_t max_bytes, cudaStream_t stream);

  /// All SMs read the same `bytes` past L1, again and again; a multiple of 64 KiB.
  [[nodiscard]] Bench l2(std::int64_t bytes);
  /// Each SM reads `bytes` of its own through L1, again and again; a multiple of 16 KiB, for all SMs together
  /// no more than was taken.
  [[nodiscard]] Bench l1(std::int64_t bytes);
  /// Each SM reads 32 KiB of its shared memory again and again, without bank conflicts.
  [[nodiscard]] Bench shared();

 private:
  /// Launches once and holds each block's sum against what is expected of it, where something is. What is wrong; "":
  /// nothing.
  [[nodiscard]] std::string wrong_sums(
      const std::function<void(cudaStream_t)>& launch, const std::string& where,
      const std::function<std::optional<std::uint32_t>(std::int64_t block)>& expected);

  const DeviceFacts& device_;
  cudaStream_t stream_;
  gpt2::DeviceBuffer<uint4> data_;
  gpt2::DeviceBuffer<std::uint32_t> sums_;
};

/// Rates over working sets, `per_octave` to a doubling.
[[nodiscard]] Sweep sweep_l2(CacheReads& caches, std::int64_t max_bytes, int per_octave,
                             const std::function<double(const Bench&)>& rate);
[[nodiscard]] Sweep sweep_l1(CacheReads& caches, int per_octave,
                             const std::function<double(const Bench&)>& rate);

}  // namespace ridgeline::ceilings
