// child_process.h: starting other programs: the one that is recorded, small helpers, and functions that must
// not be able to take this process down.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::launch {

struct ProgramEnd {
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
};

/// The recorded program. While the object lives, signals that end a process by default (SIGINT, SIGTERM, SIGHUP,
/// SIGQUIT, SIGUSR1, SIGALRM, SIGXCPU …) and are sent to the thread's process are passed on to the program (one that
/// the terminal sent to both is not sent twice); SIGUSR2 is counted.
class RunningProgram {
 public:
  /// Failure: usage, if it cannot be started. `environment` as NAME=value.
  [[nodiscard]] static Result<RunningProgram> start(const std::vector<std::string>& argv,
                                                    const std::vector<std::string>& environment,
                                                    const std::string& working_directory);
  RunningProgram(RunningProgram&& other) noexcept;
  RunningProgram& operator=(RunningProgram&&) = delete;
  ~RunningProgram();  // gives the signals back; the program, if it still runs, runs on

  /// Waits at most that long; nullopt: it still runs.
  [[nodiscard]] std::optional<ProgramEnd> wait(std::chrono::milliseconds timeout);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// SIGUSR2 received since the last call.
  [[nodiscard]] int take_requests() noexcept { return std::exchange(requests_, 0); }
  void send(int signal) const noexcept;

 private:
  RunningProgram(const sigset_t& relayed, const sigset_t& previous)
      : relayed_(relayed), previous_(previous) {}
  void pass_on(const siginfo_t& signal) const;

  pid_t pid_ = -1;
  bool ended_ = false;
  int requests_ = 0;
  bool holds_signals_ = true;
  sigset_t relayed_;   // blocked in this thread and taken by sigtimedwait()
  sigset_t previous_;  // the thread's mask before
};

struct CapturedRun {
  int exit_status = 0;  // 128 + n: killed by signal n
  std::string output;   // stdout; at most 16 MiB
};
/// Runs a helper without a terminal: no stdin, no stderr. nullopt: not started, or not done in time (then
/// killed).
[[nodiscard]] std::optional<CapturedRun> run_and_capture(const std::vector<std::string>& argv,
                                                         std::chrono::milliseconds timeout,
                                                         const std::string& working_directory = {});

/// Runs a function in a forked child and returns its text. nullopt: it crashed or took too long.
/// For loading libraries whose constructors and drivers cannot be trusted.
[[nodiscard]] std::optional<std::string> run_isolated(const std::function<std::string()>& function,
                                                      std::chrono::milliseconds timeout);

}  // namespace ridgeline::launch
