#include "gpt2/train/data/random.h"

#include <bit>
#include <cstring>

namespace ridgeline::gpt2 {

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t so_far) {
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t hash = so_far;
  // A multiplication by an odd number and a rotation are both invertible, so that a single changed word
  // always changes the result.
  const auto take = [&](std::uint64_t word) { hash = (std::rotl(hash, 29) ^ word) * 0x9e3779b97f4a7c15ULL; };
  for (; bytes >= 8; bytes -= 8, from += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, 8);
    take(word);
  }
  if (bytes > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    take(word);
    take(bytes);
  }
  return hash;
}

}  // namespace ridgeline::gpt2
