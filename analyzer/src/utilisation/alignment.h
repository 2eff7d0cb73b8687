// alignment.h: which launch of one step is which of another, where steps differ: an evaluation more, a grid that
// depends on the data, a layer that is skipped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ridgeline::analyzer {

/// What makes two launches alike.
struct LaunchKey {
  std::int64_t kernel = 0;
  std::uint64_t configuration = 0;  // of grid and block
  bool operator==(const LaunchKey&) const = default;
};

struct Alignment {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// By position in the first step: the position in the second of the launch that corresponds, with the same kernel and
  /// configuration; kNone if there is none. No position comes twice, in both vectors together.
  std::vector<std::uint32_t> same;
  /// For those without: a launch of the same kernel with another configuration.
  std::vector<std::uint32_t> other_configuration;
};

/// Both steps in order of launch. What is common in order is found first (the fewest insertions and deletions, up to
/// kMaxEdits of them); what is left is paired by key, the first with the first. Time O((n + m) · edits).
[[nodiscard]] Alignment align(std::span<const LaunchKey> first, std::span<const LaunchKey> second);
inline constexpr std::size_t kMaxEdits = 1500;

}  // namespace ridgeline::analyzer
