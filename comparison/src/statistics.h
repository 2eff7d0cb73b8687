// statistics.h: the tests behind a comparison. Values are logarithms of ratios; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::comparison {

/// What is known of a mean difference.
struct Sample {
  double mean = 0;
  double variance = 0;            ///< of one observation
  double degrees_of_freedom = 0;  ///< of the variance; infinity: taken as known
  double scale = 1;  ///< variance of the mean ÷ variance of one observation: 1/n, or 1/n₁ + 1/n₂
  [[nodiscard]] double standard_error() const;
};

/// Differences of pairs. Empty below two.
[[nodiscard]] std::optional<Sample> paired_sample(const std::vector<double>& differences);
/// Second mean less the first, with the pooled variance. Empty below two values on either side.
[[nodiscard]] std::optional<Sample> two_samples(const std::vector<double>& first,
                                                const std::vector<double>& second);

/// What the variances of many kernels have in common: s₀² with d₀ degrees of freedom.
struct VariancePrior {
  double variance = 0;
  double degrees_of_freedom = 0;  ///< infinity: the variances differ no more than chance makes them
};
/// By the moments of log variances (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, section 6.2; limma: fitFDist):
/// variances of zero count as 1e-5 of the median. Empty below three variances, or if all are zero.
[[nodiscard]] std::optional<VariancePrior> fit_variance_prior(const std::vector<double>& variances,
                                                              double degrees_of_freedom);
/// s̃² = (d₀·s₀² + d·s²) ÷ (d₀ + d), with d₀ + d degrees of freedom.
[[nodiscard]] Sample moderated(const Sample& sample, const VariancePrior& prior);

/// Two-sided; 1 for a difference of nothing without variance, 0 for another.
[[nodiscard]] double p_value(const Sample& sample);
/// TREAT (McCarthy and Smyth, Bioinformatics 25, 2009): two-sided against |mean| ≤ threshold.
[[nodiscard]] double p_value_beyond(const Sample& sample, double threshold);
/// Two one-sided tests (Schuirmann 1987): the larger p of "mean ≤ −margin" and "mean ≥ margin".
[[nodiscard]] double p_value_within(const Sample& sample, double margin);
/// Half the width of the interval that covers the mean with probability 1 − alpha.
[[nodiscard]] double half_width(const Sample& sample, double alpha);

/// Benjamini and Hochberg's adjusted p-values, in the order of the arguments.
[[nodiscard]] std::vector<double> adjusted_p_values(const std::vector<double>& p_values);
/// Holm's (Scand. J. Statist. 6, 1979), which keep the chance of a single wrong rejection, in the same order.
[[nodiscard]] std::vector<double> holm_p_values(const std::vector<double>& p_values);

/// Smallest |mean| that a two-sided test at alpha finds with that power, of the same number of observations.
[[nodiscard]] double detectable_mean(const Sample& sample, double alpha, double power = 0.8);
/// Pairs for which detectable_mean() is `margin`; empty beyond 1000. `prior` as it moderated the sample.
[[nodiscard]] std::optional<std::int64_t> pairs_needed(double variance, double prior_degrees_of_freedom,
                                                       double margin, double alpha, double power = 0.8);

/// Values that fall into two clusters: at least two in each, farther apart than `least` and than six times either
/// cluster's width. Fewer than four values never do.
[[nodiscard]] bool has_two_modes(std::vector<double> values, double least);

/// The value at which half of the weight is reached. Empty without weight.
[[nodiscard]] std::optional<double> weighted_median(
    std::vector<std::pair<double, double>> values_and_weights);

}  // namespace ridgeline::comparison
