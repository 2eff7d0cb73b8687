// What the agent keeps for a thread is found by that thread alone, however threads come and go.
#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "thread_state.h"

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kGeneration = 987'001;

TEST(ThreadState, IsTheSameAtEachCallAndOfOneThread) {
  // More than have a place of their own in the table.
  constexpr int kThreads = 700;
  std::mutex mutex;
  std::set<const ThreadState*> states;
  std::latch all_there(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      ThreadState* const own = this_thread(kGeneration);
      ASSERT_NE(own, nullptr);
      own->launch_kernel_id = own->thread_id;
      all_there.arrive_and_wait();  // each has taken its place, or another's
      for (int i = 0; i < 3; ++i) EXPECT_EQ(this_thread(kGeneration), own);
      EXPECT_EQ(own->launch_kernel_id, own->thread_id);
      const std::lock_guard<std::mutex> guard(mutex);
      states.insert(own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(states.size(), static_cast<std::size_t>(kThreads));
}

// The C library gives the next thread the stack of the one before, and so its pointer.
TEST(ThreadState, IsBegunAnewForAThreadWithThePointerOfOneThatEnded) {
  std::set<const void*> pointers;
  std::set<std::uint32_t> thread_ids;
  constexpr int kThreads = 20;
  for (int t = 0; t < kThreads; ++t)
    std::thread([&] {
      ThreadState* const own = this_thread(kGeneration);
      ASSERT_NE(own, nullptr);
      EXPECT_FALSE(own->ready_to_launch);
      own->ready_to_launch = true;
      EXPECT_EQ(own->thread_pointer.load(), __builtin_thread_pointer());
      pointers.insert(__builtin_thread_pointer());
      thread_ids.insert(own->thread_id);
    }).join();
  EXPECT_LT(pointers.size(), static_cast<std::size_t>(kThreads)) << "or this test shows nothing";
  EXPECT_EQ(thread_ids.size(), static_cast<std::size_t>(kThreads));
}

TEST(ThreadState, IsBegunAnewForAnotherSession) {
  ThreadState* const own = this_thread(kGeneration);
  ASSERT_NE(own, nullptr);
  own->ready_to_launch = true;
  EXPECT_EQ(this_thread(kGeneration + 1), own);
  EXPECT_FALSE(own->ready_to_launch);
}

}  // namespace
}  // namespace ridgeline::agent
