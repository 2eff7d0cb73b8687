#include "history_cards.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

// Half of normal differences lie within 0.6745 standard deviations.
constexpr double kMedianOfNormal = 0.6745;
// What two cards of one model are taken to differ by if a history has not seen enough of it.
constexpr double kUsualCardDeviation = 0.01;
constexpr std::size_t kEnoughDifferences = 4;

double spread_of_differences(const std::vector<double>& differences) {
  return differences.empty() ? 0 : median(differences) / kMedianOfNormal;
}

}  // namespace

CardNoise card_noise(std::span<const double> logs, std::span<const std::size_t> cards) {
  std::vector<double> within, across;
  std::map<std::size_t, double> last_of_card;
  std::size_t last = logs.size();
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!std::isfinite(logs[i])) continue;
    if (const auto before = last_of_card.find(cards[i]); before != last_of_card.end())
      within.push_back(std::abs(logs[i] - before->second));
    if (last < logs.size() && cards[last] != cards[i]) across.push_back(std::abs(logs[i] - logs[last]));
    last_of_card[cards[i]] = logs[i];
    last = i;
  }
  CardNoise noise;
  noise.run = spread_of_differences(within) / std::sqrt(2.0);
  if (across.empty()) return noise;
  const double both = spread_of_differences(across) / std::sqrt(2.0);
  noise.card = std::sqrt(std::max(0.0, both * both - noise.run * noise.run));
  if (across.size() < kEnoughDifferences) noise.card = std::max(noise.card, kUsualCardDeviation);
  return noise;
}

std::vector<double> without_cards(std::span<const double> logs, std::span<const std::size_t> cards) {
  std::vector<double> result(logs.begin(), logs.end());
  std::map<std::size_t, std::vector<double>> of_card;
  std::vector<double> all;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!std::isfinite(logs[i])) continue;
    of_card[cards[i]].push_back(logs[i]);
    all.push_back(logs[i]);
  }
  // Every run on a card of its own: cards are chance like any other.
  if (of_card.size() < 2 || of_card.size() == all.size()) return result;
  const CardNoise noise = card_noise(logs, cards);
  if (noise.card <= 0) return result;
  const double centre = median(all);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!std::isfinite(logs[i])) continue;
    const std::vector<double>& mates = of_card[cards[i]];
    const double chance = noise.run * noise.run;
    const double share =
        1 - std::sqrt(chance / (chance + static_cast<double>(mates.size()) * noise.card * noise.card));
    result[i] -= share * (mean(mates) - centre);
  }
  return result;
}

}  // namespace ridgeline::comparison
