// Cold caches: what lies in the L2 cache is pushed out before a kernel is measured, as Nsight Compute does by
// default.
//
// Copies read through a buffer of several times the cache, chunk by chunk, into one small chunk: what is left
// in the cache is clean but for that chunk, so that the kernel measured next is not charged with writing back
// lines of ours (a plain fill of such a buffer added up to 5 MB of DRAM writes to a kernel on an H200).
// Copies are no kernels: CUPTI's automatic ranges do not count them. The L1 caches start empty at every
// kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cupti/driver_api.h"

namespace ridgeline::agent {

/// Used by one thread at a time, with the context current.
class Eviction {
 public:
  /// No size that a program would copy: records of these copies are told apart by it.
  static constexpr std::size_t kChunkBytes = (std::size_t{1} << 20) - 3 * 128;
  static constexpr std::size_t kCacheSizes = 4;  // read through at each eviction

  explicit Eviction(const DriverApi& driver) noexcept : driver_(driver) {}

  /// Takes device memory; false with the reason if there is none.
  bool prepare(std::string* why) noexcept;
  bool ready() const noexcept { return chunks_ > 0; }
  /// Queues the copies on `stream`, before what the caller launches there next.
  bool evict(CUstream stream) noexcept;
  /// Gives the memory back.
  void release() noexcept;
  /// The context is gone, and the memory with it.
  void forget() noexcept { buffer_ = sink_ = 0, chunks_ = 0; }

 private:
  const DriverApi& driver_;
  CUdeviceptr buffer_ = 0, sink_ = 0;
  std::size_t chunks_ = 0;
};

}  // namespace ridgeline::agent
