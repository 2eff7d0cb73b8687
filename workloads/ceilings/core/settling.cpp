#include "ceilings/core/settling.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::ceilings {

namespace {
constexpr std::size_t kMinReadings = 5;
constexpr double kMaxOfMedian = 1.25;
constexpr double kMaxWaited = 0.2;
}  // namespace

bool settled(std::span<const Point> clocks, const SettlingRule& rule) {
  if (clocks.empty()) return false;
  const double now = clocks.back().x;
  if (now < rule.min_s || now - clocks.front().x < rule.look_s) return false;
  const auto first =
      std::find_if(clocks.begin(), clocks.end(), [&](const Point& p) { return p.x >= now - rule.look_s; });
  const auto seen = clocks.subspan(static_cast<std::size_t>(first - clocks.begin()));
  if (seen.size() < kMinReadings) return false;
  double mean = 0;
  for (const Point& p : seen) mean += p.y / static_cast<double>(seen.size());
  return mean > 0 && std::fabs(slope(seen)) * rule.look_s / mean < rule.max_change;
}

std::vector<bool> waited(std::span<const double> seconds) {
  std::vector<bool> late(seconds.size(), false);
  if (seconds.empty()) return late;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::size_t count = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    late[i] = seconds[i] > kMaxOfMedian * *middle;
    count += late[i] ? 1 : 0;
  }
  if (static_cast<double>(count) > kMaxWaited * static_cast<double>(seconds.size()))
    late.assign(seconds.size(), false);
  return late;
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
