#include "execution/device_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "execution/overlap.h"

namespace ridgeline::analyzer {
namespace {

struct Part {
  Interval time;
  unsigned kinds = 0;
};

TEST(DeviceSweep, TimeIsSplitByWhatRanTogether) {
  std::vector<std::pair<std::int64_t, std::int64_t>> idle;
  DeviceSweep sweep({0, 100}, [&](const Interval& i) { idle.emplace_back(i.start_ns, i.end_ns); });
  sweep.add({10, 40}, DeviceSweep::kComputation);
  sweep.add({20, 30}, DeviceSweep::kCopy | DeviceSweep::kForeign);
  sweep.add({30, 60}, DeviceSweep::kCopy);
  sweep.add({80, 90}, DeviceSweep::kMemset);
  sweep.finish();
  EXPECT_EQ(idle, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 10}, {60, 80}, {90, 100}}));
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return kinds == DeviceSweep::kComputation; }), 10);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return (kinds & DeviceSweep::kCopy) != 0; }), 40);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return (kinds & DeviceSweep::kForeign) != 0; }), 10);
  EXPECT_EQ(sweep.time_ns([](unsigned kinds) { return kinds == DeviceSweep::kMemset; }), 10);
}

TEST(DeviceSweep, RandomPartsAgreeWithCountingEachInstant) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> at(0, 60);
  for (int round = 0; round < 300; ++round) {
    const Interval window{5, 65};
    std::vector<Part> parts;
    for (int i = 0; i < 8; ++i) {
      const std::int64_t start_ns = std::max(window.start_ns, at(random));
      const std::int64_t end_ns = std::min(window.end_ns, start_ns + 1 + at(random) / 4);
      const unsigned kind = 1U << (static_cast<unsigned>(at(random)) % 4U);
      parts.push_back({{start_ns, end_ns}, kind | (at(random) < 20 ? DeviceSweep::kForeign : 0U)});
    }
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.time.start_ns < b.time.start_ns; });
    std::int64_t idle_ns = 0;
    DeviceSweep sweep(window, [&](const Interval& i) { idle_ns += i.end_ns - i.start_ns; });
    for (const Part& part : parts) sweep.add(part.time, part.kinds);
    sweep.finish();
    std::vector<std::int64_t> expected(32, 0);
    for (std::int64_t t = window.start_ns; t < window.end_ns; ++t) {
      unsigned kinds = 0;
      for (const Part& part : parts) {
        if (t >= part.time.start_ns && t < part.time.end_ns) kinds |= part.kinds;
      }
      ++expected[kinds];
    }
    EXPECT_EQ(idle_ns, expected[0]);
    for (unsigned kinds = 1; kinds < 32; ++kinds)
      EXPECT_EQ(sweep.time_ns([&](unsigned k) { return k == kinds; }), expected[kinds]) << kinds;
  }
}

// Each instant is shared by those that run at it, in each group by itself.
TEST(OverlapSweep, RandomSpansAgreeWithCountingEachInstant) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> at(0, 60);
  for (int round = 0; round < 200; ++round) {
    std::vector<Span> spans;
    for (std::size_t i = 0; i < 10; ++i) {
      const std::int64_t start_ns = at(random);
      spans.push_back({at(random) % 2, start_ns, start_ns + 1 + at(random) / 6, i});
    }
    std::vector<double> shared(spans.size(), 0), expected(spans.size(), 0);
    for_each_overlap(spans, [&](std::int64_t length_ns, std::span<const std::size_t> running) {
      for (const std::size_t i : running)
        shared[i] += static_cast<double>(length_ns) / static_cast<double>(running.size());
    });
    for (std::int64_t t = 0; t < 80; ++t) {
      for (std::int64_t group = 0; group < 2; ++group) {
        std::vector<std::size_t> running;
        for (const Span& span : spans) {
          if (span.group == group && t >= span.start_ns && t < span.end_ns) running.push_back(span.index);
        }
        for (const std::size_t i : running) expected[i] += 1.0 / static_cast<double>(running.size());
      }
    }
    for (std::size_t i = 0; i < spans.size(); ++i) EXPECT_NEAR(shared[i], expected[i], 1e-9) << i;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
