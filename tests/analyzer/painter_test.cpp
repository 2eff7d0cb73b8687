#include "trace/painter.h"

#include <gtest/gtest.h>

namespace ridgeline::analyzer {
namespace {

TEST(Painter, BusyTimeCountAndLongestOfEachBin) {
  // Four bins of 10 ns from 100. Events 2 and 3 overlap; 1 began before the window, 4 ends behind it.
  std::vector<PaintEvent> events = {{128, 133, 3}, {90, 105, 1}, {112, 130, 2}, {139, 200, 4}, {140, 150, 5}};
  const std::vector<TraceBin> bins = paint_events(events, {100, 140}, 4);
  struct Expected {
    std::int64_t busy_ns, count, longest_ns;
    store::Id longest;
  };
  const Expected expected[] = {{5, 0, 15, 1}, {8, 1, 18, 2}, {10, 1, 18, 2}, {4, 1, 61, 4}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bins[i].busy_ns, expected[i].busy_ns) << i;
    EXPECT_EQ(bins[i].count, expected[i].count) << i;
    EXPECT_EQ(bins[i].longest_ns, expected[i].longest_ns) << i;
    EXPECT_EQ(bins[i].longest, expected[i].longest) << i;
  }
}

TEST(Painter, MoreBinsThanNanoseconds) {
  std::vector<PaintEvent> events = {{10, 12, 1}};
  std::int64_t busy_ns = 0, count = 0;
  for (const TraceBin& bin : paint_events(events, {9, 13}, 9)) {
    busy_ns += bin.busy_ns;
    count += bin.count;
  }
  EXPECT_EQ(busy_ns, 2);
  EXPECT_EQ(count, 1);
}

TEST(Painter, AnEventWithoutLengthCountsAndIsNotBusy) {
  std::vector<PaintEvent> events = {{15, 15, 8}};
  const std::vector<TraceBin> bins = paint_events(events, {10, 20}, 2);
  EXPECT_EQ(bins[1].count, 1);
  EXPECT_EQ(bins[1].longest, 8);
  EXPECT_EQ(bins[1].busy_ns, 0);
}

TEST(Painter, SamplesAreMeans) {
  const std::vector<store::PmSample> samples = {
      {1, 5, 1, 100}, {1, 10, 1, 2}, {1, 14, 1, 4}, {1, 19, 1, 0.0 / 0.0}, {1, 20, 1, 9}};
  const std::vector<TraceBin> bins = paint_samples(samples, {10, 20}, 2);
  EXPECT_EQ(bins[0].count, 2);
  EXPECT_DOUBLE_EQ(bins[0].mean, 3);
  EXPECT_EQ(bins[1].count, 0);
}

}  // namespace
}  // namespace ridgeline::analyzer
