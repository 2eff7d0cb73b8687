// Lines of a timeline: samples over time.
#include "ridgeline/analyzer/trace/counter_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

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

// Samples with gaps, some blocks of them far from each other, against sums nanosecond by nanosecond.
TEST(CounterRow, SumsOverStretchesAreThoseOfEachNanosecond) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    constexpr std::int64_t kGap = 7;
    CounterRow row;
    std::vector<float> held(4000, -1);  // by nanosecond; below 0: nothing was sampled
    std::int64_t last = 0, first_start = -1;
    float most = 0;
    std::size_t samples = 0;
    for (std::int64_t at = 20 + below(10); at < 3900; at += below(40) == 0 ? 30 + below(300) : 1 + below(9)) {
      const float value = static_cast<float>(below(100)) / 64;
      row.add(at, value);
      row.add(at, value + 1);      // of the same time
      row.add(at - 1, value + 1);  // earlier
      const std::int64_t start = samples == 0 ? at - kGap : std::max(last, at - kGap);
      if (first_start < 0) first_start = start;
      for (std::int64_t ns = start; ns < at; ++ns) held[static_cast<std::size_t>(ns)] = value;
      last = at;
      most = std::max(most, value);
      ++samples;
    }
    row.finish(kGap);
    ASSERT_EQ(row.size(), samples);
    EXPECT_GT(samples, 200U);
    EXPECT_EQ(row.max(), most);
    EXPECT_EQ(row.extent().start_ns, first_start);
    EXPECT_EQ(row.extent().end_ns, last);
    EXPECT_GE(row.bytes(), samples * (sizeof(std::int64_t) + sizeof(float)));
    const auto expect_bin = [&](const CounterBin& bin, std::int64_t from, std::int64_t to) {
      double sum = 0, known = 0;
      for (std::int64_t ns = std::max<std::int64_t>(from, 0); ns < std::min<std::int64_t>(to, 4000); ++ns) {
        const float value = held[static_cast<std::size_t>(ns)];
        if (value < 0) continue;
        sum += static_cast<double>(value);
        known += 1;
      }
      ASSERT_EQ(bin.known, known > 0) << from << " to " << to;
      if (bin.known) {
        EXPECT_NEAR(bin.mean, sum / known, 1e-5) << from << " to " << to;
      }
    };
    for (int i = 0; i < 300; ++i) {
      const std::int64_t from = below(4000) - 20, to = from + 1 + below(i % 2 == 0 ? 20 : 3900);
      expect_bin(row.over({from, to}), from, to);
    }
    for (const std::int64_t width : {1, 3, 50, 700}) {
      std::vector<CounterBin> bins(static_cast<std::size_t>(4000 / width));
      row.bins({0, width * static_cast<std::int64_t>(bins.size())}, bins);
      for (std::size_t b = 0; b < bins.size(); ++b)
        expect_bin(bins[b], static_cast<std::int64_t>(b) * width, static_cast<std::int64_t>(b + 1) * width);
    }
  }
  CounterRow none;
  none.finish(5);
  EXPECT_EQ(none.extent().end_ns, 0);
  EXPECT_FALSE(none.over({0, 100}).known);
}

}  // namespace
}  // namespace ridgeline::analyzer
