// Processes that share a GPU take turns with its counters: the lock, and two recordings against it.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "replay_testing.h"
#include "tiers/counter_turns.h"
#include "tiers/device_turn.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;
using testing::step;
using Answer = DeviceTurn::Answer;

constexpr std::int64_t kTurnSecond = 1'000'000'000;

// Memory that a child of fork() shares.
struct SharedWords {
  std::atomic<int> user{0};  // of the counters, a pid
  std::atomic<int> collisions{0}, opened{0}, go{0};
};
SharedWords* shared_memory() {
  void* memory =
      mmap(nullptr, sizeof(SharedWords), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) SharedWords;
}

// What a child comes to; it must end by _exit(), or it would go on with the tests.
template <typename Body>
pid_t in_child(Body&& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  _exit(body());
}
int status_of_child(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
void wait_for_word(const std::atomic<int>& word, int value) {
  for (int i = 0; i < 5000 && word.load() != value; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(DeviceTurn, IsOneProcessesAndFreeWhenThatIsKilled) {
  spool::testing::TemporaryDirectory directory;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  const pid_t holder = in_child([&] {
    DeviceTurn turn(directory.path(), "gpu");
    shared->go = turn.ask(kTurnSecond) == Answer::ours ? 1 : 2;
    pause();
    return 0;
  });
  wait_for_word(shared->go, 1);
  ASSERT_EQ(shared->go.load(), 1);
  DeviceTurn own(directory.path(), "gpu"), of_another_gpu(directory.path(), "other");
  EXPECT_EQ(own.ask(kTurnSecond), Answer::others);
  EXPECT_EQ(own.holder(), holder);
  EXPECT_EQ(of_another_gpu.ask(kTurnSecond), Answer::ours);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_EQ(own.ask(kTurnSecond), Answer::ours);
  EXPECT_EQ(own.ask(kTurnSecond), Answer::ours) << "still";
}

TEST(DeviceTurn, WhoHasHadItLetsThoseGoFirstThatWait) {
  spool::testing::TemporaryDirectory directory;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  DeviceTurn own(directory.path(), "gpu");
  ASSERT_EQ(own.ask(kTurnSecond), Answer::ours);
  EXPECT_FALSE(own.others_wait());
  const pid_t waiter = in_child([&] {
    DeviceTurn turn(directory.path(), "gpu");
    if (turn.ask(5 * kTurnSecond) != Answer::others) return 1;
    shared->go = 1;
    wait_for_word(shared->go, 2);
    if (turn.ask(5 * kTurnSecond) != Answer::ours) return 2;
    turn.release();
    return 0;
  });
  wait_for_word(shared->go, 1);
  EXPECT_TRUE(own.others_wait());
  own.release();
  EXPECT_EQ(own.ask(kTurnSecond), Answer::after_other);
  shared->go = 2;
  EXPECT_EQ(status_of_child(waiter), 0);
  EXPECT_EQ(own.ask(kTurnSecond), Answer::ours);
}

TEST(DeviceTurn, WhoDoesNotAskAgainIsForgotten) {
  spool::testing::TemporaryDirectory directory;
  DeviceTurn own(directory.path(), "gpu");
  ASSERT_EQ(own.ask(kTurnSecond), Answer::ours);
  EXPECT_EQ(status_of_child(in_child([&] {
              DeviceTurn turn(directory.path(), "gpu");
              return turn.ask(20'000'000) == Answer::others ? 0 : 1;  // and ends without a word
            })),
            0);
  own.release();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(own.ask(kTurnSecond), Answer::ours);
}

TEST(DeviceTurn, AChildOfForkHasNoPartInIt) {
  spool::testing::TemporaryDirectory directory;
  DeviceTurn own(directory.path(), "gpu");
  ASSERT_EQ(own.ask(kTurnSecond), Answer::ours);
  SharedWords* shared = shared_memory();
  const pid_t child = in_child([&] {  // has a copy of the open file
    shared->go = 1;
    pause();
    return 0;
  });
  wait_for_word(shared->go, 1);
  own.release();
  EXPECT_EQ(status_of_child(in_child([&] {
              DeviceTurn turn(directory.path(), "gpu");
              return turn.ask(kTurnSecond) == Answer::ours ? 0 : 1;
            })),
            0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(DeviceTurn, TakesNothingThatIsNoFileOfItsKind) {
  spool::testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/ridgeline-gpu-gpu", target = directory.path() + "/target";
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, path);
  {
    DeviceTurn turn(directory.path(), "gpu");
    EXPECT_EQ(turn.ask(kTurnSecond), Answer::no_lock) << "a link is not followed";
  }
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  {
    DeviceTurn turn(directory.path(), "gpu");
    EXPECT_EQ(turn.ask(kTurnSecond), Answer::no_lock) << "a pipe does not block";
  }
  DeviceTurn nowhere(directory.path() + "/not-there", "gpu");
  EXPECT_EQ(nowhere.ask(kTurnSecond), Answer::no_lock);
}

TEST(DeviceTurn, TheFileIsEverybodysWhateverTheMaskAndNothingInItIsBelievedForLong) {
  spool::testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/ridgeline-gpu-gpu";
  const mode_t mask = umask(077);
  {
    DeviceTurn turn(directory.path(), "gpu");
    EXPECT_EQ(turn.ask(kTurnSecond), Answer::ours);
  }
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
  std::ofstream(path, std::ios::binary) << std::string(5000, '\x7f');
  DeviceTurn turn(directory.path(), "gpu");
  EXPECT_EQ(turn.ask(kTurnSecond), Answer::ours);
}

TEST(DeviceTurn, AFileThatWasRemovedIsNoLock) {
  spool::testing::TemporaryDirectory directory;
  DeviceTurn own(directory.path(), "gpu");
  ASSERT_EQ(own.ask(kTurnSecond), Answer::ours);
  std::filesystem::remove(directory.path() + "/ridgeline-gpu-gpu");
  EXPECT_EQ(own.ask(kTurnSecond), Answer::ours) << "of the file that is there now";
  EXPECT_EQ(status_of_child(in_child([&] {
              DeviceTurn turn(directory.path(), "gpu");
              return turn.ask(kTurnSecond) == Answer::others ? 0 : 1;
            })),
            0);
}

// Another process that has the turn until `go` is 2.
pid_t hold_turn(SharedWords* shared, const std::string& lock_directory) {
  const pid_t holder = in_child([&] {
    DeviceTurn turn(lock_directory, std::string(32, '0'));
    shared->go = turn.ask(kTurnSecond) == Answer::ours ? 1 : 3;
    wait_for_word(shared->go, 2);
    return 0;
  });
  wait_for_word(shared->go, 1);
  return holder;
}

// A recorded program on a GPU whose counters one process can open at a time, like CUPTI's.
struct SharingProgram {
  SharingProgram(SharedWords* its_shared, const std::string& lock_directory,
                 const char* schedule = "timeline=2,sample=4,replay=3")
      : shared(its_shared),
        program(cupti, {{"RIDGELINE_SCHEDULE", schedule},
                        {"RIDGELINE_METRICS_R1", "a,b"},
                        {"RIDGELINE_LOCK_DIR", lock_directory}}) {
    cupti.clock_ns = realtime_ns();
    cupti.on_flush = [this] {
      std::vector<CUpti_ActivityKernel10> records;
      for (const std::uint32_t id : pending)
        records.push_back(FakeProgram::kernel(id, "k", static_cast<std::uint64_t>(cupti.clock_ns - 1000),
                                              static_cast<std::uint64_t>(cupti.clock_ns)));
      pending.clear();
      if (!records.empty()) program.deliver(records);
    };
    cupti.on_counters = [this](bool opens) {
      int nobody = 0;
      if (!opens) {
        shared->user = 0;
      } else if (!shared->user.compare_exchange_strong(nobody, static_cast<int>(getpid()))) {
        ++shared->collisions;
        return CUPTI_ERROR_HARDWARE_BUSY;
      } else {
        ++shared->opened;
      }
      return CUPTI_SUCCESS;
    };
    EXPECT_TRUE(program.start());
    program.create_context();
    one_step();
    program.tick();
  }
  ~SharingProgram() { cupti.on_flush = nullptr; }
  void one_step(bool agent_turns = true) {
    program.push("step");
    for (int i = 0; i < 3; ++i) pending.push_back(program.launch("k"));
    cupti.clock_ns += 10'000'000;
    program.pop();
    if (!agent_turns) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    program.session().tick(cupti.clock_ns += 1'000'000);
  }
  // Steps until all of the schedule has come.
  bool through(std::size_t samples, std::size_t counted) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int i = 0; std::chrono::steady_clock::now() < give_up; ++i) {
      one_step();
      if (i % 20 != 19) continue;
      const auto c = program.contents();
      if (of(c, Phase::sample) >= samples && ok(c) >= counted) return true;
    }
    return false;
  }
  static std::size_t of(const FakeProgram::Contents& c, Phase phase) {
    return static_cast<std::size_t>(std::count_if(c.begins.begin(), c.begins.end(),
                                                  [&](const auto& begin) { return begin.phase == phase; }));
  }
  static std::size_t ok(const FakeProgram::Contents& c) {
    return static_cast<std::size_t>(
        std::count_if(c.counter_steps.begin(), c.counter_steps.end(),
                      [](const auto& counted) { return counted.status == spool::CounterStatus::ok; }));
  }
  SharedWords* shared;
  FakeCupti cupti;
  FakeProgram program;
  std::vector<std::uint32_t> pending;
};

TEST(Turns, TwoRecordingsOfOneGpuBothHaveSamplesAndCounters) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  const auto both_tiers = [&] {
    ++shared->go;
    wait_for_word(shared->go, 2);
    SharingProgram recorded(shared, locks.path());
    if (!recorded.through(4, 3)) return 1;
    const auto c = recorded.program.contents();
    bool sampled = false;
    for (const auto& window : c.pm_windows)
      sampled = sampled || (window.status == WindowStatus::ok && window.samples > 0);
    return sampled ? 0 : 2;
  };
  const pid_t one = in_child(both_tiers), other = in_child(both_tiers);
  EXPECT_EQ(status_of_child(one), 0);
  EXPECT_EQ(status_of_child(other), 0);
  EXPECT_EQ(shared->collisions.load(), 0) << "nobody was refused by CUPTI";
  EXPECT_GE(shared->opened.load(), 4);
}

// A window that started too slowly is given up, and the turn with it: another's may come before the next one.
TEST(Turns, TwoRecordingsWhoseSamplesStartSlowlyBothHaveThem) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  const auto both_tiers = [&] {
    ++shared->go;
    wait_for_word(shared->go, 2);
    SharingProgram recorded(shared, locks.path(), "timeline=6,sample=4,replay=3");
    recorded.cupti.pm_start_takes_ns = 107'000'000;
    if (!recorded.through(7, 3)) return 1;
    const auto c = recorded.program.contents();
    if (SharingProgram::of(c, Phase::replay) != 3) return 2;
    std::uint32_t sampled = 0;
    for (const auto& window : c.pm_windows)
      if (window.status == WindowStatus::ok && window.samples > 0)
        sampled += window.last_step + 1 - window.first_step;
    if (sampled != 2) return 3;
    for (int i = 0; i < 100 && shared->user.load() == static_cast<int>(getpid()); ++i) recorded.one_step();
    return shared->user.load() == static_cast<int>(getpid()) ? 4 : 0;
  };
  const pid_t one = in_child(both_tiers), other = in_child(both_tiers);
  EXPECT_EQ(status_of_child(one), 0);
  EXPECT_EQ(status_of_child(other), 0);
  EXPECT_EQ(shared->collisions.load(), 0) << "nobody was refused by CUPTI";
  EXPECT_GE(shared->opened.load(), 6) << "two windows each, and counters";
}

TEST(Turns, AProcessThatWaitsGoesOnWithItsTimelineAndSaysWhenItsTurnWas) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  const pid_t holder = hold_turn(shared, locks.path());
  SharingProgram recorded(shared, locks.path());
  for (int i = 0; i < 10; ++i) recorded.one_step();
  {
    const auto c = recorded.program.contents();
    EXPECT_EQ(SharingProgram::of(c, Phase::sample), 0u);
    EXPECT_EQ(SharingProgram::of(c, Phase::timeline), 11u);
    EXPECT_EQ(c.begins[1].header.flags & spool::kStepDeferred, 0) << "of the schedule";
    EXPECT_NE(c.begins[2].header.flags & spool::kStepDeferred, 0);
    EXPECT_NE(c.ends[2].header.flags & spool::kStepDeferred, 0);
    EXPECT_EQ(shared->opened.load(), 0);
  }
  shared->go = 2;
  EXPECT_EQ(status_of_child(holder), 0);
  ASSERT_TRUE(recorded.through(4, 3));
  const auto c = recorded.program.contents();
  EXPECT_EQ(SharingProgram::of(c, Phase::sample), 4u) << "as many as scheduled";
  EXPECT_EQ(SharingProgram::of(c, Phase::replay), 3u);
  const std::string said = c.message(spool::Topic::turns);
  EXPECT_NE(said.find("the GPU's counters were this process's from "), std::string::npos) << said;
  EXPECT_NE(said.find("for process " + std::to_string(holder)), std::string::npos) << said;
}

// Counting would keep the turn until the samples are read, and longer.
TEST(Turns, WhoWaitsIsNextWhenTheSamplesAreRead) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  SharingProgram recorded(shared, locks.path());
  while (SharingProgram::of(recorded.program.contents(), Phase::sample) < 2) recorded.one_step();
  const pid_t waiter = in_child([&] {
    DeviceTurn turn(locks.path(), std::string(32, '0'));
    if (turn.ask(5 * kTurnSecond) != Answer::others) return 1;
    shared->go = 1;
    wait_for_word(shared->go, 2);
    if (turn.ask(5 * kTurnSecond) != Answer::ours) return 2;
    shared->go = 3;
    wait_for_word(shared->go, 4);
    return 0;
  });
  wait_for_word(shared->go, 1);
  for (int i = 0; i < 3; ++i) recorded.one_step(false);  // those that are sampled, and one more
  {
    const auto c = recorded.program.contents();
    ASSERT_EQ(SharingProgram::of(c, Phase::sample), 4u);
    EXPECT_EQ(SharingProgram::of(c, Phase::replay), 0u) << "the samples are still to be read";
    EXPECT_NE(c.begins.back().header.flags & spool::kStepDeferred, 0);
    EXPECT_EQ(shared->opened.load(), 1);
  }
  recorded.one_step();
  recorded.one_step();
  shared->go = 2;
  wait_for_word(shared->go, 3);
  EXPECT_EQ(shared->go.load(), 3) << "and it has the turn";
  for (int i = 0; i < 3; ++i) recorded.one_step();
  EXPECT_EQ(SharingProgram::of(recorded.program.contents(), Phase::replay), 0u);
  shared->go = 4;
  EXPECT_EQ(status_of_child(waiter), 0);
  ASSERT_TRUE(recorded.through(4, 3));
  EXPECT_EQ(SharingProgram::of(recorded.program.contents(), Phase::sample), 4u) << "as many as scheduled";
}

TEST(Turns, AProgramThatEndsBeforeItsTurnSaysWhoHadIt) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  const pid_t holder = hold_turn(shared, locks.path());
  SharingProgram recorded(shared, locks.path());
  for (int i = 0; i < 10; ++i) recorded.one_step();
  EXPECT_EQ(recorded.program.contents().message(spool::Topic::turns), "");
  recorded.program.session().at_exit(spool::EndReason::exit);
  shared->go = 2;
  EXPECT_EQ(status_of_child(holder), 0);
  const std::string said = recorded.program.contents().message(spool::Topic::turns);
  EXPECT_NE(said.find("in use for"), std::string::npos) << said;
  EXPECT_NE(said.find("by process " + std::to_string(holder)), std::string::npos) << said;
  EXPECT_NE(said.find("the program ended before they were free"), std::string::npos) << said;
}

TEST(Turns, AProgramThatHadItsTurnDoesNotSayThatItWaits) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  SharingProgram recorded(shared, locks.path());
  ASSERT_TRUE(recorded.through(4, 3));
  recorded.program.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(recorded.program.contents().message(spool::Topic::turns), "");
}

// Some other profiler: it knows of no turns.
TEST(Turns, AForeignHolderIsWaitedFor) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  shared->user = 1;
  SharingProgram recorded(shared, locks.path());
  for (int i = 0; i < 60; ++i) recorded.one_step();
  EXPECT_GT(shared->collisions.load(), 0);
  EXPECT_LT(shared->collisions.load(), 10) << "it waits longer and longer";
  EXPECT_EQ(SharingProgram::of(recorded.program.contents(), Phase::sample), 0u);
  shared->user = 0;
  ASSERT_TRUE(recorded.through(4, 3));
  shared->user = 0;
  const auto c = recorded.program.contents();
  EXPECT_EQ(SharingProgram::of(c, Phase::sample), 4u);
  EXPECT_EQ(c.message(spool::Topic::sampling), "") << "nothing was refused in the end";
}

TEST(Turns, AreOfTheDeviceTooThatIsKnownOnlyLater) {
  spool::testing::TemporaryDirectory locks;
  spool::testing::TemporaryDirectory spool;
  std::string error;
  spool::Writer* writer = spool::Writer::create({.directory = spool.path(), .pid = 7}, &error);
  ASSERT_NE(writer, nullptr) << error;
  CounterTurns turns(*writer, locks.path());
  ASSERT_EQ(turns.take(1, kTurnSecond, 0), CounterTurns::Turn::ours);
  const std::uint8_t uuid[16] = {};
  turns.name_device(0, uuid);
  const auto free_for_others = [&] {
    return status_of_child(in_child([&] {
             DeviceTurn turn(locks.path(), std::string(32, '0'));
             return turn.ask(kTurnSecond) == Answer::ours ? 0 : 1;
           })) == 0;
  };
  EXPECT_FALSE(free_for_others());
  turns.begun();
  turns.end_if_unused(2 * kTurnSecond, [] { return false; });
  EXPECT_TRUE(free_for_others());
}

// Each time it lets the turn go, another takes it, and CUPTI tells nothing while that one counts.
TEST(Turns, ATurnIsKeptWhileItIsAskedWhatCanBeCounted) {
  spool::testing::TemporaryDirectory locks;
  FakeCupti cupti;
  cupti.availability_result = CUPTI_ERROR_HARDWARE_BUSY;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"},
                              {"RIDGELINE_METRICS_R1", "a,b"},
                              {"RIDGELINE_LOCK_DIR", locks.path()}});
  ASSERT_TRUE(program.start());
  program.create_context();
  const auto one_step = [&] {
    step(program);
    program.session().tick(cupti.clock_ns += 100'000'000);
  };
  for (int i = 0; i < 4; ++i) one_step();
  const auto others = [&] {
    std::size_t locked = 0;
    for (const auto& file : std::filesystem::directory_iterator(locks.path())) {
      const std::string name = file.path().filename();
      if (!name.starts_with("ridgeline-gpu-")) continue;
      const pid_t other = in_child([&] {
        DeviceTurn turn(locks.path(), name.substr(14));
        return turn.ask(kTurnSecond) == Answer::others ? 1 : 0;
      });
      locked += static_cast<std::size_t>(status_of_child(other));
    }
    return locked;
  };
  EXPECT_EQ(others(), 1u) << "it has its turn, and asks";
  int given_up = 0;
  for (int i = 0; i < 30; ++i) {
    one_step();
    given_up += others() == 0 ? 1 : 0;
  }
  EXPECT_GE(given_up, 1) << "not for ever: who waits gets it";
  EXPECT_LE(given_up, 3) << "but for as long as it is asked";
  cupti.availability_result = CUPTI_SUCCESS;
  for (int i = 0; i < 20; ++i) one_step();
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 3u);
  EXPECT_EQ(c.counter_steps[0].status, spool::CounterStatus::ok) << c.text(c.counter_steps[0].reason);
}

// Two that ask at one moment: CUPTI may fail as if something were wrong.
TEST(Turns, AFailureToAskIsAskedAgain) {
  FakeCupti cupti;
  cupti.availability_result = CUPTI_ERROR_UNKNOWN;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "timeline=2,replay=1"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  step(program);
  program.tick();
  cupti.availability_result = CUPTI_SUCCESS;
  program.tick();
  for (int i = 0; i < 4; ++i) {
    step(program);
    program.tick();
  }
  const auto c = program.contents();
  EXPECT_EQ(c.message(spool::Topic::counters_refused), "");
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, spool::CounterStatus::ok);
}

TEST(Turns, AReplayStepThatMeetsAForeignHolderIsTriedAgain) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  SharingProgram recorded(shared, locks.path(), "timeline=2,replay=3");
  recorded.one_step();
  shared->user = 1;
  recorded.one_step();
  auto c = recorded.program.contents();
  ASSERT_EQ(SharingProgram::of(c, Phase::replay), 1u) << "its first launch finds out";
  EXPECT_NE(c.ends.back().header.flags & spool::kStepDeferred, 0);
  EXPECT_TRUE(c.counter_steps.empty());
  shared->user = 0;
  ASSERT_TRUE(recorded.through(0, 3));
  c = recorded.program.contents();
  EXPECT_EQ(c.counter_steps.size(), 3u);
  EXPECT_EQ(c.message(spool::Topic::replay), "");
}

TEST(Turns, WhoHasWaitedLongEnoughIsRefusedWithTheReason) {
  spool::testing::TemporaryDirectory locks;
  SharedWords* shared = shared_memory();
  ASSERT_NE(shared, nullptr);
  shared->user = 1;
  SharingProgram recorded(shared, locks.path());
  for (int i = 0; i < 8; ++i) {
    recorded.one_step();
    recorded.cupti.clock_ns += 10 * kTurnSecond;
  }
  for (int i = 0; i < 8; ++i) recorded.one_step();
  shared->user = 0;
  const auto c = recorded.program.contents();
  EXPECT_EQ(SharingProgram::of(c, Phase::sample), 4u);
  EXPECT_NE(c.message(spool::Topic::turns).find("in use for"), std::string::npos);
  EXPECT_NE(c.message(spool::Topic::sampling).find("another process or profiler has the counters"),
            std::string::npos)
      << c.message(spool::Topic::sampling);
  ASSERT_FALSE(c.pm_windows.empty());
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
  EXPECT_EQ(c.counter_steps.size(), 3u);
}

}  // namespace
}  // namespace ridgeline::agent
