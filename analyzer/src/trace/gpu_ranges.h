// gpu_ranges.h: NVTX ranges projected onto the GPU: of each instance the time in which what it launched ran.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/trace/event_row.h"
#include "ridgeline/analyzer/trace/range_links.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// A line's events in lanes: what overlaps in one is in the next.
struct Lane {
  EventRow events;
  RangeLinks links;  ///< of ranges: to the other side
};
/// One at least, at most so many; what overlaps in the last is cut.
[[nodiscard]] std::vector<Lane> in_lanes(EventRow&& events, int most);

/// Lifecycle: 1. add() all lines of ranges 2. include() the launches, in any order; fast where their calls follow each
/// other 3. project() each depth once.
class GpuRanges {
 public:
  /// The ranges of one thread at one depth.
  class Depth {
   public:
    explicit Depth(std::vector<Lane>& on_host);
    void include(std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns);
    /// An event for each that launched something, linked with its range; empty: none did. What was kept for it goes.
    [[nodiscard]] std::vector<Lane> project();

   private:
    struct Row {
      Lane* on_host = nullptr;
      std::vector<TimeWindow> on_gpu;  // of each event; ends before it starts: it launched nothing
      std::size_t last = 0;            // in which the last call was
    };
    struct Place {
      std::uint32_t row = 0, event = 0;
    };
    static void include(Row& row, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns);
    [[nodiscard]] const TimeWindow& on_gpu(const Place& place) const {
      return rows_[place.row].on_gpu[place.event];
    }
    void link(const std::vector<Place>& order, std::vector<Lane>& lanes);
    std::vector<Row> rows_;
  };
  using Thread = std::map<int, Depth>;
  using Threads = std::map<std::pair<store::Id, std::int64_t>, Thread>;

  /// The lanes stay where they are until they are projected.
  void add(store::Id process_id, std::int64_t thread_id, int depth, std::vector<Lane>& on_host);
  /// Of the ranges that a thread opened; null: none.
  [[nodiscard]] Thread* thread(store::Id process_id, std::int64_t thread_id);
  static void include(Thread& thread, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns);
  [[nodiscard]] Threads& threads() { return threads_; }

 private:
  Threads threads_;
};

}  // namespace ridgeline::analyzer
