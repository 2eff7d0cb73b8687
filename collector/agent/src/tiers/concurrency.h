// Finds kernels that may wait for others: in the timeline, every run of such a kernel overlaps a kernel of
// another stream that was launched later. Run alone, as replay steps run kernels, it would never end.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "ridgeline/spool/format.h"

namespace ridgeline::agent {

/// Thread-safe. Bounded: what does not fit is not looked at.
class ConcurrencyWatch {
 public:
  static constexpr std::size_t kCapacity = 1u << 15;
  static constexpr std::uint32_t kLeastRuns = 2;  // one overlap may be chance

  ConcurrencyWatch() { runs_.reserve(kCapacity); }

  /// False once finish() was called. Cheap.
  bool watching() const noexcept { return watching_.load(std::memory_order_relaxed); }
  /// A kernel of a step of the timeline; neither one of a graph, nor one that is left out by name anyway, nor
  /// one that ran while counters were collected.
  void add(const spool::KernelRecord& kernel) noexcept;
  /// Ids of kernels of which every run (at least kLeastRuns) overlapped one launched later. Ends the watch.
  std::vector<std::uint32_t> finish() noexcept;

 private:
  struct Run {
    std::int64_t start_ns, end_ns;
    std::uint32_t correlation_id, kernel_id, stream_id, device_id;
    bool overlapped;
  };
  std::mutex mutex_;
  std::vector<Run> runs_;
  std::atomic<bool> watching_{true};
};

}  // namespace ridgeline::agent
