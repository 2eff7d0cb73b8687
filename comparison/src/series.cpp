#include "series.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

std::vector<double> logs(const std::vector<double>& values, const std::vector<double>& offsets) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(std::log(values[i]) - (offsets.empty() ? 0 : offsets[i]));
  return result;
}

std::vector<double> first(std::vector<double> values, std::size_t count) {
  values.resize(std::min(values.size(), count));
  return values;
}

}  // namespace

bool Series::usable() const {
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  return !a.empty() && !b.empty() && std::all_of(a.begin(), a.end(), positive) &&
         std::all_of(b.begin(), b.end(), positive);
}

std::vector<double> Series::logs_a() const {
  return logs(a, offset_a);
}
std::vector<double> Series::logs_b() const {
  return logs(b, offset_b);
}

std::vector<double> Series::differences() const {
  const auto of_a = logs_a();
  const auto of_b = logs_b();
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) result.push_back(of_b[i] - of_a[i]);
  return result;
}

std::optional<Sample> sample_of(const Series& series, const RunLayout& layout) {
  if (!series.usable()) return std::nullopt;
  if (layout.paired) return paired_sample(first(series.differences(), layout.tested()));
  return two_samples(series.logs_a(), series.logs_b());
}

double mean_difference(const Series& series, const RunLayout& layout) {
  if (!series.usable()) return 0;
  if (layout.paired) return mean(first(series.differences(), layout.tested()));
  return mean(series.logs_b()) - mean(series.logs_a());
}

std::optional<double> confirmation_difference(const Series& series, const RunLayout& layout) {
  if (layout.confirmation == 0 || !series.usable()) return std::nullopt;
  std::vector<double> values = series.differences();
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(layout.tested()));
  return mean(values);
}

void take_equivalence_interval(Change& change, const Sample& sample, double equivalence_alpha) {
  // Two one-sided tests at alpha are an interval of 1 - 2 alpha.
  const double centre = std::log1p(change.ratio);
  const double width = half_width(sample, 2 * equivalence_alpha);
  change.interval = ChangeInterval{std::expm1(centre - width), std::expm1(centre + width)};
  change.interval_level = 1 - 2 * equivalence_alpha;
}

Change change_of(const Series& series, const RunLayout& layout, const std::optional<Sample>& sample,
                 const Demand& demand) {
  Change change;
  if (!series.a.empty())
    change.a = median(first(series.a, layout.paired ? layout.tested() : series.a.size()));
  if (!series.b.empty())
    change.b = median(first(series.b, layout.paired ? layout.tested() : series.b.size()));
  change.delta = change.b - change.a;
  if (!series.usable()) {
    if (change.a > 0) change.ratio = change.b / change.a - 1;
    return change;
  }
  const double centre = mean_difference(series, layout);
  change.ratio = std::expm1(centre);
  if (layout.paired) {
    for (const double difference : series.differences()) change.pair_ratios.push_back(std::expm1(difference));
  }
  if (!sample) return change;
  const double margin = std::log1p(demand.margin_ratio);
  const double width = half_width(*sample, demand.alpha);
  change.interval = ChangeInterval{std::expm1(centre - width), std::expm1(centre + width)};
  change.interval_level = 1 - demand.alpha;
  change.p = demand.beyond_margin ? p_value_beyond(*sample, margin) : p_value(*sample);
  change.same_p = p_value_within(*sample, margin);
  change.detectable_ratio = std::expm1(detectable_mean(*sample, demand.alpha));
  if (layout.paired)
    change.pairs_needed = pairs_needed(sample->variance, demand.prior_freedom, margin, demand.alpha);
  return change;
}

}  // namespace ridgeline::comparison
