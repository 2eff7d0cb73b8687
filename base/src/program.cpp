#include "ridgeline/base/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;

namespace ridgeline {

namespace {

std::vector<std::string> plain_environment() {
  std::vector<std::string> words;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view word(*each);
    if (!word.starts_with("LC_") && !word.starts_with("LANG")) words.emplace_back(word);
  }
  words.emplace_back("LC_ALL=C");
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// What becomes of the three streams between fork and exec.
class StreamActions {
 public:
  explicit StreamActions(const ProgramRun& run) {
    posix_spawn_file_actions_init(&actions_);
    from(STDIN_FILENO, run.input, O_RDONLY);
    if (!run.output_file.empty())
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, run.output_file.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    else
      from(STDOUT_FILENO, run.output, O_WRONLY);
    from(STDERR_FILENO, run.messages, O_WRONLY);
  }
  ~StreamActions() { posix_spawn_file_actions_destroy(&actions_); }
  StreamActions(const StreamActions&) = delete;
  StreamActions& operator=(const StreamActions&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void from(int stream, int descriptor, int how) {
    if (descriptor == ProgramRun::kNowhere)
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", how, 0);
    else
      posix_spawn_file_actions_adddup2(&actions_, descriptor, stream);
  }

  posix_spawn_file_actions_t actions_;
};

}  // namespace

ProgramEnd run_program(const ProgramRun& run) {
  std::vector<std::string> words = run.words;
  std::vector<char*> arguments = pointers(words);
  std::vector<std::string> variables = run.plain_locale ? plain_environment() : std::vector<std::string>();
  std::vector<char*> environment = pointers(variables);
  const StreamActions actions(run);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments.front(), actions.get(), nullptr, arguments.data(),
                                    run.plain_locale ? environment.data() : environ);
  if (failed != 0)
    return {failed == ENOENT ? ProgramEnd::Kind::missing : ProgramEnd::Kind::not_started,
            std::strerror(failed)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return {succeeded ? ProgramEnd::Kind::succeeded : ProgramEnd::Kind::failed};
}

}  // namespace ridgeline
