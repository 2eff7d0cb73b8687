#include "attribution/pm_attribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ridgeline/base/statistics.h"

namespace ridgeline::import {

namespace {

// Weights of what is believed before the samples speak, in samples: a bin is like its neighbour in the
// launch, a position like its family, a family does nothing.
constexpr double kTieToNeighbour = 0.1;
constexpr double kTieToFamily = 0.05;
constexpr double kTieToNothing = 1e-3;
constexpr double kMinFreeShare = 0.1;
// Ends of the bins at either end of a launch, in intervals. Ramps and tails take a microsecond or two; finer
// bins than a third of an interval are no longer told apart by the steps of a window.
constexpr double kEdgeIntervals = 0.35;
constexpr double kInnerIntervals = 2;
// The misfit of a launch's own samples counts like so many more samples of the usual misfit.
constexpr double kUsualMisfitSamples = 2;
// Doubt about the split of a sample that several activities share, as a standard deviation: so much of the
// misfit there and so much of the amount. On simulated windows of known truth 1 to 7 % of the values are then
// more than two standard errors off.
constexpr double kDoubtOfMisfit = 0.5;
constexpr double kDoubtOfShared = 0.05;

// Time that something ran: pieces in order, and how much lies before each.
class Busy {
 public:
  explicit Busy(std::span<const PmActivity> activities) {
    for (const PmActivity& each : activities) {
      if (!start_.empty() && each.start_ns <= end_.back()) {
        end_.back() = std::max(end_.back(), each.end_ns);
      } else {
        start_.push_back(each.start_ns);
        end_.push_back(each.end_ns);
      }
    }
    before_.resize(start_.size());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < start_.size(); ++i) {
      before_[i] = sum;
      sum += end_[i] - start_[i];
    }
  }
  [[nodiscard]] bool empty() const { return start_.empty(); }
  // Up to a time. `piece` is where the last call, of an earlier time, left off.
  [[nodiscard]] std::int64_t until(std::int64_t time_ns, std::size_t& piece) const {
    while (piece + 1 < start_.size() && start_[piece + 1] <= time_ns) ++piece;
    return before_[piece] + std::clamp<std::int64_t>(time_ns - start_[piece], 0, end_[piece] - start_[piece]);
  }

 private:
  std::vector<std::int64_t> start_, end_, before_;
};

std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  double sum_a = 0, sum_b = 0, n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i])) continue;
    sum_a += a[i];
    sum_b += b[i];
    ++n;
  }
  if (n < 3) return std::nullopt;
  const double mean_a = sum_a / n, mean_b = sum_b / n;
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i])) continue;
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  if (aa <= 1e-12 * n || bb <= 1e-12 * n) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

}  // namespace

PmShift calibrate_shift(std::span<const PmActivity> kernels, const PmSamples& samples,
                        std::span<const double> active) {
  const Busy busy(kernels);
  if (busy.empty()) return {};
  std::vector<double> share(samples.size());
  const auto at = [&](std::int64_t shift) {
    std::size_t piece = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::int64_t from = samples.start_ns[i] + shift, to = samples.end_ns[i] + shift;
      const std::int64_t before = busy.until(from, piece);
      std::size_t ahead = piece;  // the next sample may begin before this one's last piece
      share[i] = static_cast<double>(busy.until(to, ahead) - before) / static_cast<double>(to - from);
    }
    return correlation(share, active);
  };
  PmShift best;
  const auto search = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
    for (std::int64_t shift = from; shift <= to; shift += step) {
      const auto found = at(shift);
      // Of equally good ones the smallest.
      if (found && (!best.correlation || *found > *best.correlation + 1e-9 ||
                    (*found > *best.correlation - 1e-9 && std::abs(shift) < std::abs(best.shift_ns)))) {
        best = {shift, found};
      }
    }
  };
  search(-kLargestShiftNs, kLargestShiftNs, 500);
  if (!best.correlation) return {};
  const std::int64_t coarse = best.shift_ns;
  search(std::max(coarse - 500, -kLargestShiftNs), std::min(coarse + 500, kLargestShiftNs), 50);
  // No relation at all: a shift found there would be noise.
  if (*best.correlation <= 0) return {};
  return best;
}

Attribution::Attribution(std::span<const PmActivity> activities, const PmSamples& samples)
    : activities_(activities), samples_(samples) {
  std::vector<double> lengths(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    lengths[i] = static_cast<double>(samples.end_ns[i] - samples.start_ns[i]);
  }
  interval_ns_ = std::max(upper_median(std::move(lengths)), 1.0);
  find_concurrent();
  make_shapes();
  make_parts();
  make_systems();
  make_variances();
}

void Attribution::find_concurrent() {
  struct Edge {
    std::int64_t time_ns;
    int change;
  };
  std::vector<Edge> edges;
  edges.reserve(activities_.size() * 2);
  for (const PmActivity& each : activities_) {
    edges.push_back({each.start_ns, 1});
    edges.push_back({each.end_ns, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.change < b.change;
  });
  // Time with two or more running, up to each edge.
  std::vector<std::int64_t> shared(edges.size(), 0);
  int running = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i > 0) shared[i] = shared[i - 1] + (running >= 2 ? edges[i].time_ns - edges[i - 1].time_ns : 0);
    running += edges[i].change;
  }
  const auto until = [&](std::int64_t time_ns) {
    const auto edge = std::lower_bound(edges.begin(), edges.end(), time_ns,
                                       [](const Edge& e, std::int64_t t) { return e.time_ns < t; });
    return shared[static_cast<std::size_t>(edge - edges.begin())];  // an edge lies at every start and end
  };
  concurrent_.resize(activities_.size());
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    const PmActivity& each = activities_[i];
    const double overlapped = static_cast<double>(until(each.end_ns) - until(each.start_ns));
    concurrent_[i] = overlapped > kConcurrentShare * static_cast<double>(each.end_ns - each.start_ns) ? 1 : 0;
  }
}

void Attribution::make_shapes() {
  std::uint32_t positions = 0, families = 0;
  for (const PmActivity& each : activities_) {
    positions = std::max(positions, each.position + 1);
    families = std::max(families, each.family + 1);
  }
  launches_.assign(positions, {});
  for (std::uint32_t i = 0; i < activities_.size(); ++i) launches_[activities_[i].position].push_back(i);
  shapes_.assign(positions, {});
  // A family's positions share their bins' numbers if they have as many.
  std::vector<std::uint32_t> first_of_family(static_cast<std::size_t>(families) * 5, UINT32_MAX);
  family_bin_.clear();
  std::uint32_t family_bins = 0;
  for (std::uint32_t p = 0; p < positions; ++p) {
    if (launches_[p].empty()) continue;
    std::vector<double> durations;
    for (const std::uint32_t i : launches_[p]) {
      durations.push_back(static_cast<double>(activities_[i].end_ns - activities_[i].start_ns));
    }
    Shape& shape = shapes_[p];
    shape.duration_ns = std::max(upper_median(std::move(durations)), 1.0);
    const double intervals = shape.duration_ns / interval_ns_;
    shape.bins = intervals < 1.5 ? 1 : intervals < kLongIntervals ? 2 : intervals < 6 ? 3 : 4;
    shape.first_bin = static_cast<std::uint32_t>(family_bin_.size());
    std::uint32_t& first = first_of_family[activities_[launches_[p].front()].family * 5 + shape.bins];
    if (first == UINT32_MAX) {
      first = family_bins;
      family_bins += shape.bins;
    }
    for (std::uint32_t bin = 0; bin < shape.bins; ++bin) family_bin_.push_back(first + bin);
  }
  bins_ = family_bin_.size();
  family_bins_ = family_bins;
}

namespace {

struct Bin {
  double from, to;  // of the launch, 0..1
  int number;       // -1: not solved
};

// Bins of a launch that takes `intervals`: a short one at each end, for there lie its ramp and its tail; one
// more beside each in a long launch, whose middle is known without solving.
std::vector<Bin> bins_of(std::uint32_t count, double intervals) {
  const double edge = kEdgeIntervals / intervals, inner = kInnerIntervals / intervals;
  switch (count) {
    case 1:
      return {{0, 1, 0}};
    case 2:
      return {{0, 0.5, 0}, {0.5, 1, 1}};
    case 3:
      return {{0, edge, 0}, {edge, 1 - edge, 1}, {1 - edge, 1, 2}};
    default:
      return {
          {0, edge, 0}, {edge, inner, 1}, {inner, 1 - inner, -1}, {1 - inner, 1 - edge, 2}, {1 - edge, 1, 3}};
  }
}

}  // namespace

void Attribution::make_parts() {
  covered_.assign(activities_.size(), 0.0);
  for (std::uint32_t i = 0; i < activities_.size(); ++i) {
    const PmActivity& each = activities_[i];
    const Shape& shape = shapes_[each.position];
    const double length = static_cast<double>(each.end_ns - each.start_ns);
    const std::vector<Bin> bins = bins_of(shape.bins, shape.duration_ns / interval_ns_);
    auto sample = static_cast<std::size_t>(
        std::upper_bound(samples_.end_ns.begin(), samples_.end_ns.end(), each.start_ns) -
        samples_.end_ns.begin());
    for (; sample < samples_.size() && samples_.start_ns[sample] < each.end_ns; ++sample) {
      const double from = static_cast<double>(samples_.start_ns[sample] - each.start_ns) / length;
      const double to = static_cast<double>(samples_.end_ns[sample] - each.start_ns) / length;
      for (const Bin& bin : bins) {
        const double overlap = std::min(to, bin.to) - std::max(from, bin.from);
        if (overlap <= 0) continue;
        covered_[i] += overlap;
        const std::int32_t number =
            bin.number < 0 ? -1 : static_cast<std::int32_t>(shape.first_bin) + bin.number;
        // As long as the position's launches usually are, so that equal work gives equal amounts.
        parts_.push_back(
            {static_cast<std::uint32_t>(sample), i, number, overlap * shape.duration_ns / interval_ns_});
      }
    }
  }
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const Part& a, const Part& b) { return a.sample < b.sample; });
  first_part_.assign(samples_.size() + 1, 0);
  first_of_.assign(activities_.size() + 1, 0);
  for (const Part& part : parts_) {
    ++first_part_[part.sample + 1];
    ++first_of_[part.activity + 1];
  }
  std::partial_sum(first_part_.begin(), first_part_.end(), first_part_.begin());
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  parts_of_.resize(parts_.size());
  std::vector<std::uint32_t> next(first_of_.begin(), first_of_.end());
  for (std::uint32_t p = 0; p < parts_.size(); ++p) parts_of_[next[parts_[p].activity]++] = p;
}

void Attribution::make_systems() {
  gram_ = SparseGram(bins_);
  family_gram_ = SparseGram(family_bins_);
  solved_.assign(samples_.size(), 0);
  std::size_t rows = 0;
  std::vector<SparseGram::Entry> row, family_row;
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    row.clear();
    family_row.clear();
    bool whole = first_part_[s + 1] > first_part_[s];
    for (std::uint32_t p = first_part_[s]; p < first_part_[s + 1] && whole; ++p) {
      whole = parts_[p].bin >= 0;
      if (!whole) break;
      const auto bin = static_cast<std::uint32_t>(parts_[p].bin);
      row.push_back({bin, parts_[p].overlap});
      family_row.push_back({family_bin_[bin], parts_[p].overlap});
    }
    if (!whole) continue;
    solved_[s] = 1;
    ++rows;
    gram_.add(row);
    family_gram_.add(family_row);
  }
  std::size_t seen = 0;
  for (std::uint32_t bin = 0; bin < bins_; ++bin) {
    if (gram_.diagonal(bin) > 0) ++seen;
  }
  free_share_ = rows == 0
                    ? kMinFreeShare
                    : std::max(kMinFreeShare, 1 - static_cast<double>(seen) / static_cast<double>(rows));
  std::vector<std::uint8_t> tied(family_bins_, 0);
  for (const Shape& shape : shapes_) {
    for (std::uint32_t bin = shape.first_bin; bin + 1 < shape.first_bin + shape.bins; ++bin) {
      if (shape.bins == 4 && bin == shape.first_bin + 1) continue;  // the middle lies between
      const SparseGram::Entry tie[] = {{bin, 1}, {bin + 1, -1}};
      gram_.add(tie, kTieToNeighbour);
      if (tied[family_bin_[bin]]++ != 0) continue;
      const SparseGram::Entry family_tie[] = {{family_bin_[bin], 1}, {family_bin_[bin] + 1, -1}};
      family_gram_.add(family_tie, kTieToNeighbour);
    }
  }
  for (std::uint32_t bin = 0; bin < bins_; ++bin) gram_.add_diagonal(bin, kTieToFamily);
  for (std::uint32_t bin = 0; bin < family_bins_; ++bin) family_gram_.add_diagonal(bin, kTieToNothing);
  gram_.seal();
  family_gram_.seal();
}

void Attribution::make_variances() {
  variance_.resize(shapes_.size());
  for (std::size_t p = 0; p < shapes_.size(); ++p) {
    const Shape& shape = shapes_[p];
    if (launches_[p].empty() || shape.bins > 2) continue;
    std::uint32_t at[2];
    double width[2];
    for (std::uint32_t bin = 0; bin < shape.bins; ++bin) {
      at[bin] = shape.first_bin + bin;
      width[bin] = shape.duration_ns / interval_ns_ / shape.bins;
    }
    variance_[p] = inverse_form(gram_, {at, shape.bins}, {width, shape.bins});
  }
}

std::vector<double> Attribution::densities(std::span<const double> amounts) const {
  std::vector<double> of_family(family_bins_), right(family_bins_);
  for (const Part& part : parts_) {
    if (solved_[part.sample] == 0) continue;
    right[family_bin_[static_cast<std::uint32_t>(part.bin)]] += part.overlap * amounts[part.sample];
  }
  solve_nnls(family_gram_, right, of_family);
  std::vector<double> density(bins_);
  right.resize(bins_);
  for (std::size_t bin = 0; bin < bins_; ++bin) {
    density[bin] = of_family[family_bin_[bin]];
    right[bin] = kTieToFamily * density[bin];
  }
  for (const Part& part : parts_) {
    if (solved_[part.sample] == 0) continue;
    right[static_cast<std::uint32_t>(part.bin)] += part.overlap * amounts[part.sample];
  }
  solve_nnls(gram_, right, density);
  return density;
}

std::vector<double> Attribution::shares(std::span<const double> amounts,
                                        std::span<const double> densities) const {
  std::vector<double> result(parts_.size(), 0.0);
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    double sum = 0, time = 0;
    for (std::uint32_t p = first_part_[s]; p < first_part_[s + 1]; ++p) {
      const Part& part = parts_[p];
      const Shape& shape = shapes_[activities_[part.activity].position];
      // The middle of a long launch: between what its inner bins say.
      const double density = part.bin >= 0
                                 ? densities[static_cast<std::size_t>(part.bin)]
                                 : (densities[shape.first_bin + 1] + densities[shape.first_bin + 2]) / 2;
      result[p] = part.overlap * density;
      sum += result[p];
      time += part.overlap;
    }
    for (std::uint32_t p = first_part_[s]; p < first_part_[s + 1]; ++p) {
      result[p] = amounts[s] * (sum > 0 ? result[p] / sum : parts_[p].overlap / time);
    }
  }
  return result;
}

Attribution::Misfit Attribution::misfit(std::span<const double> amounts,
                                        std::span<const double> densities) const {
  Misfit result{std::vector<double>(samples_.size(), 0.0)};
  std::vector<double> relative;
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    if (solved_[s] == 0) continue;
    double fitted = 0;
    for (std::uint32_t p = first_part_[s]; p < first_part_[s + 1]; ++p) {
      fitted += parts_[p].overlap * densities[static_cast<std::size_t>(parts_[p].bin)];
    }
    result.of_sample[s] = amounts[s] - fitted;
    const double level = std::max(std::abs(amounts[s]), fitted);
    if (mixed(s) && level > 0) relative.push_back(std::abs(result.of_sample[s]) / level);
  }
  result.usual = std::min(1.0, kDeviationPerMad * upper_median(relative) / std::sqrt(free_share_));
  return result;
}

Attribution::Own Attribution::own_of(std::size_t activity, std::span<const double> amounts,
                                     std::span<const double> share, std::span<const double> misfit) const {
  Own launch;
  std::uint32_t last = UINT32_MAX;
  double in_sample = 0;
  const auto sample_done = [&] {
    if (last == UINT32_MAX) return;
    const double amount = amounts[last];
    if (mixed(last)) {
      launch.edge_variance += kDoubtOfMisfit * kDoubtOfMisfit * misfit[last] * misfit[last] / free_share_ +
                              kDoubtOfShared * kDoubtOfShared * amount * amount;
    }
    launch.total += in_sample;
    ++launch.samples;
    if (solved_[last] != 0) {
      ++launch.rows;
      launch.misfit += misfit[last] * misfit[last];
      launch.level += amount * amount;
    }
    in_sample = 0;
  };
  for (std::uint32_t k = first_of_[activity]; k < first_of_[activity + 1]; ++k) {
    const std::uint32_t p = parts_of_[k];
    if (parts_[p].sample != last) sample_done();
    last = parts_[p].sample;
    if (concurrent_[activity] != 0) {  // the interval's, whoever did it
      const Shape& shape = shapes_[activities_[activity].position];
      const double real = parts_[p].overlap / (shape.duration_ns / interval_ns_) *
                          static_cast<double>(activities_[activity].end_ns - activities_[activity].start_ns);
      in_sample +=
          amounts[last] * real / static_cast<double>(samples_.end_ns[last] - samples_.start_ns[last]);
    } else {
      in_sample += share[p];
    }
  }
  sample_done();
  const double covered = covered_[activity];
  launch.usable = covered >= kMinCoveredShare;
  if (launch.usable) {
    launch.total /= covered;
    launch.edge_variance /= covered * covered;
    // What no sample saw counts like what they did see, and may have been nothing: tails are thinner than the middle.
    const double unseen = launch.total * std::max(0.0, 1 - covered);
    launch.edge_variance += unseen * unseen;
  }
  return launch;
}

void Attribution::combine(std::size_t position, std::span<const Own> own, double usual_misfit,
                          std::vector<std::optional<PmValue>>& result) const {
  double sum = 0, squares = 0, misfits = 0, level = 0;
  std::int32_t n = 0, rows = 0, samples = 0;
  for (const std::uint32_t i : launches_[position]) {
    if (!own[i].usable || concurrent_[i] != 0) continue;
    sum += own[i].total;
    ++n;
    samples += own[i].samples;
    rows += own[i].rows;
    misfits += own[i].misfit;
    level += own[i].level;
  }
  const double mean = n > 0 ? sum / n : 0;
  for (const std::uint32_t i : launches_[position]) {
    if (own[i].usable && concurrent_[i] == 0) squares += (own[i].total - mean) * (own[i].total - mean);
  }
  const double spread = n > 1 ? squares / (n - 1) : 0;
  const bool pooled = shapes_[position].bins < 3;
  double pooled_variance = 0;
  if (pooled && n > 0) {
    const double usual = rows > 0 ? usual_misfit * usual_misfit * level / rows : 0;
    const double local = (misfits / free_share_ + kUsualMisfitSamples * usual) / (rows + kUsualMisfitSamples);
    pooled_variance = spread / n + local * variance_[position];
  }
  for (const std::uint32_t i : launches_[position]) {
    if (!own[i].usable) continue;
    PmValue value;
    value.concurrent = concurrent_[i] != 0;
    value.pooled = pooled && !value.concurrent;
    value.total = value.pooled ? mean : own[i].total;
    value.samples = value.pooled ? samples : own[i].samples;
    const double variance =
        value.pooled ? pooled_variance : std::max(value.concurrent ? 0 : spread, own[i].edge_variance);
    if (std::isfinite(variance)) value.error = std::sqrt(variance);
    result[i] = value;
  }
}

std::vector<std::optional<PmValue>> Attribution::values(std::span<const double> amounts) const {
  const std::vector<double> density = densities(amounts);
  const std::vector<double> share = shares(amounts, density);
  const Misfit fit = misfit(amounts, density);
  std::vector<Own> own;
  own.reserve(activities_.size());
  for (std::size_t i = 0; i < activities_.size(); ++i)
    own.push_back(own_of(i, amounts, share, fit.of_sample));
  std::vector<std::optional<PmValue>> result(activities_.size());
  for (std::size_t position = 0; position < launches_.size(); ++position)
    combine(position, own, fit.usual, result);
  return result;
}

std::vector<std::optional<PmValue>> Attribution::means(std::span<const double> rates) const {
  std::vector<std::optional<PmValue>> result(activities_.size());
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    if (covered_[i] < kMinCoveredShare) continue;
    PmValue value;
    double time = 0, sum = 0, squares = 0;
    std::uint32_t last = UINT32_MAX;
    for (std::uint32_t k = first_of_[i]; k < first_of_[i + 1]; ++k) {
      const Part& part = parts_[parts_of_[k]];
      if (part.sample != last) ++value.samples;
      last = part.sample;
      time += part.overlap;
      sum += part.overlap * rates[last];
      squares += part.overlap * rates[last] * rates[last];
    }
    value.total = sum / time;
    value.concurrent = concurrent_[i] != 0;
    value.error = std::sqrt(std::max(0.0, squares / time - value.total * value.total) / value.samples);
    result[i] = value;
  }
  return result;
}

}  // namespace ridgeline::import
