#include "modes.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

// Fewer kernels do not say how a run as a whole went.
constexpr std::size_t kMinKernels = 5;
// Two heaps: farther apart than so many deviations of the typical kernel, and than so many widths of either.
constexpr double kDeviations = 4;
constexpr double kWidths = 1.5;
// More sorted kernels than that are to be expected: none that might be one is blamed.
constexpr double kExpected = 0.05;
// A larger change is none of those modes.
constexpr double kBeyondModes = 1.5;

// ln of a kernel's time in each run, A's first, less its median.
std::vector<double> centred(const Series& series) {
  std::vector<double> values;
  for (const auto* side : {&series.a, &series.b}) {
    for (const double value : *side) values.push_back(std::log(value));
  }
  const double centre = median(values);
  for (double& value : values) value -= centre;
  return values;
}

double deviation_within_sides(const std::vector<double>& values, std::size_t of_a) {
  double sum = 0;
  const auto add = [&](auto begin, auto end) {
    const double centre = mean(std::vector<double>(begin, end));
    for (auto at = begin; at != end; ++at) sum += (*at - centre) * (*at - centre);
  };
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(of_a);
  add(values.begin(), middle);
  add(middle, values.end());
  return std::sqrt(sum / static_cast<double>(values.size() - 2));
}

// The distance between the heaps if runs of one side are in both; 0: no such heaps.
double distance_of_clusters(const std::vector<double>& values, std::size_t of_a, double least) {
  std::vector<std::pair<double, bool>> sorted;
  for (std::size_t i = 0; i < values.size(); ++i) sorted.emplace_back(values[i], i < of_a);
  std::sort(sorted.begin(), sorted.end());
  std::size_t split = 0;
  double gap = 0;
  for (std::size_t i = 2; i + 2 <= sorted.size(); ++i) {
    if (sorted[i].first - sorted[i - 1].first > gap) {
      gap = sorted[i].first - sorted[i - 1].first;
      split = i;
    }
  }
  if (split == 0 || gap < least) return 0;
  const double width =
      std::max(sorted[split - 1].first - sorted.front().first, sorted.back().first - sorted[split].first);
  if (gap < kWidths * width) return 0;
  const auto end_of_low = sorted.begin() + static_cast<std::ptrdiff_t>(split);
  const auto low_a = static_cast<std::size_t>(
      std::count_if(sorted.begin(), end_of_low, [](const auto& value) { return value.second; }));
  const bool a_in_both = low_a > 0 && low_a < of_a;
  const std::size_t low_b = split - low_a;
  const bool b_in_both = low_b > 0 && low_b < values.size() - of_a;
  return a_in_both || b_in_both ? gap : 0;
}

}  // namespace

KernelModes find_modes(const std::vector<const Series*>& kernels, double least) {
  KernelModes modes;
  modes.mixed.resize(kernels.size());
  if (kernels.size() < kMinKernels) return modes;
  const std::size_t of_a = kernels.front()->a.size();
  const std::size_t runs = of_a + kernels.front()->b.size();
  if (of_a < 2 || runs - of_a < 2) return modes;
  std::vector<std::vector<double>> values;
  for (const Series* kernel : kernels) values.push_back(centred(*kernel));
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<std::pair<double, double>> weighted;
    for (std::size_t k = 0; k < kernels.size(); ++k)
      weighted.emplace_back(values[k][run], median(kernels[k]->a));
    const double level = weighted_median(weighted).value_or(0);
    for (auto& of_kernel : values) of_kernel[run] -= level;
  }
  std::vector<double> deviations;
  for (const auto& of_kernel : values) deviations.push_back(deviation_within_sides(of_kernel, of_a));
  const double apart = std::max(least, kDeviations * median(deviations));
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double distance = distance_of_clusters(values[k], of_a, apart);
    if (distance == 0) continue;
    modes.mixed[k] = true;
    ++modes.seen;
    modes.widest = std::max(modes.widest, distance);
  }
  modes.expected = static_cast<double>(modes.seen) * std::exp2(1 - static_cast<double>(runs));
  return modes;
}

bool may_be_modes(const KernelModes& modes, double difference) {
  return modes.expected > kExpected && std::abs(difference) <= kBeyondModes * modes.widest;
}

}  // namespace ridgeline::comparison
