#include "statistics.h"

#include <gtest/gtest.h>

#include <random>

#include "accounting/intervals.h"
#include "text.h"

namespace ridgeline::analyzer {
namespace {

TEST(Statistics, MeanCarriesItsStandardErrorFromTwoSamplesOn) {
  EXPECT_FALSE(measured_mean({}, Tier::t2).has_value());
  const auto one = measured_mean({5}, Tier::t2);
  EXPECT_DOUBLE_EQ(one->value, 5);
  EXPECT_FALSE(one->error.has_value());
  const auto four = measured_mean({1, 3, 1, 3}, Tier::t2);  // s = sqrt(4/3), s/2
  EXPECT_DOUBLE_EQ(four->value, 2);
  EXPECT_NEAR(*four->error, 0.57735, 1e-5);
  EXPECT_EQ(four->sample_count, 4);
  EXPECT_EQ(four->tier, Tier::t2);
}

TEST(Intervals, UnionMergesTouchingAndIgnoresEmpty) {
  EXPECT_EQ(make_union({{5, 7}, {1, 3}, {3, 5}, {9, 9}, {12, 11}, {20, 21}}),
            (IntervalSet{{1, 7}, {20, 21}}));
}

TEST(Intervals, SubtractCutsOutTheMiddle) {
  EXPECT_EQ(subtract({{0, 10}, {20, 30}}, {{2, 4}, {8, 22}, {29, 40}}),
            (IntervalSet{{0, 2}, {4, 8}, {22, 29}}));
  EXPECT_EQ(subtract({{0, 10}}, {{0, 10}}), IntervalSet{});
  EXPECT_EQ(subtract({{0, 10}}, {}), (IntervalSet{{0, 10}}));
}

TEST(Intervals, RandomSetsAgreeWithCountingEachInstant) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> at(0, 60);
  for (int round = 0; round < 300; ++round) {
    std::vector<Interval> a, b;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t x = at(random), y = at(random);
      a.push_back({x, x + at(random) / 4});
      b.push_back({y, y + at(random) / 4});
    }
    const auto inside = [](const std::vector<Interval>& set, std::int64_t t) {
      for (const Interval& i : set) {
        if (t >= i.start_ns && t < i.end_ns) return true;
      }
      return false;
    };
    std::int64_t in_a = 0, only_a = 0, either = 0;
    for (std::int64_t t = 0; t < 80; ++t) {
      in_a += inside(a, t);
      only_a += inside(a, t) && !inside(b, t);
      either += inside(a, t) || inside(b, t);
    }
    EXPECT_EQ(total_ns(make_union(a)), in_a);
    EXPECT_EQ(total_ns(subtract(make_union(a), make_union(b))), only_a);
    EXPECT_EQ(total_ns(unite(make_union(a), make_union(b))), either);
  }
}

TEST(ShortName, LeavesOutWhatTellsNothing) {
  EXPECT_EQ(short_name("void a::(anonymous namespace)::f<int, g(h)>(float*, int)"),
            "a::(anonymous namespace)::f<int, g(h)>");
  EXPECT_EQ(short_name("plain_name"), "plain_name");
  EXPECT_EQ(short_name("f(int)"), "f");
  EXPECT_EQ(short_name("f::operator()(int)"), "f::operator()");
  EXPECT_EQ(short_name("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
  EXPECT_EQ(short_name(std::string(100, 'k')).size(), 60U);
  EXPECT_EQ(short_name("(x"), "(x");
}

}  // namespace
}  // namespace ridgeline::analyzer
