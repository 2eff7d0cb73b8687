// Finds kernels that may wait for others: in the timeline, every run of such a kernel overlaps a kernel of
// another stream that was launched later. Run alone, as replay steps run kernels, it would never end.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ridgeline/spool/format.h"

namespace ridgeline::agent {

/// Thread-safe. Bounded: what does not fit is not looked at.
class ConcurrencyWatch {
 public:
  static constexpr std::size_t kCapacity = 1u << 15;
  static constexpr std::uint32_t kMinRuns = 2;  // one overlap may be chance

  ConcurrencyWatch() : free_(new std::atomic<bool>[kMaxKernels]()) { runs_.reserve(kCapacity); }

  /// False once finish() was called. Cheap.
  bool watching() const noexcept { return watching_.load(std::memory_order_relaxed); }
  /// A kernel of a step of the timeline; neither one of a graph, nor one that is left out by name anyway, nor
  /// one that ran while counters were collected.
  void add(const spool::KernelRecord& kernel) noexcept;
  /// Ids of kernels of which every run (at least kMinRuns) overlapped one launched later. Ends the watch.
  std::vector<std::uint32_t> finish() noexcept;

  /// Looks at what has come, and goes on watching. One thread.
  void review() noexcept;
  /// As far as was reviewed: several runs of the kernel, one in sixteen at least, overlapped nothing launched later, so
  /// that it waits for nothing.
  bool waits_for_nothing(std::uint32_t kernel_id) const noexcept {
    return kernel_id < kMaxKernels && free_[kernel_id].load(std::memory_order_relaxed);
  }
  /// Nothing more is looked at.
  void stop() noexcept { watching_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kMaxKernels = 1u << 16;
  static constexpr std::uint32_t kMinFreeRuns = 3;
  using Counts =
      std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>;  // runs, overlapped; by kernel
  struct Run {
    std::int64_t start_ns, end_ns;
    std::uint32_t correlation_id, kernel_id, stream_id, device_id;
    bool overlapped;
  };
  static void count(std::vector<Run>& runs, Counts* counts);

  std::mutex mutex_;
  std::vector<Run> runs_;
  std::atomic<bool> watching_{true};
  Counts reviewed_;  // review() only
  std::unique_ptr<std::atomic<bool>[]> free_;
};

}  // namespace ridgeline::agent
