// range_links.h: which event of the other rows an event of a row of NVTX ranges is: on the host and on the GPU the same
// instance has an event each.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace ridgeline::analyzer {

/// A row of a timeline and one of its events.
struct RowEvent {
  std::size_t row = 0;  ///< of Timeline::rows
  std::size_t event = 0;
  friend bool operator==(const RowEvent&, const RowEvent&) = default;
};

/// Nothing is kept where the n-th event of the row is the n-th of the first row of the other side, as it is when each
/// range launches something and its launches run in order; else 4 bytes an event.
///
/// Lifecycle: 1. link() 2. lead_to() 3. ask; by any number of threads.
class RangeLinks {
 public:
  static constexpr int kLaneBits = 4;
  /// Rows of the other side that overlapping events are spread over, at most.
  static constexpr int kLanes = 1 << kLaneBits;

  RangeLinks() = default;
  /// Of a row with so many events, none of which leads anywhere yet.
  explicit RangeLinks(std::size_t events) : events_(events) {}

  /// Event `event` is event `to` of row `lane` of the other side. Of more events than fit beside the lane (2^28)
  /// the link is left out.
  void link(std::size_t event, std::size_t lane, std::size_t to);
  /// Row 0 of the other side is that one of Timeline::rows, the others follow it.
  void lead_to(std::size_t first_row) { first_row_ = first_row; }

  /// Empty: it leads nowhere.
  [[nodiscard]] std::optional<RowEvent> of(std::size_t event) const;
  /// Memory that it holds.
  [[nodiscard]] std::size_t bytes() const { return to_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr int kEventBits = 32 - kLaneBits;

  std::size_t events_ = 0;
  std::size_t alike_ = 0;  // without to_: so many at the front are the other's event of the same number
  std::vector<std::uint32_t> to_;
  std::size_t first_row_ = 0;
};

}  // namespace ridgeline::analyzer
