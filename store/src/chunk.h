// chunk.h: rows with ids from n * 1024 on are a chunk, whose times count from one base, so that they take few
// bytes; and a chunk knows when its rows were, so that a window of time is found without an index.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "ridgeline/store/records.h"

namespace ridgeline::store {

inline constexpr int kChunkShift = 10;
inline constexpr Id kChunkRows = Id{1} << kChunkShift;

[[nodiscard]] constexpr Id chunk_of(Id row_id) {
  return row_id >> kChunkShift;
}

[[nodiscard]] constexpr std::int64_t place_in_chunk(Id row_id) {
  return row_id & (kChunkRows - 1);
}

/// Times of a damaged capture may be anything: sums, differences and products wrap instead of being undefined.
[[nodiscard]] constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
[[nodiscard]] constexpr std::int64_t wrapping_subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
[[nodiscard]] constexpr std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// A hash over the fields of a row, for the maps that find what is stored once.
class FieldHash {
 public:
  void add(std::int64_t value) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 29;
  }
  [[nodiscard]] std::size_t value() const { return static_cast<std::size_t>(hash_); }

 private:
  std::uint64_t hash_ = 0x51f15e5d1ce4e5b9ULL;
};

/// Of a key whose fields are all numbers.
struct SiteHash {
  template <std::size_t N>
  std::size_t operator()(const std::array<std::int64_t, N>& key) const {
    FieldHash hash;
    for (const std::int64_t field : key) hash.add(field);
    return hash.value();
  }
};

/// How many things stored once are remembered; past that the memory is given up and what comes again is stored
/// again, which costs room but no correctness. It bounds memory for programs whose launches are all different.
inline constexpr std::size_t kMaxRemembered = 200'000;

}  // namespace ridgeline::store
