// gpu_ranges.h: NVTX ranges projected onto the GPU: of each instance the time in which what it launched ran.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/trace/timeline.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// Lifecycle: 1. add() all ranges 2. finish() 3. include() the launches, in any order; fast where their calls follow
/// each other 4. threads().
class GpuRanges {
 public:
  /// The ranges of one thread at one depth.
  class Depth {
   public:
    void add(const TimeWindow& calls, std::uint32_t name);
    void finish();
    void include(std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns);
    /// Adds an event for each that launched something; returns these.
    [[nodiscard]] std::shared_ptr<const std::vector<RangeInstance>> project(EventRow& row) const;

   private:
    struct Range {
      RangeInstance instance;
      std::uint32_t name = 0;
    };
    static void widen(Range& range, std::int64_t start_ns, std::int64_t end_ns);
    std::vector<Range> ranges_;  // by their start on the host
    bool overlaps_ = false;      // ranges that need not nest: several may be open
    std::size_t last_ = 0;       // in which the last call was
  };
  using Thread = std::map<int, Depth>;

  void add(const store::NvtxRange& range, std::uint32_t name);
  void finish();
  /// Of the ranges that a thread opened; null: none.
  [[nodiscard]] Thread* thread(store::Id process_id, std::int64_t thread_id);
  static void include(Thread& thread, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns);
  using Threads = std::map<std::pair<store::Id, std::int64_t>, Thread>;
  [[nodiscard]] const Threads& threads() const { return threads_; }

 private:
  Threads threads_;
};

}  // namespace ridgeline::analyzer
