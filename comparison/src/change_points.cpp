#include <algorithm>
#include <cmath>
#include <random>

#include "ridgeline/base/statistics.h"
#include "ridgeline/comparison/history.h"

namespace ridgeline::comparison {
namespace {

struct Split {
  std::size_t at = 0;
  double statistic = -1;
};

double distance(double x, double y) {
  return std::abs(x - y);
}

// The largest scaled energy distance m·n/(m+n)·E between the values before and behind a place; sums are moved along
// with the place, so that all places cost n².
Split best_split(const std::vector<double>& values, std::size_t least) {
  const std::size_t n = values.size();
  Split best;
  if (n < 2 * least) return best;
  double left = 0, right = 0, across = 0;  // Σ over pairs inside and across
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) right += distance(values[i], values[j]);
  }
  for (std::size_t at = 1; at + least <= n; ++at) {
    const double moved = values[at - 1];
    double to_left = 0, to_right = 0;
    for (std::size_t i = 0; i + 1 < at; ++i) to_left += distance(values[i], moved);
    for (std::size_t i = at; i < n; ++i) to_right += distance(values[i], moved);
    left += to_left;
    right -= to_right;
    across += to_right - to_left;
    if (at < least) continue;
    const auto m = static_cast<double>(at);
    const auto k = static_cast<double>(n - at);
    const double within_left = m > 1 ? left / (m * (m - 1) / 2) : 0;
    const double within_right = k > 1 ? right / (k * (k - 1) / 2) : 0;
    const double statistic = m * k / (m + k) * (2 * across / (m * k) - within_left - within_right);
    if (statistic > best.statistic) best = {at, statistic};
  }
  return best;
}

class Divider {
 public:
  Divider(const std::vector<double>& values, double significance, std::size_t least, int permutations)
      : values_(values),
        significance_(significance),
        least_(std::max<std::size_t>(1, least)),
        permutations_(permutations) {}

  void divide(std::size_t begin, std::size_t end) {
    std::vector<double> part(values_.begin() + static_cast<std::ptrdiff_t>(begin),
                             values_.begin() + static_cast<std::ptrdiff_t>(end));
    const Split split = best_split(part, least_);
    if (split.statistic <= 0) return;
    int as_large = 1;
    std::mt19937_64 random(begin * 1'000'003 + end);
    for (int i = 0; i < permutations_; ++i) {
      std::shuffle(part.begin(), part.end(), random);
      as_large += best_split(part, least_).statistic >= split.statistic;
    }
    const double p = as_large / (permutations_ + 1.0);
    if (p > significance_) return;
    divide(begin, begin + split.at);
    found_.push_back({begin + split.at, 0, 0, p});
    divide(begin + split.at, end);
  }

  // Those that are smaller than `least_ratio` are taken back, the smallest first: their segments are one.
  std::vector<ChangePoint> take(double least_ratio) {
    while (true) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < found_.size(); ++i) {
        const std::size_t next = i + 1 < found_.size() ? found_[i + 1].at : values_.size();
        found_[i].before = of(begin, found_[i].at);
        found_[i].after = of(found_[i].at, next);
        begin = found_[i].at;
      }
      const auto size = [](const ChangePoint& point) {
        return std::abs(point.after - point.before) / std::max(std::abs(point.before), 1e-300);
      };
      const auto smallest =
          std::min_element(found_.begin(), found_.end(),
                           [&](const ChangePoint& x, const ChangePoint& y) { return size(x) < size(y); });
      if (smallest == found_.end() || size(*smallest) >= least_ratio) return std::move(found_);
      found_.erase(smallest);
    }
  }

 private:
  [[nodiscard]] double of(std::size_t begin, std::size_t end) const {
    return median({values_.begin() + static_cast<std::ptrdiff_t>(begin),
                   values_.begin() + static_cast<std::ptrdiff_t>(end)});
  }

  const std::vector<double>& values_;
  double significance_;
  std::size_t least_;
  int permutations_;
  std::vector<ChangePoint> found_;
};

}  // namespace

std::vector<ChangePoint> change_points(const std::vector<double>& values, double significance,
                                       std::size_t least, int permutations, double least_ratio) {
  Divider divider(values, significance, least, permutations);
  divider.divide(0, values.size());
  return divider.take(least_ratio);
}

}  // namespace ridgeline::comparison
