/// launch_key.h: a launch as the search for steps sees it. Shared by the agent, which may neither throw nor allocate
/// at a launch, and by the importer.
#pragma once

#include <cstdint>

namespace ridgeline::steps {

/// Low half: kernel and grid. High half: the kernel alone. Different launches may share a key, one pair in 65,536.
using Key = std::uint32_t;

struct Launch {
  Key key = 0;
  std::uint32_t time_us = 0;  ///< of the host, at the call; of any clock, modulo 2^32
};

/// Bits of a word spread over all of it.
inline std::uint64_t scramble(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

inline Key key_of(std::uint32_t kernel_id, std::uint32_t grid_x, std::uint32_t grid_y,
                  std::uint32_t grid_z) noexcept {
  const std::uint64_t kernel = scramble(kernel_id + 0x9e3779b97f4a7c15ull);
  const std::uint64_t grid =
      scramble(kernel ^ (std::uint64_t{grid_x} << 32 | grid_y) ^ std::uint64_t{grid_z} << 16);
  return static_cast<Key>(kernel & 0xffff) << 16 | static_cast<Key>(grid & 0xffff);
}

/// Of a graph launch: the executable graph is all that tells one from another.
inline Key graph_key(std::uint64_t executable_graph) noexcept {
  const std::uint64_t h = scramble(executable_graph ^ 0x67726170);
  return static_cast<Key>(h & 0xffff) << 16 | static_cast<Key>(h & 0xffff);
}

inline std::uint16_t exact_part(Key key) noexcept {
  return static_cast<std::uint16_t>(key);
}
inline std::uint16_t kernel_part(Key key) noexcept {
  return static_cast<std::uint16_t>(key >> 16);
}

/// Where a step begins: at a launch that ends this row of one to four keys.
struct Anchor {
  std::uint64_t keys = 0;  ///< the last one in the low 16 bits
  std::uint32_t length = 0;
  bool exact = true;  ///< exact parts of the keys; else kernel parts

  [[nodiscard]] std::uint64_t mask() const noexcept {
    return length >= 4 ? ~std::uint64_t{0} : (std::uint64_t{1} << 16 * length) - 1;
  }
};

}  // namespace ridgeline::steps
