#include "history_tails.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ridgeline::comparison {
namespace {

constexpr double kNoGuess = 1;    // runs whose spread is a guess are left out, whatever it is worth
constexpr double kMinP = 1e-300;  // before its logarithm
constexpr double kMaxP = 1 - 1e-15;

struct Least {
  double p = 1;
  int series = 0;
};

}  // namespace

Tails tails_of(std::span<const NewestSeries> series, std::span<const std::size_t> cards) {
  std::map<std::size_t, Least> of_run;
  for (const NewestSeries& one : series) {
    const std::vector<std::size_t> before = runs_before(one);
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::vector<std::size_t> others = before;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const std::optional<Deviation> run = deviation_of(one, cards, before[i], others, kNoGuess);
      if (!run || run->guessed || run->other_cards) continue;
      Least& least = of_run[before[i]];
      least.p = std::min(least.p, run->p);
      ++least.series;
    }
  }
  Tails tails;
  for (const auto& [at, least] : of_run) {
    const double p = -std::expm1(least.series * std::log1p(-std::min(least.p, kMaxP)));
    tails.runs += 1;
    tails.sum -= std::log(std::max(p, kMinP));
  }
  return tails;
}

Tails together(const Tails& a, const Tails& b) {
  return {a.runs + b.runs, a.sum + b.sum};
}

double with_tails(double p, const Tails& tails, double normal_runs) {
  if (tails.runs == 0) return p;
  const double runs = tails.runs + normal_runs;
  const double sum = std::max(runs, tails.sum + normal_runs);
  return std::pow(sum / (sum - std::log(std::max(p, kMinP))), runs);
}

}  // namespace ridgeline::comparison
