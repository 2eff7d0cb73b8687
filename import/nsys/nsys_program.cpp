#include "nsys/nsys_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ridgeline/base/text.h"

extern char** environ;

namespace ridgeline::import {

namespace {

std::string by_hand(const std::string& report) {
  return shell_quoted({"nsys", "export", "--type", "sqlite", "--output",
                       std::filesystem::path(report).replace_extension(".sqlite").string(), report});
}

}  // namespace

Result<void> export_nsys_report(const std::string& report, const std::string& output) {
  std::string path = report.starts_with('-') ? "./" + report : report;
  std::array<std::string, 8> words = {
      "nsys", "export", "--type", "sqlite", "--force-overwrite=true", "--output", output, std::move(path)};
  std::array<char*, words.size() + 1> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "nsys", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return Failure{
        ErrorKind::environment,
        fmt::format("{} is a report that nsys alone can read, and there is none in PATH ({}): run {} where "
                    "there is one, and import what it writes",
                    report, std::strerror(failed), by_hand(report))};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Failure{ErrorKind::environment, fmt::format("nsys could not export {}: see what it says with {}",
                                                       report, by_hand(report))};
  return {};
}

}  // namespace ridgeline::import
