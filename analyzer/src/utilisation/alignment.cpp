#include "alignment.h"

#include <algorithm>
#include <unordered_map>

namespace ridgeline::analyzer {

namespace {

using Keys = std::span<const LaunchKey>;

struct KeyHash {
  std::size_t operator()(const LaunchKey& key) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(key.kernel) * 0x9e3779b97f4a7c15ULL) ^
                                    (key.configuration * 0xbf58476d1ce4e5b9ULL));
  }
};

// The furthest that a path of so many edits reaches on each diagonal (Myers, 1986), kept for the way back.
class Paths {
 public:
  Paths(Keys a, Keys b)
      : a_(a), b_(b), n_(static_cast<std::int64_t>(a.size())), m_(static_cast<std::int64_t>(b.size())) {}

  // False if the two are further apart than kMaxEdits.
  bool search() {
    const auto most = std::min<std::int64_t>(n_ + m_, kMaxEdits);
    std::vector<std::int32_t> reach(static_cast<std::size_t>(2 * most + 3), 0);
    const std::int64_t middle = most + 1;
    for (std::int64_t edits = 0; edits <= most; ++edits) {
      for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
        const auto at = static_cast<std::size_t>(middle + diagonal);
        std::int64_t x = inserts(reach, at, diagonal, edits) ? reach[at + 1] : reach[at - 1] + 1;
        while (x < n_ && x - diagonal < m_ &&
               a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(x - diagonal)])
          ++x;
        reach[at] = static_cast<std::int32_t>(x);
        if (x >= n_ && x - diagonal >= m_) {
          edits_ = edits;
          return true;
        }
      }
      steps_.emplace_back(reach.begin() + (middle - edits), reach.begin() + (middle + edits + 1));
    }
    return false;
  }

  // Calls pair(position in a, position in b) for what the path has in common.
  template <typename Pair>
  void walk_back(Pair&& pair) const {
    std::int64_t x = n_, y = m_;
    for (std::int64_t edits = edits_; edits > 0; --edits) {
      const std::vector<std::int32_t>& before = steps_[static_cast<std::size_t>(edits - 1)];
      const auto reached = [&](std::int64_t diagonal) -> std::int64_t {
        return before[static_cast<std::size_t>(diagonal + edits - 1)];
      };
      const std::int64_t diagonal = x - y;
      const bool inserted =
          diagonal == -edits || (diagonal != edits && reached(diagonal - 1) < reached(diagonal + 1));
      const std::int64_t from = inserted ? diagonal + 1 : diagonal - 1;
      const std::int64_t from_x = reached(from), from_y = from_x - from;
      while (x > from_x && y > from_y && x > 0 && y > 0 && x - 1 >= (inserted ? from_x : from_x + 1)) {
        --x;
        --y;
        pair(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
      }
      x = from_x;
      y = from_y;
    }
    while (x > 0 && y > 0) {
      --x;
      --y;
      pair(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
    }
  }

 private:
  static bool inserts(const std::vector<std::int32_t>& reach, std::size_t at, std::int64_t diagonal,
                      std::int64_t edits) {
    return diagonal == -edits || (diagonal != edits && reach[at - 1] < reach[at + 1]);
  }

  Keys a_, b_;
  std::int64_t n_, m_, edits_ = 0;
  std::vector<std::vector<std::int32_t>> steps_;  // reach after each number of edits, diagonals -d to d
};

// Pairs what is left on both sides by a key, the first with the first.
template <typename KeyOf, typename Map>
void pair_leftovers(Keys first, Keys second, const std::vector<bool>& taken_first,
                    std::vector<bool>& taken_second, KeyOf&& key_of, Map places,
                    std::vector<std::uint32_t>& out) {
  for (std::size_t i = second.size(); i-- > 0;) {
    if (!taken_second[i]) places[key_of(second[i])].push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (taken_first[i]) continue;
    const auto found = places.find(key_of(first[i]));
    if (found == places.end() || found->second.empty()) continue;
    out[i] = found->second.back();
    found->second.pop_back();
    taken_second[out[i]] = true;
  }
}

}  // namespace

Alignment align(Keys first, Keys second) {
  Alignment result;
  result.same.assign(first.size(), Alignment::kNone);
  result.other_configuration = result.same;
  std::vector<bool> taken(second.size(), false);
  const auto pair = [&](std::size_t a, std::size_t b) {
    result.same[a] = static_cast<std::uint32_t>(b);
    taken[b] = true;
  };
  std::size_t begin = 0, end = 0;  // common at both ends
  while (begin < first.size() && begin < second.size() && first[begin] == second[begin]) {
    pair(begin, begin);
    ++begin;
  }
  while (end < first.size() - begin && end < second.size() - begin &&
         first[first.size() - 1 - end] == second[second.size() - 1 - end]) {
    pair(first.size() - 1 - end, second.size() - 1 - end);
    ++end;
  }
  Paths paths(first.subspan(begin, first.size() - begin - end),
              second.subspan(begin, second.size() - begin - end));
  if (paths.search()) paths.walk_back([&](std::size_t a, std::size_t b) { pair(begin + a, begin + b); });

  const auto paired = [&] {
    std::vector<bool> done(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) done[i] = result.same[i] != Alignment::kNone;
    return done;
  };
  using Places = std::vector<std::uint32_t>;
  pair_leftovers(
      first, second, paired(), taken, [](const LaunchKey& key) { return key; },
      std::unordered_map<LaunchKey, Places, KeyHash>{}, result.same);
  pair_leftovers(
      first, second, paired(), taken, [](const LaunchKey& key) { return key.kernel; },
      std::unordered_map<std::int64_t, Places>{}, result.other_configuration);
  return result;
}

}  // namespace ridgeline::analyzer
