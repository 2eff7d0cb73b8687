#include "alignment.h"

#include <algorithm>
#include <limits>

namespace ridgeline::comparison {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The three ways a prefix pair may end, and where its best score came from.
enum class State : std::uint8_t { pair, gap_in_second, gap_in_first };

State best_of(double pair, double gap_in_second, double gap_in_first) {
  if (pair >= gap_in_second && pair >= gap_in_first) return State::pair;
  return gap_in_second >= gap_in_first ? State::gap_in_second : State::gap_in_first;
}

}  // namespace

std::vector<AlignedPair> align(std::size_t first, std::size_t second,
                               const std::function<double(std::size_t, std::size_t)>& score,
                               const AlignmentCosts& costs) {
  const std::size_t width = second + 1;
  // From which state each of the three states of a cell was reached.
  std::vector<State> from_pair((first + 1) * width), from_down(from_pair), from_right(from_pair);
  std::vector<double> pair(width, kNever), down(width, kNever), right(width, kNever);
  std::vector<double> last_pair(width), last_down(width), last_right(width);
  pair[0] = 0;
  for (std::size_t j = 1; j <= second; ++j) {
    right[j] = -costs.gap_open - costs.gap_extend * static_cast<double>(j - 1);
    from_right[j] = j == 1 ? State::pair : State::gap_in_first;
  }
  for (std::size_t i = 1; i <= first; ++i) {
    last_pair.swap(pair);
    last_down.swap(down);
    last_right.swap(right);
    const std::size_t row = i * width;
    pair[0] = right[0] = kNever;
    down[0] = -costs.gap_open - costs.gap_extend * static_cast<double>(i - 1);
    from_down[row] = i == 1 ? State::pair : State::gap_in_second;
    for (std::size_t j = 1; j <= second; ++j) {
      const State before = best_of(last_pair[j - 1], last_down[j - 1], last_right[j - 1]);
      pair[j] = score(i - 1, j - 1) + std::max({last_pair[j - 1], last_down[j - 1], last_right[j - 1]});
      from_pair[row + j] = before;
      const double open_down = std::max(last_pair[j], last_right[j]) - costs.gap_open;
      const double extend_down = last_down[j] - costs.gap_extend;
      down[j] = std::max(open_down, extend_down);
      from_down[row + j] = extend_down >= open_down        ? State::gap_in_second
                           : last_pair[j] >= last_right[j] ? State::pair
                                                           : State::gap_in_first;
      const double open_right = std::max(pair[j - 1], down[j - 1]) - costs.gap_open;
      const double extend_right = right[j - 1] - costs.gap_extend;
      right[j] = std::max(open_right, extend_right);
      from_right[row + j] = extend_right >= open_right   ? State::gap_in_first
                            : pair[j - 1] >= down[j - 1] ? State::pair
                                                         : State::gap_in_second;
    }
  }
  std::vector<AlignedPair> columns;
  State state = best_of(pair[second], down[second], right[second]);
  std::size_t i = first;
  std::size_t j = second;
  while (i > 0 || j > 0) {
    const std::size_t at = i * width + j;
    if (state == State::pair) {
      columns.emplace_back(static_cast<std::uint32_t>(--i), static_cast<std::uint32_t>(--j));
      state = from_pair[at];
    } else if (state == State::gap_in_second) {
      columns.emplace_back(static_cast<std::uint32_t>(--i), std::nullopt);
      state = from_down[at];
    } else {
      columns.emplace_back(std::nullopt, static_cast<std::uint32_t>(--j));
      state = from_right[at];
    }
  }
  std::reverse(columns.begin(), columns.end());
  return columns;
}

}  // namespace ridgeline::comparison
