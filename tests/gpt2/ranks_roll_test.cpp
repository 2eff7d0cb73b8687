// Which rank ends a job, and why: every sign, and which of several is the cause.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "gpt2/ranks/roll.h"

namespace ridgeline::gpt2 {
namespace {

constexpr RollLimits kLimits{.silent_s = 5, .late_s = 8, .stalled_s = 60, .join_s = 120, .settle_s = 0.4};

// Ranks that train, a beat each half second, as far as nothing else is said.
class Job {
 public:
  explicit Job(int size) : roll(size, kLimits, 0), silent(static_cast<std::size_t>(size)) {}

  // One beat of all that are not silent.
  void beat(RankPhase phase, std::int64_t step) {
    for (int rank = 0; rank < roll.size(); ++rank) {
      if (!silent[static_cast<std::size_t>(rank)]) roll.beat(rank, phase, step, now_s);
    }
  }
  void wait(double seconds) { now_s += seconds; }
  std::string cause() const {
    const auto verdict = roll.verdict(now_s);
    return verdict ? verdict->cause : std::string();
  }

  Roll roll;
  std::vector<bool> silent;
  double now_s = 0;
};

TEST(RanksRoll, AHealthyJobIsNeverEnded) {
  Job job(4);
  job.beat(RankPhase::joining, -1);
  job.beat(RankPhase::preparing, 0);
  for (int step = 0; step < 1000; ++step) {
    job.wait(0.5);
    job.beat(RankPhase::training, step);
    ASSERT_EQ(job.cause(), "") << step;
  }
  for (int rank = 0; rank < 4; ++rank) job.roll.left(rank);
  job.wait(1000);
  EXPECT_EQ(job.cause(), "");
  EXPECT_TRUE(job.roll.all_left());
}

TEST(RanksRoll, ALongStepEndsNoJob) {
  Job job(2);
  for (int i = 0; i < 100; ++i) {
    job.wait(0.5);
    job.beat(RankPhase::training, 7);
  }
  EXPECT_EQ(job.cause(), "") << "50 s in a step, all ranks alike";
}

TEST(RanksRoll, AKilledRankIsNamedWithItsStep) {
  Job job(2);
  job.beat(RankPhase::training, 11);
  job.wait(0.1);
  job.roll.ended(1, "was killed by signal 9 (Killed)", job.now_s);
  EXPECT_EQ(job.cause(), "") << "a better cause may follow";
  job.wait(0.5);
  EXPECT_EQ(job.cause(), "rank 1 of 2 was killed by signal 9 (Killed) in step 12");
  EXPECT_EQ(job.roll.verdict(job.now_s)->exit_code, kRankLostExitCode);
}

TEST(RanksRoll, WhatOthersMakeOfADeathIsNotTheCause) {
  Job job(3);
  job.beat(RankPhase::training, 2);
  job.roll.lost_others(0, "NCCL has lost another rank", 0.0);
  job.roll.failed(2, 5, "cudaStreamSynchronize failed", 0.1);
  job.roll.ended(1, "was killed by signal 11 (Segmentation fault)", 0.2);
  job.wait(1);
  EXPECT_EQ(job.cause(), "rank 1 of 3 was killed by signal 11 (Segmentation fault) in step 3");
}

TEST(RanksRoll, AFailureKeepsItsExitCode) {
  Job job(2);
  job.beat(RankPhase::starting, -1);
  job.roll.failed(1, 4, "out of GPU memory", 0.0);
  job.roll.ended(1, "ended with exit code 4", 0.1);
  job.wait(1);
  EXPECT_EQ(job.cause(), "rank 1 of 2: out of GPU memory");
  EXPECT_EQ(job.roll.verdict(job.now_s)->exit_code, 4);
}

TEST(RanksRoll, TheFirstOfEqualFailuresIsNamed) {
  Job job(3);
  job.roll.failed(2, 1, "step 5: diverged", 0.1);
  job.roll.failed(1, 1, "step 5: diverged", 0.2);
  job.roll.failed(0, 1, "step 5: diverged", 0.3);
  job.wait(1);
  EXPECT_EQ(job.cause(), "rank 2 of 3: step 5: diverged");
}

TEST(RanksRoll, AStoppedRankIsNamedWithinSixSeconds) {
  Job job(2);
  job.beat(RankPhase::training, 3);
  job.silent[1] = true;
  double said_s = 0;
  for (int i = 0; i < 20 && said_s == 0; ++i) {
    job.wait(0.5);
    job.beat(RankPhase::training, 4);
    if (!job.cause().empty()) said_s = job.now_s;
  }
  EXPECT_GT(said_s, 4.9);
  EXPECT_LE(said_s, 6);
  EXPECT_EQ(job.cause(),
            "rank 1 of 2 has not answered for 5 s, last in step 4: its process or its machine has stopped");
}

TEST(RanksRoll, ALostConnectionBehindAStoppedRankNamesThatOne) {
  Job job(2);
  job.beat(RankPhase::training, 3);
  job.silent[1] = true;
  job.wait(5.5);
  job.beat(RankPhase::training, 4);
  job.roll.lost_others(0, "NCCL has lost another rank", job.now_s);
  job.wait(0.5);
  EXPECT_EQ(job.cause().substr(0, 30), "rank 1 of 2 has not answered f");
}

TEST(RanksRoll, ARankThatKeepsOthersWaitingIsLate) {
  Job job(3);
  job.beat(RankPhase::training, 9);
  double said_s = 0;
  for (int i = 0; i < 40 && said_s == 0; ++i) {
    job.wait(0.5);
    job.roll.beat(0, RankPhase::training, 10, job.now_s);
    job.roll.beat(1, RankPhase::training, 9, job.now_s);
    job.roll.beat(2, RankPhase::training, 10, job.now_s);
    if (!job.cause().empty()) said_s = job.now_s;
  }
  EXPECT_GE(said_s, 8);
  EXPECT_LE(said_s, 9);
  EXPECT_EQ(job.cause(), "rank 1 of 3 is late: in step 10 for 8 s while rank 0 waits in step 11");
}

TEST(RanksRoll, ACheckpointMayTakeItsTime) {
  Job job(2);
  job.beat(RankPhase::training, 9);
  for (int i = 0; i < 100; ++i) {
    job.wait(0.5);
    job.roll.beat(0, RankPhase::aside, 9, job.now_s);
    job.roll.beat(1, RankPhase::training, 10, job.now_s);
    ASSERT_EQ(job.cause(), "") << job.now_s;
  }
  job.roll.beat(0, RankPhase::training, 10, job.now_s);
  job.wait(0.5);
  job.beat(RankPhase::training, 11);
  EXPECT_EQ(job.cause(), "");
}

TEST(RanksRoll, AStallOfAllNamesTheLastRank) {
  Job job(2);
  job.beat(RankPhase::training, 1);
  job.roll.beat(0, RankPhase::training, 2, 0.5);
  job.roll.beat(1, RankPhase::training, 2, 0.6);
  job.now_s = 0.6;
  for (int i = 0; i < 122; ++i) {
    job.wait(0.5);
    job.beat(RankPhase::training, 2);
  }
  EXPECT_EQ(job.cause(), "no rank has begun a step for 61 s: rank 0 of 2 is the last, in step 3");
}

TEST(RanksRoll, ARankThatNeverJoinsIsNamed) {
  Job job(2);
  for (int i = 0; i < 239; ++i) {
    job.wait(0.5);
    job.roll.beat(0, RankPhase::joining, -1, job.now_s);
    job.roll.beat(1, RankPhase::starting, -1, job.now_s);
    ASSERT_EQ(job.cause(), "") << job.now_s;
  }
  job.wait(1);
  job.beat(RankPhase::starting, -1);
  job.roll.beat(0, RankPhase::joining, -1, job.now_s);
  EXPECT_EQ(job.cause(), "rank 1 of 2 had not joined the others after 120 s");
}

TEST(RanksRoll, AnEndAfterLeavingIsNone) {
  Job job(2);
  job.beat(RankPhase::training, 1);
  job.roll.left(1);
  job.roll.ended(1, "was killed by signal 9 (Killed)", 0.1);
  job.beat(RankPhase::training, 2);
  job.wait(2);
  EXPECT_EQ(job.cause(), "");
  EXPECT_FALSE(job.roll.all_left());
}

}  // namespace
}  // namespace ridgeline::gpt2
