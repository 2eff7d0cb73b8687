// Processes that hold each other up share what recording may take: the ledgers, and two recorded processes on one GPU.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay_testing.h"
#include "tiers/shared_budget.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;

constexpr std::int64_t kBudgetMs = 1'000'000;
constexpr std::uint8_t kOneGpu[16] = {1}, kOtherGpu[16] = {2};

// Memory that children of fork() share.
template <typename Words>
Words* shared_words() {
  void* memory = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Words{};
}
// It must end by _exit(), or it would go on with the tests.
template <typename Body>
pid_t as_process(Body&& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  body();
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}
int status_of_process(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(SharedBudget, OnOneGpuWhatEachSpendsAddsUp) {
  auto control = std::make_unique<spool::Control>();
  SharedBudget one(control.get()), other(control.get()), elsewhere(control.get());
  one.use_device(kOneGpu);
  other.use_device(kOneGpu);
  elsewhere.use_device(kOtherGpu);
  one.spend(100 * kBudgetMs, 0, 150 * kBudgetMs);
  other.spend(200 * kBudgetMs, 150 * kBudgetMs, 400 * kBudgetMs);
  EXPECT_EQ(one.spent_ns(), 300 * kBudgetMs);
  EXPECT_EQ(other.spent_ns(), 300 * kBudgetMs);
  EXPECT_EQ(elsewhere.spent_ns(), 0);
  elsewhere.spend(50 * kBudgetMs, 0, 60 * kBudgetMs);
  EXPECT_EQ(elsewhere.spent_ns(), 50 * kBudgetMs);
  EXPECT_EQ(one.spent_ns(), 300 * kBudgetMs);
}

// Ranks on GPUs of their own count the same step side by side.
TEST(SharedBudget, WhatIsSpentAtOneTimeIsEnteredOnce) {
  auto control = std::make_unique<spool::Control>();
  SharedBudget one(control.get()), other(control.get());
  one.use_device(kOneGpu);
  other.use_device(kOtherGpu);
  one.wait_for_peers();
  other.wait_for_peers();
  one.spend(900 * kBudgetMs, 0, 1000 * kBudgetMs);
  other.spend(900 * kBudgetMs, 10 * kBudgetMs, 1020 * kBudgetMs);
  EXPECT_EQ(one.spent_ns(), 920 * kBudgetMs);
  EXPECT_EQ(other.spent_ns(), 920 * kBudgetMs);
  other.spend(5 * kBudgetMs, 900 * kBudgetMs, 1010 * kBudgetMs);
  EXPECT_EQ(other.spent_ns(), 920 * kBudgetMs) << "all of that time is paid for";
  EXPECT_EQ(one.sharers(), 1u) << "each has a GPU of its own";
}

TEST(SharedBudget, WithoutAControlFileEachHasItsOwn) {
  SharedBudget alone(nullptr);
  alone.use_device(kOneGpu);
  alone.wait_for_peers();
  alone.take_part(true);
  alone.spend(kBudgetMs, 0, kBudgetMs);
  EXPECT_EQ(alone.spent_ns(), 0);
  EXPECT_EQ(alone.sharers(), 1u);
  EXPECT_EQ(alone.kernels_of_all(7), 7u);
  alone.leave();
}

TEST(SharedBudget, WhoStillCountsHasAPartAndWhoDiedHasNone) {
  struct Words {
    spool::Control control;
    std::atomic<int> ready, go;
  };
  auto* words = shared_words<Words>();
  ASSERT_NE(words, nullptr);
  const auto wait_until = [](const std::atomic<int>& word, int value) {
    for (int i = 0; i < 5000 && word.load() < value; ++i) usleep(1000);
  };
  SharedBudget own(&words->control);
  own.use_device(kOneGpu);
  own.take_part(true);
  EXPECT_EQ(own.kernels_of_all(10), 10u);
  const auto other = [&](const std::uint8_t(&gpu)[16]) {
    SharedBudget budget(&words->control);
    budget.use_device(gpu);
    budget.take_part(true);
    EXPECT_EQ(budget.kernels_of_all(30), &gpu == &kOneGpu ? 40u : 30u);
    ++words->ready;
    wait_until(words->go, 1);
    budget.take_part(false);
    ++words->ready;
    pause();
  };
  const pid_t here = as_process([&] { other(kOneGpu); });
  const pid_t elsewhere = as_process([&] { other(kOtherGpu); });
  wait_until(words->ready, 2);
  EXPECT_EQ(own.sharers(), 2u);
  EXPECT_EQ(own.kernels_of_all(10), 40u);
  words->go = 1;
  wait_until(words->ready, 4);
  EXPECT_EQ(own.sharers(), 1u) << "it has counted what there was";
  kill(here, SIGKILL);
  kill(elsewhere, SIGKILL);
  EXPECT_EQ(status_of_process(here), 128 + SIGKILL);
  EXPECT_EQ(status_of_process(elsewhere), 128 + SIGKILL);
  EXPECT_EQ(own.kernels_of_all(10), 40u) << "the capture has its kernels all the same";
  const pid_t killed = as_process([&] {
    SharedBudget budget(&words->control);
    budget.use_device(kOneGpu);
    budget.take_part(true);
    kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(status_of_process(killed), 128 + SIGKILL);
  EXPECT_EQ(own.sharers(), 1u);
  munmap(words, sizeof *words);
}

// A recorded process whose counted launches take so long that all of them do not fit.
struct Rank {
  Rank(FakeCupti& its_cupti, std::int64_t begin_ns, const std::string& control_file = {})
      : cupti(its_cupti),
        program(cupti,
                {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"},
                 {"RIDGELINE_METRICS_R1", "a,dram__bytes_read.sum"},
                 {"RIDGELINE_METRICS_R2", "a,c"},
                 {"RIDGELINE_BUDGET_MS", "4000"}},
                true, control_file) {
    cupti.clock_ns = begin_ns;
    program.while_running = [this] { cupti.clock_ns += cupti.running ? 20'000'000 : 1000; };
    EXPECT_TRUE(program.start());
    program.create_context();
    program.launch("first");
    program.tick();
  }
  void run() {
    for (int step = 0; step < 5; ++step) {
      program.push("step");
      for (int i = 0; i < 500; ++i) program.launch(i % 10 == 9 ? "k2" : "k1");
      program.pop();
    }
  }
  FakeCupti& cupti;
  FakeProgram program;
};

TEST(SharedBudget, TwoProcessesOnOneGpuTakeNoMoreThanOneMay) {
  struct Words {
    std::int64_t begin_ns, end_ns;
  };
  auto* words = shared_words<Words>();
  ASSERT_NE(words, nullptr);
  FakeCupti cupti;
  Rank second(cupti, 1'000'000'000);
  const std::string control = second.program.control_file();
  // It counts first, while this process makes no step.
  const pid_t first = as_process([&] {
    FakeCupti own;
    Rank rank(own, 2'000'000'000, control);
    words->begin_ns = own.clock_ns;
    rank.run();
    words->end_ns = own.clock_ns;
  });
  ASSERT_EQ(status_of_process(first), 0);
  const std::int64_t by_first_ns = words->end_ns - words->begin_ns;
  EXPECT_GT(by_first_ns, 2'000'000'000);
  cupti.clock_ns = words->end_ns;
  second.run();
  const std::int64_t by_second_ns = cupti.clock_ns - words->end_ns;
  EXPECT_LE(by_first_ns + by_second_ns, 4'200'000'000);
  const auto c = measured(second.program);
  ASSERT_FALSE(c.counter_steps.empty());
  const auto last =
      std::max_element(c.counter_steps.begin(), c.counter_steps.end(),
                       [](const auto& one, const auto& other) { return one.step_index < other.step_index; });
  EXPECT_NE(c.text(last->reason).find("in processes that share the GPU"), std::string::npos)
      << c.text(last->reason);
  munmap(words, sizeof *words);
}

}  // namespace
}  // namespace ridgeline::agent
