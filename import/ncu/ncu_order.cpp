#include "ncu/ncu_order.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxCells = 400'000'000;
constexpr std::uint32_t kMinAdvance = 4;  // launches: a chance likeness of neighbours is shorter

// How far launches fit without a gap, this one included.
struct Reach {
  std::size_t kind = 0;
  std::uint32_t before = 0, after = 0;
  [[nodiscard]] std::uint32_t length() const { return before + after - 1; }
};

// Of each launch that is asked for, at each place that fits it: `reaches[i]` is of launch i.
class Reaches {
 public:
  explicit Reaches(const LaunchOrder& order) : order_(order), found_(order.profiled.size()) {
    sweep(true);
    sweep(false);
  }
  [[nodiscard]] const std::vector<Reach>& of(std::size_t launch) const { return found_[launch]; }

 private:
  // Along the diagonals; backwards the places come in the same order.
  void sweep(bool forward) {
    const std::size_t places = order_.ran.size();
    std::vector<std::uint32_t> last(places, 0), now(places, 0);
    for (std::size_t step = 0; step < order_.profiled.size(); ++step) {
      const std::size_t launch = forward ? step : order_.profiled.size() - 1 - step;
      const std::size_t called = order_.profiled[launch];
      const std::vector<bool>& fits = order_.fits[called];
      std::size_t count = 0;
      for (std::size_t place = 0; place < places; ++place) {
        now[place] = fits[order_.ran[place]] ? 1 + next_to(last, place, forward) : 0;
        if (now[place] == 0 || !order_.asked[called]) continue;
        if (forward)
          found_[launch].push_back({.kind = order_.ran[place], .before = now[place], .after = 0});
        else
          found_[launch][count++].after = now[place];
      }
      std::swap(last, now);
    }
  }

  [[nodiscard]] std::uint32_t next_to(const std::vector<std::uint32_t>& last, std::size_t place,
                                      bool forward) const {
    const std::size_t end = forward ? 0 : last.size() - 1;
    if (place == end) return order_.repeats ? last[last.size() - 1 - end] : 0;
    return last[forward ? place - 1 : place + 1];
  }

  const LaunchOrder& order_;
  std::vector<std::vector<Reach>> found_;
};

std::optional<std::size_t> decided(const std::vector<Reach>& reaches) {
  if (reaches.empty()) return std::nullopt;
  const Reach& best = *std::max_element(
      reaches.begin(), reaches.end(), [](const Reach& a, const Reach& b) { return a.length() < b.length(); });
  for (const Reach& other : reaches) {
    if (other.kind == best.kind) continue;
    if (other.length() + kMinAdvance > best.length() || other.before > best.before ||
        other.after > best.after)
      return std::nullopt;
  }
  // Where the name leaves one kind, though it contradicts it, its neighbours must agree.
  return best.length() > kMinAdvance ? std::optional(best.kind) : std::nullopt;
}

}  // namespace

std::vector<std::optional<std::size_t>> kinds_by_order(const LaunchOrder& order) {
  std::vector<std::optional<std::size_t>> kinds(order.profiled.size());
  const bool wanted = std::any_of(order.profiled.begin(), order.profiled.end(),
                                  [&](std::size_t called) { return order.asked[called]; });
  if (!wanted || order.ran.empty() || order.profiled.size() > kMaxCells / order.ran.size()) return kinds;
  const Reaches reaches(order);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (order.asked[order.profiled[i]]) kinds[i] = decided(reaches.of(i));
  return kinds;
}

}  // namespace ridgeline::import
