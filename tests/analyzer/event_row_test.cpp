// Lines of a timeline: events and the pyramid over them.
#include "ridgeline/analyzer/trace/event_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>

namespace ridgeline::analyzer {
namespace {

EventRow row_of(const std::vector<std::array<std::int64_t, 3>>& events) {
  EventRow row;
  for (const auto& [start, end, name] : events) row.add(start, end, static_cast<std::uint32_t>(name));
  row.finish();
  return row;
}

TEST(EventRow, SortsAndPutsWhatOverlapsIntoALineOfItsOwn) {
  EventRow row, lane;
  row.add(50, 60, 2);
  row.add(0, 10, 0);
  row.add(5, 20, 1);
  row.finish(&lane);
  lane.finish();
  ASSERT_EQ(row.size(), 2U);
  EXPECT_EQ(row.name(0), 0U);
  EXPECT_EQ(row.name(1), 2U);
  ASSERT_EQ(lane.size(), 1U);
  EXPECT_EQ(lane.start_ns(0), 5);
  EXPECT_EQ(lane.end_ns(0), 20);
}

TEST(EventRow, CutsWhatOverlapsIfThereIsNoOtherLine) {
  const EventRow row = row_of({{0, 10, 0}, {5, 20, 1}, {6, 8, 2}});
  ASSERT_EQ(row.size(), 2U);
  EXPECT_EQ(row.start_ns(1), 10);
  EXPECT_EQ(row.end_ns(1), 20);
}

TEST(EventRow, KeepsDurationsBeyondThirtyTwoBits) {
  const std::int64_t day = 86'400'000'000'000;
  const EventRow row = row_of({{day, 2 * day, 1}, {0, 10, 0}, {3 * day, 5 * day, 2}});
  EXPECT_EQ(row.duration_ns(0), 10);
  EXPECT_EQ(row.duration_ns(1), day);
  EXPECT_EQ(row.duration_ns(2), 2 * day);
  EXPECT_EQ(row.at(4 * day), 2U);
  EXPECT_EQ(row.at(day / 2), row.size());
}

TEST(EventRow, FindsEventsByTime) {
  const EventRow row = row_of({{10, 20, 0}, {30, 40, 1}});
  const struct {
    std::int64_t ns;
    std::size_t ending_after, from, at;
  } kCases[] = {{0, 0, 0, 2}, {10, 0, 0, 0}, {19, 0, 1, 0}, {20, 1, 1, 2}, {39, 1, 2, 1}, {40, 2, 2, 2}};
  for (const auto& c : kCases) {
    EXPECT_EQ(row.first_ending_after(c.ns), c.ending_after) << c.ns;
    EXPECT_EQ(row.first_from(c.ns), c.from) << c.ns;
    EXPECT_EQ(row.at(c.ns), c.at) << c.ns;
  }
}

// Events of random lengths with pauses, some runs of them dense and some thin.
EventRow random_row(int count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  EventRow row;
  std::int64_t now = 1'000'000;
  for (int i = 0; i < count; ++i) {
    const auto length = static_cast<std::int64_t>(random() % 5000 + 1);
    row.add(now, now + length, static_cast<std::uint32_t>(i % 7));
    now += length + static_cast<std::int64_t>(i % 1000 < 900 ? random() % 100 : random() % 2'000'000);
  }
  row.finish();
  return row;
}

TEST(EventRow, BinsAddUpToTheSumsAtEveryZoom) {
  const EventRow row = random_row(20'000, 1);
  const TimeWindow all = row.extent();
  std::mt19937_64 random(2);
  for (int zoom = 1; zoom < 200'000; zoom *= 7) {
    const std::int64_t length = std::max<std::int64_t>(all.length_ns() / zoom, 2000);
    const std::int64_t start =
        all.start_ns +
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all.length_ns() - length + 1));
    const TimeWindow window{start, start + length};
    std::vector<EventBin> bins(500);
    row.bins(window, bins);
    double busy = 0;
    for (const EventBin& bin : bins) {
      busy += static_cast<double>(bin.busy);
      EXPECT_LE(bin.busy, 1.0F);
      EXPECT_EQ(bin.busy > 0, bin.longest != EventBin::kNone);
    }
    busy *= static_cast<double>(length) / 500;
    const EventSum sum = row.sum(window);
    EXPECT_NEAR(busy, static_cast<double>(sum.busy_ns), 0.02 * static_cast<double>(length) + 2) << zoom;
  }
}

// Times are since 1970: 1.8e18 ns, of which a double keeps no nanoseconds.
TEST(EventRow, BinsOfAFewNanosecondsAreExact) {
  const std::int64_t now = 1'795'316'453'000'000'000;
  const EventRow row = row_of({{now + 10, now + 25, 0}, {now + 40, now + 41, 1}});
  std::vector<EventBin> bins(10);
  row.bins({now, now + 50}, bins);
  const float expected[] = {0, 0, 1, 1, 1, 0, 0, 0, 0.2F, 0};
  for (std::size_t i = 0; i < bins.size(); ++i) EXPECT_FLOAT_EQ(bins[i].busy, expected[i]) << i;
}

TEST(EventRow, EveryEventIsCountedOnceOverTheWhole) {
  const EventRow row = random_row(9'999, 3);
  for (const std::size_t n : {1U, 10U, 333U, 5000U}) {
    std::vector<EventBin> bins(n);
    row.bins(row.extent(), bins);
    const auto count = std::accumulate(bins.begin(), bins.end(), std::int64_t{0},
                                       [](std::int64_t sum, const EventBin& bin) { return sum + bin.count; });
    EXPECT_NEAR(static_cast<double>(count), 9'999, 9'999 * 0.01) << n;
  }
}

TEST(EventRow, AShortEventAmongNothingIsSeenFromAfar) {
  EventRow row;
  for (int i = 0; i < 1000; ++i) row.add(i * 1'000'000'000LL, i * 1'000'000'000LL + 1000, 0);
  row.finish();
  std::vector<EventBin> bins(100);
  row.bins(row.extent(), bins);
  EXPECT_TRUE(std::all_of(bins.begin(), bins.end(),
                          [](const EventBin& bin) { return bin.longest != EventBin::kNone; }));
}

TEST(EventRow, TheLongestIsTheLongest) {
  EventRow row;
  for (int i = 0; i < 5000; ++i)
    row.add(i * 100, i * 100 + (i == 1234 ? 99 : 10), static_cast<std::uint32_t>(i == 1234));
  row.finish();
  for (const std::size_t n : {1U, 7U, 100U}) {
    std::vector<EventBin> bins(n);
    row.bins(row.extent(), bins);
    // In its bin, or in two neighbours where their edge cuts a bin of the pyramid.
    const auto found =
        std::count_if(bins.begin(), bins.end(), [](const EventBin& bin) { return bin.longest == 1234; });
    EXPECT_TRUE(found == 1 || found == 2) << n;
  }
}

// A launch and its call: 30 bytes.
TEST(EventRow, TakesLessThanFifteenBytesAnEvent) {
  const EventRow row = random_row(200'000, 4);
  EXPECT_LT(static_cast<double>(row.bytes()) / 200'000, 15.0);
}

TEST(EventRow, TimesAreExactHoweverFarApartEventsBegin) {
  std::mt19937_64 random(8);
  EventRow row;
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  std::int64_t now = 1'700'000'000'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    // Blocks of events within seconds of each other, and blocks with hours between them.
    now += static_cast<std::int64_t>(random() % (i / 200 % 2 == 0 ? 1'000'000 : 7'200'000'000'000));
    const auto length = static_cast<std::int64_t>(i % 97 == 0 ? 5'000'000'000 : 1 + random() % 9'000);
    row.add(now, now + length, static_cast<std::uint32_t>(i));
    expected.emplace_back(now, length);
    now += length;
  }
  row.finish();
  ASSERT_EQ(row.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(row.start_ns(i), expected[i].first) << i;
    EXPECT_EQ(row.duration_ns(i), expected[i].second) << i;
    EXPECT_EQ(row.first_from(expected[i].first), i);
    EXPECT_EQ(row.first_from(expected[i].first + 1), i + 1);
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
