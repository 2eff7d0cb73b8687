// child.h: programs that an experiment starts: recorders, builds, git. Each is the head of a process group of
// its own, so that a terminal's Ctrl-C reaches this program alone, and all that a child has started can be
// ended with it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace ridgeline::experiment {

class Interruption;

struct ChildCommand {
  std::vector<std::string> argv;  ///< [0] is looked up in PATH if it has no slash
  std::string directory;          ///< "": the current one
  std::string log;                ///< file of its standard output and error; "": they are returned
  bool keeps_errors = false;      ///< its standard error is this program's
  /// Variables beside this program's own; "": taken away.
  std::map<std::string, std::string> environment{};
  std::chrono::milliseconds grace{
      10'000};  ///< from a signal to the end by force; a second signal is the end at once
};

struct ChildEnd {
  int status = 0;      ///< exit status, 128 + N for a signal, 127 if it could not be started
  std::string output;  ///< standard output and error, without ChildCommand::log
};

/// Runs a program without standard input to its end. A signal that `interruption` takes is passed on to it; it and what
/// it has started have ended then, and Error(cancelled) is thrown. nullptr: it is waited for whatever comes. Throws
/// Error(io) if the log cannot be written.
[[nodiscard]] ChildEnd run_child(const ChildCommand& command, Interruption* interruption);

}  // namespace ridgeline::experiment
