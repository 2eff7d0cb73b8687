// Processes that agree on where their schedules begin: here several objects on one control block.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "steps/agreement.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kStepNs = 50'000'000;
using Turn = Agreement::Turn;

// A program of several processes in lockstep; each step launches its collectives after it began.
struct Ranks {
  explicit Ranks(std::vector<unsigned> per_step, bool counts_all = true) : collectives(std::move(per_step)) {
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      ranks.push_back(std::make_unique<Agreement>(control.get(), counts_all));
      begun.emplace_back();
      waited.emplace_back();
    }
  }
  // The rank `rank` begins its step; later ones of the same round may be a little behind.
  void step(std::size_t rank) {
    const Turn turn = ranks[rank]->on_step_begin(now_ns);
    if (turn == Turn::begin) begun[rank].push_back(round);
    if (turn == Turn::wait) waited[rank].push_back(round);
    for (unsigned i = 0; i < collectives[rank]; ++i) ranks[rank]->count_collective();
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i, ++round, now_ns += kStepNs)
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) step(rank);
  }

  std::unique_ptr<spool::Control> control = std::make_unique<spool::Control>();
  std::vector<unsigned> collectives;
  std::vector<std::unique_ptr<Agreement>> ranks;
  std::vector<std::vector<int>> begun, waited;  // rounds, by rank
  int round = 0;
  std::int64_t now_ns = 1;
};

TEST(Agreement, BeginsWithTheSameStepInAllRanks) {
  Ranks r({7, 7, 7});
  r.rounds(5);
  r.ranks[1]->ask();
  r.rounds(9);
  r.ranks[0]->ask();
  r.rounds(1);
  r.ranks[2]->ask();
  r.rounds(20);
  ASSERT_EQ(r.begun[0].size(), 1u);
  EXPECT_EQ(r.begun[1], r.begun[0]);
  EXPECT_EQ(r.begun[2], r.begun[0]);
  EXPECT_GE(r.begun[0][0], 16) << "not before the last is ready";
  EXPECT_LE(r.begun[0][0], 20);
  EXPECT_EQ(r.waited[1].front(), 5);
  EXPECT_EQ(r.ranks[0]->taking_part(), 3u);
}

TEST(Agreement, ARankThatRunsAheadStillMeetsTheOthers) {
  Ranks r({4, 4});
  r.rounds(3);
  r.step(0);  // its host is two steps ahead
  r.step(0);
  std::vector<std::uint32_t> at;  // steps begun by each rank when its schedule began
  std::uint32_t begun_0 = 5, begun_1 = 3;
  r.ranks[0]->ask();
  r.ranks[1]->ask();
  for (int i = 0; i < 20; ++i) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const std::size_t before = r.begun[rank].size();
      r.step(rank);
      if (r.begun[rank].size() > before) at.push_back(rank == 0 ? begun_0 : begun_1);
      ++(rank == 0 ? begun_0 : begun_1);
    }
  }
  ASSERT_EQ(at.size(), 2u);
  EXPECT_EQ(at[0], at[1]) << "the same step of the program, though at another time";
}

TEST(Agreement, WithoutPeersNothingWaits) {
  Ranks alone({5});
  alone.rounds(3);
  alone.ranks[0]->ask();
  alone.rounds(3);
  EXPECT_EQ(alone.begun[0], std::vector<int>{3});
  EXPECT_TRUE(alone.waited[0].empty());
  Ranks without({0, 0});
  without.ranks[0]->ask();
  without.rounds(3);
  EXPECT_EQ(without.begun[0], std::vector<int>{0});
  EXPECT_TRUE(without.begun[1].empty());
  Agreement nobody(nullptr, true);
  nobody.count_collective();
  nobody.ask();
  EXPECT_EQ(nobody.on_step_begin(1), Turn::begin);
  EXPECT_EQ(nobody.on_step_begin(2), Turn::as_scheduled);
}

TEST(Agreement, WaitsForOneThatIsNeverReadyOnlySoLong) {
  Ranks r({3, 3});
  r.rounds(2);
  r.ranks[0]->ask();
  const int enough = static_cast<int>(Agreement::kPatienceNs / kStepNs);
  r.rounds(enough - 2);
  EXPECT_TRUE(r.begun[0].empty());
  r.rounds(12);
  ASSERT_EQ(r.begun[0].size(), 1u);
  EXPECT_EQ(r.begun[1], r.begun[0]) << "one that was on its way begins anew with it";
}

TEST(Agreement, ALateOneTakesTheOthersAlong) {
  Ranks r({3, 3});
  r.rounds(2);
  r.ranks[0]->ask();
  r.ranks[1]->ask();
  r.rounds(10);
  ASSERT_EQ(r.begun[0].size(), 1u);
  r.ranks[1]->ask();  // it found a better period
  r.rounds(static_cast<int>(Agreement::kPatienceNs / kStepNs) + 12);
  ASSERT_EQ(r.begun[0].size(), 2u);
  EXPECT_EQ(r.begun[0], r.begun[1]);
}

// One takes the initialisation for its steps, and begins before there is a collective; then it finds the real ones.
TEST(Agreement, OneThatBeganAmissBeginsAgainWithTheOthers) {
  Ranks r({0, 0});
  r.ranks[1]->ask();
  r.rounds(4);
  EXPECT_EQ(r.begun[1].size(), 1u);
  r.collectives = {6, 6};
  for (int i = 0; i < 6; ++i) {  // no boundary of the second one's period comes any more
    r.step(0);
    for (int c = 0; c < 6; ++c) r.ranks[1]->count_collective();
    ++r.round;
    r.now_ns += kStepNs;
  }
  r.ranks[0]->ask();
  for (int i = 0; i < 70; ++i) {
    r.step(0);
    for (int c = 0; c < 6; ++c) r.ranks[1]->count_collective();
    ++r.round;
    r.now_ns += kStepNs;
  }
  ASSERT_EQ(r.begun[0].size(), 1u) << "it does not wait for ever";
  r.ranks[1]->ask();
  r.rounds(20);
  ASSERT_EQ(r.begun[0].size(), 2u);
  EXPECT_EQ(r.begun[0].back(), r.begun[1].back());
}

TEST(Agreement, RanksOfUnlikeNumbersBeginWithTheirNextSteps) {
  Ranks r({10, 20});
  r.rounds(100);
  r.ranks[0]->ask();
  r.ranks[1]->ask();
  r.rounds(static_cast<int>(Agreement::kPatienceNs / kStepNs) + 5);
  ASSERT_EQ(r.begun[0].size(), 1u);
  ASSERT_EQ(r.begun[1].size(), 1u);
  EXPECT_LE(std::abs(r.begun[0][0] - r.begun[1][0]), 1);
  Ranks windows({10, 10}, false);  // counted from different moments on
  windows.rounds(3);
  windows.ranks[0]->ask();
  windows.ranks[1]->ask();
  windows.rounds(3);
  EXPECT_EQ(windows.begun[0].size(), 1u);
  EXPECT_EQ(windows.begun[1].size(), 1u);
}

TEST(Agreement, PeersMeetBeforeTheySample) {
  Ranks r({3, 3});
  r.rounds(2);
  r.ranks[0]->ask();
  r.ranks[1]->ask();
  r.rounds(8);
  std::atomic<bool> there{false}, over{false};
  std::thread early([&] {
    EXPECT_TRUE(r.ranks[0]->meet([&] { return over.load(); }));
    EXPECT_TRUE(there) << "it went on before the other came";
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  there = true;
  EXPECT_TRUE(r.ranks[1]->meet([] { return false; }));
  early.join();
  over = true;
  EXPECT_FALSE(
      r.ranks[0]->meet([&] { return over.load(); }));  // the other never comes: the end of the program does
  r.ranks[1]->leave();
  EXPECT_TRUE(r.ranks[0]->meet([] { return false; }));
  Ranks strangers({3, 3});  // nothing was agreed on: nobody waits
  strangers.rounds(2);
  EXPECT_TRUE(strangers.ranks[0]->meet([] { return false; }));
}

TEST(Agreement, OneThatLeftIsNotWaitedFor) {
  Ranks r({3, 3});
  r.rounds(2);
  r.ranks[1]->leave();
  r.ranks[0]->ask();
  EXPECT_EQ(r.ranks[0]->on_step_begin(1), Turn::begin);
}

}  // namespace
}  // namespace ridgeline::agent
