#include "ridgeline/base/spin_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

namespace ridgeline {
namespace {

TEST(PatientSpinGuard, GivesUpAndLeavesTheLockToWhoeverHasIt) {
  std::atomic_flag lock;
  {
    const SpinGuard first(lock);
    const PatientSpinGuard second(lock, std::chrono::milliseconds(5));
    EXPECT_FALSE(second);
    EXPECT_FALSE(PatientSpinGuard(lock, std::chrono::milliseconds(0))) << "still locked";
  }
  const PatientSpinGuard third(lock, std::chrono::milliseconds(0));
  EXPECT_TRUE(third);
}

TEST(PatientSpinGuard, HasItOnceTheOtherIsThrough) {
  std::atomic_flag lock;
  std::atomic<bool> held{false};
  std::thread other([&] {
    const SpinGuard guard(lock);
    held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  while (!held) std::this_thread::yield();
  const PatientSpinGuard guard(lock, std::chrono::milliseconds(60'000));
  EXPECT_TRUE(guard);
  other.join();
}

struct Reached {
  std::atomic<bool> asked{false}, inside{false};
};

void* pass_a_cancellation_point(void* passed) noexcept {
  auto& reached = *static_cast<Reached*>(passed);
  {
    const NoCancellation whole;
    while (!reached.asked) std::this_thread::yield();
    pthread_testcancel();
    reached.inside = true;
  }
  return nullptr;
}

// It would unwind a noexcept function, which ends the process.
TEST(NoCancellation, ARequestWaits) {
  Reached reached;
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, pass_a_cancellation_point, &reached), 0);
  ASSERT_EQ(pthread_cancel(thread), 0);
  reached.asked = true;
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_TRUE(reached.inside);
}

}  // namespace
}  // namespace ridgeline
