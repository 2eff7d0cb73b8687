// Lines of a timeline: samples over time.
#include "ridgeline/analyzer/trace/counter_row.h"

#include <gtest/gtest.h>

#include <random>

namespace ridgeline::analyzer {
namespace {

TEST(CounterRow, MeansAreOverTimeAndGapsStayUnknown) {
  CounterRow row;
  row.add(100, 0.2F);
  row.add(200, 0.6F);
  row.add(10'000, 1.0F);
  row.finish(100);
  EXPECT_FLOAT_EQ(row.over({0, 200}).mean, 0.4F);
  EXPECT_FLOAT_EQ(row.over({150, 200}).mean, 0.6F);
  EXPECT_FLOAT_EQ(row.over({0, 200}).peak, 0.6F);
  EXPECT_FALSE(row.over({300, 9'000}).known);
  EXPECT_TRUE(row.over({9'950, 10'000}).known);
}

TEST(CounterRow, BinsAgreeWithSingleQuestions) {
  CounterRow row;
  std::mt19937_64 random(5);
  for (int i = 1; i <= 3000; ++i) row.add(i * 10, static_cast<float>(random() % 100) / 100);
  row.finish(40);
  std::vector<CounterBin> bins(64);
  const TimeWindow window{0, 64 * 470};
  row.bins(window, bins);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto start = static_cast<std::int64_t>(i) * 470;
    const CounterBin expected = row.over({start, start + 470});
    EXPECT_NEAR(bins[i].mean, expected.mean, 1e-5) << i;
    EXPECT_EQ(bins[i].peak, expected.peak) << i;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
