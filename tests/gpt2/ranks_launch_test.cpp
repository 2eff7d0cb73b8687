// Ranks as real processes: forked and watched, and met over TCP. None of them trains.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gpt2/common/errors.h"
#include "gpt2/ranks/launch.h"
#include "gpt2/ranks/link.h"
#include "gpt2/ranks/sockets.h"

namespace ridgeline::gpt2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr RollLimits kShort{.silent_s = 2, .late_s = 2, .stalled_s = 20, .join_s = 20, .settle_s = 0.4};

void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// A rank's part of a test process ends without its tests' exit handlers.
[[noreturn]] void done(RankLink& link, int code = 0) {
  link.leave();
  ::_exit(code);
}

struct Ended {
  int code = 0;
  double seconds = 0;
  std::string said;
};

Ended run_ranks(int size, const std::function<int(RankLink&)>& rank_main) {
  testing::internal::CaptureStderr();
  const auto begin = Clock::now();
  const int code = run_forked_ranks(size, kShort, rank_main);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return {code, seconds, testing::internal::GetCapturedStderr()};
}

// Trains until it is ended.
[[noreturn]] void train_on(RankLink& link, std::int64_t last = 1 << 30) {
  link.enter(RankPhase::training);
  for (std::int64_t step = 0;; ++step) {
    link.step(std::min(step, last));
    sleep_ms(20);
  }
}

TEST(RanksLaunch, RanksThatFinishAreNoFailure) {
  const Ended ended = run_ranks(3, [](RankLink& link) -> int {
    link.enter(RankPhase::training);
    link.step(0);
    done(link);
  });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.said, "");
}

TEST(RanksLaunch, AllGetRankZerosIdentity) {
  const Ended ended = run_ranks(4, [](RankLink& link) -> int {
    CommunicatorId id{};
    if (link.place().rank == 0) {
      sleep_ms(100);  // the others wait
      id.fill(std::byte{42});
      link.publish(id);
    } else {
      id = link.published();
    }
    done(link, id[0] == std::byte{42} && id[127] == std::byte{42} ? 0 : 9);
  });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.said, "");
}

TEST(RanksLaunch, AKilledRankEndsAll) {
  const Ended ended = run_ranks(3, [](RankLink& link) -> int {
    if (link.place().rank != 1) train_on(link);
    link.enter(RankPhase::training);
    link.step(6);
    sleep_ms(700);
    (void)::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(ended.code, kRankLostExitCode);
  EXPECT_EQ(ended.said, "gpt2_train: rank 1 of 3 was killed by signal 9 (Killed) in step 7\n");
  EXPECT_LT(ended.seconds, 5);
}

TEST(RanksLaunch, AStoppedRankEndsAll) {
  const Ended ended = run_ranks(2, [](RankLink& link) -> int {
    if (link.place().rank == 0) train_on(link);
    link.enter(RankPhase::training);
    link.step(3);
    sleep_ms(600);
    (void)::raise(SIGSTOP);
    return 0;
  });
  EXPECT_EQ(ended.code, kRankLostExitCode);
  EXPECT_EQ(ended.said.substr(0, 38), "gpt2_train: rank 1 of 2 has not answer") << ended.said;
  EXPECT_LT(ended.seconds, 8);
}

TEST(RanksLaunch, ALateRankEndsAll) {
  const Ended ended =
      run_ranks(2, [](RankLink& link) -> int { train_on(link, link.place().rank == 1 ? 4 : 5); });
  EXPECT_EQ(ended.code, kRankLostExitCode);
  EXPECT_EQ(ended.said, "gpt2_train: rank 1 of 2 is late: in step 5 for 2 s while rank 0 waits in step 6\n");
  EXPECT_LT(ended.seconds, 8);
}

TEST(RanksLaunch, AFailureIsSaidOnceWithItsCode) {
  const Ended ended = run_ranks(2, [](RankLink& link) -> int {
    if (link.place().rank == 0) train_on(link);
    link.fail(4, "out of GPU memory: lower -B");
  });
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.said, "gpt2_train: rank 1 of 2: out of GPU memory: lower -B\n");
  EXPECT_LT(ended.seconds, 5);
}

TEST(RanksLaunch, TheSameFailureOfAllIsSaidOnce) {
  const Ended ended = run_ranks(2, [](RankLink& link) -> int { link.fail(4, "no usable GPU"); });
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.said.find(" of 2: no usable GPU\n"), std::strlen("gpt2_train: rank 0")) << ended.said;
  EXPECT_EQ(ended.said.find('\n'), ended.said.size() - 1);
}

TEST(RanksLaunch, AnEndWithoutAWordIsAFailure) {
  const Ended ended = run_ranks(2, [](RankLink& link) -> int {
    if (link.place().rank == 0) done(link);
    ::_exit(0);
  });
  EXPECT_EQ(ended.code, kRankLostExitCode);
  EXPECT_EQ(ended.said, "gpt2_train: rank 1 of 2 ended with exit code 0 before it had joined the others\n");
}

TEST(RanksLaunch, ARankThatIgnoresTheEndIsKilled) {
  const Ended ended = run_ranks(2, [](RankLink& link) -> int {
    (void)std::signal(SIGTERM, SIG_IGN);
    if (link.place().rank == 0) train_on(link);
    link.fail(5, "of itself");
  });
  EXPECT_EQ(ended.code, 5);
  EXPECT_LT(ended.seconds, 6);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

// Processes that a launcher would have started; their exit codes.
std::vector<int> run_launched(int size, int port, const std::function<int(const RankPlace&)>& rank_main) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::_exit(rank_main({.rank = rank,
                         .size = size,
                         .local_rank = rank,
                         .host = "127.0.0.1",
                         .port = port,
                         .launcher = "torchrun"}));
    }
    pids.push_back(pid);
  }
  std::vector<int> codes;
  for (const pid_t pid : pids) {
    int status = 0;
    (void)::waitpid(pid, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

// One that is free now.
int some_port() {
  return port_of(listen_at(0, 1));
}

TEST(RanksLaunch, LaunchedRanksMeetAndLeave) {
  const auto codes = run_launched(3, some_port(), [](const RankPlace& place) {
    if (place.rank == 0) sleep_ms(300);  // the others try again
    RankLink link(place, kShort);
    CommunicatorId id{};
    if (place.rank == 0) {
      id.fill(std::byte{7});
      link.publish(id);
    } else {
      id = link.published();
    }
    sleep_ms(place.rank * 200);
    link.leave();
    return id[64] == std::byte{7} ? 0 : 9;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}));
}

TEST(RanksLaunch, ADeadLaunchedRankEndsTheOthers) {
  testing::internal::CaptureStderr();
  const auto begin = Clock::now();
  const auto codes = run_launched(3, some_port(), [](const RankPlace& place) -> int {
    RankLink link(place, kShort);
    if (place.rank != 2) train_on(link);
    link.enter(RankPhase::training);
    sleep_ms(700);
    (void)::raise(SIGKILL);
    return 0;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(codes, (std::vector<int>{kRankLostExitCode, kRankLostExitCode, 128 + SIGKILL}));
  EXPECT_NE(said.find("rank 0 of 3 ends: rank 2 of 3 has ended or cannot be reached"), std::string::npos)
      << said;
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 8);
}

TEST(RanksLaunch, AFailedRankZeroTellsTheOthersWhy) {
  testing::internal::CaptureStderr();
  const auto codes = run_launched(2, some_port(), [](const RankPlace& place) -> int {
    RankLink link(place, kShort);
    if (place.rank != 0) train_on(link);
    sleep_ms(500);
    link.fail(2, "checkpoint: no space left");
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(codes, (std::vector<int>{2, 2}));
  EXPECT_NE(said.find("rank 1 of 2 ends: rank 0 of 2: checkpoint: no space left"), std::string::npos) << said;
}

TEST(RanksLaunch, AJobOfAnotherSizeIsRefused) {
  testing::internal::CaptureStderr();
  const auto codes = run_launched(2, some_port(), [](const RankPlace& place) -> int {
    RankPlace mine = place;
    if (place.rank == 1) mine.size = 4;
    RankLink link(mine, kShort);
    train_on(link);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(codes, (std::vector<int>{kRankLostExitCode, kRankLostExitCode}));
  EXPECT_NE(said.find("a process says that it is rank 1 of 4"), std::string::npos) << said;
}

TEST(RanksLaunch, StrangersAtThePortChangeNothing) {
  const auto codes = run_launched(2, some_port(), [](const RankPlace& place) -> int {
    if (place.rank == 1) {
      const Socket stranger = connect_to(place.host, place.port, 10);
      const char text[] = "GET / HTTP/1.1\r\n\r\n";
      (void)::write(stranger.fd(), text, std::strlen(text));
      Message noise;
      noise.magic = 1;
      (void)send_message(connect_to(place.host, place.port, 10), noise);
    }
    RankLink link(place, kShort);
    CommunicatorId id{};
    if (place.rank == 0) {
      link.publish(id);
    } else {
      (void)link.published();
    }
    link.leave();
    return 0;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

TEST(RanksLaunch, NobodyAtRankZerosPortIsSaid) {
  try {
    (void)connect_to("127.0.0.1", some_port(), 0.2);
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("MASTER_ADDR"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
