// ncu_order.h: which of several kernels a launch was, by what was launched before and after it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ridgeline::import {

/// Two sequences of launches of one program. What is called alike, with one grid and block, is a class of launches
/// there and a kind here.
struct LaunchOrder {
  std::vector<std::size_t>
      profiled;                  ///< class of each that was profiled, as they were launched, without a gap
  std::vector<std::size_t> ran;  ///< kind of each of the step, likewise
  std::vector<std::vector<bool>> fits;  ///< [class][kind]: the names and sizes do not contradict each other
  std::vector<bool> asked;              ///< [class]: which kind is not known by the name
  bool repeats = true;                  ///< the step is followed by another
};

/// The kind of each profiled launch that is asked for; empty where the order does not say it. Said is what the longest
/// sequence of launches that fit, without a gap, makes it, if that of every other kind is shorter by several launches,
/// and none is longer on either side. Work grows as the product of the two lengths; above a bound nothing is said.
[[nodiscard]] std::vector<std::optional<std::size_t>> kinds_by_order(const LaunchOrder& order);

}  // namespace ridgeline::import
