#include "history_newest.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "history_cards.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

constexpr std::size_t kMostBefore = 20;
// What runs of identical code are taken to differ by until a history has seen more, and what that guess weighs, in
// runs.
constexpr double kUsualDeviation = 0.005;
constexpr double kUsualFreedom = 3;
constexpr double kConfident = 0.975;     // one-sided: 1 in 20 of both sides
constexpr double kLeastRatio = 0.005;    // what does not matter
constexpr std::size_t kMostKernels = 5;  // named

struct Judged {
  NewestChange change;
  double p = 1;  // two-sided
  double spread = 0;
  std::size_t before = 0;
  bool other_cards = false;
};

// A single run that was disturbed, or ran other code, hides what the others show: a value is moved to four
// deviations of its card's median, as far as there are enough to say what is far.
std::vector<double> without_outliers(const std::vector<double>& logs, std::span<const std::size_t> cards,
                                     const std::vector<std::size_t>& runs) {
  constexpr double kFar = 4;
  constexpr double kOfNormal = 1.4826;  // standard deviations in a median absolute deviation
  constexpr std::size_t kEnough = 4;
  std::map<std::size_t, std::vector<double>> of_card;
  for (const std::size_t i : runs) of_card[cards[i]].push_back(logs[i]);
  std::vector<double> result;
  for (const std::size_t i : runs) {
    const std::vector<double>& mates = of_card[cards[i]];
    const double centre = median(mates);
    const double far = kFar * std::max(kUsualDeviation, kOfNormal * median_absolute_deviation(mates));
    result.push_back(mates.size() < kEnough ? logs[i] : std::clamp(logs[i], centre - far, centre + far));
  }
  return result;
}

// The difference of the newest value and the mean of those before it, against what values differ by: Student's t with
// a variance that begins with a guess, so that two runs give an answer, if a careful one.
std::optional<Judged> judged(const NewestSeries& series, std::span<const std::size_t> cards) {
  const std::size_t newest = series.logs.size() - 1;
  const double value = series.logs[newest];
  if (!std::isfinite(value)) return std::nullopt;
  std::vector<std::size_t> before;
  for (std::size_t i = newest; i-- > series.since && before.size() < kMostBefore;) {
    if (std::isfinite(series.logs[i])) before.push_back(i);
  }
  if (before.empty()) return std::nullopt;
  const std::vector<double> clipped = without_outliers(series.logs, cards, before);
  std::map<std::size_t, std::vector<double>> of_card;
  for (std::size_t i = 0; i < before.size(); ++i) of_card[cards[before[i]]].push_back(clipped[i]);
  double squares = 0, freedom = 0;
  for (const auto& [card, logs] : of_card) {
    const double centre = mean(logs);
    for (const double log : logs) squares += (log - centre) * (log - centre);
    freedom += static_cast<double>(logs.size() - 1);
  }
  const double variance =
      (kUsualFreedom * kUsualDeviation * kUsualDeviation + squares) / (kUsualFreedom + freedom);
  Judged result;
  result.spread = std::sqrt(variance);
  std::vector<double> logs;
  double error = 0;
  if (const auto own = of_card.find(cards[newest]); own != of_card.end()) {
    logs = own->second;
    error = variance * (1 + 1 / static_cast<double>(logs.size()));
  } else {
    logs = clipped;
    const double card = card_noise(series.logs, cards).card;
    error = variance * (1 + 1 / static_cast<double>(logs.size())) +
            card * card * (1 + 1 / static_cast<double>(of_card.size()));
    result.other_cards = true;
  }
  result.before = logs.size();
  const double difference = value - mean(logs);
  const double deviation = std::sqrt(error);
  const boost::math::students_t student(kUsualFreedom + freedom);
  const double half = boost::math::quantile(student, kConfident) * deviation;
  result.p = 2 * boost::math::cdf(student, -std::abs(difference) / deviation);
  result.change.series = series.name;
  result.change.value_ns = std::exp(value);
  result.change.before_ns = std::exp(median(logs));
  result.change.ratio = std::expm1(difference);
  result.change.low_ratio = std::expm1(difference - half);
  result.change.high_ratio = std::expm1(difference + half);
  result.change.confidence = 1 - result.p;
  return result;
}

bool is_certain(const NewestChange& change) {
  return change.confidence >= 2 * kConfident - 1 && std::abs(change.ratio) >= kLeastRatio;
}

}  // namespace

NewestRun newest_run(std::span<const NewestSeries> series, std::span<const std::size_t> cards) {
  NewestRun run;
  const std::optional<Judged> step = judged(series.front(), cards);
  if (!step) return run;
  run.runs_before = step->before;
  run.other_cards = step->other_cards;
  run.spread_ratio = step->spread;
  run.step = step->change;
  if (is_certain(*run.step))
    run.verdict = run.step->ratio > 0 ? NewestVerdict::slower : NewestVerdict::faster;
  std::vector<Judged> kernels;
  for (const NewestSeries& one : series.subspan(1)) {
    if (std::optional<Judged> kernel = judged(one, cards)) kernels.push_back(std::move(*kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const Judged& x, const Judged& y) { return x.p < y.p; });
  double p = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    p = std::max(p, std::min(1.0, kernels[i].p * static_cast<double>(kernels.size() - i)));
    kernels[i].change.confidence = 1 - p;
    if (is_certain(kernels[i].change)) run.kernels.push_back(kernels[i].change);
  }
  std::stable_sort(run.kernels.begin(), run.kernels.end(), [](const NewestChange& x, const NewestChange& y) {
    return std::abs(x.value_ns - x.before_ns) > std::abs(y.value_ns - y.before_ns);
  });
  if (run.kernels.size() > kMostKernels) run.kernels.resize(kMostKernels);
  return run;
}

}  // namespace ridgeline::comparison
