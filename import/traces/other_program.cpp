#include "traces/other_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;

namespace ridgeline::import {

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

}  // namespace

Result<bool> run_program(const ProgramRun& run) {
  std::vector<std::string> words = run.words;
  std::vector<char*> arguments = pointers(words);
  std::vector<std::string> variables = run.plain_locale ? plain_environment() : std::vector<std::string>();
  std::vector<char*> environment = pointers(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO,
                                   run.output.empty() ? "/dev/null" : run.output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(),
                                  run.plain_locale ? environment.data() : environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Failure{ErrorKind::environment, std::strerror(failed)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace ridgeline::import
