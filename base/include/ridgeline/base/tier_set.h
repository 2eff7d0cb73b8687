/// tier_set.h: the tiers that a value rests on.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline {

class TierSet {
 public:
  constexpr TierSet() = default;
  constexpr TierSet(Tier tier) : bits_(bit(tier)) {}  // NOLINT: a tier is a set of one

  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool has(Tier tier) const noexcept { return (bits_ & bit(tier)) != 0; }
  constexpr TierSet& operator|=(TierSet other) noexcept {
    bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return *this;
  }
  friend constexpr TierSet operator|(TierSet a, TierSet b) noexcept { return a |= b; }
  friend constexpr bool operator==(TierSet, TierSet) = default;

 private:
  static constexpr std::uint8_t bit(Tier tier) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(tier));
  }
  std::uint8_t bits_ = 0;
};

inline constexpr TierSet kAllTiers = TierSet(Tier::t0) | Tier::t1 | Tier::t2 | Tier::t3;

/// "T2", "T1,T2"; "" for none.
[[nodiscard]] inline std::string to_string(TierSet tiers) {
  std::string text;
  for (const Word<Tier>& word : Vocabulary<Tier>::kWords) {
    if (tiers.has(word.value)) text.append(text.empty() ? "" : ",").append(word.text);
  }
  return text;
}

}  // namespace ridgeline
