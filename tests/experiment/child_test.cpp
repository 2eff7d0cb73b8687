// Children and the signals that stop them: each case that is about a signal runs in a process of its own.
#include "child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "ridgeline/base/error.h"
#include "ridgeline/experiment/interruption.h"
#include "support/temporary_directory.h"
#include "support/usual_signals.h"

namespace ridgeline::experiment {
namespace {

using std::chrono::milliseconds;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

// Runs a function in a fork, sends it signals once a file exists, and returns how it ended, as wait() says it.
class Stopped {
 public:
  Stopped(const std::function<void()>& body, const std::string& ready, const std::vector<int>& signals) {
    pid_ = fork();
    if (pid_ == 0) {
      testing::take_usual_signals();
      body();
      _exit(99);
    }
    EXPECT_TRUE(wait_for([&] { return std::filesystem::exists(ready); }));
    for (const int signal : signals) {
      kill(pid_, signal);
      std::this_thread::sleep_for(milliseconds(50));
    }
    waitpid(pid_, &status_, 0);
  }
  [[nodiscard]] int signal() const { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }
  [[nodiscard]] int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

TEST(Child, HasItsOutputReturnedOrWritten) {
  const testing::TemporaryDirectory directory;
  const ChildEnd end =
      run_child({.argv = {"sh", "-c", "pwd; echo err >&2; cat; exit 7"}, .directory = "/"}, nullptr);
  EXPECT_EQ(end.status, 7);
  EXPECT_EQ(end.output, "/\nerr\n") << "without input";
  const std::string log = directory / "log";
  Interruption interruption;
  const ChildEnd logged =
      run_child({.argv = {"sh", "-c", "echo out; kill -9 $$"}, .log = log}, &interruption);
  EXPECT_EQ(logged.status, 128 + SIGKILL);
  EXPECT_EQ(logged.output, "");
  EXPECT_EQ(read_file(log), "out\n");
}

TEST(Child, ThatCannotBeStartedEndsAsInAShell) {
  const ChildEnd end = run_child({.argv = {"/no/such/program"}}, nullptr);
  EXPECT_EQ(end.status, 127);
  EXPECT_NE(end.output.find("cannot start /no/such/program: No such file"), std::string::npos) << end.output;
  EXPECT_THROW(static_cast<void>(run_child({.argv = {"true"}, .log = "/no/such/folder/log"}, nullptr)),
               Error);
}

TEST(Child, IsEndedWithAllItStartedAndTheSignalTakesItsEffectAfterwards) {
  const testing::TemporaryDirectory directory;
  const auto body = [&] {
    Interruption interruption([&](const std::string& line) { std::ofstream(directory / "told") << line; });
    try {
      static_cast<void>(run_child({.argv = {"sh", "-c", "sleep 600 & echo $! > pid; touch ready; wait"},
                                   .directory = directory.path()},
                                  &interruption));
    } catch (const Error& error) {
      std::ofstream(directory / "caught") << error.message();
    }
    std::ofstream(directory / "tidied") << "yes";
  };
  const Stopped stopped(body, directory / "ready", {SIGTERM});
  EXPECT_EQ(stopped.signal(), SIGTERM);
  EXPECT_EQ(read_file(directory / "told"), "SIGTERM: stopping");
  EXPECT_EQ(read_file(directory / "caught"), "stopped by SIGTERM");
  EXPECT_EQ(read_file(directory / "tidied"), "yes");
  const pid_t grandchild = std::stoi(read_file(directory / "pid"));
  EXPECT_TRUE(wait_for([&] { return kill(grandchild, 0) != 0; })) << "a grandchild runs on";
}

TEST(Child, ThatDoesNotListenIsKilledInTime) {
  const testing::TemporaryDirectory directory;
  const auto run = [&](milliseconds grace, const std::vector<int>& signals) {
    std::filesystem::remove(directory / "ready");
    const auto body = [&] {
      Interruption interruption;
      try {
        static_cast<void>(
            run_child({.argv = {"sh", "-c", "trap '' INT TERM; touch ready; while :; do sleep 1; done"},
                       .directory = directory.path(),
                       .grace = grace},
                      &interruption));
      } catch (const Error&) {
      }
    };
    const auto begin = std::chrono::steady_clock::now();
    const Stopped stopped(body, directory / "ready", signals);
    EXPECT_EQ(stopped.signal(), signals.front());
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_LT(run(milliseconds(200), {SIGINT}), std::chrono::seconds(20));
  EXPECT_LT(run(std::chrono::hours(1), {SIGTERM, SIGINT}), std::chrono::seconds(20)) << "the second signal";
}

TEST(Child, IsNotStartedAfterASignal) {
  const testing::TemporaryDirectory directory;
  const auto body = [&] {
    Interruption interruption;
    raise(SIGHUP);
    try {
      static_cast<void>(run_child({.argv = {"touch", directory / "started"}}, &interruption));
    } catch (const Error&) {
      std::ofstream(directory / "caught") << "yes";
    }
  };
  std::ofstream(directory / "ready") << "";
  EXPECT_EQ(Stopped(body, directory / "ready", {}).signal(), SIGHUP);
  EXPECT_TRUE(std::filesystem::exists(directory / "caught"));
  EXPECT_FALSE(std::filesystem::exists(directory / "started"));
}

TEST(Interruption, LeavesIgnoredSignalsAlone) {
  const testing::TemporaryDirectory directory;
  std::ofstream(directory / "ready") << "";
  const auto body = [&] {
    signal(SIGHUP, SIG_IGN);
    Interruption interruption;
    raise(SIGHUP);
    if (!interruption.requested()) _exit(5);
  };
  EXPECT_EQ(Stopped(body, directory / "ready", {}).status(), 5);
}

TEST(Interruption, SeesASignalBehindAChildsEnd) {
  const testing::TemporaryDirectory directory;
  std::ofstream(directory / "ready") << "";
  const auto body = [&] {
    Interruption interruption;
    raise(SIGCHLD);
    raise(SIGTERM);
    if (interruption.requested()) _exit(5);
  };
  EXPECT_EQ(Stopped(body, directory / "ready", {}).status(), 5);
}

TEST(ChildVariables, AreSetReplacedAndTakenAway) {
  ASSERT_EQ(setenv("RIDGELINE_OLD", "old", 1), 0);
  ASSERT_EQ(setenv("RIDGELINE_KEPT", "kept", 1), 0);
  ChildCommand command{.argv = {"/bin/sh", "-c", "echo $RIDGELINE_OLD-$RIDGELINE_KEPT-$RIDGELINE_NEW"},
                       .directory = "",
                       .log = ""};
  EXPECT_EQ(run_child(command, nullptr).output, "old-kept-\n");
  command.environment = {{"RIDGELINE_OLD", ""}, {"RIDGELINE_NEW", "a = b"}};
  EXPECT_EQ(run_child(command, nullptr).output, "-kept-a = b\n");
  command.environment = {{"RIDGELINE_OLD", "other"}};
  EXPECT_EQ(run_child(command, nullptr).output, "other-kept-\n");
}

}  // namespace
}  // namespace ridgeline::experiment
