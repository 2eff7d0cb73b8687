// history_judged.h: one run's value of a quantity against those of other runs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comparison/history.h"

namespace ridgeline::comparison {

/// One quantity over the runs of a kind.
struct NewestSeries {
  std::string name;
  std::vector<double> logs;  ///< of each run by time; NaN: none
  std::size_t since = 0;     ///< the run of the last change
};

/// A value's distance from the mean of others, against what such distances are by chance: the prediction of one more.
struct Deviation {
  std::vector<double> logs;  ///< of the others: those of its own card if there are any
  double difference = 0;     ///< from their mean, of logarithms
  double error = 0;          ///< its standard deviation by chance
  double spread = 0;         ///< standard deviation of the others' logarithms on one card
  double freedom = 0;        ///< degrees of freedom of both
  double p = 1;              ///< two-sided, of values that scatter normally
  bool guessed = false;      ///< the spread is a guess, for there are too few others
  bool other_cards = false;  ///< the others are of other cards
};

struct Judged : Deviation {
  NewestChange change;
};

/// The runs before the newest since the last change that have a value, the latest first, at most 20.
[[nodiscard]] std::vector<std::size_t> runs_before(const NewestSeries& series);

/// Run `at` against `others`; none where either has no value. `cards`: a number for each run's card.
/// `guessed_freedom`: degrees of freedom that a guessed spread is worth.
[[nodiscard]] std::optional<Deviation> deviation_of(const NewestSeries& series,
                                                    std::span<const std::size_t> cards, std::size_t at,
                                                    const std::vector<std::size_t>& others,
                                                    double guessed_freedom);

/// Likewise, with what is said of the change.
[[nodiscard]] std::optional<Judged> judged(const NewestSeries& series, std::span<const std::size_t> cards,
                                           std::size_t at, const std::vector<std::size_t>& others,
                                           double guessed_freedom);

}  // namespace ridgeline::comparison
