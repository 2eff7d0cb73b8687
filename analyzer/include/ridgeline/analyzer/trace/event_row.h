// event_row.h: the events of one line of the timeline, 12 bytes each, and a pyramid over them, so that any stretch of
// time is summed up in as many bins as there are pixels, whatever it holds.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

/// A pixel's worth of a line.
struct EventBin {
  float busy = 0;             ///< share of its time in which an event ran, 0 to 1
  std::uint32_t count = 0;    ///< events that begin in it
  std::uint32_t longest = 0;  ///< index of the longest event that touches it; kNone: none does
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
};

/// What a stretch of a line holds.
struct EventSum {
  std::int64_t busy_ns = 0;  ///< inside the stretch
  std::int64_t count = 0;    ///< events that touch it
};

/// Events in order of time that do not overlap.
///
/// Lifecycle: 1. add() 2. finish() 3. ask; by any number of threads.
class EventRow {
 public:
  EventRow() = default;
  EventRow(const EventRow&) = default;
  EventRow& operator=(const EventRow&) = default;
  /// std::deque's may throw, for want of 600 bytes; then a vector of rows that grows would copy all events instead.
  EventRow(EventRow&&) noexcept = default;
  EventRow& operator=(EventRow&&) noexcept = default;
  ~EventRow() = default;

  /// In any order. An event without length is kept as one of 1 ns.
  void add(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t name);
  /// Sorts. What still overlaps the event before it goes into `overlapping`, a line of its own, if given; else it
  /// is cut at its start.
  void finish(EventRow* overlapping = nullptr);

  [[nodiscard]] std::size_t size() const { return events_.size(); }
  /// Whether nothing was added, finished or not.
  [[nodiscard]] bool empty() const { return events_.empty() && added_.empty(); }
  [[nodiscard]] std::int64_t start_ns(std::size_t i) const {
    const Block& block = blocks_[i / kBlock];
    return block.wide == kNarrow ? block.start_ns + events_[i].start_offset_ns
                                 : wide_starts_ns_[block.wide + i % kBlock];
  }
  [[nodiscard]] std::int64_t duration_ns(std::size_t i) const {
    const std::uint32_t length = events_[i].duration_ns;
    return length != kLong ? length : long_.at(static_cast<std::uint32_t>(i));
  }
  [[nodiscard]] std::int64_t end_ns(std::size_t i) const { return start_ns(i) + duration_ns(i); }
  [[nodiscard]] std::uint32_t name(std::size_t i) const { return events_[i].name; }
  [[nodiscard]] TimeWindow extent() const;

  /// The first that ends after `ns`; size() if none does.
  [[nodiscard]] std::size_t first_ending_after(std::int64_t ns) const;
  /// The first that starts at `ns` or later.
  [[nodiscard]] std::size_t first_from(std::int64_t ns) const;
  /// The event that runs at `ns`; size(): none.
  [[nodiscard]] std::size_t at(std::int64_t ns) const;

  /// Bin i covers [start + i·length/n, start + (i+1)·length/n).
  void bins(const TimeWindow& window, std::span<EventBin> out) const;
  [[nodiscard]] EventSum sum(const TimeWindow& window) const;
  /// Memory that it holds.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Times of an event count from its block's begin.
  struct Event {
    std::uint32_t start_offset_ns;
    std::uint32_t duration_ns;  // kLong: in long_
    std::uint32_t name;
  };
  static_assert(sizeof(Event) == 12);
  /// One that was added and waits for finish().
  struct Added {
    std::int64_t start_ns;
    std::uint32_t duration_ns;  // kLong: in added_long_, in the order of adding
    std::uint32_t name;
  };
  static_assert(sizeof(Added) == 16);
  /// Of a run of kBlock events.
  struct Block {
    std::int64_t start_ns;
    std::int64_t busy_before_ns;  // sum of the durations of all events before it
    std::uint32_t longest;
    std::uint32_t wide;  // its events begin more than 32 bits apart: where in wide_starts_ns_; else kNarrow
  };
  /// Bins of equal length over the whole extent; each level's are kFactor times as long as those of the one below.
  struct Level {
    double bin_ns = 0;
    std::vector<EventBin> bins;
  };
  static constexpr std::uint32_t kLong = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kNarrow = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kEventsPerBin = 8;
  static constexpr std::size_t kFactor = 4;

  void sort_added();
  void keep(std::int64_t start_ns, std::int64_t length_ns, std::uint32_t name);
  void close_block();
  void build();
  void bins_from_events(const TimeWindow& window, std::span<EventBin> out) const;
  void bins_from_level(const Level& level, const TimeWindow& window, std::span<EventBin> out) const;
  /// Sum of the durations of the events before i.
  [[nodiscard]] std::int64_t busy_before(std::size_t i) const;

  std::deque<Added> added_;  // gives its memory back piece by piece while finish() goes through it
  std::vector<std::pair<std::int64_t, std::int64_t>> added_long_;  // start and duration of those with kLong
  std::vector<Event> events_;
  std::map<std::uint32_t, std::int64_t> long_;  // durations of 4.29 s and more
  std::vector<std::int64_t> wide_starts_ns_;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> open_starts_ns_;  // of the block that finish() is filling
  std::vector<Level> levels_;
};

}  // namespace ridgeline::analyzer
