// Which launches are counted for a budget: choices alone, and on launch sequences of programs of many kinds, whose
// kernels are given utilisations and costs like those measured on an H200.
#include "ridgeline/counting/count_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "corpus.h"
#include "ridgeline/counting/place_times.h"

namespace ridgeline::counting {
namespace {

constexpr double kMs = 1e6;
constexpr std::int64_t kSecond = 1'000'000'000;

Kind kernel(std::uint32_t id, std::uint32_t grid = 1) {
  return kind_of(id, grid, 1, 1);
}

TEST(CountPlan, CountsAllWhereAllFitsTheBudget) {
  CountPlan plan(10 * kSecond, 9);
  for (std::uint32_t i = 0; i < 313; ++i) plan.expect(kernel(i), 0, 0.15 * kMs);
  EXPECT_EQ(plan.choose(0, 8, false), CountPlan::Way::all);
  EXPECT_EQ(plan.chosen(), 313u);
}

TEST(CountPlan, CountsTheLongestKindsFirst) {
  CountPlan plan(2 * kSecond, 1);
  for (int i = 0; i < 5000; ++i) plan.expect(kernel(1), 0, 0.001 * kMs);
  for (int i = 0; i < 20; ++i) plan.expect(kernel(2), 0, 2 * kMs);
  ASSERT_EQ(plan.choose(0, 1, false), CountPlan::Way::some);
  int of_long = 0, of_short = 0;
  for (int i = 0; i < 5020; ++i) {
    const Kind kind = kernel(i % 251 == 0 ? 2 : 1);
    if (!plan.wants(kind, 0)) continue;
    plan.counted(kind, 0);
    ++(kind == kernel(2) ? of_long : of_short);
  }
  EXPECT_GE(of_long, 15);
  EXPECT_GE(of_short, 5);
  EXPECT_LE(of_short, 200) << "its error is a tenth of the other's";
}

TEST(CountPlan, SpreadsTheCountedLaunchesOverTheStep) {
  CountPlan plan(1 * kSecond, 1);
  for (int i = 0; i < 4000; ++i) plan.expect(kernel(1), 0, 0.01 * kMs);
  ASSERT_EQ(plan.choose(0, 1, false), CountPlan::Way::some);
  std::vector<int> at;
  for (int i = 0; i < 4000; ++i)
    if (plan.wants(kernel(1), 0)) {
      plan.counted(kernel(1), 0);
      at.push_back(i);
    }
  ASSERT_GE(at.size(), 8u);
  EXPECT_LT(at.front(), 500);
  EXPECT_GT(at.back(), 3500);
}

TEST(CountPlan, AKindThatIsAlwaysTheSameIsNotCountedOverAndOver) {
  CountPlan plan(10 * kSecond, 1);
  const auto step = [&] {
    plan.expect_nothing();
    for (int i = 0; i < 20000; ++i) plan.expect(kernel(1 + i % 2), 0, 0.01 * kMs);
    EXPECT_EQ(plan.choose(0, 4, false), CountPlan::Way::some);
    std::map<Kind, int> counted;
    for (int i = 0; i < 20000; ++i) {
      const Kind kind = kernel(1 + i % 2);
      if (!plan.wants(kind, 0)) continue;
      plan.counted(kind, 0);
      // The first kind is the same each time, the second differs by 20 points.
      plan.value(kind, 0, 0, i % 2 == 0 ? 0.5 : 0.5 + 0.2 * (counted[kind] % 2 == 0 ? 1 : -1));
      ++counted[kind];
    }
    return counted;
  };
  step();
  auto counted = step();
  EXPECT_EQ(counted[kernel(1)], 0);
  EXPECT_GT(counted[kernel(2)], 50);
}

TEST(CountPlan, DividesAKindThatSpreadsByWhatWasLaunchedBefore) {
  CountPlan plan(10 * kSecond, 1);
  const auto step = [&] {
    plan.expect_nothing();
    for (int i = 0; i < 20000; ++i) plan.expect(kernel(9), kernel(1 + i % 2), 0.01 * kMs);
    EXPECT_EQ(plan.choose(0, 4, false), CountPlan::Way::some);
    for (int i = 0; i < 20000; ++i) {
      const Kind before = kernel(1 + i % 2);
      if (!plan.wants(kernel(9), before)) continue;
      plan.counted(kernel(9), before);
      plan.value(kernel(9), before, 0, i % 2 == 0 ? 0.2 : 0.8);
    }
    return plan.summary(0);
  };
  const auto first = step();
  EXPECT_EQ(first.kinds, 1u);
  EXPECT_EQ(first.wide_kinds, 1u);
  const auto second = step();
  EXPECT_EQ(second.kinds, 2u);
  EXPECT_EQ(second.wide_kinds, 0u);
  EXPECT_LT(second.error, first.error / 10);
}

TEST(CountPlan, StopsWhenTheBudgetIsUsed) {
  CountPlan plan(1 * kSecond, 4);
  for (int i = 0; i < 4000; ++i) plan.expect(kernel(static_cast<std::uint32_t>(i)), 0, 0.01 * kMs);
  EXPECT_EQ(plan.choose(0, 8, false), CountPlan::Way::some) << "the first set has what all have no use for";
  EXPECT_TRUE(plan.affords(0));
  plan.spent(900'000'000);
  EXPECT_EQ(plan.choose(1, 7, false), CountPlan::Way::nothing);
  EXPECT_TRUE(plan.affords(0));
  EXPECT_FALSE(plan.affords(99'000'000));
}

TEST(CountPlan, WithoutABudgetNothingIsCounted) {
  CountPlan plan(0, 1);
  plan.expect(kernel(1), 0, kMs);
  EXPECT_EQ(plan.choose(0, 1, false), CountPlan::Way::nothing);
  EXPECT_FALSE(plan.affords(0));
}

TEST(CountPlan, LearnsWhatALaunchCosts) {
  CountPlan plan(10 * kSecond, 1);
  for (int i = 0; i < 1000; ++i) plan.expect(kernel(static_cast<std::uint32_t>(i)), 0, 0.01 * kMs);
  EXPECT_EQ(plan.choose(0, 4, false), CountPlan::Way::all);
  for (int i = 0; i < 5; ++i) plan.learn(CountPlan::Way::all, 1000, 0, 1000 * 5 * kMs);
  EXPECT_EQ(plan.choose(0, 4, false), CountPlan::Way::some) << "20 s now";
}

TEST(CountPlan, OfAProgramWithoutStepsItCountsWhatTheTimeIsSpentIn) {
  CountPlan plan(10 * kSecond, 9);
  plan.expect_time(kernel(1), 5e9);
  plan.expect_time(kernel(2), 1e9);
  plan.expect_time(kernel(3), 1e3);  // nobody would miss it
  ASSERT_EQ(plan.choose(0, 9, false), CountPlan::Way::some);
  EXPECT_FALSE(plan.satisfied());
  std::map<std::uint32_t, int> counted;
  for (std::uint32_t i = 0; i < 30000 && !plan.satisfied(); ++i) {
    const std::uint32_t id = 1 + i % 4;  // the fourth is new
    if (!plan.wants(kernel(id), 0)) continue;
    plan.counted(kernel(id), 0);
    ++counted[id];
  }
  EXPECT_TRUE(plan.satisfied());
  EXPECT_GT(counted[1], counted[2]);
  EXPECT_GE(counted[2], 5);
  EXPECT_EQ(counted[3], 0);
  EXPECT_EQ(counted[4], 1);
}

TEST(LaunchTimes, AddsUpByKind) {
  LaunchTimes times;
  for (int i = 0; i < 3; ++i) times.add(kernel(1), 100);
  times.add(kernel(2), 7);
  EXPECT_EQ(times.of(kernel(1)).launches, 3u);
  EXPECT_EQ(times.of(kernel(1)).mean_ns(), 100);
  EXPECT_EQ(times.of(kernel(3)).launches, 0u);
  std::set<Kind> all;
  times.for_each([&](Kind kind, LaunchTimes::Times) { all.insert(kind); });
  EXPECT_EQ(all, (std::set<Kind>{kernel(1), kernel(2)}));
}

TEST(LaunchTimes, TellsBelowWhichDurationAShareOfTheTimeLies) {
  LaunchTimes times;
  EXPECT_EQ(times.duration_at_ns(0.5), 0);
  for (int i = 0; i < 1000; ++i) times.add(kernel(1), 3000);  // 3 ms
  times.add(kernel(2), 7'000'000);
  EXPECT_EQ(times.duration_at_ns(0.25), 2048);
  EXPECT_EQ(times.duration_at_ns(0.5), 4'194'304);
  EXPECT_EQ(times.duration_at_ns(1), 4'194'304);
  LaunchTimes none;
  none.add(kernel(1), 0);
  EXPECT_EQ(none.duration_at_ns(0.5), 0);
}

TEST(LaunchTimes, KeepsItsBounds) {
  LaunchTimes times;
  for (std::uint32_t i = 0; i < 2 * LaunchTimes::kMaxKinds; ++i) times.add(kernel(i), 1);
  std::size_t kinds = 0;
  times.for_each([&](Kind, LaunchTimes::Times) { ++kinds; });
  EXPECT_EQ(kinds, LaunchTimes::kMaxKinds);
}

TEST(PlaceTimes, KnowsHowLongTheLaunchAtEachPlaceTakes) {
  PlaceTimes times;
  std::uint32_t correlation = 1;
  for (int step = 0; step < 4; ++step)
    for (std::uint32_t place = 0; place < 3; ++place) {
      times.launched(correlation, place);
      times.took(correlation++, kernel(9), 1000 * (place + 1) + 10 * step);
    }
  EXPECT_EQ(times.mean_ns(0, kernel(9)), 1015);
  EXPECT_EQ(times.mean_ns(2, kernel(9)), 3015);
  EXPECT_EQ(times.mean_ns(2, kernel(8)), 0) << "of another kind nothing is known";
  EXPECT_EQ(times.mean_ns(3, kernel(9)), 0);
  EXPECT_EQ(times.mean_ns(PlaceTimes::kPlaces, kernel(9)), 0);
}

TEST(PlaceTimes, APlaceAtWhichSomethingElseIsLaunchedBeginsAnew) {
  PlaceTimes times;
  times.launched(1, 0);
  times.took(1, kernel(1), 1000);
  times.launched(2, 0);
  times.took(2, kernel(2), 50);
  EXPECT_EQ(times.mean_ns(0, kernel(1)), 0);
  EXPECT_EQ(times.mean_ns(0, kernel(2)), 50);
}

TEST(PlaceTimes, RecordsWithoutALaunchAreLeftOut) {
  PlaceTimes times;
  times.took(1, kernel(1), 1000);
  times.launched(2, 0);
  times.took(2 + PlaceTimes::kUnderWay, kernel(1), 1000);
  times.launched(3, PlaceTimes::kPlaces + 5);
  times.took(3, kernel(1), 1000);
  EXPECT_EQ(times.mean_ns(0, kernel(1)), 0);
}

// Products of 9.7, 29, 38.7 and 633 G under one kernel and one grid: the time at their places tells them apart.
TEST(CountPlan, CountsEachSizeOfAKernelThatHasOneGrid) {
  CountPlan plan(1 * kSecond, 1);
  const double sizes_us[] = {14, 40, 55, 900};
  std::vector<Kind> step;
  for (int i = 0; i < 4000; ++i) {
    const double us = i == 3999 ? sizes_us[3] : sizes_us[i % 3];
    step.push_back(of_duration(kernel(1), us * 1000));
    plan.expect(step.back(), 0, us * 1000);
  }
  EXPECT_EQ(std::set<Kind>(step.begin(), step.end()).size(), 4u);
  EXPECT_EQ(of_duration(kernel(1), 0), kernel(1));
  ASSERT_EQ(plan.choose(0, 1, false), CountPlan::Way::some);
  std::map<Kind, int> counted;
  for (const Kind kind : step)
    if (plan.wants(kind, 0)) {
      plan.counted(kind, 0);
      ++counted[kind];
    }
  EXPECT_EQ(counted.size(), 4u);
  EXPECT_EQ(counted[step.back()], 1) << "the one of its size, at the very end";
}

TEST(CountPlan, StopsWhenNothingIsLeftToLearn) {
  CountPlan plan(10 * kSecond, 1);
  int steps = 0;
  for (; steps < 100; ++steps) {
    plan.expect_nothing();
    for (int i = 0; i < 20000; ++i) plan.expect(kernel(1 + i % 2), 0, 0.01 * kMs);
    if (plan.choose(0, 100, false) == CountPlan::Way::nothing) break;
    for (int i = 0; i < 20000; ++i) {
      const Kind kind = kernel(1 + i % 2);
      if (!plan.wants(kind, 0)) continue;
      plan.counted(kind, 0);
      plan.value(kind, 0, 0, 0.5);
    }
    plan.spent(kSecond / 1000);
  }
  EXPECT_LT(steps, 10) << "a hundred would be within the budget";
  EXPECT_LT(plan.spent_ns(), kSecond);
}

// A program as the plan meets it: launches of steps, each with a duration and a utilisation that its kind has, and
// that differs from launch to launch.
struct Simulated {
  struct Launch {
    Kind kind;
    double duration_ns;
    double utilisation;
  };
  std::vector<Launch> step;
};

struct Outcome {
  double spent_s = 0;
  double covered = 0;    // share of the step's time in kinds that were counted in every set
  double impact_ms = 0;  // weighted impact at 70 % by the true utilisations, all launches
  double off_ms = 0;     // sum over the kinds of how far the estimate is from it
  std::uint32_t counted = 0;
  CountPlan::Way way = CountPlan::Way::nothing;
};

// As measured on an H200: docs/design/007.
constexpr double kLaunchAllMs = 1.6, kLaunchSomeMs = 1.6, kSessionMs = 450, kSkippedUs = 1;

Outcome simulate(const Simulated& program, int sets, int steps, std::int64_t budget_ns) {
  CountPlan plan(budget_ns, static_cast<std::uint32_t>(sets));
  std::map<Kind, std::vector<double>> seen;  // in the first set
  std::map<Kind, std::set<int>> sets_of;
  Outcome out;
  bool begun = false;
  for (int s = 0; s < steps; ++s) {
    const int set = s % sets;
    plan.expect_nothing();
    Kind before = 0;
    for (const auto& l : program.step) {
      plan.expect(l.kind, before, l.duration_ns);
      before = l.kind;
    }
    const auto way =
        plan.choose(static_cast<std::uint32_t>(set), static_cast<std::uint64_t>(steps - s), begun);
    if (s == 0) out.way = way;
    if (way == CountPlan::Way::nothing) continue;
    const double fixed_ms = way == CountPlan::Way::all ? (begun ? 40.0 : kSessionMs) : kSessionMs;
    begun = way == CountPlan::Way::all;
    double launches_ms = 0;
    std::uint32_t counted = 0;
    before = 0;
    for (const auto& l : program.step) {
      const bool wanted = way == CountPlan::Way::all || plan.wants(l.kind, before);
      if (wanted && plan.affords(static_cast<std::int64_t>((fixed_ms + launches_ms) * kMs))) {
        plan.counted(l.kind, before);
        plan.value(l.kind, before, 0, l.utilisation);
        seen[l.kind].push_back(l.utilisation);
        sets_of[l.kind].insert(set);
        launches_ms += way == CountPlan::Way::all ? kLaunchAllMs : kLaunchSomeMs;
        ++counted;
      } else {
        launches_ms += kSkippedUs / 1000;
      }
      before = l.kind;
    }
    out.counted += counted;
    plan.learn(way, counted, fixed_ms * kMs, launches_ms * kMs);
    plan.spent(static_cast<std::int64_t>((fixed_ms + launches_ms) * kMs));
  }
  out.spent_s = static_cast<double>(plan.spent_ns()) / 1e9;
  double time = 0;
  std::map<Kind, double> true_ms, estimated_ms;
  for (const auto& l : program.step) {
    time += l.duration_ns;
    true_ms[l.kind] += l.duration_ns / kMs * (1 - l.utilisation / 0.7);
    const auto& values = seen[l.kind];
    if (sets_of[l.kind].size() == static_cast<std::size_t>(std::min(sets, steps)))
      out.covered += l.duration_ns;
    const double mean = values.empty() ? 0
                                       : std::accumulate(values.begin(), values.end(), 0.0) /
                                             static_cast<double>(values.size());
    estimated_ms[l.kind] += l.duration_ns / kMs * (1 - mean / 0.7);
  }
  out.covered /= time;
  for (const auto& [kind, ms] : true_ms) {
    out.impact_ms += ms;
    out.off_ms += std::fabs(ms - estimated_ms[kind]);
  }
  return out;
}

// Of each kind a duration from 2 to 200 us and a utilisation below 0.7; `spread` from launch to launch.
Simulated with_values(const std::vector<Kind>& kinds, double spread, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, spread);
  Simulated program;
  for (const Kind kind : kinds) {
    const double duration_ns = 2000 * std::pow(100.0, static_cast<double>(kind % 1009) / 1009);
    const double utilisation = 0.05 + 0.6 * static_cast<double>((kind >> 20) % 997) / 997;
    program.step.push_back({kind, duration_ns, std::clamp(utilisation + noise(random), 0.0, 0.7)});
  }
  return program;
}

// Two layers, forward and backward over time: eight kernels a cell, and an optimizer at the end.
TEST(CountPlan, AnLstmOf4302LaunchesStaysWithinTenSeconds) {
  std::vector<Kind> kinds;
  for (int cell = 0; cell < 2 * 256; ++cell)
    for (std::uint32_t k = 0; k < 8; ++k) kinds.push_back(kernel((cell < 256 ? 10 : 30) + k));
  while (kinds.size() < 4302) kinds.push_back(kernel(50 + static_cast<std::uint32_t>(kinds.size()) % 40));
  const Simulated program = with_values(kinds, 0.02, 1);
  const Outcome out = simulate(program, 8, 8, 10 * kSecond);
  RecordProperty("spent_s", std::to_string(out.spent_s));
  RecordProperty("off_share", std::to_string(out.off_ms / out.impact_ms));
  EXPECT_EQ(out.way, CountPlan::Way::some);
  EXPECT_LE(out.spent_s, 10);
  EXPECT_GE(out.covered, 0.99);
  EXPECT_LE(out.off_ms, 0.02 * out.impact_ms) << "the ranking's error, beside that of counting all";
  const Outcome all = simulate(program, 8, 8, 1000 * kSecond);
  EXPECT_EQ(all.way, CountPlan::Way::all);
  EXPECT_GT(all.spent_s, 48);
}

class PlannedPrograms : public ::testing::TestWithParam<std::size_t> {};

std::vector<steps::corpus::Kind> programs() {
  static const auto kAll = steps::corpus::kinds();
  return kAll;
}

TEST(CountPlan, WhatIsSetAsideIsNotSpent) {
  CountPlan plan(10 * kSecond, 1);
  EXPECT_TRUE(plan.affords(9 * kSecond));
  plan.set_aside(2 * kSecond);
  EXPECT_EQ(plan.spendable_ns(), 8 * kSecond);
  EXPECT_FALSE(plan.affords(8 * kSecond));
  EXPECT_TRUE(plan.affords(7 * kSecond));
  plan.set_aside(kSecond);
  EXPECT_EQ(plan.spendable_ns(), 9 * kSecond) << "not in addition";
}

// Counts all that the plan wants of a step of `kinds`, 1 ms each.
int count_step(CountPlan& plan, std::uint32_t set, const std::vector<Kind>& kinds, CountPlan::Way* way) {
  plan.expect_nothing();
  for (const Kind kind : kinds) plan.expect(kind, 0, kMs);
  *way = plan.choose(set, 1, false);
  int counted = 0;
  for (const Kind kind : kinds) {
    if (*way == CountPlan::Way::nothing || (*way == CountPlan::Way::some && !plan.wants(kind, 0))) continue;
    plan.counted(kind, 0);
    ++counted;
  }
  return counted;
}

TEST(CountPlan, WhatAnEarlierRoundCountedIsKnown) {
  CountPlan plan(100 * kSecond, 2);
  CountPlan::Way way{};
  std::vector<Kind> kinds;
  for (std::uint32_t i = 0; i < 100; ++i) kinds.push_back(kernel(i));
  ASSERT_EQ(count_step(plan, 0, kinds, &way), 100);
  ASSERT_EQ(way, CountPlan::Way::all);
  ASSERT_EQ(count_step(plan, 1, kinds, &way), 100);
  ASSERT_EQ(count_step(plan, 1, kinds, &way), 100) << "again, in the round that it is counted in";
  plan.begin_round(1u << 0);  // of the other set no values came
  EXPECT_FALSE(plan.first_round());
  EXPECT_EQ(count_step(plan, 0, kinds, &way), 0);
  EXPECT_EQ(way, CountPlan::Way::nothing);
  EXPECT_TRUE(plan.all_known());
  EXPECT_EQ(count_step(plan, 1, kinds, &way), 100);
  EXPECT_FALSE(plan.all_known());
  // Ten in a hundred are new: these and no others.
  for (std::uint32_t i = 0; i < 10; ++i) kinds[i] = kernel(1000 + i);
  EXPECT_EQ(count_step(plan, 0, kinds, &way), 10);
  EXPECT_EQ(way, CountPlan::Way::some);
  // One is not worth a session.
  std::copy_n(std::vector<Kind>(9, kernel(50)).begin(), 9, kinds.begin());
  EXPECT_EQ(count_step(plan, 0, kinds, &way), 0);
  EXPECT_TRUE(plan.all_known());
}

TEST(CountPlan, AnotherProgramIsCountedInALaterRoundAsInTheFirst) {
  CountPlan plan(100 * kSecond, 1);
  CountPlan::Way way{};
  ASSERT_EQ(count_step(plan, 0, std::vector<Kind>(20, kernel(1)), &way), 20);
  plan.begin_round(1);
  EXPECT_EQ(count_step(plan, 0, std::vector<Kind>(20, kernel(2)), &way), 20);
  EXPECT_EQ(way, CountPlan::Way::all);
}

TEST(CountPlan, ARoundInWhichNothingWasCountedIsNone) {
  CountPlan plan(100 * kSecond, 1);
  plan.begin_round(1);
  EXPECT_TRUE(plan.first_round());
}

TEST(CountPlan, AKindIsKnownByOneThatSaysTheSame) {
  CountPlan plan(100 * kSecond, 1);
  CountPlan::Way way{};
  ASSERT_EQ(count_step(plan, 0, std::vector<Kind>(20, kernel(1)), &way), 20);
  plan.begin_round(1);
  plan.expect_nothing();
  for (int i = 0; i < 20; ++i) plan.expect(kernel(2), 0, kMs);
  plan.known_by(kernel(2), 0, kernel(3));
  EXPECT_EQ(plan.choose(0, 1, false), CountPlan::Way::all) << "kernel 3 was not counted either";
  plan.known_by(kernel(2), 0, kernel(1));
  EXPECT_EQ(plan.choose(0, 1, false), CountPlan::Way::nothing);
  EXPECT_TRUE(plan.all_known());
}

// Two ranks on one GPU: a tenth of a second for each of eight steps would be 48 launches of 150 kinds, eight times.
TEST(CountPlan, ASessionThatIsPaidForCountsNearlyAllKinds) {
  CountPlan plan(4 * kSecond, 8);
  std::vector<Kind> kinds;
  for (std::uint32_t i = 0; i < 300; ++i) kinds.push_back(kernel(i % 150));
  std::vector<int> counted;
  for (std::uint32_t set = 0; set < 8; ++set) {
    plan.expect_nothing();
    for (const Kind kind : kinds) plan.expect(kind, 0, kMs);
    if (plan.choose(set, 8 - set, false) == CountPlan::Way::nothing) break;
    counted.push_back(0);
    for (const Kind kind : kinds) {
      if (!plan.wants(kind, 0)) continue;
      plan.counted(kind, 0);
      ++counted.back();
    }
    plan.spent(static_cast<std::int64_t>(plan.costs().step_ns + counted.back() * plan.costs().launch_ns));
  }
  ASSERT_GE(counted.size(), 5u);
  EXPECT_LT(counted.size(), 8u) << "the sets that come first have it";
  for (std::size_t set = 0; set + 1 < counted.size(); ++set) EXPECT_GE(counted[set], 145) << set;
  EXPECT_LE(plan.spent_ns(), 4 * kSecond);
}

TEST(CountPlan, SharersDivideWhatIsLeft) {
  CountPlan alone(5 * kSecond, 1), sharing(5 * kSecond, 1);
  std::vector<Kind> kinds;
  for (std::uint32_t i = 0; i < 4000; ++i) kinds.push_back(kernel(i));
  CountPlan::Way way{};
  sharing.shared(kSecond, 2);
  EXPECT_EQ(sharing.spent_ns(), kSecond);
  EXPECT_EQ(sharing.own_spent_ns(), 0);
  EXPECT_TRUE(sharing.affords(3 * kSecond));
  EXPECT_FALSE(sharing.affords(4 * kSecond)) << "whoever spent it";
  const int by_one = count_step(alone, 0, kinds, &way), by_each = count_step(sharing, 0, kinds, &way);
  EXPECT_GT(by_each, by_one / 4);
  EXPECT_LT(by_each, by_one / 2);
  sharing.spent(3 * kSecond);
  EXPECT_EQ(sharing.spent_ns(), 3 * kSecond) << "what this one spent is in both";
}

// Whatever the program, what is spent stays within the budget, and what is counted stands for most of the time.
TEST_P(PlannedPrograms, StayWithinTheBudget) {
  const auto kind = programs()[GetParam()];
  const auto sequence = kind.make(1);
  const std::size_t middle = sequence.steps.size() / 2;
  ASSERT_LT(middle + 1, sequence.steps.size());
  std::vector<Kind> kinds;
  for (std::size_t i = sequence.steps[middle]; i < sequence.steps[middle + 1]; ++i)
    kinds.push_back(kernel(sequence.launches[i].key));
  const Simulated program = with_values(kinds, 0.02, 2);
  for (const std::int64_t budget_s : {2, 10}) {
    const Outcome out = simulate(program, 8, 8, budget_s * kSecond);
    EXPECT_LE(out.spent_s, static_cast<double>(budget_s)) << kind.name;
    if (budget_s < 10) continue;
    EXPECT_GE(out.covered, 0.95) << kind.name;
    EXPECT_LE(out.off_ms, 0.05 * out.impact_ms) << kind.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, PlannedPrograms, ::testing::Range<std::size_t>(0, programs().size()));

}  // namespace
}  // namespace ridgeline::counting
