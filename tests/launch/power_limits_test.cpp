#include "ridgeline/launch/power_limits.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

namespace ridgeline::launch::testing {
namespace {

TEST(PowerLimits, AreAskedOnceAndBesideTheCaller) {
  std::atomic<int> asked{0};
  std::thread::id where;
  bool takes_signals = true;
  PowerLimitsAhead ahead([&] {
    ++asked;
    where = std::this_thread::get_id();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    takes_signals = sigismember(&blocked, SIGINT) == 0;
    return PowerLimitsAhead::Limits{{"GPU-1", 700.0}};
  });
  ahead.ask();
  ahead.ask();
  EXPECT_EQ(ahead.get().at("GPU-1"), 700.0);
  ahead.ask();
  EXPECT_EQ(ahead.get().size(), 1u);
  EXPECT_EQ(asked.load(), 1);
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_FALSE(takes_signals);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0) << "the caller's signals are its own again";
}

TEST(PowerLimits, AreAskedWhereTheyAreWantedIfNobodyDidBefore) {
  int asked = 0;
  PowerLimitsAhead ahead([&] {
    ++asked;
    return PowerLimitsAhead::Limits{};
  });
  EXPECT_TRUE(ahead.get().empty());
  EXPECT_TRUE(ahead.get().empty());
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace ridgeline::launch::testing
