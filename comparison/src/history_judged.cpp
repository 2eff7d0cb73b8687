#include "history_judged.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "history_cards.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

constexpr std::size_t kMaxRunsBefore = 20;
// Differences of runs say how runs differ from this many degrees of freedom on. Before, what they say is as good as
// nothing, and runs are taken to differ by the guess, or by what the two there are do if that is more.
constexpr double kEnoughFreedom = 2;
constexpr double kGuessedDeviation = 0.01;
constexpr double kInterval = 0.975;       // one-sided, of the interval
constexpr double kMinDeviation = 0.0005;  // runs that agree to the last digit are luck, or rounded

using ByCard = std::map<std::size_t, std::vector<double>>;  // logarithms

// A single run that was disturbed, or ran other code, hides what the others show: a value is moved to four
// deviations of its card's median, as far as there are enough to say what is far.
std::vector<double> without_outliers(const std::vector<double>& logs, std::span<const std::size_t> cards,
                                     const std::vector<std::size_t>& runs) {
  constexpr double kFar = 4;
  constexpr double kMinSpread = 0.001;
  constexpr std::size_t kEnough = 8;
  ByCard of_card;
  for (const std::size_t i : runs) of_card[cards[i]].push_back(logs[i]);
  struct Limits {
    double low, high;
  };
  std::map<std::size_t, Limits> limits;
  for (const auto& [card, mates] : of_card) {
    if (mates.size() < kEnough) continue;
    const double centre = median(mates);
    const double far = kFar * std::max(kMinSpread, kDeviationPerMad * median_absolute_deviation(mates));
    limits[card] = {centre - far, centre + far};
  }
  std::vector<double> result;
  for (const std::size_t i : runs) {
    const auto of_its_card = limits.find(cards[i]);
    result.push_back(of_its_card == limits.end()
                         ? logs[i]
                         : std::clamp(logs[i], of_its_card->second.low, of_its_card->second.high));
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

double quantile_of(double freedom, double probability) {
  return boost::math::quantile(boost::math::students_t(freedom), probability);
}
double two_sided_p(double freedom, double deviations) {
  const double below = -std::abs(deviations);
  return 2 * boost::math::cdf(boost::math::students_t(freedom), below);
}

}  // namespace

std::vector<std::size_t> runs_before(const NewestSeries& series) {
  std::vector<std::size_t> before;
  for (std::size_t i = series.logs.size() - 1; i-- > series.since && before.size() < kMaxRunsBefore;) {
    if (std::isfinite(series.logs[i])) before.push_back(i);
  }
  return before;
}

std::optional<Deviation> deviation_of(const NewestSeries& series, std::span<const std::size_t> cards,
                                      std::size_t at, const std::vector<std::size_t>& others,
                                      double guessed_freedom) {
  const double value = series.logs[at];
  if (!std::isfinite(value) || others.empty()) return std::nullopt;
  const std::vector<double> clipped = without_outliers(series.logs, cards, others);
  ByCard of_card;
  for (std::size_t i = 0; i < others.size(); ++i) of_card[cards[others[i]]].push_back(clipped[i]);
  const Spread spread = spread_of(of_card, guessed_freedom);
  Deviation result{
      .spread = std::sqrt(spread.variance), .freedom = spread.freedom, .guessed = spread.guessed};
  double error = 0;
  if (const auto own = of_card.find(cards[at]); own != of_card.end()) {
    result.logs = own->second;
    error = spread.variance * (1 + 1 / static_cast<double>(result.logs.size()));
  } else {
    result.logs = clipped;
    const double card = card_noise(series.logs, cards).card;
    error = spread.variance * (1 + 1 / static_cast<double>(result.logs.size())) +
            card * card * (1 + 1 / static_cast<double>(of_card.size()));
    result.other_cards = true;
  }
  result.difference = value - mean(result.logs);
  result.error = std::sqrt(error);
  result.p = two_sided_p(spread.freedom, result.difference / result.error);
  return result;
}

std::optional<Judged> judged(const NewestSeries& series, std::span<const std::size_t> cards, std::size_t at,
                             const std::vector<std::size_t>& others, double guessed_freedom) {
  std::optional<Deviation> found = deviation_of(series, cards, at, others, guessed_freedom);
  if (!found) return std::nullopt;
  Judged result{std::move(*found), {}};
  const double half = quantile_of(result.freedom, kInterval) * result.error;
  result.change.series = series.name;
  result.change.value_ns = std::exp(series.logs[at]);
  result.change.before_ns = std::exp(mean(result.logs));
  result.change.ratio = std::expm1(result.difference);
  result.change.low_ratio = std::expm1(result.difference - half);
  result.change.high_ratio = std::expm1(result.difference + half);
  result.change.confidence = 1 - result.p;
  return result;
}

}  // namespace ridgeline::comparison
