// history_cards.h: series over runs of several cards of one model: what a card is faster or slower by.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ridgeline::comparison {

/// How the values of a series differ without any change of code. Logarithms.
struct CardNoise {
  double run = 0;   ///< standard deviation between runs on one card; 0 if no card ran twice in a row
  double card = 0;  ///< between cards; 0 if all ran on one
};

/// From differences of neighbouring runs, which a few changes of code hardly touch. `logs`: by time, NaN where a run
/// has none; `cards`: a number for each run's card.
[[nodiscard]] CardNoise card_noise(std::span<const double> logs, std::span<const std::size_t> cards);

/// Takes off each card's mean the share that is its own and not chance: what is left has the same noise in every run,
/// whichever card ran how often (the transformation of the random-effects model, Fuller and Battese 1974).
[[nodiscard]] std::vector<double> without_cards(std::span<const double> logs,
                                                std::span<const std::size_t> cards);

}  // namespace ridgeline::comparison
