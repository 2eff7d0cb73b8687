// verb_gui.cpp: starts the desktop program, which is found beside this one.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

constexpr const char* kProgram = "ridgeline-gui";

std::string beside_this_program() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / kProgram).string();
}

}  // namespace

Verb add_gui(Command program) {
  const Command app = program.add_subcommand(
      "gui", "Open captures in a window: timeline, roofline, ranking (gui --help lists its options)");
  app.pass_arguments_on();
  return {app, [app]() -> int {
            const std::string path = beside_this_program();
            if (access(path.c_str(), X_OK) != 0) {
              throw Error(
                  ErrorKind::environment,
                  fmt::format("{} was not built: it needs Qt 6 (apt-get install qt6-base-dev qt6-svg-dev), "
                              "then build again",
                              path));
            }
            std::vector<std::string> words = app.remaining();
            words.insert(words.begin(), path);
            std::vector<char*> arguments;
            arguments.reserve(words.size() + 1);
            for (std::string& word : words) arguments.push_back(word.data());
            arguments.push_back(nullptr);
            execv(path.c_str(), arguments.data());
            throw Error(ErrorKind::environment, fmt::format("{}: {}", path, std::strerror(errno)));
          }};
}

}  // namespace ridgeline::cli
