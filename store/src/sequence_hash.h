// sequence_hash.h: what tells two steps' launch sequences apart. A sum over launches, each mixed with its
// ordinal, so that launches may be added in any order.
#pragma once

#include <cstdint>

#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// One launch's part of its step's hash; the parts are added up modulo 2^64.
[[nodiscard]] inline std::uint64_t sequence_hash_part(const Launch& launch) {
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014), chained over the fields.
  std::uint64_t hash = 0;
  const auto mix = [&](std::int64_t value) {
    hash += static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31;
  };
  mix(launch.ordinal_in_step.value_or(-1));
  mix(launch.kernel_id);
  for (const Dim3& size : {launch.grid, launch.block}) {
    mix(size.x);
    mix(size.y);
    mix(size.z);
  }
  return hash;
}

/// Whether the times of a launch, copy or set can be reckoned with.
template <typename Row>
[[nodiscard]] bool has_usable_time(const Row& row) {
  return row.start_ns > 0 && row.end_ns >= row.start_ns;
}

}  // namespace ridgeline::store
