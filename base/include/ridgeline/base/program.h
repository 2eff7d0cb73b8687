// program.h: starts a program of the system, and waits for it.
#pragma once

#include <string>
#include <vector>

namespace ridgeline {

struct ProgramRun {
  static constexpr int kNowhere = -1;  ///< /dev/null

  std::vector<std::string> words;  ///< the program, found in PATH, and its arguments
  std::string output_file = {};    ///< of its standard output, instead of `output`
  int input = kNowhere;            ///< descriptors of its three streams
  int output = kNowhere;
  int messages = kNowhere;
  bool plain_locale = false;  ///< LC_ALL=C, so that numbers are written as everywhere
};

struct ProgramEnd {
  enum class Kind {
    succeeded,    ///< with status 0
    failed,       ///< with another one, or by a signal
    missing,      ///< there is none in PATH
    not_started,  ///< it is there, and could not be started
  };
  Kind kind = Kind::succeeded;
  std::string why = {};  ///< of the last two, in a few words
  [[nodiscard]] bool succeeded() const { return kind == Kind::succeeded; }
  [[nodiscard]] bool started() const { return kind == Kind::succeeded || kind == Kind::failed; }
};

[[nodiscard]] ProgramEnd run_program(const ProgramRun& run);

}  // namespace ridgeline
