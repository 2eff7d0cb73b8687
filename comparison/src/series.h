// series.h: one quantity over the runs of both sides, and what can be concluded from it.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "statistics.h"

namespace ridgeline::comparison {

/// How the runs relate to each other.
struct RunLayout {
  std::size_t runs_a = 0, runs_b = 0;
  bool paired = false;
  std::size_t confirmation = 0;  ///< pairs at the end that are not tested
  /// Pairs that are tested; unpaired: runs of the smaller side.
  [[nodiscard]] std::size_t tested() const { return std::min(runs_a, runs_b) - confirmation; }
};

/// Values of a quantity by run. As a rule they are above zero and compared as ratios: by their logarithms. What may be
/// nothing, or below, is compared as a share of `unit`.
struct Series {
  std::vector<double> a, b;
  /// What is taken off the logarithm of each run, the common mode; empty: nothing.
  std::vector<double> offset_a, offset_b;
  double unit = 0;  ///< 0: ratios
  [[nodiscard]] bool usable()
      const;  ///< every value is above zero; with a unit: finite, and not all are nothing
  /// ln(B/A) less the offsets, or (B − A) ÷ unit: of each pair.
  [[nodiscard]] std::vector<double> differences() const;
  /// What the differences are of: logarithms, or shares of the unit.
  [[nodiscard]] std::vector<double> levels_a() const;
  [[nodiscard]] std::vector<double> levels_b() const;
};

/// Of the tested runs; empty below two, or if not usable.
[[nodiscard]] std::optional<Sample> sample_of(const Series& series, const RunLayout& layout);
/// The mean difference over the tested runs, also of one.
[[nodiscard]] double mean_difference(const Series& series, const RunLayout& layout);
/// The same of the confirmation pairs; empty without any.
[[nodiscard]] std::optional<double> confirmation_difference(const Series& series, const RunLayout& layout);

/// What the options ask of a quantity.
struct Demand {
  double alpha = 0.05;
  double equivalence_alpha = 0.05;
  double margin_ratio = 0.01;  ///< differences below do not matter; of a series with a unit, a share of that
  double prior_freedom = 0;    ///< of what moderated the sample's variance
  bool beyond_margin = false;  ///< p is of a difference above the margin
};

/// Puts the interval of the equivalence test in place: what shows a difference to be within the margin.
void take_equivalence_interval(Change& change, const Sample& sample, double equivalence_alpha,
                               double unit = 0);

/// Means, ratio, interval, p-values and what more runs would bring. `sample` as it is to be tested; empty: one run.
[[nodiscard]] Change change_of(const Series& series, const RunLayout& layout,
                               const std::optional<Sample>& sample, const Demand& demand);

}  // namespace ridgeline::comparison
