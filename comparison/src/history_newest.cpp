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

constexpr std::size_t kMaxRunsBefore = 20;
// Differences of runs say how runs differ from this many degrees of freedom on. Before, what they say is as good as
// nothing, and runs are taken to differ by the guess, or by what the two there are do if that is more.
constexpr double kEnoughFreedom = 2;
constexpr double kGuessedDeviation = 0.01;
// Machines differ, so that the guess is worth this many degrees of freedom only: on one of twice its noise identical
// code is called slower or faster in 1 of 20 cases still.
constexpr double kGuessedFreedom = 2.5;
constexpr double kGuessedKernelFreedom = 3;  // where Holm asks for more than of the step
constexpr double kInterval = 0.975;          // one-sided, of the interval
// One-sided: below 1 in 20 of both sides, runs being not quite normal; of what is guessed the guess has room for that.
constexpr double kConfident = 0.9825, kConfidentOfGuess = 0.98;
constexpr double kConfidentAlone = 0.995;  // of a kernel in a step that is not called
constexpr double kMinRatio = 0.005;        // what does not matter
constexpr double kMinDeviation = 0.0005;   // runs that agree to the last digit are luck, or rounded
constexpr std::size_t kMaxKernels = 5;     // named

struct Judged {
  NewestChange change;
  double p = 1;  // two-sided
  double spread = 0;
  bool guessed = false;  // what runs differ by
  std::size_t before = 0;
  bool other_cards = false;
};

using ByCard = std::map<std::size_t, std::vector<double>>;  // logarithms

// A single run that was disturbed, or ran other code, hides what the others show: a value is moved to four
// deviations of its card's median, as far as there are enough to say what is far.
std::vector<double> without_outliers(const std::vector<double>& logs, std::span<const std::size_t> cards,
                                     const std::vector<std::size_t>& runs) {
  constexpr double kFar = 4;
  constexpr double kMinSpread = 0.001;
  constexpr double kOfNormal = 1.4826;  // standard deviations in a median absolute deviation
  constexpr std::size_t kEnough = 8;
  ByCard of_card;
  for (const std::size_t i : runs) of_card[cards[i]].push_back(logs[i]);
  std::vector<double> result;
  for (const std::size_t i : runs) {
    const std::vector<double>& mates = of_card[cards[i]];
    const double centre = median(mates);
    const double far = kFar * std::max(kMinSpread, kOfNormal * median_absolute_deviation(mates));
    result.push_back(mates.size() < kEnough ? logs[i] : std::clamp(logs[i], centre - far, centre + far));
  }
  return result;
}

// What values of identical code differ by.
struct Spread {
  double variance = 0;
  double freedom = 0;  // of Student's t
  bool guessed = false;
};

Spread spread_of(const ByCard& of_card, double guessed_freedom) {
  double squares = 0, freedom = 0, widest = 0;
  for (const auto& [card, logs] : of_card) {
    const double centre = mean(logs);
    for (const double log : logs) squares += (log - centre) * (log - centre);
    freedom += static_cast<double>(logs.size() - 1);
    const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
    widest = std::max(widest, *high - *low);
  }
  if (freedom >= kEnoughFreedom)
    return {std::max(squares / freedom, kMinDeviation * kMinDeviation), freedom, false};
  const double deviation = std::max(kGuessedDeviation, widest);
  return {deviation * deviation, guessed_freedom, true};
}

double quantile_of(const Spread& spread, double probability) {
  return boost::math::quantile(boost::math::students_t(spread.freedom), probability);
}
double two_sided_p(const Spread& spread, double deviations) {
  const double below = -std::abs(deviations);
  return 2 * boost::math::cdf(boost::math::students_t(spread.freedom), below);
}

// The difference of the newest value and the mean of those before it, against what such differences are by chance: the
// prediction interval of one more value.
std::optional<Judged> judged(const NewestSeries& series, std::span<const std::size_t> cards,
                             double guessed_freedom) {
  const std::size_t newest = series.logs.size() - 1;
  const double value = series.logs[newest];
  if (!std::isfinite(value)) return std::nullopt;
  std::vector<std::size_t> before;
  for (std::size_t i = newest; i-- > series.since && before.size() < kMaxRunsBefore;) {
    if (std::isfinite(series.logs[i])) before.push_back(i);
  }
  if (before.empty()) return std::nullopt;
  const std::vector<double> clipped = without_outliers(series.logs, cards, before);
  ByCard of_card;
  for (std::size_t i = 0; i < before.size(); ++i) of_card[cards[before[i]]].push_back(clipped[i]);
  const Spread spread = spread_of(of_card, guessed_freedom);
  const double variance = spread.variance;
  Judged result;
  result.spread = std::sqrt(variance);
  result.guessed = spread.guessed;
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
  const double half = quantile_of(spread, kInterval) * deviation;
  result.p = two_sided_p(spread, difference / deviation);
  result.change.series = series.name;
  result.change.value_ns = std::exp(value);
  result.change.before_ns = std::exp(median(logs));
  result.change.ratio = std::expm1(difference);
  result.change.low_ratio = std::expm1(difference - half);
  result.change.high_ratio = std::expm1(difference + half);
  result.change.confidence = 1 - result.p;
  return result;
}

bool is_certain(const NewestChange& change, double one_sided) {
  return change.confidence >= 2 * one_sided - 1 && std::abs(change.ratio) >= kMinRatio;
}

}  // namespace

NewestRun newest_run(std::span<const NewestSeries> series, std::span<const std::size_t> cards) {
  NewestRun run;
  const std::optional<Judged> step = judged(series.front(), cards, kGuessedFreedom);
  if (!step) return run;
  run.runs_before = step->before;
  run.other_cards = step->other_cards;
  run.spread_ratio = step->spread;
  run.spread_guessed = step->guessed;
  run.step = step->change;
  const double confident_of_step = step->guessed ? kConfidentOfGuess : kConfident;
  if (is_certain(*run.step, confident_of_step))
    run.verdict = run.step->ratio > 0 ? NewestVerdict::slower : NewestVerdict::faster;
  std::vector<Judged> kernels;
  for (const NewestSeries& one : series.subspan(1)) {
    if (std::optional<Judged> kernel = judged(one, cards, kGuessedKernelFreedom))
      kernels.push_back(std::move(*kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const Judged& x, const Judged& y) { return x.p < y.p; });
  // Step and kernels are one line: what is said of either is to be wrong in 1 of 20 together.
  const double confident = run.verdict == NewestVerdict::undecided ? kConfidentAlone : confident_of_step;
  double p = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    p = std::max(p, std::min(1.0, kernels[i].p * static_cast<double>(kernels.size() - i)));
    kernels[i].change.confidence = 1 - p;
    if (is_certain(kernels[i].change, confident)) run.kernels.push_back(kernels[i].change);
  }
  std::stable_sort(run.kernels.begin(), run.kernels.end(), [](const NewestChange& x, const NewestChange& y) {
    return std::abs(x.value_ns - x.before_ns) > std::abs(y.value_ns - y.before_ns);
  });
  if (run.kernels.size() > kMaxKernels) run.kernels.resize(kMaxKernels);
  return run;
}

}  // namespace ridgeline::comparison
