// Steps from the period of launches: programs as they are, without a GPU.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "steps/step_period.h"

namespace ridgeline::agent {
namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed) {}
  std::uint32_t operator()() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

 private:
  std::uint64_t state_;
};

// A program that launches; the agent's thread looks every 50 ms of its time.
class Program {
 public:
  static constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

  void launch(std::uint32_t kernel, std::uint32_t grid = 1, std::int64_t after_ns = 5'000) {
    put(steps::key_of(kernel, grid, 1, 1), kernel, after_ns);
  }
  void graph(std::uint64_t handle, std::int64_t after_ns) { put(steps::graph_key(handle), 0, after_ns); }
  /// Launch indices of the boundaries, and the kernel of each.
  std::vector<std::uint64_t> boundaries;
  std::set<std::uint32_t> border_kernels;
  std::vector<StepPeriod::Found> found;
  std::int64_t now = kStart;
  std::uint64_t launches = 0;
  StepPeriod period;

  /// Launches between the last boundaries, newest first.
  std::uint64_t step(std::size_t back = 0) const {
    if (boundaries.size() < back + 2) return 0;
    return boundaries[boundaries.size() - 1 - back] - boundaries[boundaries.size() - 2 - back];
  }

 private:
  void put(steps::Key key, std::uint32_t kernel, std::int64_t after_ns) {
    now += after_ns;
    if (period.launch(key, now)) {
      boundaries.push_back(launches);
      border_kernels.insert(kernel);
    }
    ++launches;
    if (now - last_tick_ < 50'000'000) return;
    last_tick_ = now;
    StepPeriod::Found f;
    if (period.analyse(now, &f)) {
      period.activate();
      found.push_back(f);
      border_kernels.clear();
    }
  }
  std::int64_t last_tick_ = 0;
};

// 12 layers forward and back, an optimizer over parameters of several sizes: 313 launches as the trainer's.
constexpr std::uint32_t kEmbedding = 1, kClassifier = 90, kNorm = 100, kUpdate = 101;
void trainer_step(Program& p, std::int64_t pause_ns = 2'000'000) {
  p.launch(kEmbedding, 128, pause_ns);
  for (int layer = 0; layer < 12; ++layer)
    for (std::uint32_t k = 10; k < 20; ++k) p.launch(k, k * 3);
  p.launch(kClassifier);
  for (int layer = 0; layer < 12; ++layer)
    for (std::uint32_t k = 30; k < 45; ++k) p.launch(k, k * 2);
  p.launch(2, 128);
  p.launch(kNorm);
  for (std::uint32_t i = 0; i < 9; ++i) p.launch(kUpdate, 10 + i);
}
constexpr std::uint64_t kTrainerLaunches = 1 + 120 + 1 + 180 + 1 + 1 + 9;

void run(Program& p, double seconds, const std::function<void()>& step) {
  const std::int64_t end = p.now + static_cast<std::int64_t>(seconds * 1e9);
  while (p.now < end) step();
}

TEST(StepPeriod, FindsTheStepAndNotTheLayer) {
  Program p;
  run(p, 3, [&] { trainer_step(p); });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, kTrainerLaunches);
  EXPECT_EQ(p.found[0].periods, 1u);
  EXPECT_DOUBLE_EQ(p.found[0].period.coverage, 1.0);
  EXPECT_NEAR(static_cast<double>(p.found[0].step_ns), 2e6 + 5e3 * (kTrainerLaunches - 1), 2e3);
  ASSERT_GT(p.boundaries.size(), 100u);
  for (std::size_t i = 1; i < p.boundaries.size(); ++i)
    EXPECT_EQ(p.boundaries[i] - p.boundaries[i - 1], kTrainerLaunches);
  EXPECT_EQ(p.border_kernels, std::set<std::uint32_t>{kEmbedding}) << "after the host's longest pause";
}

TEST(StepPeriod, WaitsForEvidence) {
  Program p;
  run(p, 0.1, [&] { trainer_step(p); });
  EXPECT_TRUE(p.found.empty()) << "a tenth of a second is too little to tell a step from a loop";
}

TEST(StepPeriod, TakesManyRepeatsForEvidence) {
  Program p;
  run(p, 0.4, [&] {
    p.launch(1, 1, 200'000);
    for (std::uint32_t k = 10; k < 60; ++k) p.launch(k);
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 51u);
  EXPECT_EQ(p.found[0].periods, 3u);
}

TEST(StepPeriod, TakesTheFirstKernelOfRepeatedOnesByWhatStandsBefore) {
  // A step that begins with the kernel that also fills elsewhere (zero_grad): only the row of keys is unique.
  Program p;
  run(p, 3, [&] {
    p.launch(7, 1, 3'000'000);
    for (std::uint32_t k = 20; k < 60; ++k) {
      p.launch(k);
      if (k % 10 == 0) p.launch(7);
    }
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 45u);
  EXPECT_EQ(p.border_kernels, std::set<std::uint32_t>{7});
  EXPECT_EQ((p.boundaries.back()) % 45, 0u) << "the one after the pause";
}

// PyTorch's fused AdamW launches one kernel several times in a row: its own distance is no period.
TEST(StepPeriod, IsNotMisledByABurstOfOneKernel) {
  Program program;
  for (int step = 0; step < 150; ++step) {
    for (std::uint32_t layer = 0; layer < 12; ++layer) {
      for (std::uint32_t k = 0; k < 25; ++k) program.launch(10 + k, 1 + k % 3, 40'000);
    }
    for (int chunk = 0; chunk < 4; ++chunk) program.launch(kUpdate, 320, 7'000);
    program.launch(kClassifier, 1, 50'000);
  }
  ASSERT_EQ(program.found.size(), 1u);
  EXPECT_EQ(program.found.front().periods, 1u);
  EXPECT_EQ(program.found.front().period.launches, 305u);
  EXPECT_GT(program.boundaries.size(), 10u);
  EXPECT_EQ(program.step(), 305u);
}

TEST(StepPeriod, IsNotMisledByTheFirstPassThroughManyLayers) {
  // 96 layers, the first pass slow: every kernel is loaded, at its first launch.
  Program p;
  const auto forward = [&](std::int64_t first_ns) {
    for (int layer = 0; layer < 96; ++layer)
      for (std::uint32_t k = 0; k < 10; ++k) p.launch(10 + k, 5, layer == 0 ? first_ns : 20'000);
    for (std::uint32_t k = 0; k < 15; ++k) p.launch(100 + k);
  };
  forward(100'000'000);
  run(p, 3, [&] { forward(20'000); });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 975u);
}

TEST(StepPeriod, ForgetsFirstStepsThatDiffer) {
  Dice random(3);
  Program p;
  for (int i = 0; i < 20'000; ++i) p.launch(500 + random() % 50, random() % 100);  // initialisation
  for (int step = 0; step < 3; ++step) {
    trainer_step(p);
    for (std::uint32_t k = 0; k < 40; ++k) p.launch(300 + k);  // algorithms are tried
  }
  run(p, 5, [&] { trainer_step(p); });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, kTrainerLaunches);
}

TEST(StepPeriod, FindsStepsOfFewLaunchesAfterAStartOfMany) {
  Program p;
  Dice random(11);
  for (int i = 0; i < 9'000; ++i) p.launch(random() % 300, random() % 50, 2'000'000);  // compiles, captures
  EXPECT_TRUE(p.found.empty());
  const std::int64_t started = p.now;
  while (p.found.empty() && p.now < started + 60'000'000'000) {
    p.launch(7, 1, 1'000'000);
    p.graph(0x7f1234567000, 1'000'000);
    p.graph(0x7f1234568000, 8'000'000);
  }
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 3u);
  EXPECT_LT(p.now - started, 8'000'000'000) << "long before the steps are half of all launches";
}

TEST(StepPeriod, KeepsToTheStepThroughValidation) {
  Program p;
  int step = 0;
  run(p, 10, [&] {
    trainer_step(p, 20'000'000);
    if (++step % 20 == 0)
      for (int batch = 0; batch < 5; ++batch)
        for (std::uint32_t k = 10; k < 20; ++k) p.launch(k, k * 3);
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, kTrainerLaunches);
  std::size_t odd = 0;
  for (std::size_t i = 1; i < p.boundaries.size(); ++i)
    odd += p.boundaries[i] - p.boundaries[i - 1] != kTrainerLaunches;
  EXPECT_GT(odd, 0u);
  EXPECT_LT(odd, p.boundaries.size() / 15) << "only the steps before a validation are longer";
}

// Half a step's worth of validation after every tenth: no period covers nine tenths of that program.
TEST(StepPeriod, FindsTheStepThroughMuchValidation) {
  Program p;
  int step = 9;  // the first comes at once
  run(p, 12, [&] {
    trainer_step(p, 40'000'000);
    if (++step % 10 == 0)
      for (int batch = 0; batch < 16; ++batch)
        for (std::uint32_t k = 10; k < 25; ++k) p.launch(k, k * 3);
  });
  ASSERT_FALSE(p.found.empty());
  EXPECT_EQ(p.found.back().period.launches, kTrainerLaunches);
}

TEST(StepPeriod, TakesTheStepRatherThanItsMicroSteps) {
  // 8 micro-steps of a quarter second: three of them are found first, then the step.
  Program p;
  run(p, 60, [&] {
    for (int micro = 0; micro < 8; ++micro) {
      p.launch(1, 1, 200'000'000);
      for (std::uint32_t k = 10; k < 200; ++k) p.launch(k);
    }
    for (std::uint32_t k = 0; k < 60; ++k) p.launch(300, 1 + k);
  });
  ASSERT_FALSE(p.found.empty());
  EXPECT_EQ(p.found.back().period.launches, 8u * 191 + 60);
  EXPECT_EQ(p.step(), 8u * 191 + 60);
}

TEST(StepPeriod, GivesUpAutotuningForTheSteps) {
  Program p;
  run(p, 2, [&] { p.launch(400, 7, 20'000), p.launch(401, 7, 20'000); });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 2u);
  EXPECT_EQ(p.found[0].periods, 25u) << "a step is at least a millisecond";
  EXPECT_EQ(p.step(), 50u);
  run(p, 8, [&] { trainer_step(p); });
  ASSERT_EQ(p.found.size(), 2u);
  EXPECT_TRUE(p.found[1].replaces);
  EXPECT_EQ(p.step(), kTrainerLaunches);
}

TEST(StepPeriod, GivesUpALongInitialisationWithinAFewSteps) {
  // Sharding and initialising a model: 16 launches every 2 ms for longer than the whole training takes.
  Program p;
  run(p, 8, [&] {
    p.launch(400, 7, 100'000);
    for (std::uint32_t k = 401; k < 416; ++k) p.launch(k, 7, 126'000);
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 16u);
  int steps = 0;
  // A step has the kernels that begin a pass of the initialisation, and more often than that had them.
  const std::uint32_t first = *p.border_kernels.begin();
  for (; steps < 70 && p.found.size() < 2; ++steps) {
    trainer_step(p, 30'000'000);
    for (std::uint32_t k = 500; k < 1200; ++k) {
      p.launch(k, 3, 35'000);
      for (std::uint32_t i = 0; i < (k % 10 < 3 ? 6u : 0u); ++i)
        p.launch(400 + (first - 400 + 11 + i) % 16, 7);
    }
  }
  ASSERT_EQ(p.found.size(), 2u);
  EXPECT_TRUE(p.found[1].replaces);
  EXPECT_EQ(p.found[1].period.launches, kTrainerLaunches + 700 + 210 * 6);
  EXPECT_LE(steps, 12);
}

TEST(StepPeriod, KeepsToTheStepWhereAnEvaluationIsSeveralTimesAsLong) {
  // Six times per step is no initialisation that gave way to the steps.
  Program p;
  run(p, 12, [&] { trainer_step(p); });
  run(p, 4, [&] {
    for (std::uint32_t k = 1000; k < 1000 + 6 * kTrainerLaunches; ++k) p.launch(k);
  });
  run(p, 2, [&] { trainer_step(p); });
  EXPECT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.step(), kTrainerLaunches);
}

TEST(StepPeriod, DoesNotTakeALongEvaluationForTheProgram) {
  Program p;
  run(p, 12, [&] { trainer_step(p); });
  run(p, 4, [&] {
    for (std::uint32_t k = 10; k < 20; ++k) p.launch(k, k * 3);
    p.launch(600);
  });
  run(p, 2, [&] { trainer_step(p); });
  EXPECT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.step(), kTrainerLaunches);
}

TEST(StepPeriod, TakesAGraphLaunchForAStep) {
  Program p;
  run(p, 3, [&] { p.graph(0x7f1234567000, 40'000'000); });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 1u);
  EXPECT_EQ(p.found[0].periods, 1u);
  EXPECT_EQ(p.step(), 1u);
}

TEST(StepPeriod, FollowsGraphsBetweenOtherLaunches) {
  Program p;
  run(p, 3, [&] {
    p.launch(5);
    p.graph(0x7f0000001000, 10'000'000);
    p.graph(0x7f0000002000, 100'000);
    for (std::uint32_t k = 0; k < 6; ++k) p.launch(50, k);
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 9u);
}

TEST(StepPeriod, LooksThroughGridsThatChange) {
  Dice random(11);
  Program p;
  run(p, 12, [&] {
    const std::uint32_t tokens = 100 + random() % 900;
    p.launch(1, tokens, 5'000'000);
    for (std::uint32_t k = 10; k < 120; ++k) p.launch(k, tokens * k);
  });
  ASSERT_EQ(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, 111u);
  EXPECT_EQ(p.step(), 111u);
}

TEST(StepPeriod, BearsALittleNoise) {
  // Another thread's kernel now and then: one in a few thousand launches.
  Dice random(5);
  Program p;
  run(p, 6, [&] {
    trainer_step(p);
    if (random() % 60 == 0) p.launch(700);
  });
  ASSERT_GE(p.found.size(), 1u);
  EXPECT_EQ(p.found[0].period.launches, kTrainerLaunches);
}

TEST(StepPeriod, FindsNothingWhereNothingRepeats) {
  Dice random(1);
  Program p;
  run(p, 10, [&] { p.launch(random() % 40, random() % 8, 20'000); });
  EXPECT_TRUE(p.found.empty());
  EXPECT_TRUE(p.boundaries.empty());
}

TEST(StepPeriod, StartsAfreshWithAWindow) {
  Program p;
  run(p, 3, [&] { trainer_step(p); });
  EXPECT_TRUE(p.period.active());
  p.period.restart();
  EXPECT_FALSE(p.period.active());
  const std::size_t before = p.boundaries.size();
  trainer_step(p);
  EXPECT_EQ(p.boundaries.size(), before);
  run(p, 3, [&] { trainer_step(p); });
  EXPECT_TRUE(p.period.active());
  EXPECT_GT(p.boundaries.size(), before);
}

}  // namespace
}  // namespace ridgeline::agent
