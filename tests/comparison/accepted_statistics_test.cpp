// The tests behind comparisons, ladders and looks over many inputs, held against tests/golden/tables/statistics.txt
// and, where there is one, against a slower way to the same number.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/sequential.h"
#include "ridgeline/comparison/steady.h"
#include "statistics.h"
#include "support/accepted_table.h"

namespace ridgeline::comparison {
namespace {

class StatisticsNoise {
 public:
  explicit StatisticsNoise(std::uint64_t seed) : state_(seed) {}
  double next() {  // 0 to 1
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40U) / static_cast<double>(1U << 24U);
  }
  std::vector<double> values(std::size_t n, double mean, double width) {
    std::vector<double> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(mean + width * (next() + next() + next() - 1.5));
    return all;
  }

 private:
  std::uint64_t state_;
};

std::string sample_text(const std::optional<Sample>& sample) {
  if (!sample) return "none";
  std::string text = fmt::format("mean {:.6g} variance {:.6g} df {:g} scale {:.6g} se {:.6g} p {:.4g}",
                                 sample->mean, sample->variance, sample->degrees_of_freedom, sample->scale,
                                 sample->standard_error(), p_value(*sample));
  for (const double limit : {0.0, 0.003, 0.05})
    text += fmt::format(" | {} beyond {:.4g} within {:.4g}", limit, p_value_beyond(*sample, limit),
                        p_value_within(*sample, limit));
  for (const double alpha : {0.01, 0.05, 0.2})
    text += fmt::format(" | {} half {:.5g} detects {:.5g}", alpha, half_width(*sample, alpha),
                        detectable_mean(*sample, alpha));
  return text;
}

std::string listed_numbers(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format(" {:.5g}", value);
  return text;
}

TEST(AcceptedTable, StatisticsOfComparisons) {
  StatisticsNoise noise(5);
  std::string table;
  for (const std::size_t n : {0U, 1U, 2U, 3U, 5U, 9U, 20U}) {
    for (const double mean : {0.0, 0.002, 0.03, -0.4}) {
      for (const double width : {0.0, 0.001, 0.05}) {
        const std::vector<double> differences = noise.values(n, mean, width),
                                  other = noise.values(n + 1, 0, width);
        const auto sample = paired_sample(differences);
        table += fmt::format("{} of {} ± {}: {}\n", n, mean, width, sample_text(sample));
        table += fmt::format("  against {}: {}\n", n + 1, sample_text(two_samples(other, differences)));
        if (!sample) continue;
        for (const VariancePrior prior :
             {VariancePrior{1e-4, 3}, VariancePrior{1e-6, 20}, VariancePrior{1e-4, INFINITY}})
          table += fmt::format("  moderated by {} {}: {}\n", prior.variance, prior.degrees_of_freedom,
                               sample_text(moderated(*sample, prior)));
      }
    }
  }
  for (const std::size_t n : {2U, 3U, 8U, 40U}) {
    for (const double spread : {0.0, 0.3, 3.0}) {
      std::vector<double> variances;
      for (std::size_t i = 0; i < n; ++i) variances.push_back(1e-4 * std::exp(spread * (noise.next() - 0.5)));
      if (n == 8) variances[0] = 0;
      const auto prior = fit_variance_prior(variances, 4);
      table += fmt::format(
          "prior of {} variances, {}: {}\n", n, spread,
          prior ? fmt::format("{:.6g} with {:.5g}", prior->variance, prior->degrees_of_freedom) : "none");
    }
  }
  for (const double variance : {1e-6, 1e-4, 1e-2}) {
    for (const double prior : {0.0, 4.0, std::numeric_limits<double>::infinity()}) {
      for (const double margin : {0.001, 0.01, 0.2}) {
        const auto pairs = pairs_needed(variance, prior, margin, 0.05);
        table += fmt::format("pairs for {} {} {}: {}\n", variance, prior, margin,
                             pairs ? std::to_string(*pairs) : "too many");
      }
    }
  }
  for (const std::size_t n : {1U, 2U, 5U, 9U}) {
    std::vector<double> p;
    for (std::size_t i = 0; i < n; ++i) p.push_back(std::pow(noise.next(), 3));
    if (n == 9) p[3] = p[6];
    table += fmt::format("p{}\n  Benjamini{}\n  Holm{}\n", listed_numbers(p),
                         listed_numbers(adjusted_p_values(p)), listed_numbers(holm_p_values(p)));
  }
  for (const Spending spending : {Spending::obrien_fleming, Spending::pocock}) {
    for (const double alpha : {0.01, 0.05}) {
      for (const double fraction : {0.05, 0.2, 0.5, 0.9, 1.0})
        table += fmt::format("spent {} {} {}: {:.6g}\n", static_cast<int>(spending), alpha, fraction,
                             spent_error(spending, alpha, fraction));
      for (const auto& [first, last] : {std::pair(3, 3), {3, 6}, {2, 9}, {5, 12}})
        table += fmt::format("levels {} {} {} to {}:{}\n", static_cast<int>(spending), alpha, first, last,
                             listed_numbers(nominal_levels(spending, alpha, first, last)));
    }
  }
  for (const double apart : {0.0, 0.004, 0.01, 0.05}) {
    for (const std::size_t upper : {0U, 1U, 2U, 4U}) {
      std::vector<double> values = noise.values(6, 0, 0.001);
      for (std::size_t i = 0; i < upper; ++i) values[i] += apart;
      table += fmt::format("modes {} above by {}: {} {}\n", upper, apart, has_two_modes(values, 0.003),
                           has_two_modes(values, 0.03));
    }
  }
  for (const std::size_t n : {2U, 3U, 7U, 8U, 15U, 16U, 40U}) {
    for (const double slope : {0.0, 0.0002, 0.002, 0.02}) {
      std::vector<double> series = noise.values(n, 100, 0.05);
      for (std::size_t i = 0; i < n; ++i) series[i] *= 1 + slope * static_cast<double>(i);
      std::vector<double> settling = series;
      for (std::size_t i = 0; i < n / 3; ++i) settling[i] *= 1.3 - 0.02 * static_cast<double>(i);
      for (const std::size_t min_left : {2U, 4U}) {
        const Steady a = steady_from(series, 0.01, min_left), b = steady_from(settling, 0.01, min_left);
        table += fmt::format("steady {} {} {}: {} {} | {} {}\n", n, slope, min_left, a.first, a.settled,
                             b.first, b.settled);
      }
    }
  }
  ridgeline::testing::expect_accepted("statistics.txt", table);
}

TEST(AcceptedTable, DesignsOfLadders) {
  std::string table;
  const std::vector<std::vector<RungSet>> all = {{},
                                                 {0},
                                                 {0, 0},
                                                 {0, 1},
                                                 {0, 0, 0},
                                                 {0, 0, 3},
                                                 {0, 1, 2, 0},
                                                 {0, 0, 1, 4, 8},
                                                 {1},
                                                 {0, 2},
                                                 {0, 0, 4},
                                                 std::vector<RungSet>(7),
                                                 std::vector<RungSet>(40),
                                                 std::vector<RungSet>(41)};
  for (const auto& needs : all) {
    for (const bool alone : {false, true}) {
      for (const bool shapley : {false, true}) {
        const auto design = ladder_design(needs, {.alone = alone, .left_out = !shapley, .shapley = shapley});
        table += fmt::format("{} rungs, last needs {}, alone {}, Shapley {}: ", needs.size(),
                             needs.empty() ? 0 : needs.back(), alone, shapley);
        if (!design) {
          table += design.failure().message + "\n";
          continue;
        }
        if (needs.size() > 7) {
          table += fmt::format("{} arms, {} quantities\n", design.value().arms.size(),
                               design.value().quantities.size());
          continue;
        }
        for (const RungSet arm : design.value().arms) table += fmt::format("{:b} ", arm);
        for (const LadderQuantity& quantity : design.value().quantities) {
          table += fmt::format("| {} {}", to_string(quantity.kind), quantity.rung);
          for (const LadderTerm& term : quantity.terms)
            table += fmt::format(" {:+.5g}·{}", term.weight, term.arm);
        }
        table += "\n";
      }
    }
    if (needs.size() < 8) {
      for (RungSet rungs = 0; rungs < (RungSet{1} << std::min<std::size_t>(needs.size(), 5)); ++rungs)
        table += fmt::format("{:b}→{:b} ", rungs, with_needs(rungs, needs));
      table += "\n";
    }
  }
  ridgeline::testing::expect_accepted("ladder-designs.txt", table);
}

// Half of the weight by going through it.
TEST(Statistics, TheWeightedMedianIsWhereHalfOfTheWeightIsReached) {
  StatisticsNoise noise(9);
  EXPECT_FALSE(weighted_median({}).has_value());
  EXPECT_FALSE(weighted_median({{3, 0}}).has_value());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<double, double>> values;
    const std::size_t n = 1 + static_cast<std::size_t>(noise.next() * 9);
    for (std::size_t i = 0; i < n; ++i)
      values.emplace_back(std::floor(noise.next() * 6), std::floor(noise.next() * 4));
    double all = 0;
    for (const auto& [value, weight] : values) all += weight;
    const auto found = weighted_median(values);
    ASSERT_EQ(found.has_value(), all > 0);
    if (!found) continue;
    double below = 0, up_to = 0;
    for (const auto& [value, weight] : values) {
      below += value < *found ? weight : 0;
      up_to += value <= *found ? weight : 0;
    }
    EXPECT_LE(below, all / 2);
    EXPECT_GE(up_to, all / 2);
  }
}

}  // namespace
}  // namespace ridgeline::comparison
