#include "ridgeline/steps/range_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace ridgeline::steps {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(FoldedName, LeavesNumbersOut) {
  EXPECT_EQ(FoldedName("Train step 63/64").text(), "Train step #/#");
  EXPECT_EQ(FoldedName("ProfilerStep#1024").text(), "ProfilerStep##");
  EXPECT_EQ(FoldedName("7").text(), "#");
  EXPECT_EQ(FoldedName("").text(), "");
  EXPECT_EQ(FoldedName("step 9"), FoldedName("step 10"));
  EXPECT_FALSE(FoldedName("step") == FoldedName("step 10"));
  EXPECT_EQ(FoldedName(std::string(500, 'x')).text().size(), FoldedName::kMaxBytes);
}

// Ranges of a program: name, launches in it, launches after it.
struct Ranges {
  RangeWatch watch;
  RangeWatch::Found found;
  std::uint64_t launches = 0;
  std::int64_t now = 1;
  bool range(const std::string& name, std::uint64_t inside, std::int64_t ns = 10 * kMs,
             std::uint32_t thread = 1) {
    watch.begin(name, thread, launches, now);
    launches += inside;
    now += ns;
    return watch.end(thread, launches, now, &found);
  }
};

TEST(RangeWatch, TakesTheThirdRangeOfOneNameForASeries) {
  Ranges r;
  r.launches = 5'000;  // what initialises the program is before the first
  EXPECT_FALSE(r.range("Train step 1/64", 400));
  EXPECT_FALSE(r.range("Train step 2/64", 410));
  ASSERT_TRUE(r.range("Train step 3/64", 400));
  EXPECT_EQ(r.found.name.text(), "Train step #/#");
  EXPECT_EQ(r.found.ranges, 3u);
  EXPECT_DOUBLE_EQ(r.found.share, 1.0);
}

TEST(RangeWatch, LeavesPartsOfAStepAlone) {
  Ranges r;
  for (int step = 0; step < 50; ++step) {
    EXPECT_FALSE(r.range("forward", 300));
    EXPECT_FALSE(r.range("backward", 600));
    EXPECT_FALSE(r.range("optimizer", 100));
  }
}

TEST(RangeWatch, WantsNearlyAllLaunchesInTheRanges) {
  Ranges r;
  for (int step = 0; step < 20; ++step) {
    EXPECT_FALSE(r.range("forward", 700));
    r.launches += 300;
  }
  Ranges enough;
  int taken = 0;
  for (int step = 0; step < 20; ++step) {
    taken += enough.range("step of mine", 900);
    enough.launches += 100;
  }
  EXPECT_GT(taken, 0);
}

TEST(RangeWatch, LeavesRangesWithoutLaunchesAndShortOnesAlone) {
  Ranges r;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(r.range("load batch", 0));
  Ranges ops;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(ops.range("aten::add", 1, 20'000));
}

TEST(RangeWatch, KeepsThreadsApart) {
  Ranges r;
  EXPECT_FALSE(r.range("step", 100, kMs, 1));
  EXPECT_FALSE(r.range("step", 100, kMs, 2));
  EXPECT_FALSE(r.range("step", 100, kMs, 3));
}

// A compiler whose threads try kernels at once, or by turns; each range has the launches of all of them.
TEST(RangeWatch, LeavesRangesOfOneNameOnSeveralThreadsAlone) {
  Ranges at_once;
  for (int round = 0; round < 50; ++round) {
    for (std::uint32_t thread = 1; thread <= 30; ++thread)
      at_once.watch.begin("try kernels", thread, at_once.launches, at_once.now);
    for (std::uint32_t thread = 1; thread <= 30; ++thread) {
      at_once.launches += 20;
      at_once.now += kMs;
      EXPECT_FALSE(at_once.watch.end(thread, at_once.launches, at_once.now, &at_once.found));
    }
  }
  Ranges by_turns;
  EXPECT_FALSE(by_turns.range("try", 20, kMs, 1));
  for (std::uint32_t thread = 2; thread <= 30; ++thread)
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(by_turns.range("try", 20, kMs, thread));
  std::uint32_t needed = 1;
  while (!by_turns.range("try", 20, kMs, 31)) ASSERT_LT(++needed, 1000u);
  EXPECT_EQ(needed, RangeWatch::kMinOfSeveralThreads) << "it is on one thread now";
}

TEST(RangeWatch, FindsTheSeriesAmongManyNames) {
  Ranges r;
  for (int i = 0; i < 200; ++i) {
    std::string name = "set-up ";
    name += static_cast<char>('a' + i % 26);
    name += static_cast<char>('a' + i / 26);
    EXPECT_FALSE(r.range(name, 1));
  }
  bool taken = false;
  for (int step = 0; step < 6; ++step) taken = r.range("train " + std::to_string(step), 500) || taken;
  EXPECT_TRUE(taken);
}

// A compiler that tries kernels, each in a range, before the steps, which have ranges of their own.
TEST(RangeWatch, OthersTakeThePlaceOfRangesThatStopComing) {
  Ranges r;
  int found = 0;
  for (int i = 0; i < 24; ++i) {
    if (found > 0) r.watch.step(r.launches);
    if (found == 0 && r.range("autotuning " + std::to_string(i), 200)) {
      ++found;
      r.watch.take(r.found);
    }
  }
  ASSERT_EQ(found, 1);
  EXPECT_EQ(r.found.name.text(), "autotuning #");
  int needed = 1;
  while (!r.range("module of the step", 27)) ASSERT_LT(++needed, 100);
  EXPECT_EQ(r.found.name.text(), "module of the step");
  EXPECT_EQ(needed, 24) << "as many as there were of the others";
}

TEST(RangeWatch, AsMuchTimeTakesThePlaceToo) {
  Ranges r;
  while (!r.range("try 1", 20, kMs)) {
  }
  r.watch.take(r.found);
  for (int i = 0; i < 500; ++i) {
    r.watch.step(r.launches);
    r.launches += 20;
    r.now += kMs;
  }
  Ranges settled = r;
  int needed = 1;
  while (!r.range("module of the step", 27, 10 * kMs)) ASSERT_LT(++needed, 1000);
  EXPECT_EQ(needed, 51) << "503 ms";
  // Where what was measured is complete, both are wanted.
  needed = 1;
  const auto ends = [&] {
    settled.watch.begin("module of the step", 1, settled.launches, settled.now);
    return settled.watch.end(1, settled.launches += 27, settled.now += 10 * kMs, &settled.found, true);
  };
  while (!ends()) ASSERT_LT(++needed, 1000);
  EXPECT_EQ(needed, 503);
}

TEST(RangeWatch, AnEvaluationDoesNotTakeThePlaceOfTheSteps) {
  Ranges r;
  while (!r.range("train 1", 500)) {
  }
  r.watch.take(r.found);
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (int step = 0; step < 30; ++step) {
      r.watch.step(r.launches);
      r.launches += 500;
      r.now += 10 * kMs;
    }
    for (int step = 0; step < 25; ++step) EXPECT_FALSE(r.range("evaluate " + std::to_string(step), 200));
  }
}

TEST(RangeWatch, InTheNextWindowTooOthersHaveToTakeThePlace) {
  Ranges r;
  while (!r.range("train 1", 500)) {
  }
  r.watch.take(r.found);
  r.watch.restart();
  for (int step = 1; step < 10; ++step) EXPECT_FALSE(r.range("evaluate", 200)) << step;
  EXPECT_TRUE(r.range("evaluate", 200)) << "ten in a row";
}

TEST(RangeWatch, ForgetsWithAWindow) {
  Ranges r;
  EXPECT_FALSE(r.range("train 1", 100));
  EXPECT_FALSE(r.range("train 2", 100));
  r.watch.restart();
  EXPECT_FALSE(r.range("train 3", 100));
}

}  // namespace
}  // namespace ridgeline::steps
