#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "ridgeline/base/statistics.h"
#include "ridgeline/comparison/history.h"

namespace ridgeline::comparison {
namespace {

using Order = std::vector<std::uint32_t>;  // runs

// Of a long series so many levels and places are looked at: what a permutation costs grows with the runs alone then.
constexpr std::size_t kMaxLevels = 64;
constexpr std::size_t kMaxPlaces = 48;
constexpr std::uint8_t kAbsent = UINT8_MAX;

struct Split {
  std::size_t at = 0;  // values before it
  double share = -1;   // of the series' dispersion: 0 to 1
};

// Neighbouring runs of one series, which may hold a change. The energy distance of two parts is, in one dimension,
// 2∫(F−G)² over their distribution functions: a sum over the gaps between sorted values.
class Segment {
 public:
  Segment(std::size_t series, Order runs, const std::vector<double>& values)
      : series_(series), runs_(std::move(runs)), level_of_(values.size(), kAbsent) {
    std::vector<double> sorted;
    for (const std::uint32_t run : runs_) sorted.push_back(values[run]);
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const std::size_t levels = std::min(n, kMaxLevels);
    std::vector<double> tops;  // the largest value of each level
    for (std::size_t k = 0; k < levels; ++k) tops.push_back(sorted[(k + 1) * n / levels - 1]);
    for (const std::uint32_t run : runs_) {
      const auto level = std::lower_bound(tops.begin(), tops.end(), values[run]) - tops.begin();
      level_of_[run] = static_cast<std::uint8_t>(level);
    }
    below_.assign(levels, 0);
    for (const std::uint32_t run : runs_) ++below_[level_of_[run]];
    std::partial_sum(below_.begin(), below_.end(), below_.begin());
    double dispersion = 0;
    for (std::size_t k = 0; k < levels; ++k) {
      // The last level's function is 1 on both sides.
      gaps_.push_back(k + 1 < levels ? tops[k + 1] - tops[k] : 0);
      const double share = below_[k] / static_cast<double>(n);
      dispersion += gaps_[k] * share * (1 - share);
    }
    const double scale = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
    varies_ = dispersion > 1e-12 * std::max(scale, 1e-300);
    if (varies_) {
      for (double& gap : gaps_) gap /= dispersion;
    }
    const std::size_t stride = n <= kMaxLevels ? 1 : (n + kMaxPlaces - 1) / kMaxPlaces;
    stride_ = stride;
  }

  [[nodiscard]] std::size_t series() const { return series_; }
  [[nodiscard]] const Order& runs() const { return runs_; }

  /// The best place with the runs in that order, of which others than this segment's are passed over; of a long
  /// series' places those of a grid.
  [[nodiscard]] Split best_of_grid(const Order& order, std::size_t least) const {
    return best(order, least, stride_);
  }
  /// Likewise of all places.
  [[nodiscard]] Split best_of_all(const Order& order, std::size_t least) const {
    return best(order, least, 1);
  }

 private:
  [[nodiscard]] Split best(const Order& order, std::size_t least, std::size_t stride) const {
    Split found;
    const std::size_t n = runs_.size();
    if (!varies_ || n < 2 * least) return found;
    std::array<double, kMaxLevels> inside{};
    std::size_t at = 0;
    for (const std::uint32_t run : order) {
      const std::uint8_t level = level_of_[run];
      if (level == kAbsent) continue;
      inside[level] += 1;
      ++at;
      if (at < least || at + least > n || (at - least) % stride != 0) continue;
      const double part = static_cast<double>(at) / static_cast<double>(n);
      double sum = 0, cumulated = 0;
      for (std::size_t k = 0; k < gaps_.size(); ++k) {
        cumulated += inside[k];
        const double excess = cumulated - part * below_[k];
        sum += gaps_[k] * excess * excess;
      }
      const double share = sum / (static_cast<double>(at) * static_cast<double>(n - at));
      if (share > found.share) found = {at, share};
    }
    return found;
  }

  std::size_t series_;
  Order runs_;
  std::vector<std::uint8_t> level_of_;  // by run
  std::vector<double> below_;           // values up to each level
  std::vector<double> gaps_;            // between a level and the next, over the dispersion
  std::size_t stride_ = 1;
  bool varies_ = false;
};

struct Found {
  std::size_t run;
  double p;
};

class Divider {
 public:
  Divider(const std::vector<std::vector<double>>& series, const ChangeOptions& options)
      : series_(series), options_(options), found_(series.size()) {
    options_.least = std::max<std::size_t>(1, options_.least);
  }

  std::vector<std::vector<ChangePoint>> divide() {
    std::vector<Segment> segments;
    for (std::size_t s = 0; s < series_.size(); ++s) {
      Order runs;
      for (std::size_t r = 0; r < series_[s].size(); ++r) {
        if (std::isfinite(series_[s][r])) runs.push_back(static_cast<std::uint32_t>(r));
      }
      add_segment(segments, s, std::move(runs));
    }
    for (std::uint64_t depth = 0; !segments.empty(); ++depth) segments = divided(segments, depth);
    std::vector<std::vector<ChangePoint>> changes;
    for (std::size_t s = 0; s < series_.size(); ++s) changes.push_back(taken(s));
    return changes;
  }

 private:
  void add_segment(std::vector<Segment>& segments, std::size_t series, Order runs) const {
    if (runs.size() >= 2 * options_.least) segments.emplace_back(series, std::move(runs), series_[series]);
  }

  // Tests all segments together; both sides of those that have a change.
  std::vector<Segment> divided(const std::vector<Segment>& segments, std::uint64_t depth) {
    Order order(series_.front().size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<double> observed;
    for (const Segment& segment : segments)
      observed.push_back(segment.best_of_grid(order, options_.least).share);
    // From the strongest down, each is tested against the largest of those that are not stronger.
    std::vector<std::size_t> rank(segments.size());
    std::iota(rank.begin(), rank.end(), std::size_t{0});
    std::stable_sort(rank.begin(), rank.end(), [&](auto x, auto y) { return observed[x] > observed[y]; });
    std::vector<int> as_large(segments.size(), 1);
    const Order in_time = order;
    std::mt19937_64 random(1'000'003 * (depth + 1) + order.size());
    for (int i = 0; i < options_.permutations; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      double largest = -1;
      for (auto at = rank.rbegin(); at != rank.rend(); ++at) {
        largest = std::max(largest, segments[*at].best_of_grid(order, options_.least).share);
        as_large[*at] += largest >= observed[*at] - 1e-12;
      }
    }
    std::vector<Segment> rest;
    double p = 0;
    for (const std::size_t i : rank) {
      p = std::max(p, as_large[i] / (options_.permutations + 1.0));
      if (p > options_.significance || observed[i] <= 0) break;
      const Segment& segment = segments[i];
      const auto at = segment.runs().begin() +
                      static_cast<std::ptrdiff_t>(segment.best_of_all(in_time, options_.least).at);
      found_[segment.series()].push_back({*at, p});
      add_segment(rest, segment.series(), Order(segment.runs().begin(), at));
      add_segment(rest, segment.series(), Order(at, segment.runs().end()));
    }
    return rest;
  }

  // Those that are smaller than `min_ratio` are taken back, the smallest first: their segments are one.
  std::vector<ChangePoint> taken(std::size_t series) {
    std::vector<Found>& found = found_[series];
    std::sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.run < y.run; });
    std::vector<ChangePoint> points;
    for (const Found& one : found) points.push_back({one.run, 0, 0, one.p});
    const std::vector<double>& values = series_[series];
    while (true) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t next = i + 1 < points.size() ? points[i + 1].at : values.size();
        points[i].before = of(values, begin, points[i].at);
        points[i].after = of(values, points[i].at, next);
        begin = points[i].at;
      }
      const auto size = [](const ChangePoint& point) {
        return std::abs(point.after - point.before) / std::max(std::abs(point.before), 1e-300);
      };
      const auto smallest =
          std::min_element(points.begin(), points.end(),
                           [&](const ChangePoint& x, const ChangePoint& y) { return size(x) < size(y); });
      if (smallest == points.end() || size(*smallest) >= options_.min_ratio) return points;
      points.erase(smallest);
    }
  }

  [[nodiscard]] static double of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
    std::vector<double> part;
    for (std::size_t i = begin; i < end; ++i) {
      if (std::isfinite(values[i])) part.push_back(values[i]);
    }
    return median(part);
  }

  const std::vector<std::vector<double>>& series_;
  ChangeOptions options_;
  std::vector<std::vector<Found>> found_;
};

}  // namespace

std::vector<std::vector<ChangePoint>> joint_change_points(const std::vector<std::vector<double>>& series,
                                                          const ChangeOptions& options) {
  if (series.empty()) return {};
  return Divider(series, options).divide();
}

std::vector<ChangePoint> change_points(const std::vector<double>& values, const ChangeOptions& options) {
  return joint_change_points({values}, options).front();
}

}  // namespace ridgeline::comparison
