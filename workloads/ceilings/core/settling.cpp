#include "ceilings/core/settling.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::ceilings {

namespace {
constexpr std::size_t kFewestReadings = 5;
}

bool settled(std::span<const Point> clocks, const SettlingRule& rule) {
  if (clocks.empty()) return false;
  const double now = clocks.back().x;
  if (now < rule.min_s || now - clocks.front().x < rule.look_s) return false;
  const auto first =
      std::find_if(clocks.begin(), clocks.end(), [&](const Point& p) { return p.x >= now - rule.look_s; });
  const auto seen = clocks.subspan(static_cast<std::size_t>(first - clocks.begin()));
  if (seen.size() < kFewestReadings) return false;
  double mean = 0;
  for (const Point& p : seen) mean += p.y / static_cast<double>(seen.size());
  return mean > 0 && std::fabs(slope(seen)) * rule.look_s / mean < rule.max_change;
}

void EnergyTrace::add(double seconds, double joules) {
  // The first reading says nothing of when the counter came to it.
  if (last_ && *last_ != joules) changes_.push_back({seconds, joules});
  last_ = joules;
}

std::optional<EnergyTrace::Use> EnergyTrace::use(double min_s) const {
  if (changes_.size() < 2) return std::nullopt;
  const Use use{changes_.back().x - changes_.front().x, changes_.back().y - changes_.front().y};
  if (use.seconds < min_s || !(use.joules > 0)) return std::nullopt;
  return use;
}

}  // namespace ridgeline::ceilings
