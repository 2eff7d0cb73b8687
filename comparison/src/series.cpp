#include "series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

std::vector<double> levels(const std::vector<double>& values, const std::vector<double>& offsets,
                           double unit) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(unit > 0 ? values[i] / unit : std::log(values[i]) - (offsets.empty() ? 0 : offsets[i]));
  return result;
}

std::vector<double> first(std::vector<double> values, std::size_t count) {
  values.resize(std::min(values.size(), count));
  return values;
}

}  // namespace

bool Series::usable() const {
  const auto all = [&](auto is) {
    return std::all_of(a.begin(), a.end(), is) && std::all_of(b.begin(), b.end(), is);
  };
  if (a.empty() || b.empty() || !all([](double value) { return std::isfinite(value); })) return false;
  if (unit > 0) return !all([](double value) { return value == 0; });
  return all([](double value) { return value > 0; });
}

std::vector<double> Series::levels_a() const {
  return levels(a, offset_a, unit);
}
std::vector<double> Series::levels_b() const {
  return levels(b, offset_b, unit);
}

std::vector<double> Series::differences() const {
  const auto of_a = levels_a();
  const auto of_b = levels_b();
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) result.push_back(of_b[i] - of_a[i]);
  return result;
}

std::optional<Sample> sample_of(const Series& series, const RunLayout& layout) {
  if (!series.usable()) return std::nullopt;
  if (layout.paired) return paired_sample(first(series.differences(), layout.tested()));
  return two_samples(series.levels_a(), series.levels_b());
}

double mean_difference(const Series& series, const RunLayout& layout) {
  if (!series.usable()) return 0;
  if (layout.paired) return mean(first(series.differences(), layout.tested()));
  return mean(series.levels_b()) - mean(series.levels_a());
}

std::optional<double> confirmation_difference(const Series& series, const RunLayout& layout) {
  if (layout.confirmation == 0 || !series.usable()) return std::nullopt;
  std::vector<double> values = series.differences();
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(layout.tested()));
  return mean(values);
}

namespace {

// The ratio of B to A that a difference of the levels means.
double ratio_of(double difference, double unit, double a) {
  return unit > 0 ? difference * unit / a : std::expm1(difference);
}

ChangeInterval interval_of(const Sample& sample, double alpha, double unit, double a) {
  const double width = half_width(sample, alpha);
  const double one = ratio_of(sample.mean - width, unit, a);
  const double other = ratio_of(sample.mean + width, unit, a);
  return {std::min(one, other), std::max(one, other)};
}

double mean_value(const std::vector<double>& values, bool geometric) {
  if (!geometric) return mean(values);
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

void take_equivalence_interval(Change& change, const Sample& sample, double equivalence_alpha, double unit) {
  if (unit > 0 && change.a <= 0) return;
  // Two one-sided tests at alpha are an interval of 1 - 2 alpha.
  change.interval = interval_of(sample, 2 * equivalence_alpha, unit, change.a);
  change.interval_level = 1 - 2 * equivalence_alpha;
}

Change change_of(const Series& series, const RunLayout& layout, const std::optional<Sample>& sample,
                 const Demand& demand) {
  Change change;
  const bool usable = series.usable();
  const bool linear = series.unit > 0;
  const auto tested = [&](const std::vector<double>& values) {
    return mean_value(first(values, layout.paired ? layout.tested() : values.size()), usable && !linear);
  };
  if (!series.a.empty()) change.a = tested(series.a);
  if (!series.b.empty()) change.b = tested(series.b);
  change.delta = change.b - change.a;
  if (!usable || linear) {
    if (change.a != 0)
      change.ratio = change.b / change.a - 1;
    else if (change.b != 0)
      change.ratio = std::numeric_limits<double>::infinity();
    if (!usable) return change;
  } else {
    change.ratio = std::expm1(mean_difference(series, layout));
  }
  if (layout.paired && !linear) {
    for (const double difference : series.differences()) change.pair_ratios.push_back(std::expm1(difference));
  }
  if (!sample) return change;
  const double margin = linear ? demand.margin_ratio : std::log1p(demand.margin_ratio);
  change.p = demand.beyond_margin ? p_value_beyond(*sample, margin) : p_value(*sample);
  change.same_p = p_value_within(*sample, margin);
  if (layout.paired)
    change.pairs_needed = pairs_needed(sample->variance, demand.prior_freedom, margin, demand.alpha);
  if (linear && change.a <= 0) return change;  // a ratio of nothing says nothing
  change.interval = interval_of(*sample, demand.alpha, series.unit, change.a);
  change.interval_level = 1 - demand.alpha;
  change.detectable_ratio = std::abs(ratio_of(detectable_mean(*sample, demand.alpha), series.unit, change.a));
  return change;
}

}  // namespace ridgeline::comparison
