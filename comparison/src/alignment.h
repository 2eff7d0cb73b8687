// alignment.h: global alignment of two sequences with affine gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::comparison {

/// A column of the alignment: positions in both sequences; one of them may be absent.
using AlignedPair = std::pair<std::optional<std::uint32_t>, std::optional<std::uint32_t>>;

struct AlignmentCosts {
  double gap_open = 1.0;
  double gap_extend = 0.2;
};

/// Needleman and Wunsch's alignment with Gotoh's affine gaps (J. Mol. Biol. 162, 1982): the columns of the highest
/// total score. `score(i, j)` of two positions; pairs below zero are taken only if a gap costs more.
[[nodiscard]] std::vector<AlignedPair> align(std::size_t first, std::size_t second,
                                             const std::function<double(std::size_t, std::size_t)>& score,
                                             const AlignmentCosts& costs = {});

}  // namespace ridgeline::comparison
