#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "ridgeline/base/error.h"
#include "ridgeline/base/text.h"
#include "ridgeline/experiment/interruption.h"

extern char** environ;

namespace ridgeline::experiment {
namespace {

using Clock = std::chrono::steady_clock;

// A file descriptor, closed with its object.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

int open_output(const std::string& log) {
  const int descriptor = log.empty() ? memfd_create("output", MFD_CLOEXEC)
                                     : open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw Error(ErrorKind::io, fmt::format("{}: cannot be written: {}", log, std::strerror(errno)));
  return descriptor;
}

std::string content_of(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0;
       (n = pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

// "NAME=value" of this program's variables with the command's in their place.
std::vector<std::string> variables_of(const ChildCommand& command) {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    if (!command.environment.contains(variable.substr(0, variable.find('=')))) variables.push_back(variable);
  }
  for (const auto& [name, value] : command.environment) {
    if (!value.empty()) variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::optional<pid_t> start(const ChildCommand& command, int output, const sigset_t* signals) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  short flags = POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setpgroup(&attributes, 0);
  if (signals != nullptr) {
    posix_spawnattr_setsigmask(&attributes, signals);
    flags |= POSIX_SPAWN_SETSIGMASK;
  }
  posix_spawnattr_setflags(&attributes, flags);
  if (!command.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (!command.keeps_errors) posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  std::vector<char*> words = pointers_to(command.argv);
  const std::vector<std::string> variables = variables_of(command);
  pid_t child = -1;
  const int error =
      posix_spawnp(&child, words.front(), &actions, &attributes, words.data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  // As a shell has it: what went wrong stands in the output, and the status is 127.
  const std::string line =
      fmt::format("cannot start {}: {}\n", one_line(command.argv.front()), std::strerror(error));
  static_cast<void>(!write(output, line.data(), line.size()));
  return std::nullopt;
}

// The child's status if it has ended, or if it is to be waited for.
std::optional<int> end_of(pid_t child, bool wait) {
  int status = 0;
  pid_t done = 0;
  while ((done = waitpid(child, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR) {
  }
  if (done == 0) return std::nullopt;
  if (done < 0) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Ends what a child that was stopped has left behind.
void end_group(pid_t group, Clock::time_point deadline) {
  kill(-group, SIGTERM);
  while (kill(-group, 0) == 0 && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(-group, SIGKILL);
}

}  // namespace

ChildEnd run_child(const ChildCommand& command, Interruption* interruption) {
  if (interruption != nullptr) interruption->check();
  const File output(open_output(command.log));
  const auto ended_with = [&](int status) {
    return ChildEnd{status, command.log.empty() ? content_of(output.get()) : ""};
  };
  const auto started =
      start(command, output.get(), interruption == nullptr ? nullptr : &interruption->previous());
  if (!started) return ended_with(127);
  const pid_t child = *started;
  std::optional<int> status;
  std::optional<Clock::time_point> deadline;  // a signal came
  while (!(status = end_of(child, interruption == nullptr))) {
    if (deadline && Clock::now() >= *deadline) kill(-child, SIGKILL);
    const auto signal = interruption->wait(std::chrono::milliseconds(100));
    if (!signal) continue;
    // The child alone: a recorder passes signals on to its program.
    kill(child, deadline ? SIGKILL : *signal);
    deadline = deadline ? Clock::now() : Clock::now() + command.grace;
  }
  if (deadline) {
    end_group(child, *deadline);
    interruption->check();
  }
  return ended_with(*status);
}

}  // namespace ridgeline::experiment
