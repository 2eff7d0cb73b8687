/// kind.h: what a launch is, as far as what its counters show depends on it.
#pragma once

#include <cstdint>

namespace ridgeline::counting {

/// A hash of kernel, grid and what else is known of a launch; 0: none.
using Kind = std::uint64_t;

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 29);
}

/// The launches of a kernel with one grid. `place`: of the ranges round it, as far as the caller tells them apart.
[[nodiscard]] constexpr Kind kind_of(std::uint32_t kernel_id, std::uint32_t grid_x, std::uint32_t grid_y,
                                     std::uint32_t grid_z, std::uint64_t place = 0) noexcept {
  const Kind kind = mixed(mixed(mixed(mixed(mixed(1, kernel_id), grid_x), grid_y), grid_z), place);
  return kind == 0 ? 1 : kind;
}

/// The launches of a kernel with about as many blocks: the grids of a program without steps are of every size.
[[nodiscard]] constexpr Kind size_kind_of(std::uint32_t kernel_id, std::uint32_t grid_x, std::uint32_t grid_y,
                                          std::uint32_t grid_z) noexcept {
  std::uint64_t blocks = std::uint64_t{grid_x} * grid_y * (grid_z == 0 ? 1 : grid_z);
  std::uint32_t size = 0;
  for (; blocks > 1; blocks >>= 1) ++size;
  return kind_of(kernel_id, size, 0, 0, 1);
}

/// Of these the ones after a launch of another kind.
[[nodiscard]] constexpr Kind following(Kind kind, Kind before) noexcept {
  const Kind part = mixed(kind, before);
  return part == 0 ? 1 : part;
}

}  // namespace ridgeline::counting
