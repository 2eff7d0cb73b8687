#include "child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ridgeline/base/text.h"

extern char** environ;

namespace ridgeline::launch {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> array;
  for (const std::string& word : words) array.push_back(const_cast<char*>(word.c_str()));
  array.push_back(nullptr);
  return array;
}

std::string start_failure(const std::string& program, const std::string& working_directory, int error) {
  const std::string name = one_line(program);
  const bool by_path = program.find('/') != std::string::npos;
  struct stat status {};
  const bool exists = by_path && stat(program.c_str(), &status) == 0;
  const bool behind_closed_doors = by_path && !exists && errno == EACCES;
  struct stat there {};
  if (error == EACCES && !working_directory.empty() && stat((working_directory + "/.").c_str(), &there) != 0)
    return fmt::format("cannot start {}: {} may not be entered", name, one_line(working_directory));
  if (error == ENOENT && exists) {
    return fmt::format("cannot start {}: the interpreter that its first line names was not found", name);
  }
  if (error == ENOENT && by_path) return fmt::format("cannot start {}: no such file", name);
  if (error == ENOENT) {
    return fmt::format("cannot start {}: not found in PATH (for a file here write ./{})", name, name);
  }
  if (error == EACCES && exists && S_ISDIR(status.st_mode))
    return fmt::format("cannot start {}: is a directory", name);
  if (error == EACCES && behind_closed_doors)
    return fmt::format("cannot start {}: a folder on the way to it may not be entered", name);
  if (error == EACCES) return fmt::format("cannot start {}: not executable (chmod +x makes it so)", name);
  if (error == ENOEXEC)
    return fmt::format("cannot start {}: neither a program nor a script with a #! line", name);
  return fmt::format("cannot start {}: {}", name, std::strerror(error));
}

// Owns the attributes and file actions of one posix_spawn.
struct Spawn {
  Spawn() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
  }
  ~Spawn() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
};

ProgramEnd end_of(int status) {
  ProgramEnd end;
  if (WIFSIGNALED(status)) {
    end.exit_signal = WTERMSIG(status);
  } else {
    end.exit_status = WEXITSTATUS(status);
  }
  return end;
}

// Reads a pipe until its end or the deadline. False: the deadline came first.
bool read_until(int file, Clock::time_point deadline, std::string& output) {
  constexpr std::size_t kMax = 16u << 20;
  char buffer[16384];
  while (output.size() < kMax) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{file, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(left));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    const ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

// Collects a child; kills it if it does not end by the deadline.
std::optional<int> reap(pid_t pid, Clock::time_point deadline) {
  int status = 0;
  while (true) {
    const pid_t done = waitpid(pid, &status, WNOHANG);
    if (done == pid) return status;
    if (done < 0 && errno != EINTR) return std::nullopt;
    if (Clock::now() >= deadline) break;
    usleep(2000);
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

Result<RunningProgram> RunningProgram::start(const std::vector<std::string>& argv,
                                             const std::vector<std::string>& environment,
                                             const std::string& working_directory) {
  sigset_t relayed;
  sigset_t previous;
  sigemptyset(&relayed);
  // The first four mean that the program is to end; job schedulers announce limits with the others, and their default
  // would end the launcher alone.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGPIPE,
                     SIGIO, SIGPWR}) {
    struct sigaction action {};
    // A signal that is ignored (nohup) stays ignored, here and in the program.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&relayed, signal);
  }
  sigaddset(&relayed, SIGCHLD);
  sigaddset(&relayed, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &relayed, &previous);
  RunningProgram program(relayed, previous);

  Spawn spawn;
  posix_spawnattr_setsigmask(&spawn.attributes, &previous);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK);
  if (!working_directory.empty())
    posix_spawn_file_actions_addchdir_np(&spawn.actions, working_directory.c_str());
  const int error = posix_spawnp(&program.pid_, argv.front().c_str(), &spawn.actions, &spawn.attributes,
                                 pointers(argv).data(), pointers(environment).data());
  if (error != 0) {
    program.pid_ = -1;
    return Failure{ErrorKind::usage, start_failure(argv.front(), working_directory, error)};
  }
  return program;
}

RunningProgram::RunningProgram(RunningProgram&& other) noexcept
    : pid_(other.pid_),
      ended_(other.ended_),
      requests_(other.requests_),
      holds_signals_(other.holds_signals_),
      relayed_(other.relayed_),
      previous_(other.previous_) {
  other.holds_signals_ = false;
}

RunningProgram::~RunningProgram() {
  if (!holds_signals_) return;
  // What came for a program that has ended must not end the launcher now.
  if (pid_ > 0) {
    const timespec now{};
    while (sigtimedwait(&relayed_, nullptr, &now) > 0) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void RunningProgram::pass_on(const siginfo_t& signal) const {
  if (signal.si_signo == SIGCHLD) return;
  // The terminal sends to the whole process group, the program included; a limit of the launcher's own is not the
  // program's, and neither is a pipe of the launcher's that nobody reads any more.
  if (signal.si_code == SI_KERNEL || (signal.si_code == SI_USER && signal.si_pid == getpid())) return;
  kill(pid_, signal.si_signo);
}

void RunningProgram::send(int signal) const noexcept {
  if (pid_ > 0 && !ended_) kill(pid_, signal);
}

std::optional<ProgramEnd> RunningProgram::wait(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (!ended_) {
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == pid_) {
      ended_ = true;
      return end_of(status);
    }
    if (done < 0 && errno != EINTR) {
      throw Error(ErrorKind::internal, fmt::format("waitpid({}): {}", pid_, std::strerror(errno)));
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    // SIGCHLD ends the wait; the bound is for a SIGCHLD that another thread took.
    const auto slice = std::min<std::chrono::milliseconds>(left, std::chrono::milliseconds(100));
    timespec bound{slice.count() / 1000, slice.count() % 1000 * 1'000'000};
    siginfo_t signal{};
    if (sigtimedwait(&relayed_, &signal, &bound) <= 0) continue;
    if (signal.si_signo == SIGUSR2) {
      ++requests_;
    } else {
      pass_on(signal);
    }
  }
  throw Error(ErrorKind::internal, "the program was waited for after its end");
}

std::optional<CapturedRun> run_and_capture(const std::vector<std::string>& argv,
                                           std::chrono::milliseconds timeout,
                                           const std::string& working_directory) {
  const auto deadline = Clock::now() + timeout;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Spawn spawn;
  posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&spawn.actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&spawn.actions, 2, "/dev/null", O_WRONLY, 0);
  if (!working_directory.empty())
    posix_spawn_file_actions_addchdir_np(&spawn.actions, working_directory.c_str());
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv.front().c_str(), &spawn.actions, &spawn.attributes,
                                 pointers(argv).data(), environ);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return std::nullopt;
  }
  CapturedRun run;
  const bool complete = read_until(ends[0], deadline, run.output);
  close(ends[0]);
  const std::optional<int> status = reap(pid, complete ? deadline : Clock::now());
  if (!complete || !status) return std::nullopt;
  run.exit_status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  return run;
}

std::optional<std::string> run_isolated(const std::function<std::string()>& function,
                                        std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    for (int file : {0, 1, 2}) dup2(null, file);
    int exit_code = 1;
    try {
      const std::string text = function();
      std::size_t sent = 0;
      while (sent < text.size()) {
        const ssize_t n = write(ends[1], text.data() + sent, text.size() - sent);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      exit_code = sent == text.size() ? 0 : 1;
    } catch (...) {
      exit_code = 1;
    }
    _exit(exit_code);  // no destructors of libraries that were only looked at
  }
  close(ends[1]);
  std::string output;
  const bool complete = read_until(ends[0], deadline, output);
  close(ends[0]);
  const std::optional<int> status = reap(pid, complete ? deadline : Clock::now());
  if (!complete || !status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return std::nullopt;
  return output;
}

}  // namespace ridgeline::launch
