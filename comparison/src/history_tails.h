// history_tails.h: how much farther out runs of a history lie than normal scatter would have them.
#pragma once

#include <cstddef>
#include <span>

#include "history_judged.h"

namespace ridgeline::comparison {

/// What the earlier runs have to say of a probability computed for normal scatter: each of them judged against the
/// others as the newest is against all of them. By normal scatter -log p has the mean 1.
struct Tails {
  double runs = 0;
  double sum = 0;  ///< of -log p
};

/// Of each earlier run the least likely of its series, as likely as the least of so many is by chance.
[[nodiscard]] Tails tails_of(std::span<const NewestSeries> series, std::span<const std::size_t> cards);

[[nodiscard]] Tails together(const Tails& a, const Tails& b);

/// The probability of something at least as unlikely as `p` where runs lie so far out: -log p is exponentially
/// distributed, with a mean that the earlier runs and `normal_runs` more, of normal scatter, tell within their number.
/// Never less than p; p itself where no earlier run could be judged.
[[nodiscard]] double with_tails(double p, const Tails& tails, double normal_runs);

}  // namespace ridgeline::comparison
