#include "ridgeline/base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ridgeline {
namespace {

/// Samples of 0 to 12 values, with values that are equal, negative and far apart.
std::vector<std::vector<double>> random_samples() {
  std::mt19937 random(20261123);
  std::uniform_real_distribution<double> wide(-1e6, 1e6);
  std::vector<std::vector<double>> samples;
  for (int i = 0; i < 400; ++i) {
    std::vector<double> sample(static_cast<std::size_t>(i % 13));
    for (double& value : sample) value = random() % 3 == 0 ? static_cast<double>(random() % 4) : wide(random);
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// The quantile by its definition: the line through (i / (n − 1), i-th smallest value), found by looking at each.
double slow_quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::vector<double> ordered;
  while (!values.empty()) {
    const auto smallest = std::min_element(values.begin(), values.end());
    ordered.push_back(*smallest);
    values.erase(smallest);
  }
  const double last = static_cast<double>(ordered.size()) - 1;
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    const double left = static_cast<double>(i) / last;
    const double right = static_cast<double>(i + 1) / last;
    if (q >= left && q <= right)
      return ordered[i] + (ordered[i + 1] - ordered[i]) * (q - left) / (right - left);
  }
  return ordered.back();
}

TEST(Statistics, QuantilesAreThoseOfTheDefinitionAndRiseWithinTheSample) {
  for (const std::vector<double>& sample : random_samples()) {
    double before = sample.empty() ? 0 : *std::min_element(sample.begin(), sample.end());
    for (int percent = 0; percent <= 100; percent += 5) {
      const double q = percent / 100.0;
      const double found = quantile(sample, q);
      EXPECT_NEAR(found, slow_quantile(sample, q), 1e-9 * (1 + std::abs(found)))
          << sample.size() << " at " << q;
      EXPECT_GE(found, before - 1e-9 * (1 + std::abs(before))) << sample.size() << " at " << q;
      before = found;
    }
    if (sample.empty()) continue;
    EXPECT_EQ(quantile(sample, 0), *std::min_element(sample.begin(), sample.end()));
    EXPECT_EQ(quantile(sample, 1), *std::max_element(sample.begin(), sample.end()));
    EXPECT_EQ(median(sample), quantile(sample, 0.5));
  }
}

TEST(Statistics, TheUpperMedianIsAValueWithAsManyBelowAsItMay) {
  for (const std::vector<double>& sample : random_samples()) {
    if (sample.empty()) continue;
    const double found = upper_median(sample);
    const auto count = [&](const auto& is) { return std::count_if(sample.begin(), sample.end(), is); };
    const auto half = static_cast<std::ptrdiff_t>(sample.size() / 2);
    EXPECT_GE(count([&](double x) { return x == found; }), 1);
    EXPECT_LE(count([&](double x) { return x < found; }), half);
    EXPECT_GT(count([&](double x) { return x <= found; }), half);
    EXPECT_GE(found, median(sample) - 1e-9 * (1 + std::abs(found)));
  }
}

TEST(Statistics, MeansAndDeviationsAreThoseOfTheDefinition) {
  for (const std::vector<double>& sample : random_samples()) {
    long double sum = 0;
    for (const double value : sample) sum += value;
    const auto n = static_cast<long double>(sample.size());
    const long double average = sample.empty() ? 0 : sum / n;
    EXPECT_NEAR(mean(sample), static_cast<double>(average), 1e-6);
    // Of all pairs, which needs no mean.
    long double squares = 0;
    for (const double x : sample)
      for (const double y : sample) squares += (x - y) * (static_cast<long double>(x) - y);
    ASSERT_EQ(standard_deviation(sample).has_value(), sample.size() >= 2);
    if (sample.size() >= 2) {
      const auto expected = static_cast<double>(std::sqrt(squares / (2 * n * (n - 1))));
      EXPECT_NEAR(*standard_deviation(sample), expected, 1e-9 * (1 + expected));
    }
    std::vector<double> distances;
    for (const double value : sample) distances.push_back(std::abs(value - slow_quantile(sample, 0.5)));
    EXPECT_NEAR(median_absolute_deviation(sample), slow_quantile(distances, 0.5), 1e-6);
  }
}

TEST(Statistics, QuantilesInterpolateLinearly) {
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.1), 14);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 1), 3);
}

TEST(Statistics, MedianOfAnEvenNumberLiesBetweenAndTheUpperOneIsAValue) {
  EXPECT_DOUBLE_EQ(median({1, 9, 4, 2}), 3);
  EXPECT_DOUBLE_EQ(median({5, 1, 9}), 5);
  EXPECT_DOUBLE_EQ(upper_median(std::vector<double>{1, 9, 4, 2}), 4);
  EXPECT_EQ(upper_median(std::vector<long>{5, 1, 9}), 5);
  EXPECT_EQ(upper_median(std::vector<long>{}), 0);
}

TEST(Statistics, DeviationsAreOfTheSample) {
  EXPECT_DOUBLE_EQ(median_absolute_deviation({1, 2, 3, 4, 100}), 1);
  EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(mean({}), 0);
  EXPECT_EQ(standard_deviation({4}), std::nullopt);
  EXPECT_DOUBLE_EQ(standard_deviation({1, 3, 1, 3, 2}).value(), 1) << "4 ÷ (5 − 1)";
}

// Against tables of the distribution.
TEST(Statistics, StudentsQuantileIsThatOfTables) {
  const std::pair<double, double> kTable[] = {{1, 12.7062},  {1.25, 8.0280}, {1.5, 6.0167}, {2, 4.3027},
                                              {2.5, 3.5747}, {3, 3.1824},    {4, 2.7764},   {5, 2.5706},
                                              {10, 2.2281},  {30, 2.0423},   {1000, 1.9623}};
  for (const auto& [degrees, value] : kTable)
    EXPECT_NEAR(student_95(degrees), value, (degrees < 4 ? 0.009 : 0.005) * value) << degrees;
  EXPECT_EQ(student_95(0), student_95(1));
}

TEST(Statistics, TheErrorOfAMedianIsThatOfManySamplesMedians) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(100, 5);
  std::vector<double> medians, errors;
  for (int sample = 0; sample < 2000; ++sample) {
    std::vector<double> values(25);
    for (double& value : values) value = normal(random);
    medians.push_back(median(values));
    errors.push_back(error_of_median(values));
  }
  // The deviation of 25 values' median is too small by some hundredths.
  EXPECT_NEAR(median(errors), standard_deviation(medians).value(), 0.1);  // of 1.25
  std::vector<double> disturbed(25, 1.0);
  disturbed.back() = 1e9;
  EXPECT_EQ(error_of_median(disturbed), 0);
  EXPECT_EQ(error_of_median({}), 0);
}

}  // namespace
}  // namespace ridgeline
