// random.h: random numbers that are functions of a seed alone, the same on every machine and compiler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::gpt2 {

/// SplitMix64 over a key made of (seed, stream).
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed + kStep) ^ stream)) {}

  std::uint64_t next() {
    state_ += kStep;
    return mix(state_);
  }

  /// 0 .. n-1, n >= 1, every value equally likely: draws of the incomplete last range are thrown away.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t excess = (UINT64_MAX % n + 1) % n;
    std::uint64_t bits = next();
    while (bits > UINT64_MAX - excess) bits = next();
    return bits % n;
  }

  /// [0, 1)
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint64_t state_;
};

/// Tells damaged or exchanged bytes apart from the ones that were written; no defence against an adversary.
/// `so_far` continues a hash over several pieces: all of them but the last a multiple of 8 bytes long.
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t so_far = 0);

}  // namespace ridgeline::gpt2
