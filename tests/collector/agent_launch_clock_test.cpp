// The clock of launches: right between two readings, monotonous, unknown where it must be.
#include <gtest/gtest.h>

#include <cstdlib>

#include "launch_clock.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

// A counter of 2.5 GHz and a clock that goes wrong by so many parts in a million.
struct Clocks {
  std::uint64_t counter = 1'000'000;
  std::int64_t set_by_ns = 0;
  double parts_per_million = 0;
  double elapsed_ns = 0;
  LaunchClock clock;

  void pass(double ns) {
    elapsed_ns += ns * (1 + parts_per_million / 1e6);
    counter += static_cast<std::uint64_t>(ns * 2.5);
  }
  std::int64_t real_ns() const { return kStart + set_by_ns + static_cast<std::int64_t>(elapsed_ns); }
  void read() {
    clock.calibrate([this] { return real_ns(); }, [this] { return counter; });
  }
  std::int64_t wrong_ns() const { return clock.at(counter) - real_ns(); }
};

TEST(LaunchClock, IsUnknownUntilTheSecondReading) {
  Clocks c;
  EXPECT_EQ(c.clock.at(c.counter), 0);
  c.read();
  EXPECT_EQ(c.clock.at(c.counter), 0);
  c.pass(1e6);
  c.read();
  EXPECT_EQ(c.clock.at(c.counter), 0) << "too near to the first";
  c.pass(50e6);
  c.read();
  EXPECT_NEAR(static_cast<double>(c.wrong_ns()), 0, 2);
  c.pass(40e6);
  EXPECT_NEAR(static_cast<double>(c.wrong_ns()), 0, 10);
}

TEST(LaunchClock, FollowsAClockThatIsSlewedAndNeverRunsBackwards) {
  Clocks c;
  std::int64_t before = 0;
  for (int i = 0; i < 400; ++i) {
    c.parts_per_million = i < 100 ? 0 : i < 200 ? 500 : -300;
    for (int part = 0; part < 50; ++part) {
      c.pass(1e6);
      const std::int64_t shown = c.clock.at(c.counter);
      if (shown == 0) continue;
      EXPECT_GE(shown, before);
      before = shown;
      // A change of the rate by 800 parts in a million is 40 us in 50 ms; it is made up for soon.
      if (i % 100 > 10 && i > 1) {
        EXPECT_LT(std::abs(c.wrong_ns()), 1000) << i;
      }
    }
    c.read();
  }
}

TEST(LaunchClock, FollowsAClockThatIsSetAtOnce) {
  Clocks c;
  for (int i = 0; i < 5; ++i, c.pass(50e6)) c.read();
  c.set_by_ns = 3'000'000'000;
  c.read();
  EXPECT_LT(std::abs(c.wrong_ns()), 100);
  c.pass(50e6);
  c.set_by_ns = -1'000'000'000;
  c.read();  // the clock is behind the latest reading: the rate is not known
  c.pass(50e6);
  c.read();
  EXPECT_LT(std::abs(c.wrong_ns()), 100);
}

// A step of 1 ms in 50 ms is no rate of 1.02.
TEST(LaunchClock, AClockThatIsSetChangesNoRate) {
  for (const std::int64_t step_ns : {1'000'000, -1'000'000}) {
    Clocks c;
    for (int i = 0; i < 5; ++i, c.pass(50e6)) c.read();
    c.set_by_ns = step_ns;
    c.read();
    EXPECT_LT(std::abs(c.wrong_ns()), 100);
    const std::uint64_t begin = c.counter;
    c.pass(400e6);  // the next reading comes late
    EXPECT_LT(std::abs(c.wrong_ns()), 100) << step_ns;
    EXPECT_NEAR(static_cast<double>(c.clock.lasted_ns(begin, c.counter)), 400e6, 100);
    c.read();
    EXPECT_LT(std::abs(c.wrong_ns()), 100);
  }
}

TEST(LaunchClock, ARateThatIsWrongIsNotKept) {
  Clocks c;
  c.parts_per_million = 5000;
  for (int i = 0; i < 2; ++i, c.pass(50e6)) c.read();
  c.parts_per_million = 0;
  for (int i = 0; i < 4; ++i, c.pass(50e6)) c.read();
  EXPECT_LT(std::abs(c.wrong_ns()), 1000);
}

// What is made up for in 100 ms is not made up for ten times over.
TEST(LaunchClock, WhatIsMadeUpForIsNotMadeUpForAgain) {
  Clocks c;
  for (int i = 0; i < 5; ++i, c.pass(50e6)) c.read();
  c.set_by_ns = 40'000;  // as by a clock that was slewed
  c.read();
  for (int i = 0; i < 9; ++i) {
    c.pass(100e6);
    if (c.clock.at(c.counter) == 0) continue;
    EXPECT_LE(std::abs(c.wrong_ns()), 90'000) << i;
  }
}

TEST(LaunchClock, IsUnknownLongAfterAReadingAndBeforeIt) {
  Clocks c;
  c.read();
  c.pass(50e6);
  c.read();
  EXPECT_NE(c.clock.at(c.counter), 0);
  EXPECT_EQ(c.clock.at(c.counter - 100), 0) << "of a processor whose counter is late";
  c.pass(1.5e9);
  EXPECT_EQ(c.clock.at(c.counter), 0);
}

TEST(LaunchClock, TellsTheBeginFromTheEndAlsoAcrossAReading) {
  Clocks c;
  EXPECT_FALSE(c.clock.has_rate());
  EXPECT_EQ(c.clock.since(c.counter, c.counter).end_ns, 0);
  c.read();
  c.pass(50e6);
  c.read();
  EXPECT_TRUE(c.clock.has_rate());
  const std::uint64_t begin = c.counter;
  const std::int64_t begin_ns = c.real_ns();
  c.pass(60e6);
  c.read();
  c.pass(1e6);
  const LaunchClock::Span span = c.clock.since(begin, c.counter);
  EXPECT_EQ(span.end_ns, c.clock.at(c.counter));
  EXPECT_NEAR(static_cast<double>(span.begin_ns - begin_ns), 0, 20) << "of a launch that a reading fell into";
  EXPECT_EQ(span.end_ns - span.begin_ns, 61'000'000);
  EXPECT_EQ(c.clock.since(c.counter, c.counter - 10).begin_ns,
            c.clock.since(c.counter, c.counter - 10).end_ns)
      << "of a processor whose counter is late";

  c.pass(1.5e9);
  EXPECT_EQ(c.clock.since(begin, c.counter).end_ns, 0) << "long after a reading";
  EXPECT_NEAR(static_cast<double>(c.clock.lasted_ns(begin, c.counter)), 1'561e6, 100)
      << "known none the less";
}

TEST(LaunchClock, AReadingDuringWhichTheThreadWasAwayIsLeftOut) {
  Clocks c;
  c.read();
  c.pass(50e6);
  c.read();
  c.pass(50e6);
  const std::int64_t shown = c.clock.at(c.counter);
  c.clock.calibrate([&] { return c.pass(5e6), c.real_ns() - 4'000'000; }, [&] { return c.counter; });
  EXPECT_EQ(c.clock.at(c.counter) - shown, 25'000'000) << "five tries went by, nothing else";
}

}  // namespace
}  // namespace ridgeline::agent
