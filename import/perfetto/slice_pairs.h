// slice_pairs.h: which end belongs to which begin of the events of a track.
#pragma once

#include <cstdint>
#include <vector>

namespace ridgeline::import {

/// Of one track; in the order of the file.
struct SliceEdge {
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  std::int64_t time_ns = 0;
  std::uint32_t slice = kEnd;  ///< that begins; kEnd: the innermost that is open ends
};

/// Slices of a track nest: an end is of the innermost open one. A writer may have put all begins before all ends; then
/// the times decide, and of equal ones an end is of what began before, as long as there is such. Sorts `edges` and sets
/// the entry of `end_ns` of each slice that has an end. Returns how many ends had nothing to end.
[[nodiscard]] std::int64_t pair_slices(std::vector<SliceEdge>& edges, std::vector<std::int64_t>& end_ns);

}  // namespace ridgeline::import
