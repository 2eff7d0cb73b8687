#include "ridgeline/analyzer/trace/range_links.h"

#include <numeric>

namespace ridgeline::analyzer {

void RangeLinks::link(std::size_t event, std::size_t lane, std::size_t to) {
  if (to_.empty() && event == alike_ && lane == 0 && to == event) {
    ++alike_;
    return;
  }
  if (to_.empty()) {
    to_.assign(events_, kNowhere);
    std::iota(to_.begin(), to_.begin() + static_cast<std::ptrdiff_t>(alike_), std::uint32_t{0});
  }
  const std::uint64_t place = (static_cast<std::uint64_t>(lane) << kEventBits) | to;
  if (to >> kEventBits == 0 && place < kNowhere) to_[event] = static_cast<std::uint32_t>(place);
}

std::optional<RowEvent> RangeLinks::of(std::size_t event) const {
  if (to_.empty()) return event < alike_ ? std::optional(RowEvent{first_row_, event}) : std::nullopt;
  if (event >= to_.size() || to_[event] == kNowhere) return std::nullopt;
  const std::uint32_t place = to_[event];
  return RowEvent{first_row_ + (place >> kEventBits), place & ((1U << kEventBits) - 1)};
}

}  // namespace ridgeline::analyzer
